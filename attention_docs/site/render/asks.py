"""What an exercise asks: fields whose answers the page judges, from a list in the box `asks`.

An item with an inline value becomes a field, and the value is what is wanted. Items within it are
wrong answers that the page recognises, each a value and a sentence. An item without a value is a
choice of three or more: of the items within it, "[x]" begins what is right and "[ ]" what is not,
and what follows " — " says why. Their order is drawn, the same in every build and language.

An item whose inner items begin with names asks for a proof: its lines are to be put in order.
"[c: a b]" begins the line c, which needs the lines a and b before it, and "[-]" one that does not
belong, with the reason after " — ". The order on the page's source is a right one.
docs/assets/exercises.js judges what a reader writes, by the exact value and not by the printed one.

An exercise of the kind `write` has code to be edited, an answer, and last of all a block that
judges the code (`judge` of figures/tasks.py): it needs the model answer, and is shown before it.

A box `guess` asks before a control moves: its title is the question, its list the choices, and what
follows says why. What stands before the list says what a reader of the page knows by then: a page
hides it, and slides, frames, notebooks and question banks show it. A guess that needs nothing says
`premise: none`.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from markdown.util import HTML_PLACEHOLDER_RE

from attention_docs.site.run.values import LOST

OPTION = re.compile(r"\s*\[(?P<mark>[x ])\]\s*")
WHY = " — "
LINE = re.compile(r"\s*\[(?:(?P<name>[a-w])(?:: (?P<needs>[a-w ]+))?|-)\]\s*")
LEAST = 3  # options: a coin finds the right one of two
LEAST_LINES = 4
LIMIT = 400  # characters that docs/assets/answers.js reads

FindExact = Callable[[str], tuple[str, str]]
"""Gives the id and the text of the exact version of an inline value, by the id of its span."""


def lay_out_asks(
    root: Element, words: Mapping[str, Any], slug: str, find_exact: FindExact
) -> list[str]:
    """Turn each list into a form that stands before hints and answer; return what is wrong."""
    faults: list[str] = []
    for exercise in root.iter("div"):
        if exercise.get("data-kind") == "write":
            _show_verdict_first(exercise)
            _say_how_to_write(exercise, words["write_here"])
        for box in [one for one in exercise if one.get("class") == "asks"]:
            form = Element("form", {"class": "asks"})
            items = box.findall("ul/li")
            for number, item in enumerate(items, start=1):
                name = f"{exercise.get('id')}-{number}"
                faults += _add_ask(form, item, name, slug)
            if not items:
                faults.append("asks: wanted a list of what is asked")
            for ask in form.iterfind("p"):
                _add_exact_values(ask, words, find_exact)
            if exercise.get("data-kind") == "proof":
                fields = [str(one.get("class")) for one in form.iter("fieldset")]
                asked = (
                    "order" if "ask proof-lines" in fields else "choose" if fields else "compute"
                )
                form.insert(0, Element("p", {"class": "about-proof"}))
                form[0].text = words["about_proof"][asked]
            SubElement(form, "button", {"type": "submit", "class": "md-button"}).text = words[
                "judge"
            ]
            exercise.remove(box)
            folds = [n for n, one in enumerate(exercise) if one.tag == "details"]
            exercise.insert(folds[0] if folds else len(exercise), form)
    return faults


def lay_out_guesses(root: Element, words: Mapping[str, Any], slug: str) -> Iterator[str]:
    """Turn the list of each guess into a choice, and what follows it into a fold.

    Without a script the question stands there with its choices, and the answer in the fold.
    """
    for guess in list(root.iter("div")):
        if guess.get("class") != "guess":
            continue
        question, *rest = guess
        place = next((n for n, one in enumerate(rest) if one.tag == "ul"), len(rest))
        options = [one for found in rest[place : place + 1] for one in found]
        reasons = rest[place + 1 :]
        said = "".join(question.itertext()).strip()
        if bool(place) == (guess.attrib.pop("data-premise", "") == "none"):
            yield f"guess: wanted what is known before the list, or premise: none, got {said!r}"
        if not _is_choice(options) or not reasons:
            yield f"guess: wanted {LEAST} options of which one is [x], then why, got {said!r}"
            continue
        question.set("id", f"{guess.get('id')}-question")
        form = Element("form", {"class": "asks"})
        right = _add_options(form, options, str(guess.get("id")), slug)
        form[0].set("aria-labelledby", str(question.get("id")))
        SubElement(form, "button", {"type": "submit", "class": "md-button"}).text = words["commit"]
        fold = Element("details", {"class": "answer"})
        SubElement(fold, "summary").text = words["answer"]
        inside = SubElement(fold, "div", {"class": "inside"})
        inside.append(right)
        inside.extend(reasons)
        guess[:] = [*_hide_premise(rest[:place]), question, form, fold]


def _hide_premise(parts: list[Element]) -> Iterator[Element]:
    """What is known before a guess, for where a guess stands alone (recall.css)."""
    if parts:
        premise = Element("div", {"class": "premise", "hidden": ""})
        premise.extend(parts)
        yield premise


def _is_choice(options: list[Element]) -> bool:
    """Whether each of several options is marked, and one of them is right."""
    marks = [found["mark"] for one in options if (found := OPTION.match(one.text or ""))]
    return len(marks) == len(options) >= LEAST and marks.count("x") == 1


def draw_order(number: int, seed: str) -> list[int]:
    """An order of so many options, the same wherever the seed is."""
    return sorted(range(number), key=lambda n: hashlib.sha256(f"{seed} {n}".encode()).digest())


def _show_verdict_first(exercise: Element) -> None:
    """Move what stands after hints and answer before them."""
    folds = [n for n, one in enumerate(exercise) if one.tag == "details"]
    if folds:
        last = exercise[folds[-1] + 1 :]
        exercise[folds[-1] + 1 :] = []
        exercise[folds[0] : folds[0]] = last


def _say_how_to_write(exercise: Element, sentence: str) -> None:
    """Before the code: copies of the page have no buttons, so no source says it."""
    place = next(
        (n for n, one in enumerate(exercise) if HTML_PLACEHOLDER_RE.fullmatch(one.text or "")), 1
    )
    said = Element("p", {"class": "write-here"})
    said.text = sentence
    exercise.insert(place, said)


def _add_ask(form: Element, item: Element, name: str, slug: str) -> Iterator[str]:
    inner = item.find("ul")
    known = list(inner) if inner is not None else []
    if inner is not None:
        item.remove(inner)
    for paragraph in item.findall("p"):  # of a list with blank lines
        _unwrap(item, paragraph)
    value = item.find("span[@class='value']")
    if value is not None:
        _add_field(form, item, value, known, name)
        return
    if known and all(LINE.match(one.text or "") for one in known):
        _add_lines(form, item, known, f"{slug} {name}")
        if fault := _find_line_fault(form[-1]):
            yield f"asks: {fault}"
        return
    if not _is_choice(known):
        said = "".join(item.itertext()).strip()
        yield f"asks: wanted a value, or {LEAST} options of which one is [x], got {said!r}"
        return
    legend = _make_legend(item)
    _add_options(form, known, name, slug)
    form[-1].insert(0, legend)


def _make_legend(item: Element) -> Element:
    """What an item asks; a space before its first inner element is one between words."""
    legend = Element("legend")
    text = (item.text or "").lstrip()
    legend.text, legend[:] = text if len(item) else text.rstrip(), list(item)
    return legend


def _add_field(
    form: Element, item: Element, value: Element, known: list[Element], name: str
) -> None:
    """A label and a field; what is wanted and what is known to be wrong stand there hidden."""
    ask = SubElement(form, "p", {"class": "ask"})
    label = SubElement(ask, "label", {"for": name})
    value.tail = ""
    item.remove(value)
    label.text, label[:] = item.text or "", list(item)
    if len(label):
        label[-1].tail = _strip_colon(label[-1].tail)
    else:
        label.text = _strip_colon(label.text)
    field = {"id": name, "type": "text", "autocomplete": "off", "spellcheck": "false"}
    # One more than is read, so that a longer answer is told so.
    SubElement(ask, "input", field | {"autocapitalize": "off", "maxlength": str(LIMIT + 1)})
    value.set("hidden", "")
    ask.append(value)
    for trap in known:
        _hide(ask, trap)
    SubElement(ask, "output", {"for": name})


def _strip_colon(text: str | None) -> str:
    return (text or "").rstrip().rstrip(":：")


def _add_exact_values(ask: Element, words: Mapping[str, Any], find_exact: FindExact) -> None:
    """Put the exact value beside each printed one, and say how digits and rows are written."""
    for place in [ask, *ask.iterfind("span[@class='trap']")]:
        value = place.find("span[@class='value']")
        if value is None:
            continue
        name, text = find_exact(str(value.get("id")))
        if text in ("", LOST):  # of a block that failed, which is told of at the end
            continue
        exact = Element("span", {"class": "exact", "id": name, "hidden": ""})
        exact.text = text
        exact.tail, value.tail = value.tail, ""
        place.insert(list(place).index(value) + 1, exact)
        if place is ask:
            wanted = [("digits", needs_digits(text)), ("rows", text.startswith("[["))]
            for name in (name for name, is_wanted in wanted if is_wanted):
                SubElement(ask[0], "small").text = words[name]


def needs_digits(exact: str) -> bool:
    """Whether a number of these has more than three digits, and is not whole.

    Examples:
        >>> needs_digits("0.25"), needs_digits("[0, 0.3333333333]"), needs_digits("109482240")
        (False, True, False)
        >>> needs_digits("⚠")
        False
    """
    if exact == LOST:  # why it is lost is reported where it should have come from
        return False
    numbers = (float(one) for one in re.split(r"[\[\], ]+", exact) if one)
    return any(not one.is_integer() and float(f"{one:.3g}") != one for one in numbers)


def _hide(ask: Element, trap: Element) -> None:
    trap.tag = "span"
    trap.attrib = {"class": "trap", "hidden": ""}
    ask.append(trap)


def _add_options(form: Element, options: list[Element], name: str, slug: str) -> Element:
    """A group of radio buttons in an order that is drawn; what is right, as a paragraph."""
    options = [options[n] for n in draw_order(len(options), f"{slug} {name}")]
    ask = SubElement(form, "fieldset", {"class": "ask"})
    right = Element("p", {"class": "right"})
    # A name for a formula: what listens to a page may find no text in it.
    letters = string.ascii_uppercase if any(map(_lacks_words, options)) else ""
    for number, option in enumerate(options):
        label = SubElement(ask, "label")
        is_right = OPTION.match(option.text or "")["mark"] == "x"  # type: ignore[index]
        field = {"type": "radio", "name": name, "value": "right" if is_right else "wrong"}
        SubElement(label, "input", field)
        option.text = OPTION.sub("", option.text or "", count=1)
        reason = _cut_reason(option)
        words = SubElement(label, "span")  # one item of the row that a label is
        words.text = (f"{letters[number]}. " if letters else "") + option.text
        words[:] = list(option)
        if is_right:
            right.text, right[:] = option.text, deepcopy(list(option))
        if reason is not None:
            label.append(reason)
    SubElement(ask, "output")
    return right


def _add_lines(form: Element, item: Element, lines: list[Element], seed: str) -> None:
    """A list of lines in an order that is drawn, and an empty one for the proof.

    Without a script the lines stand there, to be put in order on paper.
    """
    ask = SubElement(form, "fieldset", {"class": "ask proof-lines"})
    ask.append(_make_legend(item))
    SubElement(ask, "ol")
    pool = SubElement(ask, "ul")
    for place in draw_order(len(lines), seed):
        line = lines[place]
        mark = LINE.match(line.text or "")
        assert mark
        line.text = LINE.sub("", line.text or "", count=1)
        reason = None if mark["name"] else _cut_reason(line)
        part = SubElement(pool, "li")
        if mark["name"]:
            part.attrib |= {"data-line": mark["name"], "data-needs": mark["needs"] or ""}
            part.set("data-place", str(place))
        button = SubElement(part, "button", {"type": "button"})
        button.text, button[:] = line.text, list(line)
        if reason is not None:
            part.append(reason)
    SubElement(ask, "output")


def _find_line_fault(ask: Element) -> str:
    """What is wrong with the lines of a proof: each names some before it, in the source's order."""
    parts = ask.findall("ul/li")
    named = sorted(
        (one for one in parts if one.get("data-line")),
        key=lambda one: int(one.get("data-place", 0)),
    )
    known: set[str] = set()
    for part in named:
        if lost := {*part.get("data-needs", "").split()} - known:
            return f"line {part.get('data-line')} needs {', '.join(sorted(lost))} before it"
        if part.get("data-line") in known:
            return f"two lines are called {part.get('data-line')}"
        known.add(str(part.get("data-line")))
        del part.attrib["data-place"]
    others = [one for one in parts if one not in named]
    if len(named) < LEAST_LINES or not others:
        return f"wanted {LEAST_LINES} lines of a proof or more, and one that does not belong"
    if any(one.find("span[@class='why']") is None for one in others):
        return "a line that does not belong needs a reason"
    return ""


def _lacks_words(option: Element) -> bool:
    """Whether an option is a formula alone."""
    text = OPTION.sub("", option.text or "", count=1).partition(WHY)[0]
    return not len(option) and not re.search(r"\w", HTML_PLACEHOLDER_RE.sub("", text))


def _cut_reason(option: Element) -> Element | None:
    """Take what follows " — " out of an option: hidden until a reader has chosen."""
    reason = Element("span", {"class": "why", "hidden": ""})
    text = option.text or ""
    if WHY in text:
        option.text, _, reason.text = text.partition(WHY)
        reason[:], option[:] = list(option), []
        return reason
    for place, child in enumerate(option):
        if WHY in (child.tail or ""):
            child.tail, _, reason.text = (child.tail or "").partition(WHY)
            reason[:], option[place + 1 :] = option[place + 1 :], []
            return reason
    return None


def _unwrap(item: Element, paragraph: Element) -> None:
    place = list(item).index(paragraph)
    item.text = (item.text or "") + (paragraph.text or "")
    item[place : place + 1] = list(paragraph)
