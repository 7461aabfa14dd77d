"""How far apart the results of equal classes lie; what a class pastes: test_inventory.py."""

from __future__ import annotations

import numpy as np


def test_ranges(chapter):
    """Another simulation, with other random numbers, finds the same ranges."""
    found = chapter.table("ranges")
    rng = np.random.default_rng(7)
    for row, students in zip(found, (20, 60, 200), strict=True):
        assert row["students"] == str(students)
        levels = np.linspace(-1.5, 1.5, 12)
        results = []
        for _ in range(1500):
            person = rng.normal(size=(students, 1))
            pre, post = (
                rng.uniform(size=(students, 12)) < 1 / (1 + np.exp(levels - person - gain))
                for gain in (0, 0.8)
            )
            total = pre.sum(1)
            p = pre.mean(0)
            kr = (1 - (p * (1 - p)).sum() / np.var(total)) * 12 / 11
            tie = np.corrcoef(pre[:, 5], total - pre[:, 5])[0, 1]
            gain = (post.mean() - pre.mean()) / (1 - pre.mean())
            results.append([pre[:, 5].mean(), tie, kr, gain])
        wanted = np.percentile(results, [2.5, 97.5], axis=0).T
        for name, pair in zip(
            ("difficulty", "tie to the rest", "reliability", "gain"), wanted, strict=True
        ):
            numbers = [float(one) for one in row[name].replace("−", "-").strip("[]").split(",")]
            np.testing.assert_allclose(numbers, pair, atol=0.04)
