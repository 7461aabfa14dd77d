"""The chapter "real-models": its numbers against mathformer's own code and against torch.

mathformer calculates in pure Python, and the tables count what it writes, with a part taken out
too. The steps on the way, which it does not show, come from a forward pass in torch below.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import combinations
from math import exp, pi
from pathlib import Path
from statistics import mean
from typing import Any

import hypothesis.strategies as st
import mathformer
import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from mathformer.llama import TinyLlama, load_safetensors
from mathformer.tokenizer import MathTokenizer

from attention_docs.heads import FOLDER as FOLDER_OF_HEADS
from attention_docs.heads import load_vectors
from attention_docs.real_models import (
    SYMBOLS,
    encode_symbols,
    load_arithmetic_model,
    read_safetensors,
)
from attention_docs.transformer_block import rms_norm, silu, swiglu
from tests.exact import assert_printed, make_test_of_asked
from tests.page import Page, parse_number

FOLDER = Path(mathformer.__file__).parent
NAMES = {"+": "addformer", "-": "subformer", "*": "mulformer", "/": "divformer"}
SIGNS = {"+": "+", "-": "−", "*": "×", "/": "÷"}
PARTS = ["nothing", "RoPE", "head 1", "head 2", "1/√d_k", "SwiGLU", "one token too many"]
TASKS = {
    "+": {f"{a}+{b}=": str(a + b) for a in range(10) for b in range(10)},
    "-": {f"{a}-{b}=": str(a - b) for a in range(10) for b in range(a + 1)},
    "*": {f"{a}*{b}=": str(a * b) for a in range(10) for b in range(10)},
    "/": {f"{a}/{b}=": "Q{}R{}".format(*divmod(a, b)) for a in range(10) for b in range(1, 10)},
}
Change = Callable[[TinyLlama], None]
seeds = st.integers(0, 2**32 - 1)


# mathformer itself, whole or without a part.


def set_turns(first: Callable[[int], float], second: Callable[[int], float]) -> Change:
    """The angles of both pairs at each place."""

    def change(model: TinyLlama) -> None:
        angles = [(first(t), second(t)) for t in range(64)]
        model._rope_cos = [tuple(np.cos(one).tolist()) for one in angles]
        model._rope_sin = [tuple(np.sin(one).tolist()) for one in angles]

    return change


def cut_head(r: int) -> Change:
    def change(model: TinyLlama) -> None:
        model._o_w = [
            [[0.0 if j // 4 == r else w for j, w in enumerate(row)] for row in layer]
            for layer in model._o_w
        ]

    return change


def forget_scale(model: TinyLlama) -> None:
    model._attn_scale = 1.0


def forget_network(model: TinyLlama) -> None:
    model._down_w = [[[0.0] * 32 for _ in range(8)]]


def average(model: TinyLlama) -> None:
    model._attn_scale = 0.0


CHANGES: dict[str, Change] = {
    "RoPE": set_turns(lambda t: 0.0, lambda t: 0.0),
    "head 1": cut_head(0),
    "head 2": cut_head(1),
    "1/√d_k": forget_scale,
    "SwiGLU": forget_network,
    "all places + 5": set_turns(lambda t: t + 5.0, lambda t: (t + 5) / 100),
    "average": average,
    # the first pair as it was: 2π for each place more is no change
    "a whole turn": set_turns(lambda t: float(t), lambda t: (1 + 2 * pi) * t / 100),
}


@cache
def reference(operation: str, part: str) -> TinyLlama:
    model = TinyLlama(str(FOLDER / NAMES[operation]))
    if part in CHANGES:
        CHANGES[part](model)
    return model


@cache
def ask(operation: str, part: str, task: str) -> str:
    """What mathformer's own code writes after a task, at most six symbols."""
    tokenizer = MathTokenizer()
    ids = [1] * (part == "one token too many")
    ids += tokenizer(task, padding=False)["input_ids"][0]
    written = reference(operation, part).generate(ids, 6, 2)
    return "".join(SYMBOLS[i] for i in written if i != 2)


def count(operation: str, part: str, length: int | None = None) -> int:
    """How many tasks it gets right, or begins right."""
    return sum(
        ask(operation, part, task)[:length] == right[:length]
        for task, right in TASKS[operation].items()
    )


def counts(part: str) -> list[int]:
    return [count(operation, part) for operation in NAMES]


# The steps, in torch.


@cache
def tensors(operation: str) -> dict[str, torch.Tensor]:
    """By the names of their modules, read by mathformer."""
    path = FOLDER / NAMES[operation] / "model.safetensors"
    return {
        name.split(".")[-2]: torch.tensor(one, dtype=torch.float64)
        for name, one in load_safetensors(str(path)).items()
    }


