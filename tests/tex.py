"""Displayed formulas as functions: what TeX says, computed with numbers in place of its symbols.

A reader for the TeX of these pages, no more: products by juxtaposition, fractions, roots, sums and
products over indices, sets and conditions, norms, expectations over a finite list of cases. Rows
are vectors of shape (1, n); a result of one entry is a number. What it cannot read or does not know
raises `UnknownError`: such a line counts as unchecked, and never as right.
"""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

Names = dict[str, Any]
Meaning = Callable[[Names], Any]
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[^\s]")
DROPPED = re.compile(
    r"\\\\(?:\[\d+pt\])?|\\(?:bigl|bigr|Bigl|Bigr|biggl|biggr|left|right|textstyle|displaystyle|limits)(?![A-Za-z])"
    r"|\\[,;!: ]|~"
)
RELATIONS = {"=": "=", "\\le": "≤", "\\ge": "≥", "\\approx": "≈", "<": "<", ">": ">"}
RELATIONS |= {"\\ne": "≠", "\\to": "→"}
APART = ("\\quad", "\\qquad", "\\Rightarrow", "\\iff")  # between the statements of a line
OPENING = {"(": ")", "[": "]", "\\{": "\\}", "\\lVert": "\\rVert", "\\lvert": "\\rvert"}
OPENING |= {"\\lceil": "\\rceil", "\\lfloor": "\\rfloor"}
WHOLE = {"\\lceil": math.ceil, "\\lfloor": math.floor}
FUNCTIONS = {"\\ln": np.log, "\\sin": np.sin, "\\cos": np.cos, "\\tanh": np.tanh}
FUNCTIONS |= {"\\arccos": np.arccos}
ACCENTS = ("\\bar", "\\hat", "\\tilde", "\\mathbf")
# In the names: the outcomes of chance, how far indices go, which places a set holds and the letter
# for them, letters that count from 1 as numbers do, TeX that stands for something as a whole, and
# what the lines without a relation come to, and names that each line has for itself.
CASES, SIZES, SETS, COUNTING, PHRASES = "cases", "sizes", "sets", "counting", "phrases"
WORTH, LINES = "worth", "lines"


class UnknownError(Exception):
    """TeX that this reader does not know, or a symbol without a number."""


def to_number(value: Any) -> Any:
    """A number for an array of one entry."""
    return float(value.reshape(())) if isinstance(value, np.ndarray) and value.size == 1 else value


