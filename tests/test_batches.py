"""Padding and packing: by hand, by PyTorch, and each text again alone."""

from __future__ import annotations

import itertools
import json
import re
import warnings
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given
from torch import nn
from torch.nn import functional

from attention_docs.attention_function import attention
from attention_docs.batches import (
    cumulative_lengths,
    loss_rows,
    pack,
    pad,
    segment_mask,
    segment_positions,
)
from attention_docs.data import load_beginnings
from attention_docs.generation import Cache
from attention_docs.heads import FOLDER
from attention_docs.language_model import LanguageModel, generate, language_model
from attention_docs.masking import causal_mask
from attention_docs.multi_head import Parameters
from attention_docs.site.publish.measurements import measure_batch
from attention_docs.smollm2 import encode_text, load_smollm2, run_model
from attention_docs.transformer_block import BlockParameters
from tests.exact import assert_printed, make_test_of_asked
from tests.page import Page
from tests.test_heads import FILE, in_torch, needs_model, run_in_torch  # noqa: F401

KEPT = json.loads((FOLDER / "batches.json").read_text(encoding="utf-8"))
ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-positions": [3, 5, 4],
    "exercise-rows": [6 + 4 + 3, 16, 15, 17],
    "exercise-pairs": [6 + 10 + 15, 12 * 13 / 2, 9 + 16 + 25],
}
test_what_exercises_ask = make_test_of_asked(ASKED)
several_texts = st.lists(
    st.lists(st.integers(0, 6), min_size=1, max_size=5).map(np.array), min_size=1, max_size=4
)


def draw_model(n_max: int = 20) -> LanguageModel:
    """A whole block and one without LayerNorm, with random parameters."""
    rng = np.random.default_rng(5)

    def row(*shape: int) -> np.ndarray:
        return rng.normal(size=shape)

    def attend() -> Parameters:
        return Parameters(*(row(6, 6) for _ in range(4)), *(row(6) for _ in range(4)))

    blocks = (BlockParameters(attend(), row(6, 8), row(8, 6)), attend())
    return LanguageModel(row(7, 6), row(n_max, 6), blocks, row(6, 7), 2, row(6))


MODEL = draw_model()

# --- what the chapter shows -----------------------------------------------------------------------


def test_event(chapter: Page) -> None:
    signs = str.maketrans({" ": "␣", "\n": "⏎"})
    rows = chapter.table("event")
    ways = ["alone", "right", "left", "left, masked"]
    for row, way in zip(rows, ways, strict=True):
        first, probability = KEPT[way][0]["next"][0]
        assert (row["likeliest"], row["six tokens"]) == (
            first.translate(signs),
            KEPT[way][0]["text"].translate(signs),
        )
        assert float(row["probability"]) == probability
    assert chapter.values("batches")[0] == "0.806"
    assert rows[0]["likeliest"] == rows[3]["likeliest"] == "␣Paris"
    assert "10000" in rows[2]["six tokens"]  # the page speaks of it


@needs_model
def test_the_batch_is_measured_again(in_torch: Any) -> None:  # noqa: F811
    """By this code, and the first tokens by a second implementation, in PyTorch."""
    model = load_smollm2(FILE)
    measured = measure_batch(model)
    assert json.loads(json.dumps(measured)).keys() == KEPT.keys()
    for way in ("alone", "right", "left", "left, masked"):
        for one, kept in zip(measured[way], KEPT[way], strict=True):
            assert one["text"] == kept["text"]
            for (token, p), (wanted, kept_p) in zip(one["next"], kept["next"], strict=True):
                assert token == wanted
                assert abs(p - kept_p) <= 5e-3
    france, mary = ([0, *encode_text(text, model)] for text in KEPT["texts"])
    filler = [model.ids[KEPT["padding"]]] * (len(mary) - len(france))
    rows = {"alone": france, "right": france + filler, "left": filler + france}
    for way, ids in rows.items():
        logits, _ = run_in_torch(torch.tensor([ids]), in_torch)
        p = logits[0, -1].softmax(dim=-1)
        for token, kept_p in KEPT[way][0]["next"]:
            assert min(abs(p - kept_p)) <= 5e-3, (way, token)
        assert abs(p.max().item() - KEPT[way][0]["next"][0][1]) <= 5e-3


