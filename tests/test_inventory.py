"""Twelve questions in two forms, what a reader learns from them, and what a class does."""

from __future__ import annotations

import json
from collections import Counter
from itertools import chain, combinations
from math import exp
from typing import Any

import numpy as np
import pytest

from attention_docs.site.publish.html_checks import find_forbidden
from attention_docs.site.render import inventory
from tests.conftest import BUILT, LANGUAGES, find_page_folder, parse_html, read_project
from tests.test_browser import Visit, make_path

FORMS = ("A", "B")
Data = dict[str, Any]


def read_items(page: Any) -> list[Data]:
    """What scripts get to know of the items."""
    return [inventory._describe_item(*one) for one in inventory.list_items(page.source)]


@pytest.fixture(scope="module")
def known(site: Any) -> Data:
    """The items with their beliefs, as the English page holds them."""
    tree = parse_html(find_page_folder(site, "en", "inventory") / "index.html")
    (place,) = tree.xpath("//div[@class='inventory']")
    found: Data = json.loads(place.get("data-known"))
    return found


# --- what is asked -------------------------------------------------------------------------------


def test_numbers(chapter, page):
    """By the exponential of Python, and by exact fractions where a mistake divides."""

    def soft(*scores):
        powers = [exp(one) for one in scores]
        return [one / sum(powers) for one in powers]

    def lead(gap, others):
        return exp(gap) / (exp(gap) + others)

    many = [exp(5), 100 * lead(5, 1), 100 * lead(5, 1500), 100 / 1501]
    more = [exp(3), 100 / 181, 100 * lead(3, 180), 100 * lead(3, 1)]
    crowd = [f"{one:.0f}" for one in many[:3]] + [f"{many[3]:.2f}", f"{more[0]:.0f}"]
    crowd += [f"{more[1]:.1f}", f"{more[2]:.0f}", f"{more[3]:.0f}"]
    hidden = [0, soft(2, 1, 0)[2], 1 / 3, 1 / 3, 0, soft(1, 1, 0)[2]]
    shares = ["0.90", "0.1", "0.06", "10", "0.04", "5"]
    shares += ["0.88", "0.1", "0.07", "8", "0.05", "4"]
    assert chapter.values("questions") == crowd + [f"{one:.2f}" for one in hidden] + shares


@pytest.mark.parametrize(("gap", "others"), [(5, 1500), (3, 180)])
def test_a_wrong_reason_of_question_4_leads_to_the_right_option(gap, others):
    """Who divides by the number of keys finds the option nearest to it right."""
    right = exp(gap) / (exp(gap) + others)
    options = [exp(gap) / (exp(gap) + 1), 0.5, right, 1 / (others + 1)]
    for keys in (others, others + 1):
        assert min(options, key=lambda one: abs(one - exp(gap) / keys)) == right


# Of each form: the values of question 2, the outputs that can occur, and the one that cannot.
BETWEEN = [((4, 7, 9), (5, 6, 8), (11,)), ((10, 30, 40), (12, 25, 39), (50,))]


@pytest.mark.parametrize("form", [0, 1])
def test_values_of_question_2_part_its_answers(form, page):
    """An average reaches what lies between the values; sums of them give the other answer."""
    values, inside, outside = BETWEEN[form]
    text = page("en", "inventory").source.text
    listed = ", ".join(map(str, values[:-1])) + f" and {values[-1]}"
    assert listed in text
    assert f"[x] {', '.join(map(str, inside[:-1]))} and {inside[-1]}\n" in text
    assert f"[adds-up] {outside[0]} alone\n" in text
    assert text.count("[best-match] none\n") == text.count("[long-query] all four\n") == 2
    assert all(min(values) < one < max(values) for one in inside)
    assert not min(values) <= outside[0] <= max(values)
    sums = {sum(some) for n in (2, 3) for some in combinations(values, n)}
    assert {*outside} <= sums
    assert not {*inside} & (sums | {*values})


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_place_says_what_is_right(lang, page):
    items = read_items(page(lang, "inventory"))
    assert len(items) == 12
    for form in FORMS:
        for tier in (0, 1):
            places = Counter(item[form][tier].index("x") for item in items)
            assert [max(places.values()), len(places)] in ([3, 4], [4, 4]), (form, tier)
    assert [(i["id"], i["chapter"], i["A"], i["B"]) for i in items] == [
        (i["id"], i["chapter"], i["A"], i["B"]) for i in read_items(page("en", "inventory"))
    ]


