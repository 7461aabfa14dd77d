"""Encoders: hidden words by counting, a second training in PyTorch, norms, patches; the page."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from attention_docs.encoders import (
    batch_norm,
    cut_patches,
    encode,
    mask_words,
    resize_positions,
    visible_word,
)
from attention_docs.language_model import LanguageModel, convert, language_model
from attention_docs.masking import causal_mask
from attention_docs.multi_head import Parameters
from attention_docs.site.read.listing import read_listing
from attention_docs.transformer_block import BlockParameters, layer_norm
from tests.conftest import ROOT, scale_examples
from tests.exact import assert_printed, make_test_of_asked
from tests.page import Page
from tests.test_minilm import count_in_kept

few = scale_examples(30)
seeds = st.integers(0, 2**32 - 1)
ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-chosen": [48, 60, 320],
    "exercise-visible": [Fraction(21, 22), Fraction(1, 2), Fraction(199, 200)],
    "exercise-norm": [-3 / math.sqrt(5), -3 / 5, -1 / math.sqrt(6.5), -3 / math.sqrt(5)],
    "exercise-patches": [28 * 28, 14 * 14, 16, 4],
    "exercise-bug": [8, 4, 16],
}
test_what_exercises_ask = make_test_of_asked(ASKED)

# --- functions ------------------------------------------------------------------------------------


def test_shares_of_hidden_words() -> None:
    """Over a fine grid of lots: 12 % masked, 1.5 % another word, 1.5 % kept."""
    lots = (np.arange(200_000) + 0.5) / 200_000
    shown, chosen = mask_words(np.full(200_000, 3), lots, 9, words=5)
    assert chosen.mean() == pytest.approx(0.15, abs=1e-4)
    assert (shown == 9).mean() == pytest.approx(0.12, abs=1e-4)
    swapped = [np.mean(chosen & (shown == one)) for one in range(5)]
    assert swapped[:3] + swapped[4:] == pytest.approx([0.003] * 4, abs=1e-4)
    assert swapped[3] == pytest.approx(0.003 + 0.015, abs=1e-4)
    assert (shown[~chosen] == 3).all()


@given(seeds)
def test_words_are_drawn_from_all_words(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ids, lots = rng.integers(7, size=(3, 50)), rng.random((3, 50))
    shown, chosen = mask_words(ids, lots, 7, words=7, share=0.5)
    assert ((shown >= 0) & (shown <= 7)).all()
    np.testing.assert_array_equal(chosen, lots < 0.5)
    np.testing.assert_array_equal(shown[lots >= 0.45], ids[lots >= 0.45])
    np.testing.assert_array_equal(shown == 7, lots < 0.4)
    as_tensors, _ = mask_words(torch.tensor(ids), torch.tensor(lots), 7, 7, 0.5)
    np.testing.assert_array_equal(as_tensors, shown)


@given(seeds)
def test_visible_word_by_counting(seed: int) -> None:
    """In fractions, over all ways in which a place comes to show a word."""
    rng = np.random.default_rng(seed)
    size, shown = 4, int(rng.integers(4))
    counts = [Fraction(int(one), 1) for one in rng.integers(1, 9, size)]
    prior = [one / sum(counts) for one in counts]
    keep, swap = (Fraction(int(one), 20) for one in rng.integers(1, 9, 2))
    ways = [
        prior[t]
        * ((keep if t == shown else 0) + sum(swap / size for w in range(size) if w == shown))
        for t in range(size)
    ]
    wanted = [float(one / sum(ways)) for one in ways]
    found = visible_word(np.array(prior, dtype=float), shown, float(keep), float(swap))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


@given(seeds)
def test_no_left_reader_is_better(seed: int) -> None:
    """Over m equally likely words: the loss, and how often the likeliest word is right."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 7))
    p = rng.dirichlet(np.ones(m + 1))[:m]  # what is left over goes to other words
    assert -np.log(p).mean() >= math.log(m)
    assert np.mean([int(p.argmax()) == k for k in range(m)]) == 1 / m
    even = np.full(m, 1 / m)
    assert -np.log(even).mean() == pytest.approx(math.log(m), abs=1e-12)