def multiply(a: Any, b: Any) -> Any:
    """A product of matrices, or of a number with anything."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return to_number(a @ b)
    return a * b


def dot(a: Any, b: Any) -> Any:
    """What a raised dot means: of two rows their inner product."""
    rows = all(isinstance(one, np.ndarray) and one.shape[0] == 1 for one in (a, b))
    return to_number(a @ b.T) if rows else multiply(a, b)


class Reader:
    """Reads one side of a relation; `meaning` is a function of the names."""

    def __init__(self, tokens: list[str], known: Names) -> None:
        self.tokens, self.at, self.known = tokens, 0, known

    @property
    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.next
        if not token or (wanted and token != wanted):
            raise UnknownError(f"wanted {wanted or 'more'}, got {token or 'the end'}")
        self.at += 1
        return token

    def whole(self) -> Meaning:
        meaning = self.sum()
        if self.next:
            raise UnknownError(self.next)
        return meaning

    def sum(self) -> Meaning:
        """Terms with their signs."""
        terms: list[tuple[int, Meaning]] = []
        sign = 1
        if self.next in "+-" and self.next:
            sign = -1 if self.take() == "-" else 1
        terms.append((sign, self.term()))
        while self.next and self.next in "+-":
            sign = -1 if self.take() == "-" else 1
            terms.append((sign, self.term()))

        def meaning(names: Names) -> Any:
            first_sign, first = terms[0]
            total = first_sign * first(names)
            for one_sign, one in terms[1:]:
                total = total + one_sign * one(names)
            return to_number(total)

        return meaning

    def term(self) -> Meaning:
        """Factors side by side, with dots, crosses and slashes."""
        meaning = self.factor()
        while (
            self.next
            and self.next not in "+-)],&"
            and self.next not in (*OPENING.values(), "}", "\\mid")
        ):
            if self.next in ("\\cdot", "\\times"):
                self.take()
                meaning = self.joined(meaning, dot, self.factor())
            elif self.next == "\\odot":
                self.take()
                meaning = self.joined(meaning, operator.mul, self.factor())
            elif self.next == "/":
                self.take()
                meaning = self.joined(meaning, lambda a, b: a / b, self.factor())
            else:
                meaning = self.joined(meaning, multiply, self.factor())
        return meaning

    @staticmethod
    def joined(a: Meaning, how: Callable[[Any, Any], Any], b: Meaning) -> Meaning:
        return lambda names: how(a(names), b(names))

    def factor(self) -> Meaning:
        """What may carry an exponent."""
        meaning = self.atom()
        while self.next and self.next in "^_":
            if self.next == "_":
                meaning = self.indexed(meaning)
            else:
                self.take()
                meaning = self.power(meaning)
        return meaning

    def power(self, base: Meaning) -> Meaning:
        tokens = self.group()
        if tokens == ["\\top"]:
            return lambda names: (
                base(names).T if isinstance(base(names), np.ndarray) else base(names)
            )
        exponent = Reader(tokens, self.known).whole()
        if tokens[0] == "(" and tokens[-1] == ")":  # X^{(l)}, of layer l
            return lambda names: base(names)(round(exponent(names)))
        return lambda names: base(names) ** exponent(names)

    def group(self) -> list[str]:
        """The tokens within braces, or the next one."""
        if self.next != "{":
            return [self.take()]
        self.take()
        found, depth = [], 1
        while depth:
            token = self.take()
            depth += {"{": 1, "}": -1}.get(token, 0)
            found.append(token)
        return found[:-1]

    def inner(self) -> Meaning:
        return Reader(self.group(), self.known).whole()

    def bracketed(self) -> list[list[str]]:
        """The tokens of what stands in brackets, cut at its commas."""
        opening = self.take()
        parts: list[list[str]] = [[]]
        depth = 1
        while True:
            token = self.take()
            depth += (token in OPENING or token == "{") - (
                token in OPENING.values() or token == "}"
            )
            if not depth:
                if token != OPENING.get(opening):
                    raise UnknownError(token)
                return parts
            if token in (",", "\\|") and depth == 1:
                parts.append([])
            else:
                parts[-1].append(token)

    def atom(self) -> Meaning:
        for tex, meant in self.known.get(PHRASES, {}).items():
            phrase = split_tokens(tex)
            if self.tokens[self.at : self.at + len(phrase)] == phrase:
                self.at += len(phrase)
                return lambda names: meant(names) if callable(meant) else meant
        token = self.next
        if token == "{":
            return self.spelled()
        if token in ("(", "["):
            return self.in_brackets()
        if token == "|":
            self.take()
            end = self.tokens.index("|", self.at)
            part, self.at = self.tokens[self.at : end], end + 1
            bare = Reader(part, self.known).whole()
            return lambda names: abs(bare(names))
        if token in ("\\lVert", "\\lvert"):
            (part,) = self.bracketed()
            inside = Reader(part, self.known).whole()
            return lambda names: float(np.sqrt(np.sum(np.square(inside(names)))))
        if token in WHOLE:
            (part,) = self.bracketed()
            within = Reader(part, self.known).whole()
            return lambda names: WHOLE[token](within(names))
        if token[0].isdigit():
            number = float(self.take())
            return lambda names: number
        if token in FUNCTIONS:
            return self.function(FUNCTIONS[self.take()])
        reader = {
            "\\frac": self.fraction,
            "\\tfrac": self.fraction,
            "\\dfrac": self.fraction,
            "\\sqrt": self.root,
            "\\sum": lambda: self.series(operator.add),
            "\\prod": lambda: self.series(operator.mul),
            "\\operatorname": self.operator,
            "\\max": lambda: self.extreme(max),
            "\\min": lambda: self.extreme(min),
            "\\underbrace": self.braced,
            "\\begin": self.environment,
            "\\infty": lambda: lambda names: math.inf,
        }.get(token)
        if reader:
            self.take()
            return reader()
        return self.symbol()

    def function(self, function: Any) -> Meaning:
        """A function of what follows; in \\sin^2 t the exponent is that of the value."""
        power: Meaning = lambda names: 1  # noqa: E731
        if self.next == "^":
            self.take()
            power = self.inner()
        argument = self.factor()
        return lambda names: function(argument(names)) ** power(names)

    def spelled(self) -> Meaning:
        """A name of several letters, or what braces hold together."""
        tokens = self.group()
        name = "".join(tokens)
        while self.next == "'":
            name += self.take()
        return self.named(name) if name in self.known else Reader(tokens, self.known).whole()

    def in_brackets(self) -> Meaning:
        if "=" in self.tokens[self.at : self.at + 3]:  # Iverson's [j = t]
            ((left, _, right),) = self.bracketed()
            places = read_indices([left, right], self.known)
            return lambda names: float(places[0](names) == places[1](names))
        if (other := self.stacked() or self.stated()) is not None:
            return other
        parts = [Reader(part, self.known).whole() for part in self.bracketed()]
        if len(parts) == 1:
            return parts[0]
        return lambda names: np.hstack([np.atleast_2d(part(names)) for part in parts])

    def stacked(self) -> Meaning | None:
        """Rows below each other, [X; T]; None for other brackets."""
        start, (part, *more) = self.at, self.bracketed()
        if more or ";" not in part:
            self.at = start
            return None
        cut = part.index(";")
        above, below = (Reader(one, self.known).whole() for one in (part[:cut], part[cut + 1 :]))
        return lambda names: np.vstack([above(names), below(names)])

    def stated(self) -> Meaning | None:
        """1 or 0 for a statement in brackets, (j < n); None for other brackets."""
        start, parts = self.at, self.bracketed()
        found = split_sides(parts[0]) if len(parts) == 1 else []
        if len(found) < 2:
            self.at = start
            return None
        relations = [relation for relation, _ in found[1:]]
        readers = [Reader(side, self.known).whole() for _, side in found]

        def meaning(names: Names) -> float:
            values = [one(names) for one in readers]
            return float(
                all(map(is_satisfied, relations, values, values[1:], [0.0] * len(relations)))
            )

        return meaning

    def fraction(self) -> Meaning:
        above, below = self.short(), self.short()
        return lambda names: above(names) / below(names)

    def short(self) -> Meaning:
        """An argument; in \\tfrac12 two digits are two."""
        if self.next and self.next[0].isdigit():
            token = self.take()
            if len(token) > 1:
                self.at -= 1
                self.tokens = [*self.tokens[: self.at], token[1:], *self.tokens[self.at + 1 :]]
            digit = float(token[0])
            return lambda names: digit
        return self.inner()

    def root(self) -> Meaning:
        degree = Reader(self.bracketed()[0], self.known).whole() if self.next == "[" else None
        inside = self.inner()
        if degree:
            return lambda names: inside(names) ** (1 / degree(names))
        return lambda names: math.sqrt(inside(names))

    def braced(self) -> Meaning:
        inside = self.inner()
        self.take("_")
        self.group()
        return inside

    def extreme(self, which: Callable[..., Any]) -> Meaning:
        """The largest or smallest, over an index or of two."""
        if self.next == "_":
            self.take()
            index = self.group()
            inside = self.term()
            return lambda names: which(
                inside(one) for one in iterate_values(index, None, names, self.known)
            )
        one, other = (Reader(part, self.known).whole() for part in self.bracketed())
        of_two = np.maximum if which is max else np.minimum
        return lambda names: to_number(of_two(one(names), other(names)))

    def series(self, how: Callable[[Any, Any], Any]) -> Meaning:
        """A sum or a product over indices; it takes the factors behind it."""
        self.take("_")
        index, end = self.group(), None
        if self.next == "^":
            self.take()
            last = self.group()
            end = Reader(last, self.known).whole()
            if last[0] in self.known.get(SIZES, {}) and last[0] not in self.known.get(COUNTING, ()):
                (place,) = last  # an index as the end: it counts from 0
                end = lambda names: names[place] + 1  # noqa: E731
        inside = self.term()

        def meaning(names: Names) -> Any:
            found: Any = 0.0 if how is operator.add else 1.0
            for one in iterate_values(index, end, names, self.known):
                found = how(found, inside(one))
            return to_number(found)

        return meaning

    def operator(self) -> Meaning:
        name = "".join(self.group())
        if self.next == "_":
            self.take()
            name += "_" + "".join(self.group())
        if name in ("E", "Var"):
            return self.chance(name)
        if name not in self.known:
            raise UnknownError(name)
        if self.next in OPENING:
            parts = [Reader(part, self.known).whole() for part in self.bracketed()]
        else:  # tr A
            parts = [self.factor()]
        meaning: Meaning = lambda names: to_number(names[name](*(part(names) for part in parts)))  # noqa: E731
        return self.indexed(meaning)

    def chance(self, name: str) -> Meaning:
        """An expectation or a variance over the cases, perhaps given one of their symbols."""
        given: list[str] = []
        if self.next in ("(", "["):
            (part,) = self.bracketed()
            if "\\mid" in part:
                given = part[part.index("\\mid") + 1 :]
                part = part[: part.index("\\mid")]
                if given[0] not in self.known or given[1:] not in ([], [">", "0"]):
                    raise UnknownError("a condition")
            inside = Reader(part, self.known).whole()
        else:
            inside = self.term()

        def meaning(names: Names) -> Any:
            if not names.get(CASES):
                raise UnknownError("no cases")
            alike = [
                (p, case)
                for p, case in names[CASES]
                if not given or meets_condition(case[given[0]], names[given[0]], given[1:])
            ]
            total = sum(p for p, _ in alike)
            values = [(p / total, inside(names | case)) for p, case in alike]
            mean = sum(p * value for p, value in values)
            if name == "E":
                return mean
            return sum(p * (value - mean) ** 2 for p, value in values)

        return meaning

    def environment(self) -> Meaning:
        """A matrix, or cases with their conditions."""
        kind = "".join(self.group())
        if kind not in ("bmatrix", "pmatrix", "cases"):
            raise UnknownError("an environment")
        rows: list[list[list[str]]] = [[[]]]
        while self.next != "\\end":
            token = self.take()
            if token == "&":
                rows[-1].append([])
            elif token == "\\\\":
                rows.append([[]])
            else:
                rows[-1][-1].append(token)
        self.take()
        self.group()
        if kind == "cases":
            return self.cases(rows)
        cells = [[Reader(cell, self.known).whole() for cell in row] for row in rows]
        return lambda names: np.array([[cell(names) for cell in row] for row in cells])

    def cases(self, rows: list[list[list[str]]]) -> Meaning:
        """The first of the cases whose condition holds; words alone stand for all others."""
        values = [Reader(row[0], self.known).whole() for row in rows]
        conditions = [self.case(row[1]) for row in rows]

        def meaning(names: Names) -> Any:
            pairs = zip(values, conditions, strict=True)
            return next(one(names) for one, met_by in pairs if met_by(names))

        return meaning

    def case(self, tokens: list[str]) -> Callable[[Names], bool]:
        """The condition of a case, behind a word such as "if"."""
        if tokens[0] == "{" and "".join(Reader(tokens, {}).group()) not in self.known:
            tokens = tokens[tokens.index("}") + 1 :]
        parts = split_sides(tokens)
        if len(parts) == 1:
            return lambda names: True
        (_, left), (relation, right) = parts
        first, second = (Reader(side, self.known).whole() for side in (left, right))
        return lambda names: is_satisfied(relation, first(names), second(names), 0)

    def symbol(self) -> Meaning:
        """A name, with its accent, prime and indices; the longest that is known."""
        token = self.take()
        name = token
        if token in ACCENTS:
            name = f"{token} {''.join(self.group())}"
        elif token == "d" and self.next and f"d{self.next}" in self.bases():
            name = f"d{self.take()}"
        elif not (token.isalpha() or token.startswith("\\")):
            raise UnknownError(token)
        while self.next == "'":
            name += self.take()
        if token == "e" and self.next == "^" and "e" not in self.known:
            return lambda names: math.e
        for index in self.subscripts():
            full = f"{name}_{index}"
            if self.next == "^" and f"{full}^" in self.known:
                return self.numbered_above(full)
            if full in self.known:
                return self.named(full)
        if self.next == "^" and f"{name}^" in self.known:
            return self.numbered_above(name)
        if name == "\\delta" and name not in self.known:
            return self.indexed(None)
        if name == "\\pi" and name not in self.known:
            return lambda names: math.pi
        return self.indexed(self.named(name), name)

    def numbered_above(self, name: str) -> Meaning:
        """One of several that are numbered above, as W^r is of the names' "W^"."""
        self.take()
        tokens = self.group()
        if (joined := "".join(tokens)) in self.known:  # r'
            return lambda names: names[f"{name}^"][names[joined]]
        (place,) = read_indices(tokens, self.known)
        return lambda names: names[f"{name}^"][place(names)]

    def bases(self) -> set[str]:
        """The names without their subscripts."""
        return {one.split("_")[0] for one in self.known}

    def subscripts(self) -> Iterator[str]:
        """A subscript that belongs to the name, as text: taken where the name with it is known."""
        if self.next == "_":
            start = self.at
            self.take()
            yield "".join(one for one in self.group() if one not in ("{", "}", "\\text", "\\"))
            self.at = start

    def named(self, name: str) -> Meaning:
        if self.next == "(" and callable(self.known.get(name)):
            parts = [Reader(part, self.known).whole() for part in self.bracketed()]
            return lambda names: to_number(names[name](*(part(names) for part in parts)))
        if name not in self.known:
            raise UnknownError(name)
        meaning: Meaning = lambda names: names[name]  # noqa: E731
        return self.indexed(meaning) if "_" in name else meaning

    def indexed(self, meaning: Meaning | None, name: str = "") -> Meaning:
        """With the indices that follow; without a meaning, Kronecker's delta."""
        if self.next != "_":
            if meaning is None:
                raise UnknownError("\\delta")
            return meaning
        self.take()
        places = places_of(self.group(), self.known)

        def entry(names: Names) -> Any:
            found = [place(names) for place in places]
            if meaning is None:
                return float(found[0] == found[1])
            value = meaning(names)
            if isinstance(value, int | float) and not callable(value):
                raise UnknownError("an index of a number")
            if callable(value):
                return value(*found)
            if isinstance(value, list):
                value, found = value[found[0]], found[1:]
            return pick_entry(value, found)

        return entry


