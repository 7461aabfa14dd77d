"""The language model: its functions, the published models run in torch, the published numbers."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from attention_docs.language_model import (
    LanguageModel,
    convert,
    cross_entropy,
    cross_entropy_gradient,
    from_json,
    generate,
    language_model,
    parameter_arrays,
    sample,
    to_json,
    token_distribution,
    without_head,
)
from attention_docs.multi_head import Parameters
from attention_docs.text import TextFile
from attention_docs.transformer_block import BlockParameters
from tests.conftest import LANGUAGES, scale_examples
from tests.exact import agrees_within_error, assert_printed, make_test_of_asked, parse_plus_minus
from tests.page import Page, vector_of

ReadPage = Callable[[str, str], Page]
seeds = st.integers(0, 2**32 - 1)
few = scale_examples(30)


def model_of(seed: int, whole: bool = True, depth: int = 2, n_max: int = 7) -> LanguageModel:
    """Sizes that all differ: 11 words, d_model 6, d_ff 10, 2 heads."""
    rng = np.random.default_rng(seed)

    def block() -> BlockParameters | Parameters:
        attend = Parameters(*rng.normal(size=(4, 6, 6)), *rng.normal(size=(4, 6)))
        if not whole:
            return attend
        matrices = rng.normal(size=(6, 10)), rng.normal(size=(10, 6))
        biases = rng.normal(size=10), rng.normal(size=6)
        return BlockParameters(attend, *matrices, *biases, *rng.normal(size=(4, 6)))

    return LanguageModel(
        rng.normal(size=(11, 6)),
        rng.normal(size=(n_max, 6)),
        tuple(block() for _ in range(depth)),
        rng.normal(size=(6, 11)),
        num_heads=2,
        gamma=rng.normal(size=6) if whole else None,
        vocabulary=tuple("abcdefghijk"),
    )


def in_torch(ids: Any, model: LanguageModel, look: bool = True) -> tuple[Any, list[Any]]:
    """Logits and, to look at, weights by torch's own functions, from the parameters alone."""
    ids = torch.as_tensor(ids)
    p = convert(model, torch.tensor)
    d, n, seen = p.table.shape[1], ids.shape[-1], []
    x = functional.embedding(ids, p.table) + p.positions[:n]

    def map_of(x: Any, W: Any, b: Any) -> Any:
        return functional.linear(x, W.T, b)

    def heads(x: Any) -> Any:
        return x.unflatten(-1, (p.num_heads, -1)).transpose(-2, -3)

    for block in p.blocks:
        whole = isinstance(block, BlockParameters)
        a = block.attention if whole else block
        z = functional.layer_norm(x, (d,), block.gamma_1, block.beta_1) if whole else x
        q, k = heads(map_of(z, a.W_q, a.b_q)), heads(map_of(z, a.W_k, a.b_k))
        v = heads(map_of(z, a.W_v, a.b_v))
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        if look:
            eye = torch.eye(n, dtype=x.dtype).expand(*q.shape[:-2], n, n)
            seen.append(functional.scaled_dot_product_attention(q, k, eye, is_causal=True))
        x = x + map_of(out.transpose(-2, -3).flatten(-2), a.W_o, a.b_o)
        if whole:
            z = functional.layer_norm(x, (d,), block.gamma_2, block.beta_2)
            x = x + map_of(torch.relu(map_of(z, block.W_1, block.b_1)), block.W_2, block.b_2)
    if p.gamma is not None:
        x = functional.layer_norm(x, (d,), p.gamma)
    return x @ p.W_u, seen


# ------------------------------------------------------------------ the functions


@few
@given(seed=seeds, whole=st.booleans(), n=st.integers(1, 7))
def test_decoder_like_torch(seed: int, whole: bool, n: int) -> None:
    model, rng = model_of(seed, whole), np.random.default_rng(seed)
    ids = rng.integers(0, 11, (3, n))
    logits, seen = language_model(ids, model)
    wanted, weights = in_torch(ids, model)
    np.testing.assert_allclose(logits, wanted, rtol=1e-10, atol=1e-10)
    for got, other in zip(seen, weights, strict=True):
        np.testing.assert_allclose(got, other, rtol=1e-10, atol=1e-12)
    in_package, _ = language_model(torch.from_numpy(ids), convert(model, torch.tensor))
    np.testing.assert_allclose(in_package, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("whole", [True, False])
def test_at_once(whole: bool) -> None:
    """Losses and gradients of one pass are those of separate passes."""
    model = convert(model_of(5, whole), lambda a: torch.tensor(a, requires_grad=True))
    arrays = parameter_arrays(model)
    ids = torch.tensor([3, 1, 4, 1, 5, 9, 2])
    logits, _ = language_model(ids[:-1], model)
    together = cross_entropy(logits, ids[1:])
    apart = []
    for i in range(1, 7):
        logits, _ = language_model(ids[:i], model)
        apart.append(functional.cross_entropy(logits[-1], ids[i]))
    torch.testing.assert_close(together, torch.stack(apart), rtol=1e-12, atol=1e-12)
    one = torch.autograd.grad(together.mean(), arrays)
    other = torch.autograd.grad(sum(apart) / 6, arrays)
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=5), st.data())
def test_gradient_in_fractions(powers: list[int], data: Any) -> None:
    """e^z are whole numbers: probabilities are fractions."""
    t = data.draw(st.integers(0, len(powers) - 1))
    z = np.log(np.array(powers, dtype=float))
    exact = [Fraction(k, sum(powers)) - (j == t) for j, k in enumerate(powers)]
    np.testing.assert_allclose(cross_entropy_gradient(z, np.array(t)), np.array(exact, float))
    assert sum(exact) == 0
    assert all(-1 < one < 1 for one in exact)
    loss = mpmath.log(Fraction(sum(powers), powers[t]))
    assert abs(float(cross_entropy(z, np.array(t))) - float(loss)) < 1e-12


@few
@given(seed=seeds, size=st.floats(0.1, 900))
def test_gradient_like_autograd(seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    z, t = size * rng.normal(size=(2, 3, 5)), rng.integers(0, 5, (2, 3))
    leaf = torch.tensor(z, requires_grad=True)
    targets = torch.tensor(t).flatten()
    losses = functional.cross_entropy(leaf.flatten(0, 1), targets, reduction="none")
    np.testing.assert_allclose(cross_entropy(z, t).ravel(), losses.detach(), rtol=1e-12, atol=1e-11)
    (gradient,) = torch.autograd.grad(losses.sum(), leaf)
    np.testing.assert_allclose(cross_entropy_gradient(z, t), gradient, atol=1e-12)


def cut_by_hand(p: list[Fraction], top_k: int | None, top_p: Fraction | None) -> list[Fraction]:
    """One word after another from the likeliest on; of equals the first."""
    order = sorted(range(len(p)), key=lambda j: (-p[j], j))
    kept = set(order[:top_k])
    inside = sum(p[j] for j in kept)
    if top_p is not None and top_p < 1:
        mass = Fraction(0)
        for j in [j for j in order if j in kept]:
            if mass >= top_p * inside:
                kept.discard(j)
            mass += p[j]
    total = sum(p[j] for j in kept)
    return [p[j] / total if j in kept else Fraction(0) for j in range(len(p))]


# Sums of 32nds are exact in floating-point numbers, as is what they are compared with.
@given(
    st.lists(st.integers(0, 32), min_size=1, max_size=5).map(sorted),
    st.randoms(use_true_random=False),
    st.one_of(st.none(), st.integers(1, 6)),
    st.one_of(st.none(), st.integers(1, 64)),
)
def test_distribution_by_enumeration(
    ends: list[int], chance: random.Random, top_k: int | None, share: int | None
) -> None:
    marks = [0, *ends, 32]
    parts = [b - a for a, b in itertools.pairwise(marks)]
    chance.shuffle(parts)
    p = [Fraction(part, 32) for part in parts]
    top_k = None if top_k is None else min(top_k, len(p))
    # between the sums of 32nds, where rounding decides nothing
    top_p = None if share is None else Fraction(2 * share - 1, 128)
    if top_k is not None and top_p is not None:
        top_p = None  # products are not exact; see test_both_cuts
    wanted = cut_by_hand(p, top_k, top_p)
    with np.errstate(divide="ignore"):
        z = np.log(np.array(p, dtype=float))
    options: dict[str, Any] = {"top_k": top_k, "top_p": None if top_p is None else float(top_p)}
    got = token_distribution(np.stack([z, z + 7]), **options)
    np.testing.assert_allclose(got, np.array([wanted, wanted], dtype=float), atol=1e-12)
    other = token_distribution(torch.from_numpy(z), **options)
    np.testing.assert_allclose(other, np.array(wanted, dtype=float), atol=1e-12)


def test_both_cuts() -> None:
    """0.75 of 0.4 + 0.3 + 0.2 is 0.675: two words are enough."""
    z = np.log([0.1, 0.3, 0.4, 0.2])
    got = token_distribution(z, top_k=3, top_p=0.75)
    np.testing.assert_allclose(got, [0, 3 / 7, 4 / 7, 0], atol=1e-12)
    assert (token_distribution(z, top_p=1.0) > 0).all()


def test_of_equals_the_first_stay() -> None:
    z = np.zeros(100)
    z[::3] = 1
    wanted = [1 / 7 if j in range(0, 21, 3) else 0 for j in range(100)]
    np.testing.assert_allclose(token_distribution(z, top_k=7), wanted)
    np.testing.assert_allclose(token_distribution(torch.from_numpy(z), top_k=7), wanted)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=5), st.integers(1, 4))