def draw_model(rng: np.random.Generator, blocks: int = 2) -> LanguageModel:
    def row(*shape: int) -> np.ndarray:
        return rng.normal(size=shape)

    whole = tuple(
        BlockParameters(Parameters(*(row(6, 6) for _ in range(4))), row(6, 10), row(10, 6))
        for _ in range(blocks)
    )
    return LanguageModel(row(9, 6), row(7, 6), whole, row(6, 9), 3, row(6))


def run_in_torch(ids: Any, model: LanguageModel, mask: Any = None) -> torch.Tensor:
    """PyTorch's own encoder layers, with copied parameters; True is forbidden in its mask."""
    d, p = model.table.shape[1], convert(model, torch.tensor)
    x = functional.embedding(torch.as_tensor(ids), p.table) + p.positions[: np.shape(ids)[-1]]
    for block in p.blocks:
        a, hidden = block.attention, block.W_1.shape[1]
        options: dict[str, Any] = {"batch_first": True, "norm_first": True, "bias": False}
        layer = nn.TransformerEncoderLayer(
            d, model.num_heads, hidden, 0.0, dtype=torch.float64, **options
        ).eval()
        with torch.no_grad():
            layer.self_attn.in_proj_weight.copy_(torch.cat([a.W_q.T, a.W_k.T, a.W_v.T]))
            layer.self_attn.out_proj.weight.copy_(a.W_o.T)
            layer.linear1.weight.copy_(block.W_1.T)
            layer.linear2.weight.copy_(block.W_2.T)
            x = layer(x, src_mask=mask)
    return functional.layer_norm(x, (d,), p.gamma)


@few
@given(seeds, st.booleans())
def test_encode_like_torch(seed: int, is_causal: bool) -> None:
    rng = np.random.default_rng(seed)
    model, ids = draw_model(rng), rng.integers(9, size=(2, 5))
    mask = causal_mask(5) if is_causal else None
    wanted = run_in_torch(ids, model, ~torch.tensor(mask) if is_causal else None)
    np.testing.assert_allclose(encode(ids, model, mask), wanted, rtol=0, atol=1e-10)
    if is_causal:
        logits, _ = language_model(ids, model)
        np.testing.assert_allclose(encode(ids, model, mask) @ model.W_u, logits, atol=1e-10)