def meets_condition(value: Any, wanted: Any, condition: list[str]) -> bool:
    """Whether an outcome belongs to those that are given."""
    return value > 0 if condition else np.array_equal(value, wanted)


def pick_entry(value: Any, places: list[int]) -> Any:
    """An entry of a matrix or of a row; one index of a matrix picks a row."""
    if not isinstance(value, np.ndarray) or not places:
        return value
    if len(places) > 1:
        found = value[tuple(places)]
        return found if found.ndim else float(found)
    (place,) = places
    return float(value[0, place]) if value.shape[0] == 1 else value[place][None]


def places_of(tokens: list[str], known: Names) -> list[Callable[[Names], int]]:
    """Indices side by side; between commas each may be a formula, as in p_{t, 2i}."""
    parts = "\0".join(tokens).split("\0,\0")
    if len(parts) == 1:
        return read_indices(tokens, known)
    found: list[Callable[[Names], int]] = []
    for part in (one.split("\0") for one in parts):
        if len(part) == 1:
            found += read_indices(part, known)
        else:
            formula = Reader(part, known).whole()
            found.append(lambda names, formula=formula: round(formula(names)))
    return found


def read_indices(tokens: list[str], known: Names) -> list[Callable[[Names], int]]:
    """Indices, each a letter, a number from 1, or what a formula comes to; 0 is itself."""
    if any(one in "+-(_" for one in tokens):
        meaning = Reader(tokens, known | {"\\pi": known.get("\\pi")}).whole()
        return [lambda names: round(meaning(names))]
    found: list[Callable[[Names], int]] = []
    apart = ([*token] if token.isdigit() else [token] for token in tokens)
    for token in itertools.chain(*apart):
        if token.isdigit():  # a_{12}: row 1, column 2
            here = max(int(token) - 1, 0)
            found.append(lambda names, place=here: place)
        elif token in known or token in known.get(SIZES, {}):
            found.append(lambda names, one=token: names[one])
        else:
            raise UnknownError(f"index {token}")
    return found


