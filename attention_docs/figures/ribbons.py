"""Words that look at each other: tap one, and ribbons show how much it takes of each.

The HTML holds a drawing for each word that can ask (`ties`). docs/assets/ribbons.css, ribbons.js
and stepper.js show the one that a reader chooses and its stages; without them the first one
stands there, complete.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from attention_docs.figures.figure import Figure, FrameText, Language, check_labels
from attention_docs.figures.numbers import as_lists, check_finite
from attention_docs.figures.svg import css_colour
from attention_docs.figures.ties import BOX, GAP, MARGIN, ROWS, Sentence, Tie

STAGES = {"query": "query", "scores": "score", "weights": "weight", "output": "output"}
"""What a word goes through, and the role of what each stage makes."""


@dataclass(frozen=True, repr=False)
class Ribbons(Figure):
    """A drawing for every word, the choice of a word, and the stages of what it does."""

    ties: tuple[Tie, ...]
    first: int

    def render(self, lang: Language) -> str:
        """The stages, then the drawings under the choice of a word, as HTML."""
        frames = "".join(self._render_frame(lang, i, i == self.first) for i in self._list_places())
        drawing = self.ties[0].draw(lang)
        style = f"max-width:{drawing.largest:.0f}px;min-width:{0.75 * drawing.width:.0f}px"
        return (
            f'<div class="stepper ribbons" style="{style}">{self._render_stages(lang)}'
            f'<div class="stepper-bar" hidden>{self._render_words(lang, drawing.width)}</div>'
            f'<div class="stepper-frames">{frames}</div></div>'
        )

    def _list_places(self) -> range:
        return range(len(self.ties))

    def _render_frame(self, lang: Language, i: int, showing: bool) -> str:
        tie = self.ties[i]
        label = f"<strong>{escape(tie.sentence.name_word(lang, i), quote=False)}</strong>"
        sentence = escape(tie.caption(lang), quote=False)
        caption = lang.format_phrase("steppers", "caption", label=label, caption=sentence)
        return (
            f'<figure class="frame{" shown" * showing}" data-at="{i + 1}">'
            f"{tie.render(lang)}<figcaption>{caption}</figcaption></figure>"
        )

    def _render_words(self, lang: Language, width: float) -> str:
        """A radio button over each word; the last row that they cover is that of who asks."""
        pitch = (width - 2 * MARGIN) / len(self.ties)
        style = (
            f"--ratio:{width / ROWS:.4f};--edge:{MARGIN / width:.2%};"
            f"--side:{GAP / 2 / pitch:.2%};--tall:{BOX / ROWS:.2%}"
        )
        name = f"ribbons-{zlib.crc32(' '.join(tie.shown for tie in self.ties).encode()):x}"
        words = "".join(
            f'<label><input type="radio" name="{name}" value="{i + 1}"'
            f"{' checked' * (i == self.first)}>"
            f'<span class="unseen">{escape(tie.sentence.name_word(lang, i))}</span></label>'
            for i, tie in enumerate(self.ties)
        )
        legend = lang.format_phrase("ribbons", "who")
        return (
            f'<fieldset class="ribbons-words" style="{style}">'
            f'<legend class="unseen">{legend}</legend>{words}</fieldset>'
        )

    def _render_stages(self, lang: Language) -> str:
        """A button for each stage, in the colour of what it makes."""
        tie = self.ties[0]
        made = {"query": True, "scores": tie.scores, "weights": True, "output": tie.output}
        stages = "".join(
            f'<button type="button" data-stage="{n}" style="--ink:{css_colour(f"role-{role}")}">'
            f"{lang.translate_label(name)}</button>"
            for n, (name, role) in enumerate(STAGES.items(), start=1)
            if made[name]
        )
        label = escape(lang.format_phrase("ribbons", "stages"))
        return (
            f'<div class="ribbons-stages" role="group" aria-label="{label}" hidden>{stages}</div>'
        )

    def frame(self, lang: str | Language, at: str) -> str:
        """One drawing alone, as it stands among the others while it does not show."""
        found = (i for i in self._list_places() if str(i + 1) == at)
        return next((self._render_frame(Language.get(lang), i, False) for i in found), "")

    def list_frames(self, lang: Language) -> tuple[FrameText, ...]:
        """A frame for every word."""
        return tuple(self._read_frame(lang, i) for i in self._list_places())

    def _read_frame(self, lang: Language, i: int) -> FrameText:
        tie = self.ties[i]
        parts = {"label": tie.sentence.name_word(lang, i), "caption": tie.caption(lang)}
        caption = lang.format_phrase("steppers", "caption", **parts)
        return FrameText(str(i + 1), caption, tie.list_labels(lang))

    def describe(self, lang: Language) -> str:
        """A line for every word."""
        return "\n".join(tie.describe(lang) for tie in self.ties)


def ribbons(
    words: Sequence[str],
    weights: Any,
    *,
    scores: Any = None,
    values: Any = None,
    outputs: Any = None,
    names: Sequence[str] = (),
    first: int = 0,
    spec: str = ".2f",
) -> Figure:
    """Words that look at each other: tap one, and ribbons show how much it takes of each.

    Args:
        words: n of them; a word may come twice.
        weights: (n, n), a row for each word that asks: at least 0, with sum 1.
        scores: (n, n), before softmax; −inf where a word may not look. They are a stage of their
            own, before the weights.
        values: (n, c), what each word says: 1 for the component that it speaks for.
        outputs: (n, c), weights times values, not negative.
        names: of the c components.
        first: the word that asks at first.
        spec: the format of scores, weights and outputs.

    Raises:
        ValueError: other shapes, weights of another kind, outputs that are not their averages, a
            first word that is none.

    Examples:
        >>> ribbons(["a", "b"], [[0.5, 0.5], [0.25, 0.75]], first=1)
        Ribbons from every word to “a” (word 1), as thick as its weight: a 0.50, b 0.50.
        Ribbons from every word to “b” (word 2), as thick as its weight: a 0.25, b 0.75.
    """
    checked = check_labels(words)
    count = len(checked)
    shares = [check_finite("weights", row) for row in as_lists(weights)]
    if [len(row) for row in shares] != [count] * count or not count:
        raise ValueError(f"weights must be ({count}, {count}), got {shares}")
    if any(min(row) < 0 or abs(sum(row) - 1) > 1e-9 for row in shares):
        raise ValueError(f"weights must be at least 0, with sum 1 in each row, got {shares}")
    before = [] if scores is None else [[float(one) for one in row] for row in as_lists(scores)]
    if before and [len(row) for row in before] != [count] * count:
        raise ValueError(f"scores must be ({count}, {count}), got {before}")
    if not 0 <= first < count:
        raise ValueError(f"first must be one of {count} words, got {first}")
    said, sums = _check_sums(shares, values, outputs, len(names))
    sentence = Sentence(checked, said, check_labels(names), spec)
    ties = [
        Tie(sentence, i, before[i] if before else [], shares[i], sums[i] if sums else [])
        for i in range(count)
    ]
    return Ribbons(tuple(ties), first)


def _check_sums(
    weights: list[list[float]], values: Any, outputs: Any, wide: int
) -> tuple[list[list[float]], list[list[float]]]:
    """Values and outputs as lists, both or neither; or ValueError."""
    if values is None and outputs is None and not wide:
        return [[] for _ in weights], []
    if values is None or outputs is None:
        raise ValueError("values, outputs and names must come together")
    said, sums = (
        [check_finite("values", row) for row in as_lists(one)] for one in (values, outputs)
    )
    for name, rows in (("values", said), ("outputs", sums)):
        if [len(row) for row in rows] != [wide] * len(weights):
            raise ValueError(f"{name} must be ({len(weights)}, {wide}), got {rows}")
    for row, got in zip(weights, sums, strict=True):
        wanted = [
            sum(a * v for a, v in zip(row, column, strict=True))
            for column in zip(*said, strict=True)
        ]
        if any(abs(a - b) > 1e-9 for a, b in zip(wanted, got, strict=True)) or min(got) < 0:
            raise ValueError(f"outputs must be weights times values, not negative, got {got}")
    return said, sums
