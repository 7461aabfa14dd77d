"""The drawing of a whole model: its sizes by the file and by torch, its parts in a browser."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from axe_playwright_python.base import AXE_SCRIPT

from attention_docs.data import load_beginnings
from attention_docs.figures import machine
from attention_docs.gguf import read_gguf
from tests.conftest import each_language, find_page_folder, parse_html
from tests.test_browser import Visit, assert_everyone_can_use, make_path
from tests.test_heads import FILE, needs_model, read_in_torch, run_in_torch

KEPT = load_beginnings()
PAGE = make_path("en", "next-word")
OPEN = """() => [...document.querySelectorAll(".instrument.machine .stage")]
  .find((one) => one.checkVisibility()).querySelectorAll('[aria-expanded="true"]').length"""
SHOWN = """() => {
  const stage = [...document.querySelectorAll(".instrument.machine .stage")]
    .find((one) => one.checkVisibility());
  return [...stage.querySelectorAll(".row")].map((row) =>
    [...row.querySelectorAll("text")].map((one) => one.textContent));
}"""
FOCUSED = "document.activeElement.closest('.part')?.dataset.part"


def open_machine(visit: Visit, path: str = PAGE, **options: Any) -> Any:
    tab = visit(path, reduced_motion="reduce", **options)
    tab.locator(".instrument.machine").scroll_into_view_if_needed()
    tab.wait_for_function("document.querySelector('.instrument.machine').instrument")
    return tab


def find(tab: Any, part: str, inside: str = "> .box > .head") -> Any:
    return tab.locator(f'.instrument.machine .stage:visible [data-part="{part}"] {inside}').first


def press(tab: Any, *parts: str) -> None:
    for part in parts:
        find(tab, part).click(position={"x": 60, "y": 20})


# --- sizes ----------------------------------------------------------------------------------------


@needs_model
def test_sizes_are_those_of_the_file(page: Any) -> None:
    """Its metadata, and its tensors as torch reads them."""
    content = FILE.read_bytes()
    metadata, (_, tensors) = read_gguf(content).metadata, read_in_torch(content)
    size = {name.removeprefix("llama."): one for name, one in metadata.items()}
    layers, heads = size["block_count"], size["attention.head_count"]
    d_model, d_ff = size["embedding_length"], size["feed_forward_length"]
    count = {name: one.numel() for name, one in tensors.items() if name != "rope_freqs"}
    said = page("en", "next-word").figure("machine")

    def sum_of(*names: str) -> str:
        return f"{sum(n for key, n in count.items() if key.endswith(names)):,d} parameters"

    for text in (
        f"{len(metadata['tokenizer.ggml.tokens']):,d} in the vocabulary",
        f"{layers} layers",
        f"{heads} heads",
        f"{d_model} → {d_ff:,d} → {d_model}, {sum_of('.7.ffn_gate', '.7.ffn_up', '.7.ffn_down')}",
        f"{heads} × 64, {size['attention.head_count_kv']} × 64",
        f"3 × 64, 3 × 64, {sum_of('.7.attn_q', '.7.attn_k', '.7.attn_v')}",
        f"merge the heads (9 × 64 → 576, {sum_of('.7.attn_output')})",
        f"rows of a table, {sum_of('token_embd')}",
        f"built alike, {sum_of(*(one for one in count if one.startswith('blk.')))}",
        f"last normalisation (576 → 576, {sum_of('output_norm')})",
        f"{sum(count.values()):,d} parameters: ",
    ):
        assert text in said, text


def test_a_machine_refuses() -> None:
    sizes: Any = {"layers": 5, "heads": 9, "kv_heads": 3, "title": "M"}
    for wrong in ({"heads": 7}, {"layers": 0}):
        with pytest.raises(ValueError, match="heads divide d_model"):
            machine(KEPT, **{**sizes, **wrong})
    with pytest.raises(ValueError, match="different numbers"):
        machine({**KEPT, "heads": [[1, 3], [2, 3], [4, 5]]}, **sizes)


# --- without a script -----------------------------------------------------------------------------


@each_language
@pytest.mark.parametrize("slug", ["index", "next-word"])
def test_closed_it_is_on_the_page_with_links_to_chapters(slug: str, lang: str, site: Any) -> None:
    """Numbers and addresses of the chapters are those of the cards of the first page."""
    drawn = parse_html(find_page_folder(site, lang, slug) / "index.html")
    home = parse_html(find_page_folder(site, lang, "index") / "index.html")
    cards = {
        one.get("href").strip("./"): one.getparent().text_content().strip()
        for one in home.xpath("//a[contains(@class, 'card-title')]")
    }
    links = drawn.xpath("//div[@data-instrument='machine']//a")
    assert len(links) == 2 * (6 + 4 + 3 + 2)  # at each depth; nobody asks what a sum is
    for link in links:
        said, _, title = link.get("aria-label").partition(": ")
        assert link.text_content() == said
        card = cards[link.get("href").strip("./") or slug]
        assert title in card
        assert re.search(r"\d+", said)[0] in card  # type: ignore[index]


def test_without_a_script_it_is_closed_and_readable(visit: Visit) -> None:
    for width in (1280, 390):
        tab = visit(PAGE, width=width, java_script_enabled=False)
        shown = tab.locator(".instrument.machine .stage:visible > svg > g > .part")
        assert shown.count() == 6
        assert find(tab, "attention", "> .box > .head text").is_hidden()
        box = tab.locator(".instrument.machine .stage:visible > svg").bounding_box()
        assert 0 <= box["x"] <= width - box["width"]


# --- in the reader's hand -------------------------------------------------------------------------


@pytest.mark.parametrize("width", [390, 1280])
def test_parts_open_and_close_by_keys(width: int, visit: Visit) -> None:
    tab = open_machine(visit, width=width)
    told = tab.locator(".instrument.machine .state")
    closed = told.text_content()
    assert closed.startswith("134,515,008 parameters: ")
    height = tab.locator(".instrument.machine .stage:visible > svg").bounding_box()["height"]
    find(tab, "blocks").focus()
    tab.keyboard.press("Enter")
    assert tab.evaluate(OPEN) == 1
    assert told.text_content().startswith("30 layers is open: normalisation · attention · add · ")
    assert tab.url.endswith("#machine-blocks")
    while tab.evaluate(FOCUSED) != "attention":
        tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate(OPEN) == 2
    while tab.evaluate("document.activeElement.dataset.head") != "6":
        tab.keyboard.press("ArrowDown")
    assert tab.evaluate("document.activeElement.textContent") == "18.6"  # of its own layer
    tab.keyboard.press("Space")
    assert tab.evaluate(OPEN) == 3
    title = f"Head 6 of layer 18 on “{KEPT['beginnings'][0]['text']}”"
    assert told.text_content().startswith(f"{title} is open: ␣the looks at ")
    drawn = find(tab, "heads", ".drawn > text").text_content()
    assert title.startswith(drawn.rstrip("…"))
    assert len(drawn) > 24
    assert tab.url.endswith("#machine-heads.6")
    for rest in (2, 1, 0, 0):
        tab.keyboard.press("Escape")
        assert tab.evaluate(OPEN) == rest
    assert tab.evaluate(FOCUSED) == "blocks"
    assert told.text_content() == closed
    after = tab.locator(".instrument.machine .stage:visible > svg").bounding_box()["height"]
    assert after == pytest.approx(height, abs=1)


def rows_of(one: Any, n: int, asker: int) -> list[list[str]]:
    """Tokens and weights as the drawing writes them, from what was measured."""
    tokens = [KEPT["tokens"][str(i)].replace(" ", "␣") for i in one["prompt"]]
    row = one["weights"][n][asker * (asker + 1) // 2 :][: asker + 1]
    shares = [f"{share / 1000:.3f}" for share in row] + ["–"] * (len(tokens) - asker - 1)
    return [list(pair) for pair in zip(tokens, shares, strict=True)]


def test_weights_are_those_that_were_measured_for_the_chosen_beginning(visit: Visit) -> None:
    """Three beginnings, every head, the last token and another one; the lines are as thick."""
    tab = open_machine(visit)
    tab.locator(".next-token").scroll_into_view_if_needed()
    tab.wait_for_selector(".next-choose select")
    for number in (0, 1, 10):
        tab.locator(".next-choose select").select_option(str(number))
        one = KEPT["beginnings"][number]
        last = len(one["prompt"]) - 1
        assert find(tab, "text", ".size").text_content() == one["text"]
        for n, (layer, head) in enumerate(KEPT["heads"]):
            tab.evaluate("hash => { location.hash = hash; }", f"#machine-heads.{head}")
            tab.wait_for_function(
                "text => document.querySelector('.working .state').textContent.startsWith(text)",
                arg=f"Head {head} of layer {layer} on “{one['text']}” is open: ",
            )
            for asker in (last, 2):
                tab.locator(f'.instrument.machine .stage:visible [data-row="{asker}"]').click()
                shown = tab.evaluate(SHOWN)
                wanted = rows_of(one, n, asker)
                assert [share for _, share in shown] == [share for _, share in wanted]
                for (token, _), (whole, _) in zip(shown, wanted, strict=True):
                    assert whole.startswith(token.rstrip("…"))
            thick = tab.locator(".instrument.machine .stage:visible .look").evaluate_all(
                "all => all.map((one) => Number(one.getAttribute('stroke-width')))"
            )
            share = [float(share) for _, share in rows_of(one, n, 2)[:3]]
            assert thick == pytest.approx([max(0.5, 22 * one) for one in share])


@needs_model
@pytest.mark.parametrize("number", [0, 1, 10])
def test_weights_again_in_torch(number: int) -> None:
    """What the rows show, computed from the model's file."""
    _, tensors = read_in_torch(FILE.read_bytes())
    one = KEPT["beginnings"][number]
    _, weights = run_in_torch(torch.tensor(one["prompt"]), tensors)
    for n, (layer, head) in enumerate(KEPT["heads"]):
        for asker in (2, len(one["prompt"]) - 1):
            shown = [float(share) for _, share in rows_of(one, n, asker)[: asker + 1]]
            wanted = weights[layer, head][asker, : asker + 1].tolist()
            assert shown == pytest.approx(wanted, abs=0.0011)


