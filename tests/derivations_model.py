"""What the symbols of derivations stand for in the chapters on models: see tests/derivations.py.

What a page defines, such as the logits of a decoder, is what the package computes; what it claims,
such as a gradient, comes from a source of its own: complex steps, enumeration, or a plain sum.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from attention_docs.attention_function import attention
from attention_docs.cross_attention import DecoderParameters, decoder_block
from attention_docs.generation import acceptance
from attention_docs.generation import residual as missing
from attention_docs.in_context import in_context_layer
from attention_docs.in_pieces import piece
from attention_docs.kernels import kernel_smoothing
from attention_docs.language_model import LanguageModel, cross_entropy, language_model
from attention_docs.language_model import token_distribution as cut_to
from attention_docs.long_sequences import alibi_bias, ntk_base
from attention_docs.masking import causal_mask
from attention_docs.memory import elu_plus_one, extended_state, update_by_delta_rule
from attention_docs.multi_head import Parameters, multi_head_attention
from attention_docs.positions import frequencies
from attention_docs.precision import gamma, round_to, rounded_product
from attention_docs.transformer_block import (
    BlockParameters,
    encoder_block,
    feed_forward,
    layer_norm,
    rms_norm,
    silu,
    swiglu,
)
from tests import derivations
from tests.derivations import Both, Draw, Names, number, row, slope, softmax


def steepest(loss: Callable[[np.ndarray], Any], at: np.ndarray) -> np.ndarray:
    """The gradient, by complex steps: exact but for the last digits, and blind to every rule."""
    found = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        moved = at.astype(complex)
        moved[place] += 1e-30j
        found[place] = np.imag(loss(moved)) / 1e-30
    return found


def entropy(weights: Any, *more: float) -> float:
    p = np.append(np.asarray(weights, dtype=float).ravel(), more)
    return number(-(p * np.log(p)).sum())


# --- batches


def moved(rng: np.random.Generator) -> Names:
    """RoPE, with some places of padding."""
    return derivations.sinusoidal(rng) | {"p": int(rng.integers(1, 5))}


def numbered_by_mask(rng: np.random.Generator) -> Names:
    m, j = rng.integers(0, 2, 6), int(rng.integers(6))
    m[j] = 1
    tokens = [place for place in range(6) if m[place]]
    t = np.array([[tokens.index(place) if m[place] else np.nan for place in range(6)]])
    return {"m": m[None].astype(float), "t": t, "j": j, "l": 0, "sizes": {"l": 6}}


# --- maps


def rolled(rng: np.random.Generator) -> Names:
    first, second = (softmax(row(rng, 3, 3)) for _ in range(2))
    below, mixed = ((one + np.eye(3)) / 2 for one in (first, second))
    return {"A_l": second, "B_l": mixed, "I": np.eye(3), "R_l": mixed @ below, "R_l-1": below}


def explained(rng: np.random.Generator) -> Names:
    """A number that depends on two outputs through a curve; slopes by small steps."""
    a, v, w, i, j = softmax(row(rng, 2, 3)), row(rng, 3, 4), row(rng, 4), 1, 2
    unit = np.zeros((2, 3))
    unit[i, j] = 1

    def outputs(step: float) -> np.ndarray:
        moved: np.ndarray = (a + step * unit) @ v
        return moved

    o = outputs(0.0)
    g = (1 - np.tanh(o) ** 2) * w
    phrases = {
        "\\frac{\\partial y}{\\partial a_{ij}}": slope(
            lambda step: number((np.tanh(outputs(step)) @ w).sum()), 0.0
        ),
        "\\frac{\\partial o_i}{\\partial a_{ij}}": slope(lambda step: outputs(step)[i][None], 0.0),
    }
    names = {"a": a, "v": v, "g": g, "o": o, "i": i, "j": j, "phrases": phrases}
    return names | {"sizes": {"j": 3}}


def patched(rng: np.random.Generator) -> Names:
    """A patch that goes a third of the way."""
    own, other = rng.normal(size=2)
    names = {"y_own": own, "y_other": other, "y_patched": own + (other - own) / 3}
    return names | {"phrases": {"{effect}": 1 / 3}}


# --- a language model


def chained(rng: np.random.Generator) -> Names:
    """All sequences of three tokens of two kinds, with a probability each; one of them."""
    table = softmax(row(rng, 8)).reshape(2, 2, 2)
    t = (1, 0, 1)

    def beginning(n: int) -> float:
        return number(table[t[:n]].sum())

    phrases = {
        "P(t_1, \\dots, t_n)": beginning(3),
        "P(t_{i+1} \\mid t_1, \\dots, t_i)": lambda names: (
            beginning(names["i"] + 2) / beginning(names["i"] + 1)
        ),
        "P(t_1)": beginning(1),
    }
    return {"phrases": phrases, "n": 3, "i": 0, "sizes": {"i": 3}}


def decoder(rng: np.random.Generator) -> Names:
    """Two whole blocks in pre-norm order; the stream after each, and the package's logits."""
    d, words, n, heads = 4, 5, 6, 2

    def block() -> BlockParameters:
        four = Parameters(*(row(rng, d, d) for _ in range(4)))
        return BlockParameters(four, row(rng, d, 7), row(rng, 7, d))

    blocks = (block(), block())
    model = LanguageModel(row(rng, words, d), row(rng, n, d), blocks, row(rng, d, words), heads)
    model = model._replace(gamma=1 + row(rng, d) / 10)
    t = rng.integers(0, words, n)
    logits, _ = language_model(t, model)
    into = np.eye(d, words)  # as the first logits, the stream itself
    streams = [
        language_model(t, model._replace(blocks=blocks[:layer], W_u=into, gamma=None))[0][:, :d]
        for layer in range(3)
    ]

    i, j = 2, 3
    return {
        "x": lambda i: lambda layer: streams[layer][i][None], "X": lambda layer: streams[layer],
        "E": model.table, "p": model.positions, "t": t[None], "l": 2, "L": 2,
        "Block_l": lambda x: encoder_block(x, blocks[1], heads, causal_mask(n), norm_first=True),
        "LN": lambda x: layer_norm(x, model.gamma), "W_U": model.W_u, "Z": logits,
        "softmax": softmax, "i": i, "j": j,
        "phrases": {"P(t_{i+1} = j \\mid t_1, \\dots, t_i)": cut_to(logits)[i, j]},
    }  # fmt: skip


