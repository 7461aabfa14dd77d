"""The first page: its attention map, with mpmath and with torch."""

import mpmath
import numpy as np
import pytest
import torch

QUERIES = [[1, 0, 2], [2, 2, 2], [2, 1, 3]]
KEYS = [[0, 1, 1], [4, 4, 0], [2, 3, 1]]
VALUES = [[1, 2, 3], [2, 8, 0], [2, 6, 3]]


def exact():
    """Weights and outputs by their definition, to 30 digits."""
    with mpmath.workdps(30):
        weights = []
        for query in QUERIES:
            scores = [sum(a * b for a, b in zip(query, key, strict=True)) for key in KEYS]
            exponentials = [mpmath.exp(score / mpmath.sqrt(3)) for score in scores]
            weights.append([one / sum(exponentials) for one in exponentials])
        columns = list(zip(*VALUES, strict=True))
        outputs = [
            [sum(a * v for a, v in zip(row, column, strict=True)) for column in columns]
            for row in weights
        ]
    return np.array(weights, dtype=float), np.array(outputs, dtype=float)


@pytest.mark.site
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_map(page, lang):
    index = page(lang, "index")
    weights, outputs = exact()
    np.testing.assert_allclose(index.array("map"), weights, rtol=0, atol=5.001e-5)
    np.testing.assert_allclose(index.array("outputs"), outputs, rtol=0, atol=5.001e-5)
    assert index.values("map") == ["0.1361", "0.4319", "0.4319", "[1.8639, 6.3194, 1.7042]"]


def test_torch_agrees_with_the_definition():
    weights, outputs = exact()
    tensors = [torch.tensor(m, dtype=torch.float64) for m in (QUERIES, KEYS, VALUES)]
    got = torch.nn.functional.scaled_dot_product_attention(*tensors)
    np.testing.assert_allclose(got.numpy(), outputs, atol=1e-12)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-12)


@pytest.mark.site
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_one_title(page, lang):
    index = page(lang, "index")
    assert len(index.soup.find_all("h1")) == 1
