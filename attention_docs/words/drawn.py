"""The words in a drawing, and what they are in another script where only a table can say so.

A build has OpenCC; a reader's browser draws in the first script and is told, for each page, what
the words of its figures become.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

TEXT = re.compile(r'(?<=[>"])[^<>"]*[\u2018-\u201d\u3400-\u9fff][^<>"]*(?=[<"])')
RUN = re.compile(r"[\u3400-\u9fff]+|[\u2018-\u201d\u300c-\u300f]")


def reworded(drawing: str, change: Callable[[str], str]) -> str:
    """A drawing with other texts; its lines and colours stay.

    Examples:
        >>> reworded('<text x="1">权重 0.5</text>', by_table({"权重": "權重"}))
        '<text x="1">權重 0.5</text>'
    """
    return TEXT.sub(lambda text: change(text[0]), drawing)


def table(texts: Iterable[str], change: Callable[[str], str]) -> dict[str, str]:
    """What each run of characters becomes; ValueError where that depends on what is around it.

    Examples:
        >>> table(["第 3 行：“权重”"], lambda text: "第 3 列：「權重」")
        {'第': '第', '行': '列', '“': '「', '权重': '權重', '”': '」'}
    """
    found: dict[str, str] = {}
    for text in texts:
        changed = change(text)
        ours, theirs = RUN.findall(text), RUN.findall(changed)
        for run, other in zip(ours, theirs, strict=False):
            if len(ours) != len(theirs) or found.setdefault(run, other) != other:
                told = f"“{run}” is {found.get(run, '')} and {other}"
                raise ValueError(f"{told}, in “{text}” that becomes “{changed}”")
    return found


def by_table(known: Mapping[str, str]) -> Callable[[str], str]:
    """What changes a text by such a table, the longest words first.

    Examples:
        >>> by_table({"矩阵": "矩陣", "矩": "矩"})("矩阵 A 的")
        '矩陣 A 的'
    """
    if not known:
        return lambda text: text
    runs = re.compile("|".join(map(re.escape, sorted(known, key=len, reverse=True))))
    return lambda text: runs.sub(lambda run: known[run[0]], text)
