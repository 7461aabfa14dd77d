"""The site in a browser: loading, search, languages, keyboard, and reading without scripts."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from attention_docs.colours import make_style_sheet
from attention_docs.site.read.settings import read_configuration
from tests.conftest import (
    LANGUAGES,
    ROOT,
    SETTINGS,
    SLUGS,
    TAGS,
    each_language,
    in_one_language,
)
from tests.test_search import search

CHAPTERS = sorted({*SETTINGS.navigation.chapters, "index"})
WEIGHT = 218 * 1024  # bytes of a chapter's first view, compressed
BEGINNINGS = 300 * 1024  # the same of what a model was measured to write, which comes after it

Visit = Callable[..., Any]


def make_path(lang: str, slug: str) -> str:
    return ("/" if lang == "en" else f"/{lang}/") + ("" if slug == "index" else f"{slug}/")


# --- every page ----------------------------------------------------------------------------------


# A page loads in its language's first window and turns into the second. The languages have the
# same parts, so axe sees each page in one of them, in turn: wide and light, or narrow and dark. The
# pages of the API differ in one sentence and in labels: they get no second window, and stand for
# their translations.
WINDOWS = {"en": [(1280, "light"), (390, "dark")], "zh": [(390, "dark"), (1280, "light")]}
WINDOWS["zh-hant"] = WINDOWS["zh"]
MODULES = [slug for slug in SLUGS if slug.startswith("api/")]
SEEN = [("en", slug) for slug in SLUGS]
SEEN += [("zh", slug) for slug in SLUGS if slug not in MODULES or slug == "api/masking"]
# A page that is made from the Chinese one has its HTML: only its type and its words differ.
SEEN += [("zh-hant", slug) for slug in ("index", "masking", "glossary", "generation")]


@pytest.fixture(scope="module")
def walker(chromium: Any) -> Iterator[Any]:
    """A tab that goes from page to page, each as on a first visit: it takes nothing from a cache.
    (A tab for every page would take a sixth more.)"""
    context = chromium.new_context()
    tab = context.new_page()
    tab.add_init_script(SHIFTS)
    tab.on("console", lambda message: tab.console_messages.append(f"console: {message.text}"))
    tab.on("pageerror", lambda error: tab.console_messages.append(f"error: {error.stack or error}"))
    tab.on("requestfailed", lambda request: tab.console_messages.append(f"failed: {request.url}"))
    tab.on("response", lambda answer: tab.answers.append(answer))
    tab.console_messages, tab.answers = [], []
    tab.protocol = context.new_cdp_session(tab)
    tab.protocol.send("Network.enable")
    set_cache(tab, True)
    yield tab
    context.close()


def set_cache(tab: Any, everything: bool) -> None:
    """Whether the tab asks for what lies in its cache."""
    tab.protocol.send("Network.setCacheDisabled", {"cacheDisabled": everything})


@pytest.mark.parametrize(("lang", "slug"), SEEN)
def test_a_page_loads_alone_and_everyone_can_use_it(
    lang: str, slug: str, walker: Any, address: str, site: Path
) -> None:
    """Nothing is said on the console, nothing moves or sticks out; no rule of WCAG 2.2 AA or of
    good practice is broken; code fits its column; a chapter is light."""
    tab = walker
    first, *others = WINDOWS[lang][: 1 if slug in MODULES else 2]
    load_page(tab, address + make_path(lang, slug), *first)
    answers = [*tab.answers]  # a late one counts in neither sum
    kept = [answer for answer in answers if "/beginnings/" in answer.url]
    measured = sum(map(measure_compressed, kept))
    weight = sum(map(measure_compressed, answers)) - measured if slug in CHAPTERS else 0
    faults = find_layout_shifts(tab)
    tab.add_style_tag(content=WHOLE)
    tab.evaluate(NEAR)
    tab.evaluate(SETTLED)
    if lang == ("en" if slug in MODULES else LANGUAGES[SLUGS.index(slug) % 2]):
        tab.evaluate(AXE_SCRIPT)
        faults += tab.evaluate(AXE)
    if tab.evaluate("document.documentElement.lang") != TAGS[lang]:
        faults.append("another language")
    faults += find_width_faults(tab, first[0], slug) + find_controls(tab, slug)
    faults += find_colour_faults(tab, first[1])
    for width, scheme in others:
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme=scheme)
        tab.evaluate(ARRIVED)
        faults += find_width_faults(tab, width, slug)
    if weight >= WEIGHT or measured >= BEGINNINGS:
        faults.append(f"{weight} bytes, and {measured} of beginnings")
    faults += tab.console_messages + find_loading_faults(tab, address)  # late ones too
    assert not faults, "\n".join(faults)


def load_page(tab: Any, url: str, width: int, scheme: str) -> None:
    """Open a page; faults from now on are in `tab.console_messages`, answers in `tab.answers`."""
    tab.goto("about:blank")  # so that nothing of the page before comes late
    tab.console_messages, tab.answers = [], []
    tab.set_viewport_size({"width": width, "height": 900})
    tab.emulate_media(color_scheme=scheme)
    tab.goto(url, wait_until="load")
    tab.evaluate(SETTLED)


# What is far from the window is measured as if it were near.
WHOLE = "article * { content-visibility: visible !important }"
NEAR = """() => document.querySelector("article")
  .dispatchEvent(new Event("contentvisibilityautostatechange", { bubbles: true }))"""


# The script marks what scrolls, bit by bit: until it has, and all fonts are there.
SETTLED = """async () => {
  await document.fonts.ready;
  const focusable = () => document.querySelectorAll("[tabindex='0']").length;
  for (let same = 0, before = -1; same < 3; ) {
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    await new Promise((done) => requestIdleCallback(done, { timeout: 2000 }));
    same = before === focusable() ? same + 1 : 0;
    before = focusable();
  }
}"""


# What is on its way from one window or scheme to another is there at once; what a script says to it
# comes with the next frame.
ARRIVED = """async () => {
  const frame = new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  await Promise.race([frame, new Promise((done) => setTimeout(done, 2000))]);
  const moving = () => document.getAnimations().filter((one) => one instanceof CSSTransition);
  while (moving().length) moving().forEach((one) => one.finish());
}"""


def find_loading_faults(tab: Any, own: str) -> list[str]:
    """What came from elsewhere, unannounced or not at all."""
    answers = [*tab.answers]
    found = [f"{one.status}: {one.url}" for one in answers if one.status != 200]
    found += [
        f"foreign: {one.url}" for one in answers if not one.url.startswith((own, "data:", "blob:"))
    ]
    asked = tab.locator("link[rel=preload][as=font]").evaluate_all("all => all.map((l) => l.href)")
    # What is rare is asked for by the few pages that need it, once they know.
    fonts = [one.url for one in answers if re.search(r"(?<!-rare)\.woff2$", one.url)]
    return found + [f"not asked for in the head: {url}" for url in fonts if url not in asked]


def find_layout_shifts(tab: Any) -> list[str]:
    """What moved until now: next to nothing where the font of formulas lies in the browser's cache.
    Where it came late, as on a slow network or a busy machine, a line may break elsewhere; how much
    that moves hangs on the machine's own fonts (0.09 with Debian's), and 0.25 is called poor."""
    shifted = tab.evaluate("window.shifted")
    if 0.02 <= shifted < 0.25:
        set_cache(tab, False)
        tab.reload(wait_until="load")
        tab.evaluate(SETTLED)
        set_cache(tab, True)
        shifted = tab.evaluate("window.shifted")
    if shifted < 0.02:
        return []
    movers = [mover[:200] for mover in tab.evaluate("window.movers")]
    return ["\n  ".join([f"layout shift {shifted}", *movers])]


def find_width_faults(tab: Any, width: int, slug: str) -> list[str]:
    """What sticks out, is squeezed, cut or covered, and a chapter with a long main line."""
    wide = tab.evaluate("document.documentElement.scrollWidth")
    found = [f"wider than its window: {wide} px of {width} px"] if wide > width else []
    found += [f"at {width} px {fault}" for fault in tab.evaluate(MISPLACED)]
    if width >= 1280:
        found += [f"wider than its column: {line}" for line in tab.evaluate(LONG)]
        found += [f"a longer line than 34 em: {line}" for line in tab.evaluate(BROAD)]
    return found


# Of the code and of the outputs that a reader sees without opening anything.
LONG = """() => [...document.querySelectorAll(`article :is(.block, .output) pre > code,
    article :is(.drawing, .table-frame, .formula)`)]
  .filter((box) => box.checkVisibility() && box.scrollWidth > box.clientWidth + 1)
  .map((box) => `${box.scrollWidth - box.clientWidth} px, ${box.textContent.slice(0, 60)}`)"""


# A line of text is 34 em long at most, in the size of the article.
BROAD = """() => [...document.querySelectorAll(`article :is(p, ul, ol, dl, blockquote,
    figcaption)`)]
  .filter((one) => one.checkVisibility() &&
    !one.closest("td, th, .cards, form, .review, .next-token, .admonition-title") &&
    one.getBoundingClientRect().width > 34 * parseFloat(
      getComputedStyle(document.querySelector("article")).fontSize) + 1)
  .map((one) => one.textContent.slice(0, 60))"""


# Text that has a few characters a line, or more than its box, which nobody can scroll; controls
# that scroll with their drawing; what lies under a button; and a line that begins with the
# punctuation of the one before, after a formula.
MISPLACED = """() => {
  const found = [];
  const article = document.querySelector("article");
  const say = (fault, one) =>
    found.push(`${fault}: ${one.tagName} ${one.textContent.trim().slice(0, 50)}`);
  const rectangles = (one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    return [...range.getClientRects()].filter(({ width }) => width);
  };
  const holds = "p, li, svg, pre, math, details, br, a + a, .root";
  for (const one of article.querySelectorAll("p, li, dd, td, th, figcaption, summary, .card > *")) {
    if (one.querySelector(holds) || !one.checkVisibility()) continue;
    const letters = one.textContent.trim();
    const lines = new Set(rectangles(one).map(({ bottom }) => Math.round(bottom / 6))).size;
    const least = /\\p{Script=Han}/u.test(letters) ? 2 : 4;
    if (lines > 3 && [...letters].length / lines < least) say("squeezed", one);
    const { overflowX } = getComputedStyle(one);
    const cut = overflowX === "hidden" || overflowX === "clip";
    if (cut && one.clientWidth > 1 && one.scrollWidth > one.clientWidth + 1) say("cut", one);
  }
  for (const title of document.querySelectorAll(".md-header__topic > .md-ellipsis")) {
    const { width, height } = title.getBoundingClientRect();
    if (title.scrollWidth > width + 1 || height > 48) say("cut", title); // a header of 48 px
  }
  for (const bar of article.querySelectorAll(".stepper:not(.ribbons) > .stepper-bar")) {
    const box = bar.closest(".drawing");
    const scrolls = getComputedStyle(box).overflowX !== "visible";
    if (scrolls && box.scrollWidth > box.clientWidth + 1) say("scrolls out of sight", bar);
  }
  for (const button of article.querySelectorAll(".md-code__nav, .tools")) {
    if (!button.checkVisibility()) continue;
    const { left, right, top, bottom } = button.getBoundingClientRect();
    const box = button.closest(".output, .highlight, pre");
    for (const part of box.querySelectorAll("pre > code, .drawing, table, figcaption")) {
      if (button.contains(part) || !part.checkVisibility()) continue;
      const edge = part.getBoundingClientRect().right;
      const shown = part.querySelector(".frame.shown") ?? part;
      const under = rectangles(shown).some((line) =>
        Math.min(line.right, edge) > left + 1 && line.left < right - 1 &&
          line.bottom > top + 2 && line.top < bottom - 2);
      if (under) say("under a button", part);
    }
  }
  for (const formula of article.querySelectorAll(":is(p, li) math")) {
    const next = formula.nextSibling;
    if (next?.nodeType !== 3 || !/^[.,;:!?)，。：；、）？！”]/.test(next.data)) continue;
    const range = document.createRange();
    range.setStart(next, 0);
    range.setEnd(next, 1);
    const [sign, before] = [range, formula].map((one) => one.getBoundingClientRect());
    const torn = sign.height && sign.top > before.bottom - 2 && sign.left < before.left;
    if (torn) say("torn", formula.parentElement);
  }
  return found;
}"""


MOST_CONTROLS = 16  # of a chapter, outside of its figures, before a reader comes near or opens one
# A guess belongs to the figure that follows it, and the questions at the end are one list.


def find_controls(tab: Any, slug: str) -> list[str]:
    """A chapter that shows too many controls at rest."""
    tab.mouse.move(0, 0)
    tab.evaluate(ARRIVED)
    shown = tab.evaluate(CONTROLS) if slug in CHAPTERS and slug != "mistakes" else []
    return [f"{len(shown)} controls: {', '.join(shown)}"] if len(shown) > MOST_CONTROLS else []


CONTROLS = """() => [...document.querySelectorAll("article :is(summary, button)")]
  .filter((one) => !one.closest(
    ".stepper, .instrument, form.asks, .guess, .recall + .recall, .next-bars, .uncover") &&
    one.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
  .map((one) => (one.textContent || one.tagName).trim().slice(0, 20))"""


DECIDED: dict[str, list[str]] = {"light": [], "dark": []}
"""Kinds of text that other pages hold too, and axe has found nothing in."""


def find_colour_faults(tab: Any, scheme: str) -> list[str]:
    """What axe finds in the colours of this scheme, of texts that no page before had."""
    tab.wait_for_function(CHOSEN, arg="slate" if scheme == "dark" else "default", polling=50)
    tab.evaluate(ARRIVED)
    looked = tab.evaluate(COLOURS, DECIDED[scheme])
    if looked is None:
        tab.evaluate(AXE_SCRIPT)
        looked = tab.evaluate(COLOURS, DECIDED[scheme])
    found, kinds = cast("tuple[list[str], list[str]]", looked)
    if not found:
        DECIDED[scheme] += kinds
    return found


def assert_everyone_can_use(tab: Any) -> None:
    """What is open in a tab has no fault for axe, wide and narrow, light and dark."""
    tab.add_style_tag(content=WHOLE)
    tab.evaluate(AXE_SCRIPT)
    for width in (390, 1280):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.evaluate(SETTLED)
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
    assert not tab.evaluate(AXE)
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        assert not find_colour_faults(tab, scheme), scheme


CHOSEN = "(scheme) => document.body.dataset.mdColorScheme === scheme"  # by the theme's script


# What moved while the page loaded, as browsers score it (0.1 is their limit for good).
SHIFTS = """
window.shifted = 0;
window.movers = [];
new PerformanceObserver((list) => list.getEntries().forEach(({ value, sources }) => {
  shifted += value;
  movers.push(...sources.map(({ node }) => `${value}: ${node?.outerHTML ?? node?.nodeValue}`));
})).observe({ type: "layout-shift", buffered: true });
"""


SIZES: dict[str, int] = {}


def measure_compressed(answer: Any) -> int:
    """Bytes of an answer as a server that compresses text sends it."""
    if answer.url not in SIZES:
        body = answer.body()
        SIZES[answer.url] = min(len(body), len(gzip.compress(body)))
    return SIZES[answer.url]


# Axe walks through every element, and nine of ten are the insides of formulas, pictures and code,
# of which its rules ask nothing (of their colours, below). While it does, a formula is its TeX and
# a picture nothing, in a box of the same size, code is plain, and of what is folded, of which it
# asks nothing either, only the ids are there.
AXE = """async () => {
  const put = [];
  const keep = (one) => put.push([one, one.style.cssText, [...one.childNodes]]);
  for (const fold of document.querySelectorAll("details:not([open], details:not([open]) *)")) {
    keep(fold);
    const ids = [...fold.querySelectorAll("[id]")].filter((one) => !one.closest("summary"));
    const stand = ids.map(({ id }) => Object.assign(document.createElement("i"), { id }));
    fold.replaceChildren(fold.querySelector("summary"), ...stand);
  }
  const whole = [...document.querySelectorAll("math, svg[role=img]")];
  const sizes = whole.map((one) => one.getBoundingClientRect());
  whole.forEach((one, i) => {
    const { width, height } = sizes[i];
    keep(one);
    one.replaceChildren(one.getAttribute("data-tex") ?? "");
    one.style.cssText += `; display: inline-block; width: ${width}px; height: ${height}px; ` +
      "overflow: hidden";
  });
  for (const code of document.querySelectorAll(".highlight code")) {
    keep(code);
    code.textContent = code.textContent;
  }
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const rules = { "color-contrast": { enabled: false }, "link-in-text-block": { enabled: false } };
  const { violations } = await axe.run(
    { runOnly: tags, resultTypes: ["violations"], preload: false, rules });
  for (const [one, style, nodes] of put) {
    one.style.cssText = style;
    one.replaceChildren(...nodes);
  }
  return violations.flatMap(({ id, nodes }) =>
    nodes.slice(0, 5).map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
}"""


# The contrast of one text of each kind: what decides it is the colour, size and weight of a text,
# how a link is marked, and all the grounds it stands on. Of figures, tests/test_figures.py computes
# it. What another page has shown is not asked again. While axe looks, all else is plain text: it
# takes a second for 3,000 elements. It gives up below a pseudo-element, so the squares of the paper
# are taken away; that it gives up on most is a fault too.
COLOURS = """async (decided) => {
  const lineage = (one) => (one ? [one, ...lineage(one.parentElement)] : []);
  const grounds = new Map([[null, ""]]);
  const ground = (one) => {
    if (!grounds.has(one)) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(one);
      const own = [backgroundColor, backgroundImage, opacity].join(" ");
      const bare = own === "rgba(0, 0, 0, 0) none 1" ? "" : `${own} on `;
      grounds.set(one, bare + ground(one.parentElement));
    }
    return grounds.get(one);
  };
  const kinds = new Map();
  for (const one of document.querySelectorAll("body :not(svg *, script, style)")) {
    const speaks = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!speaks || !one.checkVisibility({ visibilityProperty: true })) continue;
    const { color, fontSize, fontWeight, textDecorationLine, borderBottom } = getComputedStyle(one);
    const around = getComputedStyle(one.parentElement).color;
    const kind = [color, fontSize, fontWeight, textDecorationLine, borderBottom, around];
    const key = [one.tagName, ...kind, ground(one)].join("; ");
    if (!kinds.has(key)) kinds.set(key, one);
  }
  decided.forEach((key) => kinds.delete(key));
  if (!kinds.size) return [[], []];
  if (!window.axe) return null;
  const plain = document.head.appendChild(document.createElement("style"));
  plain.textContent = ".md-container::before { content: none !important } " +
    "article * { opacity: 1 !important; filter: none !important; transition: none !important }";
  const main = document.querySelector("main > :first-child"); // the theme's script looks for it
  const around = new Set([main, ...kinds.values()].flatMap(lineage));
  const away = [...document.body.querySelectorAll("*")].filter(
    (one) => !around.has(one) && around.has(one.parentElement));
  const back = away.map((one) => {
    const place = document.createTextNode(one.matches("script, style") ? "" : one.textContent);
    one.replaceWith(place);
    return () => place.replaceWith(one);
  });
  const { violations, passes, incomplete } = await axe.run({ include: [...kinds.values()] }, {
    runOnly: ["color-contrast", "link-in-text-block"],
    preload: false,
    elementRef: true,
  });
  plain.remove();
  back.forEach((put) => put());
  const count = (all) => all.flatMap(({ nodes }) => nodes).length;
  const vain = kinds.size > 9 && !count(passes)
    ? ["axe cannot decide any contrast"] : [];
  // Slanted ink reaches over its box, and axe cannot tell what lies behind it. But what makes
  // a link stand out of its text is seen without: a line below it, or a colour of its own.
  const brightness = (one) => getComputedStyle(one).color.match(/[\\d.]+/g).slice(0, 3)
    .map((part) => (part / 255 <= 0.04045 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, i) => sum + [0.2126, 0.7152, 0.0722][i] * part, 0.05);
  const standsOut = (one) => {
    const { textDecorationLine, borderBottomWidth } = getComputedStyle(one);
    const [low, high] = [one, one.parentElement].map(brightness).sort((a, b) => a - b);
    const own = high >= 3 * low || high === low; // in the colour of the text it is no link to see
    return textDecorationLine !== "none" || parseFloat(borderBottomWidth) > 0 || own;
  };
  const overlap = ({ failureSummary }) => failureSummary.includes("because of element overlap");
  const links = incomplete.filter(({ id }) => id === "link-in-text-block").map((rule) => ({
    ...rule, nodes: rule.nodes.filter((node) => !overlap(node) || !standsOut(node.element)) }));
  // Of text in the very colour of its ground axe does not decide whether it is hidden on purpose.
  const hidden = ({ data }) => data?.messageKey === "equalRatio";
  const unseen = incomplete.map((rule) =>
    ({ ...rule, nodes: rule.nodes.filter(({ any }) => any.some(hidden)) }));
  const faults = [...violations, ...links, ...unseen].flatMap(({ id, nodes }) =>
    nodes.slice(0, 5).map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
  return [[...faults, ...vain], [...kinds.keys()]];
}"""


@pytest.mark.parametrize("fate", ["refused", "silent"])
def test_the_text_shows_without_its_fonts(fate: str, visit: Visit, address: str) -> None:
    tab = visit()
    tab.route("**/*.woff2", lambda route: route.abort() if fate == "refused" else None)
    tab.goto(address + "/scaling/", wait_until="domcontentloaded")
    tab.wait_for_function(SHOWN, timeout=10_000)


SHOWN = """() => [...document.fonts].every((font) => font.display === "swap") &&
  [...document.querySelectorAll("article > p, article > p math")].every(
    (one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true }))"""


FOUND = """() => [...document.querySelectorAll("article > :is(h2, details:has(summary > strong))")]
  .filter((one) => one.checkVisibility())
  .map((one) => (one.matches("h2") ? one : one.querySelector("summary > strong")).textContent)"""


@in_one_language
def test_results_are_lines_that_filter(lang: str, visit: Visit) -> None:
    """What is typed may stand in a title, in what is folded, or be the name of a test."""
    tab = visit(make_path(lang, "results"))
    lines = tab.evaluate(FOUND)
    assert {"2.1", "4.3"} < {*lines}
    field = tab.locator(".filter input")
    field.fill("test_search_limit")
    heading, *left = tab.evaluate(FOUND)
    assert heading.startswith("4 ")
    assert left == ["4.2"]
    assert tab.locator("article > h2 ~ p:visible").count() == 1  # its proofs
    said = tab.locator(".filter [role=status]").inner_text()
    assert re.findall(r"\d+", said) == [
        "1",
        str(sum(bool(re.fullmatch(r"\d+\.\d+", one)) for one in lines)),
    ]
    field.fill("")
    assert tab.evaluate(FOUND) == lines


@each_language
def test_a_proof_opens_sentence_by_sentence(lang: str, visit: Visit) -> None:
    """By keyboard; what was given before stands as dots; the last sentence leaves no goals."""
    tab = visit(make_path(lang, "proofs"))
    fold = tab.locator("details.fold", has=tab.locator("#softmax-shift"))
    proof = fold.locator(".proof-steps")
    whole = proof.locator("pre").text_content().split()
    fold.locator("summary").first.press("Enter")
    tab.wait_for_selector("#softmax-shift .proof-steps > details")
    steps = proof.locator("details")
    said = " ".join(steps.locator("summary").all_text_contents()).split()
    assert [one for one in whole if one not in ("Proof.", "Qed.")] == said
    first, second, last = steps.nth(0), steps.nth(1), steps.last
    first.locator("summary").press("Enter")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    goal = r"={9,}\s+softmax n \(fun j : nat => s j \+ c\) i = softmax n s i"
    assert re.search(goal, second.locator("pre").inner_text())
    assert "…" not in second.locator("pre").inner_text()
    assert steps.nth(2).locator("pre").text_content().split()[0] == "…"
    last.locator("summary").press("Enter")
    assert last.locator("pre").inner_text() == "No more goals."


def test_a_proof_stays_whole_where_its_goals_cannot_be_had(visit: Visit) -> None:
    tab = visit("/proofs/")
    tab.route("**/assets/proofs/*.json", lambda route: route.abort())
    fold = tab.locator("details.fold", has=tab.locator("#softmax-shift"))
    with tab.expect_request("**/assets/proofs/softmax.json"):
        fold.locator("summary").first.click()
    assert fold.locator(".proof-steps > pre").inner_text().endswith("Qed.")


CUT = """() => [...document.querySelectorAll("article details")].map((one) => (one.open = true)) &&
  [...document.querySelectorAll("article .admonition pre > code")]
    .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1)
    .map((one) => one.textContent.slice(0, 60))"""


def test_no_code_of_the_gallery_is_cut(visit: Visit) -> None:
    """Its marks of what is wrong stand at the ends of lines."""
    assert visit("/mistakes/").evaluate(CUT) == []


TORN = """() => [...document.querySelectorAll(
    "article :is(h1, h2, h3, .card-title, .result-title)")].flatMap((heading) => {
  const found = [];
  const nodes = document.createTreeWalker(heading, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  let before = null;
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    if (node.parentElement.closest(".headerlink, .number, .machine, math")) continue;
    [...node.data].forEach((sign, i) => {
      range.setStart(node, i);
      range.setEnd(node, i + 1);
      const { top } = range.getBoundingClientRect();
      const han = /\\p{Script=Han}/u;
      if (before && top > before.top + 9 && han.test(sign) && han.test(before.sign))
        found.push(heading.textContent);
      before = { top, sign };
    });
  }
  return found;
})"""


@pytest.mark.parametrize("path", ["/zh/softmax/", "/zh-hant/positions/", "/zh/masking/", "/zh/"])
def test_chinese_titles_break_after_punctuation(path: str, visit: Visit) -> None:
    assert visit(path, width=390).evaluate(TORN) == []


SMALL = """() => [...document.querySelectorAll(`
    .md-header :is(button, a.md-header__button), article :is(button, summary, select, .md-button,
    .stepper-bar label > span, label:has([type=radio]),
    input:not([type=radio], [type=checkbox], [type=range]))`)]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) &&
    !one.matches(".unseen, .choice, .between, .ribbons-words *"))
  .map((one) => [one, one.getBoundingClientRect()])
  .filter(([, { width, height }]) => width < 39.5 || height < 39.5)
  .map(([one, { width, height }]) => `${one.outerHTML.slice(0, 80)}: ${width} x ${height}`)"""


@pytest.mark.parametrize("slug", ["index", "eight-steps", "masking", "review", "results"])
def test_a_finger_meets_what_it_aims_at(slug: str, visit: Visit) -> None:
    tab = visit(make_path("en", slug), width=390, has_touch=True, is_mobile=True)
    assert tab.evaluate("matchMedia('(pointer: coarse)').matches")
    if tab.locator("article .block").count():
        tab.wait_for_selector("article .md-code__nav button", state="attached")
    tab.add_style_tag(content=WHOLE)
    assert tab.evaluate(SMALL) == []


@each_language
def test_lines_with_formulas_are_no_higher_than_others(lang: str, visit: Visit) -> None:
    for slug in ("scaling", "softmax"):
        tab = visit(make_path(lang, slug))
        tab.add_style_tag(content=WHOLE)
        lines, higher = tab.evaluate(LINES)
        assert lines > 12
        assert not higher


LINES = """() => {
  const text = [...document.querySelectorAll("article > p, article > ul > li:not(.card)")].filter(
    (one) => one.querySelector("math") && !one.querySelector("p, pre, ul, math[display]"));
  const extra = (one) => {
    const line = parseFloat(getComputedStyle(one).lineHeight);
    const { height } = one.getBoundingClientRect();
    return height - line * Math.round(height / line);
  };
  return [text.length, text.filter((one) => extra(one) > 1).map((one) => one.textContent)];
}"""


def test_the_style_sheets_have_become_one(visit: Visit) -> None:
    """Every rule of every sheet in its order, as a browser reads them; the theme's come before."""
    names = read_configuration(ROOT)["extra_css"]
    sheets = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in names]
    sheets.insert(0, make_style_sheet())
    tab = visit("/scaling/")
    linked, published, written_rules = tab.evaluate(RULES, sheets)
    assert [name.split(".")[0] for name in linked] == ["main", "palette", "styles"]
    assert len(published) > 200
    assert published == written_rules
    tab = visit("/zh/api/masking/")
    linked, *_ = tab.evaluate(RULES, sheets)
    names = [name.split(".")[0] for name in linked]
    assert names == ["main", "palette", "_mkdocstrings", "styles"]


