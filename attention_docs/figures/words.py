"""What a figure says to someone who does not see it, in every language of the site."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from attention_docs.figures.boxes import Box

HAN = "[\u4e00-\u9fff]"


def listed(texts: Sequence[str], lang: str) -> str:
    """A list of short texts."""
    return {"en": ", ", "zh": "、"}[lang].join(texts)


def counted(n: int, noun: str) -> str:
    """English: "1 row", "3 rows"."""
    return f"{n} {noun}{'s' * (n != 1)}"


def quoted(name: str, lang: str) -> str:
    """A name in a sentence: Chinese puts it in quotation marks."""
    return name if lang == "en" or not name else f"“{name}”"


def row_name(box: Box, i: int, lang: str) -> str:
    """The label of a row, or its number."""
    label = box.rows[i][lang] if box.rows else ""
    return label or {"en": f"row {i + 1}", "zh": f"第 {i + 1} 行"}[lang]


def column_name(box: Box, j: int, lang: str) -> str:
    """The label of a column, or its number."""
    label = box.columns[j][lang] if box.columns else ""
    return label or {"en": f"column {j + 1}", "zh": f"第 {j + 1} 列"}[lang]


def matrix(box: Box, lang: str) -> str:
    """Every number of a matrix, row by row."""
    n, m = len(box.values), len(box.values[0])
    name = quoted(box.name[lang], lang)
    if n == 1 and not box.rows and not box.columns:
        numbers = listed(box.texts[0], lang)
        if lang == "en":
            return f"{f'Vector {name}'.strip()}: {numbers}."
        return f"向量{name}：{numbers}。"
    parts = [size(box, lang)]
    if box.columns:
        columns = listed([column_name(box, j, lang) for j in range(m)], lang)
        parts.append({"en": f"Columns: {columns}.", "zh": f"各列：{columns}。"}[lang])
    for i, texts in enumerate(box.texts):
        row, numbers = row_name(box, i, lang), listed(texts, lang)
        if lang == "en":
            parts.append(f"{row[:1].upper() + row[1:] if not box.rows else row}: {numbers}.")
        else:
            parts.append(f"{row}：{numbers}。")
    return joined(parts, lang)


def size(box: Box, lang: str) -> str:
    """Name and size of a matrix."""
    n, m = len(box.values), len(box.values[0])
    name = quoted(box.name[lang], lang)
    if lang == "en":
        return f"{f'Matrix {name}'.strip()}, {counted(n, 'row')} and {counted(m, 'column')}."
    return f"矩阵{name}，{n} 行 {m} 列。"


def shades(box: Box, ends: Sequence[tuple[str, int, int]], lang: str) -> str:
    """A matrix drawn without its numbers: its smallest and its largest value, and where."""
    (low, i, j), (high, k, m) = ends
    at = [(row_name(box, a, lang), column_name(box, b, lang)) for a, b in ((i, j), (k, m))]
    if lang == "en":
        where = [f"({row}, {column})" for row, column in at]
        return (
            f"{size(box, lang)} Its values are shades: the smallest is {low} {where[0]}, "
            f"the largest is {high} {where[1]}."
        )
    where = [f"（{row}，{column}）" for row, column in at]
    return f"{size(box, lang)}用深浅表示数值：最小为 {low}{where[0]}，最大为 {high}{where[1]}。"


def axes(rows: str, columns: str, lang: str) -> str:
    """What the rows and the columns are."""
    if lang == "en":
        parts = [f"Rows: {rows}."] * bool(rows) + [f"Columns: {columns}."] * bool(columns)
        return " ".join(parts)
    return f"行：{rows}。" * bool(rows) + f"列：{columns}。" * bool(columns)


def marked(box: Box, cells: Sequence[tuple[int | None, int | None]], lang: str) -> str:
    """The cells that are outlined."""
    if not cells:
        return ""
    places = []
    for i, j in cells:
        names = [] if i is None else [row_name(box, i, lang)]
        names += [] if j is None else [column_name(box, j, lang)]
        places.append({"en": " and ", "zh": "与"}[lang].join(names))
    if lang == "en":
        return f"Outlined: {'; '.join(places)}."
    return f"框出：{'；'.join(places)}。"


def product(
    boxes: Sequence[Box], row: int | None, column: int | None, worked: str, lang: str
) -> str:
    """The three matrices, and what is picked out of them."""
    a, b, c = (quoted(box.name[lang], lang) for box in boxes)
    parts = [f"{a} × {b} = {c}{'.' if lang == 'en' else '。'}"]
    parts += [matrix(box, lang) for box in boxes]
    if row is not None or column is not None:
        parts.append(_in_play(boxes, row, column, worked, lang))
    return joined(parts, lang)


def _in_play(
    boxes: Sequence[Box], row: int | None, column: int | None, worked: str, lang: str
) -> str:
    a, b, c = (quoted(box.name[lang], lang) for box in boxes)
    used = []
    if row is not None:
        name = row_name(boxes[0], row, lang)
        used.append(f"{name} of {a}" if lang == "en" else f"{a}的{name}")
    if column is not None:
        name = column_name(boxes[1], column, lang)
        used.append(f"{name} of {b}" if lang == "en" else f"{b}的{name}")
    if row is None or column is None:
        axis = {"en": "row", "zh": "行"} if column is None else {"en": "column", "zh": "列"}
        if lang == "en":
            return f"Outlined: {used[0]}, and the {axis[lang]} of {c} that it gives."
        return f"框出：{used[0]}，以及由它得到的{c}的那一{axis[lang]}。"
    sum_ = {"en": f": {worked}", "zh": f"：{worked}"}[lang] if worked else ""
    if lang == "en":
        return (
            f"Outlined: {used[0]} and {used[1]}, which give the number in row {row + 1}, "
            f"column {column + 1} of {c}{sum_}."
        )
    return f"框出：{used[0]}与{used[1]}，得到{c}第 {row + 1} 行第 {column + 1} 列的数{sum_}。"


def flow(boxes: Sequence[Box], links: Sequence[tuple[int, int, Any]], title: str, lang: str) -> str:
    """Every box, then every arrow."""
    parts = [f"{title}{'.' if lang == 'en' else '。'}"] if title else []
    parts += [matrix(box, lang) for box in boxes]
    arrows = []
    for start, end, label in links:
        arrow = {
            "en": f"from {boxes[start].name['en']} to {boxes[end].name['en']}",
            "zh": f"从“{boxes[start].name['zh']}”到“{boxes[end].name['zh']}”",
        }[lang]
        over = {"en": f" ({label[lang]})", "zh": f"（{label[lang]}）"}[lang] if label[lang] else ""
        arrows.append(arrow + over)
    parts.append(
        {"en": f"Arrows: {'; '.join(arrows)}.", "zh": f"箭头：{'；'.join(arrows)}。"}[lang]
    )
    return joined(parts, lang)


def joined(sentences: Sequence[str], lang: str) -> str:
    """Sentences as a paragraph; Chinese gets its spaces next to Latin letters and digits."""
    if lang == "en":
        return " ".join(sentence for sentence in sentences if sentence)
    paragraph = re.sub(f"(?<={HAN}) +(?={HAN})", "", "".join(sentences))
    return re.sub(f"(?<={HAN})(?=[0-9A-Za-z])|(?<=[0-9A-Za-z])(?={HAN})", " ", paragraph)