@needs_model
def test_a_cache_may_hold_padding() -> None:
    """Two steps with a cache, padded on the left, are one pass without padding."""
    model = load_smollm2(FILE)
    texts = [np.array([0, 5, 7, 11]), np.array([0, 3])]
    ids, segments = pad(texts, "left", 2)
    before = run_model(ids[:, :3], model, segments=segments[:, :3])
    assert isinstance(before.cache[0], Cache)
    after = run_model(ids[:, 3:], model, cache=before.cache, segments=segments)
    for logits, text in zip(after.logits, texts, strict=True):
        wanted = run_model(text, model).logits
        np.testing.assert_allclose(logits[-1], wanted[-1], atol=2e-3)


def run_two_layers(ids: np.ndarray, mask: Any, places: Any, kind: str) -> torch.Tensor:
    """The layers of the listing in PyTorch; pairs of components are complex numbers."""
    rng = np.random.default_rng(0)
    table = torch.tensor(rng.normal(size=(10, 8)))
    layers = torch.tensor(rng.normal(size=(2, 3, 8, 8)) / 8**0.5)
    omega = 10000.0 ** (-torch.arange(0, 8, 2) / 8)
    angles = torch.outer(torch.as_tensor(places).double(), omega.double())
    turn = torch.polar(torch.ones_like(angles), angles)
    x = table[torch.as_tensor(ids)]
    if kind == "table":
        x = x + torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    for W_q, W_k, W_v in layers:
        q, k, v = x @ W_q, x @ W_k, x @ W_v
        if kind == "RoPE":
            q, k = (
                torch.view_as_real(torch.view_as_complex(one.reshape(-1, 4, 2)) * turn).flatten(-2)
                for one in (q, k)
            )
        allowed = torch.as_tensor(np.asarray(mask))
        empty = ~allowed.any(dim=-1, keepdim=True)
        out = functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed | empty)
        x = x + out.masked_fill(empty, 0.0)
    return x


FIVE = np.array([3, 1, 4, 1, 5])
ANN, BOB = ["ann", "sings", "."], ["bob", "sleeps", "and", "eve", "runs", "."]


def test_control(chapter: Page) -> None:
    """All sixteen settings, in PyTorch, with masks and positions written down by hand."""
    triangle = torch.ones(8, 8, dtype=torch.bool).tril()
    found = {}
    for left, masked, by_token, rotated in itertools.product((0, 1), repeat=4):
        kind = ("table", "RoPE")[rotated]
        alone = run_two_layers(FIVE, triangle[:5, :5], range(5), kind)
        real = torch.arange(8) >= 3 if left else torch.arange(8) < 5
        ids = np.zeros(8, dtype=int)
        ids[real.numpy()] = FIVE
        counted = [0] * 3 + [*range(5)] if left else [*range(5)] + [0] * 3
        places = counted if by_token else [*range(8)]
        mask = triangle & real & real[:, None] if masked else triangle
        moved = (run_two_layers(ids, mask, places, kind)[real] - alone).abs().max().item()
        found[f"{1 + left} {1 + masked} {1 + by_token} {1 + rotated}"] = moved
    shown = chapter.frames("control")
    assert len(shown) == 16
    for frame, moved in zip(shown, found.values(), strict=True):
        (said,) = re.findall(r"tokens: ([\d.]+)\.$", frame.caption)
        assert_printed(float(said), moved, 2)
        harmless = frame.at[0] == "1" or moved < 1e-9
        assert harmless == (said == "0.00")
    assert [at for at, moved in found.items() if moved < 1e-9] == [
        *(at for at in found if at[0] == "1"),
        *("2 2 1 2", "2 2 2 1", "2 2 2 2"),
    ]
    assert_printed(float(chapter.values("positions")[0]), found["2 2 1 1"], 2)


def test_positions(chapter: Page) -> None:
    rows = chapter.table("positions")
    assert rows[0]["positions"] == "[0, 1, 2, 3, 4]"
    assert (rows[1]["mask"], rows[1]["positions"]) == ("[0, 0, 0, 1, 1]", "[0, 0, 0, 0, 1]")
    assert [row["token ids"] for row in rows] == ["[3, 1, 4, 1, 5]", "[0, 0, 0, 9, 2]"]


def test_generate(chapter: Page) -> None:
    """By hand: 1 after 0, 0 after 1, 2 after 2."""
    rows = chapter.table("generate")
    sides = [[row[f"padded on the {side}"] for row in rows] for side in ("right", "left")]
    assert [one[0] for one in sides] == ["[0, 2, 2, 2, 2, 2]", "[2, 2, 0, 1, 0, 1]"]
    assert {one[1] for one in sides} == {"[1, 0, 1, 0, 1, 0]"}
    assert "pad on the left, got segments that end in [0, 1]" in chapter.output("generate")


