"""How far apart equal classes lie: twelve questions, answered by simulated students."""

# --8<-- [start:ranges]
import numpy as np

from attention_docs.figures import table


def answer(ability, difficulty, rng):
    """Right or wrong (1 or 0), by chance, of each student to each question."""
    chance = 1 / (1 + np.exp(difficulty - ability[..., None]))
    return (rng.random(chance.shape) < chance).astype(float)


def describe_class(students, rng):
    """Difficulty of one question, its tie to the others, reliability, gain."""
    difficulty = np.linspace(-1.5, 1.5, 12)
    ability = rng.standard_normal(students)
    before = answer(ability, difficulty, rng)
    after = answer(ability + 0.8, difficulty, rng)
    sixth, rest = before[:, 5], np.delete(before, 5, axis=1).sum(axis=1)
    tie = np.corrcoef(sixth, rest)[0, 1]
    share, spread = before.mean(axis=0), before.sum(axis=1).var()
    reliability = 12 / 11 * (1 - (share * (1 - share)).sum() / spread)
    low, high = before.mean(), after.mean()
    return sixth.mean(), tie, reliability, (high - low) / (1 - low)


def range_of_classes(students, classes=2_000):
    """Between which numbers 95 of 100 equal classes lie."""
    rng = np.random.default_rng(2017)
    each = np.array([describe_class(students, rng) for _ in range(classes)])
    return np.quantile(each, [0.025, 0.975], axis=0)


sizes = (20, 60, 200)
ranges = [np.transpose(range_of_classes(students)) for students in sizes]
table(
    [[students, *map(list, both)] for students, both in zip(sizes, ranges, strict=True)],
    columns=["students", "difficulty", "tie to the rest", "reliability", "gain"],
    spec=["", ".3f", ".2f", ".2f", ".2f"],
)
# --8<-- [end:ranges]
