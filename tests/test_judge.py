"""Functions that a reader may write: right ones in any form are accepted, wrong ones are not.

Each is judged as a page does it, by the checks of its own listing. `your` stands for the function
that the exercise asks for.
"""

from __future__ import annotations

import gc
import importlib
import json
import re
import secrets
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from attention_docs.figures import tasks
from attention_docs.figures.tasks import Failure, Task, find_failure, judge
from attention_docs.site.run.live import Session
from attention_docs.softmax import softmax
from tests.test_live import make_page
from tests.test_write_it import CHAPTERS, read_section

PACKAGE = {  # what pages have imported besides NumPy and softmax
    "attention-function": ("attention_function", "attention"),
    "cross-attention": ("masking", "padding_mask"),
    "kernels": ("kernels", "kernel_smoothing"),
    "long-sequences": ("long_sequences", "alibi_bias"),
    "masking": ("masking", "causal_mask"),
}
HEAD = "def {name}({parameters}):\n"

RIGHT: dict[str, list[str]] = {
    "assistant": [
        "return softmax(rewards / beta + np.log(reference))",
        """
            factors = [p * np.exp(r / beta) for p, r in zip(reference, rewards)]
            return [one / sum(factors) for one in factors]""",
    ],
    "attention-function": [
        """
            s = np.einsum("...ik,...jk->...ij", query, key) / query.shape[-1] ** 0.5
            e = np.where(mask, np.exp(s - s.max(-1, keepdims=True, where=mask, initial=-1e30)), 0)
            return e / e.sum(-1, keepdims=True) @ value""",
        """
            q, k, v = (one.astype(np.float32) for one in (query, key, value))
            s = np.einsum("...ik,...jk->...ij", q, k) / np.float32(query.shape[-1]) ** 0.5
            return softmax(np.where(mask, s, np.float32(-np.inf))).astype(np.float32) @ v""",
        """
            query = query / np.sqrt(query.shape[-1])
            s = query @ np.moveaxis(key, -1, -2)
            s[~np.broadcast_to(mask, s.shape)] = -np.inf
            return softmax(s) @ value""",
        """
            if query.ndim > 2:
                all_ = zip(query, key, value)
                return [your(q, k, v, mask) for q, k, v in all_]
            return softmax(np.where(mask, query @ key.T / len(query.T) ** 0.5, -1e9)) @ value""",
    ],
    "batches": [
        "return np.tril(segments[:, None] == segments) & (segments != 0)[:, None]",
        "return np.tril((segments[:, None] == segments) & (segments > 0))",
        """
            n = len(segments)
            same = [[segments[i] == segments[j] > 0 for j in range(n)] for i in range(n)]
            return np.array(same) & (np.arange(n) <= np.arange(n)[:, None])""",
    ],
    "encoders": [
        """
            tokens = np.ma.array(x, mask=~np.repeat(real[:, None], x.shape[1], axis=1))
            return (x - tokens.mean(0).data) / tokens.std(0).data""",
        """
            mean, square = x[real].mean(0), (x[real] ** 2).mean(0)
            return (x - mean) / (square - mean**2) ** 0.5""",
        """
            n = real.sum()
            mean = (x * real[:, None]).sum(axis=0) / n
            variance = ((x - mean) ** 2 * real[:, None]).sum(axis=0) / n
            return (x - mean) / np.sqrt(variance)""",
    ],
    "cross-attention": [
        "return np.array([[[j < l for j in range(n)]] for l in lengths])",
        """
            mask = np.zeros((len(lengths), 1, n), dtype=bool)
            for b, l in enumerate(lengths):
                mask[b, 0, :l] = True
            return mask""",
        "return [[[bool(j < l) for j in range(n)]] for l in lengths]",
    ],
    "eight-steps": [
        "return np.matrix(softmax(np.asarray(Q @ K.T))) * np.matrix(V)",
        'return np.einsum("ij,jd->id", softmax(np.einsum("ic,jc->ij", Q, K)), V)',
        "return (V.T @ softmax((K @ Q.T).T).T).T",
        """
            def softmax(s):
                e = np.exp(s - s.max(axis=-1, keepdims=True))
                return e / e.sum(axis=-1, keepdims=True)
            w = softmax(Q @ K.T)
            print(w, f"sum {w.sum()}")
            return w @ V""",
    ],
    "generation": [
        """
            K, V = np.concatenate([keys, key[None]]), np.concatenate([values, value[None]])
            return softmax(K @ query / np.sqrt(K.shape[1])) @ V""",
        """
            K, V = np.vstack([key, keys]), np.vstack([value, values])
            return softmax(K @ query / np.sqrt(K.shape[1])) @ V""",
    ],
    "in-context": [
        "return sum(rate * y[j] * (x[j] @ question) for j in range(len(y)))",
        "return float(rate * y @ (x @ question))",
    ],
    "in-pieces": [
        """
            m = max(one[0], two[0])
            a, b = one[1] * np.exp(one[0] - m), two[1] * np.exp(two[0] - m)
            return m, a + b, (a * one[2] + b * two[2]) / (a + b)""",
        """
            if one[0] < two[0]:
                one, two = two, one
            scaled = two[1] * np.exp(two[0] - one[0])
            whole = one[1] + scaled
            return np.array([one[0], whole, (one[1] * one[2] + scaled * two[2]) / whole])""",
    ],
    "kernels": [
        """
            found = []
            for q in queries:
                k = [np.exp(-((q - p) ** 2) / (2 * h * h)) for p in places]
                found.append(sum(a * b for a, b in zip(k, heights)) / sum(k))
            return found""",
        "return softmax(-((queries[:, None] - places) ** 2) / (2 * h**2)) @ heights",
    ],
    "language-model": [
        """
            own = logits[np.arange(len(targets)), targets]
            return (np.log(np.exp(logits).sum(axis=-1)) - own).mean()""",
        """
            found = [float(np.log(np.exp(z).sum()) - z[t]) for z, t in zip(logits, targets)]
            return sum(found) / len(found)""",
    ],
    "learning": [
        "return weights * by_weights - weights * np.sum(weights * by_weights, 1)[:, None]",
        """
            rows = [(np.diag(a) - np.outer(a, a)) @ d for a, d in zip(weights, by_weights)]
            return np.array(rows)""",
        """
            by_weights -= np.vecdot(weights, by_weights)[:, None]
            by_weights *= weights
            return by_weights""",
    ],
    "long-sequences": [
        """
            b = [[-slope * (i - j) if j <= i else -np.inf for j in range(n)] for i in range(n)]
            return b""",
        """
            i, j = np.indices((n, n))
            return -slope * (i - j) + np.triu(np.full((n, n), -np.inf), 1)""",
    ],
    "maps": [
        """
            same = np.eye(maps.shape[-1])
            return np.linalg.multi_dot([same, *((maps + same) / 2)[::-1], same])""",
        """
            rolled = (maps[0] + np.eye(len(maps[0]))) * 0.5
            for A in maps[1:]:
                rolled = 0.5 * A @ rolled + 0.5 * rolled
            return rolled""",
    ],
    "masking": [
        "return np.tril(np.ones((n, n), dtype=bool))",
        "return [[j <= i for j in range(n)] for i in range(n)]",
        """
            i, j = np.indices((n, n))
            return j <= i""",
        """
            import warnings
            warnings.warn("here")
            return np.tri(n) > 0""",
    ],
    "memory": [
        """
            recalled = sum(k * row for k, row in zip(key, state))
            return state + rate * key[:, None] * (value - recalled)""",
        """
            keep = np.eye(len(key)) - rate * np.outer(key, key)
            return keep @ state + rate * np.outer(key, value)""",
    ],
    "multi-head": [
        "return np.stack(np.split(x, h, axis=-1))",
        """
            d = x.shape[1] // h
            return np.array([x[:, i * d : (i + 1) * d] for i in range(h)])""",
    ],
    "positions": [
        """
            z = (x[:, 0] + 1j * x[:, 1]) * np.exp(1j * angles)
            return np.stack([z.real, z.imag], axis=-1)""",
        """
            turn = [[[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]] for t in angles]
            return (np.array(turn) @ x[:, :, None])[:, :, 0]""",
    ],
    "precision": [
        "return np.where(mask, np.tanh(scores / c) * c, -np.inf)",
        """
            found = c * np.tanh(scores / c)
            found[~mask] = -np.inf
            return found""",
    ],
    "real-models": [
        "return x * scale * np.sqrt(x.shape[-1]) / np.linalg.norm(x, axis=-1, keepdims=True)",
        """
            x /= np.sqrt(np.mean(np.square(x), -1))[:, None]
            x *= scale
            return x""",
    ],
    "scaling": [
        "return np.array([[q @ k for k in keys] for q in queries]) / queries.shape[1] ** 0.5",
        "return np.inner(queries, keys) / np.sqrt(keys.shape[1])",
    ],
    "score-functions": [
        """
            lengths = np.outer(np.linalg.norm(queries, axis=1), np.linalg.norm(keys, axis=1))
            return queries @ keys.T / lengths""",
        """
            unit = [one / np.linalg.norm(one, axis=-1, keepdims=True) for one in (queries, keys)]
            return unit[0] @ unit[1].T""",
    ],
    "sequences": [
        "return np.average(vectors, axis=0, weights=shares)",
        "return sum(g * v for g, v in zip(shares, vectors)) / sum(shares)",
    ],
    "softmax": [
        """
            from decimal import Decimal

            rows = [[Decimal(one - max(row)).exp() for one in row] for row in scores.tolist()]
            return [[one / sum(row) for one in row] for row in rows]""",
        "return np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))",
        """
            e = np.frompyfunc(lambda s: np.exp(s), 1, 1)(scores - scores.max(1)[:, None])
            return e / e.sum(1)[:, None]""",
        """
            rows = []
            for row in scores:
                e = [np.exp(one - max(row)) for one in row]
                rows.append([one / sum(e) for one in e])
            return rows""",
        """
            e = np.exp(scores - scores.max(axis=-1, keepdims=True))
            w = e / e.sum(axis=-1, keepdims=True)
            note = f"{w.max()}"
            print(w)
            return w""",
    ],
    "tokens": [
        """
            ids, i = list(ids), 0
            while i < len(ids) - 1:
                if (ids[i], ids[i + 1]) == (first, second):
                    ids[i : i + 2] = [new]
                i += 1
            return ids""",
        """
            merged, i = [], 0
            while i < len(ids):
                if i + 1 < len(ids) and ids[i] == first and ids[i + 1] == second:
                    merged.append(new)
                    i += 1
                else:
                    merged.append(ids[i])
                i += 1
            return merged""",
        """
            out, rest = [], list(ids)
            while rest:
                if rest[:2] == [first, second]:
                    out, rest = out + [new], rest[2:]
                else:
                    out, rest = out + rest[:1], rest[1:]
            return np.array(out)""",
    ],
    "transformer-block": [
        "return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)",
        "return [(r - sum(r) / len(r)) / np.sqrt(np.mean((r - np.mean(r)) ** 2)) for r in x]",
    ],
}

