"""Question banks for Moodle and in QTI: the numbers, choices and reasons that the pages judge.

What is wanted comes from the built pages, where docs/assets/exercises.js reads it, and from the
rules of Moodle's import (question/format/xml/format.php): which elements a question may hold, in
which fractions an answer may be right.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from math import log
from pathlib import Path
from typing import Any

import lxml.etree
import pytest

from attention_docs.locales import read_locale
from attention_docs.site.publish.moodle import write_bank
from attention_docs.site.publish.qti import write_assessment
from attention_docs.site.publish.tolerance import find_slack
from attention_docs.site.render.judged import Number
from tests.conftest import BUILT, LANGUAGES, ROOT, make_questions, parse_html

CHAPTERS = sorted(
    path.stem
    for path in (ROOT / "docs" / "en").glob("*.md")
    if re.search(r"^/+ (exercise|guess|recall) ", path.read_text("utf-8"), re.M)
)
COMMON = ["name", "questiontext", "generalfeedback"]
BEFORE = ["penalty", "hidden", "idnumber"]
AFTER = ["hint*", "tags"]
CHOICE = ["single", "shuffleanswers", "answernumbering", "showstandardinstruction"]
SAID = ["correctfeedback", "partiallycorrectfeedback", "incorrectfeedback", "answer*"]
UNITS = ["unitgradingtype", "unitpenalty", "showunits", "unitsleft"]
WORDS = ["responseformat", "responserequired", "responsefieldlines", "attachments"]
WORDS += ["attachmentsrequired", "graderinfo", "responsetemplate"]
ORDER = {
    "category": ["category", "info"],
    "numerical": [*COMMON, "defaultgrade", *BEFORE, "answer*", *UNITS, *AFTER],
    "multichoice": [*COMMON, "defaultgrade", *BEFORE, *CHOICE, *SAID, *AFTER],
    "cloze": [*COMMON, *BEFORE, *AFTER],
    "essay": [*COMMON, "defaultgrade", *BEFORE, *WORDS, *AFTER],
}
"""The elements of each type of question; a star stands for any number of them."""
HTML = {"questiontext", "generalfeedback", "hint", "feedback", "graderinfo", "responsetemplate"}
HTML |= {"info", "correctfeedback", "partiallycorrectfeedback", "incorrectfeedback"}
FRACTIONS = {100, 50, 33.33333, 25, 20, 0, -50}
GUESSES = re.compile(r"(?m)^/+ guess \| (.*)\n    id: (.*)\n((?:    .*\n)*)\n((?s:.*?))^- \[")
LANGUAGE_OF = {"zh-hant": "zh"}  # the sources of what is converted
GAP = re.compile(r"\{1:NUMERICAL:=(-?[\d.e-]+):([\d.e-]+)\}")


@cache
def read_bank(site: Path, lang: str, slug: str) -> list[Any]:
    return [*lxml.etree.fromstring((site / "banks" / lang / f"{slug}.xml").read_bytes())]


def list_questions(site: Path, lang: str, slug: str) -> dict[str, Any]:
    """The questions by their numbers of identity, which no two share."""
    found = [one for one in read_bank(site, lang, slug) if one.get("type") != "category"]
    by_name = {one.findtext("idnumber"): one for one in found}
    assert len(by_name) == len(found)
    return by_name


def list_published(site: Path, lang: str, slug: str) -> dict[str, Any]:
    """Those that the page asks; tests/test_variants.py looks at those with other numbers."""
    found = list_questions(site, lang, slug)
    return {name: one for name, one in found.items() if "-variant-" not in name}


def read_html(question: Any, name: str) -> str:
    return str(question.findtext(f"{name}/text") or "")


@pytest.mark.parametrize("lang", BUILT)
@pytest.mark.parametrize("slug", [*CHAPTERS, "all"])
def test_a_bank_has_the_form_that_moodle_imports(lang: str, slug: str, site: Path) -> None:
    for question in read_bank(site, lang, slug):
        kind = question.get("type")
        wanted = "".join(rf"(?:{n[:-1]} )*" if n[-1] == "*" else f"{n} " for n in ORDER[kind])
        assert re.fullmatch(wanted, "".join(f"{part.tag} " for part in question)), kind
        for part in question.iter():
            if part.tag in HTML:
                assert part.get("format") == "html"
                assert [one.tag for one in part] == ["text"]
                check_fragment(part.findtext("text") or "")
        if kind == "category":
            path = re.split("(?<!/)/(?!/)", question.findtext("category/text"))
            assert path[:2] == ["$course$", "top"]
            assert len(path) in (5, 6)  # with other numbers, a category for each question
            continue
        assert question.findtext("name/text")
        assert len(question.findtext("name/text")) < 255
        assert "CC BY 4.0" in read_html(question, "questiontext")
        answers = question.findall("answer")
        fractions = [float(one.get("fraction")) for one in answers]
        assert {*fractions} <= FRACTIONS
        if kind in ("numerical", "multichoice"):
            assert sum(x for x in fractions if x > 0) == pytest.approx(100, abs=0.001)


@pytest.mark.parametrize("slug", ["softmax", "masking"])
def test_of_each_question_with_other_numbers_one_can_be_drawn(slug: str, site: Path) -> None:
    pools, pool = {}, None
    for question in read_bank(site, "en", slug):
        if question.get("type") == "category":
            pool = pools.setdefault(question.findtext("category/text"), [])
        else:
            pool.append(question.findtext("idnumber"))
    drawn = [found for found in pools.values() if "-variant-" in found[0]]
    assert len(drawn) > 1
    for found in drawn:
        assert [one.rpartition("-variant-")[2] for one in found] == ["1", "2", "3", "4"]
        assert len({one.rpartition("-variant-")[0] for one in found}) == 1


def check_fragment(html: str) -> None:
    """Elements end where they begin, links are whole, formulas are TeX in brackets."""
    parser = lxml.etree.XMLParser(recover=False)
    text = re.sub(r"<(br|hr|img)([^>]*?)/?>", r"<\1\2/>", html.replace("&nbsp;", " "))
    tree = lxml.etree.fromstring(f"<div>{text}</div>", parser)
    assert all(a.get("href").startswith("http") for a in tree.iter("a") if a.get("href"))
    assert "arithmatex" not in html
    assert not re.search(r"[\ue000\ue001]|\{\{ |--8<--", html)
    code = {one for name in ("code", "pre") for one in tree.iter(name)}
    text = "".join(piece for one in tree.iter() if one not in code for piece in [one.text or ""])
    assert "$$" not in text
    assert html.count(r"\(") == html.count(r"\)")


def find_fields(site: Path, lang: str, slug: str) -> Iterator[tuple[str, Any, list[Any]]]:
    """Id, exact value and expected mistakes of each field of a page, as its script reads them."""
    folder = "" if lang == "en" else lang
    tree = parse_html(site / folder / slug / "index.html")
    for field in tree.iterfind(".//p[@class='ask']"):
        places = [field, *field.iterfind("span[@class='trap']")]
        shown = [
            next(one.text_content() for name in ("exact", "value") for one in spans(place, name))
            for place in places
        ]
        wanted, *traps = [json.loads(x) if "/" not in x else eval(x) for x in shown]
        yield field.find(".//input").get("id"), wanted, traps


def spans(place: Any, name: str) -> list[Any]:
    found: list[Any] = place.findall(f"span[@class='{name}']")
    return found


@pytest.mark.parametrize("lang", BUILT)
@pytest.mark.parametrize("slug", CHAPTERS)
def test_numbers_and_their_mistakes_are_those_of_the_page(lang: str, slug: str, site: Path) -> None:
    """A number accepts itself to three digits, and no number that the page calls a mistake."""
    questions = list_published(site, lang, slug)
    kinds = Counter(one.get("type") for one in questions.values())
    fields = [*find_fields(site, lang, slug)]
    assert kinds["numerical"] + kinds["cloze"] == len(fields)
    for name, wanted, traps in fields:
        question = questions[f"{slug}-{name}"]
        if isinstance(wanted, list):
            gaps = GAP.findall(read_html(question, "questiontext"))
            flat = [x for row in wanted for x in (row if isinstance(row, list) else [row])]
            assert [float(value) for value, _ in gaps] == flat
            assert len(gaps) == read_html(question, "questiontext").count("NUMERICAL")
            said = read_html(question, "generalfeedback")
            others = list_others(fields, name)
            told = [x for x in traps if not any(holds_key(x, key) for key in others)]
            assert len(re.findall("<li>", said)) == len(told)
            continue
        right, *wrong = question.findall("answer")
        assert float(right.findtext("text")) == wanted
        slack = float(right.findtext("tolerance"))
        far = [one for one in traps if abs(one - wanted) > slack]  # no rounding tells the others
        assert [float(one.findtext("text")) for one in wrong] == far
        assert all(one.findtext("feedback/text") for one in wrong)
        assert abs(wanted - float(f"{wanted:.3g}")) <= slack or float(wanted).is_integer()
        assert slack <= 0.06 * abs(wanted)


def list_others(fields: list[tuple[str, Any, list[Any]]], name: str) -> list[Any]:
    """What the other fields of the same exercise want."""
    box = name.rsplit("-", 1)[0]
    return [
        wanted for other, wanted, _ in fields if other.rsplit("-", 1)[0] == box != other != name
    ]


def holds_key(numbers: Any, key: Any) -> bool:
    """Whether somebody who reads these numbers knows a key: it is one of them, or their sum."""
    if isinstance(key, list) or not isinstance(numbers, list):
        return bool(numbers == key)
    flat = [x for row in numbers for x in (row if isinstance(row, list) else [row])]
    return pytest.approx(sum(flat), abs=1e-3) == key or any(
        pytest.approx(x, abs=1e-3) == key for x in flat
    )


@pytest.mark.parametrize("lang", BUILT)
@pytest.mark.parametrize("slug", CHAPTERS)
def test_a_question_gives_no_other_one_away(lang: str, slug: str, site: Path) -> None:
    """Only the last question of an exercise has the worked answer; mistakes that answer another
    question are told to nobody else.
    """
    fields = [*find_fields(site, lang, slug)]
    questions = list_published(site, lang, slug)
    boxes = Counter(re.sub(r"-\d+$", "", name) for name in questions if f"{slug}-exercise-" in name)
    for box, number in boxes.items():
        *before, last = [
            read_html(questions[f"{box}-{n + 1}"], "generalfeedback") for n in range(number)
        ]
        said = {re.sub("<p>[^<]*</p><ul>.*", "", one, flags=re.S) for one in before}
        assert len(said) == (number > 1)
        assert all(len(one) < 100 < len(last) for one in said)
    items = read_items(site, lang, slug)
    for name, _, _ in fields:
        in_moodle = read_html(questions[f"{slug}-{name}"], "generalfeedback")
        in_qti = "".join(
            one.findtext(f"{QTI}itemfeedback//{QTI}mattext") or ""
            for ident, one in items.items()
            if re.fullmatch(rf"{slug}-{name}(-\d+-\d+)?", ident)
        )
        for told in re.findall(r"<li>(-?[\d.]+|\[[^:<]*\]): ", in_moodle + in_qti):
            for key in list_others(fields, name):
                rounded = round_all(key)
                assert not holds_key(round_all(json.loads(told)), rounded), (name, told, key)


def round_all(numbers: Any) -> Any:
    if isinstance(numbers, list):
        return [round_all(one) for one in numbers]
    return round(numbers, 3)


@pytest.mark.parametrize("lang", BUILT)
def test_no_two_questions_of_a_bank_have_one_name(lang: str, site: Path) -> None:
    """A list of questions shows names alone; variants say their part and their number."""
    names = Counter(one.findtext("name/text") for one in list_questions(site, lang, "all").values())
    assert [name for name, number in names.items() if number > 1] == []


@pytest.mark.parametrize("lang", BUILT)
def test_what_was_measured_has_a_tag(lang: str, site: Path) -> None:
    """Nobody can work out what a trained model does: such questions are not for marks."""
    pattern = r"^    id: ((?:exercise|guess)-.*)\n(?:    .*\n)*?    measured: yes$"
    for slug in CHAPTERS:
        text = (ROOT / "docs" / LANGUAGE_OF.get(lang, lang) / f"{slug}.md").read_text("utf-8")
        measured = {f"{slug}-{name}" for name in re.findall(pattern, text, re.M)}
        for name, question in list_published(site, lang, slug).items():
            tags = " ".join(one.findtext("text") for one in question.iter("tag"))
            is_one = name in measured or name.rsplit("-", 1)[0] in measured
            assert bool(re.search("measured|实测|實測", tags)) == is_one, name


@pytest.mark.parametrize("lang", BUILT)
@pytest.mark.parametrize("slug", CHAPTERS)
def test_a_guess_holds_what_is_known_before_it(lang: str, slug: str, site: Path) -> None:
    """Its premise stands in both banks; the page hides it, since it has said it before."""
    source = LANGUAGE_OF.get(lang, lang)
    text = (ROOT / "docs" / source / f"{slug}.md").read_text("utf-8")
    folder = "" if lang == "en" else lang
    article = parse_html(site / folder / slug / "index.html").find(".//article")
    hidden = "".join(one.text_content() for one in article.xpath(".//*[@class='premise'][@hidden]"))
    items = read_items(site, lang, slug)
    for _, name, options, premise in GUESSES.findall(text):
        question = list_questions(site, lang, slug)[f"{slug}-{name}"]
        in_qti = items[f"{slug}-{name}"].findtext(f"{QTI}presentation/{QTI}material/{QTI}mattext")
        for said in (read_html(question, "questiontext"), in_qti):
            known = said.count("<p>") - 2  # the question, and where it comes from
            known -= "measured: yes" in options  # and that a model was measured
            assert known == (0 if "premise: none" in options else premise.strip().count("\n\n") + 1)
        words = re.split(r"\$[^$]*\$|[*`“”‘’\"']|[\[\]]|\{\{.*?\}\}", premise)
        longest = re.sub(r"\s+", "", max(words, key=len))
        if lang == source and "premise: none" not in options:
            assert longest in re.sub(r"\s+|<[^>]*>", "", read_html(question, "questiontext"))
            assert longest in re.sub(r"\s+", "", hidden)
    assert "data-premise" not in lxml.etree.tostring(article, encoding="unicode")


@pytest.mark.parametrize("lang", BUILT)
@pytest.mark.parametrize("slug", CHAPTERS)
def test_choices_and_their_reasons_are_those_of_the_page(lang: str, slug: str, site: Path) -> None:
    folder = "" if lang == "en" else lang
    tree = parse_html(site / folder / slug / "index.html")
    groups = tree.xpath("//article//fieldset[starts-with(@class, 'ask')]")
    choices = [
        one for one in list_published(site, lang, slug).values() if one.get("type") == "multichoice"
    ]
    assert len(choices) == len(groups)
    for group, question in zip(groups, choices, strict=True):
        answers = question.findall("answer")
        reasons = [bool(one.findtext("feedback/text")) for one in answers]
        if "proof-lines" in group.get("class"):
            items = group.findall("ul/li")
            belong = [one.get("data-line") is not None for one in items]
            assert [float(one.get("fraction")) < 0 for one in answers] == belong
        else:
            items = group.findall("label")
            right = [one.find("input").get("value") == "right" for one in items]
            assert [one.get("fraction") == "100" for one in answers] == right
        assert [one.find("span[@class='why']") is not None for one in items] == reasons
        for item, answer in zip(items, answers, strict=True):
            words = re.findall(
                r"[A-Za-z\u4e00-\u9fff]{4,}",
                re.sub(r"\\\(.*?\\\)|<[^>]+>", " ", answer.findtext("text")),
            )
            assert all(word in item.text_content() for word in words)


@pytest.mark.parametrize("lang", BUILT)
def test_the_whole_bank_holds_those_of_all_chapters(lang: str, site: Path) -> None:
    single = {}
    for slug in CHAPTERS:
        single |= list_questions(site, lang, slug)
    whole = list_questions(site, lang, "all")
    assert whole.keys() == single.keys()
    english = list_questions(site, "en", "all")
    kinds = {name: one.get("type") for name, one in english.items()}
    assert {name: one.get("type") for name, one in whole.items()} == kinds
    sources = "".join((ROOT / "docs" / "en" / f"{s}.md").read_text("utf-8") for s in CHAPTERS)
    assert Counter(kinds.values())["essay"] == len(re.findall("^/+ recall ", sources, re.M))
    assert sum(read_html(one, "hint") != "" for one in whole.values()) > 100


@pytest.mark.parametrize(
    ("number", "slack"),
    [
        (Number("2.72", 2.718281828), 0.00505),  # half a unit of the third digit, and a little
        (Number("0.05", 0.0507), 0.000707),  # what is printed is right, too
        (Number("12", 12), 0.0),
    ],
)
def test_how_near_an_answer_must_be(number: Number, slack: float) -> None:
    assert find_slack(number) == pytest.approx(slack, rel=1e-2)


# --- without a built site


def write_banks(lang: str, slug: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The questions of a chapter for Moodle and in QTI, by their names."""
    found = [*make_questions(lang, slug).values()]
    locale = read_locale(lang)
    moodle = lxml.etree.fromstring(write_bank(found, slug, "site", locale).encode())
    text = write_assessment(found, slug, "chapter", locale["site"]["banks"])
    items = lxml.etree.fromstring(text.encode()).iter(f"{QTI}item")
    in_moodle = {
        one.findtext("idnumber"): one for one in moodle if one.find("idnumber") is not None
    }
    return in_moodle, {one.get("ident"): one for one in items}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_three_digits_are_enough_where_a_mistake_is_nearer(lang: str) -> None:
    """Half of ln(511 · 99) is 5.41574, and 5.42 is right; ln(512 · 99) / 2 is 5.41672."""
    moodle, qti = write_banks(lang, "score-functions")
    name = "score-functions-exercise-factor-1"
    right, *wrong = moodle[name].findall("answer")
    assert float(right.findtext("text")) == pytest.approx(log(511 * 99) / 2)
    assert float(right.findtext("tolerance")) == pytest.approx(0.00505)
    assert [float(one.findtext("text")) for one in wrong] == [pytest.approx(log(511 * 99))]
    points, said = score(qti[name], {"response1": 5.42})
    assert points == 100
    assert "512" not in said[0].partition("<ul>")[2]
    assert score(qti[name], {"response1": 5.43})[0] == 0


