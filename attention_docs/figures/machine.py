"""A whole language model in one drawing, whose parts open: from text to the next token.

Its script is docs/assets/instruments/machine.js. Each part is a box with what it holds drawn inside
and cut off by its height, so opening it is a matter of heights. What belongs to a beginning, its
tokens and the weights of a head, the script draws when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Any

from attention_docs.figures.figure import Drawing, Figure, Language
from attention_docs.figures.instruments import Instrument, Layout
from attention_docs.figures.numbers import format_value
from attention_docs.figures.svg import (
    INK,
    PAGE,
    TEXT,
    css_colour,
    element,
    group,
    measure_text,
    outline,
    path,
    text,
    write,
)

WIDE, NARROW = PAGE, 350
GAP, PAD, LINE = 16, 10, 20  # above a part, for its arrow; inside at the ends; between lines
INSET, LANE = 10, 22  # from a box to its parts; on the right for the lines past them
MARK = 6  # a stripe in the colour of the role
LEFT = 34  # where the text of a part begins
SUM = 11  # radius of a sum
THOUSANDTHS = 1000  # logarithms and weights are kept as whole numbers of this part
CHANGING = (
    *("text_size", "tokens_size", "vectors_size", "next_size", "opened", "head", "weights"),
    *("query", "keys", "weight", "ask"),
)
"""The words of what the script writes."""


@dataclass(frozen=True)
class Part:
    """A part: the words of its name and size in the locale, its role, its parts.

    Attributes:
        key: of its words.
        chapter: the one that explains it.
        parameters: how many learned numbers it holds; None for none of its own.
        drawn: whether the script draws what is in it.
    """

    key: str
    chapter: str
    role: str = "neutral"
    parameters: int | None = None
    parts: Sequence[Part] = ()
    drawn: bool = False


@dataclass(frozen=True)
class Beginning:
    """A text, its tokens, the weights of some heads on them, and the likeliest next token.

    Attributes:
        text: as a reader writes it.
        tokens: their texts.
        ids: their numbers.
        weights: of each head in thousandths, the rows of the lower triangle one after the other.
        likeliest: the next token, and its probability.
    """

    text: str
    tokens: Sequence[str]
    ids: Sequence[int]
    weights: Sequence[Sequence[int]]
    likeliest: tuple[str, float]


@dataclass(frozen=True, repr=False)
class Machine(Instrument):
    """Closed: six parts in the order in which a text passes them."""

    sizes: Mapping[str, int]
    heads: Sequence[tuple[int, int]]  # layer and head of those that were measured
    beginning: Beginning
    title: str
    parts: list[Part] = field(init=False)

    name = "machine"

    def __post_init__(self) -> None:
        """The parts, with their parameters counted."""
        d_model, d_ff, d_k = (self.sizes[one] for one in ("d_model", "d_ff", "d_k"))
        table = self.sizes["vocabulary"] * d_model
        projections = d_model * d_k * (self.sizes["heads"] + 2 * self.sizes["kv_heads"])
        output = self.sizes["heads"] * d_k * d_model
        attention = [
            Part("projections", "eight-steps", "query", projections),
            Part("heads", "multi-head", "weight", drawn=True),
            Part("merge", "multi-head", "output", output),
        ]
        block = [
            Part("norm", "transformer-block", "neutral", d_model),
            Part("attention", "eight-steps", "weight", projections + output, attention),
            Part("add", "transformer-block"),
            Part("norm", "transformer-block", "neutral", d_model),
            Part("feed_forward", "transformer-block", "output", 3 * d_model * d_ff),
            Part("add", "transformer-block"),
        ]
        each = sum(part.parameters or 0 for part in block)
        logits = [
            Part("last_norm", "transformer-block", "neutral", d_model),
            Part("output", "language-model", "input"),
        ]
        layers = self.sizes["layers"] * each
        parts = [
            Part("text", "next-word"),
            Part("tokens", "tokens", drawn=True),
            Part("vectors", "sequences", "input", table),
            Part("blocks", "transformer-block", "neutral", layers, block),
            Part("logits", "language-model", "score", d_model, logits),
            Part("next", "language-model", "weight"),
        ]
        object.__setattr__(self, "parts", parts)

    # --- what it says

    def _fill(self, lang: Language, key: str) -> str:
        """A template of this figure with the sizes of the model and of the beginning."""
        token, share = self.beginning.likeliest
        every = {
            **{name: f"{size:,d}" for name, size in self.sizes.items()},
            "n": str(len(self.beginning.ids)),
            "text": self.beginning.text,
            "token": token.replace(" ", "␣"),
            "p": format_value(share, ".3f"),
            "measured": str(len(self.heads)),
        }
        return lang.format_phrase("machine", key, **every)

    def _say_parameters(self, part: Part, lang: Language) -> str:
        if not part.parameters:
            return ""
        return lang.format_phrase("machine", "parameters", number=f"{part.parameters:,d}")

    def _say_size(self, part: Part, lang: Language) -> str:
        key = f"{part.key}_size"
        return self._fill(lang, key) if key in lang.locale["figures"]["machine"] else ""

    def list_numbers(self) -> Mapping[str, Any]:
        """What belongs to the beginning, as the script shows it until a reader chooses another."""
        one = self.beginning
        texts = {str(i): token for i, token in zip(one.ids, one.tokens, strict=True)}
        kept = {"text": one.text, "prompt": one.ids, "weights": one.weights}
        return {"heads": self.heads, "sizes": self.sizes, "tokens": texts, "beginning": kept}

    def list_words(self, lang: Language) -> Mapping[str, Any]:
        """Templates for what changes with the beginning, and for what is open."""
        return {key: lang.locale["figures"]["machine"][key] for key in CHANGING}

    def label(self, lang: Language) -> str:
        """Of the group: its parts say the rest."""
        return lang.format_phrase("machine", "label", title=self.title)

    def state(self, lang: Language) -> str:
        """The parameters as the sum of those of the parts."""
        vectors, blocks, logits = (self.parts[i] for i in (2, 3, 4))
        count = {"vectors": vectors, "blocks": blocks, "logits": logits}
        numbers = {name: one.parameters or 0 for name, one in count.items()}
        return lang.format_phrase(
            "machine",
            "state",
            layers=str(self.sizes["layers"]),
            block=f"{numbers['blocks'] // self.sizes['layers']:,d}",
            total=f"{sum(numbers.values()):,d}",
            **{name: f"{one:,d}" for name, one in numbers.items()},
        )

    def describe(self, lang: Language) -> str:
        """All parts in their order with their sizes, those inside of others after these."""
        parts = lang.join_texts("clauses", self._list_texts(self.parts, lang))
        listed = [lang.format_phrase("machine", "alt", title=self.title, parts=parts)]
        for part in walk(self.parts):
            if part.parts:
                inside = lang.join_texts("clauses", self._list_texts(part.parts, lang))
                name = self._fill(lang, part.key)
                listed.append(lang.format_phrase("machine", "inside", part=name, parts=inside))
        return lang.join_texts("paragraph", [*listed, self.state(lang)])

    def _list_texts(self, parts: Sequence[Part], lang: Language) -> Iterator[str]:
        for part in parts:
            said = (self._say_size(part, lang), self._say_parameters(part, lang))
            size = lang.join_texts("list", said)
            name = self._fill(lang, part.key)
            yield lang.format_phrase("machine", "part", part=name, size=size) if size else name

    # --- how it is drawn

    def render(self, lang: Language) -> str:
        """As a group: its links are there without a script."""
        return super().render(lang).replace('role="img"', 'role="group"')

    def list_layouts(self, lang: Language) -> list[Layout]:
        """One for a page, one for a phone."""
        places = {"gap": GAP, "pad": PAD}
        return [
            Layout(kind, self._draw(width, lang), {**places, "columns": columns})
            for kind, width, columns in (("wide", WIDE, 4), ("narrow", NARROW, 2))
        ]

    def _draw(self, width: float, lang: Language) -> Drawing:
        body, y = "", 2.0
        for n, part in enumerate(self.parts):
            y += GAP * bool(n)
            drawn, height = self._draw_part(part, width, 0, y, bool(n), lang)
            body += drawn
            y += height
        if width == WIDE:  # an id stands once on a page
            for key in {part.key for part in walk(self.parts)}:
                here = f'data-part="{key}"'
                body = body.replace(here, f'id="machine-{key}" {here}', 1)
        return Drawing(width, y + 2, group(body, font_size=TEXT), width)

    def _draw_part(
        self, part: Part, width: float, x: float, y: float, follows: bool, lang: Language
    ) -> tuple[str, float]:
        """A part at its place, closed, and its height; what it follows sends it an arrow."""
        if part.key == "add":
            return self._draw_sum(part, width, x, y, lang)
        size, parameters = self._say_size(part, lang), self._say_parameters(part, lang)
        first, is_wide = LINE + 1, width > NARROW
        lines = group(write(LEFT, first, self._fill(lang, part.key)), font_weight="600")
        mark = element("path", d=outline("M", 17, first - 10, "l", 7, 5, -7, 5), class_="turn")
        y_size = first + LINE
        shown = fit(size, width - LEFT - 12)
        lines += element(
            "text", shown, x=LEFT, y=y_size, class_="size", data_room=width - LEFT - 12
        )
        if parameters:
            y_size += 0 if is_wide else LINE
            at, anchor = (width - 12, "end") if is_wide else (LEFT, "start")
            lines += text(at, y_size, parameters, anchor)
        high = y_size + 11
        if part.key == "heads":
            lines += self._draw_heads(width, high)
            high += 50
        chapter = element(
            "a",
            element(
                "text",
                " ",
                x=width - 12,
                y=y_size if parameters and not is_wide else first,
                text_anchor="end",
            ),
            data_chapter=part.chapter,
            class_="chapter",
        )
        inner = self._draw_inside(part, width, lang)
        hit = element("rect", width=width, height=high, fill="none", class_="hit")
        head = element(
            "g", hit + (mark if part.parts or part.key == "tokens" else "") + lines, class_="head"
        )
        tint, edge = (css_colour(f"role-{part.role}{kind}") for kind in ("-fill", ""))
        frame = element(
            "rect", width=width, height="100%", fill="none", stroke=edge, stroke_width=3
        )
        stripe = element("rect", width=MARK, height="100%", fill=tint)
        box = element(
            "svg", stripe + frame + head + chapter + inner, class_="box", width=width, height=high
        )
        arrow = _draw_arrow(width / 2, 0) if follows else ""
        return _place(part, x, y, high, arrow + box), high

    def _draw_inside(self, part: Part, width: float, lang: Language) -> str:
        """The parts of a part at no place yet; a place for what the script draws."""
        if part.drawn:
            return element("g", " ", class_="inside drawn")
        if not part.parts:
            return ""
        lane = LANE * any(one.key == "add" for one in part.parts)
        wide = width - 2 * INSET - lane
        drawn = [self._draw_part(one, wide, INSET, 0, True, lang)[0] for one in part.parts]
        at = f"{INSET + wide / 2:g} {INSET + wide + lane / 2:g}"
        sums = [n for n, one in enumerate(part.parts) if one.key == "add"]
        lines = "".join(
            element("path", class_="skip", data_from=start, data_to=end, data_lane=at)
            for start, end in zip([0, *(n + 1 for n in sums)], sums, strict=False)
        )
        inside = group(lines, fill="none", stroke=INK, stroke_width=1.5) if lines else ""
        return element("g", inside + "".join(drawn), class_="inside")

    def _draw_sum(
        self, part: Part, width: float, x: float, y: float, lang: Language
    ) -> tuple[str, float]:
        middle, high = width / 2, 2 * SUM + 4
        ring = element("circle", cx=middle, cy=high / 2, r=SUM, fill="none")
        cross = outline("M", middle - 6, high / 2, "h", 12, "M", middle, high / 2 - 6, "v", 12)
        sign = group(ring + path(cross), stroke=INK, stroke_width=1.5)
        name = text(LEFT, high / 2 + 5, self._fill(lang, part.key))
        head = element("g", sign + name, class_="head")
        box = element("svg", head, class_="box", width=width, height=high)
        return _place(part, x, y, high, _draw_arrow(middle, 0) + box), high

    def _draw_heads(self, width: float, y: float) -> str:
        """A square for each head; those that were measured are wide enough for a finger.

        Each of these is of another layer, which its name says.
        """
        open_, count = {head: layer for layer, head in self.heads}, self.sizes["heads"]
        room = width - 2 * 12 - 4 * (count - 1)
        thin = min(30.0, (room - 46 * len(open_)) / (count - len(open_)))
        x, squares = 12.0, ""
        for head in range(count):
            wide = 46 if head in open_ else thin
            fill = css_colour("role-weight-fill") if head in open_ else "none"
            box = element("rect", width=wide, height=40, rx=4, fill=fill, **{"class": "hit"})
            name = f"{open_[head]}.{head}" if head in open_ else str(head)
            label = text(wide / 2, 25, name, "middle")
            at = f"translate({x:g} {y:g})"
            kind = "square" if head in open_ else "square closed"
            squares += element("g", box + label, class_=kind, transform=at, data_head=head)
            x += wide + 4
        return group(squares, stroke_width=1)


def walk(parts: Sequence[Part]) -> Iterator[Part]:
    """All parts, each before those inside of it."""
    for part in parts:
        yield part
        yield from walk(part.parts)


def fit(line: str, room: float) -> str:
    """A line, or its end after an ellipsis where it is longer than its room."""
    while measure_text(line) > room:
        line = "…" + line[2:]
    return line


def _place(part: Part, x: float, y: float, high: float, body: str) -> str:
    at = f"translate({x:g} {y:g})"
    return element("g", body, class_="part", data_part=part.key, data_head=high, transform=at)


def _draw_arrow(x: float, y: float) -> str:
    head = path(outline("M", x, y - 2, "l", -4, -7, "h", 8, "z"), stroke="none")
    line = path(outline("M", x, y - GAP, "V", y - 8), fill="none")
    return group(line + head, stroke=INK, stroke_width=1.5)


def machine(
    kept: Mapping[str, Any], *, layers: int, heads: int, kv_heads: int, title: str
) -> Figure:
    """A decoder-only language model with tied embeddings and a gated feed-forward network.

    Args:
        kept: its `sizes`, and how it goes on with beginnings, as `load_beginnings` gives it; the
            first of these is shown.
        layers: how many.
        heads: of a layer.
        kv_heads: how many heads of keys and values these share.
        title: the name of the model.

    Raises:
        ValueError: a number below 1, d_model that the heads cannot share, or two measured heads
            with one number.

    Examples:
        A model of 2 tokens: 4 parameters in the table, 34 in each layer, 2 in the last norm.

        >>> one = {"text": "a", "prompt": [0], "ids": [1], "nats": [693], "weights": [[1000]]}
        >>> sizes = {"vocabulary": 2, "d_model": 2, "d_ff": 3}
        >>> kept = {"sizes": sizes, "heads": [[4, 1]], "tokens": {"0": "a", "1": "b"}}
        >>> kept["beginnings"] = [one]
        >>> drawn = machine(kept, layers=5, heads=2, kv_heads=1, title="M")
        >>> drawn.state(Language("en"))[:51]
        '176 parameters: 4 in the embedding table, 5 × 34 in'
    """
    vocabulary, d_model, d_ff = (kept["sizes"][one] for one in ("vocabulary", "d_model", "d_ff"))
    numbers = {"vocabulary": vocabulary, "d_model": d_model, "d_ff": d_ff}
    numbers |= {"layers": layers, "heads": heads, "kv_heads": kv_heads}
    if min(numbers.values()) < 1 or d_model % heads:
        raise ValueError(f"sizes must be at least 1, and heads divide d_model, got {numbers}")
    measured = [(int(layer), int(head)) for layer, head in kept["heads"]]
    if len({head for _, head in measured}) != len(measured):
        raise ValueError(f"measured heads must have different numbers, got {measured}")
    first, tokens = kept["beginnings"][0], kept["tokens"]
    beginning = Beginning(
        first["text"],
        [tokens[str(i)] for i in first["prompt"]],
        first["prompt"],
        first["weights"],
        (tokens[str(first["ids"][0])], exp(-first["nats"][0] / THOUSANDTHS)),
    )
    return Machine({**numbers, "d_k": d_model // heads}, measured, beginning, title)