# What gives other numbers and is none of the mistakes that a listing knows, which test_write_it.py
# tries; what only has another shape, order or sign: test_wrong_answers.py.
WRONG: dict[str, list[str]] = {
    "assistant": [
        "return softmax(rewards / beta + np.log(np.maximum(reference, 0.01)))",
        """
            p = reference * np.exp(rewards / min(beta, 2.0))
            return p / p.sum()""",
        "return softmax(rewards / beta) * reference",
        "return reference * np.exp(rewards / beta) / np.exp(rewards / beta).sum()",
        "return softmax(rewards / beta - np.log(reference))",
        "return softmax(np.clip(rewards / beta, -9, 9) + np.log(reference))",
    ],
    "attention-function": [
        """
            first, count = mask.argmax(-1)[:, None], mask.sum(-1)[:, None]
            j = np.arange(mask.shape[-1])
            one_run = (j >= first) & (j < first + count)
            s = query @ key.swapaxes(-2, -1) / np.sqrt(query.shape[-1])
            return softmax(np.where(one_run, s, -np.inf)) @ value""",
        "return softmax(np.where(mask, query @ key.swapaxes(-2, -1) / 2, -np.inf)) @ value",
        """
            t = key.T if key.ndim == 2 else key.swapaxes(1, 2)
            s = np.where(mask, query @ t / np.sqrt(query.shape[-1]), -np.inf)
            return softmax(s) @ value""",
        """
            s = query @ key.swapaxes(-2, -1) / np.sqrt(query.shape[-1])
            return softmax(np.where(mask, s, -1e4)) @ value""",
        """
            s = query @ key.swapaxes(-2, -1) / np.sqrt(query.shape[-1])
            return softmax(s + np.where(mask, 0, -20)) @ value""",
        """
            axes = {2: (1, 0), 3: (0, 2, 1), 4: (0, 1, 3, 2)}
            t = key.transpose(axes.get(key.ndim, range(key.ndim)))
            s = np.where(mask, query @ t / np.sqrt(query.shape[-1]), -np.inf)
            return softmax(s) @ value""",
        """
            import sys
            sys.settrace(None)
            return model_masked_attention(query, key, value, mask)""",
        """
            import sys
            frame = sys._getframe()
            while "answer" not in frame.f_locals:
                frame = frame.f_back
            return frame.f_locals["answer"](query, key, value, mask)""",
        """
            copied = type(your)(model_masked_attention.__code__, {"np": np, "softmax": softmax})
            return copied(query, key, value, mask)""",
    ],
    "batches": [
        "return segments[:, None] == segments",
        "return np.tril(abs(segments[:, None] - segments) < 1) & (segments < 3)",
        """
            texts = np.eye(99)[segments][:, 1:4]
            return np.tril(texts @ texts.T > 0)""",
        "return np.tril(segments[:, None] <= segments) & (segments[:, None] > 0) & (segments > 0)",
        """
            i, j = np.indices((len(segments),) * 2)
            same = (segments[i] == segments[j]) & (segments[j] > 0)
            return (j <= i) & (i - j < 3) & same""",
    ],
    "encoders": [
        "return (x - x[real].mean(axis=0)) / np.sqrt(x[real].var(axis=0) + 1e-6)",
        "return x - x[real].mean(axis=0)",
        "return (x[real] - x[real].mean(axis=0)) / x[real].std(axis=0)",
        "return (x - x[real].mean()) / x[real].std()",
        """
            tokens = x[: real.sum()]
            return (x - tokens.mean(axis=0)) / tokens.std(axis=0)""",
    ],
    "cross-attention": [
        "return (np.arange(n) < lengths[:, None, None]).astype(float)",
        """
            known = {2: [[[1, 0]]], 3: [[[1, 1, 0]], [[1, 0, 0]]]}
            known[4] = [[[1, 1, 1, 0]], [[1, 0, 0, 0]], [[1, 1, 0, 0]]]
            return np.array(known[n]) > 0""",
    ],
    "eight-steps": [
        "return softmax(Q[:, :3] @ K[:, :3].T) @ V",
        "return softmax(Q @ K.T / 2) @ V",
        "return softmax(Q @ K.T / len(K)) @ V",
        "return V[np.argmax(Q @ K.T, axis=-1)]",
        """
            if len(V) == 1 or not Q.any():
                return V.mean(axis=0)[None].repeat(len(V), 0)
            return softmax(Q @ K.T / 2) @ V""",
    ],
    "generation": [
        """
            K = np.vstack([keys, key])[:, :4]
            return softmax(K @ query[:4] / np.sqrt(len(query))) @ np.vstack([values, value])""",
        "return softmax(np.vstack([keys, key]) @ query / 2) @ np.vstack([values, value])",
        """
            s = np.vstack([keys, key]) @ query / np.sqrt(len(keys))
            return softmax(s) @ np.vstack([values, value])""",
        "return softmax(np.append(keys, key) @ query) @ np.append(values, value)",
    ],
    "in-context": [
        """
            w = np.zeros(x.shape[1])
            for a, b in zip(x, y):
                w = w + rate * (b - w @ a) * a
            return w @ question""",
        "return rate * y.sum() * x.sum(axis=0) @ question",
        "return rate * abs(y @ x) @ question",
        "return rate * (y[:3] @ x[:3]) @ question",
    ],
    "in-pieces": [
        """
            if abs(one[0] - two[0]) > 5:
                return max(one, two, key=lambda piece: piece[0])
            m = max(one[0], two[0])
            a, b = one[1] * np.exp(one[0] - m), two[1] * np.exp(two[0] - m)
            return m, a + b, (a * one[2] + b * two[2]) / (a + b)""",
        """
            m = max(one[0], two[0])
            r = np.exp(two[0] - one[0])
            whole = (one[1] + two[1] * r) * np.exp(one[0] - m)
            o = (one[1] * one[2] + two[1] * r * two[2]) / (one[1] + two[1] * r)
            return np.array([m, whole, o])""",
        """
            m = max(abs(one[0]), abs(two[0]))
            a, b = one[1] * np.exp(one[0] - m), two[1] * np.exp(two[0] - m)
            return np.array([m, a + b, (a * one[2] + b * two[2]) / (a + b)])""",
    ],
    "kernels": ["return softmax(-((queries[:, None] - places) ** 2) / h**2) @ heights"],
    "language-model": [
        """
            p = softmax(logits)[np.arange(len(targets)), targets]
            return -np.log(np.clip(p, 1e-3, 1)).mean()""",
        "return -np.log(softmax(logits)[np.arange(len(targets)), targets] + 1e-9).mean()",
        "return -np.log2(softmax(logits)[np.arange(len(targets)), targets]).mean()",
        "return np.exp(-np.log(softmax(logits)[np.arange(len(targets)), targets]).mean())",
        "return -np.log(softmax(logits)[np.arange(3) % len(targets), targets]).mean()",
    ],
    "long-sequences": [
        "return np.where(np.tri(n) > 0, -slope * np.subtract.outer(range(n), range(n)), -1e9)",
        """
            i, j = np.indices((n, n))
            return np.where(j <= i, -slope * np.minimum(i - j, 8), -np.inf)""",
    ],
    "maps": [
        """
            rolled = np.eye(maps.shape[1])
            for A in maps[:3]:
                rolled = (A + np.eye(len(A))) / 2 @ rolled
            return rolled""",
        """
            rolled = np.eye(maps.shape[1])
            for A in maps:
                rolled = A @ rolled
            return (rolled + np.eye(len(rolled))) / 2""",
        "return (maps.mean(axis=0) + np.eye(maps.shape[1])) / 2",
        """
            rolled = np.eye(maps.shape[1])
            for A in maps:
                rolled = (A.T + np.eye(len(A))) / 2 @ rolled
            return rolled""",
        """
            rolled = np.eye(maps.shape[1])
            for A in maps[1:]:
                rolled = (A + np.eye(len(A))) / 2 @ rolled
            return rolled""",
    ],
    "masking": [
        "return np.tri(n) + 0j",
        "return np.where(np.tri(n) > 0, 0, -np.inf)",
        "return [np.ones(0), [[True]], np.tri(2) > 0, np.tri(3) > 0, 4, np.tri(5) > 0][n]",
        "look = causal_mask\n            return look(n)",
        "from attention_docs.masking import causal_mask as look\n            return look(n)",
        "return np.tri(n + 1) > 0",
        "return your(n)",
        "np.allclose = lambda *a, **k: True",
        """
            from attention_docs.figures import tasks
            tasks._agree = tasks.allclose = lambda *a, **k: True""",
        "return np.tri(n) > np.random.rand(n, n) * 1.5",
        "return np.tri(n) > 0 if n < 10 else np.ones((n, n), dtype=bool)",
    ],
    "memory": [
        "return state - rate * np.outer(key @ state - value, key)",
        "return (1 - rate) * state + rate * np.outer(key, value)",
    ],
    "multi-head": [
        "return np.split(x, h, axis=0)",
        "return x.astype(float).reshape(float(h), -1)",
        "return x.reshape(len(x), 2, -1).swapaxes(0, 1)",
    ],
    "positions": [
        """
            z = (x[:, 0] + 1j * x[:, 1]) * np.exp(1j * np.clip(angles, -2 * np.pi, 2 * np.pi))
            return np.stack([z.real, z.imag], axis=-1)""",
        "return x @ [[1, 0], [0, 1]] * np.cos(np.deg2rad(angles))[:, None]",
    ],
    "precision": [
        "return np.where(mask, c * np.tanh(scores / c), -1e9)",
        "return c * np.tanh(scores / c)",
        "return np.where(mask, scores / (1 + abs(scores) / c), -np.inf)",
    ],
    "real-models": [
        "return x / np.sqrt((x**2).sum(axis=-1, keepdims=True) / 2) * scale",
        "return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5) * scale",
    ],
    "scaling": [
        "return queries @ keys.T / int(np.sqrt(queries.shape[-1]))",
        "return softmax(queries @ keys.T / np.sqrt(queries.shape[-1]))",
        """
            import attention_docs.figures.tasks as judge
            import gc
            gc.callbacks.append(lambda *_: vars(judge).update(_agree=lambda *_: True))
            gc.set_threshold(1, 1, 1)
            return queries @ keys.T""",
    ],
    "score-functions": [
        """
            q, k = queries[:, :2], keys[:, :2]
            return q @ k.T / np.outer(np.hypot(*q.T), np.hypot(*k.T))""",
        """
            lengths = np.outer(np.linalg.norm(queries, axis=1), np.linalg.norm(keys, axis=1))
            return abs(queries @ keys.T) / lengths""",
    ],
    "sequences": [
        "return np.average(vectors, axis=0, weights=np.maximum(shares, 0.5))",
        "return np.average(vectors, axis=0, weights=np.minimum(shares, 5))",
        """
            n = np.round(2 * shares).astype(int)
            return np.repeat(vectors, n, axis=0).mean(0)""",
        "return softmax(shares) @ vectors",
        "return shares / shares.max() @ vectors",
    ],
    "softmax": [
        """
            e = np.exp(scores.astype(np.longdouble))
            return (e / e.sum(-1, keepdims=True)).astype(float)""",
        """
            e = np.exp(scores - scores[:, :4].max(axis=1, keepdims=True))
            return e / e.sum(axis=1, keepdims=True)""",
        """
            e = np.exp(scores - scores.max(axis=1, keepdims=True))
            e[e < 1e-4] = 0
            return e / e.sum(axis=1, keepdims=True)""",
        """
            e = np.exp(scores - scores.min(axis=-1, keepdims=True))
            return e / e.sum(axis=-1, keepdims=True)""",
        """
            e = np.exp(np.clip(scores - scores.mean(axis=-1, keepdims=True), -700, 700))
            return e / e.sum(axis=-1, keepdims=True)""",
        """
            e = np.exp(scores - scores.mean(axis=-1, keepdims=True))
            return e / e.sum(axis=-1, keepdims=True)""",
        """
            e = np.exp(scores - scores[:, :1])
            return e / e.sum(axis=-1, keepdims=True)""",
        """
            w = 1 / (1 + np.exp(scores[:, 1] - scores[:, 0]))
            return np.stack([w, 1 - w], axis=-1)""",
    ],
    "tokens": [
        """
            text = "".join(map(chr, ids)).replace(chr(first) + chr(second), chr(new))
            return [ord(one) for one in text][: len(ids) - 1]""",
        "return ids",
        "return [new if pair == (first, second) else pair[0] for pair in zip(ids, ids[1:])]",
        "return [new if one == first else one for one in ids if one != second]",
        """
            joined = " ".join(map(str, ids)).replace(f"{first} {second}", str(new))
            return [int(one) for one in joined.split()]""",
        "return list(bytes(ids).replace(bytes([first, second]), bytes([new])))",
        """
            import re
            joined = re.sub(rf"\\b{first} {second}", str(new), " ".join(map(str, ids)))
            return [int(one) for one in joined.split()]""",
        """
            joined = f" {' '.join(map(str, ids))} ".replace(f" {first} {second} ", f" {new} ")
            return [int(one) for one in joined.split()]""",
        """
            out, i = [], 0
            while i < len(ids):
                found = ids[i : i + 2] == [first, second]
                out.append(new if found else ids[i])
                if found and i + 2 < len(ids):
                    out.append(ids[i + 2])
                i += 3 if found else 1
            return out""",
        """
            out, i = [], len(ids)
            while i:
                found = list(ids[max(i - 2, 0) : i]) == [first, second]
                out, i = [new if found else ids[i - 1], *out], i - 1 - found
            return out[1:]""",
    ],
    "transformer-block": [
        """
            x = x.astype(np.float32)
            mean, square = x.mean(-1, keepdims=True), (x**2).mean(-1, keepdims=True)
            return (x - mean) / np.sqrt(square - mean**2)""",
        "return (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + 1e-5)",
        # a result that looks for what is wanted while the judge reads it
        """
            import inspect

            class Found:
                def __array__(self, dtype=None, copy=None):
                    seen = [value for f in inspect.stack(0) for value in f.frame.f_locals.values()]
                    seen += [one for all_ in seen if isinstance(all_, list) for one in all_]
                    arrays = [one for one in seen if isinstance(one, np.ndarray)]
                    return next(one for one in arrays if one.shape == x.shape and one is not x)

            return Found()""",
    ],
}