def test_temperature_takes_powers(powers: list[int], c: int) -> None:
    z = np.log(np.array(powers, dtype=float))
    exact = [Fraction(k**c, sum(x**c for x in powers)) for k in powers]
    got = token_distribution(z, temperature=1 / c)
    np.testing.assert_allclose(got, np.array(exact, dtype=float), rtol=1e-12)


@few
@given(seed=seeds, size=st.integers(2, 6))
def test_cut_is_nearest(seed: int, size: int) -> None:
    """Any r on S is at least as far from p as p / p(S); the price is -ln p(S)."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(size))
    k = int(rng.integers(1, size + 1))
    kept = token_distribution(np.log(p), top_k=k)
    inside = kept > 0
    price = -math.log(p[inside].sum())

    def divergence(r: np.ndarray) -> float:
        return float(sum(a * math.log(a / b) for a, b in zip(r, p[inside], strict=True) if a > 0))

    assert abs(divergence(kept[inside]) - price) < 1e-12
    for other in rng.dirichlet(np.ones(k), 20):
        assert divergence(other) >= price - 1e-12
    share = float(rng.uniform(0.05, 1))
    nucleus = token_distribution(np.log(p), top_p=share) > 0
    assert -math.log(p[nucleus].sum()) <= -math.log(share) + 1e-12


@given(st.lists(st.integers(0, 8), min_size=1, max_size=6).filter(any))
def test_sample_gives_each_its_share(parts: list[int]) -> None:
    """u in the middle of equal pieces: every token is drawn exactly as often as it should."""
    total = sum(parts)
    u = (np.arange(total) + 0.5) / total
    p = np.tile(np.array(parts) / total, (total, 1))
    drawn = sample(p, u)
    assert np.bincount(drawn, minlength=len(parts)).tolist() == parts
    assert (drawn == sample(torch.from_numpy(p), torch.from_numpy(u)).numpy()).all()


def test_sample_at_the_ends() -> None:
    p = np.array([[0.0, 0.1, 0.0, 0.9, 0.0]] * 3)
    assert sample(p, np.array([0.0, 0.1, np.nextafter(1, 0)])).tolist() == [1, 3, 3]


@few
@given(seed=seeds)
def test_generate_step_by_step(seed: int) -> None:
    model, rng = model_of(seed, n_max=9), np.random.default_rng(seed)
    ids, u = rng.integers(0, 11, (2, 3)), rng.random((2, 6))
    before = ids.copy()
    got = generate(ids, model, u, temperature=2, top_k=4)
    assert (ids == before).all()
    for one, us, found in zip(ids, u, got, strict=True):
        wanted = one.tolist()
        for chance in us:
            logits, _ = in_torch(wanted, model, look=False)
            p = torch.softmax(logits[-1] / 2, dim=0)
            best = torch.topk(p, 4).indices.sort().values
            sums = torch.cumsum(p[best] / p[best].sum(), dim=0)
            wanted.append(int(best[torch.searchsorted(sums, chance, right=True)]))
        assert found.tolist() == wanted


@few
@given(seed=seeds, block=st.integers(0, 1), head=st.integers(0, 1), whole=st.booleans())
def test_without_head(seed: int, block: int, head: int, whole: bool) -> None:
    """The same as a head whose values are 0."""
    model = model_of(seed, whole)
    ids = np.array([4, 0, 4, 7])
    cut = without_head(model, block, head)
    old = model.blocks[block]
    p = old.attention if isinstance(old, BlockParameters) else old
    W_v, b_v = p.W_v.copy(), p.b_v.copy()
    W_v[:, 3 * head : 3 * head + 3] = b_v[3 * head : 3 * head + 3] = 0
    p = p._replace(W_v=W_v, b_v=b_v)
    new = old._replace(attention=p) if isinstance(old, BlockParameters) else p
    blocks = [new if i == block else one for i, one in enumerate(model.blocks)]
    wanted, _ = in_torch(ids, model._replace(blocks=tuple(blocks)))
    np.testing.assert_allclose(language_model(ids, cut)[0], wanted, rtol=1e-9, atol=1e-9)
    assert model.blocks[block] is old
    assert cut.blocks[block] is not old


@few
@given(seed=seeds, order=st.permutations(range(6)))
def test_one_layer_has_no_order(seed: int, order: list[int]) -> None:
    model = model_of(seed, whole=False, depth=1)._replace(positions=np.zeros((7, 6)))
    ids = np.random.default_rng(seed).integers(0, 11, 7)
    mixed = np.append(ids[:-1][order], ids[-1])
    one, other = (language_model(x, model)[0][-1] for x in (ids, mixed))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def test_a_file_is_the_model() -> None:
    for whole in (True, False):
        model = model_of(3, whole)
        text = to_json(model, 17)
        assert json.loads(text)["vocabulary"] == list("abcdefghijk")
        again = from_json(text)
        assert again.num_heads == 2
        for a, b in zip(parameter_arrays(model), parameter_arrays(again), strict=True):
            assert (a == b).all()
        rounded = from_json(to_json(model, 3))
        for a, b in zip(parameter_arrays(model), parameter_arrays(rounded), strict=True):
            np.testing.assert_allclose(a, b, rtol=5.01e-3)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [("../up.json", "", "name must be"), ("a.json", "x" * 300_001, "got 300,001")],
)
def test_a_file_has_a_plain_name_and_stays_small(name: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TextFile(name, text)


def test_a_file_stays_as_it_is_and_may_have_300_000_bytes():
    full = TextFile("full.txt", "x" * 300_000)
    with pytest.raises(AttributeError):
        full.text = ""


# ------------------------------------------------------- the source, by other means

NAMES = ["ann", "bob", "eve", "kim", "leo", "max", "tom", "zoe"]
VERBS = ["sings", "runs", "reads", "sleeps", "cooks", "waits", "draws", "swims"]
WORDS = [*NAMES, *VERBS, ".", "and"]
HARMONIC = sum(Fraction(1, i) for i in range(1, 9))
P_NAME = [Fraction(1, i) / HARMONIC for i in range(1, 9)]


def entropy(p: Any) -> Any:
    return -sum(x * mpmath.log(mpmath.mpf(x.numerator) / x.denominator) for x in p)


@cache
def chance_of_new(sentences: int) -> list[Any]:
    """For each sentence, by the set of names that came before it: every set, with its chance."""
    sets: dict[frozenset[int], Any] = {frozenset(): mpmath.mpf(1)}
    p = [mpmath.mpf(x.numerator) / x.denominator for x in P_NAME]
    found = []
    for _ in range(sentences):
        found.append(sum(c * sum(p[i] for i in range(8) if i not in s) for s, c in sets.items()))
        grown: dict[frozenset[int], Any] = {}
        for s, c in sets.items():
            for i in range(8):
                grown[s | {i}] = grown.get(s | {i}, 0) + c * p[i]
        sets = grown
    return found


def bounds() -> tuple[Any, Any, Any]:
    """ln 18, the best from the last word, the entropy of the source; a word, on average."""
    common = 7 * entropy(P_NAME) + 8 * entropy([Fraction(1, 4), Fraction(3, 4)])
    verbs = sum(chance_of_new(8)) * mpmath.log(8)
    return mpmath.log(18), (common + 8 * mpmath.log(8)) / 23, (common + verbs) / 23


def draw_stories(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Stories of the same source by a plain loop, and minus the logarithm of each word's chance."""
    chance = random.Random(seed)
    weights = [float(p) for p in P_NAME]
    stories, losses = [], []
    for _ in range(count):
        does: dict[int, int] = {}
        story, loss = [], []
        for _ in range(8):
            (who,) = chance.choices(range(8), weights)
            new = who not in does
            verb = does.setdefault(who, chance.randrange(8, 16))
            end = chance.choices((16, 17), (3, 1))[0]
            story += [who, verb, end]
            loss += [-math.log(weights[who]), math.log(8) * new, -math.log((0.75, 0.25)[end - 16])]
        stories.append(story)
        losses.append(loss)
    return np.array(stories), np.array(losses)


