"""What the symbols of derivations stand for: random numbers that meet the assumptions of a page.

`NAMES[page][section]` gives the names for the displays of a section, or `section[1]` for its
second one; where there is none, those of the page (""). An index counts from 0 here; `sizes` says
how far. `cases` are the outcomes of chance, as (probability, names). Whatever has no name here
makes its line unchecked. What a formula is shown for without a step, such as a whole layer, is what
the package gives; what a derivation defines is computed here by NumPy alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from attention_docs.attention_function import attention
from attention_docs.multi_head import Parameters, multi_head_attention
from attention_docs.transformer_block import embed

Names = dict[str, Any]
Draw = Callable[[np.random.Generator], Names]


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True)


def number(value: Any) -> float:
    """The one entry of anything."""
    return np.asarray(value, dtype=np.float64).reshape(-1)[0].item()


def row(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape)


class Both(float):
    """A number that also has entries, or arguments."""

    def __new__(cls, number: float, of: Callable[..., Any]) -> Both:
        one = super().__new__(cls, number)
        one.of = of
        return one

    def __call__(self, *found: Any) -> Any:
        return self.of(*found)


def divided(rng: np.random.Generator) -> Names:
    X, W, order = row(rng, 4, 3), [row(rng, 3, 2) for _ in range(3)], rng.permutation(4)
    Q, K, V = (X @ one for one in W)
    O, A = attention(Q, K, V)  # noqa: E741
    names = dict(zip(("W_Q", "W_K", "W_V"), W, strict=True))
    return names | {
        **{"q": Q, "k": K, "v": V, "Q": Q, "K": K, "V": V, "X": X, "P": np.eye(4)[order]},
        **{"S": Q @ K.T / 2**0.5, "s": Q @ K.T / 2**0.5, "a": A, "A": A, "o": O, "O": O},
        **{"d_k": 2, "n_k": 4, "i": 1, "j": 2, "m": 0, "c": 1, "softmax": softmax},
        "sizes": {"j": 4, "m": 4, "c": 2},
        "hats": [Q.T, K.T],
    }


def pair(rng: np.random.Generator) -> Names:
    """In the plane, with the length of the projection from the coordinates."""
    r, along, aside = rng.uniform(1, 3), *rng.normal(size=2)
    names = {"q": np.array([[r, 0.0]]), "k": np.array([[along, aside]]), "t": along}
    return names | {"\\theta": np.arctan2(aside, along)}


def slope(function: Callable[[float], Any], at: float, h: float = 1e-5) -> Any:
    return (function(at + h) - function(at - h)) / (2 * h)


# --- scaling: all cases are counted


def coins(d: int, values: tuple[float, float]) -> list[np.ndarray]:
    return [np.array([one]) for one in itertools.product(values, repeat=d)]


def pairs(queries: list[np.ndarray], keys: list[np.ndarray], **more: Any) -> Names:
    d = queries[0].shape[1]
    weight = 1 / (len(queries) * len(keys))
    cases = [(weight, {"q": q, "k": k}) for q in queries for k in keys]
    return {"cases": cases, "d_k": d, "sizes": {"i": d, "j": d}, "q": 0, "k": 0, **more}


def scaling_page(rng: np.random.Generator) -> Names:
    names = pairs(coins(3, (-1, 1)), coins(3, (-1, 1)))
    return names | {"i": 0, "j": 2}


def general(rng: np.random.Generator) -> Names:
    (a, b), (c, d) = rng.integers(-3, 3, 2), rng.integers(-3, 3, 2)
    b, d = (b + (a == b), d + (c == d))
    names = pairs(coins(2, (a, b)), coins(2, (c, d)))
    spread = {"\\mu_q": (a + b) / 2, "\\mu_k": (c + d) / 2}
    spread |= {"\\sigma_q": abs(a - b) / 2, "\\sigma_k": abs(c - d) / 2}
    names |= spread | {"i": 0, "j": 1}
    names["cases"] = [(p, case) for p, case in names["cases"]]
    return names | {"q": coins(2, (a, b))[1]}


def standardised(rng: np.random.Generator) -> Names:
    values, p = row(rng, 3), softmax(row(rng, 3))
    mean = number(p @ values)
    sigma = number(np.sqrt(p @ (values - mean) ** 2))
    cases = [(w, {"X": x, "Z": (x - mean) / sigma}) for w, x in zip(p, values, strict=True)]
    return {
        "cases": cases, "\\mu": mean, "\\sigma": sigma, "X": values[0].item(),
        "Z": (values[0].item() - mean) / sigma,
    }  # fmt: skip


def independent(rng: np.random.Generator) -> Names:
    """Two numbers that know nothing of each other."""
    first, second = ([*zip(softmax(row(rng, 3)), row(rng, 3), strict=True)] for _ in range(2))
    cases = [(p * q, {"X": x, "Y": y}) for p, x in first for q, y in second]
    return {"cases": cases, "X": 0, "Y": 0, "c": number(rng.normal())}


def initialised(rng: np.random.Generator) -> Names:
    """Two columns of signs over √d_model, in all cases; x has mean square 1."""
    x, d = np.array([[1.0, -1.0, 1.0]]), 3
    entries = itertools.product((-1, 1), repeat=2 * d)
    tables = [np.array(one).reshape(d, 2) / d**0.5 for one in entries]
    cases = [(4.0**-d, {"q": x @ table, "W_Q": table}) for table in tables]
    first = {"x": x, "q": x @ tables[0], "W_Q": tables[0]}
    names = {"cases": cases, "d_model": d, "i": 0, "j": 1} | first
    return names | {"sizes": {"m": d}}


def layer_normed(rng: np.random.Generator) -> Names:
    base = [3**0.5, -(3**0.5), 0.0]
    base = [one * (3 / 6) ** 0.5 for one in base]
    vectors = [np.array([one]) for one in itertools.permutations(base)]
    names = pairs(vectors, vectors, r=-0.5)
    return names | {"q": vectors[1], "i": 0, "j": 2}


# --- softmax


def weighted(rng: np.random.Generator) -> Names:
    n, tau = 4, number(rng.uniform(0.5, 2))
    beta = 1 / tau
    s = row(rng, 1, n)
    a = softmax(beta * s)
    return {
        "n": n, "s": s, "a": a, "\\tau": tau, "\\beta": beta, "m": int(a.argmax()),
        "Z": number(np.exp(beta * s).sum()), "i": 1, "j": 2, "softmax": softmax,
        "sizes": dict.fromkeys("ijm", n), "\\bar s": number(a @ s.T),
    }  # fmt: skip


def cold(rng: np.random.Generator) -> Names:
    """At temperature 1, which most of the page speaks of."""
    names = weighted(rng)
    s = names["s"] * 1.0
    a = softmax(s)
    top = np.sort(s[0])
    return names | {
        "a": a, "\\tau": 1.0, "\\beta": 1.0, "Z": number(np.exp(s).sum()),
        "c": number(rng.normal()), "s_max": top[-1], "s_\\max": top[-1], "s_min": top[0],
        "s_\\min": top[0], "g": row(rng, 1, 4), "R": top[-1] - top[0], "\\Delta": top[-1] - top[-2],
        "a_\\min": a.min(), "J": np.diag(a[0]) - a.T @ a, "v": row(rng, 1, 4),
    }  # fmt: skip


def rising(rng: np.random.Generator) -> Names:
    names = weighted(rng)
    s, beta = names["s"][0], names["\\beta"]

    def entropy(beta: float) -> float:
        weights = softmax(beta * s)
        return number(-(weights * np.log(weights)).sum())

    a = softmax(beta * s)
    phrases = {"\\frac{dH}{d\\beta}": slope(entropy, beta)}
    phrases |= {"\\frac{dH}{d\\tau}": slope(lambda tau: entropy(1 / tau), 1 / beta)}
    phrases |= {"\\frac{da_i}{d\\beta}": slope(lambda beta: softmax(beta * s)[1], beta)}
    names |= {"H": entropy(beta), "phrases": phrases}
    return names | {"Var_a": lambda _: number(a @ s**2 - (a @ s) ** 2)}


def averaged(rng: np.random.Generator) -> Names:
    names = cold(rng)
    values = row(rng, 4, 3)
    return names | {"v": values, "o": names["a"] @ values}


def spread(rng: np.random.Generator) -> Names:
    names = cold(rng)
    return names | {"\\bar v": number(names["a"] @ names["v"].T)}


def balanced(rng: np.random.Generator) -> Names:
    """Without the direction along which J gives nothing."""
    names = cold(rng)
    names["v"] = names["v"] - names["v"].mean()
    return names | {"\\bar v": number(names["a"] @ names["v"].T)}


def saturated(rng: np.random.Generator) -> Names:
    names = cold(rng)
    return names | {"\\lambda": np.linalg.eigvalsh(names["J"])[None]}


def gibbs(rng: np.random.Generator) -> Names:
    names = weighted(rng)
    names |= {"b": softmax(row(rng, 1, 4))}

    def entropy(weights: np.ndarray) -> float:
        return number(-(weights * np.log(weights)).sum())

    return names | {"H": entropy}


def additive(rng: np.random.Generator) -> Names:
    c = number(rng.normal())
    x, y = rng.normal(size=2)
    h = lambda one: number(np.exp(c * one))  # noqa: E731
    a = np.array([[h(x + y), h(y), 1.0]])
    return {
        "f": lambda one: c * one, "c": c, "h": h, "x": x, "y": y, "r": 3, "t": 7, "n": 2,
        "a": a / a.sum(), "a_n": 1.0, "sizes": {"j": 3},
    }  # fmt: skip


def only(rng: np.random.Generator) -> Names:
    names = cold(rng)
    c, s = number(rng.uniform(0.5, 2)), names["s"]
    a = softmax(c * s)
    names |= additive(rng) | {"sizes": names["sizes"], "a": a, "c": c, "a_n": a[0, -1]}
    return names | {"s_n": s[0, -1], "f": lambda one: c * one}


# --- learning


def attention_layer(rng: np.random.Generator) -> Names:
    n, d_x, d_k, d_v = 4, 5, 3, 2
    X, W_Q, W_K, W_V = row(rng, n, d_x), row(rng, d_x, d_k), row(rng, d_x, d_k), row(rng, d_x, d_v)
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    S = Q @ K.T / d_k**0.5
    A, dO = softmax(S), row(rng, n, d_v)
    weights = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "X": X}

    def loss(**changed: np.ndarray) -> float:
        w = weights | changed
        scores = w.get("S", (w["X"] @ w["W_Q"]) @ (w["X"] @ w["W_K"]).T / d_k**0.5)
        if "Q" in w or "K" in w:
            scores = w.get("Q", Q) @ w.get("K", K).T / d_k**0.5
        values = w.get("V", w["X"] @ w["W_V"])
        return number((dO * (w.get("A", softmax(scores)) @ values)).sum())

    def by(name: str, at: np.ndarray) -> np.ndarray:
        """The gradient, by central differences: independent of every rule that is derived."""
        found = np.zeros_like(at)
        for place in np.ndindex(at.shape):
            step = np.zeros_like(at)
            step[place] = 1e-6
            found[place] = (loss(**{name: at + step}) - loss(**{name: at - step})) / 2e-6
        return np.round(found, 10)

    values = weights | {"Q": Q, "K": K, "V": V, "S": S, "A": A}
    gradients = {f"d{name}": by(name, value) for name, value in values.items()}
    dS = gradients["dS"]
    return (
        values
        | gradients
        | {
            "O": A @ V, "dO": dO, "d_k": d_k, "G": X.T @ dS @ X / d_k**0.5, "softmax": softmax,
            "i": 1, "m": 2, "c": 1, "sizes": {"i": n, "j": n, "c": d_v, "m": n},
        }
    )  # fmt: skip


def take_small_step(rng: np.random.Generator) -> Names:
    """A small step, whose second order is left out."""
    names = attention_layer(rng)
    eta = 1e-6
    now = {one: names[one].T @ names[one] for one in ("W_Q", "W_K")}
    after = {one: names[one] - eta * names[f"d{one}"] for one in now}
    change = {one: after[one].T @ after[one] - now[one] for one in now}

    def delta(square: np.ndarray) -> np.ndarray:
        (name,) = [one for one in now if np.array_equal(now[one], square)]
        return change[name]

    return names | {"\\eta": eta, "\\Delta": delta, "near": 1e-8}


def started(rng: np.random.Generator) -> Names:
    """A query of one component from signs times √v, in all cases; x has mean square 1."""
    x, v, d = np.array([[1.0, -1.0, 1.0]]), 0.25, 3
    columns = [v**0.5 * np.array([one]).T for one in itertools.product((-1, 1), repeat=d)]
    cases = [(4.0**-d, {"q": x @ a, "k": x @ b, "W_Q": a}) for a in columns for b in columns]
    names = {"q": x, "k": x, "W_Q": np.ones((d, 1)), "x": x, "d_model": d, "v": v, "d_k": 1}
    return names | {"cases": cases, "c": 0, "sizes": {"m": d}}


def product_rule(rng: np.random.Generator) -> Names:
    F, G, dC = row(rng, 3, 4), row(rng, 4, 5), row(rng, 3, 5)
    return {
        "dC": dC, "F": F, "G": G, "dF": dC @ G.T, "dG": F.T @ dC, "i": 1, "m": 2, "l": 3,
        "sizes": {"i": 3, "l": 5},
    }  # fmt: skip


def descent(rng: np.random.Generator) -> Names:
    dW = row(rng, 3, 4)
    target = row(rng, 3, 4)
    W = target + dW / 2
    return {
        "L": lambda w: number(((w - target) ** 2).sum()), "W": W, "dW": dW, "\\eta": 1e-4,
        "sizes": {"i": 3, "j": 4},
    }  # fmt: skip


def glorot(rng: np.random.Generator) -> Names:
    return {"d_in": 7, "d_out": 5, "v": 2 / 12}


def kaiming(rng: np.random.Generator) -> Names:
    values = np.abs(row(rng, 3))
    cases = [(1 / 6, {"y": sign * y, "x": max(0.0, sign * y)}) for y in values for sign in (1, -1)]
    return {"cases": cases, "x": 0.0, "y": 1.0, "d_in": 7, "v": 2 / 7}


def shared_signs(rng: np.random.Generator) -> Names:
    """y is the first of its signs; with an index it is any of them."""
    m = 3
    signs = itertools.product((-1.0, 1.0), repeat=m)
    cases = [(1 / 8, {"y": Both(one[0], one.__getitem__)}) for one in signs]
    return {"cases": cases, "m": m, "c": number(rng.normal()), "y": 0, "sizes": {"j": m}}


def decided(rng: np.random.Generator) -> Names:
    a, dA = softmax(row(rng, 3, 4)), row(rng, 3, 4)
    i = 1
    j = int(a[i].argmax())
    dS = a * (dA - (dA * a).sum(axis=1, keepdims=True))
    return {
        "a": a, "dA": dA, "dS": dS, "i": i, "j": j, "\\varepsilon": 1 - a[i, j],
        "R": number(dA[i].max() - dA[i].min()), "sizes": {"m": 4},
    }  # fmt: skip


def steps(rng: np.random.Generator) -> Names:
    k, ds, tau, eta = row(rng, 1, 4), number(rng.normal()), 2.0, 0.1
    dq = ds * k / tau
    return {
        "k": k, "ds": ds, "\\tau": tau, "\\eta": eta, "dq": dq,
        "\\Delta s": number((-eta * dq) @ k.T) / tau,
    }  # fmt: skip


def alike(rng: np.random.Generator) -> Names:
    x = row(rng, 3, 4)
    x = x / np.sqrt((x**2).sum(axis=1, keepdims=True)) * 1.7
    cosines = x @ x.T / 1.7**2
    return {"x": x, "\\theta": np.arccos(np.clip(cosines, -1, 1)), "i": 0, "j": 2}


# --- positions


def make_rotation(alpha: float) -> np.ndarray:
    return np.array([[np.cos(alpha), np.sin(alpha)], [-np.sin(alpha), np.cos(alpha)]])


def angles_of(rng: np.random.Generator) -> Names:
    alpha, beta, theta = rng.normal(size=3)
    a, b, a2, b2 = rng.normal(size=4)
    return {
        "\\alpha": alpha, "\\beta": beta, "\\theta": theta, "R": make_rotation, "a": a, "b": b,
        "a'": a2, "b'": b2,
    }  # fmt: skip


def turned_pair(rng: np.random.Generator) -> Names:
    """RoPE on a single pair, whose frequency is 1."""
    q, k = row(rng, 1, 2), row(rng, 1, 2)
    return {
        "\\alpha": rng.normal(), "R": make_rotation, "t": 5, "u": 3, "\\omega": np.ones((1, 1)),
        "\\tilde q": lambda t: q @ make_rotation(t), "\\tilde k": lambda u: k @ make_rotation(u),
        "q": q, "k": k,
    }  # fmt: skip


def sinusoidal(rng: np.random.Generator) -> Names:
    d, t, delta = 6, 5, 3
    omega = 10000.0 ** (-2 * np.arange(d / 2) / d)

    def encode(t: float, c: int | None = None) -> Any:
        if c is not None:
            return number(encode(t)[0, c])
        return np.stack([np.sin(omega * t), np.cos(omega * t)], axis=1).reshape(1, d)

    def rotation(s: float) -> np.ndarray:
        found = np.zeros((d, d))
        for i, one in enumerate(omega):
            found[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = make_rotation(-one * s)
        return found

    values = row(rng, 3)
    mixing = np.zeros((d, d))
    for i, (x, y) in enumerate(zip(values, row(rng, 3), strict=True)):
        mixing[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[x, y], [-y, x]]
    q, k = row(rng, 1, d), row(rng, 1, d)
    forward = lambda s: rotation(-s)  # noqa: E731  rows turn with R_s, whose sines stand above
    x = {t: row(rng, 1, d), t + delta: row(rng, 1, d)}
    return {
        "p": encode, "R": forward, "t": t, "u": t + delta, "s": 2, "i": 1, "\\Delta": delta, "d": d,
        "\\omega": omega[None], "\\alpha": (omega * t)[None], "\\beta": (omega * delta)[None],
        "M": mixing, "x": lambda place: x[place], "q": q, "k": k,
        "\\tilde q": lambda t: q @ forward(t), "\\tilde k": lambda u: k @ forward(u),
        "sizes": {"i": d // 2},
    }  # fmt: skip


def heads(rng: np.random.Generator) -> Names:
    h, d, size, n = 3, 6, 2, 4
    X, Q, K, V, W_O = row(rng, n, d), *(row(rng, d, d) for _ in range(4))
    Y, A = multi_head_attention(X, X, X, Parameters(Q, K, V, W_O), h)
    matrices = {"Q": Q, "K": K, "V": V}
    by_head = {f"W_{name}^": np.split(W, h, axis=1) for name, W in matrices.items()}
    outward = np.split(W_O, h)
    out = [a @ X @ W for a, W in zip(A, by_head["W_V^"], strict=True)]
    joined = np.hstack(out)
    phrases = {"[\\,O_1 \\;\\; O_2 \\;\\; \\cdots \\;\\; O_h\\,]": joined}
    phrases |= {"O_1 W_O^1 + \\cdots + O_h W_O^h": joined @ W_O}
    phrases |= {"[\\,W_Q^1 \\;\\; \\cdots \\;\\; W_Q^h\\,]": Q}
    beside = np.hstack([X @ W for W in by_head["W_Q^"]])
    phrases |= {"[\\,X W_Q^1 \\;\\; \\cdots \\;\\; X W_Q^h\\,]": beside}
    sizes = {"h": h, "g": h, "d": d, "d_k": size, "d_v": size, "N": 4 * d * d, "n": n}
    return (
        sizes
        | by_head
        | {
            **{"X": X, "A": [*A], "O": out, "C": joined, "W_O": W_O, "W_O^": outward, "Y": Y},
            "M": [one @ other for one, other in zip(by_head["W_V^"], outward, strict=True)],
            **{"i": 1, "c": 2, "r": 1, "e": 0, "softmax": softmax, "phrases": phrases},
            "sizes": {"m": h * size, "r": h, "e": size},
        }
    )


def relations(rng: np.random.Generator) -> Names:
    """The matrices of the sentence, as the listing has them."""
    W_Q = [[[0.0, 6], [0, 6], [6, 0], [0, 0]], [[6, 0], [0, 6], [6, 0], [0, 0]]]
    W_K = [[[1.0, 0], [0, 0], [0, 1], [0, 0]], [[0, 1], [1, 0], [0, 0], [0, 0]]]
    return {"W_Q^": [*np.array(W_Q)], "W_K^": [*np.array(W_K)], "W_V": np.eye(4)[:, 3:]}


def one_head(rng: np.random.Generator) -> Names:
    a, x = softmax(row(rng, 1, 3)), row(rng, 3, 4)
    W_V, b_V, W_O, b_O = row(rng, 4, 2), row(rng, 1, 2), row(rng, 2, 3), row(rng, 1, 3)
    return {
        "a": a, "x": x, "W_V": W_V, "b_V": b_V, "W_O": W_O, "b_O": b_O,
        "y": (a @ (x @ W_V + b_V)) @ W_O + b_O, "f": lambda one: (one @ W_V + b_V) @ W_O + b_O,
        "sizes": {"j": 3},
    }  # fmt: skip


def low_rank(rng: np.random.Generator) -> Names:
    n, alpha, rho = 4, 2.0, 0.1
    c = row(rng, n, 1)
    S = alpha * np.eye(n) + (np.log(rho) + c) @ np.ones((1, n))
    log_a = alpha * np.eye(n) + np.log(rho)
    return {
        "a": np.exp(log_a), "s": S, "c": c, "S": S, "\\alpha": alpha, "I": np.eye(n), "n": n,
        "\\rho": rho, "\\mathbf 1": np.ones((n, 1)), "rank": lambda m: np.linalg.matrix_rank(m),
        "i": 1, "j": 2,
    }  # fmt: skip


def scores(rng: np.random.Generator) -> Names:
    n, d_q, d_k, d_a = 3, 4, 5, 6
    q, k = row(rng, 2, d_q), row(rng, n, d_k)
    W_q, W_k, w = row(rng, d_q, d_a), row(rng, d_k, d_a), row(rng, 1, d_a)
    f, g = w @ (q @ W_q).T, w @ (k @ W_k).T
    s = f.T + g
    return {
        "q": [one[None] for one in q], "k": [one[None] for one in k], "W_q": W_q, "W_k": W_k,
        "w": w, "f": f, "g": g, "s": s, "a": softmax(s), "i": 1, "j": 2, "sizes": {"m": n},
    }  # fmt: skip


def plain_pair(rng: np.random.Generator) -> Names:
    q, k = row(rng, 1, 4), row(rng, 1, 4)
    return {"q": q, "k": k, "W": np.eye(4), "I": np.eye(4), "sizes": {"c": 4}}


def tempered(rng: np.random.Generator) -> Names:
    q, k = row(rng, 1, 4), row(rng, 3, 4)
    both = {"q": q, "k": [one[None] for one in k], "softmax": softmax, "s": q @ k.T}
    return both | {"\\tau": 2.0, "d_k": 4}


def concatenated(rng: np.random.Generator) -> Names:
    q, k = row(rng, 1, 4), row(rng, 1, 3)
    W_q, W_k = row(rng, 4, 5), row(rng, 3, 5)
    both = {"q": q, "k": k, "W_q": W_q, "W_k": W_k, "W_cat": np.vstack([W_q, W_k]), "c": 2}
    return both | {"d_q": 4, "d_k": 3, "sizes": {"m": 7}}


def bounded(rng: np.random.Generator) -> Names:
    n, beta = 4, 1.5
    s = rng.uniform(-beta, beta, (1, n))
    first = {"s": s, "s_1": s[0, 0], "a_1": softmax(s)[0, 0], "\\beta": beta, "n": n}
    return first | {"sizes": {"j": n}}


def residual(rng: np.random.Generator) -> Names:
    g, J = row(rng, 1, 4), row(rng, 4, 4)
    x = row(rng, 1, 4)
    both = {"g": g, "J_F": J, "I": np.eye(4), "x": x, "F": lambda one: one @ J, "y": x + x @ J}
    return both | {"y": x + x @ J}


def feed_forward(rng: np.random.Generator) -> Names:
    W_1, W_2, b_1, b_2, x = (row(rng, *shape) for shape in ((4, 6), (6, 4), (1, 6), (1, 4), (1, 4)))
    return {
        "W_1": W_1, "W_2": W_2, "b_1": b_1, "b_2": b_2, "x": x, "x_1": x[0, 0], "x_2": x[0, 1],
        "FFN": lambda one: np.maximum(0, one @ W_1 + b_1) @ W_2 + b_2,
    }  # fmt: skip


def normed(rng: np.random.Generator) -> Names:
    d, eps = 5, 1e-3
    x, gamma, beta = row(rng, 1, d), row(rng, 1, d), row(rng, 1, d)

    def bare(one: np.ndarray, eps: float = 0.0) -> np.ndarray:
        deviations = one - one.mean(axis=-1, keepdims=True)
        return deviations / np.sqrt(one.var(axis=-1, keepdims=True) + eps)

    hat, c, e = bare(x, eps), 1, 3
    off = lambda step: x + step * np.eye(d)[[e]]  # noqa: E731
    phrases = {
        "\\frac{\\partial (x_c - \\mu)}{\\partial x_e}": slope(
            lambda step: number(off(step)[0, c] - off(step).mean()), 0.0
        ),
        "\\frac{\\partial \\hat x_c}{\\partial x_e}": slope(
            lambda step: number(bare(off(step), eps)[0, c]), 0.0
        ),
    }
    wrong = (x - x.mean()) / x.std(ddof=1)
    return {
        "d": d, "x": x, "\\mu": number(x.mean()), "\\sigma": number(x.std()), "\\varepsilon": eps,
        "\\hat x": hat, "\\gamma": gamma, "\\beta": beta, "c": c, "e": e, "phrases": phrases,
        "\\hat x_wrong": number(wrong[0, 0]), "LN": lambda one: gamma * bare(one) + beta,
        "\\alpha": 1.7, "\\delta": 0.3, "X": row(rng, 3, d), "sizes": {"c": d},
        "\\hat \\sigma": number(np.sqrt(x.var() + eps)),
    }  # fmt: skip


def normed_safely(rng: np.random.Generator) -> Names:
    names = normed(rng)
    return names | {"LN": lambda one: names["\\gamma"] * names["\\hat x"] + names["\\beta"]}


def normed_exactly(rng: np.random.Generator) -> Names:
    """Without ε, but for the sum of squares, which has it."""
    return normed(rng) | {"near": 0.1, "i": 1}


def normed_partly(rng: np.random.Generator) -> Names:
    return {name: one for name, one in normed(rng).items() if name != "\\delta"}


def ddof(rng: np.random.Generator) -> Names:
    names = normed(rng)
    x = names["x"]
    return names | {"\\hat x": number(bare_one(x)), "\\varepsilon": 0.0}


def bare_one(x: np.ndarray) -> Any:
    return ((x - x.mean()) / x.std())[0, 0]


def blocks(rng: np.random.Generator) -> Names:
    x, A, B = row(rng, 1, 4), row(rng, 4, 4), row(rng, 4, 4)
    norms = {
        "LN_1": lambda one: one / np.sqrt((one**2).mean()),
        "LN_2": lambda one: one - one.mean(),
    }
    first, second = norms.values()
    lines = [{"z": first(x + x @ A)}, {"z": x + first(x) @ A}]
    lines[0]["y"] = second(lines[0]["z"] + np.tanh(lines[0]["z"] @ B))
    lines[1]["y"] = lines[1]["z"] + np.tanh(second(lines[1]["z"]) @ B)
    layers = {"MHA": lambda one: one @ A, "FFN": lambda one: np.tanh(one @ B)}
    return norms | layers | {"x": x, "lines": lines}


def biased(rng: np.random.Generator) -> Names:
    n, d_k = 3, 4
    q, k, v = row(rng, 2, d_k), row(rng, n, d_k), row(rng, n, 2)
    b_Q, b_K, b_V = row(rng, 1, d_k), row(rng, 1, d_k), row(rng, 1, 2)
    s = (q + b_Q) @ (k + b_K).T / d_k**0.5
    c = ((q + b_Q) @ b_K.T / d_k**0.5).T
    a = softmax(s)
    return {
        "q": [one[None] for one in q], "k": [one[None] for one in k], "v": [one[None] for one in v],
        "b_Q": b_Q, "b_K": b_K, "b_V": b_V, "s": s, "a": a, "c": c, "d_k": d_k, "i": 1, "j": 2,
        "o": [one[None] for one in a @ (v + b_V)], "sizes": {"j": n},
    }  # fmt: skip


def embedded(rng: np.random.Generator) -> Names:
    E, p, t = row(rng, 5, 4), row(rng, 6, 4), rng.integers(0, 5, 3)
    names = {"x": embed(t, E, p, scale=2.0), "E": E, "p": p, "t": t[None].astype(float)}
    return names | {"d_model": 4, "i": 2}


def counted(rng: np.random.Generator) -> Names:
    x = row(rng, 1, 8)
    names = {"\\hat x": x / np.sqrt((x**2).mean()), "g": row(rng, 1, 8), "sizes": {"c": 8}}
    return names | {"d": 8, "n": 5}


def grown(rng: np.random.Generator) -> Names:
    cases = [(number(p), {"F": row(rng, 1, 8)}) for p in softmax(row(rng, 3))]
    return counted(rng) | {"cases": cases, "x": row(rng, 1, 8), "F": 0, "g_1": None}


def on_the_circle(rng: np.random.Generator) -> Names:
    names = {"p": lambda t: np.array([[np.sin(t), np.cos(t)]]), "R_1": make_rotation(1)}
    return names | {"t": 5, "u": 2, "d_k": 4}


NAMES: dict[str, dict[str, Draw]] = {
    "accessibility": {"heard": scaling_page},
    "scaling": {
        "": scaling_page, "standardisation": standardised, "terms": standardised,
        "rules": independent, "layernorm": layer_normed, "initialisation": initialised,
        "within-a-row": lambda rng: scaling_page(rng) | {"q": coins(3, (-1, 1))[2]},
    },
    "softmax": {
        "": cold, "why-exponentials": additive, "only-exponentials": only, "entropy-rises": rising,
        "dominates-values": averaged, "jacobian-properties": spread,
        "saturation-measured": saturated, "lower-bound": balanced, "exercise-gibbs": gibbs,
    },
    "learning": {
        "": attention_layer, "product": product_rule, "counted": shared_signs, "steps": steps,
        "rules[0]": glorot, "rules[1]": kaiming, "exercise-kept": take_small_step,
        "start-derived": started, "mistake-no-projections": alike,
    },
    "positions": {
        "order-proof": divided, "shift": angles_of, "rope": turned_pair, "rope-pair": angles_of,
        "saw": on_the_circle, "saw-run": on_the_circle,
    },
    "multi-head": {
        "": heads, "two-relations": relations, "one-head-proof": one_head, "too-small": low_rank,
        "trade-derived": low_rank,
    },
    "score-functions": {
        "": plain_pair, "temperature": tempered, "concat": concatenated, "cosine-needs": bounded,
        "projection": pair,
    },
    "transformer-block": {
        "input": embedded, "residual": residual, "residual-gradient": residual,
        "feed-forward": feed_forward, "layer-norm": normed_safely,
        "layer-norm-properties[0]": normed_exactly, "layer-norm-properties[1]": normed_partly,
        "mistake-ddof": ddof, "post-pre": blocks, "bias": biased, "network-shares": counted,
        "growth": grown,
    },
}  # fmt: skip
