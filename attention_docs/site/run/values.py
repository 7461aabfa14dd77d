"""What stands for an inline value of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attention_docs.running.result import Result
from attention_docs.site.read.pieces import Value

LOST = "⚠"  # what stands for a value that is not there; the page says why


def find_value_text(
    value: Value, results: Sequence[Result], lang: str, counts: Mapping[str, int]
) -> str:
    """The text of an inline value in a language; `counts` are what `{{ site.… }}` stands for."""
    if value.is_site_count:
        return str(counts.get(value.expression.removeprefix("site."), LOST))
    if not 0 < value.after <= len(results):
        return LOST
    return results[value.after - 1].get_values(lang).get((value.expression, value.spec), LOST)