def iterate_values(
    index: list[str], end: Meaning | None, names: Names, known: Names
) -> Iterator[Names]:
    """The names with every value of the indices of a sum; indices count from 0 within."""
    sizes, sets = names.get(SIZES, {}), names.get(SETS, {})
    letter, *rest = index
    if not rest and letter in sets:
        letter, places = sets[letter]
        yield from (names | {letter: i} for i in places)
    elif rest and rest[0] == "\\in":
        yield from (names | {letter: i} for i in sets[rest[1]][1])
    elif rest and rest[0] == "\\notin":
        yield from (names | {letter: i} for i in range(sizes[letter]) if i not in sets[rest[1]][1])
    elif rest and rest[0] == "=":
        first, last = Reader(rest[1:], known).whole()(names), end(names) if end else None
        if letter not in sizes or last is None:
            raise UnknownError(f"how far {letter} goes")
        as_number = not rest[1].isdigit() or first == 0 or letter in names.get(COUNTING, ())
        start = round(first) - (not as_number)
        yield from (names | {letter: i} for i in range(start, round(last) + as_number))
    elif rest and rest[0] in (*CONDITIONS, ":"):
        if letter not in sizes:
            raise UnknownError(f"how far {letter} goes")
        sides_text = read_condition(index, known)
        yield from filter(sides_text, (names | {letter: i} for i in range(sizes[letter])))
    else:
        letters = [one for one in index if one != ","]
        if not all(one in sizes for one in letters):
            raise UnknownError(f"how far {letters} go")
        for places in np.ndindex(*(sizes[one] for one in letters)):
            yield names | dict(zip(letters, places, strict=True))