def test_every_wrong_answer_and_reason_names_a_belief_of_its_own(page):
    entries = read_project().chapters["en"].read_records("teaching")
    beliefs = {one["id"] for one in entries if "belief" in one}
    named = [{*chain(*item["A"])} - {"x"} for item in read_items(page("en", "inventory"))]
    codes = [code for one in named for code in one]
    assert len(codes) == len({*codes}) == 36 + 11
    assert {*codes} <= beliefs


def test_a_wrong_reason_goes_with_each_right_answer(page):
    """One that no answer names; in the question about heads it is one of the answers too."""
    for item in read_items(page("en", "inventory")):
        answers, reasons = item["A"]
        assert len({*reasons} - {*answers}) == (item["id"] != "item-heads"), item["id"]


def test_no_wrong_answer_stands_beside_its_reason(page):
    """In each form at most one wrong answer has the place of its reason."""
    for item in read_items(page("en", "inventory")):
        for form in FORMS:
            pairs = zip(*item[form], strict=True)
            beside = [one for one, other in pairs if one == other != "x"]
            assert len(beside) <= 1, (item["id"], form, beside)


@pytest.mark.parametrize("lang", BUILT)
def test_forms_stand_there_without_a_script(lang, site):
    path = find_page_folder(site, lang, "inventory") / "index.html"
    tree = parse_html(path)
    forms = tree.xpath("//div[@class='item']/div[@class='form']")
    assert [one.get("data-form") for one in forms] == [*FORMS] * 12
    for form in forms:
        groups = form.findall("fieldset")
        assert [len(group.findall("label")) for group in groups] == [4, 4]
        texts = ["".join(one.itertext()).strip() for one in groups[0].xpath("label/span")]
        assert len({*texts}) == 4
        assert not any("[" in text for text in texts)
    names = [one.get("name") for one in tree.xpath("//div[@class='item']//input")]
    assert len({*names}) == 48
    assert {*Counter(names).values()} == {4}
    assert not [*find_forbidden(path.read_text("utf-8"))]


def test_what_is_wrong_with_an_item_is_said():
    from xml.etree.ElementTree import fromstring

    words = {"form": "Form {}"}
    good = (
        '<div><div class="item" id="i"><p/><p>A</p><ul>{}</ul><p>B</p><ul>{}</ul><p/><ul>{}</ul>'
        "</div></div>"
    )

    def lists(*codes):
        return good.format(*("".join(f"<li>[{c}] t</li>" for c in each) for each in codes))

    for reasons in ("xabc", "xabd", "dxca"):
        right = lists("xabc", "bcxa", reasons)
        assert not [*inventory.lay_out_items(fromstring(right), words)]
    for wrong in (
        ("xabc", "xabd", "xabc"),
        ("xabc", "xabc", "xade"),
        ("xabc", "xabc", "abcd"),
        ("xabb", "xabb", "xabb"),
        ("xabc", "xabc", "xab"),
        ("abcd", "abcd", "abcd"),
        ("xxbc", "xxbc", "xxbc"),
    ):
        (said,) = inventory.lay_out_items(fromstring(lists(*wrong)), words)
        assert said.startswith("i: wanted three lists of 4 codes, one of each list x")


# --- what a class of simulated students tells ----------------------------------------------------