RULES = """(sheets) => {
  const linked = [...document.styleSheets].filter((sheet) => sheet.href);
  const strip = (text) => text.replace(/\\s+/g, " ").replaceAll(": ", ":");
  const texts = (sheet) => [...sheet.cssRules].map((rule) => strip(rule.cssText));
  const written = sheets.flatMap((text) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    return texts(sheet);
  });
  return [linked.map((sheet) => sheet.href.split("/").at(-1)), texts(linked.at(-1)), written];
}"""


@pytest.mark.parametrize(("lang", "width"), [("en", 1280), ("zh", 390)])
def test_what_is_far_is_laid_out_late_and_nobody_sees_it(
    lang: str, width: int, visit: Visit
) -> None:
    """A link ends at its section, and the text above does not jump as it comes near."""
    tab = visit(make_path(lang, "transformer-block"), width=width)
    far = tab.locator("article > p > math").last
    assert not far.evaluate("one => one.checkVisibility({ contentVisibilityAuto: true })")
    for section in ("result-layer-norm", "cost"):
        tab.evaluate("section => { location.hash = section; }", section)
        tab.wait_for_timeout(600)
        top = tab.locator(f"#{section}").bounding_box()["y"]
        assert 48 <= top <= 90, f"{section}: {top} px from the top, below a header of 48"
    assert tab.evaluate(UPWARDS) == []


