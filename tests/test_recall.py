"""Cards: questions at the end of a chapter, a page that brings them back, a deck for Anki.

And guesses: a question before a control, whose answer a reader commits to.
"""

from __future__ import annotations

import io
import json
import re
import sqlite3
import zipfile
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring, tostring

import pytest

from attention_docs.locales import read_locale
from attention_docs.site.publish.anki import pack_deck
from attention_docs.site.render.asks import lay_out_guesses
from attention_docs.site.render.chapters import Chapters
from attention_docs.site.render.recall import Card, list_cards
from tests.conftest import BUILT, LANGUAGES, ROOT, find_page_folder, parse_html
from tests.conftest import read_project as read_build
from tests.test_browser import Visit, make_path

# Of a card that is known each time it is due: the first history of tests/fsrs.json.
DAYS = (2, 11, 46)
NOON, DAY = 1_767_268_800, 86_400  # of the first of January 2026, in seconds
DECKS = {
    "en": "Attention, derived and executed",
    "zh": "注意力：推导与运行",
    "zh-hant": "注意力：推導與執行",
}


# --- the page and the deck hold the cards of the chapters


def read_words(element: Any) -> str:
    """The words of an element, each formula as TeX between \\( and \\)."""
    if "data-tex" in element.attrib:
        held = "".join(one.tail or "" for one in element.iter("math") if one is not element)
        return f"\\({element.get('data-tex')}\\){held}{element.tail or ''}"
    if element.tag in ("msqrt", "msub"):  # of a title, where they are written √dₖ
        root = "√" if element.tag == "msqrt" else ""
        return root + element.text_content().replace("k", "ₖ") + (element.tail or "")
    inner = (element.text or "") + "".join(map(read_words, element))
    return inner + (element.tail or "")


def squeeze(text: str) -> str:
    return re.sub(r"\s", "", text)


def read_cards(path: Path) -> list[tuple[str, str]]:
    """Question and answer of each card of a built page."""
    found = []
    for fold in parse_html(path / "index.html").xpath("//article//details[@class='recall']"):
        summary, inside = fold
        answer = [one for one in inside if one.get("class") != "see"]
        found.append((squeeze(read_words(summary)), squeeze("".join(map(read_words, answer)))))
    return found


@pytest.mark.parametrize("lang", BUILT)
def test_the_page_has_the_cards_of_all_chapters(lang: str, site: Path) -> None:
    chapters = [slug for slug in read_build().numbered if slug != "mistakes"]
    by_chapter = [read_cards(find_page_folder(site, lang, slug)) for slug in chapters]
    wanted = [card for cards in by_chapter for card in cards]
    listed = read_cards(find_page_folder(site, lang, "review"))
    assert sorted(listed) == sorted(wanted)
    assert len(set(listed)) == len(listed)


def test_a_card_leads_to_where_its_answer_comes_from(site: Path) -> None:
    """Nothing but a list that opens is needed for it."""
    page = parse_html(find_page_folder(site, "en", "softmax") / "index.html")
    (fold,) = page.xpath("//details[@class='recall'][div/@id='recall-shift']")
    assert [link.get("href") for link in fold.xpath(".//p[@class='see']/a")] == ["#result-shift"]
    (note,) = page.find_class("recall-note")
    assert [link.get("href") for link in note.iter("a")] == ["../review/"]
    review = parse_html(find_page_folder(site, "en", "review") / "index.html")
    (inside,) = review.xpath("//div[@id='softmax-recall-shift']")
    link = inside.find_class("see")[0].find("a")
    assert link.get("href") == "../softmax/#result-shift"


def open_deck(packed: bytes, folder: Path) -> sqlite3.Connection:
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extract("collection.anki2", folder)
    return sqlite3.connect(folder / "collection.anki2")


def read_notes(deck: sqlite3.Connection) -> list[list[str]]:
    rows = deck.execute("select flds from notes order by id")
    return [fields.split("\x1f") for (fields,) in rows]


