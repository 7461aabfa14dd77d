"""The theme's style sheet without the parts that this site does not have."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from attention_docs.site.publish.theme_styles import UNUSED, drop_unused
from tests.conftest import parse_html


def test_a_rule_stays_unless_all_its_selectors_are_of_unused_parts() -> None:
    sheet = (
        '@charset "UTF-8";.md-tabs,.a>.md-tabs__link:hover{top:0}.a,.md-tabs{left:0}'
        '.a:is(.md-tabs,.b){right:0}.md-tabs:after{content:"}"}.b:after{content:"{.md-tabs"}'
        "@media print{.md-banner{top:0}}@media screen{.md-banner{top:0}.a{top:0}}"
        "@keyframes k{0%{top:0}to{top:1px}}.md-tabset{top:0}[data-md-color-primary=red]{top:0}"
    )
    assert drop_unused(sheet) == (
        '@charset "UTF-8";.a{left:0}.a:is(.md-tabs,.b){right:0}.b:after{content:"{.md-tabs"}'
        "@media screen{.a{top:0}}@keyframes k{0%{top:0}to{top:1px}}.md-tabset{top:0}"
    )


def test_a_picture_stays_where_somebody_asks_for_it() -> None:
    sheet = ':root{--a:url(x);--b:url("data:;{y}");--c:url(z)}.key-a:before{mask:var(--a)}'
    rest = ".x{mask:var(--b)}"
    assert drop_unused(sheet + rest, "i{mask:var(--c)}") == (
        ':root{--b:url("data:;{y}");--c:url(z)}.x{mask:var(--b)}'
    )


def test_braces_stay_in_balance_and_no_other_rule_is_lost() -> None:
    (sheet,) = (Path(str(files("material"))) / "templates/assets/stylesheets").glob("main.*.css")
    text = sheet.read_text(encoding="utf-8")
    kept = drop_unused(text)
    assert kept.count("{") - kept.count("}") == text.count("{") - text.count("}")
    assert len(kept) < 0.7 * len(text)
    names = {name for name in re.findall(r"\.(md-[a-z_-]+)", text) if not UNUSED.match(name)}
    assert names <= set(re.findall(r"\.(md-[a-z_-]+)", kept))


def test_no_page_has_a_class_of_an_unused_part(site: Path) -> None:
    classes = {
        name
        for path in site.rglob("*.html")
        for one in parse_html(path).xpath("//@class")
        for name in one.split()
    }
    assert len(classes) > 100
    assert not {name for name in classes if UNUSED.match(name)}