# How far the text in the middle of the window moves besides, as a reader scrolls up. What comes in
# between two frames is kept from moving it only with the next frame, so a jump is read twice.
UPWARDS = """async () => {
  const jumps = [];
  const settle = async () => {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    await new Promise((done) => setTimeout(done, 50));
  };
  for (let step = 0; step < 25; step += 1) {
    let at = 450, text = null; // or below the space between two parts
    while (!text) text = document.elementFromPoint(innerWidth / 2, at += 8).closest("article > *");
    const before = text.getBoundingClientRect().top;
    scrollBy({ top: -200, behavior: "instant" });
    const measure = () => text.getBoundingClientRect().top - before - 200;
    await settle();
    if (Math.abs(measure()) > 2) await settle();
    if (Math.abs(measure()) > 2) jumps.push([measure(), text.textContent.slice(0, 60)]);
  }
  return jumps;
}"""


# --- search, typed by hand -----------------------------------------------------------------------


def type_query(tab: Any, query: str) -> list[str]:
    """Open the search by its shortcut, type, and give the addresses of what was found, in order."""
    tab.keyboard.press("Control+k")
    tab.keyboard.type(query)
    found: list[str] = []
    for _ in range(50):  # every letter is a query: wait for the answer to the last
        tab.wait_for_timeout(400)
        links = tab.locator("a.md-search-result__link")
        before, found = found, links.evaluate_all("links => links.map((link) => link.href)")
        if found and found == before:
            return found
    pytest.fail(f"no answer to {query!r}")