def read_field(html: str) -> str:
    bare = re.sub(r"</?(?:a|code|em|p|strong)\b[^>]*>", "", html)
    return squeeze(bare.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


@pytest.mark.parametrize("lang", BUILT)
def test_a_deck_holds_the_cards_of_the_page(lang: str, site: Path, tmp_path: Path) -> None:
    name = f"attention-{lang}.apkg"
    page = find_page_folder(site, lang, "review")
    (link,) = parse_html(page / "index.html").xpath("//p[@class='cards-file']/a")
    assert link.get("href") == f"../{name}"
    deck = open_deck((page.parent / name).read_bytes(), tmp_path)
    notes = [(read_field(one[0]), read_field(one[1])) for one in read_notes(deck)]
    assert notes == read_cards(page)
    assert deck.execute("select count(*) from cards").fetchone() == (len(notes),)
    (held,) = deck.execute("select decks from col").fetchone()
    assert DECKS[lang] in {one["name"] for one in json.loads(held).values()}
    assert any("\\(" in answer for _, answer in notes)


def make_chapters(lang: str) -> Chapters:
    page = read_build().pages[lang]["softmax"]
    return Chapters(
        lang, read_locale(lang), ROOT / "docs", {"softmax": page}, {"softmax": 3}, lambda page: ()
    )


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_same_cards_give_the_same_bytes_under_the_same_names(lang: str, tmp_path: Path) -> None:
    chapters = make_chapters(lang)
    cards = list(list_cards(chapters))
    first, again = (pack_deck(cards, chapters, "https://a.org/") for _ in range(2))
    assert first == again
    changed = [Card(one.slug, one.id, one.question, "New.", one.link) for one in cards]
    notes = []
    for number, packed in enumerate((first, pack_deck(changed, chapters, ""))):
        (folder := tmp_path / str(number)).mkdir()
        deck = open_deck(packed, folder)
        notes.append(deck.execute("select guid, mid from notes order by id").fetchall())
    assert notes[0] == notes[1]  # so that an import changes the cards that a reader has
    assert len({guid for guid, _ in notes[0]}) == len(cards)


def test_each_language_has_a_deck_and_a_note_type_of_its_own(tmp_path: Path) -> None:
    ids = []
    for lang in LANGUAGES:
        chapters = make_chapters(lang)
        (folder := tmp_path / lang).mkdir()
        deck = open_deck(pack_deck(list(list_cards(chapters)), chapters, ""), folder)
        (models, decks) = deck.execute("select models, decks from col").fetchone()
        (did,) = {*json.loads(decks)} - {"1"}  # which is Anki's own
        assert deck.execute("select distinct did from cards").fetchall() == [(int(did),)]
        ids += [int(did), *map(int, json.loads(models))]
    assert len(set(ids)) == 2 * len(LANGUAGES)
    assert min(ids) > 1


def test_a_deck_links_to_the_site_if_it_has_an_address(tmp_path: Path) -> None:
    chapters = make_chapters("en")
    deck = open_deck(pack_deck(list(list_cards(chapters)), chapters, "https://a.org/"), tmp_path)
    assert 'href="https://a.org/softmax/#result-wishes"' in read_notes(deck)[0][2]


# --- they come back

FOCUSED = "document.activeElement.classList[0]"


def show(tab: Any) -> Any:
    """Open the answer of the card that is asked; the buttons with which a reader judges."""
    tab.locator(".review-card > .md-button").click()
    return tab.locator(".review-buttons button")


def test_a_card_comes_back_after_growing_intervals(visit: Visit, address: str) -> None:
    tab = visit()
    tab.clock.set_fixed_time(NOON)
    address += make_path("zh", "review")
    day = 0
    for days in DAYS:
        tab.goto(address)
        tab.locator(".review select").select_option("softmax")
        known, _ = show(tab).all()
        assert str(days) in str(known.text_content())
        known.click()
        kept = json.loads(tab.evaluate("localStorage.getItem('review cards')"))
        assert list(kept) == ["softmax-recall-wishes"]
        day += days
        # The day before, other cards are asked, and not this one.
        question = str(tab.locator(".review-question").text_content())
        tab.clock.set_fixed_time(NOON + (day - 1) * DAY)
        tab.goto(address)
        tab.locator(".review select").select_option("softmax")
        assert tab.locator(".review-question").text_content() == question
        tab.clock.set_fixed_time(NOON + day * DAY)


def test_an_unknown_card_comes_again_today_and_all_is_erased(visit: Visit) -> None:
    tab = visit(make_path("en", "review"))
    tab.locator(".review select").select_option("sequences")
    asked = []
    for answer in (1, 0, 0, 0):  # not yet, then known
        asked.append(str(tab.locator(".review-question").text_content()))
        show(tab).nth(answer).click()
    assert asked[3] == asked[0]
    assert len(set(asked)) == 3
    assert "Nothing is due today." in str(tab.locator(".review-done").text_content())
    assert tab.evaluate(FOCUSED) == "review-done"
    with tab.expect_download() as download:
        tab.locator(".review-kept button").first.click()
    saved = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert len(saved["review cards"]) == 3
    tab.locator(".review-kept button").nth(2).click()
    assert tab.evaluate("localStorage.getItem('review cards')") is None
    assert tab.locator(".review-question").text_content() == asked[0]


def test_two_tabs_keep_the_grades_of_both(visit: Visit) -> None:
    one = visit(make_path("en", "review"))
    two = one.context.new_page()
    two.goto(one.url)
    one.locator(".review select").select_option("sequences")
    two.locator(".review select").select_option("softmax")
    question = two.locator(".review-question").text_content()
    for _ in range(3):
        show(one).first.click()
    assert two.locator(".review-question").text_content() == question
    show(two).first.click()
    kept = json.loads(one.evaluate("localStorage.getItem('review cards')"))
    assert sorted(name.split("-recall")[0] for name in kept) == ["sequences"] * 3 + ["softmax"]
    two.locator(".review select").select_option("sequences")
    two.locator(".review-done").wait_for()


def test_a_day_far_away_is_no_day(visit: Visit) -> None:
    tab = visit()
    kept = json.dumps({"softmax-recall-wishes": [1, 10**12]})
    tab.add_init_script(f"localStorage.setItem('review cards', {json.dumps(kept)})")
    tab.goto(visit(make_path("en", "review")).url)
    status = str(tab.locator(".review-status").text_content())
    due, every = re.findall(r"\d+", status)
    assert due == every


def test_a_reader_reviews_by_keyboard(visit: Visit) -> None:
    """What was asked for has the focus, so that it is read out; the next Tab reaches what to do."""
    tab = visit(make_path("en", "review"))
    tab.locator(".review-card > .md-button").focus()
    tab.keyboard.press("Enter")
    assert tab.evaluate(FOCUSED) == "review-answer"
    question = tab.locator(".review-question").text_content()
    for _ in range(8):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.parentElement.className") == "review-buttons":
            break
    tab.keyboard.press("Enter")
    assert tab.evaluate(FOCUSED) == "review-question"
    assert tab.locator(".review-question").text_content() != question


FORBID = """Object.defineProperty(window, "localStorage", {
  get() { throw new DOMException("denied", "SecurityError"); },
});"""


@pytest.mark.parametrize("kept", ["forbidden", "nonsense", "[1]", '{"a": 1, "b": [1, "x"]}'])
def test_a_browser_that_keeps_nothing_still_asks(kept: str, visit: Visit, address: str) -> None:
    tab = visit()
    address += make_path("en", "review")
    faults: list[str] = []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    if kept == "forbidden":
        tab.add_init_script(FORBID)
    else:
        tab.add_init_script(f"localStorage.setItem('review cards', {json.dumps(kept)})")
    tab.goto(address)
    question = tab.locator(".review-question").text_content()
    show(tab).first.click()
    assert tab.locator(".review-question").text_content() != question
    assert not [one for one in faults if "denied" not in one]


def test_without_a_script_the_cards_are_a_list(visit: Visit) -> None:
    tab = visit(make_path("en", "review"), java_script_enabled=False)
    assert not tab.locator(".review").count()
    fold = tab.locator("details.recall").first
    fold.locator("summary").click()
    assert fold.locator(".inside").is_visible()


# --- guesses

GUESS = """<div><div class="guess" id="g" data-premise="">
<p class="guess-question">Guess first: up?</p><p>It starts at 1.</p>
<ul><li>[ ] down</li><li>[x] up, <em>of course</em></li><li>[ ] on</li></ul>
<p>It grows.</p></div></div>"""
WORDS = {"commit": "I guess", "answer": "Answer"}


def test_a_guess_becomes_a_choice_with_a_folded_reason() -> None:
    root = fromstring(GUESS)
    assert not [*lay_out_guesses(root, WORDS, "page")]
    premise, question, form, fold = root[0]
    assert (question.get("id"), form[0].get("aria-labelledby")) == ("g-question", "g-question")
    assert [one.get("value") for one in form.iter("input")].count("wrong") == 2
    assert form.find("button").text == "I guess"  # type: ignore[union-attr]
    right, why = fold[1]
    assert tostring(right, encoding="unicode") == '<p class="right">up, <em>of course</em></p>'
    assert why.text == "It grows."
    assert premise.attrib == {"class": "premise", "hidden": ""}  # the page has said it before
    assert premise[0].text == "It starts at 1."
    assert "It starts" not in tostring(form, encoding="unicode")
    assert "data-premise" not in tostring(root, encoding="unicode")


@pytest.mark.parametrize(
    ("premise", "option", "is_fault"),
    [
        ("<p>It starts at 1.</p>", "", False),
        ("", "none", False),
        ("", "", True),
        ("<p>It starts at 1.</p>", "none", True),
    ],
)
def test_a_guess_has_a_premise_or_says_that_it_needs_none(
    premise: str, option: str, is_fault: bool
) -> None:
    source = GUESS.replace("<p>It starts at 1.</p>", premise)
    source = source.replace('premise=""', f'premise="{option}"')
    found = [*lay_out_guesses(fromstring(source), WORDS, "page")]
    assert [one[:21] for one in found] == ["guess: wanted what is"] * is_fault


@pytest.mark.parametrize(
    ("old", "new"), [("[x]", "[ ]"), ("<p>It grows.</p>", ""), ("[ ] down", "down")]
)
def test_a_guess_without_an_answer_is_a_fault(old: str, new: str) -> None:
    (fault,) = lay_out_guesses(fromstring(GUESS.replace(old, new)), WORDS, "page")
    assert "wanted 3 options of which one is [x], then why" in fault


def test_a_guess_gets_its_reason_and_counts_for_nothing(visit: Visit) -> None:
    tab = visit(make_path("zh-hant", "positions"))
    guess = tab.locator("#guess-return")
    answer = guess.locator("details.answer")
    press = guess.get_by_role("button")
    tab.wait_for_load_state("networkidle")
    press.press("Enter")  # a page that still moves can take a button away from under the pointer
    tab.wait_for_function("document.querySelector('#guess-return output').className === 'empty'")
    assert answer.get_attribute("open") is None
    guess.locator("input[value=wrong]").first.check()
    press.click()
    guess.locator("output").get_by_text("結果不是這樣。").wait_for()
    assert answer.get_attribute("open") is not None
    assert press.get_attribute("aria-disabled") == "true"  # it is no longer what comes next
    guess.locator("input[value=right]").check()
    assert press.get_attribute("aria-disabled") is None
    press.click()
    guess.locator("output").get_by_text("正確。").wait_for()
    assert not tab.locator(".solved-count").count()
    assert tab.evaluate("localStorage.length") == 0


def test_without_a_script_a_guess_is_a_question_with_its_answer(visit: Visit) -> None:
    tab = visit(make_path("en", "positions"), java_script_enabled=False)
    guess = tab.locator("#guess-return")
    assert guess.get_by_text("the slowest, which has hardly moved").is_visible()
    assert not guess.get_by_role("button").count()
    guess.locator("summary").click()
    assert guess.get_by_text("nearly seven full turns of the fastest").is_visible()