def test_floor_by_enumeration() -> None:
    """The formula of the page for the chance that a name is new, and the source's mean."""
    by_sets = chance_of_new(8)
    for s in range(8):
        formula = sum(p * (1 - p) ** s for p in P_NAME)
        assert abs(by_sets[s] - mpmath.mpf(formula.numerator) / formula.denominator) < 1e-30
    _, losses = draw_stories(4000, 1)
    means = losses[:, 1:].mean(axis=1)
    assert abs(means.mean() - float(bounds()[2])) < 4 * means.std() / math.sqrt(4000)


# ------------------------------------------------------------ published numbers

QUESTION = "ann sings . bob sleeps and eve runs . ann sings . bob"


@pytest.fixture(scope="session")
def models(page: ReadPage) -> dict[str, LanguageModel]:
    """The published files, read without the package's reader."""

    def array(value: Any) -> Any:
        return None if value is None else np.array(value)

    def block(fields: dict[str, Any]) -> BlockParameters | Parameters:
        if "attention" in fields:
            attend = block(fields.pop("attention"))
            return BlockParameters(attend, **{k: array(v) for k, v in fields.items()})
        return Parameters(**{k: array(v) for k, v in fields.items()})

    found = {}
    for name in ("language-model", "two-layers", "one-layer"):
        text = page("en", "language-model").files[f"{name}.json"]
        assert len(text) < 300_000
        fields = json.loads(text)
        blocks = tuple(block(one) for one in fields.pop("blocks"))
        heads, words = fields.pop("num_heads"), tuple(fields.pop("vocabulary"))
        arrays = {k: array(v) for k, v in fields.items()}
        found[name] = LanguageModel(blocks=blocks, num_heads=heads, vocabulary=words, **arrays)
    return found


def words_of(text: str) -> list[int]:
    return [WORDS.index(word) for word in text.split()]


def softmax_of(ids: Any, model: LanguageModel) -> np.ndarray:
    found: np.ndarray = torch.softmax(in_torch(ids, model, look=False)[0], dim=-1).numpy()
    return found


def column_of(figure: str, name: str) -> list[float]:
    """The numbers of a matrix with one column, as the description of a figure has them."""
    described = re.search(rf"Matrix {name}, \d+ rows and 1 column\.(.*)", figure)
    assert described, figure
    numbers = re.findall(r": (−?\d+(?:\.\d+)?)\.(?= |$)", described[1])
    return [float(number.replace("−", "-")) for number in numbers]


def test_opening(chapter: Page, models: dict[str, LanguageModel]) -> None:
    assert chapter.output("hook") == f"{QUESTION} …"
    bars = [float(x) for x in re.findall(r"0\.\d\d", chapter.figure("hook"))]
    # About 23,500 verbs after bob: a standard error of 0.002, and a rounding of 0.005.
    assert len(bars) == 8
    assert all(abs(one - 0.125) < 0.015 for one in bars)
    model = models["language-model"]
    assert not model.vocabulary  # numbers alone: the words are the reader's
    p = softmax_of(words_of(QUESTION), model)[-1]
    best = np.argsort(-p)[:8]
    described = str(chapter.figures["out-answer"])
    assert re.search(rf"next word, 8 rows.*? {WORDS[best[0]]}: ", described)
    assert_printed(column_of(described, "next word"), p[best], 2)
    assert chapter.values("training")[3] == f"{p[11]:.3f}"


def test_stories_are_in_the_language_of_the_page(page: ReadPage) -> None:
    """Word by word: the same tokens at the same places, none of them left in English."""
    stories = [
        [page(lang, "language-model").output("hook"), *column(page(lang, "language-model"))]
        for lang in LANGUAGES
    ]
    for english, chinese in zip(*stories, strict=True):
        assert len(english.split()) == len(chinese.split())
        assert not re.search("[A-Za-z]", chinese)
        assert len({*zip(english.split(), chinese.split(), strict=True)}) == len({*english.split()})


def column(chapter: Page) -> list[str]:
    """The stories that the model writes."""
    head, *lines = chapter.tables["out-write"]
    assert len(head) == 2
    return [line[1] for line in lines]


def draw_random_model() -> LanguageModel:
    """The random parameters, in the order in which the listing draws them."""
    rng = np.random.default_rng(2017)

    def random_matrix(a: int, b: int) -> np.ndarray:
        return rng.standard_normal((a, b)) / math.sqrt(a)

    table = rng.standard_normal((18, 32))
    places = np.arange(24)[:, None] * 30.0 ** (-np.arange(0, 32, 2) / 32)
    waves = np.stack([np.sin(places), np.cos(places)], axis=-1).reshape(24, 32)
    blocks = []
    for _ in range(2):
        attend = Parameters(*[random_matrix(32, 32) for _ in range(4)])
        blocks.append(BlockParameters(attend, random_matrix(32, 64), random_matrix(64, 32)))
    last = random_matrix(32, 18)
    return LanguageModel(table, math.sqrt(2) * waves, tuple(blocks), last, 2, np.ones(32))


def test_tied_tables(page: ReadPage) -> None:
    """Billions of parameters as the cards of the models give them, with the tables they have."""
    chapter, published = page("en", "language-model"), (0.49, 1.54, 7.61, 72.7)
    rows = chapter.table("tied")
    assert [row["tied"] for row in rows] == ["✓", "✓", "✗", "✗"]
    sides = (151_936 * 896, 151_936 * 1536, 152_064 * 3584, 152_064 * 8192)
    blocks, tables, shares = (
        chapter.column("tied", name)
        for name in ("blocks, millions", "one table, millions", "a second adds, %")
    )
    for row, block, one, side, share, billions in zip(
        rows, blocks, tables, sides, shares, published, strict=True
    ):
        assert one == round(side / 1e6)
        count = 1 if row["tied"] == "✓" else 2
        assert block + count * one == pytest.approx(1000 * billions, rel=0.01)
        with_one = 1000 * billions - (count - 1) * side / 1e6
        assert share == pytest.approx(100 * side / 1e6 / with_one, rel=0.01, abs=0.05)
    assert chapter.values("parameters")[1:] == [f"{shares[0]:.0f}", f"{shares[-1]:.1f}"]


