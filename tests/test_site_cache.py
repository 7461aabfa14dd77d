"""The page cache: a page is reused as long as nothing that it depends on has changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from attention_docs.site import build as building
from attention_docs.site.build import Build
from attention_docs.site.fingerprints import fingerprint_code
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.pieces import Request
from attention_docs.site.render.chapters import Chapters
from attention_docs.site.render.page_cache import RenderedPage, RenderedPageCache
from attention_docs.site.render.requests import expand_request
from attention_docs.site.store import Store
from attention_docs.site.target import Target
from tests.conftest import LANGUAGES
from tests.fixture_project import WEIGHTS, FixtureProject, count_blocks, read_files

PAGES = {"docs/en/index.md", "docs/en/weights.md", "docs/zh/index.md", "docs/zh/weights.md"}
WEIGHT_PAGES = {path for path in PAGES if "weights" in path}
CHINESE = {path for path in PAGES if "/zh/" in path}
ADDRESS = Target("https://example.org/a/", "https://example.org/r", "edit/main/docs/")


def read_keys(
    project: FixtureProject, target: Target = ADDRESS, maker: str = "x 1"
) -> dict[str, str]:
    """What each page depends on, as one word."""
    build = Build(project.root, print, target, makers=[maker])
    build.read()
    assert not [page for page in build.all if page.uses_other_pages]
    return {page.path: build.page_key(page, None) for page in build.all}


def find_changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """The pages whose keys differ."""
    return {path for path in before if before[path] != after[path]}


def glossary(project: FixtureProject, meaning: str) -> None:
    head = "---\ndescription: A test page.\ndefines: terms\n---\n\n# Glossary { #glossary }\n"
    rows = "\n| term | English | meaning |\n|---|---|---|\n| weight | weight | {} |\n"
    for lang in LANGUAGES:
        known = "What a key counts." if lang == "zh" else meaning
        project.write(f"docs/{lang}/glossary.md", head + rows.format(known))
    project.stamp()


def append_text(path: str, text: str) -> Callable[[FixtureProject], None]:
    return lambda project: project.write(path, project.read(path) + text)


# What changes, and which pages are made again.
CHANGES: dict[str, tuple[Callable[[FixtureProject], None], set[str]]] = {
    "nothing": (lambda project: None, set()),
    "prose of a page": (append_text("docs/zh/weights.md", "\nMore.\n"), {"docs/zh/weights.md"}),
    "title of a page": (
        lambda project: project.edit("docs/zh/weights.md", "# Weights", "# Shares"),
        CHINESE,  # it stands in the navigation
    ),
    "listing": (lambda project: project.edit(WEIGHTS, '"weights"', '"Weights"'), WEIGHT_PAGES),
    "package": (append_text("attention_docs/softmax.py", "\n# changed\n"), WEIGHT_PAGES),
    "template": (append_text("attention_docs/site/theme/main.html", "{# changed #}"), PAGES),
    "words of the site": (
        lambda project: project.edit("attention_docs/locales/zh.toml", "运行环境", "环境"),
        PAGES,
    ),
    "settings": (lambda project: project.edit("mkdocs.yml", "    - toc.follow\n", ""), PAGES),
    "glossary": (lambda project: glossary(project, "After softmax."), PAGES - CHINESE),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_reaches_the_pages_that_depend_on_it_and_no_others(
    project: FixtureProject, change: str
) -> None:
    glossary(project, "A share.")
    before = read_keys(project)
    apply, wanted = CHANGES[change]
    apply(project)
    after = read_keys(project)
    assert before.keys() == after.keys()
    assert find_changed(before, after) & PAGES == wanted


def test_the_code_of_the_site_is_one_of_the_makers(project: FixtureProject) -> None:
    before = fingerprint_code(project.root)
    append_text("docs/en/weights.md", "More.")(project)
    assert fingerprint_code(project.root) == before
    append_text("attention_docs/site/render/blocks.py", "# changed")(project)
    assert fingerprint_code(project.root) != before


def test_a_section_that_moved_in_its_listing_reaches_its_pages(project: FixtureProject) -> None:
    """The origin of an output names the line."""
    before = read_keys(project)
    project.edit(WEIGHTS, "import numpy", "# One line more, before the section.\nimport numpy")
    project.edit(WEIGHTS, "# One line more, before the section.\n", "")
    assert read_keys(project) == before
    project.edit(WEIGHTS, '"""A listing on softmax.', '"""A listing.\n\nOn softmax.')
    assert find_changed(before, read_keys(project)) == WEIGHT_PAGES


@pytest.mark.parametrize(
    "other",
    [
        replace(ADDRESS, site_url="https://example.org/b/"),
        replace(ADDRESS, repository="https://example.org/s"),
        replace(ADDRESS, edit=""),
        replace(ADDRESS, shared="a picture of other weights"),
    ],
)
def test_an_address_reaches_every_finished_page(project: FixtureProject, other: Target) -> None:
    assert find_changed(read_keys(project), read_keys(project, other)) == PAGES


def test_a_page_that_came_or_went_and_a_version_reach_every_page(project: FixtureProject) -> None:
    before = read_keys(project)
    other = read_keys(project, maker="x 2")
    glossary(project, "A share.")
    new = read_keys(project)
    assert find_changed(before, other) == find_changed(before, new) == PAGES


def test_the_archive_is_offered_where_it_is_made(project: FixtureProject) -> None:
    served = read_keys(project, replace(ADDRESS, served=True))
    assert find_changed(read_keys(project), served) == PAGES  # and so are the books of its parts


def test_documentation_of_the_package_depends_on_all_of_it(project: FixtureProject) -> None:
    project.document("attention_docs.softmax")
    before = read_keys(project)
    project.write("attention_docs/constants.py", "CONSTANT = 7  # as before\n")
    assert find_changed(before, read_keys(project)) == {
        f"docs/{lang}/{slug}.md" for lang in LANGUAGES for slug in ("index", "api/softmax")
    }


def test_a_shared_part_is_expanded_again_when_a_page_or_its_list_changed(
    built: FixtureProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    built.add_gallery("weights")
    made: list[str] = []

    def noted(request: Request, chapters: Chapters, slug: str) -> str | None:
        made.append(chapters.lang)
        return expand_request(request, chapters, slug)

    def build(before: Build | None, *faults: Failure) -> tuple[Build, set[str], str]:
        made.clear()
        now = Build(built.root, print, before=before)
        now.read()
        now.executor.by_path["docs/en/weights.md"].failures += faults
        pages = [now.pages[lang]["mistakes"] for lang in LANGUAGES]
        text = "".join(
            part for page in pages for part in now.assemble(page).requested_parts.values()
        )
        assert now.executor.finish() == [*faults]
        return now, {*made}, text

    monkeypatch.setattr(building, "expand_request", noted)
    first, languages, text = build(None)
    assert languages == {"en", "zh"}
    for name in ("weights", "权重"):
        assert text.count(f"✗ {name} [0.0634, 0.4683, 0.4683]") == 1
    second, *again = build(first)
    assert again == [set(), text]
    append_text("docs/en/weights.md", "\nMore.\n")(built)
    third, *again = build(second)
    assert third.failures  # of the twin
    assert again == [{"en"}, text]
    assert build(third)[1] == set()
    built.edit("docs/mistakes.toml", 'why_en = "Why."', 'why_en = "Therefore."')
    fourth, languages, new = build(third)
    assert (languages, new) == ({"en", "zh"}, text.replace("Why.", "Therefore.", 1))
    built.edit(WEIGHTS, 'name = "weights"', 'name = "values"')
    faulty, *again = build(fourth, Failure("docs/en/weights.md", 1, "a fault"))
    assert again[0] == {"en", "zh"}
    assert "✗ values [" in again[1]
    assert "✗ 值 [" in again[1]
    assert build(faulty)[1] == {"en", "zh"}  # where a block failed, it may give more another time


def test_a_cached_page_is_returned_whole_or_not_at_all(tmp_path: Path) -> None:
    made = RenderedPage([["T", "t", 1, [["U", "u", 2, []]]]], ["t", "u"], {"a.md": {"b": "c"}}, "s")
    files = {"a/index.html": "<p>x</p>", "a/index.html.md": "x"}
    RenderedPageCache(Store(tmp_path, print)).put("k", made, files)
    found = RenderedPageCache(Store(tmp_path, print))
    assert not found.has("other")
    assert (found.has("k"), found.get("k"), found.get_files("k")) == (True, made, files)
    next(p for p in tmp_path.rglob("*.json") if b"<p>x</p>" in p.read_bytes()).unlink()
    assert not RenderedPageCache(Store(tmp_path, print)).has("k")


# Faults that one build reports, each on a page of its own: old and new text, and the message.
FAULTS = [
    # A block that fails: no further page is made.
    {"listings/weights.py": ("softmax(scores)\n", "softmax(scores, axis=5)\n", "axis must")},
    # Found after all pages are made.
    {
        "en/weights.md": ("(#weights ", "(#nowhere ", "#nowhere"),
        "en/index.md": ("The constant", "{{CONSTANT}} The constant", "left in the page"),
    },
    {"en/weights.md": ("The first", "[x][attention_docs.nothing] The first", "docs.nothing")},
]


def test_a_page_with_a_fault_is_never_taken_again(built: FixtureProject) -> None:
    published = read_files(built.root / "site")
    for faults in FAULTS:
        for path, (old, new, _) in faults.items():
            built.edit(f"docs/{path}", old, new, both=path.startswith("en/"))
        report = [built.build("-q") for _ in range(2)]
        assert [done.returncode for done in report] == [1, 1], faults
        assert report[0].stderr == report[1].stderr, faults
        for path, (old, new, message) in faults.items():
            assert message in report[0].stderr, path
            built.edit(f"docs/{path}", new, old, both=path.startswith("en/"))
        assert read_files(built.root / "site") == published, faults
    assert built.build().returncode == 0
    assert read_files(built.root / "site") == published
    assert not list(built.root.glob("site.*"))


def test_a_site_with_an_address_and_documentation_is_the_same_cold_warm_and_after_serving(
    project: FixtureProject,
) -> None:
    project.write("small/__init__.py", '"""A package that is read sooner than ours."""\n')
    for name in ("softmax", "checks"):
        project.write(f"small/{name}.py", project.read(f"attention_docs/{name}.py"))
    project.document("small.softmax", "small.checks")
    address = {"SITE_URL": "https://example.org/a/"}
    first = project.build(site="first", **address)
    assert first.returncode == 0, first.stderr
    assert 'id="small.softmax.softmax"' in project.read_html("zh/api/softmax", "first")
    project.edit("docs/en/weights.md", "# Weights", "# Shares")
    project.stamp()
    assert project.build(site="kept", **address).returncode == 0
    elsewhere = {"ATTENTION_DOCS_CACHE": str(project.root / "empty")}
    assert project.build(site="cold", **address, **elsewhere).returncode == 0
    assert read_files(project.root / "kept") == read_files(project.root / "cold")


def test_a_cached_build_gives_the_same_site_as_a_cold_build(project: FixtureProject) -> None:
    """Edits of every kind, one after the other, each built on what the one before left."""
    glossary(project, "A share.")
    project.edit("mkdocs.yml", "  - weights.md\n", "  - weights.md\n  - glossary.md\n")
    assert project.build().returncode == 0
    project.write("docs/listings/weights.zh.toml", '[strings]\n"Weights" = "权重"\n')
    for change in ("listing", "glossary", "title of a page"):
        CHANGES[change][0](project)
        project.stamp()
        done = project.build(site="kept")
        assert done.returncode == 0, done.stderr
    done = project.build(site="new", ATTENTION_DOCS_CACHE=str(project.root / "empty"))
    assert count_blocks(done) == (3, 0)
    assert read_files(project.root / "kept") == read_files(project.root / "new")
    assert "Shares" in project.read_html("zh", "kept")
    assert "After softmax." in project.read_html("weights", "kept")
