"""The texts of figures are data: a locale file per language; the Chinese follows the glossary."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from attention_docs import locales
from attention_docs.figures import Frame, bar_chart, heatmap, histogram, numbered, slider
from attention_docs.figures.figure import Language
from tests.conftest import ROOT
from tests.drawings import find_texts

FILES = {
    path.stem: path
    for path in sorted(locales.FOLDER.glob("*.toml"))
    if "partial" not in tomllib.loads(path.read_text(encoding="utf-8"))
}


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def list_templates(table: dict[str, Any], where: str = "") -> dict[str, Any]:
    """Every entry of the tables of figures by its path, the forms of a plural together."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict) and "other" not in value:
            found |= list_templates(value, f"{where}{name}.")
        else:
            found[where + name] = value
    return found


def list_places(value: Any) -> set[str]:
    """The names that a template has places for."""
    forms = value.values() if isinstance(value, dict) else [value]
    described = [form for form in forms if isinstance(form, str)]
    return {name for form in described for _, name, _, _ in Formatter().parse(form) if name}


@pytest.mark.parametrize("lang", FILES.keys() - {"en"})
def test_every_language_has_the_same_words_for_the_same_parts(lang: str) -> None:
    english = list_templates(read(FILES["en"])["figures"])
    other = list_templates(read(FILES[lang])["figures"])
    assert other.keys() == english.keys()
    for name, value in english.items():
        # A form for one may leave out its number.
        assert list_places(value) - {"n"} == list_places(other[name]) - {"n"}, name
        assert type(value) is type(other[name]), name


# Chinese labels are the glossary's.


def list_rows(lang: str) -> list[list[str]]:
    """The rows of the glossary's tables: term, term in the other language, explanation."""
    page = (ROOT / "docs" / lang / "glossary.md").read_text(encoding="utf-8")
    cells = [re.split(r" *\| *", line.strip("| \n")) for line in re.findall(r"^\|.*$", page, re.M)]
    return [row for row in cells if not set(row[0]) <= {"-"} and row[0] not in ("English", "中文")]


GLOSSARY = {english: chinese for english, chinese, *_ in list_rows("en")}
EXPLAINED = {
    english: (chinese, explanation) for chinese, english, *_, explanation in list_rows("zh")
}
TERMS = read(FILES["zh"])["terms"]


def singular(term: str) -> str:
    """A term without its plural.

    >>> singular("queries"), singular("weighted values"), singular("loss")
    ('query', 'weighted value', 'loss')
    """
    return re.sub(r"(?<!s)s$", "", re.sub(r"ies$", "y", term))


def test_both_glossaries_say_the_same() -> None:
    assert len(GLOSSARY) > 80
    assert {english: chinese for english, (chinese, _) in EXPLAINED.items()} == GLOSSARY


@pytest.mark.parametrize("term", TERMS)
def test_a_term_is_the_glossary_s(term: str) -> None:
    """It is an entry; or an entry and its explanation use the two words for each other."""
    english, chinese = singular(term), TERMS[term]
    if chinese == term:  # a name that stays as it is
        return
    if english in GLOSSARY:
        assert chinese == GLOSSARY[english] == EXPLAINED[english][0]
        return
    *before, last = english.split()
    if before:  # "largest weight" ends in a term
        assert chinese.endswith(TERMS[last])
        return
    pairs = [
        (f"{entry} {described}", " ".join(EXPLAINED[entry]))
        for entry, *_, described in list_rows("en")
        if entry in EXPLAINED
    ]
    assert any(re.search(rf"\b{english}s?\b", one) and chinese in other for one, other in pairs), (
        chinese
    )


# Labels.


def test_a_label_is_translated_by_the_listing_then_by_its_term_and_stays_without_either() -> None:
    figure = heatmap([[1.0, 2.0, 3.0]], columns=["query 12", "saw", "d_k"], name="hot")
    own = Language("zh", {"saw": "锯", "query 12": "第 12 个查询"})
    assert find_texts(figure, own)[:4] == ["hot", "第 12 个查询", "锯", "dk"]
    assert find_texts(figure, "zh")[:4] == ["hot", "查询 12", "saw", "dk"]
    assert find_texts(figure, "en")[:4] == ["hot", "query 12", "saw", "dk"]
    assert own.translator.untranslated == ["hot"]