@pytest.mark.parametrize("path", [PAGE, make_path("zh", "index")])
def test_everyone_can_use_it_open(path: str, visit: Visit) -> None:
    tab = open_machine(visit, path)
    press(tab, "blocks", "attention")
    tab.locator(".instrument.machine .stage:visible .square[role]").first.click()
    tab.evaluate(AXE_SCRIPT)
    assert_everyone_can_use(tab)
    texts = tab.evaluate("""() => [...document.querySelectorAll(".working.machine svg text")]
      .filter((one) => one.checkVisibility({ visibilityProperty: true }))
      .map((one) => [getComputedStyle(one).fontSize, one.getBBox().x + one.getBBox().width,
        Number(one.closest(".box").getAttribute("width"))])""")
    assert {size for size, _, _ in texts} == {"14px"}
    for _, right, width in texts:
        assert right <= width


def test_a_strip_opens_the_parts_of_its_chapter(visit: Visit) -> None:
    tab = visit(make_path("en", "masking"), reduced_motion="reduce")
    tab.locator(".you-are-here").click()
    tab.wait_for_function("document.querySelector('.instrument.machine')?.instrument")
    assert tab.url.endswith("next-word/#machine-attention")
    assert tab.evaluate(OPEN) == 2
    assert tab.locator(".working .state").text_content().startswith("attention is open: ")
