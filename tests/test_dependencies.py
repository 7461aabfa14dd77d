"""A draw depends on the draws before it from the same generator, whatever its name."""

from __future__ import annotations

import pytest

from attention_docs.site.run.dependencies import find_block_uses


@pytest.mark.parametrize("name", ["rng", "draw", "generator", "few"])
@pytest.mark.parametrize("value", ["np.random.default_rng(0)", "torch.Generator().manual_seed(0)"])
def test_a_draw_depends_on_the_draw_before_it(name: str, value: str) -> None:
    codes = [f"{name} = {value}", f"x = {name}.normal()", f"y = {name}.normal()"]
    assert find_block_uses(codes) == [set(), {0}, {0, 1}]


@pytest.mark.parametrize(
    ("setting", "first", "second"),
    [
        ("g = default_rng(0)\ndef f(): return g.normal()", "x = f()", "y = f()"),
        ("g = default_rng(0)\ndef f(): return g.normal()", "x = g.normal()", "y = f()"),
        ("g = default_rng(0)\nh = g", "x = g.normal()", "y = h.normal()"),
        ("g = [default_rng(i) for i in range(3)]", "x = g[0].normal()", "y = g[1].normal()"),
        ("kind, g = 'T5', default_rng(0)", "x = sample(g)", "y = sample(g)"),
    ],
)
def test_a_generator_is_followed_to_where_it_is_drawn_from(
    setting: str, first: str, second: str
) -> None:
    assert find_block_uses([setting, first, second]) == [set(), {0}, {0, 1}]


@pytest.mark.parametrize(
    ("setting", "second"),
    [
        ("rng_count = 3", "y = rng_count"),  # a number, whatever it is called
        ("rng = default_rng(0).normal()", "y = rng"),
        ("g, rng = default_rng(0), default_rng(1)", "y = rng.normal()"),  # another generator
    ],
)
def test_what_is_not_drawn_from_stays(setting: str, second: str) -> None:
    first = "x = g.normal()" if "g, rng" in setting else second.replace("y", "x", 1)
    assert find_block_uses([setting, first, second]) == [set(), {0}, {0}]


def test_a_new_generator_begins_again() -> None:
    codes = ["g = default_rng(0)", "x = g.normal()", "g = default_rng(1)", "y = g.normal()"]
    assert find_block_uses(codes) == [set(), {0}, set(), {2}]


def test_a_function_of_a_module_changes_no_module_but_data_may_change() -> None:
    codes = ["import numpy as np\nfrom data import rows", "np.sort(rows)", "rows.sort()"]
    assert find_block_uses([*codes, "np.ones(2)", "rows"]) == [set(), {0}, {0}, {0}, {0, 2}]