@pytest.mark.parametrize(("lang", "query"), [("en", "√d_k"), ("zh", "因果掩码挡住未来的词")])
def test_the_page_shows_what_the_search_ranks(
    lang: str, query: str, visit: Visit, address: str, site: Path
) -> None:
    """What it ranks is tested without a browser, in tests/test_search.py."""
    tab = visit(make_path(lang, "sources"))
    links = [link.removeprefix(address) for link in type_query(tab, query)]
    pages = list(dict.fromkeys(re.split("[?#]", link)[0] for link in links))
    ranked = [
        make_path(lang, "index") + item[0]["location"].split("#")[0]
        for item in search(site, lang, query)
    ]
    assert pages[:3] == ranked[:3] != []
    assert {link.startswith("/zh/") for link in links} == {lang == "zh"}
    assert tab.locator(".md-search-result__item").first.locator("mark").all_text_contents()


def test_a_link_of_the_search_marks_what_was_found_and_no_empty_places(visit: Visit) -> None:
    page, size = make_path("en", "masking"), "CSS.highlights.get('found').size"
    sizes = [visit(page + query).evaluate(size) for query in ("?h=causal", "?h=causal%20")]
    assert sizes[0] == sizes[1] > 10
    tab = visit(page + "?h=mask")
    words = tab.evaluate("[...CSS.highlights.get('found')].map(String)")
    assert {"masks", "masked"} <= {*words}  # whole words


