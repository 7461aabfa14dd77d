"""Figures that a reader goes through one by one: a stepper with buttons, or a slider.

The HTML holds every frame. docs/assets/stepper.css and stepper.js show one at a time; on paper, in
a notebook and without JavaScript all of them stand one after another, and the controls are hidden.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import product

from attention_docs.figures.figure import Figure, Language, Wording, checked_label

NUMBER = re.compile(r"-?\d+([.,/]\d+)*")


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
    label: Wording
    drawings: tuple[Figure, ...]
    caption: Wording
    says: Wording = None

    def __post_init__(self) -> None:
        for label in (self.label, self.caption, self.says):
            checked_label(label)

    def _html(self, lang: Language, showing: bool) -> str:
        """The frame with its caption."""
        drawings = "".join(drawing.show(lang) for drawing in self.drawings)
        says = f' data-says="{escape(lang.label(self.says))}"' if self.says else ""
        name = f"<strong>{_subscripts(lang.label(self.label))}</strong>"
        caption = lang.say(
            "steppers", "caption", label=name, caption=_subscripts(lang.label(self.caption))
        )
        return (
            f'<figure class="frame{" shown" * showing}" data-at="{" ".join(self.at)}"{says} '
            f">{drawings}<figcaption>{caption}</figcaption></figure>"
        )


@dataclass(frozen=True, repr=False)
class _Frames(Figure):
    """Frames and the controls that choose one of them; its drawing is HTML."""

    frames: tuple[Frame, ...]
    first: int

    @abstractmethod
    def controls(self, lang: Language) -> str:
        """What stands above the frames."""

    def show(self, lang: Language) -> str:
        """The controls and all frames, as HTML that holds an SVG for each drawing."""
        frames = "".join(one._html(lang, i == self.first) for i, one in enumerate(self.frames))
        return (
            f'<div class="stepper"><div class="stepper-bar" hidden>'
            f'{self.controls(lang)}</div><div class="stepper-frames">{frames}</div></div>'
        )

    def tell(self, lang: Language) -> str:
        """A line for every frame."""
        lines = []
        for frame in self.frames:
            told = lang.join("paragraph", [drawing.tell(lang) for drawing in frame.drawings])
            label = lang.label(frame.label)
            lines.append(lang.say("steppers", "told", label=label, told=told))
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class Stepper(_Frames):
    """Frames with a group of radio buttons for every control."""

    name: str
    groups: tuple[tuple[Wording, tuple[Wording, ...]], ...]

    def controls(self, lang: Language) -> str:
        """The groups of buttons, then the buttons to go back and on."""
        groups = []
        for n, (legend, choices) in enumerate(self.groups, start=1):
            buttons = "".join(
                f'<label><input type="radio" name="{self.name}-{n}" value="{i}"'
                f"{' checked' * (i == 1)}><span>{_button(i, choice, lang)}</span></label>"
                for i, choice in enumerate(choices, start=1)
            )
            groups.append(f"<fieldset><legend>{lang.label(legend)}</legend>{buttons}</fieldset>")
        back, on = lang.say("steppers", "back"), lang.say("steppers", "next")
        return (
            "".join(groups) + '<span class="stepper-buttons">'
            f'<button type="button" data-by="-1" aria-disabled="true">{back}</button>'
            f'<button type="button" data-by="1" aria-disabled="false">{on}</button></span>'
            '<span class="stepper-unseen" role="status"></span>'
        )


@dataclass(frozen=True, repr=False)
class Slider(_Frames):
    """Frames with a slider, one position for each."""

    label: Wording

    def controls(self, lang: Language) -> str:
        """The slider, between what it sets and where it stands."""
        first = self.frames[self.first]
        return (
            f'<label class="stepper-range"><span>{_subscripts(lang.label(self.label))}</span>'
            f'<input type="range" min="0" max="{len(self.frames) - 1}" value="{self.first}" '
            f'aria-valuetext="{escape(lang.label(first.says or first.label))}"></label>'
            '<span class="stepper-now" aria-hidden="true">'
            f"{_subscripts(lang.label(first.label))}</span>"
        )


def stepper(
    name: str,
    controls: Sequence[tuple[Wording, Sequence[Wording]]],
    frames: Sequence[Frame],
) -> Figure:
    """Frames with a group of radio buttons for every control, and buttons to go back and on.

    Args:
        name: of the figure among the figures of its page, for the names of its controls.
        controls: what is chosen, and a label for every choice; the values are 1, 2, 3, … and stand
            on the buttons, except where the labels are numbers themselves.
        frames: one for every combination, in the order of the buttons.

    Raises:
        ValueError: frames that are not the combinations of the controls, one each.
    """
    for legend, choices in controls:
        for label in (legend, *choices):
            checked_label(label)
    values = [[str(i + 1) for i in range(len(choices))] for _, choices in controls]
    _check_places(frames, list(product(*values)))
    groups = tuple((legend, tuple(choices)) for legend, choices in controls)
    return Stepper(tuple(frames), 0, name, groups)


def slider(label: Wording, frames: Sequence[Frame], start: int = 0) -> Figure:
    """Frames with a slider, one position for each.

    Args:
        label: what the slider sets.
        frames: in the order of the slider; they are at "0", "1", "2", …
        start: the frame that shows first.

    Raises:
        ValueError: frames at other places, a start that is no frame.
    """
    checked_label(label)
    _check_places(frames, [(str(i),) for i in range(len(frames))])
    if not 0 <= start < len(frames):
        raise ValueError(f"start must be one of {len(frames)} frames, got {start}")
    return Slider(tuple(frames), start, label)


def _check_places(frames: Sequence[Frame], wanted: list[tuple[str, ...]]) -> None:
    got = [frame.at for frame in frames]
    if got != wanted or not frames:
        raise ValueError(f"frames must be at {wanted}, got {got}")


def _button(i: int, choice: Wording, lang: Language) -> str:
    """What stands on a button: a label that is a number, or the place with the label unseen."""
    label = lang.label(choice)
    return label if NUMBER.fullmatch(label) else f"{i}{_unseen(choice, lang)}"


def _unseen(choice: Wording, lang: Language) -> str:
    """The rest of a choice's label, for those who do not see the figure."""
    label = lang.label(choice)
    rest = label and lang.say("steppers", "choice", label=escape(label))
    return label and f'<span class="stepper-unseen">{rest}</span>'


def _subscripts(text: str) -> str:
    """Escaped; "d_k" gets its k as a subscript."""
    return re.sub(r"\b([^\W\d_])_([^\W_]+)", r"\1<sub>\2</sub>", escape(text, quote=False))