def test_random_model(page: ReadPage) -> None:
    """What the page shows of the random model, through torch."""
    model = draw_random_model()
    table, waves = model.table, model.positions / math.sqrt(2)
    chapter, ids = page("en", "language-model"), words_of(QUESTION)
    learned = parameter_arrays(model._replace(positions=None))
    many = f"{sum(array.size for array in learned):,}"
    assert chapter.values("decoder")[:2] == [many, many]
    by_hand = 2 * 18 * 32 + 2 * (4 * 32**2 + 2 * 32 * 64) + 32  # in the fold on parameters
    assert chapter.values("parameters")[:1] == [f"{by_hand:,}"] == [many]
    p = softmax_of(ids, model)[-1]
    logits, seen = in_torch(ids, model)
    figure = str(chapter.figures["out-machine"])
    assert column_of(figure, "ids") == ids
    assert_printed(column_of(figure, "logits"), logits[-1], 1)
    bars = re.findall(r"(0\.\d+) for (\S+?)[;.](?=\s|$)", figure.split("Bars: probability.")[1])
    assert sorted(word for _, word in bars) == sorted(WORDS)
    likeliest = sorted(p.tolist(), reverse=True)
    assert_printed([float(share) for share, _ in bars], likeliest, 2)
    assert bars[0][1] == WORDS[int(p.argmax())]
    maps = [part.split(" Matrix ")[0] for part in figure.split("Matrix weights, ")[1:]]
    assert len(maps) == len(seen) == 2
    for described, weights in zip(maps, seen, strict=True):
        shown = [
            [float(x) for x in pair] for pair in re.findall(r": (0\.\d+), (0\.\d+)", described)
        ]
        assert_printed(shown, weights[:, -1].T, 2)
    # The last word on its way up: its row and its position, their sum, what leaves each block.
    plain = model._replace(gamma=None, W_u=np.eye(32))
    streams = [
        in_torch(ids, plain._replace(blocks=model.blocks[:i]), look=False)[0] for i in (0, 1, 2)
    ]
    wanted = {"bob": table[1], "position": math.sqrt(2) * waves[12], "sum": streams[0][-1]}
    wanted |= {f"after block {i}": streams[i][-1] for i in (1, 2)} | {"logits": logits[-1, 8:]}
    for name, vector in wanted.items():
        (numbers,) = re.findall(rf"Vector {name}: ([^.]*(?:\.\d[^.]*)+)\. ", figure)
        shown = [float(x.replace("−", "-")) for x in numbers.split(", ")]
        assert_printed(shown, vector[:4], 1)
    best = int(p.argmax())
    assert f"Vector next word: {WORDS[best]}: {p[best]:.2f}." in figure
    # The first losses of the first story that the model was not trained on, by torch.
    stories = drawn_as_the_page()
    logits, _ = in_torch(stories[:, :-1], model, look=False)
    losses = functional.cross_entropy(logits[0], torch.from_numpy(stories[0, 1:]), reduction="none")
    for i in range(6):
        found = page("en", "language-model").column("at-once", f"token {i + 2}")
        assert_printed(found, [losses[i]] * 2, 3)


def loss_of_sleeps(model: LanguageModel) -> Any:
    """What *sleeps* costs after the story of the page, by torch's own functions."""
    logits, _ = in_torch(words_of(QUESTION), model, look=False)
    return functional.cross_entropy(logits[-1], torch.tensor(WORDS.index("sleeps")))


def test_one_number_is_moved(page: ReadPage) -> None:
    """The loss at three places of one number, and slopes of others, by torch alone."""
    chapter, model = page("en", "language-model"), draw_random_model()
    W = model.blocks[0].attention.W_q  # type: ignore[union-attr]
    start, losses = W[2, 1], []
    for w in (start, start + 0.01):
        W[2, 1] = w
        losses.append(float(loss_of_sleeps(model)))
    slope = (losses[1] - losses[0]) / 0.01
    W[2, 1] = start - slope
    losses.append(float(loss_of_sleeps(model)))
    assert losses[2] < losses[0]
    assert_printed(chapter.column("one-number", "w"), [start, start + 0.01, start - slope])
    assert_printed(chapter.column("one-number", "loss"), losses)
    count = chapter.values("decoder")[0]
    assert chapter.values("loss")[:2] == [f"{slope:.4f}", count]
    W[2, 1] = start
    exact = []
    for array in parameter_arrays(model._replace(positions=None))[:7]:
        old, near = array[2, 1], []
        for step in (-2, -1, 1, 2):
            array[2, 1] = old + step * 1e-3
            near.append(float(loss_of_sleeps(model)))
        array[2, 1] = old
        a, b, c, d = near  # five-point rule: an error of the order of step⁴
        exact.append((a - 8 * b + 8 * c - d) / 12e-3)
    assert_printed(chapter.column("backward", "one number moved"), exact)
    assert_printed(chapter.column("backward", "backward pass"), exact)
    assert f"{exact[1]:.2f}" == f"{slope:.2f}"


def test_two_routes(chapter: Page) -> None:
    """In fractions: 2 · (1/8 - 1) through word 1 and 1 · 5/8 through word 3."""
    slopes = [Fraction(1, 8) - 1, Fraction(5, 8)]
    wanted = [[2, slopes[0], 2 * slopes[0]], [1, slopes[1], slopes[1]]]
    first, second, *both = chapter.table("two-routes")
    for row, exact in zip((first, second), wanted, strict=True):
        assert [Fraction(cell.replace("−", "-")) for cell in list(row.values())[1:]] == exact
    total = sum(row[2] for row in wanted)
    assert total == Fraction(-9, 8)
    for row in both:
        *empty, cell = list(row.values())[1:]
        assert empty == ["", ""]
        assert Fraction(cell.replace("−", "-")) == total


def test_routes_to_the_loss(chapter: Page) -> None:
    """The slope at component 1 of the last vector, by torch's autograd."""
    model, sleeps = draw_random_model(), WORDS.index("sleeps")
    logits, _ = in_torch(words_of(QUESTION), model, look=False)
    shift = torch.zeros(32, dtype=torch.float64, requires_grad=True)  # moves x, after LayerNorm

    def slope_through(routes: Any) -> float:
        """Only these logits move with component 1; the others stay where they are."""
        moves = torch.tensor(model.W_u) * torch.tensor(routes, dtype=torch.float64)
        loss = functional.cross_entropy(logits[-1] + shift @ moves, torch.tensor(sleeps))
        return float(torch.autograd.grad(loss, shift)[0][0])

    one = [i == sleeps for i in range(18)]
    slopes = [slope_through(one), slope_through([not i for i in one]), slope_through([True] * 18)]
    assert chapter.values("routes") == [f"{s:.2f}" for s in slopes]


def drawn_as_the_page() -> np.ndarray:
    """The first story after the corpus, from the same generator in the listing's order."""
    rng = np.random.default_rng(2017)
    p = 1 / np.arange(1, 9)
    for count in (16_000, 2000):
        does = rng.integers(8, 16, (count, 8))
        who = rng.choice(8, (count, 8), p=p / p.sum())
        end = 16 + (rng.random((count, 8)) < 1 / 4)
    verbs = [does[0, i] for i in who[0]]
    return np.array([[x for one in zip(who[0], verbs, end[0], strict=True) for x in one]])