def test_what_is_pasted_is_searched(visit: Visit) -> None:
    tab = visit("/")
    type_query(tab, "softmax")
    tab.keyboard.press("Control+a")
    tab.keyboard.insert_text("variance")  # no key goes up
    first = "document.querySelector('a.md-search-result__link').href.includes('/scaling/')"
    tab.wait_for_function(first)


@pytest.mark.parametrize("lang", TAGS)
def test_the_first_page_opens_with_its_instrument(lang: str, visit: Visit) -> None:
    """One line of text, the sentence, and the beginning of what a real model does."""
    tab = visit(make_path(lang, "index"))
    title, picture, model = (
        tab.locator(f"article {one}").first.bounding_box()
        for one in ("h1", ".instrument svg", "#model")
    )
    assert title["y"] + title["height"] <= picture["y"] + 20
    assert picture["width"] > 0.85 * 1280
    assert picture["y"] + picture["height"] < model["y"] < 800


@in_one_language
def test_a_result_leads_to_its_section_by_keys(lang: str, visit: Visit) -> None:
    tab = visit(make_path(lang, "index"))
    type_query(tab, "方差")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/scaling/**")
    assert tab.evaluate("document.documentElement.lang") == TAGS[lang]


def test_an_empty_filter_is_announced(visit: Visit) -> None:
    tab = visit("/")
    tab.keyboard.press("Control+k")
    tab.keyboard.type("zzzzqqqq")
    said = tab.locator(".md-search-result__meta")
    tab.wait_for_function(
        "text => document.querySelector('.md-search-result__meta').textContent.includes(text)",
        arg="No matching",
    )
    assert said.get_attribute("role") == "status"


@in_one_language
def test_the_field_says_how_it_is_reached(lang: str, visit: Visit) -> None:
    tab = visit(make_path(lang, "scaling"))
    says = "getComputedStyle(document.querySelector('.md-search__form'), '::after').content"
    assert "attr(data-keys)" in tab.evaluate(says) or "Ctrl K" in tab.evaluate(says)
    field = tab.locator(".md-search__input")
    assert field.get_attribute("aria-keyshortcuts") == "Control+K"
    tab.keyboard.press("Control+k")
    assert tab.evaluate(says) in ("none", "normal")  # no longer in the way


# --- languages and colours -----------------------------------------------------------------------

NAMES = {"en": "English", "zh": "简体中文", "zh-hant": "繁體中文"}
SWITCHED = {
    "en": ("index", "scaling"),
    "zh": ("glossary", "index"),
    "zh-hant": ("scaling", "api/softmax"),
}


@pytest.mark.parametrize("lang", NAMES)
def test_the_language_switch_keeps_the_page(lang: str, visit: Visit, address: str) -> None:
    """Three entries, each in its own language; the current one says that it is."""
    others = [other for other in NAMES if other != lang]
    tab = visit()
    for slug, other in zip(SWITCHED[lang], others, strict=True):
        tab.goto(address + make_path(lang, slug))
        links = tab.locator(".md-header .md-select__link")
        assert links.all_text_contents() == list(NAMES.values())
        assert links.evaluate_all("all => all.map(a => a.lang)") == list(TAGS.values())
        now = tab.locator(".md-header .md-select__link[aria-current]")
        assert now.get_attribute("hreflang") == TAGS[lang]
        link = tab.locator(f".md-header a[hreflang={TAGS[other]}]")
        link.focus()
        assert link.is_visible()  # the list opens to the keyboard
        tab.keyboard.press("Enter")
        tab.wait_for_url(address + make_path(other, slug))
        assert tab.evaluate("document.documentElement.lang") == TAGS[other]


@pytest.mark.parametrize("lang", NAMES)
def test_the_language_switch_keeps_the_section(lang: str, visit: Visit) -> None:
    tab = visit(make_path(lang, "scaling"), reduced_motion="reduce")
    tab.locator("#saturation").evaluate("one => one.scrollIntoView()")
    link = tab.locator(".md-header .md-select__link:not([aria-current])").first
    link.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/scaling/#saturation")
    top = "document.querySelector('#saturation').getBoundingClientRect().top"
    tab.wait_for_function(f"{top} > -1 && {top} < 200")


def test_the_third_language_has_its_own_type_and_its_own_search(visit: Visit) -> None:
    """What differs by language in a browser: the rest is the same HTML."""
    tab = visit("/zh-hant/scaling/")
    family = "getComputedStyle(document.querySelector('article p')).fontFamily"
    assert tab.evaluate(family).startswith('"Attention Root", "PingFang TC"')
    for query in ("標準差", "标准差"):
        links = type_query(tab, query)
        assert {"/zh-hant/" in link for link in links} == {True}
        assert "/scaling/" in links[0]


@in_one_language
def test_dark_mode_is_kept(lang: str, visit: Visit) -> None:
    tab = visit(make_path(lang, "scaling"), color_scheme="light")
    assert measure_brightness(tab) > 200
    switch_scheme(tab, "default")
    assert measure_brightness(tab) < 80
    assert measure_brightness(tab, "color") > 150
    tab.goto(tab.url.replace("scaling", "softmax"))
    assert measure_brightness(tab) < 80


@in_one_language
def test_a_scheme_shows_at_once_and_follows_the_system_until_one_is_chosen(
    lang: str, visit: Visit, address: str
) -> None:
    tab = visit()
    tab.route("**/bundle.*.js", lambda route: route.abort())  # what shows before the theme's script
    tab.emulate_media(color_scheme="dark")
    tab.goto(address + make_path(lang, "index"))
    assert measure_brightness(tab) < 80
    tab.emulate_media(color_scheme="light")
    tab.wait_for_function("document.body.dataset.mdColorScheme === 'default'")
    assert measure_brightness(tab) > 200
    switch_scheme(tab, "default")
    assert measure_brightness(tab) < 80
    assert tab.evaluate("document.activeElement.dataset.scheme") == "slate"  # it can be undone
    tab.emulate_media(color_scheme="dark")
    switch_scheme(tab, "slate")
    assert measure_brightness(tab) > 200
    tab.reload()
    assert measure_brightness(tab) > 200  # the choice stays, whatever the system says


