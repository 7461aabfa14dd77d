"""What every public function refuses: each kind of bad input, the message, and nothing changed.

One row a function: a call that is right, which of its arrays must be matrices, and what else can be
wrong with it. The kinds that all functions share are made from the row.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from attention_docs.multi_head import Parameters
from attention_docs.transformer_block import BlockParameters
from tests.conftest import ROOT, report
from tests.refusals import MASKED, Row, a, at_least_one, kind, value, whole
from tests.refusals_model import MODELS

COIN = {-1: Fraction(1, 2), 1: Fraction(1, 2)}

ATTENTION = {"query": a(2, 3, 4), "key": a(2, 5, 4), "value": a(2, 5, 6)}
PAIR = {"query": a(3, 4), "key": a(5, 4)}
BACK = ATTENTION | {"weights": a(2, 3, 5), "by_output": a(2, 3, 6)}
HEADS = Parameters(a(4, 6), a(4, 6), a(4, 10), a(10, 3))
BLOCK = BlockParameters(
    Parameters(a(4, 4), a(4, 4), a(4, 4), a(4, 4)), a(4, 7), a(7, 4), a(7), a(4), a(4), a(4)
)
SELF = {
    "x": a(3, 4),
    "w_query": a(4, 2),
    "w_key": a(4, 2),
    "w_value": a(4, 5),
    "weights": a(3, 3),
    "by_output": a(3, 5),
}


def heads(**changes: Any) -> Parameters:
    return HEADS._replace(**changes)


TOKENS = {"query": ATTENTION["query"], "key": ATTENTION["key"], "value": a(2, 5, 4)}
ROWS = [
    Row(
        "attention_function.attention",
        ATTENTION,
        [
            value("query and key must share d_k, got (2, 3, 4) and (2, 5, 7)", key=a(2, 5, 7)),
            value(
                "key and value must share their number of tokens, got (2, 5, 4) and (2, 3, 6)",
                value=a(2, 3, 6),
            ),
            value(
                "query and key and value must broadcast together, got (2,) and (2,) and (7,)",
                value=a(7, 5, 6),
            ),
            kind(MASKED + "list", mask=[[True] * 5] * 3),
            kind(MASKED + "float32", mask=np.ones((3, 5), np.float32)),
            value(
                "mask must broadcast to the scores' shape (2, 3, 5), got (4, 2, 3, 5)",
                mask=np.ones((4, 2, 3, 5), bool),
            ),
        ],
        matrices=("query", "key", "value"),
    ),
    Row(
        "attention_function.drop",
        {"weights": a(2, 3), "keep": np.ones((2, 3), bool), "p": 0.5},
        [
            value("p must be at least 0 and below 1, got 1", p=1),
            value("p must be at least 0 and below 1, got -0.1", p=-0.1),
            kind("keep must hold booleans of the weights' library, got list", keep=[[True]]),
            kind("keep must hold booleans of the weights' library, got int64", keep=whole(1, 0, 1)),
            kind(
                "keep must hold booleans of the weights' library, got torch.bool",
                keep=torch.ones(2, 3, dtype=torch.bool),
            ),
            value(
                "keep must broadcast to the weights' shape (2, 3), got (4, 2, 3)",
                keep=np.ones((4, 2, 3), bool),
            ),
        ],
    ),
    *(
        Row(
            f"score_functions.{name}",
            PAIR,
            [
                value("query and key must share d_k, got (3, 4) and (5, 7)", key=a(5, 7)),
                value(
                    "query and key must broadcast together, got (2,) and (3,)",
                    query=a(2, 3, 4),
                    key=a(3, 5, 4),
                ),
            ],
            matrices=("query", "key"),
        )
        for name in ("dot", "scaled_dot", "cosine")
    ),
    Row(
        "score_functions.bilinear",
        {"query": a(3, 4), "key": a(5, 7), "W": a(4, 7)},
        [value("W must have shape (d_q, d_k) = (4, 7), got (7, 4)", W=a(7, 4))],
        matrices=("query", "key"),
    ),
    Row(
        "score_functions.additive",
        {"query": a(3, 4), "key": a(5, 7), "W_q": a(4, 2), "W_k": a(7, 2), "w": a(2)},
        [
            value("w must have shape (d_a,) with d_a at least 1, got (2, 1)", w=a(2, 1)),
            value("w must have shape (d_a,) with d_a at least 1, got (0,)", w=a(0)),
            value("W_q must have shape (d_q, d_a) = (4, 2), got (4, 3)", W_q=a(4, 3)),
            value("W_k must have shape (d_k, d_a) = (7, 2), got (2, 7)", W_k=a(2, 7)),
            value(
                "query and key must broadcast together, got (2,) and (3,)",
                query=a(2, 3, 4),
                key=a(3, 5, 7),
            ),
        ],
        matrices=("query", "key"),
    ),
    Row(
        "softmax.softmax",
        {"scores": a(2, 3)},
        [
            value("axis must name one of 2 axes, got 2", axis=2),
            value("axis must name one of 2 axes, got -3", axis=-3),
            value("softmax needs at least one score, got shape (2, 0)", scores=a(2, 0)),
        ],
    ),
    Row(
        "softmax.tempered_softmax",
        {"scores": a(2, 3), "temperature": 2.0},
        [
            value(f"temperature must be positive and finite, got {tau}", temperature=tau)
            for tau in (0, -1.5, float("inf"), float("nan"))
        ],
    ),
    Row(
        "softmax.softmax_jacobian",
        {"weights": a(2, 3)},
        [
            value(
                "weights must have at least 1 axis (..., n), got shape ()",
                weights=np.array(1.0),
            )
        ],
    ),
    Row(
        "softmax.softmax_gradient",
        {"weights": a(2, 3), "by_weights": a(2, 3)},
        [
            value(
                "weights and by_weights must share a shape (..., n), got (2, 3) and (3,)",
                by_weights=a(3),
            ),
            value(
                "weights and by_weights must share a shape (..., n), got () and ()",
                weights=np.array(1.0),
                by_weights=np.array(1.0),
            ),
        ],
    ),
    Row("softmax.entropy", {"weights": a(2, 3)}),
    Row(
        "masking.apply_mask",
        {"scores": a(2, 3), "mask": np.ones((2, 3), bool)},
        [
            kind(MASKED + "list", mask=[[True]]),
            kind(MASKED + "int64", mask=whole(1, 0, 1)),
            kind(
                "scores and mask must be of one library, got ndarray and Tensor",
                mask=torch.ones(2, 3, dtype=torch.bool),
            ),
            value(
                "mask must broadcast to the scores' shape (2, 3), got (4, 2, 3)",
                mask=np.ones((4, 2, 3), bool),
            ),
        ],
    ),
    Row(
        "masking.causal_mask",
        {"n_query": 2, "n_key": 3},
        [
            *at_least_one(n_query=2, n_key=3),
        ],
    ),
    Row(
        "masking.padding_mask",
        {"lengths": whole(0, 3), "n_key": 3},
        [
            kind("lengths must be an array of integers, got list", lengths=[1]),
            kind("lengths must be an array of integers, got float64", lengths=a(2)),
            value("lengths must be from 0 to 3, got [1, 4]", lengths=whole(1, 4)),
            value("lengths must be from 0 to 3, got [-1]", lengths=whole(-1)),
        ],
    ),
    Row(
        "masking.truncate_and_pad",
        {"sequences": [np.ones((2, 3)), np.ones((4, 3))], "max_length": 1},
        [
            value(
                "wanted at least 1 sequence and a max_length of at least 1, got 0 and 1",
                sequences=[],
            ),
            value(
                "wanted at least 1 sequence and a max_length of at least 1, got 2 and 0",
                max_length=0,
            ),
            value(
                "sequences must differ in their first axis alone, "
                "got (2, 3) of float64 and (2, 4) of int64",
                sequences=[np.ones((2, 3)), np.ones((2, 4), int)],
            ),
        ],
    ),
    Row(
        "matrix_form.column_attention",
        {"query": a(4, 3), "key": a(4, 5), "value": a(6, 5)},
        [
            value("query and key must share d_k, got (4, 3) and (7, 5)", key=a(7, 5)),
            value(
                "key and value must share their number of tokens, got (4, 5) and (6, 3)",
                value=a(6, 3),
            ),
            *(
                value(f"{name} must have 2 axes (d, n), none empty, got {one.shape}", **{name: one})
                for name in ("query", "key", "value")
                for one in (a(2, 4, 5), a(4, 0))
            ),
        ],
    ),
    Row(
        "matrix_form.angles",
        PAIR,
        [
            value(
                "query must have no vector of zeros, got 2 of them",
                query=np.stack([np.zeros((2, 4)), np.ones((2, 4))]),
            ),
            value("key must have no vector of zeros, got 5 of them", key=np.zeros((5, 4))),
        ],
        matrices=("query", "key"),
    ),
    Row(
        "matrix_form.projections",
        PAIR,
        [
            value(
                "query must have no vector of zeros, got 1 of them",
                query=np.stack([np.ones((2, 4)), [[0, 0, 0, 0], [0, 0, 0, 1]]]),
            )
        ],
        matrices=("query", "key"),
    ),
    Row(
        "matrix_form.permutation_matrix",
        {"order": [1, 0]},
        [
            value("order must hold every number from 0 to 0, got []", order=[]),
            value("order must hold every number from 0 to 1, got [1, 1]", order=[1, 1]),
            value("order must hold every number from 0 to 1, got [1, 2]", order=[1, 2]),
        ],
    ),
    Row(
        "multi_head.split_heads",
        {"x": a(3, 6), "num_heads": 2},
        [
            value(
                f"num_heads must divide the last axis, got {n} heads and shape (3, 6)", num_heads=n
            )
            for n in (0, -1, 4)
        ],
        matrices=("x",),
    ),
    Row(
        "multi_head.join_heads",
        {"x": a(2, 3, 4)},
        [
            value(
                "x must have at least 3 axes (..., h, n, d_head), got shape (3, 4)",
                x=a(3, 4),
            )
        ],
        matrices=("x",),
    ),
    Row(
        "multi_head.multi_head_attention",
        TOKENS | {"parameters": HEADS, "num_heads": 2},
        [
            kind(
                "x must be a NumPy array or a torch tensor, got list",
                key=[[1.0]],
            ),
            kind(
                "x and W_v must share a dtype, got float64 and float32",
                parameters=heads(W_v=a(4, 10).astype(np.float32)),
            ),
            value("W_k must have 4 rows, got shape (5, 6)", parameters=heads(W_k=a(5, 6))),
            value(
                "num_heads must divide the last axis, got 4 heads and shape (2, 3, 6)",
                num_heads=4,
            ),
            value(
                "b_q must have shape (6,), got (5,)",
                parameters=heads(b_q=a(5)),
            ),
            kind(MASKED + "list", mask=[[True] * 5] * 3),
            value(
                "mask must have 2 axes (n_q, n_k) or 4 (..., heads, n_q, n_k), got shape (2, 3, 5)",
                mask=np.ones((2, 3, 5), bool),
            ),
        ],
        matrices=("query", "key", "value"),
        called={"query": "x", "key": "x", "value": "x"},
        alone=("query", "key", "value"),
    ),
    Row(
        "multi_head.linear",
        {"name": "q", "x": a(3, 4), "W": a(4, 5), "b": a(5)},
        [
            value("W_q must have 4 rows, got shape (5, 4)", W=a(5, 4)),
            value("W_q must have 4 rows, got shape (4,)", W=a(4)),
            value("b_q must have shape (5,), got (1, 5)", b=a(1, 5)),
        ],
        matrices=("x",),
        called={"W": "W_q", "b": "b_q"},
    ),
    Row(
        "multi_head.parameter_count",
        {"d_model": 12, "num_heads": 4},
        [
            value("num_heads must divide d_model, got 5 and 12", num_heads=5),
            value("num_heads must divide d_model, got 0 and 12", num_heads=0),
            value("num_heads must divide d_model, got 4 and 0", d_model=0),
            value("d_head must be at least 1, got 0", d_head=0),
            value("kv_heads must divide num_heads, got 3 and 4", kv_heads=3),
            value("kv_heads must divide num_heads, got 0 and 4", kv_heads=0),
        ],
    ),
    *(
        Row(
            f"positions.{name}",
            good,
            [
                *(
                    value(
                        f"d must be even and at least 2, since components come in pairs, got {d}",
                        d=d,
                    )
                    for d in (0, 5, -2)
                ),
                value("base must be positive, got 0", base=0),
                value("base must be positive, got -1", base=-1),
            ],
        )
        for name, good in [
            ("frequencies", {"d": 4}),
            ("sinusoids", {"positions": a(3), "d": 4}),
            ("rotation", {"offset": 1.5, "d": 4}),
        ]
    ),
    Row(
        "positions.rope",
        {"x": a(2, 3, 4), "positions": a(3)},
        [
            value(
                "d must be even and at least 2, since components come in pairs, got 5",
                x=a(3, 5),
            ),
            value("base must be positive, got 0", base=0),
            value("pairing must be 'interleaved' or 'half-split', got 'halves'", pairing="halves"),
            value("positions and x must broadcast together, got (4,) and (2, 3)", positions=a(4)),
            value("positions must broadcast to (2, 3), got (5, 2, 3)", positions=a(5, 2, 3)),
            kind(
                "x and positions must be of one library, got ndarray and Tensor",
                positions=torch.ones(3),
            ),
        ],
        matrices=("x",),
        alone=("x", "positions"),
    ),
    Row(
        "positions.learned",
        {"table": a(3, 2), "positions": [0, 2]},
        [
            value("table must be a matrix (n_max, d), got shape (2, 3, 2)", table=a(2, 3, 2)),
            *(
                value(
                    f"positions must be from 0 to 2, one for each row of the table, got {t}",
                    positions=[0, t],
                )
                for t in (3, -1)
            ),
        ],
        matrices=("table",),
    ),
    Row(
        "eight_steps.weighted_values",
        {"weights": a(2, 3), "value": a(3, 5)},
        [
            value(
                "weights and value must share their number of keys, got (2, 3) and (4, 5)",
                value=a(4, 5),
            ),
            value(
                "weights and value must broadcast together, got (2,) and (5,)",
                weights=a(2, 4, 3),
                value=a(5, 3, 7),
            ),
        ],
        matrices=("weights", "value"),
    ),
    Row(
        "eight_steps.round_weights",
        {"weights": np.array([0.25, 0.75])},
        [
            value(
                "weights must be at least 0 and each row must sum to 1, "
                "got a smallest weight of -0.5 and sums of 1.0",
                weights=np.array([-0.5, 1.5]),
            ),
            value(
                "weights must be at least 0 and each row must sum to 1, "
                "got a smallest weight of 0.5 and sums of [1.  1.5]",
                weights=np.array([[0.5, 0.5], [0.5, 1.0]]),
            ),
        ],
        shared=False,
    ),
    Row(
        "learning.entry_variance",
        {"rule": "lecun", "d_in": 2, "d_out": 3},
        [
            *at_least_one(d_in=2, d_out=3),
            value("rule must be 'lecun', 'kaiming' or 'xavier', got 'he'", rule="he"),
        ],
    ),
    Row(
        "learning.attention_backward",
        BACK,
        [
            value("query and key must share d_k, got (2, 3, 4) and (2, 5, 7)", key=a(2, 5, 7)),
            value(
                "key and value must share their number of tokens, got (2, 5, 4) and (2, 7, 6)",
                value=a(2, 7, 6),
            ),
            value("weights must have the shape (2, 3, 5), got (3, 5)", weights=a(3, 5)),
            value("by_output must have the shape (2, 3, 6), got (2, 3, 5)", by_output=a(2, 3, 5)),
            value("query and key must broadcast together, got (2,) and (7,)", key=a(7, 5, 4)),
            value("weights and value must broadcast together, got (2,) and (7,)", value=a(7, 5, 6)),
        ],
        matrices=tuple(BACK),
    ),
    Row(
        "learning.self_attention_backward",
        SELF,
        [
            *(
                value(f"x and {name} must share d_model, got (3, 4) and (7, 2)", **{name: a(7, 2)})
                for name in ("w_query", "w_key", "w_value")
            ),
            *(
                value(
                    f"x and {name} must broadcast together, got (2,) and (3,)",
                    x=a(2, 3, 4),
                    **{name: a(3, 4, 2)},
                )
                for name in ("w_query", "w_key", "w_value")
            ),
            kind("weights must hold real floats, got int64", weights=np.ones((3, 3), int)),
            value("weights must have the shape (3, 3), got (3, 4)", weights=a(3, 4)),
        ],
        matrices=("x", "w_query", "w_key", "w_value"),
        alone=("weights", "by_output"),
    ),
    Row(
        "learning.finite_differences",
        {"function": float, "at": np.array(2.0), "step": 0.5},
        [value(f"step must be positive, got {h}", step=h) for h in (0, -1, float("nan"))],
        shared=False,
    ),
    Row(
        "sequences.windows",
        {"inputs": a(3, 2), "k": 3},
        [value(f"k must be odd and at least 1, got {k}", k=k) for k in (0, -1, 2)],
        matrices=("inputs",),
    ),
    Row(
        "sequences.window_layer",
        {"inputs": a(5, 2), "parameters": a(6, 3)},
        [
            value(
                f"parameters must be (k·2, d_out) with k odd, got shape {one.shape}",
                parameters=one,
            )
            for one in (a(4, 3), a(5, 3), a(2, 2, 3))
        ],
        matrices=("inputs", "parameters"),
    ),
    Row(
        "sequences.weights_of",
        {"point": np.array([2.0, 1.0]), "corners": np.array([[0.0, 0], [4, 0], [0, 4]])},
        [
            value(
                "corners must be (d + 1, d) for a point (d,), got (4, 2) and (2,)",
                corners=a(4, 2),
            ),
            value(
                "corners must be (d + 1, d) for a point (d,), got (3, 2) and (1, 2)",
                point=a(1, 2),
            ),
            value(
                "corners must not lie in one line or plane, "
                "got [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]",
                corners=np.array([[0.0, 0], [1, 2], [2, 4]]),
            ),
        ],
        shared=False,
    ),
    Row(
        "transformer_block.embed",
        {"ids": whole(0, 2), "table": a(3, 4), "positions": a(5, 4)},
        [
            kind("ids must hold integers of the table's library, got list", ids=[0]),
            kind("ids must hold integers of the table's library, got float64", ids=a(2)),
            kind(
                "ids must hold integers of the table's library, got torch.int64",
                ids=torch.tensor([0]),
            ),
            *(
                value(
                    "table must be (vocabulary, d_model) and ids (..., n) with n at least 1, "
                    f"got {table.shape} and {ids.shape}",
                    table=table,
                    ids=ids,
                )
                for table, ids in [
                    (a(2, 3, 4), whole(0)),
                    (a(3, 4), np.array(0)),
                    (a(3, 4), np.ones((2, 0), int)),
                ]
            ),
            value("ids must be from 0 to 2, got [0, 3]", ids=whole(0, 3)),
            value("ids must be from 0 to 2, got [-1]", ids=whole(-1)),
            *(
                value(
                    f"positions must be (n_max, 4) with n_max at least 2, got {one.shape}",
                    positions=one,
                )
                for one in (a(1, 4), a(5, 3), a(4), a(2, 5, 4))
            ),
        ],
        matrices=("table",),
    ),
    Row(
        "transformer_block.layer_norm",
        {"x": a(2, 3), "gamma": a(3), "beta": a(3)},
        [
            value(
                "x must have a last axis that is not empty, got shape ()",
                x=np.array(1.0),
            ),
            value("x must have a last axis that is not empty, got shape (2, 0)", x=a(2, 0)),
            value("gamma must have shape (3,), got (2,)", gamma=a(2)),
            value("beta must have shape (3,), got (1, 3)", beta=a(1, 3)),
            value("eps must be at least 0, got -0.1", eps=-0.1),
            value("eps must be at least 0, got nan", eps=float("nan")),
        ],
    ),
    Row(
        "transformer_block.layer_norm_gradient",
        {"x": a(2, 3), "by_output": a(2, 3)},
        [
            value("by_output must have the shape (2, 3), got (3,)", by_output=a(3)),
            value("eps must be at least 0, got -1", eps=-1),
        ],
    ),
    Row("transformer_block.relu", {"x": a(2, 3)}),
    Row("transformer_block.silu", {"x": a(2, 3)}),
    Row(
        "transformer_block.rms_norm",
        {"x": a(2, 3), "gamma": a(3)},
        [
            value("x must have a last axis that is not empty, got shape ()", x=np.array(1.0)),
            value("x must have a last axis that is not empty, got shape (2, 0)", x=a(2, 0)),
            value("gamma must have shape (3,), got (2,)", gamma=a(2)),
            value("eps must be at least 0, got -0.1", eps=-0.1),
            value("eps must be at least 0, got nan", eps=float("nan")),
        ],
    ),
    Row(
        "transformer_block.swiglu",
        {"x": a(2, 3), "W_gate": a(3, 5), "W_up": a(3, 5), "W_down": a(5, 4)},
        [
            value("W_gate must have 3 rows, got shape (5, 3)", W_gate=a(5, 3)),
            value("W_up must have 3 rows, got shape (2, 5)", W_up=a(2, 5)),
            value("W_gate and W_up must share a shape, got (3, 5) and (3, 1)", W_up=a(3, 1)),
            value("W_down must have 5 rows, got shape (4, 5)", W_down=a(4, 5)),
        ],
        matrices=("x",),
        alone=("W_down",),
    ),
    Row(
        "transformer_block.feed_forward",
        {"x": a(2, 3), "W_1": a(3, 5), "W_2": a(5, 3), "b_1": a(5), "b_2": a(3)},
        [
            value("W_1 must have 3 rows, got shape (5, 3)", W_1=a(5, 3)),
            value("W_2 must have 5 rows, got shape (3, 5)", W_2=a(3, 5)),
            value("b_1 must have shape (5,), got (3,)", b_1=a(3)),
            value("b_2 must have shape (3,), got (5,)", b_2=a(5)),
        ],
        matrices=("x",),
        alone=("W_2", "b_2"),
    ),
    Row(
        "transformer_block.encoder_block",
        {"x": a(3, 4), "parameters": BLOCK, "num_heads": 2},
        [
            value(
                "attention must give back the shape (3, 4), got (3, 5)",
                parameters=BLOCK._replace(attention=BLOCK.attention._replace(W_o=a(4, 5))),
            ),
            value(
                "the feed-forward network must give back the shape (3, 4), got (3, 5)",
                parameters=BLOCK._replace(W_2=a(7, 5), b_2=None),
            ),
            value("num_heads must divide the last axis, got 3 heads and shape (3, 4)", num_heads=3),
            value("gamma must have shape (4,), got (3,)", parameters=BLOCK._replace(gamma_1=a(3))),
            kind(MASKED + "list", mask=[[True] * 3] * 3),
        ],
        matrices=("x",),
    ),
    Row(
        "transformer_block.block_parameter_count",
        {"d_model": 4, "d_ff": 5},
        [
            *at_least_one(d_model=4, d_ff=5),
        ],
    ),
    Row(
        "transformer_block.block_flops",
        {"n": 3, "d_model": 4, "d_ff": 5},
        [
            *at_least_one(n=3, d_model=4, d_ff=5),
        ],
    ),
    Row(
        "scaling.vectors",
        {"component": COIN, "d_k": 2},
        [
            value("d_k must be at least 1, got 0", d_k=0),
            value(
                "probabilities must sum to 1, got 3/4",
                component={0: Fraction(1, 4), 1: Fraction(1, 2)},
            ),
        ],
    ),
    Row(
        "scaling.dot_distribution",
        {"queries": [((1, 2), Fraction(1))], "keys": [((3, 4), Fraction(1))]},
        [value("query and key must share d_k, got 2 and 1", keys=[((3,), Fraction(1))])],
    ),
    *(
        Row(
            f"scaling.{name}",
            {"samples": np.array([1.0, 2.0])},
            [
                value(f"samples must be a vector of at least 2, got shape {one.shape}", samples=one)
                for one in (a(1), a(2, 3))
            ],
            shared=False,
        )
        for name in ("mean_interval", "variance_interval")
    ),
    Row(
        "nn.MultiHeadAttention",
        {"d_model": 6, "num_heads": 3},
        [
            value("num_heads must divide d_model, got 4 and 6", num_heads=4),
            value("num_heads must divide d_model, got 0 and 6", num_heads=0),
            value("num_heads must divide d_model, got 3 and 0", d_model=0),
        ],
    ),
    Row(
        "nn.TransformerEncoderLayer",
        {"d_model": 6, "num_heads": 3, "d_ff": 1},
        [
            value("num_heads must divide d_model, got 4 and 6", num_heads=4),
            value("d_ff must be at least 1, got 0", d_ff=0),
            value(
                "activation must be a function or one of ['relu', 'gelu'], got 'tanh'",
                activation="tanh",
            ),
        ],
    ),
    *MODELS,
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_bad_input_is_refused(row: Row) -> None:
    """Wanted and got, as the message says it; and no argument has been touched."""
    assert not (names := find_unknown_names(row)), (
        f"{row.name} has no argument {', '.join(names)}: rename it in its row in this file, "
        "or in tests/refusals_model.py"
    )
    cases = list(row.cases())
    assert cases
    report(fault for case in cases for fault in faults_of(row, *case))


def find_unknown_names(row: Row) -> list[str]:
    """What a row calls otherwise than its function: told once, and not with each of its cases."""
    parameters = inspect.signature(row.function).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return []
    given = set(row.good).union(*(changes for changes, _, _ in row.cases()))
    return sorted(given - {one.name for one in parameters})


def faults_of(
    row: Row, changes: dict[str, Any], error: type[Exception], message: str
) -> Iterator[str]:
    """What is wrong with how a function refuses some arguments."""
    given = row.good | changes
    before = copy.deepcopy(given)
    wanted = f"{error.__name__}: {message}"
    try:
        row.function(**given)
        got = "no error"
    except Exception as caught:
        got = f"{type(caught).__name__}: {caught}"
    if got != wanted:
        yield f"{row.name} with another {', '.join(changes)}: wanted {wanted!r}, got {got!r}"
    if _plain(given) != _plain(before):
        yield f"{row.name} with another {', '.join(changes)} changed its arguments"


@pytest.mark.parametrize(
    ("function", "messages"),
    [
        (lambda x: None, ["toy.toy with another x: wanted 'ValueError: x', got 'no error'"]),
        (lambda x: int("a"), ["wanted 'ValueError: x', got \"ValueError: invalid"]),
        (lambda x: next(iter(())), ["wanted 'ValueError: x', got 'StopIteration: '"]),
        (lambda x: x.append(1), ["got 'no error'", "toy.toy with another x changed"]),
    ],
)
def test_another_refusal_is_seen(
    function: Any, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Row, "function", property(lambda row: function))
    found = [*faults_of(Row("toy.toy", {"x": [0]}), {"x": [1]}, ValueError, "x")]
    assert len(found) == len(messages)
    assert all(one in fault for one, fault in zip(messages, found, strict=True))


def test_a_renamed_argument_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Row("toy.toy", {"x": 0}, [value("x", x=1), value("y", x=2)])
    monkeypatch.setattr(Row, "function", property(lambda row: lambda z: None))
    with pytest.raises(AssertionError, match=r"^toy\.toy has no argument x: rename it"):
        test_bad_input_is_refused(row)
    monkeypatch.setattr(Row, "function", property(lambda row: lambda **given: None))
    assert not find_unknown_names(row)


def _plain(given: dict[str, Any]) -> list[str]:
    with np.printoptions(floatmode="unique", threshold=10_000):
        return [repr(one) for one in given.values()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_good_input_is_taken_and_left_alone(row: Row) -> None:
    """Or the table would show nothing."""
    before = copy.deepcopy(row.good)
    row.function(**row.good)
    np.testing.assert_equal(_plain(row.good), _plain(before))


def list_public(module: str) -> list[str]:
    """The functions of a module, and the classes that say what they raise."""
    tree = ast.parse((ROOT / "attention_docs" / module).read_text("utf-8"))
    inner = "nn" if module.startswith("nn/") else module.removesuffix(".py")
    return [
        f"{inner}.{node.name}"
        for node in tree.body
        if not getattr(node, "name", "_").startswith("_")
        and (
            isinstance(node, ast.FunctionDef)
            or (isinstance(node, ast.ClassDef) and "Raises:" in (ast.get_docstring(node) or ""))
        )
    ]


ELSEWHERE = {"checks", "text"}  # these have tests of their own
REFUSE_NOTHING = {
    "heads.load_measurements",
    "language_model.convert",
    "language_model.parameter_arrays",
    "scaling.dot_variance",
    "scaling.equally_likely",
    "scaling.mean_and_variance",
    "scaling.polynomial_text",
    "scaling.symbolic_variance",
    "sequences.attention_parameters",
    "sequences.window_parameters",
    "minilm.load_minilm",  # it needs files of 23 MB: tests/test_minilm.py
    "minilm.load_pronoun",
    "minilm.split_words",
    "minilm.tokenize",
    "smollm2.byte_characters",
    "smollm2.decode_ids",
    "smollm2.encode_text",
    "smollm2.load_smollm2",  # it needs a file of 98 MB: tests/test_heads.py
}


def test_every_public_function_is_in_the_table() -> None:
    package = ROOT / "attention_docs"
    files = [*package.glob("*.py"), *package.glob("nn/*.py")]
    modules = [path.relative_to(package).as_posix() for path in sorted(files)]
    found = {
        name
        for module in modules
        if not module.endswith(("__init__.py", "verify.py"))
        for name in list_public(module)
    }
    found = {name for name in found if name.split(".")[0] not in ELSEWHERE}
    rows = {row.name for row in ROWS}
    report(
        [
            *(
                f"attention_docs.{name}: no test says what it refuses. Add "
                f'Row("{name}", {{right arguments}}, [what it refuses]) to ROWS in '
                "tests/test_refusals.py or tests/refusals_model.py; if it takes "
                "whatever its types allow, add its name to REFUSE_NOTHING"
                for name in sorted(found - rows - REFUSE_NOTHING)
            ),
            *(f"{name} has a row: take it out of REFUSE_NOTHING" for name in rows & REFUSE_NOTHING),
            *(
                f"{name} is no public function: take it out of tests/test_refusals.py"
                for name in sorted((rows | REFUSE_NOTHING) - found)
            ),
        ]
    )