def trace(
    operation: str,
    symbols: list[str],
    part: str = "nothing",
    fixed: dict[int, torch.Tensor] | None = None,
    blind: int | None = None,
) -> dict[str, torch.Tensor]:
    """Each step of a forward pass over these tokens; scores and weights are those of the last.

    A head of `fixed` gives what stands there, and the head `blind` does not see the first token.
    """
    p = tensors(operation)

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        if part == "LayerNorm":
            return torch.nn.functional.layer_norm(x, (8,), p[name], eps=1e-5)
        return torch.nn.functional.rms_norm(x, (8,), p[name], eps=1e-6)

    def turned(x: torch.Tensor) -> torch.Tensor:
        """(heads, n, 4) as two complex numbers each: components 0 and 2, and 1 and 3."""
        places = torch.arange(x.shape[1], dtype=torch.float64) * (part != "RoPE")
        angles = places[:, None] * torch.tensor([1.0, 0.01], dtype=torch.float64)
        z = torch.complex(x[..., :2], x[..., 2:]) * torch.polar(torch.ones_like(angles), angles)
        return torch.cat([z.real, z.imag], dim=-1)

    ids = torch.tensor([SYMBOLS.index(one) for one in symbols])
    x = p["embed_tokens"][ids]
    y = norm(x, "input_layernorm")
    q, k, v = ((y @ p[f"{one}_proj"].T).reshape(-1, 2, 4).transpose(0, 1) for one in "qkv")
    s: dict[str, torch.Tensor] = {"x": x, "q": q, "k": k, "v": v}
    q, k = turned(q), turned(k)
    scores = q[:, -1:] @ k.transpose(1, 2) / (1 if part == "1/√d_k" else 2)
    powers = torch.exp(scores)
    if blind is not None:
        powers[blind, :, 0] = 0
    weights = powers / powers.sum(dim=-1, keepdim=True)
    o = (weights @ v)[:, 0]
    for r, output in (fixed or {}).items():
        o[r] = output
    z = x[-1] + o.flatten() @ p["o_proj"].T
    y = norm(z, "post_attention_layernorm")
    gate = y @ p["gate_proj"].T
    hidden = gate * torch.sigmoid(gate) * (y @ p["up_proj"].T)
    hidden = torch.relu(gate) if part == "ReLU" else hidden
    out = z + hidden @ p["down_proj"].T
    s |= {"turned q": q, "turned k": k, "scores": scores[:, 0], "weights": weights[:, 0]}
    logits = norm(out, "norm") @ p["lm_head"].T
    return s | {"o": o, "z": z, "hidden": hidden, "out": out, "logits": logits}


# The functions.


@pytest.mark.parametrize(("dtype", "letter"), [("F16", "e"), ("F32", "f"), ("F64", "d")])
def test_safetensors_packed_by_hand(dtype: str, letter: str) -> None:
    """Two tensors, the second of the header first in the body."""
    numbers = [1.5, -2.0, 0.25, 1024.0, -0.5, 3.0, 7.0]
    body = struct.pack(f"<7{letter}", *numbers)
    size = len(body) // 7
    header = {
        "__metadata__": {"format": "pt"},
        "late": {"dtype": dtype, "shape": [3, 2], "data_offsets": [size, 7 * size]},
        "scalar": {"dtype": dtype, "shape": [], "data_offsets": [0, size]},
    }
    packed = json.dumps(header).encode() + b"   "  # padded, as writers do
    found = read_safetensors(struct.pack("<Q", len(packed)) + packed + body)
    assert found.keys() == {"late", "scalar"}
    assert found["scalar"].tolist() == 1.5
    assert found["late"].tolist() == [[-2.0, 0.25], [1024.0, -0.5], [3.0, 7.0]]
    assert found["late"].dtype.itemsize == size


@pytest.mark.parametrize("operation", NAMES)
def test_the_models_are_those_of_mathformer(operation: str) -> None:
    path = FOLDER / NAMES[operation] / "model.safetensors"
    found, wanted = load_arithmetic_model(operation), load_safetensors(str(path))
    assert found.keys() == wanted.keys()
    for name, tensor in wanted.items():
        np.testing.assert_array_equal(found[name], np.array(tensor))