@pytest.mark.parametrize("lang", LANGUAGES)
def test_lists_come_once_in_qti(lang: str) -> None:
    """Of the list of exercise 5.1, three entries, Moodle has four more; a QTI test draws none."""
    moodle, qti = write_banks(lang, "softmax")
    name = "softmax-exercise-weights-1"
    assert {f"{name}-variant-{n}" for n in (1, 2, 3, 4)} <= moodle.keys()
    assert [one for one in qti if one.startswith(f"{name}-")] == [
        f"{name}-1-{n}" for n in (1, 2, 3)
    ]
    assert not [one for one in qti if re.search(r"-variant-\d-", one)]


@pytest.mark.parametrize(("lang", "mark"), [("en", "(measured) "), ("zh", "（实测）")])
def test_what_was_measured_is_marked_in_both_banks(lang: str, mark: str) -> None:
    slug, name = "real-models", "real-models-guess-spare"
    moodle, qti = write_banks(lang, slug)
    tags = {key: [x.findtext("text") for x in one.iter("tag")] for key, one in moodle.items()}
    assert [key for key, own in tags.items() if mark.strip("() （）") in own] == [
        key for key, one in qti.items() if one.get("title").startswith(mark)
    ]
    assert qti[name].get("title").startswith(mark)
    text = qti[name].findtext(f".//{QTI}mattext")
    assert ("not for marks" if lang == "en" else "不宜计分") in text


