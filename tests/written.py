"""The exercises that ask for a function, as a reader solves them: typed into the page in a browser.

What is typed comes from the page itself, in its language: the model answer, and each known mistake
as the checks of the exercise define it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_docs.site.run.dependencies import find_uses
from tests.test_live_pages import open_live, read_source

EXERCISE = "exercise-write"
TYPE = """async ([exercise, codes]) => {
  const box = document.getElementById(exercise);
  const block = box.querySelector(".block[data-block]");
  const shown = document.querySelector("#out-writing-checks table");
  const stop = document.querySelector(".live-bar button");
  const field = block.querySelector("textarea");
  const until = async (holds) => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  const verdicts = [];
  for (const code of codes) {
    field.value = code;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    const key = { key: "Enter", ctrlKey: true, bubbles: true };
    field.dispatchEvent(new KeyboardEvent("keydown", key));
    await until(() => stop.hidden);
    const cells = [...shown.querySelectorAll("th, td")]
      .map((one) => one.textContent).filter(Boolean);
    verdicts.push([cells, box.classList.contains("solved")]);
  }
  return verdicts;
}"""
"""What the page says of each of these codes, typed one after another and run by Ctrl+Enter."""


@dataclass(frozen=True)
class Written:
    """What a reader may type: a right function, and wrong ones by what is said of them."""

    answer: str
    mistakes: Mapping[str, str]
    parameters: int  # of the function


def read_written(document: Mapping[str, Any]) -> Written:
    """The answers to the exercise of a page, out of its blocks as the site holds them."""
    codes = {cell["id"]: cell["code"] for cell in document["cells"]}
    (name,) = re.findall(r"^def (your_\w+)", codes["writing"], re.MULTILINE)
    answer, checks = codes["writing-answer"], codes["writing-checks"]
    (model,) = re.findall(r"^ +(model_\w+),$", checks, re.MULTILINE)
    (mistakes,) = (
        keyword.value
        for node in ast.walk(ast.parse(checks))
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "mistakes"
    )
    assert isinstance(mistakes, ast.Dict)
    wrong = {
        ast.literal_eval(why): re.sub(
            rf"\b{model}\b", f"own_{model}", str(ast.get_source_segment(checks, mistake))
        )
        for why, mistake in zip(mistakes.keys, mistakes.values, strict=True)
        if why is not None
    }
    own = re.sub(rf"\b{model}\b", f"own_{model}", answer)  # nobody may call the model answer
    functions = [one for one in ast.parse(answer).body if isinstance(one, ast.FunctionDef)]
    return Written(
        re.sub(rf"\b{model}\b", name, answer),
        {
            why: f"{own}\ndef {name}(*given):\n    return (\n        {code}\n    )(*given)\n"
            for why, code in wrong.items()
        },
        sum(len(one.args.args) for one in functions),
    )


def list_written(site: Path) -> list[str]:
    """The chapters that ask for a function."""
    pages = sorted((site / "live" / "en").glob("*.json"))
    return [path.stem for path in pages if '"writing-checks"' in path.read_text(encoding="utf-8")]


def keep_used_statements(cells: Sequence[dict[str, Any]]) -> None:
    """Leave of the other blocks only what the exercise uses, so that no model is trained for it."""
    blocks = find_uses([cell["code"] for cell in cells])
    number = sum(map(len, blocks))
    used: set[int] = set()
    for cell, statements in zip(reversed(cells), reversed(blocks), strict=True):
        lines = cell["code"].split("\n")
        kept: list[str] = []
        for first, last, uses in reversed(statements):
            number -= 1
            if cell["id"].startswith("writing") or number in used:
                used.update(uses)
                kept = lines[first - 1 : last] + kept
        if not cell["id"].startswith("writing"):
            cell["code"] = "\n".join(kept)


def judge_page(keeper: Any, site: Path, slug: str, lang: str) -> Iterator[tuple[str, str]]:
    """Of each answer to the exercise of a page what it is, and what is wrong with its verdict."""
    document = read_source(site, lang, slug)
    written = read_written(document)
    keep_used_statements(document["cells"])
    source = f"**/live/{lang}/{slug}.json*"
    keeper.context.route(source, lambda route: route.fulfill(json=document))
    page = open_live(keeper, slug, lang)
    try:
        page.tab.evaluate("localStorage.clear()")
        page.edit("writing")
        page.wait_until_settled()
        verdicts = page.tab.evaluate(TYPE, [EXERCISE, [*written.mistakes.values(), written.answer]])
        page.tab.evaluate("localStorage.clear()")
    finally:
        page.tab.close()
        keeper.context.unroute(source)
    typeset = str.maketrans("-", "−", "_")  # as a table has it: √d_k is set
    *wrong, (right, is_solved) = verdicts
    for why, (cells, is_noted) in zip(written.mistakes, wrong, strict=True):
        said = cells[0].startswith("✗") and cells[-1].translate(typeset) == why.translate(typeset)
        is_whole = len(cells) == 1 + 2 * (written.parameters + 3)  # wanted, got, what went wrong
        fault = "" if said and is_whole and not is_noted else f"{why!r} gave {cells}"
        yield "mistake", fault
    accepted = right[0].startswith("✓") and is_solved
    yield "answer", "" if accepted else f"the model answer gave {right}, solved: {is_solved}"