def switch_scheme(tab: Any, shown: str) -> None:
    """Press the button of the colour scheme, of which only the one in use has one."""
    (scheme,) = tab.locator("button[data-scheme]:visible").evaluate_all(
        "all => all.map((button) => button.dataset.scheme)"
    )
    assert scheme == shown
    tab.locator(f"button[data-scheme={scheme}]").click()


def measure_brightness(tab: Any, what: str = "backgroundColor") -> float:
    """The mean of red, green and blue of the page's ground or text."""
    colour = tab.evaluate(f"getComputedStyle(document.body).{what}")
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3


# --- copying -------------------------------------------------------------------------------------


@in_one_language
def test_code_can_be_copied_unless_it_is_wrong(lang: str, visit: Visit) -> None:
    clipboard = ["clipboard-read", "clipboard-write"]
    tab = visit(make_path(lang, "mistakes"), permissions=clipboard)
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert tab.locator(".no-copy pre").count() > 20
    assert tab.locator(".no-copy .md-code__button").count() == 0
    blocks = tab.locator("article pre").count() - tab.locator(".no-copy pre").count()
    copy = ".md-code__button:not(.live-edit)"
    printed = tab.locator(
        "article .output > .highlight, article .tools .code > .inside > .highlight"
    )
    assert tab.locator(copy).count() == blocks - printed.count()
    block = tab.locator("pre", has=tab.locator(copy)).nth(3)
    block.hover()
    block.locator(copy).click()
    code = block.locator("code").inner_text()
    assert tab.evaluate("navigator.clipboard.readText()") == code.rstrip()
    said = tab.locator(".md-dialog--active")
    said.wait_for()
    assert said.inner_text() == "已复制"


@in_one_language
def test_a_copied_formula_is_its_tex(lang: str, visit: Visit) -> None:
    tab = visit(make_path(lang, "scaling"))
    assert "$\\sqrt{d_k}$" in copy_text(tab, "article > p:has([data-tex])")
    block = "article > .formula > [data-tex]"
    assert (
        copy_text(tab, block).strip()
        == "$$(q_1 k_1 + q_2 k_2)^2 = (q_1 k_1)^2 + (q_2 k_2)^2 + 2\\, q_1 k_1\\, q_2 k_2$$"
    )
    assert copy_text(tab, f"{block} mn") == copy_text(tab, block)  # a part stands for the whole
    assert "$\\sigma^2 = \\operatorname{Var}(X)" in copy_text(tab, "li:has(span[data-tex])")
    code = tab.locator("article pre > code").first
    assert copy_text(tab, "article pre > code").strip() == code.inner_text().strip()


def copy_text(tab: Any, selector: str) -> str:
    """What is on the clipboard once the first such element is selected and copied, as text."""
    return tab.evaluate(COPY, selector)


COPY = """(selector) => {
  const data = new DataTransfer();
  getSelection().selectAllChildren(document.querySelector(selector));
  const options = { clipboardData: data, bubbles: true, cancelable: true };
  const event = new ClipboardEvent("copy", options);
  document.dispatchEvent(event);
  return event.defaultPrevented ? data.getData("text/plain") : String(getSelection());
}"""


@pytest.mark.parametrize(("lang", "width"), [("en", 390), ("zh", 1280)])
def test_nothing_lies_over_code_or_figures(
    lang: str, width: int, visit: Visit, address: str
) -> None:
    """Neither the button that copies, nor the one that says where numbers come from, nor the one
    that leads back to the top."""
    tab = visit(width=width)
    for slug in ("eight-steps", "mistakes"):  # with a table of contents on its right, and without
        tab.goto(address + make_path(lang, slug))
        tab.mouse.wheel(0, 5000)
        tab.wait_for_timeout(300)
        tab.mouse.wheel(0, -1000)  # the theme shows the way up to whoever scrolls up
        tab.wait_for_timeout(300)
        assert tab.evaluate(COVERED) == []


def test_what_a_mouse_brings_takes_no_room_before(visit: Visit) -> None:
    """Below an output, in the box of a result and below the button that checks an answer."""
    tab = visit("/softmax/")
    tab.add_style_tag(content="* { content-visibility: visible !important }")
    found = tab.evaluate(STRIPS)
    assert {kind for kind, _ in found} == {"output", "result", "exercise"}
    assert [one for one in found if one[1] > 26.5] == []
    output = tab.locator("article > .output:not(:has(.instrument))").first
    output.hover()
    tools = output.locator(".tools").bounding_box()
    tab.mouse.move(tools["x"] + tools["width"] - 5, tools["y"] + 5)  # it is still near
    output.locator(".tools summary").last.click()
    assert output.locator(".tools [open]").count() == 1


# From what is seen last to the next block, or to the lower edge of a frame.
STRIPS = """() => {
  const seen = (box) => [...box.children]
    .filter((one) => one.checkVisibility({ opacityProperty: true }))
    .map((one) => one.getBoundingClientRect().bottom);
  const found = [];
  for (const kind of ["output", "result", "exercise"])
    for (const box of document.querySelectorAll(`article > .${kind}:has(+ :is(p, .exercise))`)) {
      const next = kind === "result" ? box.getBoundingClientRect().bottom
        : box.nextElementSibling.getBoundingClientRect().top;
      found.push([kind, next - Math.max(...seen(box))]);
    }
  return found;
}"""


# Folds are opened first: what is closed has no place of its own.
COVERED = """() => {
  const found = [];
  for (const fold of document.querySelectorAll("article details:not(.origin)")) fold.open = true;
  const place = (element) => element.getBoundingClientRect();
  const over = (one, two) =>
    one.width && two.width && one.left < two.right - 1 && two.left < one.right - 1 &&
      one.top < two.bottom - 1 && two.top < one.bottom - 1;
  const lines = (code) => { // as far as they are seen
    const text = document.createRange(), edge = place(code).right;
    text.selectNodeContents(code);
    return [...text.getClientRects()].map(({ left, right, top, bottom, width }) =>
      ({ left, right: Math.min(right, edge), top, bottom, width }));
  };
  // What a film tells goes below its drawing, which stays.
  for (const output of document.querySelectorAll("article :is(.output, pre):not(.film *)")) {
    const shown = [...output.querySelectorAll(".drawing")].map(place);
    shown.push(...[...output.querySelectorAll("pre > code")].flatMap(lines));
    for (const button of output.querySelectorAll(".md-code__button, .origin > summary"))
      if (shown.some((one) => over(place(button), one)))
        found.push(`${button.outerHTML} over ${output.textContent.slice(0, 40)}`);
  }
  const up = document.querySelector(".md-top"), text = document.querySelector("article");
  if (up && over(place(up), place(text))) found.push("the way up");
  return found;
}"""


@in_one_language
def test_the_origin_of_numbers_shows_below_their_output_without_a_script(
    lang: str, visit: Visit
) -> None:
    tab = visit(make_path(lang, "eight-steps"), java_script_enabled=False)
    output = tab.locator(".output:has(pre)").first
    button = output.locator(".origin > summary")
    assert button.inner_text().strip() == "来源"
    assert button.evaluate("one => getComputedStyle(one.closest('.tools')).opacity") == "0"
    before, text = button.bounding_box(), output.locator("pre").first.bounding_box()
    assert before["y"] >= text["y"] + text["height"] - 1
    button.focus()  # who comes by keyboard sees it
    assert button.evaluate(QUIET) == "1"
    tab.keyboard.press("Enter")
    described = output.locator(".origin dl")
    assert described.bounding_box()["y"] >= before["y"] + before["height"] - 1
    assert button.bounding_box() == before