def simulate(items: list[Data], people: int, seed: int) -> list[Data]:
    """Students before and after, who answer by ability, and else by one of three beliefs."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(people):
        ability = rng.normal()
        for stage, gain in (("pre", 0), ("post", 1)):
            form = FORMS[int(rng.integers(2))]
            answers = []
            for item in items:
                chosen = []
                for tier, letters in ((0, "abcd"), (1, "1234")):
                    right = rng.uniform() < 1 / (1 + np.exp(-ability - gain))
                    codes = item[form][tier]
                    code = "x" if right else codes[int(rng.integers(4))]
                    chosen.append("_" if rng.uniform() < 0.03 else letters[codes.index(code)])
                answers.append("".join(chosen))
            found.append({"form": form, "stage": stage, "number": number, "answers": answers})
    return found


LOAD = """async ([folder, items, people]) => {
  const { readCodes, describeStage, findGain, scoreCodes, compareMeans, FEWEST_FOR_TIES } =
    await import(new URL("../assets/inventory/statistics.js", folder).href);
  const codes = people.map((one) => readCodes(one, items));
  const of = (stage) => codes.filter((_, n) => people[n].stage === stage);
  const share = (one) => scoreCodes(one).reduce((a, b) => a + b, 0) / items.length;
  const [pre, post] = [of("pre"), of("post")];
  const at = (form) => people.flatMap((one, n) =>
    one.stage === "pre" && one.form === form ? [share(codes[n])] : []);
  return {
    stage: describeStage(post),
    gain: findGain(pre.map((one, n) => [share(one), share(post[n])])),
    forms: compareMeans(at("A"), at("B")),
    ties: FEWEST_FOR_TIES,
  };
}"""


@pytest.mark.parametrize("people", [12, 60, 500])
def test_statistics_agree_with_another_computation(people, known, visit: Visit, address):
    students = simulate(known["items"], people, people)
    tab = visit(make_path("en", "class"))
    found = tab.evaluate(LOAD, [f"{address}/class/", known["items"], students])

    def right(one):
        parts = zip(known["items"], one["answers"], strict=True)
        return [
            item[one["form"]][0].index("x") == "abcd".find(pair[0])
            and item[one["form"]][1].index("x") == "1234".find(pair[1])
            for item, pair in parts
        ]

    pre, post = (
        np.array([right(one) for one in students if one["stage"] == s], float)
        for s in ("pre", "post")
    )
    total = post.sum(1)
    for n, item in enumerate(found["stage"]["questions"]):
        k = int(post[:, n].sum())
        # Wilson's bounds are where the normal test of a share p meets k
        for p in (item["low"], item["high"]):
            z = (k / people - p) / np.sqrt(p * (1 - p) / people)
            assert abs(abs(z) - 1.959964) < 1e-5
        assert item["share"] == pytest.approx(k / people)
        if people < found["ties"]:
            assert item["tie"] is None
        else:
            tie = np.corrcoef(post[:, n], total - post[:, n])[0, 1]
            assert item["tie"]["r"] == pytest.approx(tie)
            width = np.arctanh(item["tie"]["high"]) - np.arctanh(item["tie"]["low"])
            assert width == pytest.approx(2 * 1.959964 / np.sqrt(people - 3), rel=1e-6)
    covariance = np.cov(post.T, bias=True)
    alpha = 12 / 11 * (1 - np.trace(covariance) / covariance.sum())  # Cronbach's, for 0 and 1
    assert found["stage"]["reliability"] == pytest.approx(alpha)
    a, b = pre.mean(), post.mean()
    assert found["gain"]["g"] == pytest.approx((b - a) / (1 - a))
    rows = np.random.default_rng(1).integers(people, size=(20_000, people))
    some_a, some_b = pre.mean(1)[rows].mean(1), post.mean(1)[rows].mean(1)
    drawn = np.quantile((some_b - some_a) / (1 - some_a), [0.025, 0.975])
    near = 6 * np.std((some_b - some_a) / (1 - some_a)) / np.sqrt(2000 * 0.025)
    assert abs(found["gain"]["low"] - drawn[0]) < near
    assert abs(found["gain"]["high"] - drawn[1]) < near
    change = post.mean(1) - pre.mean(1)
    assert found["gain"]["effect"] == pytest.approx(change.mean() / change.std(ddof=1))
    assert found["forms"]["difference"] == pytest.approx(
        np.mean(
            [r for r, one in zip(pre.mean(1), students[::2], strict=True) if one["form"] == "A"]
        )
        - np.mean(
            [r for r, one in zip(pre.mean(1), students[::2], strict=True) if one["form"] == "B"]
        )
    )
    counts = Counter[str]()
    for one in students[1::2]:
        for item, pair in zip(known["items"], one["answers"], strict=True):
            answer, reason = item[one["form"]]
            if pair[0] != "_" and pair[1] != "_":
                held = answer["abcd".index(pair[0])]
                counts[held] += held == reason["1234".index(pair[1])] and held != "x"
    assert {one["code"]: one["both"] for one in found["stage"]["beliefs"] if one["both"]} == {
        code: n for code, n in counts.items() if n
    }


# --- in a browser --------------------------------------------------------------------------------

ANSWER = """([form, codes]) => document.querySelectorAll(".item").forEach((item, n) => {
  const groups = item.querySelectorAll(`[data-form=${form}] fieldset`);
  groups.forEach((group, tier) => {
    const code = codes[n][tier];
    if (code) group.querySelector(`input[value="${code}"]`).click();
  });
})"""


def take(tab: Any, form: str, codes: list[list[str]]) -> str:
    """The line at the end, when these codes are chosen."""
    tab.locator(".inventory select").first.select_option(form)
    tab.evaluate(ANSWER, [form, codes])
    tab.get_by_role("button", name="Finish").click()
    if tab.locator(".inventory-line").count() == 0:  # something is empty, which is asked once
        tab.get_by_role("button", name="Finish").click()
    return str(tab.locator(".inventory-line").input_value())


def test_a_reader_gets_a_profile_and_a_route(visit: Visit, known):
    tab = visit(make_path("en", "inventory"))
    asked: list[str] = []
    tab.locator(".inventory select").first.wait_for()
    tab.on("request", lambda one: asked.append(one.url))
    codes = [["x", "x"] for _ in range(12)]
    codes[5] = ["zero-hides", "zero-hides"]
    codes[8] = ["x", "norm-averages"]
    codes[9] = ["own-token", "x"]
    codes[11] = ["", ""]
    line = take(tab, "B", codes)
    profile = tab.locator(".inventory-profile")
    said = profile.inner_text()
    assert "8 of 12" in said
    assert "no grade" in said
    assert known["beliefs"]["zero-hides"] in said
    missed = profile.locator("ol > li").all()
    assert [one.get_attribute("value") for one in missed] == ["6", "9", "10", "12"]
    halves = ("The answer is right, the reason is not.", "The reason is right, the answer is not.")
    found = [[half in one.inner_text() for half in halves] for one in missed]
    assert found == [[False, False], [True, False], [False, True], [False, False]]
    links = [one.get_attribute("href") for one in profile.locator(".inventory-route a").all()]
    slugs = [link.split("/")[1] for link in links]
    assert {"masking", "transformer-block", "maps"} <= {*slugs}
    # two right answers of softmax, and one of sequences and of eight-steps, which builds on it
    assert not {"softmax", "sequences"} & {*slugs}
    # one right answer each, and a wrong one of a chapter that builds on it
    assert {"eight-steps", "scaling", "multi-head", "positions"} <= {*slugs}
    order = list(known["chapters"])
    assert slugs == sorted(slugs, key=order.index)
    assert line.split("-")[1] == "B"
    assert line.split("-")[5].split(".")[11] == "__"
    assert not [one for one in asked if not one.endswith(".js")]


def test_a_class_pastes_its_lines(visit: Visit, known):
    tab = visit(make_path("en", "inventory"))
    tab.locator(".inventory select").first.wait_for()
    right = take(tab, "A", [["x", "x"]] * 12)
    people = []
    for n in range(6):
        tab.goto(tab.url)
        tab.evaluate("localStorage.clear()")
        tab.reload()
        tab.locator(".inventory select").first.wait_for()
        codes = [["x", "x"]] * 5 + [["zero-hides", "zero-hides"]] + [["x", "x"]] * 6
        if n == 0:
            codes[:2] = [["mutual", "one-way"], ["x", "values-shrink"]]
        people.append(take(tab, "AB"[n % 2], codes))
    tab.goto(tab.url.replace("inventory/", "class/"))
    field = tab.locator(".inventory textarea")
    slip = people[0][:-1] + ("0" if people[0][-1] != "0" else "1")
    field.fill("\n".join([*people, "", "Anna, 11 points", slip, people[1]]))
    found = tab.locator(".inventory-found")
    text = found.inner_text()
    assert "6 before, 0 after, 0 of them" in text
    for said in ("line 8: this is no line", "line 9: copied wrongly", "line 10: the same person"):
        assert said in text
    rows = [
        one.inner_text().split("\t") for one in found.locator("table").first.locator("tr").all()
    ]
    assert rows[1] == [known["beliefs"]["zero-hides"], "100%", "100%"]
    assert [known["beliefs"]["mutual"], "0%", "17%"] in rows
    assert [known["beliefs"]["values-shrink"], "–", "17%"] in rows  # no answer names it
    assert "fewer than 30" in text.lower()
    field.fill("\n".join(people[:4]))
    assert "Fewer than 5" in found.inner_text()
    assert not found.locator("table").count()
    tab.get_by_role("button", name="Forget all of it").click()
    assert field.input_value() == ""
    assert found.inner_text() == ""
    assert right


@pytest.mark.parametrize("lang", BUILT)
def test_a_code_with_a_slip_is_noticed(lang, visit: Visit):
    tab = visit(make_path(lang, "inventory"))
    tab.locator(".inventory select").first.wait_for()
    code = tab.locator(".inventory input").input_value()
    tab.locator(".inventory select").nth(1).select_option("post")
    assert tab.locator(".inventory input").input_value() == code  # the browser knows it still
    wrong = ("Z" if code[1] != "Z" else "Y").join([code[0], code[2:]])
    tab.locator(".inventory input").fill(wrong)
    tab.locator(".item ~ p button").click()
    assert len(str(tab.locator(".item ~ p[role=status]").text_content())) > 5
    assert tab.locator(".inventory-line").count() == 0