def test_a_file_with_another_hash_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mathformer"
    folder.mkdir()
    content = bytearray((FOLDER / "subformer" / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "subformer.safetensors").write_bytes(content)
    monkeypatch.setattr("attention_docs.real_models.DATA", tmp_path)
    with pytest.raises(ValueError, match=r"subformer.safetensors must have the SHA-256 c3de\w+, "):
        load_arithmetic_model("-")


def test_symbols_are_those_of_mathformer() -> None:
    tokenizer = MathTokenizer()
    assert list(SYMBOLS) == tokenizer.chars
    text = "0123456789+-*/=.()^% QR"
    assert encode_symbols(text) == tokenizer(text, padding=False)["input_ids"][0]
    assert encode_symbols("<pad><s>7</s><unk>") == [0, 1, 11, 2, 3]


@given(seeds, st.integers(1, 6))
def test_rms_norm_against_torch(seed: int, d: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(2, 3, d, dtype=torch.float64, generator=generator).requires_grad_()
    gamma = torch.randn(d, dtype=torch.float64, generator=generator)
    for scale in (None, gamma):
        got = rms_norm(x, scale, eps=0.01)
        wanted = torch.nn.functional.rms_norm(x, (d,), scale, eps=0.01)
        torch.testing.assert_close(got, wanted, rtol=0, atol=1e-12)
        up = torch.randn(2, 3, d, dtype=torch.float64, generator=generator)
        (gradient,) = torch.autograd.grad(got, x, up)
        (expected,) = torch.autograd.grad(wanted, x, up)
        torch.testing.assert_close(gradient, expected, rtol=1e-10, atol=1e-12)


def test_rms_norm_by_hand() -> None:
    """Mean square 0: ε alone stands in the root. Its default is that of Llama."""
    assert rms_norm(np.zeros(3)).tolist() == [0, 0, 0]
    np.testing.assert_allclose(rms_norm(np.array([1e-3, 1e-3])), [0.5**0.5] * 2, rtol=1e-12)


@given(st.floats(-800, 800))
def test_silu_against_mpmath(x: float) -> None:
    with mpmath.workdps(30):
        wanted = float(mpmath.mpf(x) / (1 + mpmath.exp(-mpmath.mpf(x))))
    with np.errstate(all="raise", under="ignore"):
        assert silu(np.array(x)) == pytest.approx(wanted, rel=1e-13, abs=1e-300)


@given(seeds)
def test_swiglu_against_torch(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    x, gate, up, down = (
        torch.randn(*size, dtype=torch.float64, generator=generator)
        for size in ((2, 3, 4), (4, 7), (4, 7), (7, 5))
    )
    wanted = (torch.nn.functional.silu(x @ gate) * (x @ up)) @ down
    torch.testing.assert_close(swiglu(x, gate, up, down), wanted, rtol=1e-12, atol=1e-12)


# The page.


def read_numbers(described: str) -> list[float]:
    """The numbers of the rows of all matrices in a description, and of its bars."""
    cell = r"−?\d+\.\d+"
    rows = re.findall(rf": ({cell}(?:, {cell})*)\.(?= |$)", described)
    rows = rows or re.findall(rf"(?:Bars: logit\. |; )({cell})(?= for )", described)
    return [parse_number(one) for row in rows for one in row.split(", ")]


def read_frames(chapter: Page, block: str) -> Iterator[tuple[Any, list[list[float]]]]:
    """The frames of a stepper, each with the numbers of its drawings."""
    for frame in chapter.frames(block):
        yield frame, [read_numbers(label) for label in frame.labels]


def flat(*parts: torch.Tensor) -> list[float]:
    return [one for part in parts for one in part.flatten().tolist()]


def test_hook(chapter: Page) -> None:
    """The whole file, in its order: where its extremes stand, by their place among the numbers."""
    content = (FOLDER / "subformer" / "model.safetensors").read_bytes()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    numbers = struct.unpack(f"<{(len(content) - start) // 4}f", content[start:])
    assert chapter.values("picture")[0] == f"{len(numbers):,}" == "1,480"
    described = chapter.figures["out-hook"]
    for value in (min(numbers), max(numbers)):
        row, column = divmod(numbers.index(value), 40)
        text = f"{value:.1f}".replace("-", "−")
        assert f"{text} (row {row + 1}, column {column + 1})" in described


def test_file(chapter: Page) -> None:
    content = (FOLDER / "subformer" / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + size])
    del header["__metadata__"]
    wanted = [
        {
            "": name.removesuffix(".weight"),
            "shape": " × ".join(map(str, one["shape"])),
            "numbers": str((one["data_offsets"][1] - one["data_offsets"][0]) // 4),
        }
        for name, one in header.items()
    ]
    assert chapter.table("models") == wanted
    assert len(wanted) == 12


def test_every_answer_is_that_of_mathformer(chapter: Page) -> None:
    """345 of 345, symbol by symbol, against its own forward pass and against the truth."""
    lines = chapter.files["answers.txt"].splitlines()
    written = dict(line.partition("=")[::2] for line in lines)
    tasks = {task: right for each in TASKS.values() for task, right in each.items()}
    assert {f"{one}=": two for one, two in written.items()} == tasks
    for operation, each in TASKS.items():
        assert {task: ask(operation, "nothing", task) for task in each} == each
    assert chapter.values("reader") == [str(len(tasks))] == ["345"]
    assert chapter.grid("right") == [[100, 55, 100, 90]] * 2


def test_follow(chapter: Page) -> None:
    """Every number of the 16 frames, and what the captions say."""
    frames = list(read_frames(chapter, "follow"))
    assert len(frames) == 16
    for t, written in enumerate(("4", "</s>")):
        symbols = [*"7-3=", "4"][: 4 + t]
        s, plain = trace("-", symbols), trace("-", symbols)

        def side_by_side(x: torch.Tensor) -> torch.Tensor:
            return x.transpose(0, 1).flatten(1)

        logits = s["logits"]
        bars = flat(logits[[2, *range(4, 14), 25, 26]])
        wanted = [
            [flat(s["x"])],
            [flat(plain["q"][:, -1]), flat(side_by_side(s["k"])), flat(side_by_side(s["v"]))],
            [flat(s["turned q"][:, -1]), flat(side_by_side(s["turned k"]))],
            [flat(s["turned q"][:, -1]), flat(side_by_side(s["turned k"])), flat(s["scores"])],
            [flat(s["scores"]), flat(s["weights"])],
            [flat(side_by_side(s["v"])), flat(s["o"]), flat(s["z"])],
            [flat(s["z"]), flat(s["hidden"]), flat(s["out"])],
            [bars],
        ]
        for (frame, drawings), exact in zip(frames[8 * t : 8 * t + 8], wanted, strict=True):
            assert len(drawings) == len(exact), frame.at
            for got, right in zip(drawings, exact, strict=True):
                tolerance = 0.0501 if right is bars else 0.00501
                np.testing.assert_allclose(got, right, rtol=0, atol=tolerance)
        captions = [frame.caption for frame, _ in frames[8 * t : 8 * t + 8]]
        looked = [symbols[i] for i in s["weights"].argmax(dim=-1).tolist()]
        assert f"head 1 puts most weight on “{looked[0]}”" in captions[4].lower()
        assert f"head 2 on “{looked[1]}”" in captions[4]
        share = torch.softmax(logits, dim=-1).max().item()
        assert f"“{written}”, with probability {share:.4f}" in captions[7]
        assert SYMBOLS[int(logits.argmax())] == written


def test_logits_of_digits(chapter: Page) -> None:
    """How often the winner's neighbours come next, and how often the logits are a hill."""
    close = hills = 0
    for task in TASKS["-"]:
        logits = trace("-", list(task))["logits"][4:14].tolist()
        best = logits.index(max(logits))
        near = {one for one in (best - 1, best + 1) if 0 <= one <= 9}
        ranked = sorted(range(10), key=lambda digit: -logits[digit])
        close += set(ranked[1 : 1 + len(near)]) == near
        left, right = logits[: best + 1], logits[best:]
        hills += left == sorted(left) and right == sorted(right, reverse=True)
    assert len(TASKS["-"]) == 55
    assert chapter.values("follow")[:3] == ["345", str(close), str(hills)]


def test_all_weights_are_shown(chapter: Page) -> None:
    p = tensors("-")
    shown = {
        "weights-embedding": {"E": p["embed_tokens"]},
        "weights-attention": {
            f"W_{one.upper()}": p[f"{one}_proj"].T for one in ("q", "k", "v", "o")
        },
        "weights-network": {
            "W_gate, transposed": p["gate_proj"],
            "W_up, transposed": p["up_proj"],
            "W_down": p["down_proj"].T,
        },
        "weights-norms": {
            "γ of the three RMSNorm": torch.stack(
                [p["input_layernorm"], p["post_attention_layernorm"], p["norm"]]
            )
        },
        "weights-logits": {"W_U, transposed": p["lm_head"]},
    }
    total = 0
    for block, matrices in shown.items():
        for name, wanted in matrices.items():
            figure = chapter.figures[f"out-{block}"]
            described = re.search(rf"Matrix {re.escape(name)}, \d+ .*?(?= Matrix |$)", figure)
            assert described, figure
            got = read_numbers(described[0])
            np.testing.assert_allclose(got, flat(wanted), rtol=0, atol=0.00501)
            total += len(got)
    assert total == 1480


def test_ablation(chapter: Page) -> None:
    """What mathformer's own code gets right without each part."""
    wanted = {part: counts(part) for part in PARTS}
    assert chapter.names("ablation") == PARTS
    assert chapter.grid("ablation") == list(wanted.values())
    assert chapter.values("ablation")[0] == str(wanted["RoPE"][0])
    frames = list(read_frames(chapter, "control"))
    assert len(frames) == len(PARTS)
    for part, (frame, _) in zip(PARTS, frames, strict=True):
        bars, seen = frame.labels
        shares = [100 * n / len(TASKS[one]) for one, n in zip(NAMES, wanted[part], strict=True)]
        assert [float(one) for one in re.findall(r"(\d+) for ", bars)] == [
            float(f"{share:.0f}") for share in shares
        ]
        front = ["<s>"] if part == "one token too many" else []
        s = trace("-", [*front, *"7-3="], part)
        np.testing.assert_allclose(read_numbers(seen), flat(s["weights"]), rtol=0, atol=0.00501)
        said = ask("-", part, "7-3=") or "</s>"
        assert f"7-3= gives “{said}”" in frame.caption


def solve(operation: str, task: Iterable[str], right: str, **settings: Any) -> bool:
    """Whether each symbol of the right answer and then the end are the likeliest, one by one."""
    symbols = list(task)
    for symbol in [*right, "</s>"]:
        if SYMBOLS[int(trace(operation, symbols, **settings)["logits"].argmax())] != symbol:
            return False
        symbols.append(symbol)
    return True


def test_other_norm_and_network(chapter: Page) -> None:
    """Counted in torch: all parts as they were trained, LayerNorm, and ReLU."""
    wanted = [
        [
            sum(solve(op, task, right, part=part) for task, right in TASKS[op].items())
            for op in NAMES
        ]
        for part in ("nothing", "LayerNorm", "ReLU")
    ]
    found = [list(row.values())[1:] for row in chapter.table("our-parts")]
    assert [[int(cell) for cell in row] for row in found] == wanted
    logits = trace("-", list("7-3="), part="LayerNorm")["logits"]
    said = [SYMBOLS[int(logits.argmax())], *(str(row[1]) for row in wanted[1:])]
    total = str(sum(len(tasks) for tasks in TASKS.values()))
    assert chapter.values("parts") == [total, *said]


def test_a_heads_mean_instead_of_it(chapter: Page) -> None:
    """Outputs from "=" on, averaged over all tasks; the text says which heads are needed."""
    wanted = []
    for r in range(2):
        row = []
        for operation, tasks in TASKS.items():
            outputs = [
                trace(operation, [*task, *right[:i]])["o"][r]
                for task, right in tasks.items()
                for i in range(len(right) + 1)
            ]
            fixed = {r: torch.stack(outputs).mean(dim=0)}
            row.append(sum(solve(operation, *one, fixed=fixed) for one in tasks.items()))
        wanted.append(row)
    assert chapter.grid("mean-ablation") == [counts("nothing"), *wanted]
    assert wanted[1][0] == 100
    assert max(*wanted[0], *wanted[1][1:]) < 30


def test_both_orders_get_the_same_answer(chapter: Page) -> None:
    for operation in NAMES:
        for a, b in combinations(range(10), 2):
            one, other = (f"{x}{operation}{y}=" for x, y in ((a, b), (b, a)))
            assert ask(operation, "RoPE", one) == ask(operation, "RoPE", other)
    wanted = [ask(one, "RoPE", f"7{one}3=") or "</s>" for one in NAMES]
    rows = chapter.table("order")
    assert [row["7 first"] for row in rows] == [row["3 first"] for row in rows] == wanted
    assert chapter.names("order") == list(SIGNS.values())
    assert wanted[2].startswith("21")
    assert wanted[2] != "21"
    whole, begun = str(count("*", "RoPE")), str(count("*", "RoPE", 1))
    products = count_begun("*")
    assert chapter.values("first-symbol") == [whole, begun, str(products), str(100 - products)]


def count_begun(operation: str) -> int:
    """How many answers without RoPE begin with all of the right answer."""
    return sum(
        ask(operation, "RoPE", task)[: len(right)] == right
        for task, right in TASKS[operation].items()
    )


def test_first_symbol(chapter: Page) -> None:
    firsts, wholes = (
        [make(one) for one in NAMES] for make in (lambda one: count(one, "RoPE", 1), count_begun)
    )
    assert chapter.grid("first-symbol") == [firsts, wholes, counts("RoPE"), counts("nothing")]
    # What the text says: most failures still find the product.
    assert wholes[2] - counts("RoPE")[2] > 100 - wholes[2]


def weight_on_numbers(part: str) -> list[float]:
    """Of "=" in all differences: head 1 on the second number, head 2 on the first."""
    seen = [trace("-", list(task), part)["weights"] for task in TASKS["-"]]
    return [mean(one[0, 2].item() for one in seen), mean(one[1, 0].item() for one in seen)]


def test_what_the_heads_lose_without_places(chapter: Page) -> None:
    whole, lost = weight_on_numbers("nothing"), weight_on_numbers("RoPE")
    assert chapter.values("heads")[:2] == [f"{whole[0]:.2f}", f"{lost[0]:.2f}"]
    assert chapter.values("heads")[3:] == [f"{lost[1]:.2f}", f"{whole[1]:.2f}"]


def weights_of_equals(operation: str) -> np.ndarray:
    """(task, head, token)."""
    return np.array([trace(operation, list(task))["weights"].numpy() for task in TASKS[operation]])


def test_heads(chapter: Page) -> None:
    seen = weights_of_equals("-")
    wanted = [row for r in (0, 1) for row in (seen[:, r].mean(axis=0), seen[:, r].std(axis=0))]
    np.testing.assert_allclose(chapter.grid("heads"), wanted, rtol=0, atol=0.00501)


def test_heads_cut(chapter: Page) -> None:
    wanted = []
    for part in ("nothing", "head 1", "head 2"):
        answers = {task: ask("-", part, task) for task in TASKS["-"]}
        shares = []
        for place in (0, 2):
            pairs = [
                answers[one] == answers[other]
                for one, other in combinations(answers, 2)
                if one[place] == other[place]
            ]
            shares.append(sum(pairs) / len(pairs))
        wanted.append(shares)
    np.testing.assert_allclose(chapter.grid("heads-cut"), wanted, rtol=0, atol=0.00501)
    assert chapter.values("heads")[2] == f"{wanted[2][1]:.0%}"
    assert wanted[0] == [0, 0]


def test_shift_changes_nothing(chapter: Page) -> None:
    parts = ["nothing", "all places + 5", "one token too many"]
    wanted = [counts(part) for part in parts]
    assert wanted[0] == wanted[1] != wanted[2]
    assert chapter.grid("shift") == wanted


def test_pencil(chapter: Page) -> None:
    s = trace("-", list("9-2="))
    scores, weights = s["scores"][1].tolist(), s["weights"][1].tolist()
    wanted = [scores, [exp(one) for one in scores], weights]
    np.testing.assert_allclose(chapter.grid("exercise-pencil"), wanted, rtol=0, atol=0.00501)
    total = sum(wanted[1])
    assert chapter.values("exercise-pencil-head")[:1] == [f"{total:.1f}"]
    given_numbers = [8.21, 0.91, 0.54, 3.13]  # in the text of the exercise
    np.testing.assert_allclose(wanted[1], given_numbers, rtol=0, atol=0.00501)


def test_count(chapter: Page) -> None:
    assert chapter.grid("exercise-count") == [[432, 256, 768, 24, 1480]]


def test_addition_averages(chapter: Page) -> None:
    seen = weights_of_equals("+")
    wanted = [row for r in (0, 1) for row in (seen[:, r].mean(axis=0), seen[:, r].std(axis=0))]
    np.testing.assert_allclose(chapter.grid("exercise-addition"), wanted, rtol=0, atol=0.000501)
    assert np.abs(seen[:, 0] - 0.25).max() < 0.005


def test_addition_behind_a_start_token(chapter: Page) -> None:
    """All sums are right again if head 1 alone does not see it."""
    wanted = [
        sum(solve("+", ["<s>", *task], right, blind=blind) for task, right in TASKS["+"].items())
        for blind in (None, 0, 1)
    ]
    assert chapter.grid("exercise-addition-start") == [[one] for one in wanted]
    assert wanted == [0, 100, 0]


def test_bound(chapter: Page) -> None:
    right = TASKS["/"]
    pairs = [right[f"{a}/{b}="] != right[f"{b}/{a}="] for a, b in combinations(range(1, 10), 2)]
    assert all(pairs)
    assert chapter.grid("exercise-bound") == [[90, 36, 90 - 36]]
    assert count("/", "RoPE") <= 54


def test_outside(chapter: Page) -> None:
    tasks = ["12-5=", "18-9=", "3-7=", "20-5=", "7-3"]
    assert chapter.names("exercise-outside") == tasks
    wanted = [ask("-", "nothing", task) or "</s>" for task in tasks]
    assert [row["written"] for row in chapter.table("exercise-outside")] == wanted
    assert wanted[:3] == ["7", "9", "</s>"]
    for a in range(10, 19):
        assert [ask("-", "nothing", f"{a}-{b}=") for b in range(10)] == [
            str(a - b) for b in range(10)
        ]


def test_averaging(chapter: Page) -> None:
    assert chapter.grid("averaging") == [counts("average")]


def test_transposed(chapter: Page) -> None:
    """Rows of the combined matrix of q, k and v, which already holds the scales of RMSNorm."""
    wanted = []
    for which in "qkvo":
        row = []
        for operation in NAMES:
            model = TinyLlama(str(FOLDER / NAMES[operation]))
            scale = tensors(operation)["input_layernorm"]
            matrix = tensors(operation)[f"{which}_proj"].T
            if which == "o":
                model._o_w = [matrix.tolist()]
            else:
                start = 8 * "qkv".index(which)
                model._qkv_w[0][start : start + 8] = (matrix * scale).tolist()
            tokenizer = MathTokenizer()
            found = 0
            for task, right in TASKS[operation].items():
                ids = tokenizer(task, padding=False)["input_ids"][0]
                written = model.generate(ids, 6, 2)
                found += "".join(SYMBOLS[i] for i in written if i != 2) == right
            row.append(found)
        wanted.append(row)
    assert chapter.grid("exercise-transpose") == wanted
    assert [row[0] for row in wanted] == [100, 100, wanted[2][0], wanted[3][0]]


def test_whole_turn(chapter: Page) -> None:
    assert chapter.grid("whole-turn") == [counts("a whole turn")]


# Heads of a language model. What was kept is measured again in tests/test_heads.py.

KEPT = json.loads((FOLDER_OF_HEADS / "heads.json").read_text(encoding="utf-8"))
LOSSES = KEPT["losses"]
DRAWS = [one for name, one in LOSSES.items() if name.startswith("draw ")]


def test_scores(chapter: Page) -> None:
    """The strongest head of each picture, and the numbers of the sentence below."""
    repeated, control = (KEPT[f"induction{one}"] for one in ("", " without repetition"))
    described = chapter.figures["out-scores"]
    best = max(max(row) for row in repeated)
    layer = next(i for i, row in enumerate(repeated) if best in row)
    assert (layer, repeated[layer].index(best)) == (18, 6)
    assert f"the largest is {best:.2f} (6, column 19)" in described
    many = sum(score > 0.5 for row in repeated for score in row)
    worst = max(max(row) for row in control)
    assert chapter.values("language-model")[:3] == [str(many), f"{best:.2f}", f"{worst:.2f}"]
    assert worst < 0.05


def test_names(chapter: Page) -> None:
    """What the text says of the ten sentences, from the file itself."""
    people = KEPT["names"]
    names = [one["name"] for one in people]
    assert chapter.names("names") == names
    assert len({*names}) == 10
    wanted = [[one["weight"], one["whole"], one["induction"], mean(one["draws"])] for one in people]
    assert chapter.names("names-written") == names
    assert chapter.grid("names-written") == [[one["place"]] for one in people]
    np.testing.assert_allclose(chapter.grid("names"), wanted, rtol=0, atol=0.00501)
    assert_printed([row[0] for row in chapter.grid("names")], [one["weight"] for one in people], 3)
    near = [one["place"] <= 50 for one in people]
    assert [one["place"] for one in people].count(1) == 1  # "once it is the very first"
    assert all(one["induction"] < one["whole"] for one in people)  # "loses in all ten"
    each = [mean(draw) for draw in zip(*(one["draws"] for one in people), strict=True)]
    looks = [one["weight"] for one in people]
    said = [min(looks), max(looks)]
    lost = [mean([one[name] for one in people]) for name in ("whole", "induction")]
    assert chapter.values("names")[:10] == [
        names[0],
        names[0].split()[0],
        *(f"{one:.3f}" for one in said),
        *(f"{one:.2f}" for one in (*lost, mean(each), min(each))),
        str(sum(near)),
        str(10 - sum(near)),
    ]
    assert sum(one < lost[1] for one in each) == 1  # "one of them"


def test_cuts(chapter: Page) -> None:
    means = [mean(one) for one in DRAWS]
    rows = [
        LOSSES["whole"],
        LOSSES["induction"],
        LOSSES["previous token"],
        [mean(each) for each in zip(*DRAWS, strict=True)],
        DRAWS[means.index(max(means))],
        DRAWS[means.index(min(means))],
    ]
    wanted = [[*row, mean(row)] for row in rows]
    np.testing.assert_allclose(chapter.grid("cuts"), wanted, rtol=0, atol=0.00501)
    said = [f"{mean(LOSSES[one]):.2f}" for one in ("whole", "induction")]
    trophy = [f"{one:.2f}" for one in KEPT["pronouns"]["looks"][0]]
    back = [KEPT["induction"][layer][head] for layer, head in KEPT["chosen"]["previous token"]]
    kinds = ("induction", "whole", "previous token")
    *on_text, without_before = [f"{KEPT['losses on a text'][one]:.2f}" for one in kinds]
    right = [mean(LOSSES["whole"]), max(means), mean(LOSSES["induction"])]  # e^−loss in percent
    percent = [f"{100 * exp(-loss):.{n}f}" for loss, n in zip(right, (1, 1, 2), strict=True)]
    below = sum(one < mean(LOSSES["whole"]) for one in means)
    draws = [f"{max(means):.2f}", *percent, f"{below}", *on_text, f"{max(back):.3f}"]
    assert chapter.values("cut-heads")[:11] == [*said, *draws, without_before]
    assert max(back) < 0.01
    assert chapter.values("pronoun")[:2] == trophy
    assert len(DRAWS) == 10
    assert below == 2
    firsts = mean(KEPT["losses of the first copy"]["whole"])
    evenly = f"{float(mpmath.log(49_152)):.2f}"
    assert chapter.values("real-models")[:4] == [f"{firsts:.2f}", said[0], evenly, "270"]
    # What the text says of them: no draw comes near, and one is below the whole model.
    assert max(means) + 3 < mean(LOSSES["induction"]) < mean(LOSSES["previous token"])
    assert sum(one < mean(LOSSES["whole"]) - 1 for one in means) == 1


def who_is_right() -> list[list[bool]]:
    """For each pair, whether the right noun in the place of "it" makes both endings likelier."""
    return [
        [first[0] < first[1], second[1] < second[0]]
        for first, second in KEPT["pronouns"]["substituted"]
    ]


def flatten(rows: list[list[bool]]) -> list[bool]:
    return [one for row in rows for one in row]


def test_the_row_of_a_pronoun(chapter: Page) -> None:
    """Right in one sentence of each pair; the model in more than half of them."""
    right, weights = who_is_right(), KEPT["pronouns"]["looks"]
    rows = chapter.table("pronoun")
    assert len(rows) == 12
    for row, (one, other), knows in zip(rows, weights, right, strict=True):
        assert row["weight on noun 1"] == f"{one:.2f}"
        assert row["weight on noun 2"] == f"{other:.2f}"
        words = ["right" if known else "wrong" for known in knows]
        assert [row["model, version 1"], row["model, version 2"]] == words
    assert KEPT["pronouns"]["difference"] < 1e-5
    both, none = (sum(test(one) for one in right) for test in (all, lambda one: not any(one)))
    first, second = map(sum, zip(*right, strict=True))
    said = [sum(flatten(right)), both, both, none, second, first]
    assert chapter.values("pairs")[:6] == list(map(str, said))
    undecided = [abs(one - other) < 0.01 for one, other in weights]
    assert sum(undecided) == 1


def test_end_head(chapter: Page) -> None:
    found = KEPT["pronouns"]
    rows = chapter.table("end-head")
    assert [row["right"] for row in rows] == [
        *map(str, found["end right"]),
        f"{found['end mean']:.1f}",
    ]
    assert {row["sentences"] for row in rows} == {"12"}
    assert chapter.values("pairs")[6:] == ["270"]
    assert found["end right"][1] <= found["end mean"]


def test_prompts(chapter: Page) -> None:
    wanted = [[f"“{token}”", f"{share:.4f}"] for _, token, share in KEPT["prompts"]]
    rows = chapter.table("prompts")
    assert [[row["likeliest token"], row["probability"]] for row in rows] == wanted
    assert wanted[:2] == [["“ Paris”", "0.7725"], ["“ Mary”", "0.9229"]]


def test_each_head(chapter: Page) -> None:
    wanted = []
    for kind in ("induction", "previous token"):
        for layer, head in KEPT["chosen"][kind]:
            scores = [KEPT[f"{kind}{one}"][layer][head] for one in ("", " without repetition")]
            wanted.append([*scores, mean(LOSSES[f"{layer}.{head}"])])
    np.testing.assert_allclose(chapter.grid("each-head"), wanted, rtol=0, atol=0.00501)
    first, evenly = mean(KEPT["losses of the first copy"]["whole"]), float(mpmath.log(49_152))
    on_text = KEPT["losses on a text"]
    whole, *cut = (on_text[one] for one in ("whole", "induction", "previous token"))
    by_draw = [on_text[f"draw {i}"] for i in range(1, 11)]
    said = [mean(LOSSES["whole"]), whole, *cut, min(by_draw), max(by_draw)]
    assert chapter.values("each-head") == [f"{one:.2f}" for one in said]
    assert first > evenly + 3  # a model that guesses would do better there
    assert max(abs(one - whole) for one in cut) < 0.05 < max(by_draw) - whole < 0.15
    assert wanted[1][2] - mean(LOSSES["whole"]) < 0.2  # the second induction head


def test_first_token(chapter: Page) -> None:
    layers = [mean(row) for row in KEPT["sink"]]
    evenly = mean(1 / n for n in range(2, 82))
    wanted = [[one] for one in (mean(layers), max(layers), min(layers), evenly)]
    np.testing.assert_allclose(chapter.grid("first-token"), wanted, rtol=0, atol=0.00501)
    most, least = (layers.index(one) for one in (max(layers), min(layers)))
    assert chapter.names("first-token")[1:3] == [
        f"layer {most}, the most",
        f"layer {least}, the least",
    ]
    assert chapter.values("first-token") == [f"{KEPT['after sink']:.4f}"]


def real_map(name: str, without: str) -> torch.Tensor:
    """The map of a head from its kept vectors, with complex numbers for RoPE."""
    q, k = (torch.from_numpy(one) for one in load_vectors(*map(int, name.split("."))))
    n = len(q)
    places = torch.arange(n)
    places = {"RoPE": 0 * places, "the order": 7 * places % n}.get(without, places)
    angles = torch.outer(places.double(), 100000.0 ** (-torch.arange(32).double() / 32))
    turn = torch.polar(torch.ones_like(angles), angles)
    q, k = (torch.view_as_complex(one.reshape(n, 32, 2).contiguous()) * turn for one in (q, k))
    scores = (q @ k.conj().T).real / (1 if without == "1/√d_k" else 8)
    if without != "the mask":
        scores = scores.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -torch.inf)
    return scores.softmax(dim=-1)


SETTINGS = ["nothing", "1/√d_k", "the mask", "RoPE", "the order"]


def test_real_head(chapter: Page) -> None:
    """All parts taken out of both heads, and what the text says of them."""
    seen = {}
    for name in ("18.6", "16.0"):
        for without in SETTINGS:
            a = real_map(name, without)
            n = len(a)
            seen[name, without] = [
                mean(a[i, i - n // 2 + 1].item() for i in range(n // 2, n)),
                mean(a[i, i - 1].item() for i in range(1, n)),
                mean(a[1:, 0].tolist()),
                a.triu(1).sum(dim=1).mean().item(),
                mean(a[1:].amax(dim=1).tolist()),
            ]
    assert chapter.names("all-settings") == [f"{name} without: {one}" for name, one in seen]
    grid = chapter.grid("all-settings")
    np.testing.assert_allclose(grid, list(seen.values()), rtol=0, atol=0.00501)
    assert seen["16.0", "RoPE"][1] < 0.1 < 0.7 < seen["16.0", "nothing"][1]
    assert seen["18.6", "nothing"][0] - seen["18.6", "RoPE"][0] < 0.1
    assert min(seen[one, "the mask"][3] for one in ("18.6", "16.0")) > 0.05
    assert min(seen[one, "1/√d_k"][4] for one in ("18.6", "16.0")) > 0.97


def test_map_of_a_real_head(chapter: Page) -> None:
    """The largest weight, and where it is."""
    described = chapter.figures["out-real-head"]
    a = real_map("18.6", "RoPE")[16:26]
    row, column = divmod(int(a.argmax()), a.shape[1])
    label = str(column) if column % 5 == 0 else f"column {column + 1}"
    word = KEPT["words"][16 + row].strip()
    assert f"the largest is {a.max():.2f} ({word}, {label})" in described


def test_score_by_pencil(chapter: Page) -> None:
    wanted = [[(0.8 + 0.5 + 0.2) / 3, (0.5 + 0.2 + 0 + 0 + 0.3) / 5]]
    np.testing.assert_allclose(chapter.grid("exercise-score"), wanted, rtol=0, atol=1e-9)


def test_impostor(chapter: Page) -> None:
    assert chapter.grid("exercise-impostor") == [[1, 1, 0]]


POWERS = [8.21, 0.91, 0.54, 3.13]  # given in the exercise
AGAIN = [exp(power) for power in POWERS]
ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-count": [4 * 64, 3 * 64, 3 * 8 * 32, 2 * 8 * 32, 1480, 1480 - 27 * 8],
    "exercise-pencil-head": [
        [power / sum(POWERS) for power in POWERS],
        [power / sum(AGAIN) for power in AGAIN],
    ],
    "exercise-bound": [90 - 36, 36, 90 - 72],
    "exercise-outside": [18 - 9],
    "exercise-score": [(0.8 + 0.5 + 0.2) / 3, (0.5 + 0.2 + 0.3) / 5, (0.5 + 0.2 + 0.3) / 3],
    "exercise-impostor": [1],
}
test_what_exercises_ask = make_test_of_asked(ASKED)
