"""When a card comes back, compared with py-fsrs; and the sheet of solved exercises.

`fsrs.json` holds histories of cards that py-fsrs 6.3.2 (PyPI, MIT) has scheduled, with
`Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False, maximum_interval=3650)`:
of each answer the days since the one before, whether the card was known (Good) or not (Again), and
what the package says then: stability, difficulty, and the days until it is due.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.test_browser import Visit, make_path

FSRS = ROOT / "docs" / "assets" / "fsrs.js"
HISTORIES = json.loads((ROOT / "tests" / "fsrs.json").read_text("utf-8"))
RUN = """import { readFileSync } from "node:fs";
const { fromLevel, schedule } = await import(process.argv[1]);
const [histories, levels] = JSON.parse(readFileSync(0, "utf-8"));
const follow = (history) => {
  let card;
  let day = 0;
  return history.map(([gap, knew]) => {
    day += gap;
    card = schedule(card, knew, day);
    return [card[0], card[1], card[2] - day, card[3] - day];
  });
};
console.log(JSON.stringify([histories.map(follow), levels.map((one) => fromLevel(one))]));"""


def run(tmp_path: Path, histories: Any, levels: Any = ()) -> Any:
    """What fsrs.js makes of histories, and of cards as they were kept before."""
    module = tmp_path / "fsrs.mjs"
    module.write_bytes(FSRS.read_bytes())
    command = ["node", "--input-type=module", "-e", RUN, "--", str(module)]
    said = json.dumps([histories, levels])
    done = subprocess.run(command, input=said, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.needs("speech")  # which needs node
def test_cards_come_back_when_py_fsrs_says(tmp_path: Path) -> None:
    found, _ = run(tmp_path, [[one[:2] for one in history] for history in HISTORIES])
    answers = 0
    for history, cards in zip(HISTORIES, found, strict=True):
        for (_, knew, stability, difficulty, days), card in zip(history, cards, strict=True):
            assert card[:2] == pytest.approx([stability, difficulty], rel=1e-12)
            assert card[2:] == [0, days if knew else 0]  # here an unknown card comes again today
            answers += 1
    assert answers > 200
    assert {one[1] for history in HISTORIES for one in history} == {True, False}
    assert {0, 1} < {one[0] for history in HISTORIES for one in history}


@pytest.mark.needs("speech")
def test_a_card_that_was_kept_before_keeps_its_day(tmp_path: Path) -> None:
    _, cards = run(tmp_path, [], [[0, 50], [1, 51], [3, 57], [5, 85]])
    assert [one[2:] for one in cards] == [[50, 50], [50, 51], [50, 57], [50, 85]]
    assert [one[0] for one in cards] == [0.212, 2.3065, 7, 35]  # never less than a first answer
    assert all(1 <= one[1] <= 10 for one in cards)


@pytest.mark.parametrize(
    ("lang", "said", "name"),
    [("en", "it proves nothing", "5.1 Three"), ("zh", "证明不了别的", "5.1 ")],
)
def test_a_sheet_names_what_was_solved_and_says_that_it_proves_nothing(
    lang: str, said: str, name: str, visit: Visit, address: str
) -> None:
    tab = visit()
    kept = {"softmax": ["exercise-weights", "exercise-lost"], "nowhere": ["exercise-a"]}
    tab.add_init_script(
        f"localStorage.setItem('solved exercises', {json.dumps(json.dumps(kept))});"
        "window.print = () => {"
        " window.printed = document.querySelector('.solved-sheet').innerText; }"
    )
    tab.goto(address + make_path(lang, "review"))
    tab.emulate_media(media="print")
    tab.locator(".review-kept button").last.evaluate("button => button.click()")
    printed = tab.evaluate("window.printed")
    assert said in printed
    assert printed.count(name) == 1
    assert "(1/" in printed
    assert "lost" not in printed
    assert "exercise-a" not in printed
    assert not tab.locator(".review-question").is_visible()
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not tab.locator(".solved-sheet").count()
    tab.emulate_media(media="screen")
    assert tab.locator(".review-question").is_visible()
