"""Convert a language into another script, by a table: `docs/zh-hant.toml`.

The table's own words come first, then OpenCC. Nothing is guessed: a word that OpenCC reads in
several ways, one that it would say otherwise, a term of the glossary, and every 行 and 列 must have
an answer in the table.

A row is called 行 on the mainland and a column 列 there, which change places in Taiwan; a line of
text is 行 in both. So what may be a row or a line is decided by the same passage in English.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.syntax import CODE_SPAN, VALUE

ANSWERS = ("axes", "rows", "terms", "words")
"""The tables that say what a word is called; a word stands in one of them. Those of `rows` may also
be lines of text, and stay as they are where the English has lines."""

HAN = "[\u3400-\u9fff]"
AXES = "行列"
ANSWERED, HIDDEN = "\ue100", "\ue101"  # what the table has answered; code, values, addresses
NUMBER = rf"(?:(?:(?!{HAN})[\w+−])+|\$[^$\n]*\$|\{{\w*\}}|{HIDDEN})"  # `{{}}` in a word
UNCONVERTED = re.compile(
    rf"{CODE_SPAN.pattern}|{VALUE.pattern}|(?<=\])\([^()\s]*\)|https?://[^\s)>]+"
)
ROW_OR_LINE = re.compile(r"\b(?:(rows?)|(?<!straight )lines?)\b", re.I)
LINE = re.compile(r"\(at line (\d+)")
NEITHER = re.compile("[序陣]列")  # has the sign of an axis and is none
COLUMN = "欄"  # of a printed table, whose lines are 行

AMBIGUOUS = frozenset(
    "鉴僵熏曲淀漓铲链锄锫针钟钥钫钻镋镎镢镰鹇饥闲须郁酸适雇雕面采里证谥谷赝赞辟荐荡荫药迹胄背胜胡脏苏苔"
    "苹获虫跖腊腌范蒙蚝裥舍芸蔑蝎表袅耇艳藤蜡豆象膻致凄准凌几凶出厂历厘划别刮制千升卜占卤卷参发只台叶叹"
    "吁吃合吊同后向吣布帘席冢冬冲呆周哄哗岩岳庵克党具坐坛坝坯宁它家弥弦回团困复夫夸夹娘娴局咨咸咽啮尝尸"
    "尽当录彩唇奸志念干并幸广喂巨征径御借埙堤姜勋噪绱绷纤烟狸玩确硷私秋种筑筱签症炼琅矩糊系焰皂穗璇累浚"
    "挂挨挽栗核涂涌杆杠杯杰松板沈沾滟扇才扎托扣极果枪泛注恤恶拐拿游折抵戚捆捍据搜斗斤斫毁摆旋昆溪愈愿札"
    "术朱朴梁暗棱欲汇柜澄檗万丑个丰伙了于云亘仆仇仑价仿俊修余佛佣㐹"
)
"""The characters for which OpenCC 1.4.2 knows several others (its dictionary STCharacters)."""


@lru_cache
def load_opencc(config: str) -> Callable[[str], str]:
    """A conversion of OpenCC: s2tw as it is written in Taiwan, s2twp in the words used there."""
    from opencc import OpenCC  # imported only when a text is converted

    convert: Callable[[str], str] = OpenCC(config).convert
    return convert


class Word:
    """A word of the table; `{}` in it is a number or a formula, `^…$` is all of a text."""

    def __init__(self, word: str, answer: str, line: bool) -> None:
        self.word = word
        self.size = len(word)
        lead, whole = word.startswith("{}"), word.startswith("^")
        bare = word.strip("^$") if whole else word.removeprefix("{}")
        pattern = re.escape(bare).replace(r"\{\}", f"({NUMBER})")
        if lead:  # the number stays where it is
            pattern = rf"(?<=[\w$}}{HIDDEN}]){pattern}"
        self.pattern = re.compile(rf"(?<!.){pattern}\Z" if whole else pattern, re.S)
        self.first = bare[:1]
        self.begins = bare.partition("{}")[0]  # tested first: most words do not match
        self.answer = answer.removeprefix("{}") if lead else answer
        self.line = line  # it may be one of text
        self.row = "行" in word and "列" in answer

    def fill_answer(self, match: re.Match[str]) -> str:
        """The answer, with the numbers that stood in the word."""
        parts = iter(match.groups())
        return re.sub(r"\{\}", lambda _: next(parts), self.answer)


Found = tuple[Word, re.Match[str]]


@dataclass
class ScriptConverter:
    """The table of a language, and the conversion by it.

    Attributes:
        lang: its code.
        origin: the code of the language that it is converted from.
        own: locale strings that are not converted, by their place: "site.locale".
        notes: a sentence below the title of a page, on the home page above its last part, by the
            page; "foot" stands below every page.
        forms: other forms of a character that readers type, for the search.
        aliases: other names that readers type, by the name that the pages use.
        answers: what a word is called, by the table that says so.
        marks: signs that change one for one: quotation marks.
        characters: the usual reading of a character that has several.
        text: all of the file.
        cached_texts: the conversions of texts.
        cached_pages: the conversions of pages: `conversion.convert_page`.
        matched: the words of the table that stood in a text which was converted.
    """

    lang: str
    origin: str
    own: Mapping[str, str]
    notes: Mapping[str, str]
    forms: Mapping[str, str]
    aliases: Mapping[str, str]
    answers: Mapping[str, Mapping[str, str]]
    marks: Mapping[str, str]
    characters: Mapping[str, str]
    text: str
    cached_texts: dict[tuple[str, str], tuple[str, list[str]]] = field(default_factory=dict)
    cached_pages: dict[str, Any] = field(default_factory=dict)
    matched: set[str] = field(default_factory=set)

    @cached_property
    def key(self) -> str:
        """The fingerprint of the table and of OpenCC."""
        return hashlib.sha256(f"{version('opencc')} {self.text}".encode()).hexdigest()

    @cached_property
    def _words_by_first_character(self) -> dict[str, list[Word]]:
        """The words of the table by their first characters, the longest first."""
        found: dict[str, list[Word]] = {}
        words = [
            Word(word, answer, table == "rows")
            for table, answers in self.answers.items()
            for word, answer in answers.items()
        ]
        for word in sorted(words, key=lambda word: -word.size):
            found.setdefault(word.first, []).append(word)
        return found

    @cached_property
    def _first_characters(self) -> re.Pattern[str]:
        """Any character that begins a word of the table."""
        return re.compile(f"[{re.escape(''.join(self._words_by_first_character))}]")

    @cached_property
    def _ambiguous_characters(self) -> frozenset[str]:
        return AMBIGUOUS - self.characters.keys()

    def __call__(self, text: str, english: str = "row") -> str:
        """A text in this script; `english` says whether it speaks of rows or of lines."""
        return self._convert_cached(text, english)[0]

    def find_unconverted(self, text: str, english: str = "row") -> list[str]:
        return self._convert_cached(text, english)[1]

    def find_renamed(self) -> list[tuple[str, str]]:
        """The words of the table that are others, and not only the same in other characters."""
        return [
            (word, answer)
            for table in ("terms", "words")
            for word, answer in self.answers[table].items()
            if "{}" not in word and load_opencc("s2tw")(word) != answer
        ]

    def find_unmatched(self) -> list[str]:
        """The words of the table that no text had so far, each with its own table."""
        return [
            f"docs/{self.lang}.toml: [{table}] “{word}” is in no text: remove it"
            for table in ANSWERS
            for word in self.answers[table]
            if word not in self.matched
        ]

    def convert_line(self, line: str, english: str) -> tuple[str, list[str]]:
        """A line of Markdown: code, values and addresses stay as they are."""
        unconverted = [part[0] for part in UNCONVERTED.finditer(line)]
        converted, found = self._convert_cached(UNCONVERTED.sub(HIDDEN, line), english)
        parts = iter(unconverted)
        return re.sub(HIDDEN, lambda _: next(parts), converted), found

    def _convert_cached(self, text: str, english: str) -> tuple[str, list[str]]:
        english_kinds = "".join("r" if row[1] else "l" for row in ROW_OR_LINE.finditer(english))
        if (text, english_kinds) not in self.cached_texts:
            changes = re.search(HAN, text) or any(mark in text for mark in self.marks)
            self.cached_texts[text, english_kinds] = (
                self._convert(text, english_kinds) if changes else (text, [])
            )
        return self.cached_texts[text, english_kinds]

    def _convert(self, text: str, english_kinds: str) -> tuple[str, list[str]]:
        answered = self._find_words(text)
        answers, found = self._choose_answers(text, answered, english_kinds)
        rest, place = "", 0
        for _, match in answered:
            rest += text[place : match.start()] + ANSWERED
            place = match.end()
        rest += text[place:]
        plain = load_opencc("s2tw")(rest)
        found += [f"{one} in docs/{self.lang}.toml" for one in self._find_unanswered(rest, plain)]
        parts = iter(answers)
        read = "".join(self.characters.get(*pair) for pair in zip(rest, plain, strict=True))
        converted = re.sub(ANSWERED, lambda _: next(parts), read)
        return converted.translate({ord(mark): sign for mark, sign in self.marks.items()}), found

    def _find_words(self, text: str) -> list[Found]:
        """The words of the table in a text, from left to right, the longest first."""
        found: list[Found] = []
        place = 0
        while begun := self._first_characters.search(text, place):
            place = begun.start()
            for word in self._words_by_first_character[text[place]]:
                begins = text.startswith(word.begins, place)
                match = begins and word.pattern.match(text, place)
                if match and not (text[place] == " " and self._begins_word(text, match.end() - 1)):
                    found.append((word, match))
                    self.matched.add(word.word)
                    place = match.end()
                    break
            else:
                place += 1
        return found

    def _begins_word(self, text: str, place: int) -> bool:
        """Whether a word of several characters begins there: its first one is no axis."""
        words = self._words_by_first_character.get(text[place], ())
        return any(word.size > 1 and word.pattern.match(text, place) for word in words)

    def _choose_answers(
        self, text: str, answered: list[Found], english_kinds: str
    ) -> tuple[list[str], list[str]]:
        """What the words of the table are called here, and those of which the English is silent."""
        rows = [number for number, (word, _) in enumerate(answered) if word.row]
        kinds = dict(
            zip(
                rows,
                english_kinds * len(rows) if len(set(english_kinds)) == 1 else english_kinds,
                strict=False,
            )
        )
        clear = len(set(english_kinds)) == 1 or len(english_kinds) == len(rows)
        answers, found = [], []
        for number, (word, match) in enumerate(answered):
            if word.line and not clear:
                counts = english_kinds.count("r"), english_kinds.count("l")
                english = f"{counts[0]} rows and {counts[1]} lines of {len(rows)}"
                question = (
                    f"“{match[0]}” in “{_excerpt(text, match.start())}”: a row or a line of text?"
                )
                where = f"docs/{self.lang}.toml, [axes] (a row) or [words] (a line)"
                found.append(f"{question} The English has {english}; say so in {where}")
            if word.line and clear and kinds.get(number) == "l":
                answers.append(load_opencc("s2tw")(match[0]))
            else:
                answers.append(word.fill_answer(match))
        return answers, found

    def _find_unanswered(self, rest: str, plain: str) -> Iterator[str]:
        """What has no answer in what the table leaves to OpenCC."""
        for place in [
            n for n, char in enumerate(rest) if char in AXES or char in self._ambiguous_characters
        ]:
            place_in_text = f"“{rest[place]}” in “{_excerpt(rest, place)}”"
            if rest[place] in AXES:
                where = "under [axes], [rows] or [words]"
                yield f"{place_in_text}: a row, a column or neither? Say so {where}"
            else:
                where = "under [words], or under [characters] if it is never anything else"
                yield f"{place_in_text}: {plain[place]} or another? Say which {where},"
        local = load_opencc("s2twp")(rest)
        if local == plain:
            return
        changes = difflib.SequenceMatcher(None, plain, local, autojunk=False).get_opcodes()
        for kind, start, end, other, last in changes:
            if kind != "equal":
                place_in_text = f"“{rest[start:end]}” in “{_excerpt(rest, start)}”"
                word = local[max(0, other - 1) : last + 1]
                yield f"{place_in_text}: in Taiwan “{word}”, says OpenCC; say which under [words]"


def _excerpt(text: str, place: int) -> str:
    return text[max(0, place - 4) : place + 5].replace(ANSWERED, "…").replace(HIDDEN, "…")


# --- the table


def find_script_table(root: Path, lang: str) -> Path:
    return root / "docs" / f"{lang}.toml"


def read_converter(root: Path, lang: str) -> ScriptConverter:
    """The table of a language, or a `Failure` that says what is wrong with it."""
    path = find_script_table(root, lang)
    return _parse_converter(
        path.relative_to(root).as_posix(), lang, path.read_text(encoding="utf-8")
    )


@lru_cache(maxsize=8)
def _parse_converter(path: str, lang: str, text: str) -> ScriptConverter:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:  # two answers for one word in one table, too
        place = LINE.search(str(error))
        raise Failure(path, int(place[1]) if place else 1, f"must be TOML: {error}") from None
    wanted = {"from", "own", "notes", "forms", "aliases", "marks", "characters", *ANSWERS}
    if found.keys() != wanted or not isinstance(found["from"], str):
        message = f"must hold {', '.join(sorted(wanted))}, got {', '.join(sorted(found))}"
        raise Failure(path, 1, message)
    answers: dict[str, str] = {}
    for name in ANSWERS:
        for word, answer in found[name].items():
            if word in answers:
                line = _find_line(text, word, last=True)
                raise Failure(path, line, f"“{word}” has an answer already: {answers[word]}")
            if load_opencc("t2s")(word) != word:
                simplified = load_opencc("t2s")(word)
                message = f"“{word}” must be in the script of the pages: “{simplified}”"
                raise Failure(path, _find_line(text, word), message)
            if not answer or word.count("{}") != answer.count("{}"):
                raise Failure(
                    path, _find_line(text, word), f"“{word}” has no answer, got {answer!r}"
                )
            if name in ("axes", "rows") and _find_axes(word, "行列") != _find_axes(answer, "列行"):
                row, column = AXES[0], AXES[1]
                signs = f"{row} into {column} and {column} into {row} or {COLUMN}"
                message = f"“{word}” must turn {signs}, got {answer!r}"
                raise Failure(path, _find_line(text, word), message)
            answers[word] = answer
    return ScriptConverter(
        lang=lang,
        origin=found["from"],
        own=found["own"],
        notes=found["notes"],
        forms=found["forms"],
        aliases=found["aliases"],
        answers={name: found[name] for name in ANSWERS},
        marks=found["marks"],
        characters=found["characters"],
        text=text,
    )


def _find_axes(text: str, signs: str) -> list[int]:
    """What a text says of rows (0) and columns (1), by the signs for them."""
    found = re.findall(f"[{signs}{COLUMN}]", NEITHER.sub("", text))
    return [1 if sign == COLUMN else signs.index(sign) for sign in found]


def _find_line(text: str, word: str, last: bool = False) -> int:
    lines = [n for n, line in enumerate(text.splitlines(), 1) if line.startswith(f'"{word}"')]
    return (lines[-1 if last else 0]) if lines else 1
