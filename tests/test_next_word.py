"""What SmolLM2 says next: cache, cuts, tokenizer and what is kept, against PyTorch and others.

`tokens.json` holds what Hugging Face's `tokenizers` 0.23.3 gives for the model's own vocabulary and
merges, with its pre-tokenizers Digits (one by one) and ByteLevel.
"""

from __future__ import annotations

import json
import math
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from attention_docs import multi_head
from attention_docs.data import load_beginnings
from attention_docs.gguf import read_gguf
from attention_docs.next_word import (
    COUNT,
    MAX_TOKENS,
    POWERS,
    Writer,
    answer,
    next_tokens,
    surprises,
    token_text,
    whole_text,
)
from attention_docs.site.publish import beginnings
from attention_docs.smollm2 import encode_text, mean_outputs, run_model
from attention_docs.tokens import byte_characters, split_words
from tests.conftest import ROOT
from tests.test_heads import FILE, make_small, needs_model, read_in_torch, run_in_torch

IDS = [3, 12, 0, 5, 5, 1, 7, 2, 11]
KEPT = load_beginnings()


def test_a_cache_changes_nothing() -> None:
    """In pieces of any size; keys of the cache stand where those of the whole text stand."""
    small, p = make_small(3)
    wanted, weights = run_in_torch(torch.tensor(IDS), p)
    for pieces in ([4, 5], [1] * 9, [7, 1, 1]):
        cache: Any = ()
        at, logits, rows = 0, [], []
        for size in pieces:
            run = run_model(np.array(IDS[at : at + size]), small, watch=[(17, 4)], cache=cache)
            one = run_model(np.array(IDS[at : at + size]), small, cache=cache, last=True)
            np.testing.assert_allclose(one.logits, run.logits[-1:], rtol=0, atol=1e-4)
            cache, at = run.cache, at + size
            logits.append(run.logits)
            rows += [np.pad(row, (0, 9 - len(row))) for row in run.seen[17, 4].weights]
        np.testing.assert_allclose(np.concatenate(logits), wanted, rtol=0, atol=2e-3)
        np.testing.assert_allclose(np.array(rows), weights[17, 4], rtol=0, atol=1e-4)


def test_parts_left_out() -> None:
    """Attention or the feed-forward network of a layer, and heads replaced by a vector."""
    small, p = make_small(4)
    rng = np.random.default_rng(4)
    vectors = {(2, 8): rng.normal(size=4), (2, 1): rng.normal(size=4), (29, 0): rng.normal(size=4)}
    cut = {one: vector.astype(np.float32) for one, vector in vectors.items()}
    skip = [(0, "attention"), (28, "feed-forward"), (5, "attention"), (5, "feed-forward")]
    in_torch = {one: torch.tensor(vector) for one, vector in cut.items()}
    whole, _ = run_in_torch(torch.tensor(IDS), p)
    for given in ({"cut": cut}, {"skip": skip}, {"cut": cut, "skip": skip}):
        theirs = {**given, "cut": in_torch} if "cut" in given else given
        wanted, _ = run_in_torch(torch.tensor(IDS), p, **theirs)
        assert (wanted - whole).abs().max() > 0.1
        logits = run_model(np.array(IDS), small, **given).logits
        np.testing.assert_allclose(logits, wanted, rtol=0, atol=2e-3)
    for wrong in [(30, "attention"), (-1, "attention"), (0, "value")]:
        with pytest.raises(ValueError, match="skip must hold"):
            run_model(np.array(IDS), small, skip=[wrong])


