"""A passage of a page: a heading or a box with its text, as translations are compared by it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from attention_docs.site.read.syntax import (
    CHAPTER,
    CODE_SPAN,
    DISPLAY,
    INLINE,
    LINK_TARGET,
    LIST_MARKER,
    NUMERAL,
    REASON,
    ROW,
    SIDES,
    SPACING,
    SPOKEN,
    TEX_WORDS,
    VALUE,
)

SPELLED = re.compile(r"(?i)\b(?:zeros?|ones)\b")


@dataclass(frozen=True)
class Passage:
    """A heading and what stands under it up to the next one, without fences; or a box and its text.

    What stands before the first heading has level 0 and no id; a box is a level deeper than what it
    stands in, which goes on after it.
    """

    line: int
    level: int
    title: str
    id: str
    text: str
    kind: str = ""  # of a box
    options: tuple[tuple[str, str], ...] = ()
    last_line: int = 0  # of what belongs to it, boxes and lower headings included

    def find_displays(self) -> list[str]:
        """Display formulas, without the words in them and without white space."""
        return [re.sub(r"\s|&&", "", SPOKEN.sub("", tex)) for tex in DISPLAY.findall(self.text)]

    def find_formulas(self, translations: Mapping[str, str]) -> list[str]:
        """The sides of inline formulas, with the words in them translated by `translations`."""

        def translate(match: re.Match[str]) -> str:
            return f"\\text{{{translations.get(match[1].strip(), match[1].strip())}}}"

        found = INLINE.findall(DISPLAY.sub(" ", CODE_SPAN.sub(" ", VALUE.sub("{v}", self.text))))
        sides = (side for tex in found for side in SIDES.split(SPOKEN.sub(translate, tex)))
        return [side for side in (SPACING.sub("", side) for side in sides) if side]

    def count_formula_words(self, translations: Mapping[str, str]) -> Counter[str]:
        """The words in each line of display formulas without its reason, by `translations`.

        It translates what stands between formulas, or all of a line: "if / else"; "" stands for
        words that the other language says in the reason.
        """
        found: Counter[str] = Counter()
        for row in (row for tex in DISPLAY.findall(self.text) for row in ROW.split(tex)):
            words = [word.strip() for word in SPOKEN.findall(REASON.sub("", row))]
            line = " / ".join(filter(None, words))
            apart = " / ".join(translations.get(word, word) for word in filter(None, words))
            found[translations.get(line, apart)] += 1
        del found[""]
        return found

    def count_names_in_reasons(self) -> Counter[str]:
        """What a reason calls alike in every language: "A1" and whole numbers."""
        rows = (row for tex in DISPLAY.findall(self.text) for row in ROW.split(tex))
        reasons = (
            word for row in rows for one in REASON.findall(row) for word in SPOKEN.findall(one)
        )
        return Counter(name for one in reasons for name in re.findall(r"[A-Z]?\d+", one))

    def count_values(self) -> Counter[str]:
        """Inline values as written; the number of a chapter is a word of its sentence."""
        text = CHAPTER.sub(" ", self.text)
        return Counter(match["inner"].strip() for match in VALUE.finditer(text))

    def count_numerals(self) -> Counter[str]:
        """Numbers that the reader sees typed: in prose and in inline formulas."""
        prose = DISPLAY.sub(" ", CODE_SPAN.sub(" ", VALUE.sub(" ", self.text)))
        prose = TEX_WORDS.sub(" ", LINK_TARGET.sub("]", prose.replace("{,}", "")))
        prose = LIST_MARKER.sub("", prose)
        return Counter(n.replace(",", "") for n in NUMERAL.findall(prose))

    def count_spelled_numerals(self) -> Counter[str]:
        """Zeros and ones that English spells: a translation may write them as digits."""
        words = Counter(word.lower() for word in SPELLED.findall(self.text))
        return Counter({"0": words["zero"] + words["zeros"], "1": words["ones"]})