def test_packing(chapter: Page) -> None:
    beginnings = json.loads((FOLDER / "next-word.json").read_text(encoding="utf-8"))["beginnings"]
    sizes = sorted(len(one["prompt"]) for one in beginnings)
    share = 1 - sum(sizes) / (len(sizes) * sizes[-1])
    wanted = [len(sizes), sizes[0], sizes[-1], f"{100 * share:.0f}%"]
    assert [one for one in chapter.values("packing") if one.rstrip("%").isdigit()][-4:] == [
        str(one) for one in wanted
    ]


def test_packed_rows(chapter: Page) -> None:
    """By hand."""
    rows = chapter.table("packed")
    assert [row["token"] for row in rows] == [*ANN, *BOB]
    assert "".join(row["segment"] for row in rows) == "111222222"
    assert "".join(row["position"] for row in rows) == "012012345"
    assert " ".join(row["has to predict"] for row in rows) == "sings . – sleeps and eve runs . –"


def test_block_mask(chapter: Page) -> None:
    """Of the two drawings, row by row."""
    shown = re.findall(r"(?<=: )(?:(?:1|forbidden)(?:, )?){9}", chapter.figure("block-mask"))
    lower = torch.ones(9, 9).tril()
    blocks = torch.block_diag(torch.ones(3, 3), torch.ones(6, 6)) * lower
    wanted = torch.cat([lower, blocks]).tolist()
    assert [[one == "1" for one in row.split(", ")] for row in shown] == wanted


def test_leak(chapter: Page) -> None:
    first, second, other = [3, 1, 4], [1, 5, 9, 2, 6], [5, 2, 4]
    triangle = torch.ones(8, 8, dtype=torch.bool).tril()
    blocks = triangle & (torch.block_diag(torch.ones(3, 3), torch.ones(5, 5)) > 0)
    again = [*range(3), *range(5)]
    settings = [(triangle, [*range(8)]), (triangle, again), (blocks, [*range(8)]), (blocks, again)]
    for row, (mask, places) in zip(chapter.table("leak"), settings, strict=True):
        for kind in ("table", "RoPE"):
            y, z = (
                run_two_layers(np.array(one + second), mask, places, kind)[3:]
                for one in (first, other)
            )
            alone = run_two_layers(np.array(second), triangle[:5, :5], range(5), kind)
            leak, error = (y - z).abs().max().item(), (y - alone).abs().max().item()
            assert_printed(
                [float(row[f"{kind}: {one}"]) for one in ("leak", "error")], [leak, error], 2
            )


def test_cu_seqlens(chapter: Page) -> None:
    assert chapter.output("cu-seqlens").split("\n")[1].split(":")[1].strip() == "[0 3 8]"
    assert "[1 1 1 2 2 2 2 2]" in chapter.output("cu-seqlens")


def test_libraries(chapter: Page) -> None:
    """The same calls, told from each other by the outputs of explicit masks."""
    torch.manual_seed(3)
    told = {row[""]: row["what happens"] for row in chapter.table("libraries")}
    mha = nn.MultiheadAttention(6, 2, batch_first=True, dtype=torch.float64)
    x = torch.randn(2, 4, 6, dtype=torch.float64)
    zeros = torch.zeros(4, 4, dtype=torch.float64)
    future = torch.ones(4, 4, dtype=torch.bool).triu(1)
    outputs = {"causal": mha(x, x, x, attn_mask=future)[0], "not causal": mha(x, x, x)[0]}

    def name(y: torch.Tensor) -> str:
        return next(one for one, wanted in outputs.items() if torch.allclose(y, wanted))

    with pytest.raises(RuntimeError, match="Need attn_mask"):
        mha(x, x, x, is_causal=True)
    assert told["MHA, is_causal=True, training"] == "RuntimeError"
    with torch.no_grad():
        fast = mha.eval()(x, x, x, is_causal=True)[0]
    assert told["MHA, is_causal=True, evaluation"] == name(fast)
    for needed in (True, False):
        y = mha.train()(x, x, x, attn_mask=zeros, is_causal=True, need_weights=needed)[0]
        assert told[f"MHA, is_causal=True, mask of zeros, need_weights={needed}"] == name(y)
    sequences = nn.MultiheadAttention(6, 3, dtype=torch.float64)(x, x, x)[1].shape
    assert (tuple(sequences), told["MHA, input (batch, tokens, d), batch_first not given"]) == (
        (4, 2, 2),  # a map of the sequences for each token
        "attends over the batch",
    )
    assert told["MHA, need_weights=True"] == "weights (3, 5, 5)"
    assert told["MHA, average_attn_weights=False"] == "weights (3, 2, 5, 5)"
    assert told["MHA, need_weights=False"] == "None"
    assert told["encoder in evaluation, src_key_padding_mask"] == "padding comes back as 0"
    assert told["the same, enable_nested_tensor=False"] == "padding comes back as numbers"
    layer = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True, dtype=torch.float64)
    hidden = torch.arange(4) >= torch.tensor([[4], [2]])
    paths = []
    for nested in (True, False):
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=nested).eval()
            paths.append(encoder(x, src_key_padding_mask=hidden))
    assert torch.allclose(*(path[~hidden] for path in paths))
    assert [bool((path[hidden] == 0).all()) for path in paths] == [True, False]
    heads = torch.randn(2, 5, 3, 4, dtype=torch.float64)  # (batch, tokens, heads, d)
    alone = functional.scaled_dot_product_attention(*[heads[:, :1]] * 3)
    among = functional.scaled_dot_product_attention(*[heads] * 3)[:, :1]
    assert torch.allclose(alone, among)  # no token sees another
    assert told["SDPA, input (batch, tokens, heads, d)"] == "attends over the heads"
    assert chapter.values("libraries") == [torch.__version__.split("+")[0]]