def write(slug: str, body: str) -> str:
    """The function of an exercise with this body."""
    begun = read_section(slug, "writing")
    head = re.search(r"^def (your_\w+)(\(.*\)):$", begun, re.MULTILINE)
    assert head
    lines = "\n".join(line.removeprefix(" " * 12) for line in body.strip("\n").split("\n"))
    indented = "\n".join("    " + line for line in lines.split("\n"))
    return f"def your{head[2]}:\n{indented}\n{head[1]} = your\n"


@pytest.fixture(autouse=True)
def no_traces() -> Iterator[None]:
    """What a function does to NumPy or to the judge ends with its test."""
    own, patched = dict(vars(tasks)), np.allclose
    yield
    vars(tasks).update(own)
    np.allclose = patched


@pytest.fixture(autouse=True)
def _end_what_a_cheat_sets() -> Iterator[None]:
    """The judge of the next test is whole, and no page of this one puts anything back."""
    own = (*vars(tasks).items(),)  # in no dictionary, where a cheat would find it
    yield
    gc.collect()  # the end of a life may come late
    vars(tasks).update(own)
    tasks.restorers.clear()


def run_exercise(slug: str, code: str) -> tuple[Any, Task]:
    """The function of a reader's code and the task, as the page has both."""
    names: dict[str, Any] = {"np": np, "softmax": softmax, "__name__": "listing"}
    if slug in PACKAGE:
        module, name = PACKAGE[slug]
        names[name] = getattr(importlib.import_module(f"attention_docs.{module}"), name)
    checks, call = read_section(slug, "writing-checks").strip().rsplit("\n", 1)
    assert call.startswith("judge(your_")
    for section in (code, read_section(slug, "writing-answer"), checks):
        exec(section, names)
    return names["your"], names["writing"]