@pytest.mark.parametrize(("lang", "words"), [("en", "exact number"), ("zh", "精确的整数")])
def test_a_long_whole_number_is_wanted_exactly(lang: str, words: str) -> None:
    """BERT has 109,482,240 parameters, and 109.5 million is another number."""
    for bank in write_banks(lang, "transformer-block"):
        texts = {name: "".join(one.itertext()) for name, one in bank.items()}
        assert words in texts["transformer-block-exercise-bert-3"]
    for bank in write_banks(lang, "multi-head"):
        assert words not in "".join(bank["multi-head-exercise-join-1"].itertext())


# --- QTI, which other platforms import

QTI = "{http://www.imsglobal.org/xsd/ims_qtiasiv1p2}"
POINTS = ".//*[local-name()='fieldlabel'][.='points_possible']/following-sibling::*"
Given = dict[str, Any]  # by the name of a field: a number, or the chosen labels


def read_items(site: Path, lang: str, slug: str) -> dict[str, Any]:
    """The questions of a chapter by their ids."""
    tree = lxml.etree.fromstring((site / "banks" / lang / f"{slug}.qti.xml").read_bytes())
    found = {one.get("ident"): one for one in tree.iter(f"{QTI}item")}
    assert len(found) == len([*tree.iter(f"{QTI}item")])
    return {name: one for name, one in found.items() if "-variant-" not in name}