@given(seeds)
def test_batch_norm_like_torch(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = torch.tensor(rng.normal(size=(3, 4, 5)))
    own = nn.BatchNorm1d(5, affine=False, dtype=torch.float64)
    wanted = own(x.reshape(-1, 5)).reshape(3, 4, 5)
    np.testing.assert_allclose(batch_norm(x.numpy()), wanted, rtol=0, atol=1e-10)
    np.testing.assert_allclose(batch_norm(x), wanted, rtol=0, atol=1e-10)
    kept = own.running_mean, own.running_var
    evaluated = own.eval()(x[0])
    np.testing.assert_allclose(batch_norm(x[0], *kept), evaluated, rtol=0, atol=1e-10)


@given(seeds)
def test_layer_norm_does_not_see_the_batch(seed: int) -> None:
    """Bit by bit, where BatchNorm moves."""
    rng = np.random.default_rng(seed)
    x, other = rng.normal(size=(2, 4, 5))
    joined = np.concatenate([x, other])
    np.testing.assert_array_equal(layer_norm(x)[0], layer_norm(joined)[0])
    np.testing.assert_array_equal(layer_norm(x)[0], layer_norm(x[:1])[0])
    assert np.abs(batch_norm(x)[0] - batch_norm(joined)[0]).max() > 1e-6
    np.testing.assert_array_equal(batch_norm(x[:1]), np.zeros((1, 5)))  # one token: all 0
    with pytest.raises(ValueError, match="Expected more than 1 value"):
        nn.BatchNorm1d(5)(torch.zeros(1, 5))


@given(seeds)
def test_patches_are_a_convolution(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, rows, columns = (int(one) for one in rng.integers(1, 4, 3))
    image = torch.tensor(rng.normal(size=(2, rows * size, columns * size)))
    W = torch.tensor(rng.normal(size=(size * size, 5)))
    unfolded = functional.unfold(image[:, None], size, stride=size).transpose(1, 2)
    np.testing.assert_array_equal(cut_patches(image, size), unfolded)
    np.testing.assert_array_equal(cut_patches(image.numpy(), size), unfolded)
    kernels = W.T.reshape(5, 1, size, size)
    wanted = functional.conv2d(image[:, None], kernels, stride=size).flatten(2).transpose(1, 2)
    np.testing.assert_allclose(cut_patches(image, size) @ W, wanted, rtol=0, atol=1e-10)


@given(seeds)
def test_resized_positions_like_torch(seed: int) -> None:
    rng = np.random.default_rng(seed)
    height, width, rows, columns = (int(one) for one in rng.integers(1, 7, 4))
    grid = torch.tensor(rng.normal(size=(height, width, 3)))
    wanted = functional.interpolate(grid.permute(2, 0, 1)[None], (rows, columns), mode="bilinear")
    found = resize_positions(grid.numpy(), rows, columns)
    np.testing.assert_allclose(found, wanted[0].permute(1, 2, 0), rtol=0, atol=1e-12)
    assert torch.equal(resize_positions(grid, height, width), grid)


# --- the chapter ----------------------------------------------------------------------------------


def shares(figure: str) -> list[list[float]]:
    """The numbers of each series of a bar chart."""
    return [
        [float(one) for one in re.findall(r"(\d\.\d\d) for", part)]
        for part in re.split(r"reads the left side|reads both sides", figure)[1:]
    ]


def test_event(chapter: Page) -> None:
    """Four verbs are as likely as each other for the left side; the encoder knows one."""
    assert chapter.output("toy").strip().startswith("bob eats cakes . ann [MASK] letters .")
    left, both = shares(chapter.figure("toy"))
    assert len(left) == len(both) == 8
    assert all(0.15 < one < 0.35 for one in left[::2])
    assert max(left[1::2]) <= 0.01
    assert both[0] > 0.9


def test_control(chapter: Page) -> None:
    """What can be known: of a name 1/8 by the left and 1/4 by both, of a verb 1/4 and 1."""
    best = {"1 1": 1 / 8, "1 2": 1 / 4, "2 1": 1 / 4, "2 2": 1, "3 1": 1, "3 2": 1}
    best |= {"4 1": 1, "4 2": 1}
    frames = chapter.frames("control")
    assert [frame.at for frame in frames] == [*best]
    for frame in frames:
        (gets,) = re.findall(r"gets (\d\.\d\d)\.$", frame.caption)
        assert float(gets) == pytest.approx(best[frame.at], abs=0.08), frame.at
        (said,) = frame.labels
        weights, words = said.split("Matrix hidden word")
        table = [
            [float(one) for one in re.findall(r"\d\.\d\d", row)] for row in weights.split(". ")
        ]
        looked = np.array([row for row in table if len(row) == 2])
        np.testing.assert_allclose(looked.sum(axis=0), 1, rtol=0, atol=0.07)
        place = 5 + int(frame.at[0]) - 1
        assert weights.count("forbidden") == (2 * (12 - place) if frame.at[2] == "1" else 0)
        assert float(re.findall(r"\d\.\d\d", words)[0]) >= float(gets)
    verb = frames[3].labels[0].split("Matrix hidden word")[0]
    name, thing = (
        [float(one) for one in re.findall(rf"{word}: (\d\.\d\d), (\d\.\d\d)", verb)[0]]
        for word in ("ann", "letters")
    )
    assert max(name) > 0.5
    assert max(thing) > 0.5
    assert name.index(max(name)) != thing.index(max(thing))


def test_next_token(chapter: Page) -> None:
    """ln 8 for a name and ln 4 for a verb, of four tokens; copying comes to 0, and writes badly."""
    floor = (math.log(8) + math.log(4)) / 4
    assert_printed(float(chapter.values("next-token")[-1]), floor, 2)
    (causal, written), (copied, lost) = zip(
        chapter.vectors("next", "loss in training"),
        chapter.vectors("next", "loss when it writes"),
        strict=True,
    )
    np.testing.assert_allclose([causal, written], floor, rtol=0, atol=0.02)
    assert max(copied) < 0.01
    assert min(lost) > 2 * floor
    assert len(causal) == len(copied) == 3


def test_masked(chapter: Page) -> None:
    """By hand: r = 0.2 is masked, 0.84 is word 8 (0.04 · 10 · 21 = 8.4), 0.93 is kept."""
    (row,) = chapter.table("masked")
    assert row["written"] == "bob eats cakes . ann writes letters . eve bakes cakes ."
    assert row["shown to the model"].split()[:6] == [
        "bob",
        "[MASK]",
        "cakes",
        ".",
        "writes",
        "writes",
    ]
    assert row["shown to the model"].split()[6:] == row["written"].split()[6:]
    assert row["to be guessed"].split() == [
        "–",
        "eats",
        "–",
        "–",
        "ann",
        "–",
        "–",
        "–",
        "–",
        "–",
        "cakes",
        "–",
    ]


def test_visible(chapter: Page) -> None:
    """In fractions: four people, 21 words."""
    found = []
    for keep, swap in ((0.1, 0.1), (0.865, 0.015), (0.2, 0)):
        q, r = Fraction(str(keep)), Fraction(str(swap))
        found.append(float(Fraction(1, 4) * (q + r / 21) / (q / 4 + r / 21)))
    assert_printed(chapter.grid("visible"), [found], 3)
    assert_printed(float(chapter.values("masked-words")[-1]), found[0], 2)


def test_results(chapter: Page) -> None:
    """The bound 1/4 of a left reader; what is told of the three ways."""
    losses = chapter.vectors("results", "loss in training")
    verbs = chapter.vectors("results", "hidden verb gets")
    names = chapter.vectors("results", "visible name gets")
    assert all(len(row) == 3 for row in (*losses, *verbs, *names))
    assert min(verbs[0]) > 0.9
    np.testing.assert_allclose(verbs[1], 1 / 4, rtol=0, atol=0.02)
    assert all(all_count < chosen for all_count, chosen in zip(verbs[2], verbs[0], strict=True))
    assert min(verbs[2]) < 0.7
    assert max(losses[2]) < min(losses[0]) / 4 < min(losses[1]) / 4
    assert max(names[0]) < 0.88
    assert min(names[2]) > 0.97


def test_the_first_start_again_in_torch(chapter: Page) -> None:
    """PyTorch's Adam, embedding, encoder layer and cross-entropy, on lessons that are drawn again.

    Its steps are rounded otherwise, so that the models part; what they have learned agrees.
    """
    names: dict[str, Any] = {}
    sections = read_listing(ROOT / "docs" / "listings" / "encoders.py")
    exec(sections["setup"].code, names)
    exec(sections["toy"].code.split("ENCODER =")[0], names)  # without its training
    begun = convert(names["begin"](0), torch.tensor)
    block, size = begun.blocks[0], begun.table.shape[0]
    options: dict[str, Any] = {"batch_first": True, "norm_first": True, "bias": False}
    layer = nn.TransformerEncoderLayer(32, 2, 64, 0.0, dtype=torch.float64, **options)
    table = nn.Parameter(begun.table.clone())
    last = nn.LayerNorm(32, bias=False, dtype=torch.float64)
    W_u = nn.Parameter(begun.W_u.clone())
    with torch.no_grad():
        a = block.attention
        layer.self_attn.in_proj_weight.copy_(torch.cat([a.W_q.T, a.W_k.T, a.W_v.T]))
        layer.self_attn.out_proj.weight.copy_(a.W_o.T)
        layer.linear1.weight.copy_(block.W_1.T)
        layer.linear2.weight.copy_(block.W_2.T)
    everything = [table, W_u, *layer.parameters(), *last.parameters()]
    steps = torch.optim.Adam(everything, lr=0.01, betas=(0.9, 0.99))
    falling = torch.optim.lr_scheduler.LambdaLR(steps, lambda t: min(1, 2 - 2 * (t + 1) / 300))
    rng, losses = np.random.default_rng(0), []

    def run(ids: torch.Tensor) -> torch.Tensor:
        return last(layer(functional.embedding(ids, table) + begun.positions)) @ W_u

    for _ in range(300):
        ids = names["stories"](rng, 64)
        lots = rng.random(ids.shape) / 0.15
        lots[:, 0] = 9
        another = np.minimum(((lots - 0.8) * 210).astype(int), 20)
        shown = np.select([lots < 0.8, lots < 0.9], [np.full_like(ids, 21), another], ids)
        wanted = np.where(lots < 1, ids, -100)
        logits = run(torch.from_numpy(shown)).reshape(-1, size)
        loss = functional.cross_entropy(logits, torch.from_numpy(wanted).reshape(-1))
        steps.zero_grad()
        loss.backward()
        steps.step()
        falling.step()
        losses.append(loss.item())
    hidden = names["new"].copy()
    truth = torch.from_numpy(hidden[:, 6].copy())
    hidden[:, 6] = 21
    with torch.no_grad():
        p = run(torch.from_numpy(hidden))[:, 6].softmax(dim=-1)
        seen = run(torch.from_numpy(names["new"]))[:, 5].softmax(dim=-1)
    verb = p.gather(1, truth[:, None]).mean().item()
    name = seen.gather(1, torch.from_numpy(names["new"][:, 5:6])).mean().item()
    row = [chapter.vectors("results", one)[0][0] for one in (*chapter.table("results")[0],)[1:]]
    np.testing.assert_allclose(row[:2], [np.mean(losses[-30:]), verb], rtol=0, atol=0.03)
    assert row[2] == pytest.approx(name, abs=0.06)


def test_cls(chapter: Page) -> None:
    rows = dict(zip(chapter.names("cls"), chapter.vectors("cls", "right"), strict=True))
    first, mean, first_anew, mean_anew = rows.values()
    assert next(iter(rows)) == "[CLS], pre-trained"
    assert min(mean) > max(first)
    assert np.mean(first) < np.mean(first_anew)
    assert np.mean(mean_anew) > np.mean(first_anew)
    assert all(len(row) == 3 for row in rows.values())


FIRST, SECOND = [[2, 0, 4], [1, 1, 4], [3, 5, 1]], [[0, 2, 2], [4, 2, 6], [2, 2, 1]]


def test_a_mean_over_filler(chapter: Page) -> None:
    """Two of (1, 0) and two of (0, 2): a quarter of (2, 4), and half of (2, 0)."""
    means = (chapter.column("mean-padding", f"component {n}") for n in (1, 2))
    assert list(zip(*means, strict=True)) == [(0.5, 1), (1, 0)]


def test_norms(chapter: Page) -> None:
    """Component by component in fractions, and the root at the end."""
    nothing = [[0, 0, 0]] * 3

    def normed(kept: list[tuple[Any, Any]]) -> list[float]:
        return [
            float(x - mean) / math.sqrt(float(variance) + 1e-5)
            for x, (mean, variance) in zip(FIRST[0], kept, strict=True)
        ]

    def statistics(tokens: list[list[int]]) -> list[tuple[Fraction, Fraction]]:
        columns = [[Fraction(x) for x in column] for column in zip(*tokens, strict=True)]
        means = [sum(column) / len(column) for column in columns]
        return [
            (mean, sum((x - mean) ** 2 for x in column) / len(column))
            for mean, column in zip(means, columns, strict=True)
        ]

    both = statistics(FIRST + SECOND)
    wanted = [normed(statistics(one)) for one in (FIRST + SECOND, FIRST + SECOND + nothing, FIRST)]
    for count in (1, 100):
        old = Fraction(9, 10) ** count  # PyTorch begins with 0 and 1, and divides by N - 1
        wanted.append(normed([(m * (1 - old), old + (1 - old) * v * 6 / 5) for m, v in both]))
    assert_printed(chapter.vectors("norms", "BatchNorm"), wanted, 2)
    root = math.sqrt(8 / 3 + 1e-5)
    assert_printed(chapter.vectors("norms", "LayerNorm"), [[0, -2 / root, 2 / root]] * 5, 2)
    names = chapter.names("norms")
    assert names[3:] == ["in evaluation, after 1 batch", "in evaluation, after 100 batches"]


def picture() -> torch.Tensor:
    found = torch.zeros(12, 12, dtype=torch.float64)
    found[:, 4], found[7] = 1, 1
    return found


def test_picture(chapter: Page) -> None:
    said = chapter.figure("picture")
    assert "12 rows and 12 columns" in said
    assert "16 rows and 9 columns" in said
    assert "the largest is 1 (row 1, column 5)" in said
    assert "(row 2, column 2)" in said  # of the second patch the middle pixel of its first row


def test_convolution(chapter: Page) -> None:
    W = torch.tensor(np.random.default_rng(0).standard_normal((9, 8)))
    found = functional.conv2d(picture()[None, None], W.T.reshape(8, 1, 3, 3), stride=3)
    assert_printed(chapter.grid("convolution"), [found[0, :4, 0, 1].tolist()] * 2, 3)
    assert "10⁻¹²" in str(chapter.records)


def test_patch_attention(chapter: Page) -> None:
    """By PyTorch, with sinusoids written down as sines and cosines."""
    x = functional.unfold(picture()[None, None], 3, stride=3)[0].T
    places = []
    for i in range(16):
        places.append(
            [
                f(at * omega)
                for at in divmod(i, 4)
                for omega in (1, 8**-0.5)
                for f in (math.sin, math.cos)
            ]
        )
    place = torch.tensor(places, dtype=torch.float64)
    content = x - x.mean(dim=0)
    said = re.findall(r"\d\.\d\d", chapter.figure("patch-attention"))
    wanted = []
    for q in (content, place, torch.cat([content, place], dim=1)):
        scores = 3 * q[1] @ q.T / math.sqrt(q.shape[1])
        wanted += scores.softmax(dim=0).tolist()
    assert_printed([float(one) for one in said], wanted, 2)
    alike, near, both = np.reshape(wanted, (3, 4, 4))
    assert (alike[:, 1] > 3 * np.delete(alike, 1, axis=1).max()).all()
    assert near[0, 0] > near[3, 1]
    assert both[1, 1] > both[0, 0]


def test_interpolate(chapter: Page) -> None:
    """Where the centres lie by hand; the norms by hand: of sines and cosines at two places."""
    centres = [Fraction(2 * i + 1, 12) * 4 - Fraction(1, 2) for i in range(6)]
    centres = [min(max(one, Fraction(0)), Fraction(3)) for one in centres]
    norms = []
    for t in centres:
        low, f = int(t), float(t - int(t))
        along = [
            (1 - f) * np.exp(1j * w * low) + f * np.exp(1j * w * (low + 1)) for w in (1, 8**-0.5)
        ]
        norms.append(math.sqrt(2 + sum(abs(one) ** 2 for one in along)))
    rows = chapter.grid("interpolate")
    assert_printed(rows[0], [float(one) for one in centres], 2)
    assert_printed(rows[1], norms, 2)
    assert "PyTorch" in str(chapter.records)


def test_a_famous_head_of_an_encoder(chapter: Page) -> None:
    """The text beside a reader's own sentence; test_minilm.py measures it again."""
    looks, (*values, more, similarity) = count_in_kept(digits=4)
    assert chapter.values("own-sentence") == [*values, similarity, more]
    np.testing.assert_allclose(chapter.grid("own-table"), looks, rtol=0, atol=0.00501)


def test_the_index_of_an_offset(chapter: Page) -> None:
    """The matrix of a public thread (microsoft/Swin-Transformer, issue 281), and 13² and 7⁴."""
    assert chapter.grid("offsets") == [[4, 3, 1, 0], [5, 4, 2, 1], [7, 6, 4, 3], [8, 7, 5, 4]]
    assert chapter.values("window-index") == ["4", "169", "2,401"]


def test_exercises(chapter: Page) -> None:
    assert chapter.output("exercise-chosen").strip() == "60 chosen, 48 masked, 6 swapped"
    assert chapter.output("exercise-visible").strip() == "21/22"
    found = chapter.output("exercise-norm").replace("−", "-").split()
    assert_printed([float(one) for one in found], [-3 / math.sqrt(5), -1 / math.sqrt(6.5)], 3)
    assert chapter.output("exercise-patches").split() == ["196", "784", "16"]
    wrong, proper = (
        [int(one) for one in re.findall(r"\d+", row)]
        for row in re.findall(r"\[[^]]*\]", chapter.output("exercise-bug"))
    )
    assert wrong == [*range(16)]
    assert proper == [12 * i + j for i in range(4) for j in range(4)]