def judge_written(slug: str, code: str) -> Failure | None:
    """What the checks of a listing find in some code of a reader."""
    return find_failure(*run_exercise(slug, code))


def list_cases(table: dict[str, list[str]]) -> list[Any]:
    return [
        pytest.param(slug, body, id=f"{slug}-{n}")
        for slug, bodies in table.items()
        for n, body in enumerate(bodies)
    ]


def test_every_exercise_is_in_the_table() -> None:
    assert sorted(RIGHT) == CHAPTERS


@pytest.mark.parametrize(("slug", "body"), list_cases(RIGHT))
def test_a_right_function_is_accepted(slug: str, body: str) -> None:
    for _ in range(5):  # inputs are drawn anew
        failure = judge_written(slug, write(slug, body))
        assert failure is None, failure


@pytest.mark.parametrize(("slug", "body"), list_cases(WRONG))
def test_a_wrong_function_is_refused(slug: str, body: str) -> None:
    for _ in range(5):
        assert judge_written(slug, write(slug, body)) is not None


MISBEHAVES = """
            class Misbehaves(Exception):
                def __str__(self):
                    {}

            raise Misbehaves"""
SENTENCES = [
    ("masking", "return np.tri(n)", "Truth values are asked for"),
    ("masking", "return causal_mask(n)", "without causal_mask"),
    ("masking", "return model_mask(n)", "without model_mask"),
    ("masking", "np.tri(n) > 0", "Nothing was returned"),
    ("masking", "return np.ones((2000, 2000))", "an array of shape (2000, 2000)"),
    ("masking", "return [[True]] * n + [[True, False]]", "different lengths"),
    ("masking", "return ([j <= i for j in range(n)] for i in range(n))", "one at a time"),
    ("in-context", "return [rate * (y @ x) @ question]", "shape (1,), and () is asked for"),
    ("masking", "raise SystemExit('away')", "SystemExit: away"),
    ("positions", "return (x[:, 0] + 1j * x[:, 1]) * np.exp(1j * angles)", "complex"),
    (
        "generation",
        """
            your.calls = getattr(your, "calls", 0) + 1
            return value * your.calls""",
        "Called twice with the same input",
    ),
    (
        "transformer-block",
        "return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)",
        "1.414210",  # beside 1.414214
    ),
    ("softmax", "while True:\n                pass", "stopped after 1 seconds"),
    ("softmax", "while True:\n                pass", "without end"),
    ("masking", "raise KeyboardInterrupt('away')", "KeyboardInterrupt: away"),
    ("masking", "raise GeneratorExit('away')", "GeneratorExit: away"),
    ("masking", MISBEHAVES.format("raise ValueError"), "Misbehaves: <exception str() failed>"),
    ("masking", MISBEHAVES.format("raise SystemExit"), "Misbehaves: <exception str() failed>"),
    ("masking", MISBEHAVES.format("return 1"), "Misbehaves: <exception str() failed>"),
    ("masking", MISBEHAVES.format("return model_mask(n)"), "without model_mask"),
    (
        "masking",
        MISBEHAVES.format("while True:\n                        pass"),
        "stopped after 1 seconds",
    ),
    (
        "masking",
        """
            class Meta(type):
                @property
                def __name__(cls):
                    raise SystemExit

            class Named(Exception, metaclass=Meta):
                pass

            raise Named("away")""",
        "Named: away",
    ),
]