def holds(condition: Any, given: Given) -> bool:
    """A condition as the specification has it; children of one condition hold together."""
    name, answer = lxml.etree.QName(condition).localname, given.get(condition.get("respident"))
    parts = [holds(one, given) for one in condition]
    results = {
        "other": lambda: True,
        "and": lambda: all(parts),
        "not": lambda: not any(parts),
        "conditionvar": lambda: all(parts),
        "varequal": lambda: condition.text in (answer or ()),
        "vargte": lambda: answer is not None and answer >= float(condition.text),
        "varlte": lambda: answer is not None and answer <= float(condition.text),
    }
    return results[name]()


def score(item: Any, given: Given) -> tuple[float, list[str]]:
    """The points of an answer, and what is said of it."""
    points, said = 0.0, []
    for rule in item.iter(f"{QTI}respcondition"):
        if not holds(rule.find(f"{QTI}conditionvar"), given):
            continue
        points = float(rule.findtext(f"{QTI}setvar") or points)
        names = [one.get("linkrefid") for one in rule.iter(f"{QTI}displayfeedback")]
        said += [item.find(f"{QTI}itemfeedback[@ident='{n}']//{QTI}mattext").text for n in names]
        if rule.get("continue") == "No":
            break
    return points, said


@pytest.mark.parametrize("lang", BUILT)
@pytest.mark.parametrize("slug", CHAPTERS)
def test_qti_judges_as_the_page_does(lang: str, slug: str, site: Path) -> None:
    items, fields = read_items(site, lang, slug), [*find_fields(site, lang, slug)]
    others = {*list_published(site, lang, slug)} - {f"{slug}-{name}" for name, *_ in fields}
    single = [name for name, wanted, _ in fields if not isinstance(wanted, list)]
    assert others | {f"{slug}-{name}" for name in single} <= items.keys()
    for name, wanted, traps in fields:
        rows = wanted if isinstance(wanted, list) else [wanted]
        flat = [x for row in rows for x in (row if isinstance(row, list) else [row])]
        pattern = rf"{slug}-{name}" + r"(-\d+-\d+)?" * isinstance(wanted, list)
        own = [item for ident, item in items.items() if re.fullmatch(pattern, ident)]
        assert len(own) == len(flat)
        worth = [float(one.xpath(POINTS)[0].text) for one in own]
        assert sum(worth) == pytest.approx(1, abs=0.002)
        for item, right in zip(own, flat, strict=True):
            points, said = score(item, {"response1": right})
            assert points == 100
            assert len(said) == 1
            assert score(item, {"response1": right + 0.1 + abs(right)}) == (0, said)
            assert len([*item.iter(f"{QTI}vargte")]) == 1  # Canvas takes each range for a right one
            high = float(item.findtext(f".//{QTI}varlte"))
            for trap in traps if own == [item] else ():
                if abs(trap - right) > high - right:
                    assert score(item, {"response1": trap}) == (0, said)
    choices = [one for one in list_questions(site, lang, slug).values() if one.findall("answer")]
    for question in (one for one in choices if one.get("type") == "multichoice"):
        item = items[question.findtext("idnumber")]
        labels = [one.get("ident") for one in item.iter(f"{QTI}response_label")]
        answers = question.findall("answer")
        good = [n for n, a in zip(labels, answers, strict=True) if float(a.get("fraction")) > 0]
        assert score(item, {"response1": good})[0] == 100
        for label in labels:
            points, said = score(item, {"response1": [label]})
            assert (points == 100) == ([label] == good)
            reason = answers[labels.index(label)].findtext("feedback/text")
            assert not reason or reason in said


