"""The first page: its attention map, with mpmath and with torch."""

import mpmath
import numpy as np
import pytest
import torch

from tests.conftest import each_language, folder_of, tree_of
from tests.exact import KEYS, QUERIES, VALUES, attention_weights, printed, product

WEIGHTS = attention_weights(QUERIES, KEYS, mpmath.sqrt(3))
OUTPUTS = product(WEIGHTS, VALUES)


@pytest.mark.site
@each_language
def test_map(page, lang):
    index = page(lang, "index")
    printed(index.array("map"), WEIGHTS)
    printed(index.array("outputs"), OUTPUTS)
    assert index.values("map") == ["0.1361", "0.4319", "0.4319", "[1.8639, 6.3194, 1.7042]"]


def test_torch_agrees_with_the_definition():
    tensors = [torch.tensor(m, dtype=torch.float64) for m in (QUERIES, KEYS, VALUES)]
    got = torch.nn.functional.scaled_dot_product_attention(*tensors)
    np.testing.assert_allclose(got.numpy(), np.array(OUTPUTS, dtype=float), atol=1e-12)
    np.testing.assert_allclose([float(sum(row)) for row in WEIGHTS], 1, atol=1e-12)


@pytest.mark.site
@each_language
def test_one_title(site, lang):
    index = tree_of(folder_of(site, lang, "index") / "index.html")
    assert index.xpath("count(//h1)") == 1