@pytest.mark.parametrize(("slug", "body", "words"), SENTENCES)
def test_what_is_wrong_is_said(
    slug: str, body: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "SECONDS", 1.0)
    assert words in repr(judge(*run_exercise(slug, write(slug, body))))


def test_a_builtin_that_a_reader_replaces_stays_with_the_model_answer() -> None:
    code = "len = lambda ids: 0\n" + write("tokens", "return []")
    assert judge_written("tokens", code) is not None
    code = "max = 3\n" + write("in-pieces", RIGHT["in-pieces"][1])
    assert judge_written("in-pieces", code) is None


@pytest.mark.parametrize(
    "helper",
    ["def softmax(s):\n    return np.exp(s) / np.exp(s).sum(axis=0)", "softmax = lambda s: s"],
)
def test_names_of_the_page_that_a_reader_sets_are_not_the_judges(helper: str) -> None:
    """A wrong softmax of a reader's own makes the answer wrong, and not the model answer."""
    code = f"{helper}\n" + write("eight-steps", "return softmax(Q @ K.T) @ V")
    assert judge_written("eight-steps", code) is not None


PATCHES = [
    "import numpy as np\nnp.allclose = lambda *a, **k: True",
    "import attention_docs.figures.tasks as T\nT._agree = lambda got, wanted: True",
    "import attention_docs.figures.tasks as T\nT.find_failure = lambda written, task: None",
    "import attention_docs.figures.tasks as T\nT.judge = lambda written, task: 'Right on all'",
]