QUIET = """async (one) => {
  const tools = one.closest(".tools");
  await Promise.all(tools.getAnimations().map(({ finished }) => finished));
  return getComputedStyle(tools).opacity;
}"""


@in_one_language
def test_symptoms_filter(lang: str, visit: Visit) -> None:
    tab = visit(make_path(lang, "mistakes"))
    rows = tab.locator("#symptoms ~ .md-typeset__scrollwrap").first.locator("tbody tr")
    every = rows.count()
    field = tab.locator(".filter input")
    field.fill("nan")
    left = tab.locator("#symptoms ~ .md-typeset__scrollwrap tbody tr:visible")
    assert 1 <= left.filter(has_text="NaN").count() < every
    status = tab.locator(".filter [role=status]").inner_text()
    assert re.findall(r"\d+", status)[1] == str(every)
    assert rows.evaluate_all("all => all.every((row) => row.hidden || /nan/i.test(row.innerHTML))")
    field.fill("")
    assert rows.evaluate_all("all => all.every((row) => !row.hidden)")
    assert tab.locator(".filter [role=status]").inner_text() == ""


@in_one_language
def test_a_link_opens_its_entry(lang: str, visit: Visit) -> None:
    tab = visit(make_path(lang, "mistakes"))
    assert not tab.locator("#softmax-axis").is_visible()
    tab.locator("td a[href='#softmax-axis']").first.click()
    tab.locator("#softmax-axis").wait_for(state="visible")
    tab.set_viewport_size({"width": 1280, "height": 900})
    tab.goto(tab.url.replace("softmax-axis", "value-size"))
    pair = tab.locator(".inside:has(> .failure + .success)").first
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    wrong, right = (
        pair.locator(f"> .{kind}").first.bounding_box() for kind in ("failure", "success")
    )
    assert wrong["y"] == pytest.approx(right["y"], abs=0.1)
    assert wrong["x"] + wrong["width"] < right["x"]
    tab.set_viewport_size({"width": 390, "height": 900})
    wrong, right = (
        pair.locator(f"> .{kind}").first.bounding_box() for kind in ("failure", "success")
    )
    assert wrong["y"] + wrong["height"] <= right["y"]


# --- keyboard ------------------------------------------------------------------------------------


@in_one_language
def test_the_keyboard_reaches_everything_and_shows_where_it_is(lang: str, visit: Visit) -> None:
    tab = visit(make_path(lang, "eight-steps"))
    tab.evaluate(WATCH_FOCUS)
    for _ in range(600):
        tab.keyboard.press("Tab")
        if tab.evaluate("round"):  # one step further, and the search would open again
            break
    reached = tab.evaluate("reached")
    unseen = [at["html"] for at in reached if not at["seen"]]
    assert not unseen, "\n".join(unseen)
    assert len(reached) == tab.evaluate(FOCUSABLE)
    assert {"A", "BUTTON", "INPUT", "SUMMARY"} <= {at["tag"] for at in reached}


# Notes whatever the focus reaches, until it is where it began.
WATCH_FOCUS = """() => {
  window.reached = [];
  window.round = false;
  let first;
  addEventListener("focusin", ({ target }) => {
    first ??= target;
    window.round ||= target === first && reached.length > 0;
    if (round) return;
    const shown = target.closest(".card:has(> .card-title:focus-visible)") ?? target;
    const style = getComputedStyle(shown), box = target.getBoundingClientRect();
    const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    const seen = ring && box.width > 0 && box.height > 0;
    reached.push({ tag: target.tagName, html: target.outerHTML.slice(0, 150), seen });
  });
}"""
FOCUSABLE = """() => new Set([...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex='0']")]
  .filter(one => one.tabIndex >= 0 && !one.disabled)
  .filter(one => one.checkVisibility({ visibilityProperty: true }))
  .map(one => one.type === "radio" ? one.name : one)).size"""  # a group of radios is one stop


def test_the_first_tab_skips_to_the_text(visit: Visit) -> None:
    tab = visit("/scaling/")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    assert tab.url.endswith("#scaling")


@in_one_language
def test_a_long_formula_scrolls_in_its_box_by_keys(lang: str, visit: Visit) -> None:
    tab = visit(make_path(lang, "positions"), width=320)  # a matrix has no place to break
    for formula in tab.locator("article > .formula").all():
        formula.scroll_into_view_if_needed()  # what is far is not measured
    tab.wait_for_function("() => document.querySelector('.formula[tabindex]')")
    box = tab.locator(".formula[tabindex='0']").first
    box.focus()
    assert box.get_attribute("aria-label")
    tab.keyboard.press("ArrowRight")
    tab.wait_for_function("() => document.activeElement.scrollLeft > 0")


@each_language
def test_what_is_cut_fades_where_it_goes_on(lang: str, visit: Visit) -> None:
    """And nowhere else: not where it ends, nor where all of it is in sight."""
    tab = visit(make_path(lang, "memory"), width=340)
    tab.add_style_tag(content=WHOLE)
    tab.evaluate(NEAR)
    tab.evaluate(SETTLED)
    assert tab.evaluate(UNMARKED) == []
    drawing = tab.locator("#out-overlap .inner.drawing >> visible=true")
    mask = "one => getComputedStyle(one).maskImage"
    assert drawing.get_attribute("data-cut") == "after"
    assert "linear-gradient" in drawing.evaluate(mask)
    drawing.focus()
    tab.keyboard.press("ArrowRight")
    tab.locator("#out-overlap .drawing[data-cut~=before]").wait_for()
    drawing.evaluate("one => { one.scrollLeft = one.scrollWidth; }")
    tab.locator("#out-overlap .drawing[data-cut=before]").wait_for()
    tab.set_viewport_size({"width": 1280, "height": 900})
    tab.locator("#out-overlap .inner.drawing:not([data-cut]) >> visible=true").wait_for()
    assert drawing.evaluate(mask) == "none"


# What is cut and does not say so, or cannot be reached by keyboard; what says so for nothing.
UNMARKED = """() => [...document.querySelectorAll(
    "article :is(.drawing, .table-frame, pre > code)")]
  .filter((one) => one.checkVisibility() && getComputedStyle(one).overflowX === "auto")
  .filter((one) => one.scrollWidth > one.clientWidth + 1
    ? one.dataset.cut !== "after" || one.tabIndex || !one.ariaLabel
    : one.dataset.cut || one.hasAttribute("tabindex"))
  .map((one) => one.outerHTML.slice(0, 100))"""


@each_language
def test_on_a_phone_the_meaning_of_a_term_is_in_sight(
    lang: str, visit: Visit, address: str
) -> None:
    """Every cell of an entry, without scrolling to its side."""
    tab = visit(width=390)
    for slug in ("glossary", "notation"):
        tab.goto(address + make_path(lang, slug))
        edges = tab.evaluate(
            """() => [...document.querySelectorAll('tr[id^="entry-"] > *')].map((cell) => {
              const range = document.createRange();
              range.selectNodeContents(cell);
              return range.getBoundingClientRect().right;
            })"""
        )
        assert len(edges) > 100
        assert max(edges) <= 390


@each_language
def test_words_in_a_formula_keep_their_room(lang: str, visit: Visit) -> None:
    tab = visit(make_path(lang, "transformer-block"), width=390)
    tab.add_style_tag(content=WHOLE)
    assert not tab.evaluate(STICKING_OUT)


