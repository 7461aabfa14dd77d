"""What the symbols in the box of each result stand for, as tests/derivations.py says it for lines.

A function is named after the page and the id of its box: neither its number nor its place matters.
Besides symbols, a box may have

- `worth`: what its formulas without a relation come to, in the order in which they stand there;
- `truth`: whether its formulas with a relation hold, in their order; without it, all do.

What a result claims comes from the package, or from a calculation that does not use the claim.
"""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import pytest

from attention_docs.attention_function import attention
from attention_docs.cross_attention import cross_attention_flops
from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, weighted_values
from attention_docs.generation import (
    Cache,
    Configuration,
    acceptance,
    cache_bytes,
    decode_flops,
    extended,
    grouped_attention,
    window_mask,
)
from attention_docs.in_context import step_error
from attention_docs.in_pieces import merge, piece, plain_traffic, tiled_traffic
from attention_docs.language_model import cross_entropy, cross_entropy_gradient, token_distribution
from attention_docs.long_sequences import alibi_bias, ntk_base
from attention_docs.maps import attention_rollout
from attention_docs.masking import causal_mask
from attention_docs.memory import (
    elu_plus_one,
    extended_state,
    linear_attention,
    positive_features,
    trigonometric_features,
)
from attention_docs.multi_head import Parameters, multi_head_attention, parameter_count
from attention_docs.positions import frequencies, sinusoids
from attention_docs.precision import FORMATS, rounded_sum, soft_cap
from attention_docs.sequences import window_parameters
from attention_docs.softmax import entropy
from attention_docs.transformer_block import block_flops, block_parameter_count
from tests import derivations, derivations_basics, derivations_model
from tests.derivations import Both, Draw, Names, number, row, softmax
from tests.derivations_model import steepest
from tests.test_attention_function import BOUNDS


class Mass(np.ndarray):
    """Probabilities that also say how much of them lies on some places."""

    def __call__(self, places: Any) -> float:
        return number(self[..., places].sum())


def integers(rng: np.random.Generator, low: int, high: int, count: int) -> list[int]:
    return [int(one) for one in rng.integers(low, high, count)]


def divergence(r: np.ndarray, p: np.ndarray) -> float:
    """D(r ‖ p) in nats."""
    r, p = np.asarray(r), np.asarray(p)
    return number((r[r > 0] * np.log(r[r > 0] / p[r > 0])).sum())


def operations(*sizes: int) -> int:
    """Multiplications and additions of a product of (a, b) and (b, c)."""
    a, b, c = sizes
    return 2 * a * b * c