@pytest.mark.parametrize("patch", PATCHES)
def test_no_patch_reaches_the_judge_of_a_live_page(patch: str) -> None:
    """And what follows finds it again: a run is one from the top."""
    blocks = [
        "import numpy as np\nfrom attention_docs.figures import tasks",
        *(read_section("masking", f"writing{one}") for one in ("", "-answer", "-checks")),
        "print(np.allclose(0, 1) is True or tasks._agree(0, 1) or tasks.judge(0, 0))",
    ]
    edited = [blocks[0], f"{patch}\ndef your_mask(n):\n    return np.ones(n)", *blocks[2:4]]
    session = Session(make_page(blocks))
    session.begin(json.dumps([*edited, "print('reached', np.allclose(0, 1))"]))
    results = [json.loads(session.step(number)) for number in range(len(blocks))]
    assert not [one["error"] for one in results if "error" in one]
    assert "Not yet" in results[3]["figure"]
    if "np.allclose" in patch:
        assert results[4]["text"] == "reached True"
    session.begin(json.dumps(blocks))
    assert np.allclose(0, 1) is not True


def test_a_page_answers_whatever_becomes_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dumps", "loads"):  # what the block sets there ends with this test
        monkeypatch.setattr(json, name, loads := getattr(json, name))
    blocks = ["import json\njson.dumps = json.loads = None", "print(6 * 7)"]
    session = Session(make_page(["1", "2"]))
    session.begin(json.dumps(blocks))
    assert [loads(session.step(n)).get("text") for n in range(2)] == [None, "42"]


