"""One table of colours: a change of it reaches figures, formulas, copies, pictures and prose."""

from __future__ import annotations

import io
import json
import tomllib
from pathlib import Path

import pytest
from PIL import Image

from attention_docs import colours
from attention_docs.figures import heatmap
from tests.fixture_project import WEIGHTS, FixtureProject, count_blocks, read_files

TABLE = "attention_docs/colours/colours.toml"
CHINESE = "attention_docs/locales/zh.toml"
DRAWN = """
# --8<-- [start:drawn]
from attention_docs.figures import heatmap

heatmap(weights, role="weight")
# --8<-- [end:drawn]
"""
SHOWN = """
```python exec="1" source="folded"
--8<-- "weights.py:drawn"
```

Weights are {{ site.colours["weight"] }}: $a_{ij}$.
"""


def draw_weights(project: FixtureProject) -> None:
    """Have the page `weights` draw the weights and name their colour."""
    project.write(WEIGHTS, project.read(WEIGHTS) + DRAWN)
    last = "| {{ name }} | {{ weights[0]:.2f }} |\n"
    project.edit("docs/en/weights.md", last, last + SHOWN, both=True)


def test_a_colour_changed_in_the_table_changes_everywhere_and_runs_nothing(
    built: FixtureProject,
) -> None:
    draw_weights(built)
    address = {"SITE_URL": "https://example.org/"}
    first = built.build(site="first", **address)
    assert first.returncode == 0, first.stderr
    before = built.read(TABLE)
    start, end = before.index("[role.weight]"), before.index("[role.weighted-value]")
    row = before[start:end]
    for old, new in {"yellow": "teal", "#886700": "#00747a", "#f7d046": "#7fd4d8"}.items():
        assert old in row
        row = row.replace(old, new)
    built.write(TABLE, before[:start] + row + before[end:])
    built.edit(CHINESE, 'yellow = "黄"', 'yellow = "黄"\nteal = "青"')
    second = built.build(site="second", **address)
    assert second.returncode == 0, second.stderr
    assert count_blocks(second)[0] == 0
    for lang, old, new in (("", "yellow", "teal"), ("zh/", "黄", "青")):
        assert f"Weights are {old}:" in built.read_html(f"{lang}weights", "first")
        assert f"Weights are {new}:" in built.read_html(f"{lang}weights", "second")
        assert 'fill="var(--role-weight-fill)"' in built.read_html(f"{lang}weights", "second")
        assert 'class="of-weight"' in built.read_html(f"{lang}weights", "second")  # the formula
    sheet = built.read("second/assets/styles.css")
    assert "--role-weight:#00747a;" in sheet
    assert "--role-weight-fill:#7fd4d8;" in sheet
    assert ".of-weight{--ink:var(--role-weight);" in sheet
    notebook = json.loads(built.read("second/notebooks/en/weights.ipynb"))
    drawn = json.dumps(notebook["cells"][-2]["outputs"])
    assert "#00747a" in drawn
    assert "#7fd4d8" in drawn
    assert "var(--role" not in drawn
    assert "#7fd4d8" in built.read("second/assets/map.svg")
    card = Image.open(io.BytesIO((built.root / "second/card.png").read_bytes()))
    colour = card.getpixel((655 + 280, 200))  # in the thickest ribbon
    assert max(abs(a - b) for a, b in zip(colour, (0x7F, 0xD4, 0xD8), strict=True)) <= 2
    # Nothing holds the old line any more but what has another role: weighted values.
    for name, raw in read_files(built.root / "second").items():
        held = raw.decode(errors="ignore").replace("--role-weighted-value:#886700", "")
        assert "#886700" not in held, name


def test_a_colour_without_a_word_in_a_language_stops_the_build(built: FixtureProject) -> None:
    draw_weights(built)
    row = '[role.weight]\nname = "yellow"'
    built.edit(TABLE, row, row.replace("yellow", "teal"))
    done = built.build()
    assert done.returncode == 1
    lines = built.read("docs/zh/weights.md").splitlines()
    place = next(number for number, line in enumerate(lines, 1) if "site.colours" in line)
    wanted = f"docs/zh/weights.md:{place}: attention_docs/locales/zh.toml has no [colours] teal"
    assert wanted in done.stderr


def test_a_role_that_is_not_in_the_table_is_named_with_its_line(project: FixtureProject) -> None:
    asked = '{{ site.colours["weights"] }}\n'
    project.edit("docs/en/index.md", "The constant", asked + "The constant", both=True)
    wanted = f"site.colours has {', '.join(colours.ROLES)}, got weights"
    assert project.find_faults() == [
        f"docs/en/index.md:12: {wanted}",
        f"docs/zh/index.md:15: {wanted}",
    ]


def test_a_table_with_other_colours_than_code_names_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "colours.toml"
    text = colours.TABLE.read_text(encoding="utf-8")
    other.write_text(text.replace("[role.score]", "[role.scores]"), encoding="utf-8")
    monkeypatch.setattr(colours, "TABLE", other)
    with pytest.raises(ValueError, match=r"must hold .*role-score, .*got .*role-scores, "):
        colours.make_style_sheet()


def test_a_figure_outside_of_the_site_holds_its_colours() -> None:
    shown = heatmap([[1.0]], role="value")._repr_mimebundle_()["image/svg+xml"]
    table = tomllib.loads(Path(TABLE).read_text(encoding="utf-8"))
    assert table["role"]["value"]["line"][0] in shown
    assert "var(--role" not in shown