CONDITIONS = {
    "\\le": operator.le,
    "\\ne": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "\\ge": operator.ge,
}


def read_condition(index: list[str], known: Names) -> Callable[[Names], bool]:
    """What stands below a sum: of two indices, as in j ≤ i, or behind a colon of two numbers."""
    stated = index[2:] if index[1] == ":" else index
    (at,) = (n for n, token in enumerate(stated) if token in CONDITIONS)
    left, right = stated[:at], stated[at + 1 :]
    if stated is index:
        known = known | {left[0]: 0}
        first, second = (read_indices(side, known)[0] for side in (left, right))
    else:
        first, second = (Reader(side, known).whole() for side in (left, right))
    holds = CONDITIONS[stated[at]]
    return lambda names: bool(holds(first(names), second(names)))


# --- lines ---------------------------------------------------------------------------------------


@cache
def split_tokens(tex: str) -> list[str]:
    """The tokens of TeX in one line."""
    return TOKEN.findall(DROPPED.sub(" ", tex))


SHAPES = re.compile(r"&&\s*\([^&]*\\times[^&]*\)\s*(?=&&)")  # a column (n × d) beside a line
OVER = re.compile(r"\\overset\{(?:[^{}]|\{[^{}]*\})*\}\{=\}")  # an equals sign with its reason
PRIMED = re.compile(r"([A-Za-z])_(\w|\{[^{}]*\})'")  # a_j' is a'_j


