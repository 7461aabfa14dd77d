"""The page on where numbers come from: the one that it shows as an example, with mpmath."""

import mpmath
import pytest

from tests.conftest import each_language
from tests.exact import KEYS, QUERIES, attention_weights


@pytest.mark.site
@each_language
def test_the_example_of_an_inline_value(page, lang):
    first = attention_weights(QUERIES, KEYS, mpmath.sqrt(3))[0][0]
    assert page(lang, "numbers").values("way") == [f"{float(first):.4f}"]