def test_losses(chapter: Page) -> None:
    p = [Fraction(k, 8) for k in (1, 2, 5)]
    for t, frame in enumerate(chapter.frames("loss")):
        found = re.search(r"The loss is (\d\.\d{4})\.", frame.caption)
        assert found
        wanted = float(mpmath.log(mpmath.mpf(p[t].denominator) / p[t].numerator))
        assert_printed(float(found[1]), wanted)
        bars = re.findall(r"([−\d.]+) for word (\d)", frame.labels[0])
        target = [int(j == t) for j in range(3)]
        series = [*p, *target, *(x - y for x, y in zip(p, target, strict=True))]
        assert [int(word) for _, word in bars] == [1, 2, 3] * 3
        assert_printed([float(one.replace("−", "-")) for one, _ in bars], [*map(float, series)], 3)
    # Word 3 is raised by a hundredth, and word 1 comes: by torch's own loss.
    near = torch.tensor([[1.0, 2, 5], [1, 2, 5 * math.exp(0.01)]], dtype=torch.float64).log()
    costs = functional.cross_entropy(near, torch.tensor([0, 0]), reduction="none")
    assert chapter.values("loss-differences")[0] == f"{float(costs[1] - costs[0]) / 0.01:.3f}"
    z = [mpmath.log(k) for k in (1, 2, 5)]
    for number, line in enumerate(chapter.table("downhill")):
        total = sum(map(mpmath.exp, z))
        p_ = [mpmath.exp(one) / total for one in z]
        assert line[""] == f"step {number}"
        shown = [float(line[name]) for name in ("word 1", "word 2", "word 3", "loss")]
        assert_printed(shown, [*p_, -mpmath.log(p_[0])], 3)
        z = [one - (x - (j == 0)) for j, (one, x) in enumerate(zip(z, p_, strict=True))]
    rng = np.random.default_rng(2017)
    z, targets = rng.standard_normal((4, 18)), rng.integers(0, 18, 4)
    leaf = torch.tensor(z[0], requires_grad=True)
    functional.cross_entropy(leaf, torch.tensor(targets[0])).backward()
    assert leaf.grad is not None
    for j in range(6):
        found = chapter.column("loss-differences", f"word {j + 1}")
        assert_printed(found, [leaf.grad[j]] * 2, 4)
    for line, wanted in zip(chapter.table("floor"), bounds(), strict=True):
        assert_printed(float(line["loss"]), float(wanted), 3)
        assert_printed(float(line["perplexity"]), float(mpmath.exp(wanted)), 2)
    (drawn,) = chapter.table("floor-drawn")
    (interval,) = parse_plus_minus(drawn["mean of −ln π"])
    assert agrees_within_error(interval, float(bounds()[2]))
    assert_printed(float(drawn["H"]), float(bounds()[2]), 3)
    count = chapter.values("floor-terms")[0]
    assert count == chapter.values("measured")[0]
    assert 1990 <= int(count) <= 2000


@pytest.fixture(scope="module")
def above(models: dict[str, LanguageModel]) -> np.ndarray:
    """How far losses lie above the truth, on stories drawn by another generator, in torch."""
    stories, true = draw_stories(3000, 2)
    logits, _ = in_torch(stories[:, :-1], models["language-model"], look=False)
    losses: np.ndarray = functional.cross_entropy(
        logits.transpose(1, 2), torch.from_numpy(stories[:, 1:]), reduction="none"
    ).numpy()
    return losses - true[:, 1:]


def test_trained_model(page: ReadPage, models: dict[str, LanguageModel], above: np.ndarray) -> None:
    chapter, model = page("en", "language-model"), models["language-model"]
    each = above.mean(axis=1)
    (interval,) = parse_plus_minus(chapter.output("measured"))
    error = math.hypot(interval[1] / 1.96, each.std() / math.sqrt(3000))
    assert abs(interval[0] - each.mean()) < 5 * error + 5e-5
    starts = [float(x) for x in chapter.table("starts")[0].values()]
    assert len(starts) == 5
    assert abs(starts[0] - interval[0]) < 5.1e-4
    ours = [f"{x:.3f}" for x in (starts[0], min(starts), max(starts))]
    assert chapter.values("measured")[1:4] == ours
    by_last = float(bounds()[1] - bounds()[2])
    assert 0 < min(starts) <= max(starts) < by_last / 2
    said = [f"{by_last:.3f}", f"{min(starts):.3f}", f"{max(starts):.3f}"]
    shown = chapter.values("training")
    assert [shown[8], *shown[6:8]] == said
    # One guess for each word but the first of every story.
    guesses = sum(1 for _ in range(500) for _ in range(32) for _ in range(1, 24))
    assert shown[2] == f"{guesses:,}"
    (verbs,) = chapter.table("measured")
    assert [*verbs] == [f"sentence {s}" for s in range(1, 9)]
    found = [float(x) for x in verbs.values()]
    assert_printed(found, above[:, 0::3].mean(axis=0), 1)
    assert max(map(abs, found)) < 0.05
    logits, _ = in_torch(drawn_as_the_page(), model, look=False)
    for name, wanted in zip(NAMES, logits[0, -1], strict=False):
        assert_printed(chapter.column("as-torch", name), [wanted] * 2, 3)
    # What the figure of the answer shows: both heads of block 2 look at the verb of bob.
    _, seen = in_torch(words_of(QUESTION), model)
    assert (seen[1][:, -1].argmax(dim=-1) == 4).all()
    assert (seen[1][:, -1, 4] > 0.9).all()
    figure = str(chapter.figures["out-answer"]).partition("next word")[0]
    shown = [
        list(map(float, row)) for row in re.findall(r": " + ", ".join([r"(\d\.\d\d)"] * 4), figure)
    ]
    assert_printed(shown, torch.cat([one[:, -1] for one in seen]).T, 2)


def test_the_slider_of_training(chapter: Page, models: dict[str, LanguageModel]) -> None:
    """Its last frame is the published model; before that, what the text says of it."""
    captions = [frame.caption for frame in chapter.frames("watch")]
    found = [re.search(r"t = (\d+)\W+Loss ([\d.]+)\. .* get ([\d.]+)\.", one) for one in captions]
    steps, losses, verbs = zip(*(map(float, one.groups()) for one in found if one), strict=True)
    assert steps == (0, 20, 60, 100, 140, 160, 180, 200, 300, 500)
    assert all(a > b - 0.02 for a, b in itertools.pairwise(losses))
    assert losses[0] > 2.5
    assert abs(losses[-1] - float(bounds()[2])) < 0.02
    assert verbs[0] < 0.5 < 0.95 < min(verbs[1:])
    frames = str(chapter.figures["out-watch"]).split("Matrix weights")[1:]
    sleeps = [float(re.findall(r"sleeps: (\d\.\d\d)\.", one)[-1]) for one in frames]
    looks = [
        [float(x) for x in re.search(r"sleeps: " + ", ".join([r"(\d\.\d\d)"] * 4), one).groups()]  # type: ignore[union-attr]
        for one in frames
    ]
    early, late = range(1, 6), range(7, 10)  # to step 160; from step 200 on
    assert max(sleeps[i] for i in early) < 0.25
    assert min(sleeps[i] for i in late) > 0.95
    assert max(looks[i][3] for i in early) < 0.1
    assert min(min(looks[i][2:]) for i in late) > 0.95
    ids, model = words_of(QUESTION), models["language-model"]
    _, seen = in_torch(ids, model)
    assert_printed(looks[-1], [weights[r, -1, 4] for weights in seen for r in (0, 1)], 2)
    assert_printed(sleeps[-1], softmax_of(ids, model)[-1, 11], 2)


