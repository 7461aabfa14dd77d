"""The pages of chapters for their tests, without mkdocs and in this process: with a fault in it.

The code of a page runs here, with whatever package is loaded; what other pages print is taken from
the last build.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from markdown import Markdown

from attention_docs.running.block import BlockRunner
from attention_docs.running.result import Code, Result
from attention_docs.site.build import Build
from attention_docs.site.publish import numbers
from attention_docs.site.read.page import Page
from attention_docs.site.render.extension import SiteExtension
from tests.conftest import LANGUAGES, ROOT, find_page_folder

EXTENSIONS = ("arithmatex", "details", "highlight", "superfences")


def read_build() -> Build:
    """The project, with all results of the package as it lies on disk."""
    build = Build(ROOT, lambda warning: None)
    build.read()
    build.executor.start(build.all)
    build.executor.finish()
    return build


def run_blocks(build: Build, slug: str) -> list[Result]:
    """What a page's blocks give in this process; the list ends with one that fails."""
    chain = build.executor.by_path[build.pages["en"][slug].path]
    running, found = BlockRunner(build.written), []
    for block, values in zip(chain.blocks, chain.values, strict=True):
        sections = [Code(one.code, str(one.listing), one.first_line) for one in block.sections]
        result = running.run(sections)
        if not result.error:
            result = running.add_values(result, sorted(values))
        found.append(result)
        if result.error or result.value_errors:
            break
    return found


class Site:
    """A pytest plugin: the fixtures `site` and `numbers_json` with one page made here."""

    def __init__(self, build: Build, slug: str, results: list[Result]) -> None:
        page = build.pages["en"][slug]
        known = build.executor.by_path[page.path].known
        assert known is not None
        # Who calls and who draws is not known here.
        build.executor.by_path[page.path].known = [
            Result(**{**vars(old), **_hide_error(new)})
            for old, new in zip(known, results, strict=True)
            if old
        ]
        self.folder = Path(tempfile.mkdtemp(prefix="chapter-"))
        written = (one for one in build.all if one.lang in LANGUAGES)
        self.numbers_json = {
            "languages": ["en", "zh"],
            "records": [r for one in written for r in _make_records(build, one)],
            "results": numbers.results(build.pages["en"].values()),
        }
        text = json.dumps(self.numbers_json, ensure_ascii=False)
        (self.folder / "numbers.json").write_text(text, encoding="utf-8")
        target = find_page_folder(self.folder, "en", slug) / "index.html"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_render_page(build, page), encoding="utf-8")

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Any:
        """Give what stands here instead of building the whole site."""
        given: Mapping[str, Any] = {"site": self.folder, "numbers_json": self.numbers_json}
        if fixturedef.argname not in given:
            return None
        value = given[fixturedef.argname]
        fixturedef.cached_result = (value, fixturedef.cache_key(request), None)
        return value


def _hide_error(result: Result) -> dict[str, Any]:
    return {"text": result.text, "figure": result.figure, "values": result.values}


def _make_records(build: Build, page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        f"[{numbers.format_lines(numbers.make_records(build.address(page), build.assemble(page)))}]"
    )
    return found


def _render_page(build: Build, page: Page) -> str:
    """A page as Markdown makes it, without the theme."""
    extension = SiteExtension()
    extension.assembled = build.assemble(page)
    fence = {"name": "python", "class": "python", "validator": extension.accepts_fence}
    fences = {"custom_fences": [fence | {"format": extension.format_block}]}
    plain = ["admonition", "attr_list", "md_in_html", "tables", "toc"]
    md = Markdown(
        extensions=[*plain, *(f"pymdownx.{name}" for name in EXTENSIONS), extension],
        extension_configs={
            "pymdownx.arithmatex": {"generic": True},
            "pymdownx.highlight": {"anchor_linenums": False},
            "pymdownx.superfences": fences,
        },
    )
    content = md.convert(extension.assembled.render_markdown())
    return f"<!doctype html><html><body><article>{content}</article></body></html>"