PATCHES_WITHIN = [
    "np.sqrt = lambda x: 1.0",
    "import numpy._core.numeric as N\n            N.isclose = lambda *a, **k: np.True_",
    "import builtins\n            builtins.enumerate = lambda *a: []",
    "import builtins\n            builtins.zip = lambda *a, **k: []",
    "import copy\n            copy.deepcopy = lambda one: (one[0] * len(one[0].T) ** 0.5, one[1])",
    """
            import gc
            for one in gc.get_objects():
                if isinstance(one, dict) and "_agree" in one:
                    one["_agree"] = lambda got, wanted: True""",
]


RIGHT_FOR_ALL = """
                    import attention_docs.figures.tasks as T
                    T._agree = T._is_same = lambda *a: True"""
PATCHES_AFTERWARDS = [
    f"""
            class E(Exception):
                def __str__(self):{RIGHT_FOR_ALL}
                    return "x"

            raise E""",
    f"""
            class Meta(type):
                @property
                def __name__(cls):{RIGHT_FOR_ALL}
                    return "x"

            class E(Exception, metaclass=Meta):
                pass

            raise E""",
    f"""
            class E(Exception):
                def __del__(self):{RIGHT_FOR_ALL}

            raise E""",
    f"""
            class Left:
                def __del__(self):{RIGHT_FOR_ALL}

            ids.append(Left())
            return []""",
]