def test_a_cache_changes_no_answer(chapter: Page, models: dict[str, LanguageModel]) -> None:
    ids = words_of(QUESTION)
    largest = softmax_of(ids, models["language-model"])[-1].max()
    assert chapter.column("cache", "vectors through each block") == [sum(range(1, 14)), 13]
    assert_printed(chapter.column("cache", "largest probability"), [largest] * 2, 3)


def test_parameters_stand_on_a_grid(models: dict[str, LanguageModel]) -> None:
    """Multiples of 2⁻¹⁶, as far as six digits tell: what makes the file the same everywhere."""
    for model in models.values():
        for array in parameter_arrays(model._replace(positions=None)):
            steps = array[np.abs(array) < 0.1] * 2**16
            assert (np.abs(steps - np.rint(steps)) < 0.004).all()


def keeps_grammar(ids: list[int]) -> bool:
    """Whether a story keeps to the grammar, and every person to their verb."""
    does: dict[int, int] = {}
    for who, verb, end in zip(ids[0::3], ids[1::3], ids[2::3], strict=False):
        if not (who < 8 <= verb < 16 <= end and does.setdefault(who, verb) == verb):
            return False
    return True


def test_targets_not_shifted(chapter: Page) -> None:
    wrong, right = chapter.table("mistake-shift")
    assert float(wrong["last loss"]) < 0.1 < float(bounds()[2])
    assert chapter.values("mistake-shift") == [wrong["last loss"]]
    assert wrong["written"] == "ann sings . bob" + " bob" * 5
    assert abs(float(right["last loss"]) - float(bounds()[2])) < 0.15  # a batch of 32 stories
    assert keeps_grammar(words_of(right["written"]))


def test_what_it_writes(page: ReadPage, models: dict[str, LanguageModel]) -> None:
    """Drawn again with torch's softmax and a plain loop over the sums."""
    chapter, model = page("en", "language-model"), models["language-model"]
    rng = np.random.default_rng(2017)
    described = column(chapter)
    for line, temperature in zip(described, (1e-9, 1, 3), strict=True):
        ids = words_of("ann sings . bob sleeps . ann")
        for u in rng.random(11):
            logits = in_torch(ids, model)[0][-1]
            p = torch.softmax(logits / temperature, dim=0).tolist()
            sums = itertools.accumulate(p)
            ids.append(next((j for j, total in enumerate(sums) if total > u), 17))
        assert words_of(line) == ids
    assert [keeps_grammar(words_of(line)) for line in described] == [True, True, False]


def test_what_it_writes_while_it_learns(chapter: Page) -> None:
    """Step 0 is drawn again with torch; then come the grammar, and last whose verb it is."""
    stages = {line[""]: words_of(line["story"]) for line in chapter.table("writes")}
    assert list(stages) == ["step 0", "step 20", "step 60", "step 300"]
    ids, untrained = words_of("bob sleeps . ann"), draw_random_model()
    for u in np.random.default_rng(2017).random(14):
        p = torch.softmax(in_torch(ids, untrained)[0][-1], dim=0).tolist()
        ids.append(next((j for j, total in enumerate(itertools.accumulate(p)) if total > u), 17))
    assert stages["step 0"] == ids
    kinds = {name: [(one >= 8) + (one >= 16) for one in ids] for name, ids in stages.items()}
    in_order = [(0, 1, 2)[i % 3] for i in range(18)]  # name, verb, end
    wrong = [sum(a != b for a, b in zip(one, in_order, strict=True)) for one in kinds.values()]
    assert wrong[0] > wrong[1] > wrong[2] == wrong[3] == 0
    assert [keeps_grammar(one) for one in stages.values()] == [False, False, False, True]
    ann = WORDS.index("ann")
    swims = [WORDS[b] for a, b in itertools.pairwise(stages["step 60"]) if a == ann]
    assert swims == ["swims", "cooks"]


def test_cuts(chapter: Page, models: dict[str, LanguageModel]) -> None:
    wanted = [[16 / 30, 9 / 30, 4 / 30, 1 / 30], [4 / 7, 3 / 7, 0, 0], [4 / 9, 3 / 9, 2 / 9, 0]]
    assert_printed(chances(chapter, "cut"), wanted, 3)
    # names: powers, the first four, and the first five, which have 0.84
    p = [float(x) for x in P_NAME]
    ann = [p[0] ** c / sum(x**c for x in p) for c in (2, 1, 0.5)]
    ann += [p[0] / sum(p[:4]), p[0] / sum(p[:5])]
    assert sum(p[:4]) < 0.8 <= sum(p[:5])
    stories, _ = draw_stories(500, 3)
    z = in_torch(stories[:, :-1], models["language-model"], look=False)[0]
    rules: list[Callable[[Any], Any]] = [
        lambda z: torch.softmax(2 * z, dim=-1),
        lambda z: torch.softmax(z, dim=-1),
        lambda z: torch.softmax(z / 2, dim=-1),
        lambda z: torch.softmax(z.where(z >= z.topk(4).values[..., -1:], -torch.inf), dim=-1),
        nucleus,
    ]
    settings = chapter.table("settings")
    assert [line[""] for line in settings] == ["τ = 0.5", "τ = 1", "τ = 2", "k = 4", "c = 0.8"]
    for line, rule, share in zip(settings, rules, ann, strict=True):
        right, mean = float(line["right words"]), float(line["ann, model"])
        assert_printed(float(line["ann, formula"]), share, 2)
        found = rule(z)
        assert abs(mean - float(found[:, 2::3, 0].mean())) < 0.012
        assert abs(right - mass_of_right(found.numpy(), stories)) < 0.012


def chances(chapter: Page, block: str) -> list[list[float]]:
    """The probabilities of words in each row of a table."""
    return [
        [float(x) for name, x in line.items() if name.startswith("word ")]
        for line in chapter.table(block)
    ]


def nucleus(z: Any) -> Any:
    """Top-p with 0.8, as it is usually written: sort, shift by one, cut, scatter back."""
    p, order = torch.softmax(z, dim=-1).sort(descending=True)
    p = p.where(p.cumsum(dim=-1) - p < 0.8, 0)
    return torch.zeros_like(p).scatter(-1, order, p / p.sum(dim=-1, keepdim=True))


def mass_of_right(p: np.ndarray, stories: np.ndarray) -> float:
    """What is given to words that may come, place by place."""
    total = 0.0
    for one, story in zip(p, stories.tolist(), strict=True):
        does: dict[int, int] = {}
        for i, token in enumerate(story[1:], start=1):
            who = story[i - 1]
            if i % 3 == 1:
                total += one[i - 1, does[who]] if who in does else one[i - 1, 8:16].sum()
                does[who] = token
            else:
                total += one[i - 1, :8].sum() if i % 3 == 0 else one[i - 1, 16:].sum()
    return total / p[..., 0].size


def test_drawing_from_what_does_not_sum(chapter: Page) -> None:
    wrong, right = chances(chapter, "mistake-sum")
    assert wrong == [0.4, 0.3, 0, 0.3]  # 0.4, 0.3 and the missing 0.3
    assert_printed(right, [4 / 7, 3 / 7, 0, 0], 3)
    with pytest.raises(ValueError, match="probabilities must sum to 1, got"):
        sample(np.array([0.4, 0.3, 0, 0]), np.array(0.5))


# ------------------------------------------------------------------------ heads


def letters(count: int, seed: int) -> list[tuple[list[int], int]]:
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        period = chance.randint(4, 10)
        word = chance.sample(range(26), period)
        found.append(((word * 6)[:24], period))
    return found