def sequences_window(rng: np.random.Generator) -> Names:
    n, d, d_out = integers(rng, 2, 9, 3)
    k = 2 * int(rng.integers(n - 2, n + 1)) + 1
    sees_all = all(abs(i - j) <= (k - 1) // 2 for i in range(n) for j in range(n))
    sizes = {"n": n, "d": d, "d_out": d_out, "k": k}
    return sizes | {"worth": [window_parameters(k, d, d_out)], "truth": [sees_all]}


def sequences_equal(rng: np.random.Generator) -> Names:
    x, M, v = row(rng, 4, 3), row(rng, 3, 3), row(rng, 4, 2)
    x[3] = x[1]
    shares = np.exp(x @ M @ x.T)
    a = shares / shares.sum(axis=1, keepdims=True)
    g = Both(shares.min(), lambda one, other: number(np.exp(one @ M @ other.T)))
    return {"x": x, "a": a, "o": a @ v, "g": g, "i": 1, "j": 3, "sizes": {"m": 4}}


def eight_steps_nearest(rng: np.random.Generator) -> Names:
    q, c, m = row(rng, 1, 3), 1e4, int(rng.integers(1, 4))
    k = row(rng, 5, 3)
    k[:m] = k[int((k @ q.T).argmax())] + q  # further along the query than any other
    return {"q": q, "c": c, "m": m, "worth": [q * c, attention(q * c, k, k)[1][0, 0]]}


def eight_steps_whole(rng: np.random.Generator) -> Names:
    X, W_Q, W_K, W_V = row(rng, 3, 4), row(rng, 4, 2), row(rng, 4, 2), row(rng, 4, 5)
    Q, K, V = (np.array([x @ W for x in X]) for W in (W_Q, W_K, W_V))
    weights = np.array([softmax(np.array([q @ k for k in K])) for q in Q])
    names = {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "Q": Q, "K": K, "V": V}
    return names | {"softmax": softmax, "worth": [weighted_values(weights, V).sum(axis=1)]}


def eight_steps_rounding(rng: np.random.Generator) -> Names:
    """Values 1 where a weight grows and 0 elsewhere: no output moves further."""
    delta = row(rng, 5)
    delta -= delta.mean()
    moved = number(delta @ (delta > 0))
    return {"\\delta": delta[None], "j": 0, "sizes": {"j": 5}, "worth": [moved]}


def eight_steps_product(rng: np.random.Generator) -> Names:
    Q, K, V = row(rng, 3, 2), row(rng, 4, 2), row(rng, 4, 5)
    loop = [softmax(np.array([q @ k / 2**0.5 for k in K])) @ V for q in Q]
    return {"Q": Q, "K": K, "V": V, "d_k": 2, "O": np.array(loop), "softmax": softmax}


def positions_order(rng: np.random.Generator) -> Names:
    X, W, order = row(rng, 4, 3), [row(rng, 3, 2) for _ in range(3)], rng.permutation(4)
    O, A = attention(*(X @ one for one in W))  # noqa: E741
    after = attention(*(X[order] @ one for one in W))
    return {"P": np.eye(4)[order], "X": X, "O": O, "A": A, "worth": [X[order], *after]}


def score_functions_angle(rng: np.random.Generator) -> Names:
    """A key that goes so far along the query, and so far to its side."""
    length, along, aside = rng.uniform(1, 3), *rng.normal(size=2)
    to = rng.uniform(0, np.pi)
    one, other = np.array([[np.cos(to), np.sin(to)]]), np.array([[-np.sin(to), np.cos(to)]])
    theta = np.arctan2(aside, along)
    names = {"q": length * one, "k": along * one + aside * other, "\\theta": theta}
    return names | {"worth": [length, along]}


def score_functions_nearest(rng: np.random.Generator) -> Names:
    q, k = row(rng, 1, 3), row(rng, 4, 3)
    larger = bool(q @ k[1] >= q @ k[2])
    return {"q": q, "k": k, "j": 1, "m": 2, "truth": [True, larger, larger]}


def scaling_division(rng: np.random.Generator) -> Names:
    names = derivations.scaling_page(rng)
    scores = [number(one["q"] @ one["k"].T) for _, one in names["cases"]]
    return names | {"worth": [np.var(scores) / names["d_k"] ** 2]}


def scaling_within(rng: np.random.Generator) -> Names:
    names = derivations.general(rng)
    q, k = (np.unique([one[name][0] for _, one in names["cases"]], axis=0) for name in "qk")
    rows = (q @ k.T).var(axis=1)  # within the row of each query
    own = (names["q"] @ k.T).var()
    whole = (q @ k.T).var()
    return names | {"worth": [own, rows.mean(), whole, whole - rows.mean()]}


def softmax_entropy(rng: np.random.Generator) -> Names:
    names = derivations.rising(rng)
    s = names["s"]

    def of(tau: np.ndarray) -> Any:
        a = np.exp(s / tau) / np.exp(s / tau).sum()
        return -(a * np.log(a)).sum()

    rise = number(steepest(of, np.array([names["\\tau"]])))
    return names | {"phrases": {"\\dfrac{dH}{d\\tau}": rise}}


def softmax_jacobian(rng: np.random.Generator) -> Names:
    s, g = row(rng, 1, 4), row(rng, 1, 4)

    def weight(s: np.ndarray, i: int) -> Any:
        return np.exp(s[0, i]) / np.exp(s).sum()

    J = np.vstack([steepest(lambda s, i=i: weight(s, i), s) for i in range(4)])
    gJ = steepest(lambda s: sum(g[0, i] * weight(s, i) for i in range(4)), s)
    names = {"a": softmax(s), "g": g, "J": J, "diag": lambda a: np.diag(a[0])}
    return names | {"i": 0, "j": 2, "sizes": {"i": 4}, "worth": [gJ, gJ[0, 2]]}


def softmax_saturation(rng: np.random.Generator) -> Names:
    names = derivations.cold(rng)
    stretch = np.abs(np.linalg.eigvalsh(names["J"])).max()
    return names | {"phrases": {"\\lVert J \\rVert": stretch}}


def score_functions_rank(rng: np.random.Generator) -> Names:
    d_model, d_k = int(rng.integers(3, 7)), 2
    x, W_Q, W_K = row(rng, 3, d_model), row(rng, d_model, d_k), row(rng, d_model, d_k)
    M = sum(np.outer(one, other) for one, other in zip(W_Q.T, W_K.T, strict=True))
    parameters = W_Q.size + W_K.size
    names = {"q": x @ W_Q, "k": x @ W_K, "x": x, "M": M, "W_Q": W_Q, "W_K": W_K, "i": 0, "j": 2}
    sizes = {"d_model": d_model, "d_k": d_k, "rank": np.linalg.matrix_rank}
    return (
        names
        | sizes
        | {"worth": [M, parameters, M.size], "truth": [True, True, parameters < M.size]}
    )


def score_functions_bound(rng: np.random.Generator) -> Names:
    n, beta = int(rng.integers(2, 9)), number(rng.uniform(0.1, 5))
    weights = softmax(np.array([beta, *[-beta] * (n - 1)]))
    return {"n": n, "\\beta": beta, "worth": [number(weights)]}


def score_functions_cost(rng: np.random.Generator) -> Names:
    n_q, n_k, d_q, d_k, d_a = integers(rng, 2, 9, 5)
    W_q, W_k, w = np.ones((d_q, d_a)), np.ones((d_k, d_a)), np.ones(d_a)
    hidden = (np.ones((n_q, d_q)) @ W_q)[:, None] + np.ones((n_k, d_k)) @ W_k
    additive = W_q.size + W_k.size + w.size
    names = {"n_q": n_q, "n_k": n_k, "d_q": d_q, "d_k": d_k, "d_a": d_a}
    return names | {"worth": [np.ones((d_q, d_k)).size, additive, hidden.size]}


def eight_steps_itself(rng: np.random.Generator) -> Names:
    scores = INPUTS @ W_QUERY @ (INPUTS @ W_KEY).T
    return {"a": softmax(scores - scores.max(axis=1, keepdims=True))}


def masking_minus_infinity(rng: np.random.Generator) -> Names:
    j = int(rng.integers(1, 4))
    _, a = attention(*(row(rng, n, 2) for n in (1, 4, 4)), np.arange(4)[None] != j)
    return {"a": a, "j": j}


def batches_loss(rng: np.random.Generator) -> Names:
    """Counted pair by pair: the next token belongs to the same text."""
    lengths = integers(rng, 1, 6, 3)
    texts = [i for i, length in enumerate(lengths) for _ in range(length)]
    pairs = sum(one == other for one, other in itertools.pairwise(texts))
    return {"m": len(lengths), "n": len(texts), "worth": [pairs]}


def encoders_left(rng: np.random.Generator) -> Names:
    m = int(rng.integers(2, 9))
    return {"m": m, "worth": [np.log(m), 1 / m, 1 / m]}


def encoders_visible(rng: np.random.Generator) -> Names:
    """All ways in which a chosen place comes to show a word, and those in which it is true."""
    V, w = 4, int(rng.integers(4))
    prior = softmax(row(rng, V))
    q, r = (number(one) for one in rng.uniform(0.05, 0.5, 2))
    ways = [
        (t, prior[t] * chance)
        for t in range(V)
        for shown, chance in [(t, q), *((drawn, r / V) for drawn in range(V))]
        if shown == w
    ]
    p = sum(chance for t, chance in ways if t == w) / sum(chance for _, chance in ways)
    phrases = {"P(w \\mid c)": number(prior[w])}
    return {"q": q, "r": r, "V": V, "p": number(p), "phrases": phrases}


def maps_rollout(rng: np.random.Generator) -> Names:
    """Two tokens, where the bound is met."""
    L, least = int(rng.integers(1, 7)), rng.uniform(0, 1)
    a = np.array([[1.0, 0], [least, 1 - least]])
    share = attention_rollout(np.stack([a] * L))[-1, 1, 0]
    return {"a": a, "i": 1, "\\varepsilon": least, "L": L, "worth": [share]}


def maps_same(rng: np.random.Generator) -> Names:
    """Five tokens with values of three components, and one direction that they do not see."""
    V, a = row(rng, 5, 3), softmax(row(rng, 1, 5))
    null = np.linalg.svd(np.column_stack([V, np.ones(5)]).T)[2][-1:]
    b = a + 0.1 * null
    assert np.allclose(a @ V, b @ V)
    return {"a": a, "b": b, "V": V}


def attention_function_loop(rng: np.random.Generator) -> Names:
    Q, K, V = row(rng, 2, 3, 4, 5), row(rng, 2, 3, 6, 5), row(rng, 2, 3, 6, 2)
    names = {"Q": Q, "K": K, "V": V, "O": attention(Q, K, V)[0], "b": 1, "h": 2}
    return names | {"attention": lambda *one: attention(*one)[0]}


def masking_padding(rng: np.random.Generator) -> Names:
    hidden = np.argwhere(~causal_mask(4))
    i, j = hidden[rng.integers(len(hidden))]
    return {"i": i, "j": j}


def attention_function_sizes(rng: np.random.Generator) -> Names:
    wrong = int(rng.integers(3))  # nothing, a dimension, a number of tokens
    d_q, n_k = 3, 4
    d_k, n_v = d_q + (wrong == 1), n_k + (wrong == 2)
    try:
        attention(np.ones((2, d_q)), np.ones((n_k, d_k)), np.ones((n_v, 5)))
        defined = True
    except ValueError:
        defined = False
    names = {"d_q": d_q, "d_k": d_k, "n_k": n_k, "n_v": n_v}
    return names | {"truth": [defined or wrong == 2, defined or wrong == 1]}


def attention_function_agreement(rng: np.random.Generator) -> Names:
    dtype, bound = [*BOUNDS.items()][rng.integers(len(BOUNDS))]
    return {"\\varepsilon": bound / 64, "worth": [64 * _spacing(str(dtype))]}


def _spacing(dtype: str) -> float:
    """From 1 to the next number of a dtype of torch."""
    return 2.0 ** {"torch.float64": -52, "torch.float32": -23, "torch.float16": -10}.get(dtype, -7)


def multi_head_two_heads(rng: np.random.Generator) -> Names:
    names = _two_heads(rng)
    return names | {"worth": [names["y"] / (names["s"] - names["t"]), names["difference"]]}


def multi_head_one_head(rng: np.random.Generator) -> Names:
    names = _two_heads(rng)
    return names | {"worth": [names["difference"]]}


def _two_heads(rng: np.random.Generator) -> Names:
    """The parameters above the result; y with the rows 1 and -1, the difference after division."""
    s, t = rng.normal(size=2)
    X = np.array([[1.0, 0, 0, s], [0, 0, 1, 0], [0, 1, 0, t]])
    W_Q = np.array([[0.0, 6, 6, 0], [0, 6, 0, 6], [6, 0, 6, 0], [0, 0, 0, 0]])
    W_K = np.array([[1.0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
    W_V = np.array([[0.0, 0], [0, 0], [0, 0], [1, 1]])
    eps = 1 / (np.exp(6 / 2**0.5) + 2)

    def verb(W_O: np.ndarray) -> float:
        return number(multi_head_attention(X, X, X, Parameters(W_Q, W_K, W_V, W_O), 2)[0][1])

    W_O = np.array([[1.0], [-1]])
    names = {"s": s, "t": t, "\\varepsilon": eps, "y": verb(W_O)}
    return names | {"difference": verb(W_O / (1 - 3 * eps))}


def multi_head_sum(rng: np.random.Generator) -> Names:
    h, d, d_v, n = 3, 6, 2, 4
    X, W_Q, W_K, W_V, W_O = row(rng, n, d), *(row(rng, d, d) for _ in range(4))
    b_V, b_O = row(rng, 1, d), row(rng, 1, d)
    bare = Parameters(W_Q, W_K, W_V, W_O)
    output, A = multi_head_attention(X, X, X, bare, h)
    biased, _ = multi_head_attention(X, X, X, bare._replace(b_v=b_V[0], b_o=b_O[0]), h)
    inward, outward = np.split(W_V, h, axis=1), np.split(W_O, h)
    M = [one @ other for one, other in zip(inward, outward, strict=True)]
    beside = np.hstack([a @ X @ one for a, one in zip(A, inward, strict=True)])
    assert np.allclose(beside @ W_O, output)
    return {
        "phrases": {"[\\,O_1 \\; \\cdots \\; O_h\\,]": beside},
        **{"A": [*A], "X": X, "M": M, "W_O": W_O, "W_V^": inward, "W_O^": outward, "r": 1},
        **{"b_V": b_V, "b_O": b_O, "d": d, "d_v": d_v, "sizes": {"r": h}},
        "worth": [M[0].size, (biased - output)[:1]],
    }


def multi_head_parameters(rng: np.random.Generator) -> Names:
    d, h, g, d_k, d_v = 8, 4, 2, 3, 5
    if special := bool(rng.integers(2)):
        g, d_k, d_v = h, d // h, d // h
    matrices = [np.ones((d, h * d_k)), np.ones((d, g * d_k)), np.ones((d, g * d_v))]
    N = sum(one.size for one in [*matrices, np.ones((h * d_v, d))])
    names = {"d": d, "h": h, "g": g, "d_k": d_k, "d_v": d_v, "N": N}
    worth = [parameter_count(d, h, bias=False), parameter_count(d, h)]
    return names | {"worth": worth, "truth": [True, special, special]}


def multi_head_trade(rng: np.random.Generator) -> Names:
    d_k, h, n = integers(rng, 1, 4, 3)
    d = h * d_k
    products = (block_flops(n, d, 1) - 2 * operations(n, d, 1)) // 2
    rank = np.linalg.matrix_rank(row(rng, n, d_k) @ row(rng, d_k, n))
    names = {"d": d, "h": h, "g": h, "n": n, "d_k": d_k, "d_v": d_k}
    return names | {"worth": [products, rank], "truth": [True, True, d_k == 1]}


def positions_turns(rng: np.random.Generator) -> Names:
    d, base, L = 8, 100.0, number(rng.uniform(7, 300))
    i = int(rng.integers(d // 2))
    turns = bool(frequencies(d, base)[i] * L >= 2 * np.pi)
    names = {"d": d, "base": base, "L": L, "i": i, "phrases": {"L/2\\pi": L / (2 * np.pi)}}
    return names | {"truth": [True, turns]}


def positions_rope(rng: np.random.Generator) -> Names:
    names = derivations.sinusoidal(rng)
    q, k = names["q"], names["k"]
    score = names["\\tilde q"](names["t"]) @ names["\\tilde k"](names["u"]).T
    (offset,) = (s for s in range(-9, 10) if np.isclose(q @ names["R"](s) @ k.T, score))
    return names | {"worth": [offset]}


def positions_gram(rng: np.random.Generator) -> Names:
    names = derivations.sinusoidal(rng)
    return names | {"worth": [np.linalg.norm(sinusoids(rng.normal(size=1), names["d"]))]}


def positions_powers(rng: np.random.Generator) -> Names:
    """A cyclic shift, which has no angle in its definition."""
    d = 23  # more than there are offsets
    q, k, t, u = row(rng, 1, d), row(rng, 1, d), *integers(rng, 0, 9, 2)

    def shift(t: int) -> np.ndarray:
        return np.roll(np.eye(d), int(t), axis=1)

    product = number((q @ shift(t)) @ (k @ shift(u)).T)
    (offset,) = (s for s in range(-9, 10) if np.isclose(number(q @ shift(s) @ k.T), product))
    names = {"A": shift, "A_0": shift(0), "A_1": shift(1), "B": shift, "B_0": shift(0)}
    names |= {"phrases": {"A_1^t": np.linalg.matrix_power(shift(1), t)}}
    return {**names, "I": np.eye(d), "q": q, "k": k, "t": t, "u": u, "worth": [product, offset]}


def positions_causal(rng: np.random.Generator) -> Names:
    t, same = int(rng.integers(5)), np.zeros((6, 1))
    outputs, _ = attention(same, same, np.eye(6)[:, :1].copy(), causal_mask(6))
    return {"t": t, "worth": [outputs[t, 0]]}


def transformer_block_residual(rng: np.random.Generator) -> Names:
    """J_F or -J_F, each in half of the cases; in some draws it takes from every vector alike."""
    g, J = row(rng, 1, 4), row(rng, 4, 4)
    if rng.integers(2):
        J = -0.5 * np.eye(4)
    stretch = np.linalg.svd(J)[1].max()
    names = {"g": g, "J_F": J, "I": np.eye(4), "cases": [(0.5, {"J_F": J}), (0.5, {"J_F": -J})]}
    longest = np.linalg.eigvalsh(J @ J.T).max() ** 0.5
    return names | {"phrases": {"\\lVert J_F \\rVert": stretch}, "worth": [longest]}


def transformer_block_bend(rng: np.random.Generator) -> Names:
    x_1, x_2 = rng.normal(size=2)
    return {"x_1": x_1, "x_2": x_2, "worth": [max(0.0, x_1 - x_2) + max(0.0, x_2 - x_1)]}


def transformer_block_layer_norm(rng: np.random.Generator) -> Names:
    d, x = 5, row(rng, 1, 5)

    def hat(x: np.ndarray) -> np.ndarray:
        return (x - x.mean()) / ((x - x.mean()) ** 2).mean() ** 0.5

    jacobian = np.vstack([steepest(lambda x, c=c: hat(x)[0, c], x) for c in range(d)])
    lost, _ = np.linalg.qr(np.vstack([np.ones(d), hat(x)[0]]).T)  # of the two directions
    return {
        **{"d": d, "x": x, "\\hat x": hat(x), "\\sigma": number(x.std()), "I": np.eye(d)},
        **{"\\varepsilon": 0.0, "\\gamma": 1.0, "\\beta": 0.0, "\\mathbf 1": np.ones((1, d))},
        "\\Pi": np.eye(d) - lost @ lost.T,
        "phrases": {"\\partial \\hat x / \\partial x": jacobian},
        "c": 0,
        "sizes": {"c": d},
    }


def transformer_block_cost(rng: np.random.Generator) -> Names:
    h, d_k = integers(rng, 1, 5, 2)
    d, n = h * d_k, 6 * h * d_k
    whole = block_flops(n, d, 4 * d)
    pairs = whole - 12 * operations(n, d, d)  # what the products with parameters leave
    names = {"d": d, "h": h, "d_k": d_k, "d_v": d_k, "d_ff": 4 * d, "n": n}
    return names | {"worth": [block_parameter_count(d, 4 * d), whole, pairs / (4 * d)]}


def learning_descent(rng: np.random.Generator) -> Names:
    names = derivations.descent(rng) | {"\\eta": 1e-6}
    loss, W, dW = names["L"], names["W"], names["dW"]
    fall = loss(W) - loss(W - 1e-6 * dW)
    phrases = {"\\sum dW_{ij}^2": number((dW**2).sum())}
    return names | {"phrases": phrases, "worth": [pytest.approx(fall, rel=1e-4)]}


def learning_gradients(rng: np.random.Generator) -> Names:
    X, *weights, dO = (row(rng, *shape) for shape in ((4, 5), (5, 3), (5, 3), (5, 2), (4, 2)))
    Q, K, V = (X @ W for W in weights)
    S = Q @ K.T / 3**0.5
    at = {"V": V, "A": softmax(S), "S": S, "Q": Q, "K": K}
    at |= dict(zip(("W_Q", "W_K", "W_V"), weights, strict=True))

    def loss(name: str, value: np.ndarray) -> Any:
        w = at | {name: value}
        if name.startswith("W_"):
            w |= {name[-1]: X @ value}
        scores = w["S"] if name == "S" else w["Q"] @ w["K"].T / 3**0.5
        return (dO * ((w["A"] if name == "A" else softmax(scores)) @ w["V"])).sum()

    slopes = {f"d{name}": steepest(lambda x, name=name: loss(name, x), at[name]) for name in at}
    rowsum = {"rowsum": lambda matrix: matrix.sum(axis=1, keepdims=True)}
    return at | slopes | rowsum | {"X": X, "dO": dO, "d_k": 3}


def learning_shares(rng: np.random.Generator) -> Names:
    m = int(rng.integers(2, 5))
    signs = np.array([*itertools.product((-1.0, 1.0), repeat=m)])
    share = softmax(np.zeros(m))[0]
    read, right = signs @ np.full(m, share), signs[:, 0]
    best = (read @ right) / (read @ read)
    return {"m": m, "worth": [share, ((best * read - right) ** 2).mean()]}


def learning_start(rng: np.random.Generator) -> Names:
    """Two components from signs times √v, in all cases."""
    x, v, d = np.array([1.0, -1.0, 1.0]), number(rng.uniform(0.1, 1)), 3
    columns = v**0.5 * np.array([*itertools.product((-1.0, 1.0), repeat=d)])
    one = np.outer(columns @ x, columns @ x).ravel()  # a query times a key, in one component
    products = (one[:, None] + one).var()
    return {"d_model": d, "v": v, "d_k": 2, "worth": [products / 2, products]}


def learning_saturated(rng: np.random.Generator) -> Names:
    """In some draws with two keys, of which the first has nearly all: close to the bound."""
    names = derivations.decided(rng)
    if rng.integers(2):
        names["a"], names["dA"] = softmax(np.array([[25.0, 0], [25, 0]])), row(rng, 2, 2)
        mean = (names["a"] * names["dA"]).sum(axis=1, keepdims=True)
        names |= {"dS": names["a"] * (names["dA"] - mean), "j": 0, "sizes": {"m": 2}}
        names |= {"R": np.ptp(names["dA"][1]), "\\varepsilon": names["a"][1, 1]}
    return names | {"worth": [names["a"][names["i"], names["j"]]]}


def language_model_gradient(rng: np.random.Generator) -> Names:
    names = derivations_model.loss(rng)
    z, t = names["z"], names["t"]
    slopes = steepest(lambda z: np.log(np.exp(z).sum()) - z[0, t], z)
    least = cross_entropy_gradient(np.array([[50.0, 0]]), np.array([1])).min()
    return names | {"worth": [slopes, least]}


def language_model_floor(rng: np.random.Generator) -> Names:
    pi, z = softmax(row(rng, 4)), row(rng, 4)
    loss = pi @ cross_entropy(np.tile(z, (4, 1)), np.arange(4))
    names = {"\\pi": pi, "p": softmax(z), "D": divergence}
    return names | {"worth": [number(loss) - number(entropy(pi))]}


def language_model_at_once(rng: np.random.Generator) -> Names:
    tokens = rng.integers(0, 3, 5)
    losses = cross_entropy(row(rng, 5, 3)[:-1], tokens[1:])
    beginnings = [tokens[:end] for end in range(1, len(tokens))]
    return {"n": len(tokens), "worth": [len(losses), len(beginnings)]}


def language_model_cut(rng: np.random.Generator) -> Names:
    z = np.sort(row(rng, 5))[::-1].copy()
    p, r = softmax(z), np.append(softmax(row(rng, 3)), [0, 0])
    price = divergence(token_distribution(z, top_k=3), p)
    kept = number(np.exp(z[:3]).sum() / np.exp(z).sum())
    distance = r[:3] @ z[:3] * -1 + np.log(np.exp(z).sum()) - number(entropy(r))
    names = {"p": p.view(Mass), "r": r, "S": [0, 1, 2], "D": divergence, "c": kept}
    return names | {"worth": [distance, kept, price, price]}


def cross_attention_special(rng: np.random.Generator) -> Names:
    X = row(rng, 3, 4)
    return {"T": X, "X": X, "worth": [np.concatenate([X, X])]}


def cross_attention_order(rng: np.random.Generator) -> Names:
    T, X, W = row(rng, 2, 3), row(rng, 4, 3), [row(rng, 3, 2) for _ in range(3)]
    names = {"P": np.eye(4)[rng.permutation(4)], "P'": np.eye(2)[rng.permutation(2)]}
    names |= {"f": lambda T, X: attention(T @ W[0], X @ W[1], X @ W[2])[0]}
    scores = T @ W[0] @ (X @ W[1]).T / 2**0.5
    return names | {"T": T, "X": X, "worth": [softmax(scores) @ X @ W[2]]}


def cross_attention_cost(rng: np.random.Generator) -> Names:
    n_q, n_k, d = integers(rng, 2, 9, 3)
    once, each = (cross_attention_flops(n_q, n_k, d, steps) for steps in (1, n_q))
    return {"n_q": n_q, "n_k": n_k, "d": d, "worth": [once, each - once]}


def generation_cache(rng: np.random.Generator) -> Names:
    n = int(rng.integers(1, 9))
    cache = extended(Cache(row(rng, n, 2), row(rng, n, 3)), row(rng, 1, 2), row(rng, 1, 3))
    return {"n": n, "worth": [len(cache.key)] * 3}


def generation_work(rng: np.random.Generator) -> Names:
    """The factor lies between that of the parameters alone and that of attention alone."""
    n, d, d_ff = integers(rng, 1, 9, 3)
    wide = [decode_flops(n, 1, 10**12, cached) for cached in (False, True)]
    pairs = sum(4 * t * t * d for t in range(1, n + 1)) / sum(4 * t * d for t in range(1, n + 1))
    P = 4 * d * d + 2 * d * d_ff
    return {"n": n, "d": d, "P": P, "worth": [decode_flops(n, d, d_ff), wide[0] / wide[1], pairs]}


def generation_grouped(rng: np.random.Generator) -> Names:
    h, g, x = 4, 2, row(rng, 3, 5)
    W_Q, W_K, W_V = row(rng, h, 5, 2), row(rng, g, 5, 2), row(rng, g, 5, 3)
    keys, values = (np.repeat(one, h // g, axis=0) for one in (W_K, W_V))
    shared, _ = grouped_attention(x @ W_Q, x @ W_K, x @ W_V)
    assert np.allclose(shared, attention(x @ W_Q, x @ keys, x @ values)[0])
    full, grouped = (cache_bytes(Configuration("", 1, h, heads, 2), 3) for heads in (h, g))
    names = {"h": h, "g": g, "W_K^": keys, "W_V^": values, "r": 2, "r'": 3}
    return names | {"worth": [grouped / full]}


def generation_latent(rng: np.random.Generator) -> Names:
    c, q, W_uk, W_uv = row(rng, 4, 2), row(rng, 3, 5), row(rng, 2, 2, 5), row(rng, 2, 2, 6)
    i, j, r = 1, 2, 1
    key = np.einsum("nc,hck->hnk", c, W_uk)
    value = np.einsum("nc,hcv->hnv", c, W_uv)
    a = attention(q, key[r], value[r])[1][i]
    moved = np.linalg.lstsq(c, key[r] @ q[i], rcond=None)[0]  # gives the same scores with c
    root = (q[i] @ (key[r][0] - key[r][1])) / np.log(a[0] / a[1])
    names = {"c": c, "q": q, "W_UK^": W_uk, "W_UV^": W_uv, "d_k": 5, "i": i, "j": j, "r": r}
    return names | {"worth": [key[r, j][None], value[r, j][None], moved[None], root]}


def generation_sink(rng: np.random.Generator) -> Names:
    names = derivations_model.dropped(rng)
    return names | {"worth": [names["a'"][0, 2] / names["a"][0, 2], names["o'"]]}


def generation_speculative(rng: np.random.Generator) -> Names:
    p, q, x = softmax(row(rng, 4)).tolist(), softmax(row(rng, 4)).tolist(), int(rng.integers(4))
    kept = acceptance(p, q)
    names = {"p": Both(p[x], p.__getitem__), "q": Both(q[x], q.__getitem__), "x": x}
    whole = sum(one * chance for one, chance in zip(q, kept, strict=True))
    return names | {"sizes": {"x": 4}, "worth": [kept[x], whole]}


def in_pieces_merge(rng: np.random.Generator) -> Names:
    names = derivations_model.halves(rng)
    s, v = names["s"], names["v"]
    one, d = np.array([[1.0]]), 1  # scores as dot products with 1
    parts = [piece(one, s[:, at].T.copy() * d**0.5, v[at].copy()) for at in ([0, 1], [2, 3, 4])]

    def flatten(part: Any) -> np.ndarray:
        return np.hstack([np.reshape(field, (1, -1)) for field in part])

    return names | {"worth": [*map(flatten, parts), flatten(merge(*parts))]}


def in_pieces_traffic(rng: np.random.Generator) -> Names:
    n, d, r = integers(rng, 2, 20, 3)
    long = 10**9 * r
    share = tiled_traffic(long, d, r) / plain_traffic(long, d)
    worth = [tiled_traffic(n, d, r), plain_traffic(n, d), np.ones((n, n)).size]
    return {"n": n, "d": d, "r": r, "worth": [*worth, pytest.approx(share, rel=1e-6)]}


def in_pieces_backward(rng: np.random.Generator) -> Names:
    names = derivations_model.recomputed(rng)
    s = np.log(names["a"]) + row(rng, 4, 1)
    names |= {"s": s, "\\lambda": np.log(np.exp(s).sum(axis=1))[None]}
    return names | {"worth": [names["dS"][names["i"], names["j"]]]}


def memory_linear(rng: np.random.Generator) -> Names:
    n, f, d_v, i, j = 5, 3, 2, int(rng.integers(1, 5)), 0
    q, k, v = row(rng, n, f), row(rng, n, f), row(rng, n, d_v)
    features = elu_plus_one(q), elu_plus_one(k)

    def state(i: int) -> Any:
        return extended_state(features[1][: i + 1], v[: i + 1])

    output = linear_attention(*features, v, causal_mask(n))[i][None]
    weight = np.where(q[i] > 0, q[i] + 1, np.exp(q[i])) @ np.where(k[j] > 0, k[j] + 1, np.exp(k[j]))
    pairs = operations(n, f, n) + operations(n, n, d_v)
    kept = operations(f, n, d_v) + operations(n, f, d_v)
    names = {"q": q, "k": k, "\\varphi": elu_plus_one, "n": n, "f": f, "d_v": d_v, "i": i, "j": j}
    names |= {"S": lambda i: state(i).matrix, "z": lambda i: state(i).total[None]}
    return names | {"worth": [weight, output, pairs, kept]}


def memory_recall(rng: np.random.Generator) -> Names:
    """Values of one component: 1 at one place and 0 elsewhere have variance I, up to a factor."""
    f = int(rng.integers(1, 5))
    n = f + int(rng.integers(3))
    features = row(rng, n, f)
    left = np.eye(n) - features @ np.linalg.lstsq(features, np.eye(n), rcond=None)[0]
    return {"n": n, "f": f, "worth": [(left**2).sum() / n]}


def memory_delta(rng: np.random.Generator) -> Names:
    names = derivations_model.overwritten(rng)
    key = names["k"][names["i"]]
    return names | {"q": names["q"] - (names["q"] @ key) * key}


def long_sequences_dilution(rng: np.random.Generator) -> Names:
    n, g, s = int(rng.integers(2, 9)), number(rng.uniform(0, 3)), number(rng.normal())
    more = n + int(rng.integers(1, 9))
    a = number(softmax(np.array([s + g, *[s] * (n - 1)])))
    others = softmax(np.array([s + g, *[s] * (more - 1)]))[1:].sum()
    needed = np.log(a / (1 - a)) - np.log((1 - others) / others)  # in logits, for the same weight
    return {"n": n, "g": g, "n'": more, "worth": [len([s] * (n - 1)), a, needed]}


def long_sequences_slower(rng: np.random.Generator) -> Names:
    d, base, factor, L = 8, 100.0, number(rng.uniform(1.1, 5)), 20.0
    i, t = int(rng.integers(d // 2)), [0.0, factor * L * 0.999][rng.integers(2)]
    omega, slower = frequencies(d, base), frequencies(d, ntk_base(base, d, factor))
    below = bool(slower[i] * factor * L <= omega[i] * L * (1 + 1e-12))
    names = {"\\lambda": factor, "d": d, "t": t, "L": L, "i": i, "\\omega": omega[None]}
    worth = [omega[i] * t / factor / omega[i], omega[i] * L]
    return names | {"worth": worth, "truth": [True, True, True, below]}


def long_sequences_alibi(rng: np.random.Generator) -> Names:
    """A long text whose far keys all lead by c."""
    n, w, m, c = 200, 20, 1.0, number(rng.uniform(0, 2))
    lead = c * (np.arange(n) <= n - 1 - w)
    far = softmax(lead + alibi_bias(np.array([m]), n)[0, -1])[: n - w].sum()
    return {"m": m, "c": c, "w": w, "worth": [pytest.approx(far, rel=1e-6)]}


def long_sequences_mark(rng: np.random.Generator) -> Names:
    v = row(rng, 2, 1)
    if rng.integers(2):
        v[1] = v[0]
    same, values = np.ones((5, 2)), np.vstack([v[:1], np.repeat(v[1:], 4, axis=0)])
    outputs, _ = attention(same, same, values, causal_mask(5))
    differ = len(np.unique(outputs.round(12))) == 5
    return {"v_0": v[:1], "v_1": v[1:], "truth": [differ]}


def long_sequences_order(rng: np.random.Generator) -> Names:
    t = int(rng.integers(1, 9))
    return {"t": t, "worth": [[*range(t)][-1]]}


def long_sequences_window(rng: np.random.Generator) -> Names:
    L, t = integers(rng, 2, 9, 2)
    t += L
    return {"t": t, "L": L, "worth": [int(window_mask(t + 1, window=L)[t].argmax())]}


def real_models_order(rng: np.random.Generator) -> Names:
    x, order, z = row(rng, 5, 4), rng.permutation(4), derivations_model.one_block(rng)
    phrases = {"z(x_{\\pi(1)}, \\dots, x_{\\pi(i-1)}, x_i)": z(x[[*order, 4]])}
    return {"phrases": phrases | {"z(x_1, \\dots, x_{i-1}, x_i)": z(x)}}


def precision_rounding(rng: np.random.Generator) -> Names:
    names = derivations_model.rounded(rng)
    delta = names["fl"](names["x"]) / names["x"] - 1
    return names | {"\\delta": delta, "u": FORMATS["float8_e4m3fn"].u}


def precision_stuck(rng: np.random.Generator) -> Names:
    name, n = "float8_e4m3fn", int(rng.integers(5, 40))
    return {"p": FORMATS[name].p, "n": n, "worth": [number(rounded_sum(np.ones(n), name))]}


def precision_softmax(rng: np.random.Generator) -> Names:
    names = derivations_model.wrong_scores(rng)
    if rng.integers(2):  # a small weight whose score grows while all others fall
        each = np.array([-0.1, -0.1, 0.1, -0.1, -0.1])
        names["s"] = np.array([[30.0, 0, 0, 0, 0]])
        names |= {"a": softmax(names["s"]), "\\hat a": softmax(names["s"] + each)}
    return names | {"\\delta": 0.1}


def precision_step(rng: np.random.Generator) -> Names:
    names = derivations_model.both_move(rng)
    return names | {"worth": [names["s'"] - names["s"]]}


def precision_bounded(rng: np.random.Generator) -> Names:
    """The weight of a score that rises by its rounding while all others fall by theirs."""
    q, k, c, u = row(rng, 1, 4), row(rng, 1, 4), number(rng.uniform(1, 3)), 2.0**-8
    capped = number(soft_cap(100 * q @ k.T, c))
    low, high = (softmax(np.array([-c + step, *[c - step] * 10**6])) for step in (0, u * c))
    names = {"q": q, "k": k, "c": c, "u": u, "\\tilde s": capped}
    largest = np.abs(np.tanh(np.linspace(-30, 30, 99))).max()
    factor = pytest.approx(high[0] / low[0], rel=1e-6)
    return names | {"phrases": {"|\\tanh|": largest}, "worth": [factor]}


def kernels_smoothing(rng: np.random.Generator) -> Names:
    """The last key is 0, so that its kernel counts once."""
    q, k, d_k, j = row(rng, 1, 4), row(rng, 3, 4), 4, 1
    k[-1] = 0
    a = attention(q, k, k)[1][0]
    kernel = np.exp(-((q - k) ** 2).sum(axis=1) / (2 * d_k**0.5))
    factor = (a[j] / kernel[j]) / (a[-1] / kernel[-1])
    score = np.log(a[j] / a[-1])
    names = {"q": q, "k": k, "d_k": d_k, "j": j, "h": d_k**0.25}
    return names | {"worth": [np.sqrt(k[j] @ k[j]), score, factor]}


def kernels_bias_variance(rng: np.random.Generator) -> Names:
    names = derivations_model.measured(rng)
    truth = names["g"](names["x"])
    error = sum(p * (case["o"] - truth) ** 2 for p, case in names["cases"])
    noise = sum(p * case["\\varepsilon"][0, 0] ** 2 for p, case in names["cases"])
    return names | {"worth": [noise, error]}


def memory_features(rng: np.random.Generator) -> Names:
    """Mean and variance over the directions by a rule of integration."""
    q, k, f, r = 0.4 * row(rng, 1, 2), 0.4 * row(rng, 1, 2), 3, 1
    w, x = row(rng, f, 2), 0.4 * row(rng, 1, 2)
    features = positive_features
    cases = [
        (p, number(features(q, one) @ features(k, one).T))
        for p, one in derivations_model.gaussian_cases(24)
    ]
    mean = sum(p * one for p, one in cases)
    spread = sum(p * (one - mean) ** 2 for p, one in cases) / f
    names: Names = {"q": q, "k": k, "x": x, "f": f, "r": r, "w": w}
    names |= {"\\varphi": lambda x: features(x, w), "\\varphi_r": lambda x: features(x, w)[0, r]}
    return names | {"worth": [number(features(q, w) @ features(k, w).T), mean, spread]}


def memory_waves(rng: np.random.Generator) -> Names:
    q, k, w = 0.4 * row(rng, 1, 2), 0.4 * row(rng, 1, 2), row(rng, 1, 2)

    def product(one: np.ndarray) -> float:
        return number(trigonometric_features(q, one) @ trigonometric_features(k, one).T)

    cases = [(p, product(one)) for p, one in derivations_model.gaussian_cases(24)]
    mean = sum(p * one for p, one in cases)
    spread = sum(p * (one - mean) ** 2 for p, one in cases)
    return {"q": q, "k": k, "w": w, "worth": [product(w), mean, spread]}


def in_context_step(rng: np.random.Generator) -> Names:
    names = derivations_model.regression(rng)
    loss = number(names["L"](names["w_1"]))
    return names | {"w": names["w_1"], "worth": [names["o"], loss]}


def in_context_rate(rng: np.random.Generator) -> Names:
    """At the best rate or at another one; the errors are counted over all prompts."""
    n, d, sigma = 2, 2, 0.5
    best = 1 / (n + d + 1 + sigma**2)
    eta = [best, number(rng.uniform(0.05, 0.15))][rng.integers(2)]
    names = derivations_model.one_step_of_many(rng, eta)
    found = [derivations_model.one_step_of_many(rng, one)["worth"][0] * d for one in (eta, best)]
    x = row(rng, 1, d)
    answers = [number(x @ names[one].T) for one in ("w_1", "w")]
    worth = [sigma * sigma, *answers, *found]
    return names | {"x": x, "worth": worth, "truth": [eta == best]}


def in_context_more(rng: np.random.Generator) -> Names:
    """The lowest point of the parabola and where it comes back, from three of its values."""
    n, d = integers(rng, 2, 9, 2)
    noise = number(rng.uniform(0, 2))
    low, middle, high = (step_error(m, d, 1 / (n + d + 1 + noise), noise) for m in (1, 2, 3))
    bend, slope = (high - 2 * middle + low) / 2, (high - low) / 2
    least = 2 - slope / (2 * bend)
    lowest = bool(rng.integers(2))
    m = least if lowest else 2 * least  # it begins at m = 0 with the error of the answer 0
    names = {"n": n, "d": d, "\\sigma": noise**0.5, "m": m}
    return names | {"truth": [True, lowest, not lowest]}


def assistant_policy(rng: np.random.Generator) -> Names:
    names = derivations_model.preferred(rng)
    return names | {"worth": [names["\\beta"] * np.log(names["C"])]}


OTHERS: dict[str, Draw] = {
    "masking#result-no-leak": masking_padding,
    "batches#result-moved": derivations_model.moved,
    "cross-attention#result-causal": masking_padding,
    "eight-steps#result-positive": lambda rng: {
        "s": number(rng.normal()),
        "worth": [number(softmax(np.array([0.0, 3, 3])))],
    },
    "positions#result-shift": derivations.sinusoidal,
    "real-models#result-shift": derivations_model.shifted,
    "scaling#result-weights": lambda rng: {"d_k": 64},
    "score-functions#result-no-tanh": derivations.scores,
    "sequences#result-hull": derivations_basics.averaged,
    "softmax#result-gap": lambda rng: {
        "n": int(rng.integers(2, 4)),
        "\\tau": number(rng.uniform(0.01, 1)),
    },
}
"""Boxes whose symbols stand for something simple, or for what they do in a derivation."""


def list_draws() -> dict[str, Draw]:
    """What draws the symbols of a box, by page and name: `softmax_gap` for "softmax#result-gap"."""
    return {
        name: one
        for name, one in globals().items()
        if inspect.isfunction(one)
        and one.__module__ == __name__
        and not name.startswith("_")
        and [*inspect.signature(one).parameters] == ["rng"]
    }
