"""Compare the two languages of a page: what must be alike, and whether the Chinese is up to date.

Alike: headings and their ids, blocks, display formulas, and in every section the numerals and the
inline values. Up to date: the Chinese page carries a stamp of the English text that it goes with.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from attention_docs.site.failure import Failure
from attention_docs.site.source import CODE_SPAN, FENCE, VALUE, Source, read_page

HEADING = re.compile(r"^(?P<level>#{1,6}) (?P<title>.*?)(?:\s*\{[^}]*#(?P<id>[\w-]+)[^}]*\})?\s*$")
DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.S)
INLINE = re.compile(r"(?<![\\$])\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\d)")
TEXT = re.compile(r"\\(?:text|textbf|textrm|operatorname|tag)\{[^{}]*\}")
LINK_TARGET = re.compile(r"\]\([^)]*\)|<[^>]*>|\{[^}]*\}")
NUMERAL = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
STAMP = re.compile(r"^english: *\"?(?P<stamp>[\w-]*)\"? *$", re.M)


@dataclass
class Part:
    """A section of a page: its heading, and its text without fences."""

    line: int
    level: int
    id: str
    text: str

    def formulas(self) -> list[str]:
        """Display formulas, without the words in them and without white space."""
        return [re.sub(r"\s|&&", "", TEXT.sub("", tex)) for tex in DISPLAY.findall(self.text)]

    def values(self) -> Counter[str]:
        """Inline values as written."""
        return Counter(match["inner"].strip() for match in VALUE.finditer(self.text))

    def numerals(self) -> Counter[str]:
        """Numbers that the reader sees typed: in prose and in inline formulas."""
        prose = DISPLAY.sub(" ", CODE_SPAN.sub(" ", VALUE.sub(" ", self.text)))
        prose = TEXT.sub(" ", LINK_TARGET.sub("]", prose.replace("{,}", "")))
        return Counter(n.replace(",", "") for n in NUMERAL.findall(prose))


def parts(page: Source) -> list[Part]:
    """The page cut at its headings; what stands before the first one has level 0."""
    found = [Part(page.body_line + 1, 0, "", "")]
    closing = ""
    for number, line in enumerate(page.lines[page.body_line :], start=page.body_line + 1):
        fence = FENCE.match(line)
        if closing:
            if line.strip().startswith(closing) and not line.strip().strip(closing[0]):
                closing = ""
        elif fence:
            closing = fence["ticks"]
        elif heading := HEADING.match(line):
            found.append(Part(number, len(heading["level"]), heading["id"] or "", ""))
        else:
            found[-1].text += line + "\n"
    return found


def stamp(page: Source) -> str:
    """Four hex digits for each section: which text this is, and where it changed."""
    digests = []
    texts = page.text.split("\n")
    starts = [part.line for part in parts(page)] + [len(texts) + 1]
    for start, end in itertools.pairwise(starts):
        section = " ".join("\n".join(texts[start - 1 : end - 1]).split())
        digests.append(hashlib.sha256(section.encode()).hexdigest()[:4])
    return "-".join(digests)


def compare(english: Source, chinese: Source) -> list[Failure]:
    """Everything in which the Chinese page is not the twin of the English one."""
    faults: list[Failure] = []
    ours, theirs = parts(chinese), parts(english)
    for page, sections in ((english, theirs), (chinese, ours)):
        faults += [
            Failure(page.path, part.line, "this heading has no { #id }")
            for part in sections
            if part.level and not part.id
        ]
    heads = [[(part.level, part.id) for part in sections] for sections in (theirs, ours)]
    if heads[0] != heads[1]:
        number = next(
            (n for n, (a, b) in enumerate(zip(*heads, strict=False)) if a != b),
            min(map(len, heads)),
        )
        wanted = f"#{heads[0][number][1]}" if number < len(heads[0]) else "no more headings"
        got = f"#{heads[1][number][1]}" if number < len(heads[1]) else "none"
        line = ours[min(number, len(ours) - 1)].line
        return [*faults, Failure(chinese.path, line, f"heading: wanted {wanted}, got {got}")]
    faults += _blocks(english, chinese, theirs, ours)
    for their, our in zip(theirs, ours, strict=True):
        faults += _section(english.path, chinese.path, their, our)
    return faults + _stale(english, chinese, ours)


def _blocks(
    english: Source, chinese: Source, theirs: list[Part], ours: list[Part]
) -> list[Failure]:
    def placed(page: Source, sections: list[Part]) -> list[tuple[str, str, bool, list[str]]]:
        return [
            (
                [part.id for part in sections if part.line <= block.line][-1],
                block.id,
                block.show_source,
                [f"{s.listing.name}:{s.name}" for s in block.sections],
            )
            for block in page.blocks
        ]

    wanted, got = placed(english, theirs), placed(chinese, ours)
    for number, (a, b) in enumerate(zip(wanted, got, strict=False)):
        if a != b:
            return [
                Failure(
                    chinese.path,
                    chinese.blocks[number].line,
                    f'block: wanted "{a[1]}" in #{a[0]} as in {english.path}:'
                    f'{english.blocks[number].line}, got "{b[1]}" in #{b[0]}',
                )
            ]
    if len(wanted) != len(got):
        longer, other = (english, chinese) if len(wanted) > len(got) else (chinese, english)
        block = longer.blocks[min(len(wanted), len(got))]
        return [Failure(longer.path, block.line, f'block "{block.id}" is not in {other.path}')]
    return []


def _section(english: str, chinese: str, their: Part, our: Part) -> list[Failure]:
    faults = []
    place = f"as in {english}:{their.line}"
    if their.formulas() != our.formulas():
        pairs = zip(their.formulas(), our.formulas(), strict=False)
        a, b = next(
            (pair for pair in pairs if pair[0] != pair[1]),
            (f"{len(their.formulas())} formulas", f"{len(our.formulas())} formulas"),
        )
        faults.append(
            Failure(chinese, our.line, f"formula in #{our.id}: wanted {a} {place}, got {b}")
        )
    for what, wanted, got in (
        ("inline values", their.values(), our.values()),
        ("numbers", their.numerals(), our.numerals()),
    ):
        if wanted != got:
            missing, extra = sorted((wanted - got).elements()), sorted((got - wanted).elements())
            faults.append(
                Failure(
                    chinese,
                    our.line,
                    f"{what} in #{our.id}: missing {missing}, too many {extra} ({place})",
                )
            )
    return faults


def _stale(english: Source, chinese: Source, ours: list[Part]) -> list[Failure]:
    wanted = stamp(english)
    found = STAMP.search(
        chinese.text[: sum(len(x) + 1 for x in chinese.lines[: chinese.body_line])]
    )
    got = found["stamp"] if found else ""
    if got == wanted:
        return []
    old, new = got.split("-"), wanted.split("-")
    changed = [n for n, digest in enumerate(new) if n >= len(old) or old[n] != digest]
    names = ", ".join(f"#{ours[n].id}" if ours[n].id else "the opening" for n in changed)
    line = ours[changed[0]].line if changed else 1
    return [
        Failure(
            chinese.path,
            line,
            f"the English text changed in {names or 'its sections'}: bring this page up to date, "
            f"then run `make translated PAGE={chinese.slug}`",
        )
    ]


def write_stamp(root: Path, slug: str) -> None:
    """Declare that the Chinese page goes with the English text as it now is."""
    english = read_page(root / "docs" / "en" / f"{slug}.md", root)
    path = root / "docs" / "zh" / f"{slug}.md"
    text = path.read_text(encoding="utf-8")
    line = f"english: {stamp(english)}"
    if STAMP.search(text):
        text = STAMP.sub(line, text, count=1)
    else:
        text = text.replace("---\n", f"---\n{line}\n", 1)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for page in sys.argv[1:]:
        write_stamp(Path.cwd(), page)
