"""Figures that a reader goes through one by one: a stepper with buttons, or a slider.

The HTML holds every frame. docs/assets/stepper.css and stepper.js show one at a time; on paper, in
a notebook and without JavaScript all of them stand one after another, and the controls are hidden.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from attention_docs.figures.parts import LANGUAGES, Figure, Label, both

WORDS = {
    "en": {"back": "‹ Back", "next": "Next ›", "colon": ": ", "stop": ". ", "gap": " "},
    "zh": {"back": "‹ 上一步", "next": "下一步 ›", "colon": "：", "stop": "。", "gap": ""},
}

# The search ends an excluded element at the first closing tag of its kind, so there is none inside.
UNSOUGHT = "data-search-exclude"


@dataclass(frozen=True)
class Frame:
    """What shows at one setting of the controls.

    Attributes:
        at: the value of every control, such as ("2", "5") for input 2 and step 5.
        label: names the setting; it begins the caption and is what a screen reader says.
        drawings: one figure, or several from top to bottom.
        caption: the rest of the caption.
        says: what a screen reader says of the setting in place of the label.
    """

    at: tuple[str, ...]
    label: dict[str, str]
    drawings: tuple[Figure, ...]
    caption: dict[str, str]
    says: dict[str, str] | None = None


def stepper(
    name: str, controls: Sequence[tuple[Label, Sequence[Label]]], frames: Sequence[Frame]
) -> Figure:
    """Frames with a group of radio buttons for every control, and buttons to go back and on.

    Args:
        name: of the figure among the figures of its page, for the names of its controls.
        controls: what is chosen, and a label for every choice; the values are 1, 2, 3, …
        frames: one for every combination, in the order of the buttons.

    Raises:
        ValueError: frames that are not the combinations of the controls, one each.
    """
    wanted: list[tuple[str, ...]] = [()]
    for _, choices in controls:
        wanted = [(*at, str(i + 1)) for at in wanted for i in range(len(choices))]
    _checked(frames, wanted)

    def bar(lang: str) -> str:
        groups = []
        for number, (legend, choices) in enumerate(controls, start=1):
            buttons = "".join(
                f'<label><input type="radio" name="{name}-{number}" value="{i}"'
                f"{' checked' * (i == 1)}><span>{i}"
                f"{_unseen(both(choice)[lang], lang)}</span></label>"
                for i, choice in enumerate(choices, start=1)
            )
            groups.append(f"<fieldset><legend>{both(legend)[lang]}</legend>{buttons}</fieldset>")
        words = WORDS[lang]
        return (
            "".join(groups) + '<span class="stepper-buttons">'
            f'<button type="button" data-by="-1" aria-disabled="true">{words["back"]}</button>'
            f'<button type="button" data-by="1" aria-disabled="false">{words["next"]}</button>'
            "</span>"
            '<span class="stepper-unseen" role="status"></span>'
        )

    return _figure(bar, frames, 0)


def slider(label: Label, frames: Sequence[Frame], start: int = 0) -> Figure:
    """Frames with a slider, one position for each.

    Args:
        label: what the slider sets.
        frames: in the order of the slider; they are at "0", "1", "2", …
        start: the frame that shows first.

    Raises:
        ValueError: frames at other places, a start that is no frame.
    """
    _checked(frames, [(str(i),) for i in range(len(frames))])
    if not 0 <= start < len(frames):
        raise ValueError(f"start must be one of {len(frames)} frames, got {start}")
    first = frames[start].says or frames[start].label

    def bar(lang: str) -> str:
        return (
            f'<label class="stepper-range"><span>{_subscripts(both(label)[lang])}</span>'
            f'<input type="range" min="0" max="{len(frames) - 1}" value="{start}" '
            f'aria-valuetext="{escape(first[lang])}"></label>'
            '<span class="stepper-now" aria-hidden="true">'
            f"{_subscripts(frames[start].label[lang])}</span>"
        )

    return _figure(bar, frames, start)


def _checked(frames: Sequence[Frame], wanted: list[tuple[str, ...]]) -> None:
    got = [frame.at for frame in frames]
    if got != wanted or not frames:
        raise ValueError(f"frames must be at {wanted}, got {got}")


def _figure(bar: Callable[[str], str], frames: Sequence[Frame], start: int) -> Figure:
    return Figure(
        {
            lang: '<div class="stepper">'
            f'<div class="stepper-bar" {UNSOUGHT} hidden>{bar(lang)}</div>'
            '<div class="stepper-frames">'
            + "".join(_frame(one, lang, i == start) for i, one in enumerate(frames))
            + "</div></div>"
            for lang in LANGUAGES
        },
        {
            lang: "\n".join(
                f"{one.label[lang]}{WORDS[lang]['colon']}"
                + WORDS[lang]["gap"].join(drawing.alt[lang] for drawing in one.drawings)
                for one in frames
            )
            for lang in LANGUAGES
        },
    )


def _frame(frame: Frame, lang: str, shown: bool) -> str:
    drawings = "".join(drawing.svg[lang] for drawing in frame.drawings)
    says = f' data-says="{escape(frame.says[lang])}"' if frame.says else ""
    return (
        f'<figure class="frame{" shown" * shown}" data-at="{" ".join(frame.at)}"{says} {UNSOUGHT}>'
        f"{drawings}"
        f"<figcaption><strong>{_subscripts(frame.label[lang])}</strong>{WORDS[lang]['stop']}"
        f"{_subscripts(frame.caption[lang])}</figcaption></figure>"
    )


def _unseen(text: str, lang: str) -> str:
    """The rest of a label, for those who do not see the figure."""
    return text and f'<span class="stepper-unseen">{WORDS[lang]["colon"]}{escape(text)}</span>'


def _subscripts(text: str) -> str:
    """Escaped; "d_k" gets its k as a subscript."""
    return re.sub(r"\b([^\W\d_])_([^\W_]+)", r"\1<sub>\2</sub>", escape(text, quote=False))