def test_double_minimum(chapter: Page) -> None:
    """By hand: of min, −∞, min the first and the last share all weight."""
    for row in chapter.table("double-minimum"):
        assert [row[f"key {i}"] for i in (1, 2, 3)] == ["min", "−∞", "min"]
        assert row["weights"] == "[0.5, 0.0, 0.5]"


def test_exercises(chapter: Page) -> None:
    assert chapter.output("exercise-positions").strip() == "[0 0 0 1 2 3]"
    assert chapter.output("exercise-rows").strip() == "13"
    assert chapter.output("exercise-pairs").strip() == "31"
    assert "the causal mask: True" in chapter.output("exercise-bug")


# --- the functions --------------------------------------------------------------------------------


@given(several_texts, st.sampled_from(["left", "right"]))
def test_padding_changes_nothing(texts: list[np.ndarray], side: Any) -> None:
    """The logits of each text are those of the text alone, and no number is NaN."""
    ids, segments = pad(texts, side, padding=6)
    logits, weights = language_model(ids, MODEL, segments)
    assert np.isfinite(logits).all()
    for row, real, text in zip(logits, segments, texts, strict=True):
        wanted, _ = language_model(text, MODEL)
        np.testing.assert_allclose(row[real > 0], wanted, atol=1e-10)
    real = segments[:, None, :, None] * segments[:, None, None, :]
    assert all((one[np.broadcast_to(real == 0, one.shape)] == 0).all() for one in weights)


@given(several_texts)
def test_packed_texts_are_independent(texts: list[np.ndarray]) -> None:
    ids, segments = pack(texts)
    logits, _ = language_model(ids, MODEL, segments)
    for i, text in enumerate(texts, 1):
        np.testing.assert_allclose(
            logits[segments == i], language_model(text, MODEL)[0], atol=1e-10
        )


def test_packed_attention_in_torch() -> None:
    """Attention under the block mask, and PyTorch's on each text for itself."""
    rng = np.random.default_rng(1)
    q, k, v = rng.normal(size=(3, 9, 4))
    segments = np.repeat([1, 2, 0], [4, 3, 2])
    found, _ = attention(q, k, v, segment_mask(segments) & causal_mask(9))
    for part in (slice(0, 4), slice(4, 7)):
        tensors = [torch.tensor(one[None, part]) for one in (q, k, v)]
        wanted = functional.scaled_dot_product_attention(*tensors, is_causal=True)[0]
        np.testing.assert_allclose(found[part], wanted, atol=1e-12)
    assert (found[7:] == 0).all()


def test_a_packed_row_may_be_longer_than_a_text() -> None:
    """The table has a row for each place in a text, not for each in the row."""
    model = draw_model(n_max=3)
    ids, segments = pack([np.array([1, 2, 3]), np.array([4, 5])])
    assert language_model(ids, model, segments)[0].shape == (5, 7)
    with pytest.raises(ValueError, match="positions must be"):
        language_model(ids, model)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_generate_writes_what_each_text_gets_alone(temperature: float) -> None:
    texts = [np.array([3, 1, 4, 1, 5]), np.array([2]), np.array([6, 5])]
    ids, segments = pad(texts, "left", padding=0)
    uniforms = np.random.default_rng(0).random((3, 6))
    written = generate(ids, MODEL, uniforms, temperature, segments=segments)
    for row, text, u in zip(written, texts, uniforms, strict=True):
        alone = generate(text, MODEL, u, temperature)
        np.testing.assert_array_equal(row[len(row) - len(alone) :], alone)