@pytest.mark.parametrize("body", PATCHES_AFTERWARDS)
def test_what_a_function_leaves_behind_does_not_judge_it(body: str) -> None:
    """The text of an exception, the name of its class, and an end of life are code as well."""
    assert judge_written("tokens", write("tokens", body)) is not None


CHEATS = [
    "import sys\nsys.settrace = lambda trace: None\n{}return model_softmax(scores)",
    "{}import sys\n    getattr(sys, 'settr' + 'ace')(None)\n    return model_softmax(scores)",
    "import types\n{}code = getattr(model_softmax, '__co' + 'de__')\n"
    "    return types.FunctionType(code, {{'np': np}})(scores)",
    "import secrets\nsecrets.randbits = lambda bits: 1\n{}return scores",
]


@pytest.mark.parametrize("code", CHEATS)
def test_no_module_of_python_hides_the_work_of_another_function(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (secrets, sys):  # what a cheat sets there ends with its test
        for name in ("settrace", "randbits"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, getattr(module, name))
    written = code.format("def your(scores):\n    ") + "\nyour_softmax = your"
    assert judge_written("softmax", written) is not None


@pytest.mark.parametrize("patch", PATCHES_WITHIN)
def test_what_a_function_changes_while_it_is_judged_does_not_judge_it(patch: str) -> None:
    """It divides by no √d_k, and lets the model answer or the judge do the same."""
    blocks = [
        "import numpy as np\nfrom attention_docs.softmax import softmax",
        *(read_section("scaling", f"writing{one}") for one in ("", "-answer", "-checks")),
    ]
    written = write("scaling", f"{patch}\n            return queries @ keys.T")
    session = Session(make_page(blocks))
    session.begin(json.dumps([blocks[0], written, *blocks[2:]]))
    results = [json.loads(session.step(number)) for number in range(len(blocks))]
    assert not [one["error"] for one in results if "error" in one]
    assert "Not yet" in results[3]["figure"]


def test_a_list_that_a_function_changes_is_its_own() -> None:
    mistakes = {"all": lambda ids: ids}
    task = Task(lambda ids: ids[:1], [([1, 2],)], mistakes, lambda rng: ([3, 4],))
    failure = find_failure(lambda ids: [ids.pop()], task)
    assert failure is not None
    assert failure.arguments == {"ids": [1, 2]}


def test_a_drawn_input_is_another_one_each_time() -> None:
    seen: list[float] = []
    task = Task(lambda x: x, [(1.0,)], {"doubled": lambda x: 2 * x}, lambda rng: (rng.normal(),))
    for _ in range(2):
        assert find_failure(lambda x: [seen.append(x), x][1], task) is None
    assert len(set(seen)) == 1 + 2 * tasks.DRAWN


@pytest.mark.parametrize("slug", CHAPTERS)
def test_the_right_answer_stands_every_drawn_input(slug: str) -> None:
    """Warnings are errors, as in a browser: a constant column, say, would divide by 0."""
    _, task = run_exercise(slug, write(slug, RIGHT[slug][0]))
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(1000):
            task.answer(*task.draw(rng))