def loss(rng: np.random.Generator) -> Names:
    z = row(rng, 1, 5)
    t, j = 3, 3 if z[0, 1] > 0 else 1  # the right one in some draws

    def of(z: np.ndarray) -> Any:
        return np.log(np.exp(z).sum()) - z[0, t]

    return {
        "z": z, "t": t, "j": j, "l": 0, "y": np.eye(5)[t][None],
        "\\ell": number(cross_entropy(z, np.array([t]))), "softmax": softmax,
        "sizes": {"j": 5, "l": 5},
        "phrases": {"\\frac{\\partial \\ell}{\\partial z_j}": steepest(of, z)[0, j]},
    }  # fmt: skip


def routes(rng: np.random.Generator) -> Names:
    """The loss of z = x W_U, by complex steps of x."""
    x, W, y, c = row(rng, 1, 4), row(rng, 4, 5), np.eye(5)[[3]], 1

    def of(x: np.ndarray) -> Any:
        z = x @ W
        return np.log(np.exp(z).sum()) - z[0, 3]

    return {
        **{"x": x, "W_U": W, "z": x @ W, "y": y, "c": c, "softmax": softmax, "sizes": {"j": 5}},
        "phrases": {"\\frac{\\partial \\ell}{\\partial x_c}": steepest(of, x)[0, c]},
    }


def source(rng: np.random.Generator) -> Names:
    """The model gives a tenth to what never comes."""
    pi = softmax(row(rng, 1, 4))
    return {
        "\\pi": pi, "p": 0.9 * softmax(row(rng, 1, 4)), "H": entropy, "j": 0, "sizes": {"j": 4},
    }  # fmt: skip


def stories(rng: np.random.Generator) -> Names:
    """The entropy of a story, by going through all sets of names that may have come."""
    w = np.arange(1, 9) ** -1.0
    w /= w.sum()
    seen, total = {frozenset(): 1.0}, 7 * entropy(w) + 8 * entropy([0.25, 0.75])
    for _ in range(8):
        after: dict[frozenset[int], float] = {}
        for names, p in seen.items():
            for i, chance in enumerate(w):
                total += p * chance * np.log(8) * (i not in names)
                after[names | {i}] = after.get(names | {i}, 0.0) + p * chance
        seen = after
    sizes = {"i": 8, "s": 8}
    return {"H": Both(total / 23, entropy), "w": w[None], "i": 0, "s": 0, "sizes": sizes}


def keep_three_words(rng: np.random.Generator) -> Names:
    """Three of five words kept; p_S is what the package makes of them."""
    logits = np.sort(row(rng, 5))[::-1].copy()
    p, kept, r = softmax(logits), [0, 1, 2], softmax(row(rng, 3))

    def distance(other: np.ndarray) -> float:
        return number((r * np.log(r / other[kept])).sum())

    return {
        "p": lambda where: number(p[where].sum()),
        "r": r[None],
        "phrases": {
            "D(r \\,\\|\\, p)": distance(p),
            "D(r \\,\\|\\, p_S)": distance(cut_to(logits, top_k=3)),
        },
        "S": kept,
        "j": 0,
        "sets": {"S": ("j", kept)},
    }