def test_a_language_without_words_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a locale file \(en, .*zh\), got 'tlh'"):
        heatmap([[1.0]]).svg("tlh")


# A third language is a file.

CHANGES = {
    'Matrix {name}, {rows} and {columns}.': 'Matrize {name} mit {rows} und {columns}.',
    'other = "{n} columns"': 'other = "{n} Spalten"',
    'one = "{n} row"': 'one = "{n} Zeile"',
    '"share of the samples"': '"Anteil"',
    '"Bars: {name}."': '"Balken: {name}."',
    'caption = "{label}. {caption}"': 'caption = "{label} – {caption}"',
    'locales = ["en"]': 'locales = ["de", "german"]',
}  # fmt: skip
TABLES = '\n[terms]\n"query" = "Anfrage"\n"weights" = "Gewichte"\n'


@pytest.fixture
def german(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Words of a third language, in a folder of its own beside the others."""
    content = FILES["en"].read_text(encoding="utf-8")
    for old, new in CHANGES.items():
        assert content.count(old) == 1, old
        content = content.replace(old, new)
    for path in FILES.values():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "de.toml").write_text(content + TABLES, encoding="utf-8")
    monkeypatch.setattr(locales, "FOLDER", tmp_path)
    locales.read_locale.cache_clear()
    yield "de"
    locales.read_locale.cache_clear()


def test_a_third_language_is_spoken_by_figures(german: str) -> None:
    figure = heatmap(
        [[1, 2, 3]], rows=numbered("query", 1), columns=list("abc"), name="weights", spec="d"
    )
    assert figure.alt(german) == (
        "Matrize Gewichte mit 1 Zeile und 3 Spalten. Columns: a, b, c. Anfrage 1: 1, 2, 3."
    )
    assert find_texts(figure, german) == ["Gewichte", "a", "b", "c", "Anfrage 1", "1", "2", "3"]
    assert figure.alt("en").startswith("Matrix weights, 1 row and 3 columns.")
    assert "Balken: " in bar_chart(["a"], {"b": [1]}, ylabel="y").alt(german)
    assert find_texts(histogram({"a": [1]}, [0, 2], xlabel="x"), german).count("Anteil") == 1
    frame = Frame(("0",), "one", (figure,), "two")
    assert "<strong>one</strong> – two" in slider("d", [frame]).svg(german)


def test_a_template_that_asks_for_something_else_is_named(german: str) -> None:
    path = locales.FOLDER / "de.toml"
    content = path.read_text(encoding="utf-8").replace('"Vector {name}', '"Vektor {nmae}')
    path.write_text(content, encoding="utf-8")
    message = r"de\.toml: \[figures\.matrix\] vector must ask for \['name', 'numbers'\], got 'nmae'"
    with pytest.raises(ValueError, match=message):
        heatmap([1.0], name="weights").alt(german)


@pytest.mark.parametrize(
    ("machine", "wanted"),
    [
        ("zh_CN", "矩阵“权重”"),
        ("Chinese (Simplified)_China", "矩阵“权重”"),
        ("en_GB", "Matrix weights"),
        ("de_AT", "Matrize Gewichte"),
        ("fr_FR", "Matrix weights"),
        (None, "Matrix weights"),
    ],
)
def test_a_notebook_shows_the_language_of_its_machine(
    german: str, monkeypatch: pytest.MonkeyPatch, machine: str | None, wanted: str
) -> None:
    monkeypatch.setattr("locale.getlocale", lambda: (machine, "UTF-8"))
    figure = heatmap([[1.0, 2.0], [3.0, 4.0]], name="weights")
    shown = figure._repr_mimebundle_()
    assert shown["text/plain"].startswith(wanted)
    assert f'aria-label="{shown["text/plain"]}"' in shown["image/svg+xml"]