def split_lines(display: str) -> list[list[str]]:
    """The tokens of each line of a display, without its reason and its alignment."""
    display = OVER.sub("=", display.replace("=:", "="))
    display = PRIMED.sub(r"\1'_\2", SHAPES.sub("", display))
    tex = re.sub(r"\\(?:begin|end)\{(?:aligned|alignedat)\}", "", display)
    tex = re.sub(r"(?:&&|\\qquad|\\quad)?\s*\\text\{\s*[(（][^\n]*", "\\\\\\\\", tex)
    tex = re.sub(r",\s*&(?!&)|\\text\{[^{}]*: *\}", r" \\quad ", tex)
    tex = re.sub(r"\\text\{([^{}]*)\}", lambda m: "{" + m[1].strip() + "}", tex)
    tokens = TOKEN.findall(DROPPED.sub(lambda m: "\\\\" if m[0][:2] == "\\\\" else " ", tex))
    found: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token == "\\begin") - (token == "\\end")
        if token == "\\\\" and not depth:
            found.append([])
        elif token != "&" or depth:
            found[-1].append(token)
    return [line for line in found if line]


def deeper(token: str) -> int:
    """1 where brackets or an environment open, -1 where they close."""
    opens, closes = (*OPENING, "{", "\\begin"), (*OPENING.values(), "}", "\\end")
    return (token in opens) - (token in closes)