def examined(model: LanguageModel, seed: int) -> tuple[float, list[float], list[float]]:
    """Share right, weight on letters after an earlier copy, weight on the letter before."""
    words, periods = map(np.array, zip(*letters(1000, seed), strict=True))
    logits, seen = in_torch(words[:, :-1], model)
    later = np.arange(23) >= periods[:, None]  # what came before tells the next letter
    right = (logits.argmax(dim=-1).numpy() == words[:, 1:])[later].mean()
    weights = torch.cat(seen, dim=1).numpy()  # (words, heads, i, j)
    copies = np.tril(words[:, None, :-1] == words[:, 1:, None])  # i + 1, and j up to it
    after = np.zeros_like(copies)
    after[:, 1:, 1:] = copies[:, :-1, :-1]
    hits = np.einsum("bhij,bij->h", weights, after * later[..., None]) / later.sum()
    before = weights.diagonal(-1, axis1=2, axis2=3).mean(axis=(0, 2))
    return float(right), hits.tolist(), before.tolist()


def test_words_have_random_periods(chapter: Page) -> None:
    for line in chapter.table("words"):
        word = line["letters"].split()
        assert len(word) == 24
        period = next(p for p in range(1, 24) if word[p:] == word[:-p])
        assert 4 <= period <= 10
        assert line["period"] == str(period)
        assert len(set(word[:period])) == period


def by_start(chapter: Page, block: str) -> list[list[float]]:
    """The numbers of each start, or of each model, without its name."""
    return [[float(x) for name, x in line.items() if name] for line in chapter.table(block)]


def test_induction(chapter: Page, models: dict[str, LanguageModel]) -> None:
    """The first start again, in torch, on other words; the other starts are like it."""
    two, one = models["two-layers"], models["one-layer"]
    trained = [a.size for a in parameter_arrays(two._replace(positions=None))]
    assert sum(trained) == 2 * 26 * 32 + 2 * 4 * 32**2 == 9856
    lines = chapter.table("induction")
    assert [line[""] for line in lines] == ["two layers", "one layer"]
    wide = sum(a.size for a in parameter_arrays(one._replace(positions=None)))
    assert [line["parameters"] for line in lines] == ["9,856", f"{wide:,}"]
    assert wide == 2 * 26 * 44 + 4 * 44**2 > 9856
    right_2, right_1 = ([float(x) for x in [*line.values()][2:]] for line in lines)
    assert min(right_2) > 0.99
    assert max(right_1) < 0.35
    counted = chapter.values("experiment")
    assert chapter.values("heads")[1:3] == [f"{max(right_1):.1%}", f"{min(right_2):.1%}"]
    assert chapter.values("one-layer-longer") == counted
    right, on_target, before = examined(two, 5)
    assert abs(right - right_2[0]) < 0.006
    assert abs(examined(one, 6)[0] - right_1[0]) < 0.02
    targets, previous = by_start(chapter, "by-head"), by_start(chapter, "letter-before")
    np.testing.assert_allclose(targets[0], on_target, atol=0.015)
    np.testing.assert_allclose(previous[0], before, atol=0.015)
    assert min(min(line[2:]) for line in targets) > 0.9
    assert max(max(line[:2]) for line in targets) < 0.2


def counted_alone(n: int, period: int) -> Fraction:
    """How often a guess is right that knows how often each of n letters came, and the last one."""
    left = n % period
    return Fraction(1, period - left) if left else Fraction(1, period - 1)


def test_what_counts_can_tell_on_the_page(chapter: Page) -> None:
    """On average over all words 751/1920; on a thousand of them a little more or less."""
    chances = [counted_alone(n, p) for p in range(4, 11) for n in range(p + 1, 24)]
    mean = sum(chances) / len(chances)
    assert mean == Fraction(751, 1920)
    (by_counts,) = map(float, chapter.values("experiment"))
    assert abs(by_counts - float(mean)) < 0.01
    longer, wider = chapter.table("longer")
    for line, (d, steps) in zip((longer, wider), ((44, "1,000"), (128, "600")), strict=True):
        assert line["parameters"] == f"{2 * 26 * d + 4 * d * d:,}"
        assert line["steps"] == steps
    assert 0.3 < float(longer["share of right letters"]) < by_counts
    assert by_counts < float(wider["share of right letters"]) < 0.6


@pytest.fixture(scope="module")
def right_without(models: dict[str, LanguageModel]) -> list[float]:
    """The share that is right without each head, and without those of the first layer."""
    model, found = models["two-layers"], []
    for cut in ([(0, 0)], [(0, 1)], [(1, 0)], [(1, 1)], [(0, 0), (0, 1)]):
        blocks = list(model.blocks)
        for layer, head in cut:
            W_o = blocks[layer].W_o.copy()  # type: ignore[union-attr]
            W_o[16 * head : 16 * head + 16] = 0
            blocks[layer] = blocks[layer]._replace(W_o=W_o)
        found.append(examined(model._replace(blocks=tuple(blocks)), 7)[0])
    return found


def test_ablation(chapter: Page, right_without: list[float]) -> None:
    first, *_ = by_start(chapter, "ablation")
    for right, got in zip(right_without, first, strict=True):
        assert abs(right - got) < 0.03


def test_what_the_text_says_of_heads(chapter: Page) -> None:
    """By the tables above it, which the two tests before this one hold."""
    targets, previous = by_start(chapter, "by-head"), by_start(chapter, "letter-before")
    low, high = (f(x for line in previous for x in line[:2]) for f in (min, max))
    values = chapter.values("by-head")
    assert values[0] == f"{min(min(line[2:]) for line in targets):.2f}"
    assert values[1:3] == [f"{low:.2f}", f"{high:.2f}"]
    assert 0.2 < low < high < 0.7
    table = by_start(chapter, "ablation")
    single, both = [x for line in table for x in line[:4]], [line[4] for line in table]
    assert values[3:] == [f"{x:.3f}" for x in (max(both), min(single), max(single))]
    assert max(both) < 0.3 < min(single)


def test_slider_of_heads(chapter: Page, models: dict[str, LanguageModel]) -> None:
    frames = chapter.frames("look")
    word = "horse" * 3
    ids = [ord(c) - 97 for c in word]
    p = softmax_of(ids, models["two-layers"])
    assert len(frames) == len(word)
    for i, frame in enumerate(frames):
        said = frame.caption
        assert word[: i + 1] in said
        best = int(p[i].argmax())
        assert f"{chr(97 + best)} ({p[i, best]:.2f})" in said
        if i >= 5:
            assert chr(97 + best) == word[(i + 1) % 5]


def test_one_layer_on_the_page(chapter: Page, models: dict[str, LanguageModel]) -> None:
    one, two = ([*line.values()] for line in chapter.table("one-layer"))
    assert (one, two) == (["one layer", "✓"], ["two layers", "✗"])
    ids = [ord(c) - 97 for c in "frogfrogf"]
    names = ("two-layers", "one-layer")
    for line, name in zip(chapter.table("exercise-copy"), names, strict=True):
        p = softmax_of(ids, models[name])[-1]
        wanted = [p[ord(c) - 97] for c in "frog"]
        assert_printed([float(line[c]) for c in "frog"], wanted, 2)
        assert_printed(float(line["all other letters"]), 1 - sum(wanted), 2)
    assert p[ord("o") - 97] > p[ord("r") - 97]
    assert chapter.values("exercise-copy") == [line["r"], line["all other letters"]]