def test_rope_moves() -> None:
    """Complex numbers: a common turn of query and key changes no score."""
    rng = np.random.default_rng(2)
    q, k = rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3))
    omega = 10000.0 ** (-np.arange(3) / 3)
    scores = [
        (q * np.exp(1j * omega * (7 + p)) * np.conj(k * np.exp(1j * omega * (2 + p)))).sum().real
        for p in (0, 1, 30)
    ]
    np.testing.assert_allclose(scores, scores[0], atol=1e-9)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9))
def test_segments(numbers: list[int]) -> None:
    """Mask, positions and rows of the loss, token by token; equal numbers are one text."""
    n, segments = len(numbers), np.array(numbers)
    wanted = [[one == other > 0 for other in numbers] for one in numbers]
    np.testing.assert_array_equal(segment_mask(segments), wanted)
    seen = [numbers[:i].count(one) if one else 0 for i, one in enumerate(numbers)]
    np.testing.assert_array_equal(segment_positions(segments), seen)
    follows = [i + 1 < n and numbers[i] == numbers[i + 1] > 0 for i in range(n)]
    np.testing.assert_array_equal(loss_rows(segments), follows)


@given(several_texts)
def test_loss_rows(texts: list[np.ndarray]) -> None:
    """n tokens in m texts have n - m; PyTorch's loss over these targets is that of each text."""
    ids, segments = pack(texts)
    rows = loss_rows(np.append(segments, [0, 0]))
    assert rows.sum() == len(ids) - len(texts)
    targets = torch.tensor(np.where(rows[: len(ids)], np.roll(ids, -1), -100))
    logits = torch.tensor(language_model(ids, MODEL, segments)[0])
    packed = functional.cross_entropy(logits, targets, reduction="sum", ignore_index=-100)
    apart = sum(
        functional.cross_entropy(
            torch.tensor(language_model(text, MODEL)[0][:-1]),
            torch.tensor(text[1:]),
            reduction="sum",
        )
        for text in texts
    )
    np.testing.assert_allclose(packed, apart, atol=1e-9)


@given(several_texts)
def test_cumulative_lengths(texts: list[np.ndarray]) -> None:
    starts = torch.tensor([0, *map(len, texts)]).cumsum(dim=0)
    np.testing.assert_array_equal(cumulative_lengths(pack(texts)[1]), starts)


def test_a_padding_mask_is_not_spread_over_queries() -> None:
    """Seen for lengths 3, 1, 2; for 1, 2, 3 it is the causal mask, which no function can refuse."""
    from attention_docs.multi_head import multi_head_attention

    x, p = np.ones((3, 3, 4)), Parameters(*(np.eye(4) for _ in range(4)))
    lengths = np.array([3, 1, 2])
    padding = np.arange(3) < lengths[:, None]
    with pytest.raises(ValueError, match=r"give a padding mask the shape \(batch, 1, 1, n_k\)"):
        multi_head_attention(x, x, x, p, 2, padding)
    _, weights = multi_head_attention(x, x, x, p, 2, padding[:, None, None])
    assert (weights[1, :, :, 1:] == 0).all()
    multi_head_attention(x, x, x, p, 2, causal_mask(3))
    multi_head_attention(x, x, x, p, 2, padding[None, None])


def test_positions_of_roberta(chapter: Page) -> None:
    """As transformers computes them for a padding id of 1; 514 − 4 with 3."""
    ids = torch.tensor([[3, 7, 4, 7, 5], [9, 2, 1, 1, 1]])
    mask = ids.ne(1).int()
    wanted = torch.cumsum(mask, dim=1) * mask + 1
    rows = chapter.table("padding-index")
    assert [
        [int(x) for x in re.findall(r"\d+", row["positions"])] for row in rows
    ] == wanted.tolist()
    assert [[int(x) for x in re.findall(r"\d", row["mask"])] for row in rows] == mask.tolist()
    assert chapter.values("roberta-514") == ["1", "2", "513", "514", "510"]


def test_batches_of_similar_length(chapter: Page) -> None:
    """In plain Python, from the lengths of the beginnings."""
    lengths = sorted(len(one["prompt"]) for one in load_beginnings()["beginnings"])
    places = sum(4 * max(lengths[i : i + 4]) for i in range(0, len(lengths), 4))
    shuffled, grouped = (row["filler"] for row in chapter.table("length-groups"))
    assert grouped == f"{1 - sum(lengths) / places:.0%}"
    least, most = (int(one) for one in re.findall(r"\d+", shuffled))
    assert int(grouped.rstrip("%")) < least < most < 50
