"""What the symbols in docstrings stand for: what a function takes, and what it returns for that.

Keys are `module.function`. A name that the formula defines is what the function gives, so that a
formula and its code cannot drift apart; `tests/derivations.py` says how names are written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_docs.attention_function import attention, drop
from attention_docs.cross_attention import cross_attention_backward, cross_attention_flops
from attention_docs.eight_steps import weighted_values
from attention_docs.generation import (
    acceptance,
    attend_with_cache,
    cached_block,
    decode_flops,
    grouped_attention,
    residual,
    window_mask,
)
from attention_docs.heads import first_token_share
from attention_docs.in_context import (
    gradient_step,
    in_context_layer,
    ridge_regression,
    step_error,
)
from attention_docs.in_pieces import (
    backward_in_pieces,
    elu_plus_one,
    linear_attention,
    log_total,
    merge,
    piece,
    plain_traffic,
    read_state,
    tiled_traffic,
    update_by_delta_rule,
)
from attention_docs.in_pieces import extended_state as state_of
from attention_docs.kernels import gaussian_kernel, kernel_smoothing, positive_features
from attention_docs.language_model import cross_entropy, cross_entropy_gradient
from attention_docs.learning import (
    attention_backward,
    entry_variance,
    finite_differences,
    self_attention_backward,
)
from attention_docs.long_sequences import (
    alibi_bias,
    alibi_slopes,
    far_share,
    ntk_base,
    t5_buckets,
)
from attention_docs.masking import apply_mask, causal_mask, padding_mask
from attention_docs.matrix_form import angles, column_attention, permutation_matrix, projections
from attention_docs.multi_head import (
    Parameters,
    linear,
    multi_head_attention,
    parameter_count,
    split_heads,
)
from attention_docs.positions import frequencies, learned, rope, rotation, sinusoids
from attention_docs.precision import gamma, round_to, rounded_product, rounded_sum, soft_cap
from attention_docs.score_functions import additive, bilinear, cosine, dot, scaled_dot
from attention_docs.sequences import attention_parameters, weights_of, window_parameters
from attention_docs.softmax import (
    entropy,
    softmax,
    softmax_gradient,
    softmax_jacobian,
    tempered_softmax,
)
from attention_docs.transformer_block import (
    BlockParameters,
    block_flops,
    block_parameter_count,
    embed,
    encoder_block,
    feed_forward,
    layer_norm,
    layer_norm_gradient,
    rms_norm,
    silu,
    swiglu,
)
from tests import derivations, derivations_model
from tests.derivations import Both, Draw, Names, number, row
from tests.result_names import integers

Rng = np.random.Generator


def listed(first: Any, *arrays: np.ndarray) -> list[Any]:
    """Arrays that are counted from 1 in a formula that also computes with their number."""
    return [first, *arrays]


def qkv(rng: Rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return row(rng, 3, 2), row(rng, 4, 2), row(rng, 4, 5)


def attended(rng: Rng) -> Names:
    Q, K, V = qkv(rng)
    M = np.where(rng.random((3, 4)) < 0.3, -np.inf, row(rng, 3, 4))
    M[:, 0] = 0.0
    names = {"Q": Q, "K": K, "V": V, "M": M, "d_k": 2, "softmax": softmax}
    return names | {"Attention": lambda Q, K, V: attention(Q, K, V, M)[0]}


def dropped(rng: Rng) -> Names:
    a, p = softmax(row(rng, 3, 4)), 0.25
    cases = [
        (share, {"r": np.full((3, 4), float(kept)), "a'": drop(a, np.full((3, 4), kept), p)})
        for share, kept in ((1 - p, True), (p, False))
    ]
    keep = rng.random((3, 4)) < 0.5
    names = {"a": a, "p": p, "r": keep.astype(float), "a'": drop(a, keep, p), "i": 1, "j": 2}
    return names | {"cases": cases}


def decoded(rng: Rng) -> Names:
    names = derivations_model.three_sublayers(rng)
    x, m = names["t"], names["X"]
    mha, *norms = (names[one] for one in ("MHA", "LN_1", "LN_2", "LN_3"))
    z = norms[0](x + mha(x, x))
    u = norms[1](z + mha(z, m))
    first = {"z": z, "u": u, "y": names["y"]}
    z = x + mha(norms[0](x), norms[0](x))
    u = z + mha(norms[1](z), m)
    second = {"z": z, "u": u, "y": names["norm first"]}
    return names | {"x": x, "m": m, "lines": [first, second]}


def encoded(rng: Rng) -> Names:
    d, n, heads = 4, 3, 2
    x, gammas = row(rng, n, d), row(rng, 2, d)
    own = Parameters(*(row(rng, d, d) for _ in range(4)))
    parameters = BlockParameters(own, row(rng, d, 7), row(rng, 7, d))
    parameters = parameters._replace(gamma_1=gammas[0], gamma_2=gammas[1])

    def mha(x: np.ndarray) -> Any:
        return multi_head_attention(x, x, x, own, heads, names.get("mask"))[0]

    def ffn(x: np.ndarray) -> Any:
        return feed_forward(x, parameters.W_1, parameters.W_2)

    def norm(which: int) -> Any:
        return lambda x: layer_norm(x, gammas[which])

    names: Names = {"x": x, "MHA": mha, "FFN": ffn, "LN_1": norm(0), "LN_2": norm(1)}
    post, pre = (encoder_block(x, parameters, heads, norm_first=one) for one in (False, True))
    lines = [{"z": norm(0)(x + mha(x)), "y": post}, {"z": x + mha(norm(0)(x)), "y": pre}]
    return names | {"lines": lines, "parameters": parameters, "heads": heads}


def encoded_with_cache(rng: Rng) -> Names:
    names = encoded(rng)
    x, heads, mask = names["x"], names["heads"], causal_mask(3)

    def mha(x: np.ndarray) -> Any:
        return multi_head_attention(x, x, x, names["parameters"].attention, heads, mask)[0]

    y, _ = cached_block(x, names["parameters"], heads)
    return names | {"MHA": mha, "lines": [{"z": x + mha(names["LN_1"](x)), "y": y}]}


def crossed_back(rng: Rng) -> Names:
    names = derivations_model.two_sequences(rng)
    by_output = row(rng, 2, 6)
    given = (names[one] for one in ("T", "X", "W_Q", "W_K", "W_V", "A"))
    T, X, W_Q, W_K, W_V, A = given
    dQ, dK, dV = attention_backward(T @ W_Q, X @ W_K, X @ W_V, A, by_output)
    found = cross_attention_backward(T, X, W_Q, W_K, W_V, A, by_output)
    slopes = dict(zip(("dT", "dX", "dW_Q", "dW_K", "dW_V"), found, strict=True))
    return names | slopes | {"dQ": dQ, "dK": dK, "dV": dV}


def crossed_flops(rng: Rng) -> Names:
    n_q, n_k, d, s = integers(rng, 2, 9, 4)
    worth = [cross_attention_flops(n_q, n_k, d, s)]
    return {"n_q": n_q, "n_k": n_k, "d": d, "s": s, "worth": worth}


def weighted(rng: Rng) -> Names:
    a, v = softmax(row(rng, 3, 4)), row(rng, 4, 2)
    u, o = weighted_values(a, v), attention(np.log(a), np.eye(4) * 2, v)[0]
    return {
        "a": a, "v": v, "u": lambda i, j: u[i, j][None], "o": o,
        "i": 1, "j": 2, "sizes": {"j": 4},
    }  # fmt: skip


def cached_attention(rng: Rng) -> Names:
    q, k, v = row(rng, 1, 4, 2), row(rng, 1, 4, 2), row(rng, 1, 4, 3)
    o, _ = attend_with_cache(q, k, v)
    _, a = attention(q, k, v, causal_mask(4))
    return {"a": a[0], "v": v[0], "o": o[0], "i": 2, "j": 0, "sizes": {"j": 4}}


def masks(rng: Rng) -> Names:
    i, j = integers(rng, 0, 5, 2)
    offset, w = 2, 3
    mask = window_mask(5, 7, w, offset=offset).astype(float)
    return {"mask": mask, "offset": offset, "w": w, "i": i, "j": j}


def causal_masks(rng: Rng) -> Names:
    return masks(rng) | {"mask": causal_mask(5, 7, offset=2).astype(float)}


def padding_masks(rng: Rng) -> Names:
    lengths = rng.integers(1, 6, 3)
    mask = padding_mask(lengths, 6)[:, 0].astype(float)
    return {"mask": mask, "length": lengths[None].astype(float), "b": 1, "j": int(rng.integers(6))}


def masked(rng: Rng) -> Names:
    s, mask = row(rng, 4, 4), causal_mask(4)
    M = np.where(mask, 0.0, -np.inf)
    tilde = apply_mask(s, mask)
    return {"\\tilde s": tilde, "\\tilde S": tilde, "S": s, "s": s, "M": M, "i": 2, "j": 1}


def grouped(rng: Rng) -> Names:
    h, g, r = 6, 3, int(rng.integers(1, 7))
    Q, K, V = row(rng, h, 3, 2), row(rng, g, 4, 2), row(rng, g, 4, 5)
    O, _ = grouped_attention(Q, K, V)  # noqa: E741
    heads = {"Q": listed(None, *Q), "K": listed(None, *K), "V": listed(None, *V)}
    names = {"O": listed(None, *O), "h": h, "g": g, "r": r, "c": (r + 1) // 2}
    return names | heads | {"Attention": lambda Q, K, V: attention(Q, K, V)[0]}


def latent(rng: Rng) -> Names:
    return derivations_model.absorbed(rng) | {
        "W_UK^": row(rng, 2, 2, 5),
        "W_UV^": row(rng, 2, 2, 6),
        "r": 1,
    }


def decoding(rng: Rng) -> Names:
    n, d, d_ff = integers(rng, 2, 9, 3)
    names = {"n": n, "d": d, "d_ff": d_ff, "t": 0, "sizes": {"t": n}, "counting": {"t"}}
    return names | {"worth": [decode_flops(n, d, d_ff), decode_flops(n, d, d_ff, cached=False)]}


def guesses(rng: Rng) -> Names:
    p, q = softmax(row(rng, 4)).tolist(), softmax(row(rng, 4)).tolist()
    names = {"p": p.__getitem__, "q": q.__getitem__, "x": int(rng.integers(4)), "y": 0}
    names |= {"\\alpha": acceptance(p, q).__getitem__, "r": residual(p, q).__getitem__}
    return names | {"sizes": {"y": 4}}


def pieces(rng: Rng) -> Names:
    q, k, v = row(rng, 1, 3), row(rng, 5, 3), row(rng, 5, 2)
    m, total, o = piece(q, k, v)
    names = {"s": q @ k.T / 3**0.5, "v": v, "m": number(m), "\\ell": number(total), "o": o}
    names |= {"a": attention(q, k, v)[1]}
    return names | {"j": 0, "sizes": {"j": 5}, "\\lambda": number(log_total(piece(q, k, v)))}


def merged(rng: Rng) -> Names:
    q, k, v = row(rng, 1, 3), row(rng, 5, 3), row(rng, 5, 2)
    parts = [piece(q, k[at], v[at]) for at in (slice(2), slice(2, 5))]
    names: Names = {}
    for end, one in (("_1", parts[0]), ("_2", parts[1]), ("", merge(*parts))):
        names |= {f"m{end}": number(one[0]), f"\\ell{end}": number(one[1]), f"o{end}": one[2]}
    return names


def pieces_back(rng: Rng) -> Names:
    Q, K, V, dO = row(rng, 4, 2), row(rng, 5, 2), row(rng, 5, 3), row(rng, 4, 3)
    forward = piece(Q, K, V)
    _, A = attention(Q, K, V)
    dQ, dK, dV = backward_in_pieces(Q, K, V, forward, dO, 2)
    names = {"Q": Q, "K": K, "V": V, "S": Q @ K.T / 2**0.5, "A": A, "o": forward.output, "dO": dO}
    names |= {"dQ": dQ, "dK": dK, "dV": dV, "\\lambda": log_total(forward)[:, None], "d_k": 2}
    delta = np.array([[number(one @ other)] for one, other in zip(dO, forward.output, strict=True)])
    return names | {"\\delta": delta, "dS": A * (dO @ V.T - delta), "i": 1}


def traffic(rng: Rng) -> Names:
    n, d = integers(rng, 2, 20, 2)
    return {"n": n, "d": d, "phrases": {"4nd + 4n^2": plain_traffic(n, d)}}


def traffic_of_tiles(rng: Rng) -> Names:
    n, d, r = integers(rng, 2, 20, 3)
    return {"n": n, "d": d, "r": r, "worth": [tiled_traffic(n, d, r)]}


def featured(rng: Rng) -> Names:
    q, k, v, mask = row(rng, 4, 3), row(rng, 5, 3), row(rng, 5, 2), rng.random((4, 5)) < 0.6
    mask[:, 0] = True
    o = linear_attention(elu_plus_one(q), elu_plus_one(k), v, mask)
    names = {"q": q, "k": k, "v": v, "m": mask.astype(float), "o": o, "\\varphi": elu_plus_one}
    return names | {"i": 1, "j": 0, "sizes": {"j": 5}}


def state(rng: Rng) -> Names:
    names = featured(rng)
    found = state_of(elu_plus_one(names["k"]), names["v"])
    o = read_state(elu_plus_one(names["q"]), found)
    return names | {"S": found.matrix, "z": found.total[None], "o": o}


def corrected(rng: Rng) -> Names:
    k, v, i, beta = row(rng, 5, 3), row(rng, 5, 2), int(rng.integers(1, 5)), 0.7
    names = {"k": k, "v": v, "i": i, "\\beta": beta}
    return names | {"S": lambda i: update_by_delta_rule(k[: i + 1], v[: i + 1], rate=beta)}


def whole_model(rng: Rng) -> Names:
    names = derivations_model.decoder(rng)
    start = names["E"][names["t"][0]]
    return names | {"x": names["X"], "p": names["p"], "phrases": {"E_{t}": start}}


def loss(rng: Rng) -> Names:
    z, t = row(rng, 1, 5), 3
    right = np.array([t])
    names = {"z": z, "t": t, "\\ell": number(cross_entropy(z, right)), "softmax": softmax}
    phrases = {"\\frac{\\partial \\ell}{\\partial z}": cross_entropy_gradient(z, right)}
    return names | {"y": np.eye(5)[[t]], "j": 1, "sizes": {"j": 5}, "phrases": phrases}


def heads_added(rng: Rng) -> Names:
    O, W = [*row(rng, 3, 4, 2)], [*row(rng, 3, 2, 6)]  # noqa: E741
    phrases = {"[O_1 \\; \\dots \\; O_h]": np.hstack(O)}
    names = {"O": O, "W_O": np.vstack(W), "W_O^": W, "Y": np.hstack(O) @ np.vstack(W)}
    return names | {"r": 0, "sizes": {"r": 3}, "phrases": phrases}


def sunk(rng: Rng) -> Names:
    a = softmax(row(rng, 7, 7))
    return {"a": a, "n": 7, "sizes": {"i": 7}, "s": number(first_token_share(a))}


def variances(rng: Rng) -> Names:
    d_in, d_out = integers(rng, 2, 9, 2)
    worth = [float(entry_variance(one, d_in, d_out)) for one in ("lecun", "kaiming", "xavier")]
    return {"d_in": d_in, "d_out": d_out, "worth": worth}


def attention_back(rng: Rng) -> Names:
    X, *W, dO = (row(rng, *shape) for shape in ((4, 5), (5, 3), (5, 3), (5, 2), (4, 2)))
    Q, K, V = (X @ one for one in W)
    _, A = attention(Q, K, V)
    dQ, dK, dV = attention_backward(Q, K, V, A, dO)
    dA = dO @ V.T
    slopes = self_attention_backward(X, *W, A, dO)
    rowsum = lambda matrix: matrix.sum(axis=1, keepdims=True)  # noqa: E731
    return {
        **dict(zip(("W_Q", "W_K", "W_V"), W, strict=True)),
        **dict(zip(("dX", "dW_Q", "dW_K", "dW_V"), slopes, strict=True)),
        **{"X": X, "Q": Q, "K": K, "V": V, "A": A, "dO": dO, "dQ": dQ, "dK": dK, "dV": dV},
        **{"dA": dA, "dS": A * (dA - rowsum(dA * A)), "rowsum": rowsum, "d_k": 3},
    }


def differences(rng: Rng) -> Names:
    x, h, i = row(rng, 1, 4), 1e-3, 2

    def of(x: Any) -> float:
        return number(np.sin(x).sum() + x[0, 0] * x[0, 2])

    phrase = "\\frac{\\partial L}{\\partial x_i}"
    names = {"x": x, "h": h, "i": i, "e": np.eye(4), "L": of, "near": 1e-9}
    return names | {"phrases": {phrase: number(finite_differences(of, x, h)[0, i])}}


def slower(rng: Rng) -> Names:
    d, base, factor = 8, 100.0, number(rng.uniform(1, 5))
    after = ntk_base(base, d, factor)
    both = {"\\omega": frequencies(d, base)[None], "\\omega'": frequencies(d, after)[None]}
    return both | {"base": base, "base'": after, "\\lambda": factor, "d": d, "i": 2}


def slopes(rng: Rng) -> Names:
    h, r = 4, int(rng.integers(1, 5))
    return {"m": listed(None, *alibi_slopes(h)), "h": h, "r": r}


def biases(rng: Rng) -> Names:
    m, (t, u) = number(rng.uniform(0.1, 1)), integers(rng, 0, 5, 2)
    return {"m": m, "b": alibi_bias(np.array([m]), 5)[0], "t": t, "u": u}


def far(rng: Rng) -> Names:
    names = derivations_model.fading(rng)
    bound = far_share(names["m"], names["c"], names["w"])
    return names | {"phrases": {"e^{c - m w}": bound}} if rng.integers(2) else names


def buckets(rng: Rng) -> Names:
    offset = int(rng.integers(4, 16))
    names = {"e": 4, "num\\_buckets": 8, "max\\_distance": 16, "\\Delta": offset}
    return names | {"worth": [int(t5_buckets(np.array([offset]), 8, 16)[0])]}


def columns(rng: Rng) -> Names:
    Q, K, V = row(rng, 2, 3), row(rng, 2, 4), row(rng, 5, 4)
    outputs, A = column_attention(Q, K, V)
    scores = np.log(A) + np.log(np.exp(K.T @ Q / 2**0.5).sum(axis=0))
    hats = {"\\hat Q": Q, "\\hat K": K, "\\hat V": V, "\\hat A": A, "\\hat O": outputs}
    return hats | {"\\hat S": scores, "d_k": 2}


def directions(rng: Rng) -> Names:
    q, k = row(rng, 3, 4), row(rng, 2, 4)
    i, j = 1, 1
    names = {"q": q, "k": k, "\\theta": np.radians(angles(q, k)), "i": i, "j": j}
    first = "\\frac{q_i \\cdot k_j}{\\lVert q_i \\rVert}"
    return names | {"phrases": {first: projections(q, k)[i, j]}} if rng.integers(2) else names


def permuted(rng: Rng) -> Names:
    order, (i, j) = rng.permutation(4), integers(rng, 0, 4, 2)
    P = permutation_matrix(order.tolist())
    return {"P": P, "I": np.eye(4), "order": order[None].astype(float), "i": i, "j": j}


def split(rng: Rng) -> Names:
    h, d, r = 3, 6, int(rng.integers(1, 4))
    X = row(rng, 4, d)
    parts = listed(None, *split_heads(X, h))
    return {"X": Both(0.0, lambda *at: parts[at[0]] if len(at) == 1 else X[at[0], at[1]])} | {
        "r": r, "h": h, "d": d, "d_head": 2, "i": 1, "c": 0,
    }  # fmt: skip


def many_heads(rng: Rng) -> Names:
    h, d = 3, 6
    X_Q, X_K, X_V = row(rng, 3, d), row(rng, 4, d), row(rng, 4, d)
    W = [row(rng, d, d) for _ in range(4)]
    b = [row(rng, d) for _ in range(4)]
    names: Names = {"X_Q": X_Q, "X_K": X_K, "X_V": X_V, "W_O": W[3], "b_O": b[3][None]}
    for letter, matrix, bias in zip("QKV", W, b, strict=False):
        names |= {f"W_{letter}^": np.split(matrix, h, axis=1)}
        names |= {f"b_{letter}^": [one[None] for one in np.split(bias, h)]}
    plain = [linear("", X, W, None) for X, W in zip((X_Q, X_K, X_V), W, strict=False)]
    O, _ = attention(*(split_heads(one, h) for one in plain))  # noqa: E741
    Y, _ = multi_head_attention(X_Q, X_K, X_V, Parameters(*W), h)
    names |= {"O": [*O], "Y": Y, "r": 1, "phrases": {"[O_1 \\; \\dots \\; O_h]": np.hstack([*O])}}
    return names | {"Attention": lambda Q, K, V: attention(Q, K, V)[0], "all": (W, b, h)}


def many_heads_biased(rng: Rng) -> Names:
    names = many_heads(rng)
    X_Q, X_K, X_V, (W, b, h) = (names[one] for one in ("X_Q", "X_K", "X_V", "all"))
    parts = [linear("", X, W, b) for X, W, b in zip((X_Q, X_K, X_V), W, b, strict=False)]
    O, _ = attention(*(split_heads(one, h) for one in parts))  # noqa: E741
    Y, _ = multi_head_attention(X_Q, X_K, X_V, Parameters(*W, *b), h)
    phrases = {"[O_1 \\; \\dots \\; O_h]": np.hstack([*O])}
    return names | {"O": [*O], "Y": Y, "phrases": phrases}


def counted_heads(rng: Rng) -> Names:
    """Its sentences have h d_head = d and g = h in their second half, and so in all of it here."""
    d, h = 8, [2, 4][rng.integers(2)]
    names = {"d": d, "h": h, "g": h, "d_head": d // h}
    whole, bare = parameter_count(d, h), parameter_count(d, h, bias=False)
    return names | {"worth": [bare, whole, bare]}


def counted_groups(rng: Rng) -> Names:
    d, h, g, size = 8, 4, 2, int(rng.integers(1, 6))
    whole = parameter_count(d, h, d_head=size, kv_heads=g)
    return {"d": d, "h": h, "g": g, "d_head": size, "worth": [whole]}


def turning(rng: Rng) -> Names:
    d, base, t, u = 6, 50.0, 5, 2
    q, k = row(rng, 1, d), row(rng, 1, d)
    x = row(rng, 7, d)
    names = {"base": base, "d": d, "\\omega": frequencies(d, base)[None], "i": 1, "t": t, "u": u}
    at = np.arange(7.0)

    def rotate(x: np.ndarray) -> np.ndarray:
        return rope(np.tile(x, (7, 1)) if len(x) == 1 else x, at, base)

    return names | {
        "p": sinusoids(at, d, base), "x": x, "\\tilde x": rotate(x), "q": q, "k": k,
        "\\tilde q": rotate(q), "\\tilde k": rotate(k),
        "R": lambda s: rotation(s, d, base),
    }  # fmt: skip


def turn_of_two(rng: Rng) -> Names:
    return {"R": lambda alpha: rotation(alpha, 2), "\\alpha": number(rng.normal())}


def rows_of_table(rng: Rng) -> Names:
    table = row(rng, 5, 3)
    return {"E": table, "p": learned(table, range(5)), "t": 2}


def rounded(rng: Rng) -> Names:
    x = round_to(row(rng, 1, 6) + 3, "float8_e5m2")
    sums = [number(rounded_sum(x[0, :end].copy(), "float8_e5m2")) for end in range(1, 7)]
    fl = lambda x: number(round_to(np.array(x), "float8_e5m2"))  # noqa: E731
    return {"x": x, "t": np.array([sums]), "fl": fl, "i": int(rng.integers(1, 6))}


def rounded_once(rng: Rng) -> Names:
    names = derivations_model.rounded(rng)
    return names | {"\\delta": names["fl"](names["x"]) / names["x"] - 1, "u": 2.0**-4}


def rounded_matrices(rng: Rng) -> Names:
    m, name = 16, "bfloat16"
    a, b = round_to(row(rng, 2, m), name), round_to(row(rng, m, 3), name)
    names = {"a": a, "b": b, "c": a @ b, "\\hat c": rounded_product(a, b, name), "m": m}
    names |= {"u": 2.0**-8, "\\gamma_m": gamma(m, name), "i": 1, "j": 2, "k": 0}
    return names | {"sizes": {"k": m}}


def grown(rng: Rng) -> Names:
    return derivations_model.roundings(rng)


def capped(rng: Rng) -> Names:
    s, c = number(3 * rng.normal()), number(rng.uniform(0.5, 3))
    return {"s": s, "c": c, "\\tilde s": number(soft_cap(np.array(s), c))}


def moments(rng: Rng) -> Names:
    x = row(rng, 1, 7)
    fourth = number(((x - x.mean()) ** 4).mean())
    return {"x": x, "\\bar x": x.mean(), "N": 7, "m_4": fourth, "i": 0, "sizes": {"i": 7}}


def scored(rng: Rng) -> Names:
    Q, K, W = row(rng, 3, 4), row(rng, 2, 4), row(rng, 4, 4)
    names = {"q": Q, "k": K, "Q": Q, "K": K, "W": W, "d_k": 4, "i": 2, "j": 1}
    return names | {"S": dot(Q, K), "s": dot(Q, K)}


def scored_by(found: Any) -> Draw:
    def draw(rng: Rng) -> Names:
        names = scored(rng)
        scores = found(names["Q"], names["K"], names["W"])
        return names | {"S": scores, "s": scores}

    return draw


def added(rng: Rng) -> Names:
    q, k, W_q, W_k, w = (row(rng, *one) for one in ((3, 4), (2, 5), (4, 6), (5, 6), (1, 6)))
    names = {"q": q, "k": k, "W_q": W_q, "W_k": W_k, "w": w, "i": 2, "j": 1}
    return names | {"s": additive(q, k, W_q, W_k, w[0])}


def inside(rng: Rng) -> Names:
    corners = row(rng, 4, 3)
    p = softmax(row(rng, 1, 4)) @ corners
    a = weights_of(p[0], corners)[None]
    return {"a": a, "v": corners, "p": p, "j": 0, "sizes": {"j": 4}}


def softened(rng: Rng) -> Names:
    s, tau = row(rng, 1, 4), number(rng.uniform(0.5, 2))
    names = {"s": s, "\\tau": tau, "a": tempered_softmax(s, tau), "softmax": softmax}
    return names | {"m": s.max(), "i": 1, "j": 2, "sizes": {"j": 4}}


def sloped(rng: Rng) -> Names:
    s, g, j = row(rng, 1, 4), row(rng, 1, 4), 2
    a = softmax(s)
    phrases = {"\\frac{\\partial a}{\\partial s}": softmax_jacobian(a)[0]}
    phrases |= {"\\frac{\\partial L}{\\partial s_j}": softmax_gradient(a, g)[0, j]}
    names = {"a": a, "g": g, "J": softmax_jacobian(a)[0], "diag": lambda a: np.diag(a[0])}
    return names | {"i": 1, "j": j, "sizes": {"i": 4}, "phrases": phrases}


def uncertain(rng: Rng) -> Names:
    a = softmax(row(rng, 1, 4))
    return {"a": a, "i": 0, "sizes": {"i": 4}, "worth": [number(entropy(a))]}


def embedded(rng: Rng) -> Names:
    E, p, t, c = row(rng, 5, 3), row(rng, 6, 3), rng.integers(0, 5, 4), 2.0
    names = {"E": E, "p": p, "t": t[None].astype(float), "c": c, "i": 2}
    return names | {"x": embed(t, E, p, c)}


def normed(rng: Rng) -> Names:
    names = derivations.normed(rng)
    return names | {"LN": lambda x: layer_norm(x, names["\\gamma"][0], names["\\beta"][0], 1e-3)}


def normed_by_root(rng: Rng) -> Names:
    """γ and ε of their own; the mean of x is not 0."""
    gamma, eps = row(rng, 1, 5), 0.3
    names: Names = {"x": 1 + row(rng, 1, 5), "\\gamma": gamma, "\\varepsilon": eps, "d": 5, "c": 2}
    names |= {"RMSNorm": lambda x: rms_norm(x, gamma[0], eps)}
    return names | {"sizes": {"e": 5}}


def smoothed(rng: Rng) -> Names:
    x = np.array(3 * rng.normal())
    return {"x": number(x), "SiLU": lambda x: number(silu(np.array(x)))}


def gated(rng: Rng) -> Names:
    """The product by components, ⊙, stands for the whole of what it joins."""
    x, W_gate, W_up, W_down = row(rng, 3, 2), row(rng, 2, 5), row(rng, 2, 5), row(rng, 5, 4)
    gate = x @ W_gate
    product = gate / (1 + np.exp(-gate)) * (x @ W_up)
    phrase = "\\operatorname{SiLU}(x W_{gate}) \\odot x W_{up}"
    names: Names = {"x": x, "W_down": W_down, "phrases": {phrase: product}}
    return names | {"SwiGLU": lambda x: swiglu(x, W_gate, W_up, W_down)}


def normed_back(rng: Rng) -> Names:
    names = derivations.normed(rng)
    g = row(rng, 1, 5)
    phrase = "\\frac{\\partial L}{\\partial x_e}"
    slope = layer_norm_gradient(names["x"], g, 1e-3)[0, names["e"]]
    return names | {"g": g, "phrases": {phrase: slope}}


def fed(rng: Rng) -> Names:
    names = derivations.feed_forward(rng)
    W_1, W_2, b_1, b_2 = (names[one] for one in ("W_1", "W_2", "b_1", "b_2"))
    found = lambda x: feed_forward(x, W_1, W_2, b_1[0], b_2[0])  # noqa: E731
    return names | {"FFN": found, "\\varphi": lambda x: np.maximum(0, x)}


def sized(rng: Rng) -> Names:
    d, n = integers(rng, 2, 9, 2)
    count, flops = block_parameter_count(d, 4 * d), block_flops(n, d, 4 * d)
    phrases = {"12d^2 + 13d": count, "8nd^2 + 4n^2d + 4n\\,d\\,d_\\text{ff}": flops}
    names = {"d": d, "d_ff": 4 * d, "n": n}
    return names | {"phrases": phrases} if rng.integers(2) else names


def windows(rng: Rng) -> Names:
    k, d, d_out = integers(rng, 1, 9, 3)
    names = {"k": 2 * k + 1, "d": d, "d_out": d_out, "r": k}
    return names | {"worth": [window_parameters(2 * k + 1, d, d_out)]}


def self_attention_sizes(rng: Rng) -> Names:
    d, d_k, d_v = integers(rng, 1, 9, 3)
    return {"d": d, "d_k": d_k, "d_v": d_v, "worth": [attention_parameters(d, d_k, d_v)]}


def near(rng: Rng) -> Names:
    """As many queries as keys, so that κ(q, k) may take all of them as one vector."""
    q, k, v, h = row(rng, 4, 3), row(rng, 4, 3), row(rng, 4, 2), 1.3

    def kernel(one: np.ndarray, other: np.ndarray) -> float:
        return number(gaussian_kernel(one.reshape(1, -1), other.reshape(1, -1), h))

    o, _ = kernel_smoothing(q, k, v, h)
    names = {"q": q, "k": k, "v": v, "h": h, "o": o, "\\kappa": kernel}
    return names | {"i": 1, "j": 0, "sizes": {"j": 4}}


def random_feature(rng: Rng) -> Names:
    x, w, f, r = row(rng, 1, 3), row(rng, 4, 3), 4, 2
    names: Names = {"x": x, "w": w, "f": f, "r": r}
    return names | {"\\varphi_r": lambda x: positive_features(x, w)[0, r]}


def stepped(rng: Rng) -> Names:
    x, y, eta = row(rng, 4, 3), row(rng, 1, 4), 0.3
    names = {"x": x, "y": y, "\\eta": eta, "w": gradient_step(x, y[0], eta)[None]}
    return names | {"sizes": {"j": 4}}


def penalised(rng: Rng) -> Names:
    x, y, strength = row(rng, 4, 3), row(rng, 1, 4), 0.7
    w = ridge_regression(x, y[0], strength)[None]
    names = {"x": x, "y": y, "w": w, "G": x.T @ x, "\\lambda": strength, "I": np.eye(3)}
    return names | {"sizes": {"j": 4}}


def asked(rng: Rng) -> Names:
    t, e = row(rng, 2, 4), row(rng, 5, 4)
    W_Q, W_K, W_V = row(rng, 4, 3), row(rng, 4, 3), row(rng, 4, 2)
    names = {"t": t, "e": e, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "i": 1, "sizes": {"j": 5}}
    return names | {"o": in_context_layer(t, e, W_Q, W_K, W_V)}


def left_over(rng: Rng) -> Names:
    n, d = integers(rng, 1, 9, 2)
    eta, noise = 0.07, 0.4
    names = {"n": n, "d": d, "\\eta": eta, "\\sigma": noise**0.5}
    return names | {"worth": [step_error(n, d, eta, noise)]}


DISPLAYS: dict[str, Draw] = {
    "attention_function.attention": attended,
    "attention_function.drop": dropped,
    "cross_attention.decoder_block": decoded,
    "cross_attention.cross_attention_backward": crossed_back,
    "cross_attention.cross_attention_flops": crossed_flops,
    "eight_steps.weighted_values": weighted,
    "generation.attend_with_cache": cached_attention,
    "generation.window_mask": masks,
    "generation.cached_block": encoded_with_cache,
    "generation.grouped_attention": grouped,
    "generation.latent_attention": latent,
    "generation.decode_flops": decoding,
    "generation.acceptance": guesses,
    "generation.residual": guesses,
    "in_context.gradient_step": stepped,
    "in_context.ridge_regression": penalised,
    "in_context.in_context_layer": asked,
    "in_context.step_error": left_over,
    "in_pieces.piece": pieces,
    "in_pieces.merge": merged,
    "in_pieces.backward_in_pieces": pieces_back,
    "in_pieces.plain_traffic": traffic,
    "in_pieces.tiled_traffic": traffic_of_tiles,
    "in_pieces.linear_attention": featured,
    "in_pieces.read_state": state,
    "in_pieces.update_by_delta_rule": corrected,
    "kernels.gaussian_kernel": near,
    "kernels.kernel_smoothing": near,
    "kernels.positive_features": random_feature,
    "heads.first_token_share": sunk,
    "language_model.language_model": whole_model,
    "language_model.cross_entropy": loss,
    "language_model.cross_entropy_gradient": loss,
    "language_model.without_head": heads_added,
    "learning.entry_variance": variances,
    "learning.attention_backward": attention_back,
    "learning.self_attention_backward": attention_back,
    "learning.finite_differences": differences,
    "long_sequences.ntk_base": slower,
    "long_sequences.alibi_slopes": slopes,
    "long_sequences.alibi_bias": biases,
    "long_sequences.far_share": far,
    "long_sequences.t5_buckets": buckets,
    "masking.apply_mask": masked,
    "masking.causal_mask": causal_masks,
    "masking.padding_mask": padding_masks,
    "matrix_form.column_attention": columns,
    "matrix_form.angles": directions,
    "matrix_form.projections": directions,
    "matrix_form.permutation_matrix": permuted,
    "multi_head.split_heads": split,
    "multi_head.multi_head_attention": many_heads,
    "multi_head.parameter_count": counted_groups,
    "nn.multi_head.MultiHeadAttention": many_heads_biased,
    "nn.transformer_block.TransformerEncoderLayer": encoded,
    "positions.frequencies": turning,
    "positions.sinusoids": turning,
    "positions.rotation": turn_of_two,
    "positions.rope": turning,
    "positions.learned": rows_of_table,
    "precision.round_to": rounded_once,
    "precision.rounded_sum": rounded,
    "precision.rounded_product": rounded_matrices,
    "precision.gamma": grown,
    "precision.soft_cap": capped,
    "scaling.dot_variance": derivations.general,
    "scaling.symbolic_variance": derivations.general,
    "scaling.variance_interval": moments,
    "score_functions.dot": scored,
    "score_functions.scaled_dot": scored_by(lambda Q, K, W: scaled_dot(Q, K)),
    "score_functions.cosine": scored_by(lambda Q, K, W: cosine(Q, K)),
    "score_functions.bilinear": scored_by(bilinear),
    "score_functions.additive": added,
    "sequences.windows": windows,
    "sequences.weights_of": inside,
    "softmax.softmax": softened,
    "softmax.tempered_softmax": softened,
    "softmax.softmax_jacobian": sloped,
    "softmax.softmax_gradient": sloped,
    "transformer_block.embed": embedded,
    "transformer_block.layer_norm": normed,
    "transformer_block.rms_norm": normed_by_root,
    "transformer_block.silu": smoothed,
    "transformer_block.swiglu": gated,
    "transformer_block.layer_norm_gradient": normed_back,
    "transformer_block.feed_forward": fed,
    "transformer_block.encoder_block": encoded,
    "transformer_block.block_parameter_count": sized,
    "transformer_block.block_flops": sized,
}
"""For displayed formulas, which may stand in lines."""

SENTENCES: dict[str, Draw] = {
    "in_pieces.log_total": pieces,
    "multi_head.parameter_count": counted_heads,
    "sequences.window_parameters": windows,
    "sequences.attention_parameters": self_attention_sizes,
    "softmax.entropy": uncertain,
}
"""For formulas in sentences, which are read as those of results are: see tests/result_names.py."""

UNREAD = {
    "generation.extended": "a cache that grows",
    "generation.cache_bytes": "a sum over layers of two kinds",
    "generation.step_flops": "a sum over layers of two kinds",
    "generation.expected_tokens": "a sum with dots",
    "heads.previous_token_score": "an index that is computed",
    "heads.induction_score": "a sum from a place that is computed",
    "heads.copy_loss": "a sum from a place that is computed",
    "minilm.find_pronoun_head": "a place that is searched for",
    "minilm.sentence_vector": "a norm of a vector",
    "in_pieces.extended_state": "a state that grows",
    "kernels.trigonometric_features": "a list with dots",
    "language_model.token_distribution": "proportional, not equal",
    "language_model.sample": "the least of a set",
    "long_sequences.t5_bias": "an index that is looked up",
    "multi_head.join_heads": "a list with dots",
    "scaling.mean_interval": "two ends at once",
    "sequences.window_layer": "a list with dots",
}
"""Displays of which nothing is computed, each with the reason."""
