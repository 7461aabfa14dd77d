"""What the symbols stand for in the first three chapters, in masking and in attention-function.

As in tests/derivations.py, whose names these go with. The outputs come from the package.
"""

from __future__ import annotations

import itertools

import numpy as np

from attention_docs.attention_function import attention
from attention_docs.eight_steps import column_attention, weighted_values
from attention_docs.masking import causal_mask
from attention_docs.sequences import window_layer, window_parameters, windows
from tests.derivations import Draw, Names, divided, number, row, softmax


def one_layer(rng: np.random.Generator) -> Names:
    """Self-attention with its five products; without the division by √d_k."""
    n, x, W = 3, row(rng, 3, 4), [row(rng, 4, 2) for _ in range(3)]
    Q, K, V = (x @ one for one in W)
    o, a = attention(Q * 2**0.5, K, V)
    u = weighted_values(a, V)
    s = row(rng, 1, n)
    names = dict(zip(("W_Q", "W_K", "W_V"), W, strict=True))
    return names | {
        **{"x": x, "X": x, "q": Q, "k": K, "v": V, "Q": Q, "K": K, "V": V, "s": Q @ K.T},
        **{"a": a, "A": a, "u": lambda i, j: u[i, j][None], "o": o, "n": n, "d": 4},
        **{"i": 1, "j": 2, "c": 0, "m": 0, "sizes": {"i": n, "j": n, "m": n}, "S": s},
    }


def lengthened(rng: np.random.Generator) -> Names:
    s, c = row(rng, 1, 3), number(rng.uniform(0.5, 3))
    return {"s": s, "c": c, "a": softmax(c * s), "j": 1, "i": 0, "sizes": {"i": 3}}


def by_hand(rng: np.random.Generator) -> Names:
    return {"a": softmax(np.array([[2.0, 4, 4]] * 2))}


def move_weights(rng: np.random.Generator) -> Names:
    delta, v = row(rng, 1, 4), row(rng, 4, 2)
    delta -= delta.mean()
    middle = (v.max(axis=0) + v.min(axis=0)) / 2
    names = {"\\delta": delta, "v": v, "m": middle[None], "c": 1, "j": 0, "i": 0}
    return names | {"sizes": {"j": 4, "i": 4}}


def in_columns(rng: np.random.Generator) -> Names:
    """The letters of a lecture: tokens in columns, numbered above."""
    q, k, v = row(rng, 3, 2), row(rng, 3, 2), row(rng, 3, 4)
    outputs, weights = column_attention(q.T * 2**0.5, k.T, v.T)
    above = {name: [one[None] for one in rows] for name, rows in (("q^", q), ("k^", k), ("v^", v))}
    names = {"\\alpha": q @ k.T, "\\alpha'": weights.T, "b^": [one[None] for one in outputs.T]}
    return names | above | {"j": 2, "m": 0, "sizes": {"j": 3, "m": 3}}


def hats(rng: np.random.Generator) -> Names:
    names = divided(rng)
    return names | {
        **{f"\\hat {one}": names[one].T for one in "QKVXAO"},
        **{f"\\hat W_{one}": names[f"W_{one}"].T for one in "QKV"},
    }


def masked(rng: np.random.Generator) -> Names:
    s, m, n = row(rng, 1, 4), np.array([[1.0, 0, 1, 0]]), 4
    tilde = np.where(m > 0, s, -np.inf)
    _, a = attention(np.ones((1, 1)), s.T.copy(), np.eye(4), m > 0)
    names = {"s": s, "m": m, "\\tilde s": tilde, "n": n, "a": a, "p": softmax(s)}
    names |= {"Z": number(np.exp(s).sum()), "j": int(rng.integers(4)), "l": 0}
    return names | {"sizes": {"j": n, "l": n}}


def causal(rng: np.random.Generator) -> Names:
    Q, K, V = row(rng, 4, 2), row(rng, 4, 2), row(rng, 4, 3)
    o, a = attention(Q, K, V, causal_mask(4))
    names = {"o": o, "a": a, "v": V, "s": Q @ K.T / 2**0.5, "n": 4, "i": 2, "j": 0, "l": 0}
    return names | {"sizes": {"i": 4, "j": 4, "l": 4}}


def in_batches(rng: np.random.Generator) -> Names:
    q, k, v = row(rng, 2, 3, 4, 5), row(rng, 2, 3, 6, 5), row(rng, 2, 3, 6, 2)
    o, a = attention(q, k, v)
    s = np.einsum("bhic,bhjc->bhij", q, k) / 5**0.5
    names = {"q": q, "k": k, "v": v, "s": s, "a": a, "o": o, "d_k": 5, "n_k": 6}
    names |= {"b": 1, "h": 2, "i": 3, "j": 4, "c": 1}
    return names | {"sizes": {"c": 5, "j": 6}}


def attend_once(rng: np.random.Generator) -> Names:
    Q, K, V = row(rng, 3, 2), row(rng, 4, 2), row(rng, 4, 5)
    O, A = attention(Q, K, V)  # noqa: E741
    S = Q @ K.T / 2**0.5
    both = {"Q": Q, "K": K, "V": V, "S": S, "\\tilde S": S, "A": A, "A'": A, "O": O}
    return both | {"d_k": 2, "softmax": softmax}


def thinned(rng: np.random.Generator) -> Names:
    """Every way to keep and to drop."""
    a, v, p = softmax(row(rng, 1, 3)), row(rng, 3, 2), 0.25
    cases = []
    for kept in itertools.product((0.0, 1.0), repeat=3):
        r = np.array([kept])
        chance = np.prod(np.where(r > 0, 1 - p, p)).item()
        cases.append((chance, {"r": r, "a'": r * a / (1 - p)}))
    names = {"cases": cases, "a": a, "v": v, "p": p, "o": a @ v, "j": 1, "sizes": {"j": 3}}
    return names | cases[3][1]


def averaged(rng: np.random.Generator) -> Names:
    a, v, u = softmax(row(rng, 3, 4)), row(rng, 4, 2), row(rng, 1, 2)
    names = {"a": a, "v": v, "u": u, "o": a @ v, "i": 1, "j": 0, "m": 0, "n": 4}
    d, d_out, r = (int(one) for one in rng.integers(1, 5, 3))
    window = windows(row(rng, 4, d), 2 * r + 1)
    parameters = window_parameters(2 * r + 1, d, d_out)
    phrases = {"{components of} z_i": window.shape[-1], "{parameters}": parameters}
    names |= {"k": 2 * r + 1, "d": d, "d_out": d_out, "phrases": phrases}
    phrases["{shape of} W"] = row(rng, window.shape[-1], d_out).size
    return names | {"sizes": {"j": 4, "m": 4}}


def per_token(rng: np.random.Generator) -> Names:
    x, W = row(rng, 4, 3), row(rng, 3, 2)
    x[3] = x[1]
    return {"x": x, "W": W, "y": window_layer(x, W)}


BASICS: dict[str, dict[str, Draw]] = {
    "sequences": {"sequences": per_token},
    "eight-steps": {
        "": one_layer, "sharper": lengthened, "first-weight": by_hand,
        "versions-compared": move_weights, "loop": divided, "columns": hats, "columns-run": hats,
        "dictionary": hats, "one-column": in_columns,
    },
    "masking": {"": masked, "no-leak": causal},
    "attention-function": {"": attend_once, "shapes": in_batches, "dropout": thinned},
}  # fmt: skip
