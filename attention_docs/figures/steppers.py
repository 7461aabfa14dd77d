"""Figures that a reader goes through one by one: a stepper with buttons, or a slider.

The HTML holds every frame. docs/assets/stepper.css and stepper.js show one at a time; on paper, in
a notebook and without JavaScript all of them stand one after another, and the controls are hidden.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import product

from attention_docs.figures.figure import Figure, FrameText, Language, Wording, check_label
from attention_docs.figures.matrix import find_scales
from attention_docs.figures.svg import check_role, css_colour, escape_html_label, measure_text

TICK, BETWEEN, ROOM = 12.8, 10, 260  # of the values below a slider: size, space, width on a phone
WIDEST = 50  # of a value that stands there
NUMBER = re.compile(r"[-−]?\d+([.,/]\d+)*")


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
            check_label(label)

    def _render(self, lang: Language, showing: bool, prints: bool = True) -> str:
        """The frame with its caption; in a narrow window its drawings scroll, each by itself."""
        drawings = "".join(
            f'<div class="inner drawing">{drawing.render(lang)}</div>' for drawing in self.drawings
        )
        says = f' data-says="{escape(lang.translate_label(self.says))}"' if self.says else ""
        name = f"<strong>{escape_html_label(lang.translate_label(self.label))}</strong>"
        caption = escape_html_label(lang.translate_label(self.caption))
        caption = lang.format_phrase("steppers", "caption", label=name, caption=caption)
        kind = "frame" + " shown" * showing + " unprinted" * (not prints)
        return (
            f'<figure class="{kind}" data-at="{" ".join(self.at)}"{says} '
            f">{drawings}<figcaption>{caption}</figcaption></figure>"
        )

    def read(self, lang: Language) -> FrameText:
        """The same as text."""
        parts = {"label": self.label, "caption": self.caption}
        caption = {name: lang.translate_label(part) for name, part in parts.items()}
        labels = (label for drawing in self.drawings for label in drawing.list_labels(lang))
        at = " ".join(self.at)
        return FrameText(at, lang.format_phrase("steppers", "caption", **caption), tuple(labels))


@dataclass(frozen=True, repr=False)
class _Frames(Figure):
    """Frames and the controls that choose one of them; its drawing is HTML."""

    frames: tuple[Frame, ...]
    first: int
    answer: str = field(default="", kw_only=True)  # the setting that answers the guess before it

    @abstractmethod
    def render_controls(self, lang: Language) -> str:
        """What stands above the frames."""

    def render(self, lang: Language) -> str:
        """The controls and all frames, as HTML that holds an SVG for each drawing."""
        frames = "".join(
            one._render(lang, i == self.first, self.prints(one.at))
            for i, one in enumerate(self.frames)
        )
        return (
            f'<div class="stepper"{self._name_answer()}><div class="stepper-bar" hidden>'
            f'{self.render_controls(lang)}</div><div class="stepper-frames">{frames}</div></div>'
        )

    def _name_answer(self) -> str:
        return f' data-answer="{self.answer}"' if self.answer else ""

    def prints(self, at: tuple[str, ...]) -> bool:
        """Whether paper shows the frame at this setting."""
        return True

    def frame(self, lang: str | Language, at: str) -> str:
        """One frame alone, as it stands among the others while it does not show."""
        found = (one for one in self.frames if " ".join(one.at) == at)
        return next(
            (one._render(Language.get(lang), False, self.prints(one.at)) for one in found), ""
        )

    def list_frames(self, lang: Language) -> tuple[FrameText, ...]:
        """Frame by frame."""
        return tuple(frame.read(lang) for frame in self.frames)

    def describe(self, lang: Language) -> str:
        """A line for every frame."""
        lines = []
        for frame in self.frames:
            description = lang.join_texts(
                "paragraph", [drawing.describe(lang) for drawing in frame.drawings]
            )
            label = lang.translate_label(frame.label)
            lines.append(
                lang.format_phrase("steppers", "frame", label=label, description=description)
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class Group:
    """A control: what is chosen, a label for every choice, and the roles of what it makes."""

    legend: Wording
    choices: tuple[Wording, ...]
    roles: tuple[tuple[str, ...], ...] = ()

    def render(self, name: str, lang: Language) -> str:
        """Radio buttons; those of a pipeline carry the colours of their roles."""
        kind = ' class="pipeline"' if self.roles else ""
        legend = lang.translate_label(self.legend)
        buttons = "".join(
            f'<label><input type="radio" name="{name}" value="{i + 1}"{" checked" * (i == 0)}>'
            f"<span>{self._list_inks(i)}{self.render_choice(i, lang)}</span></label>"
            for i in range(len(self.choices))
        )
        return f"<fieldset{kind}><legend>{legend}</legend>{buttons}</fieldset>"

    def render_choice(self, i: int, lang: Language) -> str:
        """A choice by its label; many labels have numbers, which stand alone in a narrow window."""
        label = escape_html_label(lang.translate_label(self.choices[i]))
        if NUMBER.fullmatch(label):
            return f'<span class="at">{label}</span>'
        rest = f'<span class="choice"><span class="between"> · </span>{label}</span>'
        return f'<span class="at">{i + 1}</span>{rest}'

    def _list_inks(self, i: int) -> str:
        inks = "".join(
            f'<i style="--ink:{css_colour(f"role-{role}")}"></i>' for role in self._number_choice(i)
        )
        return inks and f'<span class="inks">{inks}</span>'

    def _number_choice(self, i: int) -> tuple[str, ...]:
        return self.roles[i] if self.roles else ()


@dataclass(frozen=True, repr=False)
class Stepper(_Frames):
    """Frames with a group of radio buttons for every control."""

    name: str
    groups: tuple[Group, ...]

    def render_controls(self, lang: Language) -> str:
        """The groups of buttons, then the buttons to go back and on, and where one is.

        Of several controls that are no stages, none is the one that goes on.
        """
        groups = [group.render(f"{self.name}-{n}", lang) for n, group in enumerate(self.groups, 1)]
        if len(groups) > 1 and not self.groups[-1].roles:
            return "".join(groups)
        back, on = lang.format_phrase("steppers", "back"), lang.format_phrase("steppers", "next")
        choice = self.groups[-1].render_choice(0, lang)
        return (
            "".join(groups) + '<span class="stepper-buttons">'
            f'<button type="button" data-by="-1" aria-disabled="true">{back}</button>'
            f'<span class="stepper-now" aria-hidden="true">{choice}</span>'
            f'<button type="button" data-by="1" aria-disabled="false">{on}</button>'
            '</span><span class="unseen" role="status"></span>'
        )

    def prints(self, at: tuple[str, ...]) -> bool:
        """Whether paper shows the frame at this setting, of several controls.

        They are those at which one control is at its last choice and the others at their first;
        of stages, all those of the first choice.
        """
        if len(at) == 1:
            return True
        if self.groups[-1].roles:
            return set(at[:-1]) == {"1"}
        moved = [
            choice == str(len(group.choices))
            for group, choice in zip(self.groups, at, strict=True)
            if choice != "1"
        ]
        return moved in ([], [True])


@dataclass(frozen=True, repr=False)
class Slider(_Frames):
    """Frames with a slider, one position for each."""

    label: Wording

    def render_controls(self, lang: Language) -> str:
        """The slider, between what it sets and where it stands."""
        first = self.frames[self.first]
        label = escape_html_label(lang.translate_label(self.label))
        return (
            f'<label class="stepper-range"><span>{label}</span>'
            '<span class="stepper-track">'
            f'<input type="range" min="0" max="{len(self.frames) - 1}" value="{self.first}" '
            f'aria-valuetext="{escape(lang.translate_label(first.says or first.label))}">'
            f'<span class="stepper-ticks" aria-hidden="true">{self._draw_ticks(lang)}</span>'
            "</span></label>"
            '<span class="stepper-now" aria-hidden="true">'
            f"{escape_html_label(lang.translate_label(first.label))}</span>"
        )

    def _draw_ticks(self, lang: Language) -> str:
        """A mark at each position; its value, or its label, where they fit, else its number."""
        labels = [lang.translate_label(frame.label) for frame in self.frames]
        values = [label.rpartition(" = ")[2] for label in labels]
        if max(measure_text(value, TICK) for value in values) > WIDEST:
            values = _find_numbers(labels) or [str(i) for i in range(1, len(values) + 1)]
        last = max(1, len(values) - 1)
        widths = [measure_text(value, TICK) + BETWEEN for value in values]
        steps = (step for step in range(1, last + 1) if sum(widths[::step]) <= ROOM)
        every = range(0, len(values), next(steps, last))
        return "".join(
            f'<span style="--at:{i / last:.4g}">'
            f"{escape_html_label(value) if i in every else ''}</span>"
            for i, value in enumerate(values)
        )


def _find_numbers(labels: Sequence[str]) -> list[str]:
    """The number in each of some labels, or none where a label has not exactly one.

    Examples:
        >>> _find_numbers(["layer 3", "layer 6"]), _find_numbers(["layer 3 of 6", "all"])
        (['3', '6'], [])
    """
    found = [[one[0] for one in NUMBER.finditer(label)] for label in labels]
    return [one for (one,) in found] if all(len(one) == 1 for one in found) else []


def stepper(
    name: str,
    controls: Sequence[tuple[Wording, Sequence[Wording]]],
    frames: Sequence[Frame],
    roles: Sequence[Sequence[str]] = (),
    answer: str = "",
) -> Figure:
    """Frames with a group of radio buttons for every control, and buttons to go back and on.

    Args:
        name: of the figure among the figures of its page, for the names of its controls.
        controls: what is chosen, and a label for every choice: its value, not its place.
        frames: one for every combination, in the order of the buttons.
        roles: what each choice of the last control makes, as roles of `colours.ROLES`: its choices
            are the stages of a computation and stand as a row from stage to stage.
        answer: the setting that answers the guess before the figure, such as "1 3": the figure
            goes there once a reader has guessed.

    Raises:
        ValueError: a choice without a label; frames that are not the combinations of the controls,
            one each; roles that are not one set for each choice; an answer that is no setting.
    """
    for legend, choices in controls:
        for label in (legend, *choices):
            check_label(label)
        if not all(choices):
            raise ValueError(f"every choice must have a label, got {list(choices)}")
    if roles and len(roles) != len(controls[-1][1]):
        raise ValueError(f"roles must be of {len(controls[-1][1])} choices, got {len(roles)}")
    checked_roles = tuple(tuple(check_role(role) for role in of_choice) for of_choice in roles)
    values = [[str(i + 1) for i in range(len(choices))] for _, choices in controls]
    _check_places(frames, list(product(*values)))
    groups = [Group(legend, tuple(choices)) for legend, choices in controls]
    groups[-1] = replace(groups[-1], roles=checked_roles)
    _check_answer(frames, answer)
    return Stepper(_share_scales(frames), 0, name, tuple(groups), answer=answer)


def slider(label: Wording, frames: Sequence[Frame], start: int = 0, *, answer: str = "") -> Figure:
    """Frames with a slider, one position for each.

    Args:
        label: what the slider sets.
        frames: in the order of the slider; they are at "0", "1", "2", …
        start: the frame that shows first.
        answer: where the guess before the figure is answered, as of a `stepper`.

    Raises:
        ValueError: frames at other places, a start or an answer that is not a frame.
    """
    check_label(label)
    _check_places(frames, [(str(i),) for i in range(len(frames))])
    if not 0 <= start < len(frames):
        raise ValueError(f"start must be one of {len(frames)} frames, got {start}")
    _check_answer(frames, answer)
    return Slider(_share_scales(frames), start, label, answer=answer)


def _check_places(frames: Sequence[Frame], wanted: list[tuple[str, ...]]) -> None:
    got = [frame.at for frame in frames]
    if got != wanted or not frames:
        raise ValueError(f"frames must be at {wanted}, got {got}")


def _check_answer(frames: Sequence[Frame], answer: str) -> None:
    places = [" ".join(frame.at) for frame in frames]
    if answer and answer not in places:
        raise ValueError(f"answer must be one of {places}, got {answer!r}")


def _share_scales(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """The frames with one scale for each role, so that a number keeps its shade."""
    scales = find_scales(drawing for frame in frames for drawing in frame.drawings)
    return tuple(
        replace(frame, drawings=tuple(one.rescale(scales) for one in frame.drawings))
        for frame in frames
    )