def split_chains(line: list[str]) -> Iterator[list[str]]:
    """The statements of a line, which stand apart."""
    at, depth = 0, 0
    for number, token in enumerate(line):
        depth += deeper(token)
        if token in APART and not depth:
            yield line[at:number]
            at = number + 1
    yield line[at:]


def split_sides(chain: list[str]) -> list[tuple[str, list[str]]]:
    """The relation before each side, and its tokens; the first has the relation ""."""
    while chain and chain[-1] in (",", "."):
        chain = chain[:-1]
    chain = [
        one for one, before in zip(chain, ["", *chain], strict=False) if (before, one) != ("=", ":")
    ]
    found: list[tuple[str, list[str]]] = [("", [])]
    depth = 0
    for token in chain:
        depth += deeper(token)
        if token in RELATIONS and not depth:
            found.append((RELATIONS[token], []))
        else:
            found[-1][1].append(token)
    return found


def is_satisfied(relation: str, a: Any, b: Any, near: float) -> bool:
    """Whether two values stand in a relation, up to rounding. A matrix may be 0 as a whole."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if relation == "=" and not np.isfinite([a.sum(), b.sum()]).all():
        return bool(np.array_equal(a, b))
    slack = 1e-9 * (1 + np.abs(a).max() + np.abs(b).max())
    match relation:
        case "=":
            alike = a.shape == b.shape or (b.shape == () and b == 0)
            return alike and bool(np.abs(a - b).max() <= slack)
        case "≈":
            return bool(np.abs(a - b).max() <= near * (1 + np.abs(b).max()))
        case "→":
            return bool(np.all(a > 1e3 if np.all(b == np.inf) else np.abs(a - b) < 1e-3))
        case "≠":
            return bool(np.abs(a - b).max() > slack)
        case "<":
            return bool((a < b).all())
        case ">":
            return bool((a > b).all())
        case "≤":
            return bool((a <= b + slack).all())
        case _:
            return bool((a >= b - slack).all())


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.ndarray | np.number)


class Statement(NamedTuple):
    """What a statement says: each side with the relation before it, and what each side comes to,
    which is None where it cannot be computed."""

    sides: list[tuple[str, list[str]]]
    values: list[Any]
    near: float

    @property
    def text(self) -> str:
        return " ".join(" ".join([relation, *side]).strip() for relation, side in self.sides)

    @property
    def relations(self) -> list[str]:
        return [relation for relation, _ in self.sides[1:]]

    def holds(self) -> bool:
        """Whether all of it is computed, and holds."""
        return all(one is not None for one in self.values) and all(self.compare())

    def compare(self) -> list[bool]:
        """Whether the relation between two sides holds, for those that are computed."""
        found, value = [], self.values[0]
        for relation, other in zip(self.relations, self.values[1:], strict=True):
            if other is None and relation == "=":
                continue  # equal to it, as far as anybody can tell
            if value is not None and other is not None:
                found.append(is_satisfied(relation, value, other, self.near))
            value = other
        return found


def read_statements(tex: str, names: Names) -> Iterator[Statement]:
    """The statements of a formula line by line; a line may begin with a relation."""
    before: Any = None
    for number, line in enumerate(split_lines(tex)):
        if of_lines := names.get(LINES):
            names = names | of_lines[number]
        for chain in split_chains(line):
            if not chain or chain[-1] == ":":  # what it is about stands behind it
                continue
            sides = split_sides(chain)
            values = [compute_side(side, names) if side else before for _, side in sides]
            values = [value if is_number(value) else None for value in values]
            yield Statement(sides, values, names.get("near", 1e-2))
            before = values[-1]


def compute_side(tokens: list[str], names: Names) -> Any:
    """What a side comes to, or None where it cannot be computed; NaN where shapes do not fit."""
    try:
        meaning = Reader([*tokens], names).whole()
    except (UnknownError, LookupError, TypeError, AttributeError, ValueError):
        return None
    try:
        return meaning(names)
    except (UnknownError, LookupError, TypeError, AttributeError, ArithmeticError, StopIteration):
        return None
    except ValueError:  # of NumPy
        return math.nan
