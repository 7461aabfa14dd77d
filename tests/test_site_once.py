"""What is computed once for all languages, or in batches, equals the single result."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from attention_docs.site.render.formulas import Formula, Renderer
from tests.fixture_project import FixtureProject
from tests.test_site_serve import Server

CONSTANTS_MODULE = '''"""A module of the test project."""

CONSTANT = 7


def doubled(number: float, how_often: int = 1, a_name_that_makes_the_line_long: bool = True) -> int:
    """Twice a number."""
    return number * 2**how_often
'''


@pytest.mark.long
def test_a_saved_docstring_signature_or_body_shows_in_all_languages(tmp_path: Path) -> None:
    project = FixtureProject(tmp_path / "project")
    project.write("attention_docs/constants.py", CONSTANTS_MODULE)
    project.document("attention_docs.constants")
    server = Server(project)
    pages = ("api/constants/", "zh/api/constants/")
    try:
        for page in pages:
            server.wait_for(page, "Twice a number.")
        server.wait_for_log("Serving on")
        edits = (
            ("Twice a number.", "Two times a number."),
            ("number: float,", "number: complex,"),
            ("return number * 2", "return number * 4"),
        )
        shown = ("Two times a number.", ">complex<", '<span class="mi">4</span>')
        for (old, new), wanted in zip(edits, shown, strict=True):
            for page in pages:
                assert wanted not in server.wait_for(page, "doubled")
            project.edit("attention_docs/constants.py", old, new)
            for page in pages:
                server.wait_for(page, wanted)
    finally:
        server.process.send_signal(signal.SIGTERM)
        server.process.wait()


def test_formulas_rendered_together_are_what_they_are_alone() -> None:
    wanted = [("d_k", False), ("d_k", True), (r"\frac{1}", False), (r"\text{a}^2", False)]

    def rendered(renderer: Renderer, formula: Formula) -> str:
        try:
            return renderer.render(*formula)
        except ValueError as error:
            return f"error: {error}"

    alone = [rendered(Renderer(), formula) for formula in wanted]
    assert [html.startswith("error: ") for html in alone] == [False, False, True, False]
    together = Renderer()
    together.render_all([*wanted, *wanted])
    assert [*together.cached] == wanted
    assert [rendered(together, formula) for formula in wanted] == alone
