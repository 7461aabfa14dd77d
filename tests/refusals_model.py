"""What the functions of the chapters on models refuse."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from attention_docs.cross_attention import DecoderParameters
from attention_docs.generation import Cache, Configuration
from attention_docs.gguf import Quantised
from attention_docs.in_pieces import Piece, State
from attention_docs.language_model import LanguageModel
from attention_docs.minilm import MiniLM
from attention_docs.multi_head import Parameters
from attention_docs.smollm2 import SmolLM2
from attention_docs.transformer_block import BlockParameters
from tests.refusals import MASKED, Row, Wrong, a, at_least_one, kind, value, whole


def narrower(parts: Any) -> Any:
    """The same tuple of arrays in float32."""
    return type(parts)(*(one.astype(np.float32) for one in parts))


def square(d: int, memory: int = 0) -> Parameters:
    return Parameters(a(d, d), a(memory or d, d), a(memory or d, d), a(d, d))


BLOCK = BlockParameters(square(4), a(4, 7), a(7, 4))
MODEL = LanguageModel(a(5, 4), a(6, 4), (BLOCK, square(4)), a(4, 5), 2, a(4), tuple("abcde"))
DECODER = DecoderParameters(square(4), square(4, 6), a(4, 7), a(7, 4))
WIDE = {"W_o": a(4, 5)}

# --- a language model

IDS = "ids must hold integers of the table's library, got "
TARGETS = {"logits": a(2, 3), "targets": whole(0, 2)}


def of_targets() -> list[Wrong]:
    shapes = "logits must be (..., vocabulary) and targets (...), none empty, got "
    return [
        kind("targets must hold integers of the logits' library, got list", targets=[0, 2]),
        kind(
            "targets must hold integers of the logits' library, got Tensor",
            targets=torch.tensor([0, 2]),
        ),
        kind("targets must hold integers, got float64", targets=a(2)),
        value(shapes + "(2, 3) and (3,)", targets=whole(0, 1, 2)),
        value(shapes + "(2, 0) and (2,)", logits=a(2, 0)),
        value(shapes + "() and (2,)", logits=np.array(1.0)),
        value("targets must be from 0 to 2, got [0, 3]", targets=whole(0, 3)),
        value("targets must be from 0 to 2, got [-1, 0]", targets=whole(-1, 0)),
    ]


def of_positive(name: str) -> list[Wrong]:
    """A number that must be positive and finite."""
    return [
        value(f"{name} must be positive and finite, got {wrong}", **{name: wrong})
        for wrong in (0.0, -1.0, float("inf"), float("nan"))
    ]


def of_choice() -> list[Wrong]:
    """What a distribution is cut by."""
    nan = float("nan")
    return [
        *of_positive("temperature"),
        *(
            value(f"top_p must be above 0 and at most 1, got {p}", top_p=p)
            for p in (0, -0.5, 1.5, nan)
        ),
    ]


LANGUAGE = [
    Row(
        "language_model.language_model",
        {"ids": whole(0, 4, 1), "model": MODEL},
        [
            kind(IDS + "list", ids=[0, 4]),
            kind(IDS + "float64", ids=a(3)),
            kind(IDS + "torch.int64", ids=torch.tensor([0])),
            value("ids must be from 0 to 4, got [0, 5]", ids=whole(0, 5)),
            value("ids must be from 0 to 4, got [-1]", ids=whole(-1)),
            value(
                "positions must be (n_max, 4) with n_max at least 7, got (6, 4)",
                ids=np.zeros(7, int),
            ),
            value(
                "table must be (vocabulary, d_model) and ids (..., n) with n at least 1, "
                "got (5, 4) and (0,)",
                ids=np.zeros(0, int),
            ),
            kind(
                "table and positions must share a dtype, got float64 and float32",
                model=MODEL._replace(positions=a(6, 4).astype(np.float32)),
            ),
            kind(
                "x and W_u must be of one library, got ndarray and Tensor",
                model=MODEL._replace(W_u=torch.ones(4, 5)),
            ),
            value("W_u must have 4 rows, got shape (3, 5)", model=MODEL._replace(W_u=a(3, 5))),
            value(
                "num_heads must divide the last axis, got 3 heads and shape (3, 4)",
                model=MODEL._replace(num_heads=3),
            ),
        ],
    ),
    *(
        Row(f"language_model.{name}", TARGETS, of_targets())
        for name in ("cross_entropy", "cross_entropy_gradient")
    ),
    Row(
        "language_model.token_distribution",
        {"logits": a(2, 3)},
        [
            *of_choice(),
            *(value(f"top_k must be from 1 to 3, got {k}", top_k=k) for k in (0, -1, 4)),
            value("logits must have a vocabulary, got shape (2, 0)", logits=a(2, 0)),
            value("logits must have a vocabulary, got shape ()", logits=np.array(1.0)),
        ],
    ),
    Row(
        "language_model.sample",
        {"probabilities": np.array([[0.25, 0.75], [0.5, 0.5]]), "uniform": np.array([0.0, 0.9])},
        [
            value("probabilities must not be empty, got shape (2, 0)", probabilities=a(2, 0)),
            value("probabilities must not be empty, got shape ()", probabilities=np.array(1.0)),
            value("uniform must have the shape (2,), got (3,)", uniform=np.zeros(3)),
            *(
                value(
                    f"uniform must be from 0 to below 1, got [0.0, {u}]",
                    uniform=np.array([0.0, u]),
                )
                for u in (1.0, -0.5, float("nan"))
            ),
            *(
                value(
                    "probabilities must be at least 0, got one below 0 or NaN",
                    probabilities=np.array([[p, 1 - p], [0.5, 0.5]]),
                )
                for p in (-0.5, float("nan"))
            ),
            value(
                "probabilities must sum to 1, got [1.0, 0.75]",
                probabilities=np.array([[0.25, 0.75], [0.5, 0.25]]),
            ),
        ],
    ),
    Row(
        "language_model.generate",
        {"ids": whole(0, 1), "model": MODEL, "uniforms": np.array([0.25, 0.5])},
        [
            *of_choice(),
            value("top_k must be from 1 to 5, got 6", top_k=6),
            kind("ids and uniforms must be arrays with at least one axis", ids=[0]),
            kind("ids and uniforms must be arrays with at least one axis", ids=np.array(0)),
            kind(IDS + "float64", ids=a(2)),
            kind(
                "table and uniforms must share a dtype, got float64 and float32",
                uniforms=np.zeros(2, np.float32),
            ),
            value(
                "ids and uniforms must share all axes but the last, got (2, 1) and (2,)",
                ids=np.zeros((2, 1), int),
            ),
            value("the model takes at most 6 tokens, got 7", uniforms=np.zeros(5)),
            value("uniform must be from 0 to below 1, got 1.0", uniforms=np.array([0.0, 1.0])),
        ],
    ),
    Row(
        "language_model.without_head",
        {"model": MODEL, "block": 1, "head": 0},
        [
            value("wanted a block below 2 and a head below 2, got 2 and 0", block=2),
            value("wanted a block below 2 and a head below 2, got -1 and 0", block=-1),
            value("wanted a block below 2 and a head below 2, got 1 and 2", head=2),
            value("wanted a block below 2 and a head below 2, got 1 and -1", head=-1),
        ],
    ),
    Row(
        "language_model.to_json",
        {"model": MODEL},
        [
            value("digits must be at least 1, got 0", digits=0),
            *(
                value(
                    "parameters must be finite, got NaN or an infinite one",
                    model=MODEL._replace(W_u=np.full((4, 5), number)),
                )
                for number in (float("nan"), float("inf"))
            ),
        ],
    ),
    Row(
        "language_model.from_json",
        {
            "text": '{"table":[[1]],"positions":[[1]],"blocks":[],"W_u":[[1]],"num_heads":1,'
            '"gamma":null,"vocabulary":[]}'
        },
        [
            value(f"wanted the JSON of a model, got something else: {got}", text=text)
            for text, got in [
                ("no", "Expecting value: line 1 column 1 (char 0)"),
                ('{"blocks": []}', "'vocabulary'"),
                ('{"vocabulary": []}', "'blocks'"),
                ('{"blocks": 1, "vocabulary": []}', "'int' object is not iterable"),
            ]
        ],
    ),
    Row(
        "language_model.token_ids",
        {"words": "b e", "model": MODEL},
        [
            value("wanted words out of: a b c d e; got z y", words="a z y"),
            value("wanted words out of: a b c d e; got none", words=""),
            value("wanted words out of: a b c d e; got none", words=[]),
        ],
    ),
]

# --- cross-attention

BACK = {
    "target": a(2, 3),
    "source": a(4, 5),
    "w_query": a(3, 2),
    "w_key": a(5, 2),
    "w_value": a(5, 6),
    "weights": a(2, 4),
    "by_output": a(2, 6),
}
CROSS = [
    Row(
        "cross_attention.decoder_block",
        {"x": a(3, 4), "memory": a(5, 6), "parameters": DECODER, "num_heads": 2},
        [
            value(
                "x and memory must share their batch axes, got (2, 3, 4) and (5, 6)", x=a(2, 3, 4)
            ),
            value("W_k must have 7 rows, got shape (6, 4)", memory=a(5, 7)),
            value("num_heads must divide the last axis, got 3 heads and shape (3, 4)", num_heads=3),
            *(
                value(f"{name} must give back the shape (3, 4), got (3, 5)", parameters=p)
                for name, p in [
                    (
                        "self-attention",
                        DECODER._replace(self_attention=DECODER.self_attention._replace(**WIDE)),
                    ),
                    (
                        "cross-attention",
                        DECODER._replace(cross_attention=DECODER.cross_attention._replace(**WIDE)),
                    ),
                    ("the feed-forward network", DECODER._replace(W_2=a(7, 5))),
                ]
            ),
            value(
                "gamma must have shape (4,), got (3,)",
                parameters=DECODER._replace(gammas=(None, a(3), None)),
            ),
            kind(
                "x and W_1 must share a dtype, got float64 and float32",
                parameters=DECODER._replace(W_1=a(4, 7).astype(np.float32)),
            ),
            kind(MASKED + "list", mask=[[True] * 3] * 3),
            kind(MASKED + "list", memory_mask=[[True] * 5] * 3),
            value(
                "mask and scores must broadcast together, got (3, 5) and (2, 3, 3)",
                mask=np.ones((3, 5), bool),
            ),
            value(
                "mask and scores must broadcast together, got (3, 3) and (2, 3, 5)",
                memory_mask=np.ones((3, 3), bool),
            ),
        ],
        matrices=("x", "memory"),
    ),
    Row(
        "cross_attention.cross_attention_backward",
        BACK,
        [
            value(
                "target and source must share their batch axes, got (2, 3) and (7, 4, 5)",
                source=a(7, 4, 5),
            ),
            value(
                "w_query must be a matrix with 3 rows for target (2, 3), got (4, 2)",
                w_query=a(4, 2),
            ),
            value(
                "w_key must be a matrix with 5 rows for source (4, 5), got (3, 2)", w_key=a(3, 2)
            ),
            value(
                "w_value must be a matrix with 5 rows for source (4, 5), got (2, 5, 6)",
                w_value=a(2, 5, 6),
            ),
            value("query and key must share d_k, got (2, 2) and (4, 7)", w_key=a(5, 7)),
            value("weights must have the shape (2, 4), got (2, 3)", weights=a(2, 3)),
            value("by_output must have the shape (2, 6), got (2, 5)", by_output=a(2, 5)),
            kind(
                "query and weights must share a dtype, got float64 and float32",
                weights=a(2, 4).astype(np.float32),
            ),
        ],
        matrices=("target", "source", "w_query", "w_key", "w_value"),
        alone=("weights", "by_output"),
    ),
    Row(
        "cross_attention.cross_attention_flops",
        {"n_query": 2, "n_key": 5, "d_model": 3, "steps": 1},
        [
            value(
                "n_query, n_key, d_model and steps must be at least 1, "
                f"got {', '.join(map(str, sizes[:3]))} and {sizes[3]}",
                **dict(zip(("n_query", "n_key", "d_model", "steps"), sizes, strict=True)),
            )
            for sizes in ((0, 5, 3, 1), (2, 0, 3, 1), (2, 5, -1, 1), (2, 5, 3, 0))
        ],
    ),
]

# --- generation

CACHE = Cache(a(2, 6, 4), a(2, 6, 3))
NEW = {"key": a(2, 1, 4), "value": a(2, 1, 3)}
HEADS = {"query": a(4, 3, 5), "key": a(2, 6, 5), "value": a(2, 6, 7)}
LATENT = {"query": a(2, 3, 4), "latent": a(5, 6), "W_uk": a(2, 6, 4), "W_uv": a(2, 6, 3)}
TINY = Configuration("tiny", 3, 4, 2, 8)
HALF = [Fraction(1, 2), Fraction(1, 2)]


def of_cache() -> list[Wrong]:
    """A cache of another length, dtype, library or shape."""
    apart = "the cache's {} and the new one must differ in their tokens alone, got {} and {}"
    return [
        value(
            "the cache must hold as many keys as values, got (2, 5, 4) and (2, 6, 3)",
            cache=CACHE._replace(key=a(2, 5, 4)),
        ),
        value(
            apart.format("key", (2, 6, 5), (2, 1, 4)),
            cache=CACHE._replace(key=a(2, 6, 5)),
        ),
        value(
            apart.format("value", (3, 6, 3), (2, 1, 3)),
            cache=CACHE._replace(value=a(3, 6, 3)),
        ),
        value(
            apart.format("key", (1, 2, 6, 4), (2, 1, 4)),
            cache=CACHE._replace(key=a(1, 2, 6, 4)),
        ),
        kind(
            "the cache's key and the new key must share a dtype, got float32 and float64",
            cache=narrower(CACHE),
        ),
        kind(
            "the cache's value and the new value must share a dtype, got float32 and float64",
            cache=CACHE._replace(value=CACHE.value.astype(np.float32)),
        ),
        kind(
            "the cache's key and the new key must be of one library, got Tensor and ndarray",
            cache=CACHE._replace(key=torch.ones(2, 6, 4)),
        ),
    ]


def of_model() -> Iterator[Wrong]:
    """Numbers of a configuration that make no sense."""
    for name in ("layers", "heads", "kv_heads", "d_head"):
        yield value(f"{name} must be at least 1, got 0", model=TINY._replace(**{name: 0}))
    for g in (3, 8):
        yield value(
            f"the number of key/value heads must divide that of the query heads, got {g} and 4",
            model=TINY._replace(kv_heads=g),
        )
    for latent, position in ((0, 8), (-1, 0), (16, -8)):
        yield value(
            "latent and position must not be negative, and a position goes with a latent, "
            f"got {latent} and {position}",
            model=TINY._replace(latent=latent, position=position),
        )
    for windowed, window in ((4, 2), (-1, 2), (1, 0)):
        yield value(
            f"wanted 0 to 3 layers with a window of at least 1, got {windowed} with {window}",
            model=TINY._replace(windowed=windowed, window=window),
        )
    yield value("n must be at least 1, got 0", n=0)


def of_two() -> list[Wrong]:
    """Of the two distributions over the same tokens."""
    wrong = "probabilities must not be negative and must sum to 1, got "
    many = "wanted one probability for each token of one vocabulary, got "
    return [
        value(wrong + "['1/2', '1/3'], whose sum is 5/6", target=[Fraction(1, 2), Fraction(1, 3)]),
        value(wrong + "['3/2', '-1/2'], whose sum is 1", draft=[Fraction(3, 2), Fraction(-1, 2)]),
        value(wrong + "['0.5', '0.75'], whose sum is 1.25", draft=[0.5, 0.75]),
        value(
            wrong + "['nan', '0.5'], whose sum is nan",
            target=[float("nan"), 0.5],
        ),
        value(many + "2 and 1", draft=[Fraction(1)]),
        value(many + "0 and 0", target=[], draft=[]),
    ]


GENERATION = [
    Row(
        "generation.extended",
        {"cache": CACHE, **NEW},
        [
            *of_cache(),
            value(
                "key and value must share all axes but the last, got (2, 1, 4) and (2, 2, 3)",
                value=a(2, 2, 3),
            ),
        ],
        matrices=("key", "value"),
    ),
    Row(
        "generation.attend_with_cache",
        {"query": a(4, 1, 4), **NEW, "cache": CACHE},
        [
            *of_cache(),
            value(
                "query and key must hold the same new tokens, got (4, 2, 4) and (2, 1, 4)",
                query=a(4, 2, 4),
            ),
            value(
                "the number of key/value heads must divide that of the query heads, got 2 and 3",
                query=a(3, 1, 4),
            ),
            value(
                "the number of key/value heads must divide that of the query heads, got 2 and 1",
                query=a(1, 1, 4),
            ),
            *(
                value(f"window must be at least 1, the query's own key, got {w}", window=w)
                for w in (0, -2)
            ),
        ],
        matrices=("query", "key", "value"),
    ),
    Row(
        "generation.window_mask",
        {"n_query": 2, "n_key": 3, "window": 2},
        [
            *at_least_one(n_query=2, n_key=3),
            *(
                value(f"window must be at least 1, the query's own key, got {w}", window=w)
                for w in (0, -2)
            ),
        ],
    ),
    Row(
        "generation.cached_block",
        {
            "x": a(1, 4),
            "parameters": BLOCK,
            "num_heads": 2,
            "cache": Cache(a(2, 6, 2), a(2, 6, 2)),
        },
        [
            value("num_heads must divide the last axis, got 3 heads and shape (1, 4)", num_heads=3),
            value(
                "W_k must have 2 columns a key/value head, got shape (4, 3)",
                parameters=BLOCK._replace(attention=BLOCK.attention._replace(W_k=a(4, 3))),
            ),
            value(
                "W_k must have 2 columns a key/value head, got shape (4, 1)",
                parameters=BLOCK._replace(attention=BLOCK.attention._replace(W_k=a(4, 1))),
            ),
            value(
                "the number of key/value heads must divide that of the query heads, got 4 and 2",
                parameters=BLOCK._replace(
                    attention=BLOCK.attention._replace(W_k=a(4, 8), W_v=a(4, 8))
                ),
                cache=None,
            ),
            value(
                "the cache must hold as many keys as values, got (2, 5, 2) and (2, 6, 2)",
                cache=Cache(a(2, 5, 2), a(2, 6, 2)),
            ),
            kind(
                "the cache's key and the new key must share a dtype, got float32 and float64",
                cache=narrower(Cache(a(2, 6, 2), a(2, 6, 2))),
            ),
            kind(
                "x and W_1 must share a dtype, got float64 and float32",
                parameters=BLOCK._replace(W_1=a(4, 7).astype(np.float32)),
            ),
            value("eps must be at least 0, got -1", eps=-1),
        ],
        matrices=(),
    ),
    Row(
        "generation.grouped_attention",
        HEADS,
        [
            value(
                "the number of key/value heads must divide that of the query heads, got 3 and 4",
                key=a(3, 6, 5),
                value=a(3, 6, 7),
            ),
            value(
                "the number of key/value heads must divide that of the query heads, got 8 and 4",
                key=a(8, 6, 5),
                value=a(8, 6, 7),
            ),
            value(
                "key and value must share their heads, got (2, 6, 5), (1, 6, 7)", value=a(1, 6, 7)
            ),
            *(
                value(
                    f"{name} must have axes (..., heads, n, d), none of them empty, "
                    f"got {one.shape}",
                    **{name: one},
                )
                for name in HEADS
                for one in (a(6, 5), a(2, 0, 5))
            ),
            value(
                "mask must have 1 or 4 heads, got shape (2, 3, 6)", mask=np.ones((2, 3, 6), bool)
            ),
            kind(MASKED + "list", mask=[[True] * 6] * 3),
        ],
    ),
    Row(
        "generation.latent_attention",
        LATENT,
        [
            value("query must have axes (..., h, n_q, d_k), got shape (3, 4)", query=a(3, 4)),
            value("W_uk must have shape (2, 6, 4), got (2, 4, 6)", W_uk=a(2, 4, 6)),
            value("W_uv must have shape (2, 6, d_v), got (2, 4, 3)", W_uv=a(2, 4, 3)),
            value("W_uv must have shape (2, 6, d_v), got (6, 3)", W_uv=a(6, 3)),
            value("W_uk must have shape (2, 7, 4), got (2, 6, 4)", latent=a(5, 7)),
            value(
                "query and latent must broadcast together, got (9,) and (7,)",
                query=a(9, 2, 3, 4),
                latent=a(7, 5, 6),
            ),
            kind(MASKED + "list", mask=[[True] * 5] * 3),
        ],
        matrices=tuple(LATENT),
    ),
    Row(
        "generation.decode_flops",
        {"n": 2, "d_model": 3, "d_ff": 5},
        [
            *at_least_one(n=2, d_model=3, d_ff=5),
        ],
    ),
    Row(
        "generation.cache_bytes",
        {"model": TINY, "n": 5},
        [*of_model(), value("bytes_per_number must be at least 1, got 0", bytes_per_number=0)],
    ),
    Row("generation.step_flops", {"model": TINY, "n": 5}, [*of_model()]),
    *(
        Row(f"generation.{name}", {"target": HALF, "draft": HALF}, of_two())
        for name in ("acceptance", "residual")
    ),
    Row(
        "generation.speculate",
        {"drafted": [1], "drafts": [HALF], "targets": [HALF, HALF], "chances": [0.25, 0.5]},
        [
            *(
                value(
                    "for 1 drafted tokens: wanted 1 drafts, 2 targets and 2 chances, "
                    f"got {got[0]}, {got[1]} and {got[2]}",
                    drafts=[HALF] * got[0],
                    targets=[HALF] * got[1],
                    chances=[0.5] * got[2],
                )
                for got in ((0, 2, 2), (1, 1, 2), (1, 2, 1))
            ),
            *(
                value(f"chances must be at least 0 and below 1, got [0.25, {c}]", chances=[0.25, c])
                for c in (1.0, -0.5, float("nan"))
            ),
            value("drafted tokens must be from 0 to 1, got 2", drafted=[2]),
            value("drafted tokens must be from 0 to 1, got -1", drafted=[-1]),
            value(
                "probabilities must not be negative and must sum to 1, "
                "got ['0.5', '0.25'], whose sum is 0.75",
                targets=[HALF, [0.5, 0.25]],
            ),
            value(
                "wanted one probability for each token of one vocabulary, got 2 and 1",
                drafts=[[Fraction(1)]],
            ),
        ],
    ),
    Row(
        "generation.expected_tokens",
        {"accepted": Fraction(1, 2), "k": 3},
        [
            value("wanted 0 ≤ α ≤ 1 and k ≥ 0, got 3/2 and 3", accepted=Fraction(3, 2)),
            value("wanted 0 ≤ α ≤ 1 and k ≥ 0, got -0.5 and 3", accepted=-0.5),
            value("wanted 0 ≤ α ≤ 1 and k ≥ 0, got 1/2 and -1", k=-1),
        ],
    ),
]

# --- in pieces

KEYS = {"query": a(3, 4), "key": a(5, 4), "value": a(5, 6)}
ONE = Piece(a(3), np.abs(a(3)), a(3, 6))
FEATURES = {name: np.abs(one) for name, one in KEYS.items()}
STATE = State(np.abs(a(4, 6)), np.abs(a(4)))
APART = "{} must have m and ℓ of shape (..., n_q) and o of (..., n_q, d_v), got {} and {} and {}"


def of_keys() -> Iterator[Wrong]:
    """Queries, keys and values that do not go together, and a mask of another type."""
    yield value(
        "key and value must share their number of tokens, got (5, 4) and (3, 6)", value=a(3, 6)
    )
    yield value("query and key must share d_k, got (3, 4) and (5, 7)", key=a(5, 7))
    yield kind(MASKED + "float32", mask=np.zeros((3, 5), np.float32))


def of_pieces() -> Iterator[Wrong]:
    for size in (0, -1):
        yield value(f"size must be at least 1 key, got {size}", size=size)
    yield kind("mask must be an array, got list", mask=[[True] * 5] * 3)
    for mask in ((3, 1), (3, 6), (2, 5)):
        yield value(
            f"mask must have one column for each of 5 keys and 1 or 3 rows, got {mask}",
            mask=np.ones(mask, bool),
        )


def of_features() -> Iterator[Wrong]:
    yield value("query and key must share their features, got (3, 4) and (5, 7)", key=a(5, 7))
    yield value(
        "key and value must share their number of tokens, got (5, 4) and (3, 6)", value=a(3, 6)
    )
    yield value(
        "query and key and value must broadcast together, got () and (2,) and (7,)",
        key=a(2, 5, 4),
        value=a(7, 5, 6),
    )


PIECES = [
    Row(
        "in_pieces.piece",
        KEYS,
        [
            *of_keys(),
            kind(MASKED + "list", mask=[[True] * 5] * 3),
            value(
                "mask and scores must broadcast together, got (2, 5) and (3, 5)",
                mask=np.ones((2, 5), bool),
            ),
            value("key must not be empty, got shape (0, 4)", key=a(0, 4), value=a(0, 6)),
            value(
                "query and key and value must broadcast together, got () and (2,) and (7,)",
                key=a(2, 5, 4),
                value=a(7, 5, 6),
            ),
        ],
        matrices=tuple(KEYS),
    ),
    Row(
        "in_pieces.merge",
        {"first": ONE, "second": ONE},
        [
            value(APART.format("first", (2,), (3,), (3, 6)), first=ONE._replace(largest=a(2))),
            value(APART.format("second", (3,), (2,), (3, 6)), second=ONE._replace(total=a(2))),
            value(APART.format("second", (3,), (3,), (2, 6)), second=ONE._replace(output=a(2, 6))),
            *(
                value(
                    "both pieces must have the same queries and d_v, "
                    f"got outputs (3, 6) and {shape}",
                    second=Piece(a(shape[0]), a(shape[0]), a(*shape)),
                )
                for shape in ((2, 6), (3, 5))
            ),
            kind(
                "first.largest and second.largest must share a dtype, got float64 and float32",
                second=narrower(ONE),
            ),
            kind(
                "first.largest and second.total must be of one library, got ndarray and Tensor",
                second=ONE._replace(total=torch.ones(3)),
            ),
            kind(
                "second.output must be a NumPy array or a torch tensor, got list",
                second=ONE._replace(output=[[1.0] * 6] * 3),
            ),
        ],
    ),
    Row(
        "in_pieces.log_total",
        {"one": ONE},
        [
            value(APART.format("one", (2,), (3,), (3, 6)), one=ONE._replace(largest=a(2))),
            kind(
                "largest must hold real floats, got int64", one=ONE._replace(largest=whole(1, 2, 3))
            ),
            kind(
                "largest and total must share a dtype, got float64 and float32",
                one=ONE._replace(total=ONE.total.astype(np.float32)),
            ),
        ],
    ),
    Row(
        "in_pieces.attention_in_pieces",
        KEYS | {"size": 2},
        [
            *of_keys(),
            *of_pieces(),
            value("key must not be empty, got shape (0, 4)", key=a(0, 4), value=a(0, 6)),
        ],
        matrices=tuple(KEYS),
    ),
    Row(
        "in_pieces.backward_in_pieces",
        KEYS | {"forward": ONE, "by_output": a(3, 6), "size": 2},
        [
            *of_keys(),
            *of_pieces(),
            value(
                "query, key and value must share their axes before the last 2, "
                "got (2, 3, 4), (5, 4), (5, 6)",
                query=a(2, 3, 4),
            ),
            *(
                value(
                    "by_output and the output must have the shape (3, 6), "
                    f"got {by_output.shape} and {forward.output.shape}",
                    by_output=by_output,
                    forward=forward,
                )
                for by_output, forward in [
                    (a(2, 6), ONE),
                    (a(3, 6), ONE._replace(output=a(3, 5))),
                ]
            ),
            value(APART.format("one", (2,), (3,), (3, 6)), forward=ONE._replace(largest=a(2))),
            kind(
                "query and output must share a dtype, got float64 and float32",
                forward=narrower(ONE),
            ),
        ],
        matrices=tuple(KEYS),
    ),
    Row(
        "in_pieces.plain_traffic",
        {"n": 8, "d": 2},
        [
            value("n and d must be at least 1, got 0 and 2", n=0),
            value("n and d must be at least 1, got 8 and -1", d=-1),
        ],
    ),
    Row(
        "in_pieces.tiled_traffic",
        {"n": 8, "d": 2, "rows": 4},
        [
            *at_least_one(n=8, d=2, rows=4),
        ],
    ),
    Row("in_pieces.elu_plus_one", {"x": a(2, 3)}),
    Row(
        "in_pieces.linear_attention",
        FEATURES,
        [
            *of_features(),
            value(
                "the weights of every query must sum to a positive number, got 0.0",
                query=np.zeros((1, 4)),
            ),
            value(
                "the weights of every query must sum to a positive number, got 0.0",
                mask=np.zeros((3, 5), bool),
            ),
            *(
                kind(f"mask must hold booleans of the weights' library, got {got}", mask=mask)
                for mask, got in [
                    ([[True] * 5] * 3, "list"),
                    (np.ones((3, 5)), "float64"),
                    (torch.ones(3, 5, dtype=torch.bool), "torch.bool"),
                ]
            ),
            value(
                "mask must broadcast to the weights' shape (3, 5), got (2, 3, 5)",
                mask=np.ones((2, 3, 5), bool),
            ),
        ],
        matrices=tuple(FEATURES),
    ),
    Row(
        "in_pieces.extended_state",
        {"key": FEATURES["key"], "value": FEATURES["value"], "state": STATE},
        [
            value(
                "key and value must share their number of tokens, got (5, 4) and (3, 6)",
                value=a(3, 6),
            ),
            value(
                "the state must be (4, 6) and (4,), got (3, 6) and (4,)", state=State(a(3, 6), a(4))
            ),
            value(
                "the state must be (4, 6) and (4,), got (4, 6) and (3,)", state=State(a(4, 6), a(3))
            ),
            kind(
                "key and matrix must share a dtype, got float64 and float32", state=narrower(STATE)
            ),
        ],
        matrices=("key", "value"),
        called={"key": "query"},
    ),
    Row(
        "in_pieces.update_by_delta_rule",
        {"key": KEYS["key"], "value": KEYS["value"], "matrix": a(4, 6)},
        [
            value(
                "key and value must share their number of tokens, got (5, 4) and (3, 6)",
                value=a(3, 6),
            ),
            value("the matrix must be (4, 6), got (3, 6)", matrix=a(3, 6)),
            value("the matrix must be (2, 4, 6), got (4, 6)", key=a(2, 5, 4)),
            value(
                "key and value must broadcast together, got (2,) and (3,)",
                key=a(2, 5, 4),
                value=a(3, 5, 6),
            ),
            *of_positive("rate"),
            kind(
                "key and matrix must share a dtype, got float64 and float32",
                matrix=a(4, 6).astype(np.float32),
            ),
        ],
        matrices=("key", "value"),
    ),
    Row(
        "in_pieces.read_state",
        {"query": FEATURES["query"], "state": STATE},
        [
            *(
                value(
                    "query and state must share their features, "
                    f"got {query.shape}, {state.matrix.shape} and {state.total.shape}",
                    query=query,
                    state=state,
                )
                for query, state in [
                    (a(3, 5), STATE),
                    (a(3, 4), STATE._replace(total=a(3))),
                ]
            ),
            value(
                "query and state must broadcast together, got (2,) and (7,)",
                query=a(2, 3, 4),
                state=State(a(7, 4, 6), a(7, 4)),
            ),
            value(
                "the weights of every query must sum to a positive number, got 0.0",
                query=np.zeros((1, 4)),
            ),
            kind(
                "query and matrix must share a dtype, got float64 and float32",
                state=narrower(STATE),
            ),
        ],
        matrices=("query",),
    ),
]

# --- long sequences

INF, NAN = float("inf"), float("nan")
TOKENS = [
    *at_least_one(n_query=2, n_key=3),
]
LENGTHS = [
    Row(
        "long_sequences.ntk_base",
        {"base": 100.0, "d": 4, "factor": 3.0},
        [
            *(value(f"d must be even and at least 4, got {d}", d=d) for d in (2, 5, -4)),
            *(value(f"base must be positive, got {base}", base=base) for base in (0.0, -1, NAN)),
            *(value(f"factor must be at least 1, got {one}", factor=one) for one in (0.5, NAN)),
        ],
    ),
    Row(
        "long_sequences.alibi_slopes",
        {"num_heads": 3},
        [value("num_heads must be at least 1, got 0", num_heads=0)],
    ),
    Row(
        "long_sequences.alibi_bias",
        {"slopes": np.array([0.5, 0.25]), "n_query": 2, "n_key": 3},
        [
            *TOKENS,
            *(
                value(f"slopes must be a vector (h,), got shape {one.shape}", slopes=one)
                for one in (a(1, 2), a(0), np.array(1.0))
            ),
            *(
                value(
                    f"slopes must be finite and at least 0, got [0.5, {one}]",
                    slopes=np.array([0.5, one]),
                )
                for one in (-1.0, INF, NAN)
            ),
        ],
    ),
    Row(
        "long_sequences.far_share",
        {"slope": 0.5, "spread": 1.0, "window": 3},
        [
            *(value(f"slope must be positive, got {m}", slope=m) for m in (0, -0.5, NAN)),
            *(
                value(f"spread and window must be at least 0, got {c} and 3", spread=c)
                for c in (-1, NAN)
            ),
            value("spread and window must be at least 0, got 1.0 and -1", window=-1),
        ],
    ),
    Row(
        "long_sequences.t5_buckets",
        {"offsets": whole(-1, 0, 20), "num_buckets": 8, "max_distance": 16},
        [
            kind("offsets must be an array of integers, got list", offsets=[1]),
            kind("offsets must be an array of integers, got float64", offsets=a(2)),
            *(
                value(f"num_buckets must be even and at least 2, got {n}", num_buckets=n)
                for n in (0, 7, -2)
            ),
            value("max_distance must be above 4, got 4", max_distance=4),
        ],
    ),
    Row(
        "long_sequences.t5_bias",
        {"table": a(2, 8), "n_query": 2, "n_key": 3, "max_distance": 16},
        [
            *TOKENS,
            value("table must have an axis of buckets, got shape ()", table=np.array(1.0)),
            value("num_buckets must be even and at least 2, got 7", table=a(2, 7)),
            value("max_distance must be above 4, got 3", max_distance=3),
        ],
    ),
]

# --- precision

FORMAT = "format must be one of float64, float32, float16, bfloat16, float8_e5m2, float8_e4m3fn, "
SHORT = value(FORMAT + "got 'half'", name="half")


def of_numbers(name: str, array: np.ndarray) -> Iterator[Wrong]:
    wanted = f"{name} must be a NumPy array of float64, got "
    yield kind(wanted + "list", **{name: array.tolist()})
    yield kind(wanted + "float32", **{name: array.astype(np.float32)})
    yield kind(wanted + "int64", **{name: array.astype(int)})
    yield kind(wanted + "torch.float64", **{name: torch.tensor(array)})


TERMS, LEFT, RIGHT = a(2, 3), a(2, 3), a(3, 4)
PRECISION = [
    Row(
        "precision.round_to",
        {"x": TERMS, "name": "float16"},
        [SHORT, *of_numbers("x", TERMS)],
        shared=False,
    ),
    Row(
        "precision.rounded_sum",
        {"x": TERMS, "name": "float16"},
        [
            SHORT,
            *of_numbers("x", TERMS),
            *(
                value(
                    f"x must have at least one term on its last axis, got shape {one.shape}", x=one
                )
                for one in (a(2, 0), np.array(1.0))
            ),
        ],
        shared=False,
    ),
    Row(
        "precision.rounded_product",
        {"a": LEFT, "b": RIGHT, "name": "float16"},
        [
            SHORT,
            *of_numbers("a", LEFT),
            *of_numbers("b", RIGHT),
            *(
                value(
                    f"a and b must be (n, m) and (m, l), got {one.shape} and {other.shape}",
                    a=one,
                    b=other,
                )
                for one, other in [(LEFT, LEFT), (a(2, 2, 3), RIGHT), (a(2, 0), a(0, 4))]
            ),
        ],
        shared=False,
    ),
    Row(
        "precision.gamma",
        {"n": 3, "name": "float16"},
        [SHORT, value("n must be at least 0, got -1", n=-1)],
    ),
    Row(
        "precision.soft_cap",
        {"scores": a(2, 3), "cap": 2.0},
        of_positive("cap"),
    ),
]

# --- real models


def safetensors(header: object, body: bytes = b"") -> bytes:
    """A file in this format, whatever its header says."""
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


PAIR = {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]}
NO_HEADER = "content must begin with the length of a JSON object and the object, got "
SYMBOLS = "<pad> <s> </s> <unk> 0 1 2 3 4 5 6 7 8 9 + - * / = . ( ) ^ %   Q R"
REAL = [
    Row(
        "real_models.read_safetensors",
        {"content": safetensors({"w": PAIR}, bytes(8))},
        [
            kind("content must be bytes, got str", content="w"),
            value(NO_HEADER + "8 bytes of a file of 0 that are not", content=b""),
            value(NO_HEADER + "13 bytes of a file of 9 that are not", content=b"\5" + bytes(8)),
            value(NO_HEADER + "11 bytes of a file of 11 that are not", content=safetensors([1])),
            value(
                "dtype of w must be in ['F16', 'F32', 'F64'], got BF16",
                content=safetensors({"w": PAIR | {"dtype": "BF16"}}, bytes(8)),
            ),
            value(
                "w must have 8 bytes for [2, 1], got 7",
                content=safetensors({"w": PAIR}, bytes(7)),
            ),
            value(
                "w must have 12 bytes for [3], got 8",
                content=safetensors({"w": PAIR | {"shape": [3]}}, bytes(20)),
            ),
        ],
    ),
    Row(
        "real_models.load_arithmetic_model",
        {"operation": "-"},
        [
            value(f"operation must be in ['+', '-', '*', '/'], got {one!r}", operation=one)
            for one in ("−", "sub", "")
        ],
    ),
    Row(
        "real_models.encode_symbols",
        {"text": "7-3="},
        [
            value("text must have at least one symbol, got ''", text=""),
            value(f"text must be made of {SYMBOLS}, got '7×3='", text="7×3="),
            value(f"text must be made of {SYMBOLS}, got '<S>7'", text="<S>7"),
        ],
    ),
]

# --- kernels, learning in context

NEAR = {"query": a(3, 4), "key": a(5, 4)}
PROMPT = {"x": a(2, 5, 3), "y": a(2, 5)}
ASKED = {
    **{"query": a(2, 3), "tokens": a(5, 3)},
    **{"w_query": a(3, 4), "w_key": a(3, 4), "w_value": a(3, 2)},
}


def of_kernel() -> list[Wrong]:
    return [
        value("query and key must share d, got (3, 4) and (5, 6)", key=a(5, 6)),
        value(
            "query and key must broadcast together, got (2,) and (7,)",
            query=a(2, 3, 4),
            key=a(7, 5, 4),
        ),
        *of_positive("bandwidth"),
    ]


def of_directions() -> list[Wrong]:
    return [
        value("directions must be (f, 4), got shape (6, 3)", directions=a(6, 3)),
        value("directions must be (f, 4), got shape (2, 6, 4)", directions=a(2, 6, 4)),
        value("directions must be (f, 4), got shape (6, 3)", x=a(2, 5, 4), directions=a(6, 3)),
    ]


def of_examples() -> list[Wrong]:
    shapes = "x and y must share their examples, got (2, 5, 3) and "
    return [value(shapes + str(one.shape), y=one) for one in (a(5), a(2, 4), a(2, 5, 1))]


SHARED = "query, tokens and the rows of all matrices must share d_in, got "
KERNELS = [
    Row("kernels.gaussian_kernel", NEAR, of_kernel(), matrices=("query", "key")),
    Row(
        "kernels.kernel_smoothing",
        NEAR | {"value": a(5, 6)},
        [
            *of_kernel(),
            value(
                "key and value must share their number of tokens, got (5, 4) and (3, 6)",
                value=a(3, 6),
            ),
            kind(MASKED + "list", mask=[[True] * 5] * 3),
            value(
                "weights and value must broadcast together, got (2,) and (7,)",
                query=a(2, 3, 4),
                value=a(7, 5, 6),
            ),
        ],
        matrices=("query", "key", "value"),
    ),
    Row(
        "kernels.positive_features",
        {"x": a(3, 4), "directions": a(6, 4)},
        of_directions(),
        matrices=("x", "directions"),
    ),
    Row(
        "kernels.trigonometric_features",
        {"x": a(3, 4), "directions": a(6, 4)},
        of_directions(),
        matrices=("x", "directions"),
    ),
    Row(
        "in_context.gradient_step",
        PROMPT | {"rate": 0.1},
        [
            *of_examples(),
            *of_positive("rate"),
        ],
        matrices=("x",),
    ),
    Row(
        "in_context.ridge_regression",
        PROMPT | {"strength": 0.1},
        [
            *of_examples(),
            *of_positive("strength"),
        ],
        matrices=("x",),
    ),
    Row(
        "in_context.in_context_layer",
        ASKED,
        [
            value(SHARED + "(2, 4), (5, 3), (3, 4), (3, 4), (3, 2)", query=a(2, 4)),
            value(SHARED + "(2, 3), (5, 2), (3, 4), (3, 4), (3, 2)", tokens=a(5, 2)),
            value(
                SHARED + "(2, 3), (5, 3), (2, 4), (2, 4), (3, 2)", w_query=a(2, 4), w_key=a(2, 4)
            ),
            value(SHARED + "(2, 3), (5, 3), (3, 4), (3, 5), (3, 2)", w_key=a(3, 5)),
            value(SHARED + "(2, 3), (5, 3), (3, 4), (3, 4), (4, 2)", w_value=a(4, 2)),
            value(SHARED + "(2, 3), (5, 3), (3, 4), (3, 4), (3, 3, 2)", w_value=a(3, 3, 2)),
            value(
                "query and tokens must broadcast together, got (2,) and (7,)",
                query=a(2, 2, 3),
                tokens=a(7, 5, 3),
            ),
        ],
        matrices=tuple(ASKED),
    ),
    Row(
        "in_context.step_error",
        {"n": 8, "d": 2, "rate": 0.1},
        [
            value("n and d must be at least 1, got 0 and 2", n=0),
            value("n and d must be at least 1, got 8 and 0", d=0),
        ],
    ),
]

# --- heads of a language model


def gguf(kind: int = 0, version: int = 3, body: int = 128) -> bytes:
    """A file with one tensor w of 4 × 8 numbers."""
    header = b"GGUF" + struct.pack("<IQQ", version, 1, 0)
    header += struct.pack("<Q1sIQQIQ", 1, b"w", 2, 8, 4, kind, 0)
    return header + bytes(-len(header) % 32 + body)


def small_model() -> SmolLM2:
    """30 layers whose heads have one pair of components."""
    sizes = {
        **{"attn_norm": (5,), "ffn_norm": (5,), "attn_q": (5, 18), "attn_k": (5, 6)},
        **{"attn_v": (5, 6), "attn_output": (18, 5), "ffn_gate": (5, 3), "ffn_up": (5, 3)},
        "ffn_down": (3, 5),
    }
    blocks = [{name: a(*size).astype(np.float32) for name, size in sizes.items()}] * 30
    return SmolLM2([], {}, {}, a(4, 5).astype(np.float32), blocks, a(5).astype(np.float32))


SQUARES = "weights must be (..., n, n) with n at least 2, got shape "
REAL_HEADS = [
    Row(
        "gguf.read_gguf",
        {"content": gguf()},
        [
            kind("content must be bytes, got str", content="GGUF"),
            value("content must begin with GGUF, got b'GGML'", content=b"GGML and more"),
            value("the version of the format must be 3, got 2", content=gguf(version=2)),
            value("content must hold a whole header, got 30 bytes", content=gguf()[:30]),
            value(
                "the kind of w must be in {0: 'F32', 3: 'Q4_1', 8: 'Q8_0'}, got 2",
                content=gguf(kind=2),
            ),
            value("w must end within 223 bytes, got 224", content=gguf(body=127)),
        ],
    ),
    Row(
        "gguf.dequantise",
        {"tensor": Quantised((4, 8), "Q4_1", bytes(20))},
        [
            value(
                "kind must be in ['F32', 'Q4_1', 'Q8_0'], got 'Q4_0'",
                tensor=Quantised((4, 8), "Q4_0", bytes(18)),
            ),
            value(
                "Q8_0 needs 34 bytes for (4, 8), got 20",
                tensor=Quantised((4, 8), "Q8_0", bytes(20)),
            ),
        ],
    ),
    Row(
        "smollm2.merge_pairs",
        {"word": "the", "ranks": {("t", "h"): 0}},
        [value("word must have at least one character, got ''", word="")],
    ),
    Row(
        "smollm2.run_model",
        {"ids": whole(1, 3, 0), "model": small_model()},
        [
            value(f"heads must be in 30 layers of 9, got {one}", **{name: [(0, 0), one]})
            for name in ("cut", "watch")
            for one in ((30, 0), (0, 9), (-1, 0))
        ],
    ),
    *(
        Row(
            f"heads.{name}",
            {"weights": a(2, 5, 5), **more},
            [
                *(value(SQUARES + str(size), weights=a(*size)) for size in ((2, 3), (1, 1), (2,))),
                *wrong,
            ],
        )
        for name, more, wrong in (
            ("previous_token_score", {}, []),
            ("first_token_share", {}, []),
            (
                "induction_score",
                {"period": 2},
                [value(f"period must be from 1 to 2, got {one}", period=one) for one in (0, 3)],
            ),
        )
    ),
    Row(
        "heads.copy_loss",
        {"logits": a(5, 3), "ids": whole(0, 1, 2, 1, 2), "period": 2},
        [value(f"period must be from 2 to 2, got {one}", period=one) for one in (1, 3)],
    ),
    Row(
        "heads.load_vectors",
        {"layer": 18, "head": 6},
        [
            value(
                "layer and head must be in ['11.1', '13.8', '16.0', '17.4', '18.6'], got 18.5",
                head=5,
            )
        ],
    ),
]

# --- a reader's own sentence


def onnx(kind: int = 1, size: int = 2, body: int = 8) -> bytes:
    """A file with one tensor w of `size` numbers."""
    tensor = bytes([8, size, 16, kind, 8 << 3 | 2, 1]) + b"w" + bytes([9 << 3 | 2, body])
    tensor += bytes(body)
    graph = bytes([5 << 3 | 2, len(tensor)]) + tensor
    return bytes([7 << 3 | 2, len(graph)]) + graph


def small_encoder() -> MiniLM:
    """6 layers of 12 heads of size 1."""
    d = 12
    table, one = np.ones((3, d), dtype=np.int8), np.ones(d, dtype=np.float32)
    W = np.eye(d, dtype=np.float32)
    block = BlockParameters(Parameters(W, W, W, W, one, one, one, one), W, W, one, one, *[one] * 4)
    ids, scales = {"[CLS]": 0, "a": 1, "[SEP]": 2}, np.ones((3, 1), dtype=np.float32)
    return MiniLM(ids, table, scales, np.ones((9, d), dtype=np.float32), (one, one), [block] * 6)


OWN = [
    Row(
        "minilm.read_onnx",
        {"content": onnx()},
        [
            kind("content must be bytes, got str", content="ONNX"),
            value("content must hold a graph, got 2 bytes without field 7", content=b"\x08\x0a"),
            value("a field must end within its message of 20 bytes, got 21", content=onnx()[:-1]),
            value(
                "a field must end within its message of 1 bytes, got none that does",
                content=b"\x80",
            ),
            value(
                "dtype of w must be in {1: '<f4', 3: '<i1', 7: '<i8', 9: '<?'}, got 10",
                content=onnx(kind=10),
            ),
            value("w must have 12 bytes for (3,), got 8", content=onnx(size=3)),
        ],
    ),
    Row(
        "minilm.split_word",
        {"word": "a", "ids": {"a": 0}},
        [value("word must have at least one character, got ''", word="")],
    ),
    Row(
        "minilm.gelu",
        {"x": a(3)},
        [kind("x must be a NumPy array or a torch tensor, got float", x=1.0)],
    ),
    Row(
        "minilm.read_sentence",
        {"text": "a", "model": small_encoder()},
        [
            value(f"heads must be in 6 layers of 12, got {one}", cut=[(0, 0), one])
            for one in ((6, 0), (0, 12), (-1, 0))
        ],
    ),
    Row(
        "minilm.sentence_vector",
        {"output": a(3, 4)},
        [
            value("output must be (..., n, d) and not empty, got (4,)", output=a(4)),
            value("output must be (..., n, d) and not empty, got (0, 4)", output=a(0, 4)),
        ],
    ),
    Row(
        "minilm.find_pronoun_head",
        {"looks": a(2, 3, 4, 2), "cut": a(3, 4)},
        [
            kind("looks must be a NumPy array or a torch tensor, got list", looks=[0.5]),
            kind("cut must hold real floats, got int64", cut=np.zeros((3, 4), dtype=np.int64)),
            *(
                value(
                    "looks must be (2, layers, heads, 2) and cut (layers, heads), none empty, "
                    f"got {looks} and {cut}",
                    looks=a(*looks),
                    cut=a(*cut),
                )
                for looks, cut in (
                    ((2, 3, 4, 2), (4, 3)),
                    ((3, 3, 4, 2), (3, 4)),
                    ((2, 3, 4, 3), (3, 4)),
                    ((2, 3, 2), (3,)),
                    ((2, 0, 4, 2), (0, 4)),
                )
            ),
        ],
    ),
]

MODELS = [
    *LANGUAGE,
    *CROSS,
    *GENERATION,
    *PIECES,
    *LENGTHS,
    *PRECISION,
    *REAL,
    *KERNELS,
    *REAL_HEADS,
    *OWN,
]