@pytest.mark.parametrize("slug", ["eight-steps", "masking"])
def test_a_qti_test_draws_one_question_of_those_with_other_numbers(slug: str, site: Path) -> None:
    """Those with one number, four to a section; entries of a list are not drawn one by one."""
    tree = lxml.etree.fromstring((site / "banks" / "en" / f"{slug}.qti.xml").read_bytes())
    pools = [one for one in tree.iter(f"{QTI}section") if one.findall(f"{QTI}selection_ordering")]
    found = [[item.get("ident") for item in pool.iter(f"{QTI}item")] for pool in pools]
    wanted = defaultdict(list)
    for name, question in list_questions(site, "en", slug).items():
        if "-variant-" in name and question.get("type") == "numerical":
            wanted[re.sub(r"-variant-\d+", "", name)].append(name)
    assert sorted(found) == sorted(wanted.values())
    for pool, items in zip(pools, found, strict=True):
        assert pool.findtext(f".//{QTI}selection_number") == "1"
        assert len(items) == 4


@pytest.mark.parametrize("lang", BUILT)
def test_the_package_names_each_of_its_files(lang: str, site: Path) -> None:
    with zipfile.ZipFile(site / "banks" / lang / "qti.zip") as package:
        manifest = lxml.etree.fromstring(package.read("imsmanifest.xml"))
        named = [one.get("href") for one in manifest.iter("{*}file")]
        assert sorted([*named, "imsmanifest.xml"]) == sorted(package.namelist())
        assert named == [one.get("href") for one in manifest.iter("{*}resource")]
        assert {*named} == {f"{slug}.qti.xml" for slug in CHAPTERS}
        for name in named:
            assert package.read(name) == (site / "banks" / lang / name).read_bytes()