# --- cross-attention


def reading(rng: np.random.Generator) -> Names:
    T, X = row(rng, 2, 5), row(rng, 4, 3)
    W_Q, W_K, W_V = row(rng, 5, 2), row(rng, 3, 2), row(rng, 3, 6)
    outputs, weights = attention(T @ W_Q, X @ W_K, X @ W_V)
    names = {"T": T, "X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "O": outputs, "A": weights}
    return names | {"Q": T @ W_Q, "K": X @ W_K, "V": X @ W_V, "d_k": 2, "softmax": softmax}


def among_all(rng: np.random.Generator) -> Names:
    """Self-attention over source and target, whose rows may see the source alone."""
    n_x, n = 3, 5
    q, k, v = row(rng, n, 2), row(rng, n, 2), row(rng, n, 4)
    mask = np.ones((n, n), bool)
    mask[n_x:, n_x:] = False
    return {
        "o": attention(q, k, v, mask)[0], "s": q @ k.T / 2**0.5, "v": v, "i": n_x + 1, "j": 0,
        "l": 0, "sets": {"X": ("j", range(n_x))},
    }  # fmt: skip


def reordered(rng: np.random.Generator) -> Names:
    t, x, W_V = row(rng, 2, 3), row(rng, 4, 3), row(rng, 3, 2)
    order = rng.permutation(4)
    names = {"o": attention(t, x, x @ W_V)[0], "o'": attention(t, x[order], x[order] @ W_V)[0]}
    return names | {
        "s": lambda t, x: number(t @ x.T) / 3**0.5, "t": t, "x": x, "W_V": W_V,
        "\\pi": lambda j: order[round(j)], "i": 1, "j": 0, "m": 0, "sizes": {"j": 4, "m": 4},
    }  # fmt: skip


def three_sublayers(rng: np.random.Generator) -> Names:
    d, n, heads = 4, 3, 2
    t, X = row(rng, n, d), row(rng, 5, d)
    itself, other = (Parameters(*(row(rng, d, d) for _ in range(4))) for _ in range(2))
    W_1, W_2 = row(rng, d, 6), row(rng, 6, d)
    gammas, betas = (tuple(row(rng, d) for _ in range(3)) for _ in range(2))
    parameters = DecoderParameters(itself, other, W_1, W_2, gammas=gammas, betas=betas)

    def attend(asking: np.ndarray, read: np.ndarray) -> np.ndarray:
        own = np.array_equal(asking, read)
        mask = causal_mask(n) if own else None
        p = itself if own else other
        return multi_head_attention(asking, read, read, p, heads, mask)[0]

    def norm(r: int) -> Callable[[np.ndarray], np.ndarray]:
        return lambda x: layer_norm(x, gammas[r], betas[r])

    z = norm(0)(t + attend(t, t))
    return {
        "t": t, "X": X, "z": z, "u": norm(1)(z + attend(z, X)),
        "y": decoder_block(t, X, parameters, heads, causal_mask(n))[0],
        "norm first": decoder_block(t, X, parameters, heads, causal_mask(n), norm_first=True)[0],
        "MHA": attend, "FFN": lambda x: feed_forward(x, W_1, W_2),
        **{f"LN_{r + 1}": norm(r) for r in range(3)},
    }  # fmt: skip


def two_sequences(rng: np.random.Generator) -> Names:
    names = reading(rng)
    by_output = row(rng, 2, 6)

    def by(name: str) -> np.ndarray:
        def loss(at: np.ndarray) -> Any:
            w = names | {name: at}
            Q = at if name == "Q" else w["T"] @ w["W_Q"]
            K = at if name == "K" else w["X"] @ w["W_K"]
            V = at if name == "V" else w["X"] @ w["W_V"]
            return (by_output * (softmax(Q @ K.T / 2**0.5) @ V)).sum()

        return steepest(loss, names[name])

    return names | {f"d{one}": by(one) for one in ("T", "X", "W_Q", "W_K", "W_V", "Q", "K", "V")}


def wanted_token(rng: np.random.Generator) -> Names:
    o = row(rng, 1, 4)
    y, c = 2, 2 if o[0, 1] > 0 else 1  # the right one in some draws
    slopes = steepest(lambda z: -np.log(np.exp(z[0, y]) / np.exp(z).sum()), o)
    return {
        "o": o, "p": softmax(o), "y": y, "c": c, "sizes": {"b": 4},
        "phrases": {"\\frac{\\partial (-\\ln p_y)}{\\partial o_c}": slopes[0, c]},
    }  # fmt: skip


# --- generation


def decoding(rng: np.random.Generator) -> Names:
    n, P, d = (int(one) for one in rng.integers(2, 9, 3))
    return {"n": n, "P": P, "d": d, "t": 0, "sizes": {"t": n}, "counting": {"t"}}


def dropped(rng: np.random.Generator) -> Names:
    """With the first key, and attention to the others alone."""
    q, k, v = row(rng, 1, 3), row(rng, 4, 3), row(rng, 4, 2)
    (o, a), (rest, others) = attention(q, k, v), attention(q, k[1:], v[1:])
    names = {"s": q @ k.T / 3**0.5, "v": v, "o": o, "a": a, "o'": rest}
    return names | {"a'": np.hstack([[[0.0]], others]), "j": 2, "l": 0, "sizes": {"j": 4, "l": 4}}


def guessed(rng: np.random.Generator) -> Names:
    """What is written, over every draft and every fate of it, with the package's two rules."""
    p, q = softmax(row(rng, 4)).tolist(), softmax(row(rng, 4)).tolist()
    x = int(rng.integers(4))
    kept, after = acceptance(p, q), missing(p, q)
    written = q[x] * kept[x] + sum(q[y] * (1 - kept[y]) * after[x] for y in range(4))
    return {
        "p": lambda one: p[one], "q": lambda one: q[one], "x": x, "y": 0, "sizes": {"y": 4},
        "phrases": {"\\Pr({written} = x)": written},
    }  # fmt: skip


# --- in pieces


def halves(rng: np.random.Generator) -> Names:
    """One query; keys 1 and 2, keys 3 to 5, and all of them."""
    q, k, v = row(rng, 1, 3), row(rng, 5, 3), row(rng, 5, 2)
    s = q @ k.T / 3**0.5
    places = {"A": [0, 1], "B": [2, 3, 4], "A\\cupB": [0, 1, 2, 3, 4]}
    names: Names = {"s": s, "v": v, "j": 0, "sets": {one: ("j", places[one]) for one in "AB"}}
    for one, which in places.items():
        m, total, o = piece(q, k[which], v[which])
        end = f"_{one}" if one in "AB" else ""
        names |= {f"m{end}": number(m), f"\\ell{end}": number(total), f"o{end}": o}
        names |= {f"L_{one}": number(np.exp(s[0, which]).sum()), f"o_{one}": o}
    return names


def recomputed(rng: np.random.Generator) -> Names:
    n, d = 4, 3
    S, V, dO = row(rng, n, n), row(rng, n, d), row(rng, n, d)
    A = softmax(S)
    dA = dO @ V.T
    return {
        "a": A, "v": V, "dO": dO, "o": A @ V, "dA": dA,
        "dS": steepest(lambda S: (dO * (softmax(S) @ V)).sum(), S),
        "\\delta": np.array([[number(dA[i] @ A[i]) for i in range(n)]]), "i": 1, "j": 2,
        "sizes": {"j": n},
    }  # fmt: skip


def rebracketed(rng: np.random.Generator) -> Names:
    q, k, v, i = row(rng, 5, 3), row(rng, 5, 3), row(rng, 5, 2), int(rng.integers(1, 5))

    def state(i: int) -> np.ndarray:
        return extended_state(elu_plus_one(k[: i + 1]), v[: i + 1]).matrix

    names = {"q": q, "k": k, "v": v, "S": state, "\\varphi": elu_plus_one, "i": i, "j": 0}
    return names | {"sizes": {"j": 5}}


def corrected(rng: np.random.Generator, beta: float = 0.7) -> Names:
    """A state under the delta rule, with keys of any length."""
    q, k, v, i = row(rng, 1, 3), row(rng, 5, 3), row(rng, 5, 2), int(rng.integers(1, 5))

    def state(i: int) -> np.ndarray:
        return update_by_delta_rule(k[: i + 1], v[: i + 1], rate=beta)

    return {"q": q, "k": k, "v": v, "S": state, "\\beta": beta, "i": i}


def overwritten(rng: np.random.Generator) -> Names:
    """The same with keys of length 1 and the rate 1."""
    names = corrected(rng, beta=1.0)
    names["k"] /= np.linalg.norm(names["k"], axis=1, keepdims=True)
    return names


def recalled(rng: np.random.Generator) -> Names:
    """Values of signs, in all cases; any state reads them back no better than a projection."""
    n, f, d_v = 4, 2, 2
    features = row(rng, n, f)
    onto = features @ np.linalg.pinv(features)
    signs = itertools.product((-1.0, 1.0), repeat=n * d_v)
    cases = [(0.5 ** (n * d_v), {"V": np.array(one).reshape(n, d_v)}) for one in signs]
    return {
        "cases": cases, "V": row(rng, n, d_v), "\\Phi": features, "S": row(rng, f, d_v),
        "\\Pi": onto, "I": np.eye(n), "tr": lambda one: number(np.trace(one)), "d_v": d_v, "n": n,
        "f": f,
    }  # fmt: skip


# --- long sequences


def diluted(rng: np.random.Generator) -> Names:
    n, s, g = 6, number(rng.normal()), number(rng.uniform(0, 3))
    weights = softmax(np.array([s + g, *[s] * (n - 1)]))
    return {"a": number(weights[0]), "n": n, "s": s, "g": g}


def slowed(rng: np.random.Generator) -> Names:
    d, base, factor = 8, 100.0, number(rng.uniform(1, 5))
    slower = ntk_base(base, d, factor)
    both = {"\\omega": frequencies(d, base)[None], "\\omega'": frequencies(d, slower)[None]}
    return both | {"base": base, "base'": slower, "\\lambda": factor, "d": d, "i": 2}


def partly_slowed(rng: np.random.Generator) -> Names:
    """Hands after 318, 32, 3 and 0.3 turns: as fast as they were, or slower, or in between."""
    speeds, factor = frequencies(8, 10000.0), number(rng.uniform(1, 5))
    turns = 2000 * speeds / (2 * np.pi)
    share = np.interp(turns, [1, 32], [0, 1])
    names = {"\\omega": speeds, "r": turns, "\\gamma": share}
    names["\\omega'"] = speeds * share + speeds / factor * (1 - share)
    return {name: one[None] for name, one in names.items()} | {"\\lambda": factor, "i": 2}


def fading(rng: np.random.Generator) -> Names:
    """Scores between s and s + c, with ALiBi's bias; far keys at their best in one draw of two."""
    t, w, m, s, c = 9, 4, number(rng.uniform(0.1, 1)), number(rng.normal()), 1.5
    scores = s + c * rng.uniform(size=(t + 1, t + 1))
    if rng.integers(2):
        scores = s + c * (np.arange(t + 1) <= t - w) * np.ones((t + 1, 1))
    weights = softmax(scores + alibi_bias(np.array([m]), t + 1)[0])
    names = {"a": weights, "t": t, "u": 0, "w": w, "m": m, "s": s, "c": c}
    return names | {"\\Delta": 0, "sizes": {"u": t + 1, "\\Delta": t + 1}}


def marked(rng: np.random.Generator) -> Names:
    """A mark and then equal tokens, under a causal mask with any parameters."""
    x = np.vstack([row(rng, 1, 3), np.repeat(row(rng, 1, 3), 5, axis=0)])
    W_Q, W_K, W_V = row(rng, 3, 2), row(rng, 3, 2), row(rng, 3, 4)
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    o, a = attention(q, k, v, causal_mask(6))
    g = number(q[1] @ (k[1] - k[0])) / 2**0.5
    return {"a": a, "o": o, "t": 4, "g": g, "v_0": v[:1], "v_1": v[1:2]}


# --- precision


def rounded(rng: np.random.Generator) -> Names:
    """A number of e4m3 and its neighbourhood: any x from 2^e to 2^(e + 1)."""
    p, e = 4, int(rng.integers(-4, 6))
    x = number(rng.uniform(2.0**e, 2.0 ** (e + 1)))
    return {"p": p, "e": e, "x": x, "fl": lambda x: number(round_to(np.array(x), "float8_e4m3fn"))}


def stuck(rng: np.random.Generator) -> Names:
    return {"p": 8, "fl": lambda x: number(round_to(np.array(x), "bfloat16"))}


def roundings(rng: np.random.Generator) -> Names:
    """Some errors at their worst."""
    n, u = 20, 2.0**-8
    delta = rng.choice([-u, u, u, number(rng.uniform(-u, u))], size=(1, n))
    return {
        "n": n, "u": u, "\\delta": delta, "\\gamma_n": gamma(n, "bfloat16"), "i": 0,
        "sizes": {"i": n},
    }  # fmt: skip


def rounded_dot(rng: np.random.Generator) -> Names:
    d, name = 16, "bfloat16"
    q, k = (round_to(row(rng, 1, d), name) for _ in range(2))
    error = abs(number(rounded_product(q, k.T.copy(), name)) - number(q @ k.T))
    lhs = "\\lvert \\operatorname{fl}(q \\cdot k) - q \\cdot k \\rvert"
    names = roundings(rng) | {"q": q, "k": k, "d_k": d, "sizes": {"i": d}, "phrases": {lhs: error}}
    return names | {"\\gamma_d_k": gamma(d, name)}


def wrong_scores(rng: np.random.Generator) -> Names:
    delta, s = 0.1, row(rng, 1, 5)
    each = delta * rng.choice([-1.0, 1.0], size=5)
    return {
        "s": s, "a": softmax(s), "\\hat a": softmax(s + each),
        "\\delta": Both(delta, lambda j: number(each[j])), "j": 2, "l": 0, "sizes": {"l": 5},
    }  # fmt: skip


def both_move(rng: np.random.Generator) -> Names:
    d, g, eta = 4, number(rng.normal()), 0.3
    q, k = row(rng, 1, d), row(rng, 1, d)
    by_q, by_k = (
        steepest(lambda one, other=other: g * (one @ other.T).sum() / d**0.5, at)
        for at, other in ((q, k), (k, q))
    )
    after = number((q - eta * by_q) @ (k - eta * by_k).T) / d**0.5
    names = {"q": q, "k": k, "g": g, "\\eta": eta, "d_k": d}
    return names | {"s": number(q @ k.T) / d**0.5, "s'": after}


# --- real models


def normed_by_root(rng: np.random.Generator) -> Names:
    gamma = row(rng, 1, 5)
    names: Names = {"x": row(rng, 1, 5), "d": 5, "c": 2, "\\gamma": gamma, "\\varepsilon": 0.2}
    return names | {"RMSNorm": lambda x: rms_norm(x, gamma[0], 0.2), "sizes": {"e": 5}}


def gated(rng: np.random.Generator) -> Names:
    """The product by components stands for the whole of what it joins; SiLU by its formula."""
    y, W_gate, W_up, W_down = row(rng, 3, 2), row(rng, 2, 5), row(rng, 2, 5), row(rng, 5, 2)
    u = number(row(rng, 1))
    product = y @ W_gate / (1 + np.exp(-(y @ W_gate))) * (y @ W_up)
    found: Names = {
        "y": y, "u": u, "W_down": W_down, "SwiGLU": lambda y: swiglu(y, W_gate, W_up, W_down),
    }  # fmt: skip
    found |= {"SiLU": lambda u: number(silu(np.array(u)))}
    return found | {"phrases": {"\\operatorname{SiLU}(y W_{gate}) \\odot y W_{up}": product}}


def unordered(rng: np.random.Generator) -> Names:
    """The last output of the package's attention, without positions, under a causal mask."""
    n, d = 4, 3
    x, W_Q, W_K, W_V = row(rng, n, d), row(rng, d, 2), row(rng, d, 2), row(rng, d, 5)
    o, a = attention(x @ W_Q, x @ W_K, x @ W_V, causal_mask(n))
    return {
        "o": o, "a": a, "x": x, "i": n - 1,
        "s": lambda one, other: number((one @ W_Q) @ (other @ W_K).T / 2**0.5),
        "v": lambda one: one @ W_V, "sizes": {"i": n, "j": n},
    }  # fmt: skip


def one_block(rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """The logits after the last of some tokens: two heads, RMSNorm, SwiGLU, no positions."""
    d = 4
    attends = Parameters(*(row(rng, d, d) for _ in range(4)))
    network, W_U = (row(rng, d, 7), row(rng, d, 7), row(rng, 7, d)), row(rng, d, 5)

    def logits(x: np.ndarray) -> np.ndarray:
        y = rms_norm(x)
        z = x + multi_head_attention(y, y, y, attends, 2, causal_mask(len(x)))[0]
        return rms_norm(z + swiglu(rms_norm(z), *network))[-1:] @ W_U

    return logits


def shifted(rng: np.random.Generator) -> Names:
    return derivations.sinusoidal(rng) | {"m": int(rng.integers(1, 9))}


# --- kernels


class Rows(np.ndarray):
    """A row that has others beside it: x is one, x_j is row j of the others."""

    others: np.ndarray

    def __call__(self, place: int) -> Any:
        found = self.others[place]
        return found[None] if found.ndim else float(found)


def among(one: np.ndarray, others: np.ndarray) -> Rows:
    found = one.view(Rows)
    found.others = others
    return found


def smoothed(rng: np.random.Generator) -> Names:
    places, y, h = row(rng, 5, 1), row(rng, 1, 5), number(rng.uniform(0.5, 2))

    def estimate(x: float) -> float:
        return number(kernel_smoothing(np.array([[x]]), places, y.T.copy(), h)[0])

    return {
        "x": Both(number(rng.normal()), lambda j: number(places[j])),
        "y": y,
        "\\kappa": lambda one, other: np.exp(-((one - other) ** 2) / (2 * h * h)),
        "o": estimate,
        "sizes": {"j": 5},
    }


def measured(rng: np.random.Generator) -> Names:
    """Noise of σ or −σ at each point, in all cases."""
    n, sigma = 4, number(rng.uniform(0.5, 2))
    places, a = row(rng, n), softmax(row(rng, 1, n))
    x = number(rng.normal())

    def g(at: float) -> float:
        return float(np.sin(2 * at) + at)

    heights = np.array([g(one) for one in places])
    cases = []
    for signs in itertools.product((-sigma, sigma), repeat=n):
        noise = np.array([signs])
        cases.append((0.5**n, {"\\varepsilon": noise, "o": number(a @ (heights + noise[0]))}))
    names = {"x": Both(x, lambda j: number(places[j])), "a": a, "g": g, "\\sigma": sigma}
    return names | cases[1][1] | {"cases": cases, "sizes": {"j": n}}


def gaussian_cases(count: int) -> list[tuple[float, np.ndarray]]:
    """Normal vectors with two components: points and weights of the Gauss-Hermite rule."""
    points, weights = np.polynomial.hermite_e.hermegauss(count)
    weights = weights / weights.sum()
    return [
        (float(p * q), np.array([[a, b]]))
        for (a, p), (b, q) in itertools.product(zip(points, weights, strict=True), repeat=2)
    ]


def drawn_directions(rng: np.random.Generator) -> Names:
    q, k = 0.4 * row(rng, 1, 2), 0.4 * row(rng, 1, 2)
    cases = [(p, {"w": w}) for p, w in gaussian_cases(24)]
    return {"q": q, "k": k, "z": 0.5 * row(rng, 1, 2), "w": cases[7][1]["w"], "cases": cases}


def completed(rng: np.random.Generator) -> Names:
    """One component of a direction; under an expectation, all of it."""
    return drawn_directions(rng) | {"w": number(rng.normal()), "z": number(rng.normal())}


# --- learning in context


def regression(rng: np.random.Generator) -> Names:
    """Examples as rows; the first step by complex steps of the loss, and by the layer."""
    n, d, eta = 4, 3, number(rng.uniform(0.05, 0.2))
    examples, y, w, asked = row(rng, n, d), row(rng, 1, n), row(rng, 1, d), row(rng, 1, d)

    def loss(at: np.ndarray) -> Any:
        return ((at @ examples.T - y) ** 2).sum() / 2

    first = -eta * steepest(loss, np.zeros((1, d)))
    e, t = np.hstack([examples, y.T]), np.hstack([asked, [[0.0]]])
    W_x, W_V = np.eye(d + 1)[:, :d], eta * np.eye(d + 1)[:, d:]
    return {
        **{"x": among(asked, examples), "y": y, "w": w, "w_1": first, "\\eta": eta, "j": 1},
        **{"L": loss, "e": e, "t": t, "W_Q": W_x, "W_K": W_x, "W_V": W_V},
        "o": number(in_context_layer(t, e, W_x, W_x, W_V)),
        "phrases": {
            "\\nabla L(w)": steepest(loss, w),
            "\\nabla L(0)": steepest(loss, np.zeros((1, d))),
        },
        "sizes": {"j": n, "l": n},
    }


def one_step_of_many(rng: np.random.Generator, eta: float | None = None) -> Names:
    """All prompts of two examples: three values for each component have a normal's moments."""
    n, d, sigma = 2, 2, 0.5
    eta = number(rng.uniform(0.05, 0.2)) if eta is None else eta
    triple = [(2 / 3, 0.0), (1 / 6, 3**0.5), (1 / 6, -(3**0.5))]
    cases = []
    for drawn in itertools.product(triple, repeat=n * d):
        x = np.array([one for _, one in drawn]).reshape(n, d)
        chance = float(np.prod([p for p, _ in drawn]))
        for signs in itertools.product((-1.0, 1.0), repeat=d + n):
            w, noise = np.array([signs[:d]]), sigma * np.array([signs[d:]])
            first = eta * (w @ x.T + noise) @ x
            cases.append((chance / 2 ** (d + n), {"w": w, "w_1": first, "G": x.T @ x}))
    names = {"\\eta": eta, "\\sigma": sigma, "n": n, "d": d, "I": np.eye(d), "tr": np.trace}
    off = sum(p * ((case["w_1"] - case["w"]) ** 2).sum() for p, case in cases)
    return names | {"cases": cases, "worth": [off / d], **cases[0][1]}


def answered(rng: np.random.Generator) -> Names:
    """A text of five tokens, and the guesses for each of them."""
    p = softmax(row(rng, 5, 3))[:, 0]
    phrases = {"P(t_1, \\dots, t_n)": number(p.prod())}
    phrases |= {"P(t_i \\mid t_1, \\dots, t_{i-1})": lambda names: p[names["i"]].item()}
    names = {"n": 5, "sizes": {"i": 5}, "phrases": phrases, "sets": {"A": ("i", [2, 4])}}
    return names | {"A": 2.0, "L": number(-(np.log(p[2]) + np.log(p[4])) / 2)}


def preferred(rng: np.random.Generator) -> Names:
    """Four texts; a policy that is the best one in some draws; the two that are compared."""
    reference, rewards = softmax(row(rng, 4)), row(rng, 4)
    beta = number(rng.uniform(0.5, 2))
    products = reference * np.exp(rewards / beta)
    best = products / products.sum()
    policy = best if rng.integers(2) else softmax(row(rng, 4))
    worth = policy @ rewards - beta * (policy * np.log(policy / reference)).sum()
    chances = np.exp(rewards[[0, 1]]) / np.exp(rewards[[0, 1]]).sum()
    ratios = beta * np.log(policy / reference)
    tables = {"\\pi": policy, "\\pi_ref": reference, "r": rewards}
    names: Names = {name: (lambda y, of=of: of[int(y)].item()) for name, of in tables.items()}
    phrases = {"J(\\pi)": number(worth), "P(a, b)": number(chances[0])}
    phrases |= {"\\pi^*(y)": lambda names: best[int(names["y"])].item()}
    names |= {"\\beta": beta, "C": number(products.sum()), "y": 2, "a": 0, "b": 1}
    names |= {"\\sigma": lambda x: 1 / (1 + np.exp(-x)), "phrases": phrases, "sizes": {"y": 4}}
    return names | {"\\ell": number(np.log1p(np.exp(ratios[1] - ratios[0])))}


# --- encoders


def left_reader(rng: np.random.Generator) -> Names:
    """Equally likely words, and what a model gives each of them."""
    return {"m": 5, "p": softmax(row(rng, 1, 5)), "sizes": {"k": 5}}


def hidden_words(rng: np.random.Generator) -> Names:
    """Five places, of which two are chosen; the guess for the word of each."""
    p = softmax(row(rng, 5, 3))[:, 0]
    names = {"phrases": {"P(t_i \\mid s)": lambda names: p[names["i"]].item()}}
    names |= {"C": 2.0, "sets": {"C": ("i", [1, 3])}, "sizes": {"i": 5}}
    return names | {"L": number(-(np.log(p[1]) + np.log(p[3])) / 2)}


def embedded_patch(rng: np.random.Generator) -> Names:
    """A patch of an image as PyTorch unfolds it, times a column."""
    image, W, s = row(rng, 6, 4), row(rng, 4, 3), 2
    a, b, c = (int(rng.integers(n)) for n in (3, 2, 3))
    patches = torch.nn.functional.unfold(torch.tensor(image)[None, None], s, stride=s)[0].T
    found = patches.numpy()[[2 * a + b]] @ W
    names = {
        "I": image, "W": W, "s": s, "a": a, "b": b, "c": c, "u": 0, "v": 0,
        "sizes": {"u": s, "v": s},
    }  # fmt: skip
    return names | {"phrases": {"(xW)_{c}": number(found[0, c])}}


MODELS: dict[str, dict[str, Draw]] = {
    "encoders": {"": left_reader, "masked-words": hidden_words, "patches": embedded_patch},
    "assistant": {"": preferred, "answers": answered},
    "language-model": {
        "": loss, "decoder[0]": decoder, "decoder[1]": chained, "routes": routes,
        "floor-proof": source, "floor-terms": stories, "cut-derived": keep_three_words,
    },
    "real-models": {"": unordered, "llama-parts[0]": normed_by_root, "llama-parts[1]": gated},
    "cross-attention": {
        "": reading, "special": among_all, "order": reordered, "decoder": three_sublayers,
        "backward": two_sequences, "training": wanted_token,
    },
    "batches": {"positions[0]": numbered_by_mask},
    "maps": {"": rolled, "gradient": explained, "patching": patched},
    "generation": {"": decoding, "speculative": guessed},
    "in-pieces": {"row-sum": recomputed},
    "long-sequences": {
        "": diluted, "angles": slowed, "published": partly_slowed, "bias": fading, "none": marked,
    },
    "kernels": {"": smoothed},
    "memory": {
        "": drawn_directions, "linear": rebracketed, "recall": recalled, "delta-exact": overwritten,
        "moment": completed,
    },
    "in-context": {"": regression},
    "precision": {"stuck": stuck, "result-dot[0]": rounded_dot, "softmax": wrong_scores},
}  # fmt: skip
