"""The judged questions of a chapter as data for question banks, with everything in HTML.

The numbers, the expected mistakes and their sentences are those of the page. Formulas are TeX
between backslashes and parentheses, as a learning platform's MathJax sets them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isclose
from typing import Any

from markdown import Markdown

from attention_docs.site.publish.anki import FORMULA
from attention_docs.site.publish.catalogue import Catalogue, PublishedPage
from attention_docs.site.publish.markdown import (
    expand_lines,
    format_fence,
    render_result,
    split_parts,
)
from attention_docs.site.publish.tolerance import list_distinct
from attention_docs.site.publish.variants import vary
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.pieces import Box, End
from attention_docs.site.read.variants import Variant
from attention_docs.site.render.assembled_page import AssembledPage
from attention_docs.site.render.judged import Ask, Number, list_asks
from attention_docs.site.render.recall import read_cards
from attention_docs.site.store import Store

KINDS = ("exercise", "guess", "recall", "variant")
Parts = dict[str, dict[str, list[list[tuple[str, object]]]]]
"""Of each exercise by its id: its own lines under "", and those of each box in it by kind."""
OWN_LINK = re.compile(r'<a href="(?!https?:)[^"]*"[^>]*>(.*?)</a>', re.S)
EXTENSIONS = ["pymdownx.arithmatex", "fenced_code", "tables"]


@dataclass(frozen=True)
class Question:
    """A question of a bank.

    Attributes:
        name: its id, the same in every language and from build to build.
        kind: one of KINDS.
        title: what a list of questions shows.
        text: what is asked, without the field or the choices.
        ask: the numbers or choices; None for a question that is answered in words.
        answer: what is said afterwards.
        source: where it comes from, and its licence.
        hints: one for each further try.
        tags: chapter, kind, difficulty.
        others: the numbers that the other questions of the same exercise want.
        pool: the question that this is with other numbers, of which a test needs one.
    """

    name: str
    kind: str
    title: str
    text: str
    ask: Ask | None
    answer: str
    source: str
    hints: Sequence[str] = ()
    tags: Sequence[str] = ()
    others: Sequence[Any] = ()
    pool: str = ""

    @property
    def told(self) -> Sequence[Number]:
        """The mistakes that everybody may read: none gives away another question."""
        traps = self.ask.traps if self.ask else ()
        return [one for one in traps if not any(gives_away(one.exact, key) for key in self.others)]


def gives_away(numbers: Any, key: Any) -> bool:
    """Whether numbers are those of a key, or hold its one number, or sum to it.

    Examples:
        >>> [gives_away([0.2, 0, 0.5], key) for key in (0.7, 0.5, [0.2, 0, 0.5], 0.3, [0.2])]
        [True, True, True, False, False]
    """
    if isinstance(numbers, list) and not isinstance(key, list):
        flat = [one for row in numbers for one in (row if isinstance(row, list) else [row])]
        return any(isclose(one, key, rel_tol=1e-6) for one in (*flat, sum(flat)))
    return bool(numbers == key)


def list_questions(
    assembled: AssembledPage, published: PublishedPage, catalogue: Catalogue, store: Store
) -> Iterator[Question]:
    """All questions of a page: exercises, guesses, cards, and exercises with other numbers."""
    writer = _Writer(assembled, published, catalogue)
    boxes = {one.id: one for one in assembled.page.pieces if isinstance(one, Box) and one.id}
    parts = _cut_exercises(assembled)
    asks = [*list_asks(assembled)]
    for ask in asks:
        box = boxes[ask.box]
        if box.kind == "guess":
            yield writer.guess(ask, box)
        else:
            of_box = [one for one in asks if one.box == ask.box]
            yield writer.ask(ask, box, parts[box.id], of_box)
    for card in read_cards(assembled):
        yield writer.ask_plainly("recall", card.id, card.question, card.answer)
    for variant, varied in vary(assembled.page, asks, catalogue.root, store):
        for ask in varied:
            yield writer.ask_variant(variant, ask, boxes[ask.box], parts[ask.box])


class _Writer:
    """Writes what a page holds as HTML that stands alone."""

    def __init__(
        self, assembled: AssembledPage, published: PublishedPage, catalogue: Catalogue
    ) -> None:
        self.assembled, self.published, self.catalogue = assembled, published, catalogue
        self.slug = published.page.slug
        self.link = catalogue.make_linker(published.url, lambda one: one.url, catalogue.site_url)

    def ask(
        self,
        ask: Ask,
        box: Box,
        parts: dict[str, list[list[tuple[str, object]]]],
        of_box: Sequence[Ask],
    ) -> Question:
        """A question of an exercise, one of `of_box`, below what the exercise says.

        The worked answer gives all of its questions away, so only the last one has it.
        """
        number = self.assembled.find_number(box.id)
        needed = box.options.get("needs", "").split()
        said = self.show(needed, box) + self.render(parts[""][0]) + to_html(ask.prompt)
        words, banks = (self.assembled.locale["site"][name] for name in ("boxes", "banks"))
        kind, stars = box.options["kind"], box.options["stars"]
        title = f"{number} {_make_plain(to_html(box.title))}"
        worked = "".join(self.render(one) for one in parts["answer"])
        note, tags = self.describe_measured(box)
        ask = replace(ask, traps=list_distinct(ask))
        return Question(
            f"{self.slug}-{ask.name}",
            "exercise",
            banks["part"].format(title=title, part=ask.name.rsplit("-", 1)[1]),
            said + note,
            ask,
            worked if ask.name == of_box[-1].name else f"<p>{banks['later']}</p>",
            self.tell_source(box.id, words["exercise"].format(number)),
            [self.render(one) for one in parts["hint"]],
            (self.slug, words[kind], words["stars"].format(stars), *tags),
            [one.wanted.exact for one in of_box if one.wanted and one.name != ask.name],
        )

    def describe_measured(self, box: Box) -> tuple[str, Sequence[str]]:
        """What a question says, and its tag, if its answer was measured on a trained model."""
        words = self.assembled.locale["site"]["banks"]
        if not box.options.get("measured"):
            return "", ()
        return f"<p>{words['measured_note']}</p>", [words["measured"]]

    def ask_variant(
        self, variant: Variant, ask: Ask, box: Box, parts: dict[str, list[list[tuple[str, object]]]]
    ) -> Question:
        """A question of an exercise with other numbers; the worked answer would not fit it."""
        published = self.ask(ask, box, parts, [ask])
        lines = [(variant.rewrite(line), piece) for line, piece in parts[""][0]]
        site = self.assembled.locale["site"]
        words, number = site["banks"], self.assembled.find_number(box.id)
        title = f"{number} {_make_plain(to_html(box.title))}"
        part = ask.name.removesuffix(f"-variant-{variant.number}").rsplit("-", 1)[1]
        place = self.name_place(box.id, site["boxes"]["exercise"].format(number))
        return replace(
            published,
            kind="variant",
            pool=words["part"].format(title=title, part=part),
            title=words["numbers"].format(title=title, part=part, number=variant.number),
            text=self.render(lines) + to_html(ask.prompt),
            answer=f"<p>{words['elsewhere'].format(name=place)}</p>",
            hints=(),
            tags=[*published.tags, words["variant"]],
        )

    def guess(self, ask: Ask, box: Box) -> Question:
        """A guess, below what is known before it: its title is its question."""
        note, tags = self.describe_measured(box)
        plain = self.ask_plainly("guess", box.id, ask.prompt, ask.why)
        text = self.to_html(ask.premise) + plain.text + note
        return replace(plain, ask=ask, text=text, tags=[*plain.tags, *tags])

    def ask_plainly(self, kind: str, name: str, title: str, answer: str) -> Question:
        """What has its question as a title, as a card."""
        text = to_html(title)
        tags = (self.slug, self.assembled.locale["site"]["banks"][kind])
        about = (self.to_html(answer), self.tell_source(name, ""), (), tags)
        return Question(f"{self.slug}-{name}", kind, _make_plain(text), text, None, *about)

    def show(self, names: Sequence[str], box: Box) -> str:
        """What blocks of the page gave."""
        blocks = {one.id: one for one in self.assembled.page.blocks}
        if lost := [one for one in names if one not in blocks]:
            raise Failure(self.assembled.page.path, box.line, f"needs: there is no block {lost[0]}")
        results = filter(None, (self.assembled.get_result(blocks[one]) for one in names))
        found = [part for one in results for part in render_result(one, self.assembled)]
        return self.to_html("\n\n".join(found))

    def render(self, lines: Sequence[tuple[str, object]]) -> str:
        """Lines of the page with code and outputs."""
        where = (self.assembled, self.published, self.catalogue.root, self.link)
        found = []
        for part in split_parts(lines, *where):
            if isinstance(part, str):
                found.append(part)
                continue
            if part.source != "none":
                found.append(format_fence(part.displayed_code.strip("\n"), "python"))
            if result := self.assembled.get_result(part):
                found += render_result(result, self.assembled)
        return self.to_html("\n\n".join(found))

    def to_html(self, markdown: str) -> str:
        """Markdown with links that lead to the site, or with none if it has no address."""
        html = to_html(markdown)
        if base := self.catalogue.site_url:
            html = html.replace('<a href="#', f'<a href="{base}{self.published.url}#')
        return OWN_LINK.sub(r"\1", html)

    def tell_source(self, place: str, label: str) -> str:
        """Where a question comes from, and its licence."""
        said = self.assembled.locale["site"]["banks"]["source"].format(
            name=self.name_place(place, label), site=self.published.site_name
        )
        return f"<p><small>{said}</small></p>"

    def name_place(self, place: str, label: str) -> str:
        """Chapter, title and exercise, as a link if the site has an address."""
        locale = self.assembled.locale["site"]
        chapter = locale["chapter"]["number"].format(self.assembled.numbered.get(self.slug, ""))
        title = _make_plain(to_html(self.published.page.title))
        name: str = locale["banks"]["in_chapter"].format(chapter=chapter, title=title)
        if label:
            name = locale["banks"]["in_exercise"].format(chapter=name, exercise=label)
        if base := self.catalogue.site_url:
            name = f'<a href="{base}{self.published.url}#{place}">{name}</a>'
        return name


def _cut_exercises(assembled: AssembledPage) -> Parts:
    found: Parts = {}
    open_: list[Box] = []
    for line, piece in expand_lines(assembled):
        if isinstance(piece, Box):
            open_.append(piece)
            if piece.kind == "exercise":
                found[piece.id] = defaultdict(list, {"": [[]]})
            elif open_[0].id in found:
                found[open_[0].id][piece.kind].append([])
        elif isinstance(piece, End):
            open_.pop()
        elif open_ and open_[0].id in found:
            kind = "" if len(open_) == 1 else open_[-1].kind
            found[open_[0].id][kind][-1].append((line, piece))
    return found


@lru_cache(maxsize=1)
def _make_converter() -> Markdown:
    generic = {"pymdownx.arithmatex": {"generic": True}}
    return Markdown(extensions=EXTENSIONS, extension_configs=generic)


def to_html(markdown: str) -> str:
    r"""Markdown as HTML, with formulas as TeX.

    Examples:
        >>> to_html(r"A root, $\sqrt{d_k}$.")
        '<p>A root, \\(\\sqrt{d_k}\\).</p>'
    """
    return FORMULA.sub(r"\g<tex>", _make_converter().reset().convert(markdown))


def _make_plain(html: str) -> str:
    """The text of some HTML in one line."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html)).strip()