def test_the_mean_output_of_a_head() -> None:
    """By torch: weights times values, averaged over all tokens but the first, in layer 0."""
    small, p = make_small(5)
    means = mean_outputs(np.array(IDS), small)
    x = p["token_embd"][torch.tensor(IDS)]
    y = torch.nn.functional.rms_norm(x, x.shape[-1:], p["blk.0.attn_norm"], eps=1e-5)
    _, weights = run_in_torch(torch.tensor(IDS), p)
    values = (y @ p["blk.0.attn_v"].T).unflatten(-1, (3, 4))
    for head in range(9):
        wanted = (weights[0, head] @ values[:, head // 3])[1:].mean(dim=0)
        np.testing.assert_allclose(means[0, head], wanted, rtol=0, atol=1e-4)


@pytest.mark.parametrize("shape", [(1, 5), (7, 5), (2, 3, 5)])
def test_both_ways_to_multiply(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without BLAS, for matrices stored by rows and by columns; a large one in pieces."""
    rng = np.random.default_rng(6)
    x, W = rng.normal(size=shape), rng.normal(size=(5, 4))
    wanted = (torch.tensor(x) @ torch.tensor(W)).numpy()
    called = []
    einsum = np.einsum
    monkeypatch.setattr(np, "einsum", lambda *a, **k: called.append(a) or einsum(*a, **k))
    for has_blas in (True, False):
        monkeypatch.setattr(multi_head, "HAS_BLAS", has_blas)
        for stored in (W, np.asfortranarray(W)):
            np.testing.assert_allclose(
                multi_head.linear(x, stored, None), wanted, rtol=0, atol=1e-12
            )
    assert len(called) == 1
    monkeypatch.setattr(multi_head, "MOST", 2 * W.size)
    np.testing.assert_allclose(
        multi_head.linear(x, np.asfortranarray(W), None), wanted, rtol=0, atol=1e-12
    )
    assert len(called) == 1 + math.ceil(math.prod(shape[:-1]) / 2)


# --- tokens ---------------------------------------------------------------------------------------


@needs_model
def test_the_tokens_of_hugging_face() -> None:
    """229 texts of many scripts, marks, control characters and emoji."""
    metadata = read_gguf(FILE.read_bytes()).metadata
    model: Any = SimpleNamespace(
        ids={token: i for i, token in enumerate(metadata["tokenizer.ggml.tokens"])},
        ranks={
            tuple(one.split(" ")): rank
            for rank, one in enumerate(metadata["tokenizer.ggml.merges"])
        },
    )
    texts = json.loads((ROOT / "tests" / "tokens.json").read_text(encoding="utf-8"))
    assert len(texts) > 200
    differing = [text for text, ids in texts if encode_text(text, model) != ids]
    assert not differing


def test_numbers_stand_alone() -> None:
    """Every character of the Unicode category N, whatever it is in Python; no letter is lost."""
    assert split_words("x²½ 3Ⅷ 十二") == ["x", "²", "½", " ", "3", "Ⅷ", " 十二"]


def test_text_of_a_token() -> None:
    model: Any = SimpleNamespace(tokens=["<|endoftext|>", "Ġmat", "é", "éĶģ", "éĶ"])
    shown = [token_text(i, model) for i in range(5)]
    assert shown == ["<|endoftext|>", " mat", "⟨E9⟩", "锁", "⟨E9 94⟩"]


# --- what comes next ------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [1 / power for power in POWERS])
def test_ten_tokens_give_their_probabilities_at_a_temperature(temperature: float) -> None:
    logits = np.random.default_rng(7).normal(0, 3, 300)
    found = next_tokens(logits)
    tempered = torch.softmax(torch.tensor(logits) / temperature, dim=-1)
    wanted, ids = tempered.topk(COUNT)
    terms = np.exp(-np.array(found["nats"]) / temperature)
    rest = math.exp(found["rest"][POWERS.index(1 / temperature)])
    assert found["ids"] == ids.tolist()
    np.testing.assert_allclose(terms / (terms.sum() + rest), wanted, rtol=1e-9)


def test_next_tokens_refuse() -> None:
    with pytest.raises(ValueError, match="logits must"):
        next_tokens(np.ones((2, 30)))
    with pytest.raises(ValueError, match="count must be from 1 to 9, got 10"):
        next_tokens(np.ones(10))


def test_surprise_in_bits() -> None:
    logits = torch.randn(5, 13, generator=torch.Generator().manual_seed(8), dtype=torch.float64)
    ids = torch.tensor([1, 12, 0, 7, 7])
    losses = torch.nn.functional.cross_entropy(logits[:-1], ids[1:], reduction="none")
    found = surprises(logits.numpy(), ids.numpy())
    np.testing.assert_allclose(found, losses / math.log(2), rtol=1e-12)


@pytest.fixture
def writer() -> Writer:
    """A model with random parameters whose thirteen tokens are letters."""
    small, _ = make_small(9)
    letters = [*"abcdefghijklm"]
    return Writer(small._replace(tokens=letters, ids={one: i for i, one in enumerate(letters)}))


def ask(writer: Writer, do: str, **more: Any) -> Any:
    return json.loads(answer(writer, json.dumps({"do": do, **more})))


def test_a_reader_writes(writer: Writer) -> None:
    """Tokens, surprises, maps and next tokens by torch, with and without the cache."""
    _, p = make_small(9)
    read = ask(writer, "read", text="dcbm")
    assert [one[:2] for one in read["tokens"]] == [
        *([0, "a"], [3, "d"], [2, "c"], [1, "b"], [12, "m"])
    ]
    for cached in (True, False, True):
        likeliest = writer.last.argmax()
        said = ask(writer, "draw", uniform=0, temperature=1.0, top_k=1, cached=cached)
        assert [one[0] for one in said["tokens"]] == [likeliest]
    said = ask(writer, "append", id=6)
    ids = torch.tensor(writer.ids)
    assert len(ids) == 9
    logits, weights = run_in_torch(ids, p)
    losses = torch.nn.functional.cross_entropy(logits[:-1], ids[1:], reduction="none")
    assert writer.bits[:5] == [None] * 5  # until they are asked for
    bits = ask(writer, "bits")
    assert bits[0] is None
    np.testing.assert_allclose(bits[1:], losses / math.log(2), rtol=0, atol=1e-3)
    assert said["tokens"] == [[6, "g", bits[-1]]]
    assert said["next"]["ids"] == logits[-1].topk(COUNT).indices.tolist()
    np.testing.assert_allclose(ask(writer, "map", layer=4, head=7), weights[4, 7], atol=2e-4)
    guesses = ask(writer, "guesses")
    assert len(guesses) == 30
    assert guesses[-1][0] == said["next"]["texts"][0]
    np.testing.assert_allclose(guesses[-1][1], math.exp(-said["next"]["nats"][0]), rtol=1e-3)


def test_a_reader_takes_a_head_out(writer: Writer) -> None:
    """By 0 and by its mean over the reference text; nothing is left of it afterwards."""
    _, p = make_small(9)
    whole = ask(writer, "read", text="dcbm")["next"]
    ids = torch.tensor(writer.ids)
    changes: list[dict[str, Any]] = [
        {"heads": [[3, 8]]},
        {"skip": [[3, "attention"], [3, "feed-forward"]]},
        {"heads": [[3, 8]], "by_mean": True},
    ]
    found = ask(writer, "compare", changes=changes, head=[4, 7])
    assert found["texts"] == [writer.model.tokens[i] for i in found["ids"]]
    runs = [
        run_in_torch(ids, p, **one)
        for one in (
            {},
            {"cut": [(3, 8)]},
            {"skip": [(3, "attention"), (3, "feed-forward")]},
            {"cut": {(3, 8): torch.tensor(writer.means[3, 8])}},
        )
    ]
    for n, (logits, weights) in enumerate(runs):
        shares = logits[-1].softmax(dim=-1)
        np.testing.assert_allclose(found["shares"][n], shares[found["ids"]], rtol=0, atol=1e-3)
        np.testing.assert_allclose(found["maps"][n], weights[4, 7], rtol=0, atol=3e-4)
    assert len({tuple(one) for one in found["shares"]}) == 4
    assert ask(writer, "compare", changes=[{}])["shares"][1] == found["shares"][0]
    said = ask(writer, "append", id=6)["next"]
    assert said["nats"] == unchanged(writer, "dcbm", 6)["nats"] != whole["nats"]


def unchanged(writer: Writer, text: str, i: int) -> Any:
    ask(writer, "read", text=text)
    return ask(writer, "append", id=i)["next"]


def test_what_a_changed_model_says_instead(writer: Writer) -> None:
    """The ten of the whole model, then the five of the changed one that are not among them."""
    _, p = make_small(9)
    ask(writer, "read", text="dcbm")
    skip = [(layer, "attention") for layer in range(30)]
    ids = torch.tensor(writer.ids)
    ten, five = (
        run_in_torch(ids, p, **one)[0][-1].topk(count).indices.tolist()
        for one, count in (({}, COUNT), ({"skip": skip}, 5))
    )
    assert not set(five) <= set(ten)
    found = ask(writer, "compare", changes=[{"skip": skip}])
    assert found["ids"] == [*ten, *(i for i in five if i not in ten)]


def test_a_text_that_ends_inside_a_character() -> None:
    """By Python's own codec: the bytes of 🍕 are F0 9F 8D 95, and a lone 8D is none of a text."""
    characters = byte_characters()
    pizza = [characters[byte] for byte in "🍕".encode()]
    model = make_small(9)[0]._replace(tokens=["a", *pizza, "Ġ"])
    for count in range(5):
        text, unfinished = whole_text([0, 5, *range(1, count + 1)], model)
        assert (text, unfinished) == (
            ("a 🍕", "") if count == 4 else ("a ", "🍕".encode()[:count].hex(" ").upper())
        )
    assert whole_text([1, 2, 0, 3], model) == ("�a�", "")


@pytest.mark.parametrize(
    ("text", "count", "is_cut"),
    [("", 1, False), ("🙂", 1, False), ("ab" * 2000, MAX_TOKENS, True), ("a\ud800b", 3, False)],
)
def test_any_text_is_read(text: str, count: int, is_cut: bool, writer: Writer) -> None:
    """Nothing, no known character, far too much, half of a surrogate pair."""
    read = ask(writer, "read", text=text)
    assert (len(read["tokens"]), read["isCut"]) == (count, is_cut)


@pytest.mark.parametrize("as_chat", [False, True])
def test_a_long_text_is_read_in_parts(as_chat: bool, writer: Writer) -> None:
    """As if at once: tokens, what comes next, maps, surprises; and reading can end early."""
    marks = ["<|im_start|>", "<|im_end|>"]
    known = [*writer.model.tokens, *marks]
    ids = {one: i % 13 for i, one in enumerate(known)}
    writer = Writer(writer.model._replace(ids=ids))
    text = "dcbmkabcddca" * 2
    whole = ask(writer, "read", text=text, as_chat=as_chat)
    bits, map_ = ask(writer, "bits"), writer.map(3, 4)
    assert whole["left"] == 0
    said = ask(writer, "read", text=text, as_chat=as_chat, count=7)
    tokens = said["tokens"]
    for _ in range(9):
        assert (len(tokens), said["left"]) == (len(writer.ids), len(whole["tokens"]) - len(tokens))
        if not said["left"]:
            break
        said = ask(writer, "read_on", count=7)
        assert said["known"] == len(tokens)
        tokens += said["tokens"]
    assert len(tokens) > 21
    assert tokens == whole["tokens"]
    np.testing.assert_allclose(said["next"]["nats"], whole["next"]["nats"], atol=1e-4)
    np.testing.assert_allclose(writer.map(3, 4), map_, atol=1e-6)
    np.testing.assert_allclose(ask(writer, "bits")[1:], bits[1:], atol=1e-4)
    for cached in (True, False):
        ask(writer, "read", text=text, as_chat=as_chat, count=7)
        assert (ask(writer, "append", id=6, cached=cached)["left"], len(writer.ids)) == (0, 8)
        assert len(ask(writer, "bits")) == 8


@pytest.mark.parametrize("spacing", [(1000, 1), (0, 0), (3, -1), (0, 0.5)])
def test_a_reader_moves_the_positions(spacing: tuple[float, float], writer: Writer) -> None:
    """The map and the next tokens by torch, after a step with the cache too; a shift is nothing."""
    _, p = make_small(9)
    whole = ask(writer, "read", text="dcbmk")["next"]
    first, step = spacing
    writer.change(spacing=spacing)
    moved = {"next": next_tokens(writer.last)}
    is_same = np.allclose(moved["next"]["nats"], whole["nats"], rtol=0, atol=1e-3)
    assert is_same == (step == 1)
    for _ in range(2):
        ids = torch.tensor(writer.ids)
        positions = torch.tensor([first + step * n for n in range(len(ids))])
        wanted, weights = run_in_torch(ids, p, positions=positions)
        nats = -torch.log_softmax(wanted[-1], dim=-1).topk(COUNT).values
        np.testing.assert_allclose(moved["next"]["nats"], nats, rtol=0, atol=1e-3)
        np.testing.assert_allclose(ask(writer, "map", layer=2, head=5), weights[2, 5], atol=3e-4)
        moved = ask(writer, "append", id=4)
    with pytest.raises(ValueError, match="ids and positions must share n"):
        run_model(np.array([1, 2]), writer.whole, positions=np.ones(3, dtype=np.float32))


def test_a_reader_follows_a_neuron(writer: Writer) -> None:
    """Its activity, what it raises, and what comes next without it, by torch."""
    _, p = make_small(9)
    whole = ask(writer, "read", text="dcbm")["next"]
    ids = torch.tensor(writer.ids)
    found = ask(writer, "neuron", layer=21, neuron=5)
    rows: list[torch.Tensor] = []
    run_in_torch(ids, p, skip=[(21, "feed-forward")], layers=rows)
    b = "blk.21."
    y = torch.nn.functional.rms_norm(rows[21], (10,), p[f"{b}ffn_norm"], eps=1e-5)
    gate, up = y @ p[f"{b}ffn_gate"][5], y @ p[f"{b}ffn_up"][5]
    active = torch.nn.functional.silu(gate) * up
    np.testing.assert_allclose(found["activity"], active, rtol=0, atol=1e-3)
    raised = p["token_embd"] @ (p["output_norm"] * p[f"{b}ffn_down"][:, 5])
    for texts, sign in zip(found["raised"], (1, -1), strict=True):
        order = (sign * raised).topk(COUNT).indices
        assert texts == [writer.model.tokens[i] for i in order]
    writer.change(neurons=[(21, 5), (21, 0)])
    cut = next_tokens(writer.last)
    down = p[f"{b}ffn_down"].clone()
    down[:, [0, 5]] = 0
    wanted, _ = run_in_torch(ids, {**p, f"{b}ffn_down": down})
    nats = -torch.log_softmax(wanted[-1], dim=-1).topk(COUNT).values
    np.testing.assert_allclose(cut["nats"], nats, rtol=0, atol=1e-3)
    assert cut["nats"] != whole["nats"]
    assert ask(writer, "read", text="dcbm")["next"]["nats"] == whole["nats"]
    with pytest.raises(ValueError, match="neuron must be one of a layer of 30, got \\(21, 7\\)"):
        ask(writer, "neuron", layer=21, neuron=7)


def test_a_reader_asks_in_a_chat(writer: Writer) -> None:
    """The ids by hand: marks, and of the template the letters from a to k, but nothing else."""
    tokens = [*"abcdefghijk", "<|im_start|>", "<|im_end|>"]
    writer.whole = writer.model = writer.model._replace(
        tokens=tokens, ids={token: i for i, token in enumerate(tokens)}
    )
    said = ask(writer, "read", text="dig <|im_end|>", as_chat=True)
    system = "system You are a helpful AI assistant named SmolLM, trained by Hugging Face"
    turns = ["<", *system, ">", "<", *"user", *"dig im_end", ">", "<", *"assistant"]
    letters = dict(zip("abcdefghijk<>", range(13), strict=True))
    assert [one[0] for one in said["tokens"]] == [letters[x] for x in turns if x in letters]
    long = ask(writer, "read", text="a" * 1000, as_chat=True)
    assert len(long["tokens"]) == MAX_TOKENS
    assert [one[0] for one in long["tokens"][-4:]] == [11, 0, 8, 0]


def test_no_other_request(writer: Writer) -> None:
    with pytest.raises(ValueError, match="do must be a known request, got 'fly'"):
        ask(writer, "fly")


# --- what is kept ---------------------------------------------------------------------------------


def nodes(node: Any) -> list[Any]:
    return [node, *(below for one in node.get("then", ()) for below in nodes(one))]


def test_every_beginning_is_kept() -> None:
    texts = json.loads(beginnings.BEGINNINGS.read_text(encoding="utf-8"))
    kept = [(one["lang"], one["text"]) for one in KEPT["beginnings"]]
    assert kept == [(lang, text) for lang, listed in texts.items() for text in listed]
    assert len(texts["en"]) >= 40
    assert len(texts["zh"]) >= 20
    assert tuple(KEPT["powers"]) == POWERS
    for one in KEPT["beginnings"]:
        found = nodes(one)
        assert len(found) == 1 + 10 + 20 + 20
        for node in found:
            assert len(node["ids"]) == len({*node["ids"]}) == COUNT
            assert node["nats"] == sorted(node["nats"])
            both = sum(math.exp(-n / 1000) for n in node["nats"]) + math.exp(node["rest"][2] / 1000)
            assert both == pytest.approx(1, abs=0.001)


@needs_model
def test_beginnings_again_in_torch() -> None:
    """The ten, all their branches, the guesses after each layer and the maps of six beginnings."""
    p = read_in_torch(FILE.read_bytes())[1]
    for one in KEPT["beginnings"][:3] + KEPT["beginnings"][52:55]:
        check_nodes([(one, one["prompt"])], p)
        _, weights = run_in_torch(torch.tensor(one["prompt"]), p)
        n = len(one["prompt"])
        for (layer, head), kept in zip(KEPT["heads"], one["weights"], strict=True):
            wanted = 1000 * weights[layer, head][tuple(torch.tril_indices(n, n))]
            np.testing.assert_allclose(kept, wanted, rtol=0, atol=1)


def check_nodes(nodes: list[tuple[Any, list[int]]], p: Any) -> None:
    """Those that are as many tokens after a beginning, in one batch; then those after them."""
    logits, _ = run_in_torch(torch.tensor([ids for _, ids in nodes]), p)
    nats = -torch.log_softmax(logits[:, -1].double(), dim=-1)
    for (node, _), own in zip(nodes, nats, strict=True):
        np.testing.assert_allclose(node["nats"], 1000 * own[node["ids"]], rtol=0, atol=3)
        np.testing.assert_allclose(node["nats"], 1000 * own.sort().values[:COUNT], rtol=0, atol=3)
    after = [
        (one, [*ids, i])
        for node, ids in nodes
        for i, one in zip(node["ids"], node.get("then", ()), strict=False)
    ]
    if after:
        check_nodes(after, p)


# --- the chapter ----------------------------------------------------------------------------------


def kept(text: str) -> list[tuple[str, float]]:
    """The ten likeliest tokens and their probabilities."""
    one = next(one for one in KEPT["beginnings"] if one["text"] == text)
    return [
        (KEPT["tokens"][str(i)].strip(), math.exp(-nats / 1000))
        for i, nats in zip(one["ids"], one["nats"], strict=True)
    ]


def test_published_numbers(page: Any) -> None:
    """The beginnings as kept, which torch measures again; the parameters counted by hand."""
    chapter = page("en", "next-word")
    cat, france, zubrowka = (
        kept(f"The {text}")
        for text in ("cat sat on the", "capital of France is", "capital of Zubrowka is")
    )
    assert chapter.values("next-word")[:6] == [
        part for token, share in cat[:3] for part in (token, f"{share:.3f}")
    ]
    block = 2 * 576 * 576 + 2 * 576 * 192 + 3 * 576 * 1536 + 2 * 576
    parameters = 49152 * 576 + 30 * block + 576
    assert chapter.values("model") == [
        f"{parameters:,d}",
        "49,152",
        f"{sum(share for _, share in cat):.2f}",
        *(part for token, share in (france[0], zubrowka[0]) for part in (token, f"{share:.2f}")),
    ]
    last_two = [one["layers"][0][-2:] for one in KEPT["beginnings"]]
    turned = sum(before != answer for before, answer in last_two)  # by the last layer
    assert chapter.values("machine") == [
        *("270", "9", "30", "49,152", "576", "30", "30", "29"),
        *("60", str(turned)),
    ]
    assert chapter.values("in-short") == ["30"]
    bars = [float(x) for x in re.findall(r"\d\.\d{3}", chapter.figure("sure"))]
    assert bars == [float(f"{share:.3f}") for one in (france, zubrowka) for _, share in one[:5]]
    check_machine(chapter.figure("machine"), block, parameters)


def check_machine(said: str, block: int, parameters: int) -> None:
    """Every number that the drawing says of its parts, in their order, counted by hand."""
    attention = 2 * 576 * 576 + 2 * 576 * 192
    top = [*(6, 49152), *(6, 576, 49152 * 576), *(30, 30 * block), *(49152, 576), 0.325]
    layer = [30, *(576, 576, 576), attention, *(576, 576, 576), *(576, 1536, 576, 3 * 576 * 1536)]
    head = [9, 64, 3, 64, 3, 64, attention - 576 * 576, 9, 3, 9, 64, 576, 576 * 576]
    total = [parameters, 49152 * 576, 30, block, 576]
    numbers = [float(one.replace(",", "")) for one in re.findall(r"\d[\d,]*(?:\.\d+)?", said)]
    assert numbers[2:] == [*top, *layer, *head, *(576, 576, 576), *total]  # 2 and 135 are its name
    (cat,) = [one for one in KEPT["beginnings"][:1] if one["text"] == "The cat sat on the"]
    assert round(math.exp(-cat["nats"][0] / 1000), 3) == top[-1]


@needs_model
def test_the_guess_after_each_layer_in_torch(page: Any) -> None:
    """The final norm and the output matrix, applied to the row of each layer by torch."""
    text = "I saw a saw. The carpenter picked up the"
    (one,) = [one for one in KEPT["beginnings"] if one["text"] == text]
    p = read_in_torch(FILE.read_bytes())[1]
    rows = page("en", "next-word").table("layers")
    for row in rows:
        later = range(int(row["layer"]) + 1, 30)
        skip = [(layer, part) for layer in later for part in ("attention", "feed-forward")]
        logits, _ = run_in_torch(torch.tensor(one["prompt"]), p, skip=skip)
        probability, i = logits[-1].softmax(-1).max(dim=-1)
        assert (KEPT["tokens"][str(i.item())].strip() or "␣") == row["likeliest token"]
        assert float(row["probability"]) == pytest.approx(probability.item(), abs=0.0016)
