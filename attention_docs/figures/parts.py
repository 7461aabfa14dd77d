"""What every figure is made of: labels in both languages, colours of the roles, the SVG element."""

from __future__ import annotations

import locale
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from attention_docs.text import number, step

LANGUAGES = ("en", "zh")

Label = str | Mapping[str, str]
"""A label: one text for both languages, or a text for each. A term of the glossary, alone or
with a number ("weights", "query 1"), is put into Chinese by itself."""

TERMS = {
    "attention": "注意力",
    "attention weights": "注意力权重",
    "component": "分量",
    "components": "分量",
    "embedding": "嵌入",
    "entropy": "熵",
    "gradient": "梯度",
    "head": "头",
    "input": "输入",
    "inputs": "输入",
    "key": "键",
    "keys": "键",
    "largest weight": "最大权重",
    "layer": "层",
    "loss": "损失",
    "mask": "掩码",
    "mean": "均值",
    "output": "输出",
    "outputs": "输出",
    "position": "位置",
    "positional encoding": "位置编码",
    "positions": "位置",
    "queries": "查询",
    "query": "查询",
    "score": "分数",
    "scores": "分数",
    "standard deviation": "标准差",
    "step": "步骤",
    "token": "词元",
    "tokens": "词元",
    "value": "值",
    "values": "值",
    "variance": "方差",
    "weight": "权重",
    "weighted value": "加权值",
    "weighted values": "加权值",
    "weights": "权重",
}
"""The glossary's words that stand in labels."""

COLOURS = {
    "figure-ink": "#1b1f24",
    "figure-page": "#ffffff",
    "role-input": "#2e8b3d",
    "role-input-fill": "#a6dfa9",
    "role-key": "#c25a00",
    "role-key-fill": "#ffb870",
    "role-query": "#c62828",
    "role-query-fill": "#f5a3a3",
    "role-value": "#7b3fb5",
    "role-value-fill": "#cfaeea",
    "role-score": "#1565c0",
    "role-score-fill": "#8fc1f0",
    "role-weight": "#8d6b00",
    "role-weight-fill": "#f7d046",
    "role-weighted-value": "#8d6b00",
    "role-weighted-value-fill": "#f7d046",
    "role-output": "#1b5e20",
    "role-output-fill": "#63a66d",
    "role-neutral": "#5b6470",
    "role-neutral-fill": "#c3c9d1",
    "series-1": "#00747a",
    "series-2": "#ad1f7a",
    "series-3": "#7d5322",
    "series-4": "#4a5464",
    "series-5": "#3f51b5",
    "series-6": "#5a7000",
}
"""The light colours, as a fallback where figures.css is not loaded (a notebook, say)."""

ROLES = tuple(name[5:] for name in COLOURS if name.startswith("role-") and "-fill" not in name)


@dataclass(frozen=True)
class Figure:
    """A drawing for each language, and the text that says the same without it.

    As the last line of a block it is drawn on the page; in a terminal it shows its English text.
    """

    svg: Mapping[str, str]
    alt: Mapping[str, str]

    def __repr__(self) -> str:
        return self.alt["en"]

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What a notebook shows: the drawing, in the language of the reader's machine."""
        chinese = (locale.getlocale()[0] or "").lower().startswith(("zh", "chinese"))
        lang = "zh" if chinese else "en"
        kind = "image/svg+xml" if self.svg[lang].startswith("<svg") else "text/html"
        return {kind: self.svg[lang], "text/plain": self.alt[lang]}


def numbered(name: str, n: int) -> list[str]:
    """Labels for n rows or columns.

    Examples:
        >>> numbered("query", 3)
        ['query 1', 'query 2', 'query 3']
    """
    return [f"{name} {i}" for i in range(1, n + 1)]


def both(label: Label | None) -> dict[str, str]:
    """A label in every language; None is the empty label."""
    if label is None:
        return dict.fromkeys(LANGUAGES, "")
    if isinstance(label, Mapping):
        if set(label) != set(LANGUAGES):
            raise ValueError(f"a label must have the languages en and zh, got {sorted(label)}")
        return {lang: label[lang] for lang in LANGUAGES}
    if not isinstance(label, str):
        raise TypeError(f"a label must be a string or a dict of languages, got {label!r}")
    word, space, rest = label.rpartition(" ")
    if space and rest.isdecimal() and word in TERMS:
        return {"en": label, "zh": f"{TERMS[word]} {rest}"}
    return {"en": label, "zh": TERMS.get(label, label)}


def colour(name: str) -> str:
    """The CSS colour of a name in COLOURS."""
    return f"var(--{name},{COLOURS[name]})"


def role_checked(role: str) -> str:
    """The role, or ValueError."""
    if role not in ROLES:
        raise ValueError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
    return role


class Coarse(float):
    """A float from an array of fewer bits: its text is checked for digits that might not hold."""

    dtype: str


def plain(values: Any) -> Any:
    """Arrays and tensors as nested lists of plain numbers."""
    if hasattr(values, "tolist"):
        nested = values.tolist()
        return _coarse(nested, str(values.dtype)) if step(values) > step(None) else nested
    return [plain(one) for one in values] if isinstance(values, list | tuple) else values


def _coarse(nested: Any, dtype: str) -> Any:
    if isinstance(nested, list):
        return [_coarse(one, dtype) for one in nested]
    value = Coarse(nested)
    value.dtype = dtype
    return value


def shown(value: Any, spec: str) -> str:
    """A number as the figure shows it; "d" also takes floats that hold an integer."""
    if isinstance(value, float) and spec.endswith("d"):
        if not value.is_integer():
            raise ValueError(f"spec {spec!r} must have integers, got {value!r}")
        value = int(value)
    formatted = number(value, spec)
    return {"inf": "∞", "-inf": "−∞", "nan": "NaN"}.get(formatted, formatted)


def text_width(text: str, size: float) -> float:
    """A generous guess at the width of a text: a Chinese character is a square."""
    return size * sum(1.0 if ord(c) >= 0x2E80 else 0.6 for c in text)


def label_width(labels: Sequence[Mapping[str, str]], size: float) -> float:
    """The width of the widest label in any language."""
    return max((text_width(one, size) for label in labels for one in label.values()), default=0)


def markup(text: str) -> str:
    """Escape a label for SVG; "d_k" gets its k as a subscript."""
    return re.sub(
        r"\b([^\W\d_])_([^\W_]+)(.?)",
        r'\1<tspan dy=".25em" font-size=".75em">\2</tspan><tspan dy="-.19em">\3</tspan>',
        escape(text, quote=False),
    )


def svg(width: float, height: float, body: str, alt: str, largest: float | None = None) -> str:
    """The SVG element around a body; it shrinks to 3/4 and then its box scrolls."""
    style = (
        f"width:100%;max-width:{(largest or width):.0f}px;min-width:{0.75 * width:.0f}px;"
        f"color:{colour('figure-ink')};background:{colour('figure-page')};"
        "font-family:var(--figure-font,sans-serif);font-style:normal"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="attention-figure" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(alt)}" '
        f'style="{style}" fill="currentColor">{body}</svg>'
    )