STICKING_OUT = """() => [...document.querySelectorAll("article > .formula mtd")].filter((cell) => {
  const right = cell.getBoundingClientRect().right + 1;
  return [...cell.children].some((one) => one.getBoundingClientRect().right > right);
}).map((cell) => cell.textContent)"""


# --- on paper ------------------------------------------------------------------------------------


@each_language
def test_the_eight_steps_fit_on_eighteen_sheets(lang: str, visit: Visit) -> None:
    """Twelve hold the steps with all that is folded, six the layer as products with its exercises:
    smaller type and figures save a single sheet."""
    tab = visit(make_path(lang, "eight-steps"))
    printed = tab.pdf(format="A4", prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 18
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 695, "height": 900})  # what A4 leaves between the margins
    assert not tab.locator("article details.code, article .tools").locator("visible=true").count()
    assert not tab.evaluate(CUT_ON_PAPER)


@each_language
def test_exercises_on_paper_wait_for_an_answer(lang: str, visit: Visit) -> None:
    """What is asked, room to write, and hints last; answers by the link "print with answers"."""
    tab = visit(make_path(lang, "softmax"))
    link = tab.locator(".takeaway a[href='?print=answers']")
    assert link.count() == 1
    asked = tab.locator(".exercise form.asks :is(label, legend)")
    answers = tab.locator(".exercise > details.answer .inside")
    tab.emulate_media(media="print")
    assert asked.locator("visible=true").count() == asked.count() > 9
    assert not answers.locator("visible=true").count()
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    hints = tab.locator("article > .hints-last li")
    assert hints.locator("visible=true").count() == tab.locator("details.hint").count() > 9
    assert tab.evaluate("""() => [...document.querySelectorAll("[id]")].every(
      (one) => document.querySelectorAll(`[id="${one.id}"]`).length === 1)""")
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not hints.count()
    tab.evaluate("window.print = () => {}")
    tab.goto(f"{tab.url}?print=answers")
    assert answers.locator("visible=true").count() == answers.count() >= 9
    assert not asked.locator("visible=true").count()
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not hints.count()


@each_language
def test_exercises_are_printed_alone(lang: str, visit: Visit) -> None:
    """By their own link: the title and the exercises, room to write, hints last, and no more."""
    tab = visit(make_path(lang, "softmax"))
    assert tab.locator(".takeaway a[href='?print=exercises']").count() == 1
    tab.evaluate("window.print = () => {}")
    tab.goto(f"{tab.url}?print=exercises")
    tab.emulate_media(media="print")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    shown = tab.evaluate("""() => [...document.querySelector("article").children]
      .filter((one) => getComputedStyle(one).display !== "none" && one.textContent.trim())
      .map((one) => one.id || one.className || one.localName)""")
    source = (ROOT / "docs" / lang / "softmax.md").read_text(encoding="utf-8")
    exercises = re.findall(r"^    id: (exercise-.*)$", source, re.M)
    assert [one for one in shown if one.startswith("exercise-")] == exercises
    assert {*shown} - {*exercises} <= {"softmax", "exercises", "hints-last", "p"}
    assert {"softmax", "exercises", "hints-last"} <= {*shown}
    assert not tab.locator(".exercise > details.answer .inside").locator("visible=true").count()
    tab.goto(f"{tab.url}&only={exercises[2]}")
    assert tab.locator(".exercise").count() == tab.locator(f"#{exercises[2]}").count() == 1


@each_language
def test_a_citation_is_copied_with_its_address(lang: str, visit: Visit) -> None:
    for path in ("softmax", "results"):
        tab = visit(make_path(lang, path))
        tab.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; }")
        tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        line = tab.locator("p.cite").first
        line.locator("button").click()
        copied = tab.evaluate("copied")
        address = line.locator("a").last.evaluate("(one) => one.href")
        assert address.startswith("http")
        assert copied.endswith(address)
        assert copied.startswith(line.text_content().strip()[:40])
    tab = visit(make_path("en", "softmax"))
    entry = tab.locator(".cite-page code").text_content()
    assert re.search(r"^  url = \{http.*/softmax/\},$", entry, re.M)
    assert re.search(r",\n  urldate = \{20\d\d-[01]\d-[0-3]\d\},\n\}$", entry)


@each_language
def test_a_part_of_a_page_stands_alone_in_a_frame(lang: str, visit: Visit) -> None:
    """It and a line that leads back are all there is; its controls work, its height is told."""
    tab = visit(f"{make_path(lang, 'softmax')}?embed=guess-lead")
    shown = tab.locator("body > *").locator("visible=true")
    assert shown.count() == tab.locator("main.embed").locator("visible=true").count() == 1
    assert tab.locator("h1").locator("visible=true").count() == 0
    assert tab.locator("main.embed > p a").get_attribute("href").endswith("softmax/#guess-lead")
    heights = tab.evaluate("""() => new Promise((done) => {
      addEventListener("message", ({ data }) => done([data.subject, data.height]));
      document.querySelector("main.embed").append(document.createElement("hr"));
    })""")
    assert heights[0] == "lti.frameResize"
    assert 50 < heights[1] < 700
    assert "1,024" in tab.locator("main.embed .premise").inner_text()
    credit = tab.locator("main.embed > .credit")
    assert credit.evaluate("one => getComputedStyle(one).filter") == "none"
    tab.locator("main.embed label").first.click()
    tab.locator("main.embed button[type=submit]").click()
    tab.locator("main.embed details.answer[open]").wait_for()


# Formulas, and parts of them, that stand in what a reader sees and yet take no room.
VANISHED = """() => [...document.querySelectorAll("article :is(.statement, math)")]
  .filter((one) => !one.closest("details:not([open]), .frame:not(.shown), [hidden]"))
  .filter((one) => !one.getClientRects().length)
  .map((one) => one.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize("slug", ["eight-steps", "positions", "transformer-block"])
def test_every_formula_that_stands_open_can_be_seen(slug: str, visit: Visit) -> None:
    tab = visit(make_path("en", slug))
    assert tab.locator("article .statement").count()
    assert not tab.evaluate(VANISHED)


# Tables and drawings that reach over their column.
CUT_ON_PAPER = """() => [...document.querySelectorAll("article :is(table, svg[role=img])")]
  .filter((one) => one.checkVisibility() && !one.closest(".frame:not(.shown), math"))
  .filter((one) => [...one.getClientRects()].some(
    ({ width }) => width > 1 + one.parentElement.clientWidth))  // in columns it has several parts
  .map((one) => one.outerHTML.slice(0, 150))"""


# --- without scripts -----------------------------------------------------------------------------


@in_one_language
def test_without_javascript_all_symptoms_show(lang: str, visit: Visit) -> None:
    tab = visit(make_path(lang, "mistakes"), java_script_enabled=False)
    assert not tab.locator(".filter").is_visible()
    table = tab.locator("#symptoms ~ .md-typeset__scrollwrap").first
    assert table.locator("tbody tr").count() == table.locator("tbody tr:visible").count() > 10


@in_one_language
def test_without_javascript_a_page_is_whole(
    lang: str, visit: Visit, soup: Callable[[str, str], Any]
) -> None:
    for slug in ("scaling", "masking"):
        tab = visit(make_path(lang, slug), java_script_enabled=False)
        hidden = tab.locator("article pre, article math, article svg, article table")
        assert hidden.count() == len(soup(lang, slug).article.select("pre, math, svg, table"))
        shown = tab.locator("article > .formula, article > p, article > .output")
        assert set(shown.evaluate_all(VISIBLE)[:40]) == {True}
        fonts = tab.locator("math").first.evaluate("one => getComputedStyle(one).fontFamily")
        assert fonts.startswith('"Attention Math"')


VISIBLE = """all => all.map((one) => {
  const box = one.getBoundingClientRect();
  return one.checkVisibility({ visibilityProperty: true }) && box.width > 0 && box.height > 0;
})"""
