"""A question bank as Moodle imports it: its own XML, a category for each chapter and kind.

A question that comes with other numbers has a category of its own: one of four can be drawn.

A number is a numerical question whose expected mistakes are answers without marks, each with its
sentence. Numbers in a list are gaps (cloze); a choice has one right answer; of the lines of a proof
those that do not belong are to be found; a card is answered in words.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from attention_docs.locales import Locale
from attention_docs.site.publish.catalogue import PublishedPage
from attention_docs.site.publish.questions import Question, to_html
from attention_docs.site.publish.staging import write_text
from attention_docs.site.publish.tolerance import DIGITS, find_slack
from attention_docs.site.render.judged import Number

NEVER = re.compile(r"[^\t\n\r\x20-\U0010ffff]")  # what no XML holds
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<quiz>\n'
FOOT = "</quiz>\n"


def write_bank(questions: Sequence[Question], chapter: str, site: str, locale: Locale) -> str:
    words = locale["site"]["banks"]
    parts = [HEAD]
    pooled = sorted(questions, key=lambda one: one.pool)  # those that come once keep their order
    for (kind, pool), group in groupby(pooled, key=lambda one: (one.kind, one.pool)):
        folders = [site, chapter, words[kind], *filter(None, [pool])]
        path = "/".join(["$course$/top", *(one.replace("/", "//") for one in folders)])
        parts.append(
            f'<question type="category">\n<category>{_text(path)}</category>\n'
            f'<info format="html">{_text("")}</info>\n</question>\n'
        )
        parts += (_write_question(one, words) for one in group)
    return "".join([*parts, FOOT])


def write_whole_bank(folder: Path, pages: Sequence[PublishedPage]) -> None:
    """The banks of all pages of a language as one file, unless some are as they were."""
    paths = [folder / one.bank for one in pages if one.bank]
    if paths and all(one.is_file() for one in paths):
        texts = (one.read_text(encoding="utf-8") for one in paths)
        inner = (one.removeprefix(HEAD).removesuffix(FOOT) for one in texts)
        write_text(paths[0].with_name("all.xml"), "".join([HEAD, *inner, FOOT]))


def _write_question(question: Question, words: Any) -> str:
    ask, text, feedback = question.ask, question.text, question.answer
    if ask is None:
        kind, lines = "essay", _write_words(feedback)
    elif ask.wanted is None:
        kind, lines = "multichoice", _write_choice(question)
        if ask.is_proof:
            text = f"{text}<p>{words['strangers']}</p>"
    elif isinstance(ask.wanted.exact, list):
        kind, lines = "cloze", iter(())
        text += _write_gaps(ask.wanted) + give_digits(ask.wanted, words)
        feedback += list_mistakes(question.told, words)
    else:
        kind, lines = "numerical", _write_number(ask.wanted, ask.traps)
        text += give_digits(ask.wanted, words)
    head = [
        f"<name>{_text(question.title)}</name>",
        _field("questiontext", text + question.source),
        _field("generalfeedback", feedback),
        *([] if kind == "cloze" else ["<defaultgrade>1</defaultgrade>"]),
        f"<penalty>{0 if kind == 'essay' else 0.3333333}</penalty>",
        "<hidden>0</hidden>",
        f"<idnumber>{escape(question.name)}</idnumber>",
    ]
    hints = [_field("hint", one) for one in question.hints]
    tags = "".join(f"<tag>{_text(one)}</tag>" for one in question.tags)
    body = "\n".join([*head, *lines, *hints, f"<tags>{tags}</tags>"])
    return f'<question type="{kind}">\n{body}\n</question>\n'


def _write_words(answer: str) -> Iterator[str]:
    yield "<responseformat>editor</responseformat>"
    yield "<responserequired>0</responserequired>"
    yield "<responsefieldlines>5</responsefieldlines>"
    yield "<attachments>0</attachments>"
    yield "<attachmentsrequired>0</attachmentsrequired>"
    yield _field("graderinfo", answer)
    yield _field("responsetemplate", "")


def _write_choice(question: Question) -> Iterator[str]:
    """One right answer; of a proof, every line that does not belong."""
    assert question.ask
    options, is_proof = question.ask.options, question.ask.is_proof
    strangers = sum(not one.is_right for one in options)
    yield f"<single>{'false' if is_proof else 'true'}</single>"
    yield "<shuffleanswers>true</shuffleanswers>"
    yield "<answernumbering>ABCD</answernumbering>"
    yield "<showstandardinstruction>0</showstandardinstruction>"
    for name in ("correctfeedback", "partiallycorrectfeedback", "incorrectfeedback"):
        yield _field(name, "")
    for one in options:
        fraction = 100.0 if one.is_right else 0.0
        if is_proof:  # a line that belongs takes away half
            fraction = -50.0 if one.is_right else 100 / strangers
        yield _answer(f"{fraction:.7g}", to_html(one.text), explain(one.why), "html")


def _write_number(wanted: Number, traps: Sequence[Number]) -> Iterator[str]:
    yield _answer("100", repr(wanted.exact), "", "moodle_auto_format", find_slack(wanted))
    for one in traps:  # Moodle takes the first answer that is near enough
        said = explain(one.why)
        yield _answer("0", repr(one.exact), said, "moodle_auto_format", find_slack(one))
    yield "<unitgradingtype>0</unitgradingtype>"
    yield "<unitpenalty>0.1</unitpenalty>"
    yield "<showunits>3</showunits>"
    yield "<unitsleft>0</unitsleft>"


def _write_gaps(wanted: Number) -> str:
    """A gap for each entry, a line for each row."""
    rows = wanted.exact if isinstance(wanted.exact[0], list) else [wanted.exact]
    largest = max(abs(one) for row in rows for one in row)
    lines = []
    for row in rows:
        gaps = (
            f"{{1:NUMERICAL:={one!r}:{find_slack(Number('', one), largest=largest)!r}}}"
            for one in row
        )
        lines.append(f"<p>[ {', '.join(gaps)} ]</p>")
    return "".join(lines)


def give_digits(wanted: Number, words: Any) -> str:
    """How many digits are wanted: of a long whole number all of them."""
    entries = wanted.exact if isinstance(wanted.exact, list) else [wanted.exact]
    flat = [one for row in entries for one in (row if isinstance(row, list) else [row])]
    is_whole = all(float(one).is_integer() for one in flat)
    if is_whole and max(map(abs, flat)) < 10**DIGITS:
        return ""
    return f"<p><small>{words['whole' if is_whole else 'digits']}</small></p>"


def list_mistakes(traps: Sequence[Number], words: Any) -> str:
    """Wrong numbers that a page recognises, each with its sentence."""
    items = "".join(f"<li>{html.escape(one.printed)}: {explain(one.why)}</li>" for one in traps)
    return f"<p>{words['mistakes']}</p><ul>{items}</ul>" if items else ""


def explain(why: str) -> str:
    """A reason as a sentence of its own."""
    return to_html(why[:1].upper() + why[1:]) if why else ""


def _answer(fraction: str, text: str, feedback: str, form: str, slack: float | None = None) -> str:
    inner = _text(text) + _field("feedback", feedback)
    if slack is not None:
        inner += f"<tolerance>{slack!r}</tolerance>"
    return f'<answer fraction="{fraction}" format="{form}">{inner}</answer>'


def _field(name: str, text: str) -> str:
    return f'<{name} format="html">{_text(text)}</{name}>'


def _text(text: str) -> str:
    return f"<text>{escape(NEVER.sub('', text))}</text>"
