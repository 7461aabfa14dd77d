"""How long the main line of a page is, and how many minutes it takes to read.

The main line is what stands open: no folds, no exercises, no guesses, no list of sources. The rule
for minutes: words / 200 (Chinese characters / 350), 15 s for each displayed line, 2 s for an inline
formula, 4 s for each line of code or output, 30 s for a figure and 2 minutes for a control.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attention_docs.running.result import Drawing, Result
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Attributes, Block, Box, End, Fence, Heading, Request
from attention_docs.site.read.syntax import CODE_SPAN, DISPLAY, INLINE, LINK_TARGET, ROW, VALUE
from attention_docs.site.render.boxes import FOLDED_KINDS

WORD = re.compile(r"[A-Za-z][\w'’-]*")
CHARACTER = re.compile(r"[\u3400-\u9fff]")  # a Chinese one
PER_MINUTE = {"words": 200, "characters": 350}
SECONDS = {"displayed_lines": 15, "inline_formulas": 2, "lines": 4, "figures": 30, "controls": 120}
INNER = re.compile(
    r"\\begin\{(?P<name>[a-zA-Z]*(?:matrix|cases|array))\}.*?\\end\{(?P=name)\}", re.S
)
COMMENT = re.compile(r"<!--.*?-->")
NOT_READ = (*FOLDED_KINDS, "exercise", "guess")
STEPPER = 'class="stepper"'


@dataclass(frozen=True)
class Length:
    """What stands in the main line of a page.

    Attributes:
        words: of running text: neither in results nor in captions, tables, formulas or code. In
            Chinese they are characters.
        words_beside: those in results, captions and tables.
        formulas: displayed ones.
        displayed_lines: the lines of those.
        inline_formulas: in sentences.
        results: boxes.
        code_lines: that stand open.
        output_lines: of printed text and of tables.
        figures: without those that a reader controls.
        controls: figures with a slider or buttons.
        minutes: of reading all of it, rounded up.
    """

    words: int
    words_beside: int
    formulas: int
    displayed_lines: int
    inline_formulas: int
    results: int
    code_lines: int
    output_lines: int
    figures: int
    controls: int
    minutes: int


def measure(page: Page, results: Sequence[Result]) -> Length:
    """Measure the main line of a page; `results` are those of its blocks, in their order."""
    opened = list(walk_main_line(page))
    running = _read_text(page, opened, beside=False)
    beside = _read_text(page, opened, beside=True)
    count = max((WORD, CHARACTER), key=lambda unit: len(unit.findall(running)))
    words, words_beside = (len(count.findall(_strip_formulas(text))) for text in (running, beside))
    everything = f"{running}\n{beside}"
    displays = DISPLAY.findall(everything)
    inline = len(INLINE.findall(DISPLAY.sub(" ", everything)))
    outputs = [
        _measure_output(page, piece, results) for piece, _ in opened if isinstance(piece, Block)
    ]
    lines, figures, controls = (sum(one[i] for one in outputs) for i in range(3))
    code = sum(_count_code(piece) for piece, _ in opened)
    displayed = sum(map(_count_rows, displays))
    seconds = {
        "displayed_lines": displayed,
        "inline_formulas": inline,
        "lines": code + lines,
        "figures": figures,
        "controls": controls,
    }
    speed = PER_MINUTE["characters" if count is CHARACTER else "words"]
    minutes = (words + words_beside) / speed
    minutes += sum(SECONDS[name] * number for name, number in seconds.items()) / 60
    return Length(
        words=words,
        words_beside=words_beside,
        formulas=len(displays),
        displayed_lines=displayed,
        inline_formulas=inline,
        results=sum(isinstance(piece, Box) and piece.kind == "result" for piece, _ in opened),
        code_lines=code,
        output_lines=lines,
        figures=figures,
        controls=controls,
        minutes=max(1, round(minutes)),
    )


def walk_main_line(page: Page) -> Iterator[tuple[object, bool]]:
    """The pieces of the main line, each with whether it stands in a result."""
    boxes: list[str] = []
    sources = False
    for piece in page.pieces:
        if isinstance(piece, Heading):
            sources = piece.id == "sources"
        if isinstance(piece, Box):
            boxes.append(piece.kind)
        if not sources and not set(boxes) & set(NOT_READ):
            yield piece, "result" in boxes
        if isinstance(piece, End) and boxes:
            boxes.pop()


def _read_text(page: Page, opened: Sequence[tuple[object, bool]], beside: bool) -> str:
    """The text of the main line, or what stands beside it: results, captions and tables."""
    captions = _find_captions(page)
    lines = []
    for piece, in_result in opened:
        if isinstance(piece, Block | Fence | Attributes | Request | End):
            continue
        line = piece.title if isinstance(piece, Box) else page.lines[piece.line - 1]  # type: ignore[attr-defined]
        apart = in_result or piece.line in captions or line.lstrip().startswith("|")  # type: ignore[attr-defined]
        if apart == beside:
            lines.append(COMMENT.sub(" ", VALUE.sub(" ", line)))
    return "\n".join(lines)


def _find_captions(page: Page) -> set[int]:
    """The lines of captions: paragraphs that end in `{ .caption }`."""
    found = set()
    for piece in page.pieces:
        if isinstance(piece, Attributes) and ".caption" in page.lines[piece.line - 1]:
            line = piece.line - 1
            while line and page.lines[line - 1].strip():
                found.add(line)
                line -= 1
    return found


def _strip_formulas(text: str) -> str:
    text = INLINE.sub(" ", CODE_SPAN.sub(" ", DISPLAY.sub(" ", text)))
    return LINK_TARGET.sub("]", text)


def _count_rows(tex: str) -> int:
    r"""The lines of a displayed formula; those of a matrix in it are one.

    Examples:
        >>> _count_rows(r"\begin{aligned} a &= b \\[4pt] &= c \end{aligned}"), _count_rows("a")
        (2, 1)
    """
    rows = ROW.split(INNER.sub(" ", tex))
    return sum(bool(re.sub(r"\\(?:begin|end)\{\w+\}|\s", "", row)) for row in rows)


def _count_code(piece: object) -> int:
    """The lines of code that stand open."""
    if isinstance(piece, Fence):
        return piece.last_line - piece.line - 1
    if not isinstance(piece, Block) or piece.source != "above":
        return 0
    return len(piece.displayed_code.strip("\n").split("\n"))


def _measure_output(page: Page, block: Block, results: Sequence[Result]) -> tuple[int, int, int]:
    """Lines of output, figures and controls of a block."""
    number = page.blocks.index(block)
    if number >= len(results):  # it failed, or one before it
        return 0, 0, 0
    result = results[number]
    drawing, text = result.figure.get(page.lang), result.get_text(page.lang)
    folded = drawing is not None and block.text == "folded"
    lines = len(text.splitlines()) if text and not folded else 0
    if drawing is None:
        return lines, 0, 0
    if drawing.cells:
        return lines + len(drawing.cells), 0, 0
    control = _is_control(drawing)
    return lines, int(not control), int(control)


def _is_control(drawing: Drawing) -> bool:
    return STEPPER in drawing.svg