def test_exercises(chapter: Page) -> None:
    (pencil,) = chapter.table("exercise-pencil")
    losses = [float(pencil[name]) for name in ("loss", "ln(8/3)")]
    assert_printed(losses, [float(mpmath.log(mpmath.mpf(8) / 3))] * 2)
    assert_printed(vector_of(pencil["gradient"]), [1 / 8, 3 / 8 - 1, 4 / 8], 3)
    assert chapter.column("exercise-perplexity", "perplexity") == [4, 8]
    (price,) = chapter.table("exercise-price")
    (kept,) = chances(chapter, "exercise-price")
    assert_printed(kept, [50 / 95, 30 / 95, 15 / 95, 0])
    assert_printed([float(price[name]) for name in ("D(r ‖ p)", "−ln 0.95")], [-math.log(0.95)] * 2)
    first, last = chances(chapter, "exercise-order")
    roots = [mpmath.sqrt(x) for x in (5, 3, 2)]
    assert (roots[0] + roots[1]) / sum(roots) < 0.75
    assert_printed(first, [float(x / sum(roots)) for x in roots], 3)
    assert_printed(last, [float(x / sum(roots[:2])) for x in roots[:2]] + [0], 3)
    wrong, right = chances(chapter, "exercise-zero")
    powers = [mpmath.exp(x) for x in (-1, -2, 0, 0)]
    assert_printed(wrong, [float(x / sum(powers)) for x in powers], 3)
    assert_printed(right, [float(x / sum(powers[:2])) for x in powers[:2]] + [0, 0], 3)
    for line, s in zip(chapter.table("exercise-new"), (1, 7), strict=True):
        sentence, formula, counted, loss = map(float, line.values())
        new = chance_of_new(8)[s]
        assert sentence == s + 1
        assert_printed(formula, float(new), 2)
        assert_printed(loss, float(new * mpmath.log(8)), 2)
        # 16,000 stories: a standard error of at most 0.004
        assert abs(counted - float(new)) < 0.02 + 0.005


def test_all_of_the_probability_keeps_all_tokens():
    """What rounding leaves of a token is kept too, and half of four alike are two."""
    unlikely = token_distribution(np.array([0.0, -40.0]), top_p=1.0)
    assert unlikely[1] == pytest.approx(math.exp(-40), rel=1e-12, abs=0)
    assert token_distribution(np.zeros(4), top_p=0.5).tolist() == [0.5, 0.5, 0.0, 0.0]


def test_sample_takes_what_rounding_leaves_and_no_more():
    u = np.zeros(1)
    for dtype, off in ((np.float32, 5e-4), (np.float64, 5e-10)):
        sample(np.array([[0.5, 0.5 - off]], dtype), u.astype(dtype))
        with pytest.raises(ValueError, match="must sum to 1"):
            sample(np.array([[0.5, 0.5 - 4 * off]], dtype), u.astype(dtype))
    # 0.4995 of 0.9995 is 0.49975: below it stands token 0.
    short = np.array([0.4995, 0.5], dtype=np.float32)
    assert sample(short, np.array(0.49965, dtype=np.float32)) == 0


def test_generate_is_at_temperature_1_unless_told():
    """Odds of e to 1: 0.73 and 0.27, at temperature 2 they are 0.62 and 0.38."""
    model = LanguageModel(np.eye(2), np.zeros((2, 2)), (), np.eye(2), num_heads=1)
    drawn = [generate(np.array([0]), model, np.array([u]))[-1] for u in (0.6, 0.7, 0.74)]
    assert drawn == [0, 0, 1]
    described = [generate(np.array([0]), model, np.array([u]), 2.0)[-1] for u in (0.6, 0.7, 0.74)]
    assert described == [0, 1, 1]


def test_a_head_of_values_that_are_wider_than_the_model():
    """Two heads of 3 components in a model of 2: three rows each."""
    attend = Parameters(np.ones((2, 4)), np.ones((2, 4)), np.ones((2, 6)), np.ones((6, 2)))
    model = LanguageModel(np.eye(2), np.zeros((3, 2)), (attend,), np.eye(2), num_heads=2)
    for head, rows_left in ((0, [0, 0, 0, 1, 1, 1]), (1, [1, 1, 1, 0, 0, 0])):
        found = without_head(model, 0, head).blocks[0].W_o
        assert found.tolist() == [[one, one] for one in rows_left]


def test_digits_of_json():
    model = LanguageModel(np.eye(1) / 3, np.ones((1, 1)), (), np.eye(1), 1)
    assert to_json(model).startswith('{"table":[[0.333333]],')
    assert to_json(model, 1).startswith('{"table":[[0.3]],')


ROOTS = [mpmath.sqrt(x) for x in (5, 3, 2)]
POWERS = [mpmath.exp(-x) for x in (0, 1, 2, 3, 4)]
ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-pencil": [
        *(mpmath.log(8) - mpmath.log(3), mpmath.log(8), 3 / 8),
        *([1 / 8, -5 / 8, 4 / 8], [1 / 8, 3 / 8, 4 / 8]),
    ],
    "exercise-perplexity": [4, 24 / 7, 2 * mpmath.log(2), 8, 2],
    "exercise-price": [
        [10 / 19, 6 / 19, 3 / 19, 0],
        [0.5, 0.3, 0.15, 0],
        [5 / 8, 3 / 8, 0, 0],
        -math.log(0.95),
    ],
    "exercise-order": [ROOTS[2] / sum(ROOTS), 0, 0.2],
    "exercise-zero": [1 / (2 + POWERS[1] + POWERS[2]), 0, POWERS[4] / sum(POWERS[1:])],
}
test_what_exercises_ask = make_test_of_asked(ASKED)


def test_a_steep_and_a_flat_direction(chapter: Page) -> None:
    """Gradient descent in powers; Adam by torch.optim."""
    curvatures = torch.tensor([1, 1e-4], dtype=torch.float64)
    rows = chapter.grid("steep-and-flat")
    for row, steps in zip(rows, (100, 1000), strict=False):
        assert row == pytest.approx([0, (1 - 1e-4) ** steps], abs=0.00051)
    for row, steps in zip(rows[2:], (100, 1000), strict=True):
        place = torch.ones(2, dtype=torch.float64, requires_grad=True)
        adam = torch.optim.Adam([place], lr=0.02, betas=(0.9, 0.99))
        fall = torch.optim.lr_scheduler.LambdaLR(adam, lambda t, n=steps: 1 - (t + 1) / n)
        for _ in range(steps):
            adam.zero_grad()
            (curvatures * place**2 / 2).sum().backward()
            adam.step()
            fall.step()
        assert row == pytest.approx(place.tolist(), abs=0.00051)
    assert chapter.values("why-adam") == [f"{(1 - 1e-4) ** 1000:.2f}"]


def test_a_falling_rate(chapter: Page) -> None:
    """Drawn, and where the rate is constant, what the text says of it."""
    draw = np.random.default_rng(5)
    rates = [np.full(2000, rate) for rate in (0.1, 0.01, 0.001)] + [np.linspace(0.02, 0, 2000)]
    found = [row[0] for row in chapter.grid("falling-rate")]
    for loss, along in zip(found, rates, strict=True):
        x = np.full(4000, 10.0)
        for rate in along:
            x = x - rate * (x + draw.standard_normal(4000))
        assert loss == pytest.approx((x**2 / 2).mean(), rel=0.08)
    assert_printed(found[:2], [rate / (2 * (2 - rate)) for rate in (0.1, 0.01)], 4)
    steady = [
        (100 * (1 - r) ** 4000 + r / (2 - r) * (1 - (1 - r) ** 4000)) / 2
        for r in np.linspace(0.001, 0.1, 2000)
    ]
    assert chapter.values("rate-falls") == [f"{min(steady):.4f}"]
    assert found[3] < min(steady)


def test_min_p(chapter: Page) -> None:
    """By hand: 0.9 + 500 · 0.1/999 is the first sum of 0.95; 1/20 of 0.9 is more than the rest."""
    assert 0.9 + 499 * 0.1 / 999 < 0.95 <= 0.9 + 500 * 0.1 / 999
    assert chapter.grid("min-p") == [[501, 1], [20, 20]]
    assert chapter.values("min-p") == ["501", "1"]
