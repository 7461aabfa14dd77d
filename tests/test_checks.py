"""Conditions that no signature says: each function tells of each, and has done nothing before."""

from __future__ import annotations

import importlib
import inspect
from fractions import Fraction
from math import inf, nan  # noqa: F401  rows below name it
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import MultiheadAttention

from attention_docs import nn
from attention_docs.checks import check_mask, fits, in_range, requires
from attention_docs.generation import Configuration
from attention_docs.gguf import Quantised  # noqa: F401  rows below name it
from attention_docs.language_model import LanguageModel
from attention_docs.memory import State  # noqa: F401  rows below name it
from attention_docs.minilm import MiniLM
from attention_docs.multi_head import Parameters
from attention_docs.smollm2 import SmolLM2
from attention_docs.transformer_block import BlockParameters
from tests.refusals import Refusal, read_refusals
from tests.test_signatures import list_functions


def ones(*sizes: int) -> np.ndarray:
    return np.ones(sizes)


def whole(*values: int) -> np.ndarray:
    return np.array(values)


def square(d: int) -> Parameters:
    return Parameters(ones(d, d), ones(d, d), ones(d, d), ones(d, d))


HIDE = {"ids": np.array([1, 2]), "uniforms": ones(2) / 2, "mask_id": 9, "words": 5}
SEEN = {"prior": ones(2) / 2, "shown": 0}
MODEL = LanguageModel(ones(5, 4), ones(6, 4), (square(4),) * 2, ones(4, 5), 2, None, tuple("abcde"))
BLOCK = BlockParameters(square(4), ones(4, 7), ones(7, 4))
TINY = Configuration("tiny", layers=3, heads=4, kv_heads=2, d_head=5)
HALF, WHOLE = [Fraction(1, 2), Fraction(1, 2)], [Fraction(1), Fraction(1)]
COIN = {-1: Fraction(1, 2), 1: Fraction(1, 2)}
PAIR = {"query": ones(3, 4), "key": ones(5, 4)}
TRIPLE = PAIR | {"value": ones(5, 6)}
BACK = TRIPLE | {"weights": ones(3, 5), "by_output": ones(3, 6)}
SPOKEN = {"drafted": [0], "drafts": [HALF], "targets": [HALF, HALF], "chances": [0.5, 0.5]}
CUT = {"query": ones(3, 4), "key": ones(5, 4), "value": ones(5, 6), "size": 2}
WINDOWED = TINY._replace(windowed=4, window=1)
EMPTY: Any = None
SMALL = SmolLM2([], {}, {}, ones(4, 5), [], ones(5))
MINI = MiniLM({}, whole(1)[None], ones(1, 1), ones(512, 1), (ones(1), ones(1)), [])
ENCODER = {"d_model": 6, "num_heads": 3}
REFUSED = """
attention_function.drop(weights=ones(2, 3), keep=ones(2, 3) > 0, p=1) →
    p must be at least 0 and below 1, got 1
attention_function.drop(weights=ones(2, 3), keep=ones(4, 2, 3) > 0, p=0.5) →
    keep must broadcast to the weights' shape (2, 3), got (4, 2, 3)
batches.pad(sequences=[]) → wanted at least one sequence, and none of them empty, got []
batches.pad(sequences=[whole(3)], side="top") → side must be 'left' or 'right', …
batches.pack(sequences=[whole(3), whole()]) →
    wanted at least one sequence, and none of them empty, got …
batches.segment_mask(segments=whole(1, -2)) → segments must not be negative, got -2
batches.segment_positions(segments=whole(1, -2)) → segments must not be negative, got -2
batches.loss_rows(segments=whole(1, -2)) → segments must not be negative, got -2
batches.cumulative_lengths(segments=whole(0, 1, 1)) →
    segments must be those of packed texts, 1 to their number in order, got …
batches.cumulative_lengths(segments=whole(1, 3)) →
    segments must be those of packed texts, 1 to their number in order, got …
batches.cumulative_lengths(segments=whole(2, 2)) →
    segments must be those of packed texts, 1 to their number in order, got …
batches.cumulative_lengths(segments=whole(1, 2, 1)) →
    segments must be those of packed texts, 1 to their number in order, got …
cross_attention.cross_attention_flops(n_query=1, n_key=2, d_model=3, steps=0) →
    n_query, n_key, d_model and steps must be at least 1, got 1 and 2 and 3 and 0
eight_steps.round_weights(weights=np.array([0.5, 0.75])) →
    weights must be at least 0 … got a smallest weight of 0.5 and sums of 1.25
eight_steps.round_weights(weights=np.array([-0.25, 1.25])) →
    weights must be at least 0 … got a smallest weight of -0.25 and sums of 1.0
encoders.mask_words(**HIDE | dict(uniforms=np.array([0.5, 1.0]))) →
    uniforms must be at least 0 and below 1, got [0.5, 1.0]
encoders.mask_words(**HIDE | dict(uniforms=ones(2, 2) / 2)) →
    uniforms must have the shape of ids, got (2, 2) and (2,)
encoders.mask_words(**HIDE | dict(share=0.0)) → share must be above 0 and at most 1, got 0.0
encoders.mask_words(**HIDE | dict(words=0)) → words must be at least 1, got 0
encoders.visible_word(**SEEN | dict(keep=-0.1)) → keep must be at least 0, got -0.1
encoders.visible_word(**SEEN | dict(swap=0.0)) → swap must be above 0, got 0.0
encoders.visible_word(**SEEN | dict(prior=np.array([0.5, 0.75]))) →
    prior must hold probabilities that sum to 1, got [0.5, 0.75]
encoders.visible_word(**SEEN | dict(shown=2)) → shown must be from 0 to 1, got 2
encoders.encode(ids=whole(0, 4), model=MODEL) →
    the blocks of model must be whole, BlockParameters, got Parameters
encoders.encode(ids=whole(0, 5), model=MODEL._replace(blocks=())) →
    ids must be from 0 to 4, got [0, 5]
encoders.batch_norm(x=ones(2, 3), eps=-1.0) → eps must be at least 0, got -1.0
encoders.batch_norm(x=ones(2, 3), mean=ones(3)) →
    mean and variance must come together, got one of them
encoders.batch_norm(x=ones(2, 3), variance=ones(3)) →
    mean and variance must come together, got one of them
encoders.batch_norm(x=ones(2, 2), mean=ones(2), variance=np.array([1.0, -1.0])) →
    variance must not be negative, got [1.0, -1.0]
encoders.cut_patches(image=ones(4, 6), size=4) →
    size must be at least 1 and divide height and width, got 4, 4 and 6
encoders.resize_positions(table=ones(2, 3, 4), rows=0, columns=5) →
    rows and columns must be at least 1, got 0 and 5
generation.acceptance(target=HALF, draft=[0.5, 0.75]) →
    target and draft must be probabilities of one vocabulary that sum to 1, got [Fraction(1, 2),
    Fraction(1, 2)] and [0.5, 0.75]
generation.acceptance(target=[], draft=[]) →
    target and draft must be probabilities of one vocabulary that sum to 1, got [] and []
generation.acceptance(target=HALF, draft=[1]) →
    target and draft must be probabilities of one vocabulary that sum to 1, got [Fraction(1, 2),
    Fraction(1, 2)] and [1]
generation.acceptance(target=[nan, 0.5], draft=[0.5, 0.5]) →
    target and draft must be probabilities of one vocabulary that sum to 1, got [nan, 0.5] and [0.5,
    0.5]
generation.residual(target=[1.5, -0.5], draft=[1.0, 0.0]) →
    target and draft must be probabilities of one vocabulary that sum to 1, got [1.5, -0.5] and
    [1.0, 0.0]
generation.window_mask(n_query=2, window=0) → window must be at least 1, the query's own key, got 0
generation.cached_block(x=ones(1, 4),
    parameters=BLOCK._replace(attention=square(4)._replace(W_k=ones(4, 3))), num_heads=2) →
    the columns of W_k must be heads of the size of those of W_q, got shapes (4, 3) and (4, 4)
generation.grouped_attention(query=ones(4, 3, 2), key=ones(3, 5, 2), value=ones(3, 5, 2)) →
    the number of key/value heads must divide that of the query heads, got 3 and 4
generation.grouped_attention(query=ones(4, 3, 2), key=ones(2, 5, 2), value=ones(2, 5, 2),
    mask=ones(2, 3, 5) > 0) →
    mask must have 1 or 4 heads, got shape (2, 3, 5)
generation.decode_flops(n=0, d_model=2, d_ff=3) →
    n, d_model and d_ff must be at least 1, got 0 and 2 and 3
generation.cache_bytes(model=TINY, n=5, bytes_per_number=0) →
    bytes_per_number must be at least 1, got 0
generation.step_flops(model=TINY, n=0) →
    n, layers, heads, kv_heads and d_head must be at least 1, got 0, 3, 4, 2 and 5
generation.step_flops(model=TINY._replace(kv_heads=3), n=5) →
    the number of key/value heads must divide that of the query heads, got 3 and 4
generation.step_flops(model=TINY._replace(position=1), n=5) →
    latent and position must not be negative, … got 0 and 1
generation.step_flops(model=TINY._replace(latent=-1), n=5) →
    latent and position must not be negative, … got -1 and 0
generation.step_flops(model=WINDOWED, n=5) →
    wanted 0 to 3 layers with a window of at least 1, got 4 with 1
generation.step_flops(model=TINY._replace(windowed=1), n=5) →
    wanted 0 to 3 layers with a window of at least 1, got 1 with 0
generation.beam_search(following=lambda ids: [1], width=0, most=2) →
    width and most must be at least 1, got 0 and 2
generation.beam_search(following=lambda ids: [1], width=1, most=2, alpha=-1) →
    alpha must be at least 0, got -1
generation.speculate(**SPOKEN | dict(targets=[HALF])) → for 1 drafted tokens: …, got 1, 1 and 2
generation.speculate(**SPOKEN | dict(chances=[0.5, 1])) →
    chances must be at least 0 and below 1, got [0.5, 1]
generation.speculate(**SPOKEN | dict(drafts=[[1, 1]], targets=[[1, 0]] * 2)) →
    drafts and targets must be probabilities … got [[1, 1]] and [[1, 0], [1, 0]]
generation.speculate(**SPOKEN | dict(drafted=[2])) → drafted tokens must be from 0 to 1, got [2]
generation.expected_tokens(accepted=1.5, k=3) → wanted 0 ≤ α ≤ 1 and k ≥ 0, got 1.5 and 3
generation.expected_tokens(accepted=0.5, k=-1) → wanted 0 ≤ α ≤ 1 and k ≥ 0, got 0.5 and -1
gguf.dequantise(tensor=Quantised((4, 8), "Q4_0", bytes(18))) →
    kind must be in ['F32', 'Q4_1', 'Q8_0'], got 'Q4_0'
gguf.dequantise(tensor=Quantised((4, 8), "Q8_0", bytes(20))) →
    Q8_0 needs 34 bytes for (4, 8), got 20
heads.previous_token_score(weights=ones(1, 1)) → weights must be of at least 2 tokens, got 1
heads.first_token_share(weights=ones(1, 1)) → weights must be of at least 2 tokens, got 1
heads.induction_score(weights=ones(4, 4), period=3) → period must be from 1 to 2, got 3
heads.copy_loss(logits=ones(4, 3), ids=whole(0, 1, 0, 1), period=1) →
    period must be from 2 to 2, got 1
in_context.gradient_step(x=ones(5, 2), y=ones(5), rate=0.0) →
    rate must be positive and finite, got 0.0
in_context.ridge_regression(x=ones(5, 2), y=ones(5), strength=inf) →
    strength must be positive and finite, got inf
in_context.step_error(n=0, d=2, rate=1) → n and d must be at least 1, got 0 and 2
in_pieces.attention_in_pieces(**CUT | dict(size=0)) → size must be at least 1 key, got 0
in_pieces.attention_in_pieces(**CUT | dict(mask=ones(3, 1) > 0)) →
    mask must have one column for each of 5 keys and 1 or 3 rows, got (3, 1)
in_pieces.backward_in_pieces(**CUT | dict(by_output=ones(3, 6), forward=EMPTY, size=0)) →
    size must be at least 1 key, got 0
in_pieces.backward_in_pieces(**CUT | dict(by_output=ones(3, 6), forward=EMPTY, mask=ones(3, 1) > 0))
    →
    mask must have one column for each of 5 keys and 1 or 3 rows, got (3, 1)
in_pieces.plain_traffic(n=0, d=2) → n and d must be at least 1, got 0 and 2
in_pieces.tiled_traffic(n=8, d=2, rows=0) → n, d and rows must be at least 1, got 8 and 2 and 0
memory.linear_attention(**TRIPLE | dict(mask=ones(4, 5) > 0)) →
    mask must … got (4, 5) for query (3, 4) and key (5, 4)
memory.linear_attention(**TRIPLE | dict(query=-ones(3, 4))) →
    the weights of every query must sum to a positive number, got -20.0
memory.read_state(query=ones(1, 2), state=State(ones(2, 3), -ones(2))) →
    the weights of every query must sum to a positive number, got -2.0
memory.update_by_delta_rule(key=ones(2, 3), value=ones(2, 4), rate=nan) →
    rate must be positive and finite, got nan
kernels.gaussian_kernel(**PAIR | dict(bandwidth=-1)) → bandwidth must be positive and finite, got -1
kernels.kernel_smoothing(**TRIPLE | dict(bandwidth=0)) →
    bandwidth must be positive and finite, got 0
language_model.cross_entropy(logits=ones(2, 3), targets=whole(0, 3)) →
    targets must be from 0 to 2, got [0, 3]
language_model.cross_entropy_gradient(logits=ones(2, 3), targets=whole(-1, 0)) →
    targets must be from 0 to 2, got [-1, 0]
language_model.token_distribution(logits=ones(2, 3), top_k=4) → top_k must be from 1 to 3, got 4
language_model.token_distribution(logits=ones(2, 3), top_k=0) → top_k must be from 1 to 3, got 0
language_model.token_distribution(logits=ones(2, 3), top_p=1.5) →
    top_p must be above 0 and at most 1, got 1.5
language_model.sample(probabilities=ones(1, 1), uniform=ones(1)) →
    uniform must be from 0 to below 1, got [1.0]
language_model.sample(probabilities=np.array([1.5, -0.5]), uniform=np.array(0.0)) →
    probabilities must be at least 0, got one below 0 or NaN
language_model.sample(probabilities=ones(2, 3), uniform=np.zeros(2)) →
    probabilities must sum to 1, got [3.0, 3.0]
language_model.generate(ids=whole(0, 1)[None], model=MODEL, uniforms=np.zeros((1, 2)),
    segments=whole(1, 0)[None]) →
    the last token of each row must be no padding, since the next one is read there: pad on the
    left, got segments that end in [0]
language_model.generate(ids=whole(0, 1), model=MODEL, uniforms=np.zeros(5)) →
    the model takes at most 6 tokens, got 7
language_model.without_head(model=MODEL, block=2, head=0) →
    wanted a block below 2 and a head below 2, got 2 and 0
language_model.without_head(model=MODEL, block=1, head=-1) →
    wanted a block below 2 and a head below 2, got 1 and -1
language_model.to_json(model=MODEL, digits=0) → digits must be at least 1, got 0
language_model.to_json(model=MODEL._replace(gamma=np.full(4, nan))) →
    parameters must be finite, got NaN or an infinite one
language_model.from_json(text="{") → wanted the JSON of a model, got something else: Expecting …
language_model.from_json(text="{}") → wanted the JSON of a model, got something else: 'blocks'
language_model.token_ids(words="a z y", model=MODEL) → wanted words out of: a b c d e; got a z y
language_model.token_ids(words="", model=MODEL) → wanted words out of: a b c d e; got…
language_model.language_model(ids=whole(0, 5), model=MODEL) → ids must be from 0 to 4, got [0, 5]
language_model.language_model(ids=whole(0, 1), model=MODEL, positions=whole(0, 6)) →
    positions must be from 0 to 5, got [0, 6]
learning.entry_variance(rule="lecun", d_in=0, d_out=3) →
    d_in and d_out must be at least 1, got 0 and 3
learning.entry_variance(rule="he", d_in=2, d_out=3) →
    rule must be 'lecun', 'kaiming' or 'xavier', got 'he'
learning.attention_backward(**BACK | dict(weights=ones(2, 3, 5))) →
    weights and by_output must have the batch axes that … () and (), got (2, 3, 5) and (3, 6)
learning.attention_backward(**BACK | dict(value=ones(2, 5, 6))) →
    weights and by_output must have the batch axes that … () and (2,), got (3, 5) and (3, 6)
learning.finite_differences(function=float, at=np.array(2.0), step=nan) →
    step must be positive, got nan
long_sequences.ntk_base(base=1, d=5, factor=1) → d must be even and at least 4, got 5
long_sequences.ntk_base(base=nan, d=4, factor=1) → base must be positive, got nan
long_sequences.ntk_base(base=1, d=4, factor=0.5) → factor must be at least 1, got 0.5
long_sequences.alibi_slopes(num_heads=0) → num_heads must be at least 1, got 0
long_sequences.alibi_bias(slopes=np.array([1, inf]), n_query=2) →
    slopes must be finite and at least 0, got [1.0, inf]
long_sequences.alibi_bias(slopes=np.array([-1.0]), n_query=2) →
    slopes must be finite and at least 0, got [-1.0]
long_sequences.far_share(slope=nan, spread=1, window=2) → slope must be positive, got nan
long_sequences.far_share(slope=1, spread=1, window=-1) →
    spread and window must be at least 0, got 1 and -1
long_sequences.t5_buckets(offsets=whole(1), num_buckets=7) →
    num_buckets must be even and at least 2, got 7
long_sequences.t5_buckets(offsets=whole(1), num_buckets=8, max_distance=4) →
    max_distance must be above 4, got 4
maps.with_residual(weights=np.array([[1.0, 0], [1, 1]])) →
    rows of weights must be at least 0 and sum to 1, got sums [1.0, 2.0]
maps.with_residual(weights=np.array([[1.0, 0], [-1, 2]])) →
    rows of weights must be at least 0 and sum to 1, got …
maps.patching_effect(patched=ones(2), own=np.array([1.0, 3]), other=np.array([2.0, 3])) →
    own and other must differ, got [1.0, 3.0] and [2.0, 3.0]
masking.causal_mask(n_query=0, n_key=3) → n_query and n_key must be at least 1, got 0 and 3
masking.causal_mask(n_query=2, n_key=0) → n_query and n_key must be at least 1, got 2 and 0
masking.padding_mask(lengths=whole(1, 4), n_key=3) → lengths must be from 0 to 3, got [1, 4]
masking.truncate_and_pad(sequences=[], max_length=2) → sequences must not be empty, got []
masking.truncate_and_pad(sequences=[ones(1)], max_length=0) → max_length must be at least 1, got 0
masking.truncate_and_pad(sequences=[ones(2, 3), ones(2, 4)], max_length=1) →
    sequences must differ …, got (2, 3) of float64 and (2, 4) of float64
score_functions.angles(**PAIR | dict(query=np.zeros((1, 4)))) →
    query must have no vector of zeros, got [[0.0, 0.0, 0.0, 0.0]]
score_functions.angles(**PAIR | dict(key=np.zeros((1, 4)))) →
    key must have no vector of zeros, got [[0.0, 0.0, 0.0, 0.0]]
score_functions.projections(**PAIR | dict(query=np.zeros((1, 4)))) →
    query must have no vector of zeros, got [[0.0, 0.0, 0.0, 0.0]]
positions.permutation_matrix(order=[1, 1]) → order must hold every number from 0 to 1, got [1, 1]
minilm.read_sentence(text="a", model=MINI, cut=[(6, 0)]) →
    heads must be in 6 layers of 12, got [(6, 0)]
minilm.split_word(word="", ids={}) → word must have at least one character, got ''
multi_head.split_heads(x=ones(3, 6), num_heads=4) →
    num_heads must divide the last axis, got 4 heads and shape (3, 6)
multi_head.split_heads(x=ones(3, 6), num_heads=-1) →
    num_heads must divide the last axis, got -1 heads and shape (3, 6)
multi_head.multi_head_attention(**dict.fromkeys(("query", "key", "value"), ones(2, 3, 4)) |
    dict(parameters=square(4), num_heads=2, mask=ones(2, 3, 3) > 0)) →
    mask must have 2 axes (n_q, n_k) or 4 (..., heads, n_q, n_k), got shape (2, 3, 3)
multi_head.multi_head_attention(**dict.fromkeys(("query", "key", "value"), ones(3, 3, 4)) |
    dict(parameters=square(4), num_heads=2, mask=whole(1, 1, 0) * ones(3, 1) > 0)) →
    mask of shape (3, 3) has as many rows as there are sequences and queries, and hides a token from
    itself: give a padding mask the shape (batch, 1, 1, n_k), or a mask for all sequences (1, 1,
    n_q, n_k)
multi_head.parameter_count(d_model=10, num_heads=3) → num_heads must divide d_model, got 3 and 10
multi_head.parameter_count(d_model=10, num_heads=2, d_head=0) → d_head must be at least 1, got 0
multi_head.parameter_count(d_model=12, num_heads=4, kv_heads=3) →
    kv_heads must divide num_heads, got 3 and 4
positions.frequencies(d=5) → d must be even and at least 2, since components come in pairs, got 5
positions.frequencies(d=4, base=-1) → base must be positive, got -1
positions.rotation(offset=1, d=0) →
    d must be even and at least 2, since components come in pairs, got 0
positions.rope(x=ones(3, 4), positions=ones(2, 3)) → positions must broadcast to (3,), got (2, 3)
positions.rope(x=ones(3, 4), positions=ones(3), pairing="halves") →
    pairing must be 'interleaved' or 'half-split', got 'halves'
positions.learned(table=ones(3, 2), positions=[0, -1]) →
    positions must be from 0 to 2, one for each row of the table, got -1
precision.round_to(x=ones(2), name="half") → format must be one of float64, …, got 'half'
precision.rounded_sum(x=ones(1), name="half") → format must be one of float64, …, got 'half'
precision.rounded_product(a=ones(1, 1), b=ones(1, 1), name="half") →
    format must be one of float64, …, got 'half'
precision.gamma(n=1, name="half") → format must be one of float64, …, got 'half'
precision.gamma(n=-1, name="float16") → n must be at least 0, got -1
precision.soft_cap(scores=ones(2), cap=inf) → cap must be positive and finite, got inf
real_models.load_arithmetic_model(operation="sub") →
    operation must be in ['+', '-', '*', '/'], got 'sub'
real_models.encode_symbols(text="7×3=") → text must be made of <pad> <s> …   Q R, got '7×3='
real_models.encode_symbols(text="") → text must be made of <pad> <s> …   Q R, got ''
scaling.vectors(component=COIN, d_k=0) → d_k must be at least 1, got 0
scaling.vectors(component={0: Fraction(1, 4), 1: Fraction(1, 2)}, d_k=2) →
    probabilities must sum to 1, got 3/4
scaling.dot_distribution(queries=[((1, 2), 1)], keys=[((3,), 1)]) →
    query and key must share d_k, got 2 and 1
scaling.mean_interval(samples=ones(1)) → samples must be a vector of at least 2, got 1
scaling.variance_interval(samples=ones(1)) → samples must be a vector of at least 2, got 1
sequences.windows(inputs=ones(3, 2), k=2) → k must be odd and at least 1, got 2
sequences.window_layer(inputs=ones(5, 2), parameters=ones(4, 3)) →
    parameters must have k·2 rows with k odd, got 4
sequences.window_layer(inputs=ones(5, 2), parameters=ones(3, 3)) →
    parameters must have k·2 rows with k odd, got 3
sequences.weights_of(point=ones(2), corners=ones(4, 2)) →
    corners must be (d + 1, d) for a point (d,), got (4, 2) and (2,)
sequences.weights_of(point=ones(2), corners=np.array([[0.0, 0], [1, 2], [2, 4]])) →
    corners must not lie in one line or plane, got [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]
next_word.next_tokens(logits=ones(3), count=3) → count must be from 1 to 2, got 3
assistant.chat_text(messages=[("user", "Hello"), ("robot", "Hi")]) →
    roles must be system, user or assistant, got ['user', 'robot']
assistant.masked_cross_entropy(logits=ones(2, 3), targets=whole(0, 1), counted=np.array([False,
    False])) →
    counted must hold True somewhere, got [False, False]
assistant.dpo_loss(**dict.fromkeys(("chosen", "rejected", "chosen_before", "rejected_before"),
    ones(2)), beta=0) →
    beta must be positive and finite, got 0
assistant.tilted_policy(reference=ones(2), rewards=ones(2), beta=inf) →
    beta must be positive and finite, got inf
assistant.tilted_policy(reference=np.array([1.0, 0]), rewards=ones(2), beta=1) →
    reference must be positive, got [1.0, 0.0]
tokens.learn_merges(words=["ab"], steps=-1) → steps must not be negative, got -1
tokens.merge_pairs(word="", ranks={}) → word must have at least one character, got ''
smollm2.neuron_activity(run=EMPTY, model=SMALL, neuron=(30, 0)) →
    neuron must be one of a layer of 0, got (30, 0)
smollm2.run_model(ids=whole(0), model=SMALL, cut=[(30, 0)]) →
    heads must be in 30 layers of 9, got [(30, 0)]
smollm2.run_model(ids=whole(0), model=SMALL, watch=[(0, 9)]) →
    heads must be in 30 layers of 9, got [(0, 9)]
smollm2.run_model(ids=whole(0), model=SMALL, skip=[(0, "norm")]) →
    skip must hold ('attention', 'feed-forward') of 30 layers, got [(0, 'norm')]
smollm2.run_model(ids=whole(0, 1), model=SMALL, segments=whole(1, 1, 1)) →
    segments must be those of 2 tokens, got (3,)
smollm2.run_model(ids=whole(0, 1), model=SMALL, patch={(30, 0): ones(5)}) →
    patch must name one of 30 layers and one of 2 tokens, got [(30, 0)]
smollm2.run_model(ids=whole(0, 1), model=SMALL, patch={(0, 2): ones(5)}) →
    patch must name one of 30 layers and one of 2 tokens, got [(0, 2)]
smollm2.run_model(ids=whole(0, 1), model=SMALL, patch={(-1, 0): ones(5)}) →
    patch must name one of 30 layers and one of 2 tokens, got [(-1, 0)]
softmax.softmax(scores=ones(2, 3), axis=2) → axis must name one of 2 axes, got 2
softmax.softmax(scores=ones(2, 3), axis=-3) → axis must name one of 2 axes, got -3
softmax.softmax(scores=ones(2, 0)) → softmax needs at least one score, got shape (2, 0)
softmax.tempered_softmax(scores=ones(2, 3), temperature=nan) →
    temperature must be positive and finite, got nan
softmax.tempered_softmax(scores=ones(2, 3), temperature=0) →
    temperature must be positive and finite, got 0
transformer_block.embed(ids=whole(0, 5), table=ones(5, 2)) → ids must be from 0 to 4, got [0, 5]
transformer_block.embed(ids=whole(0, 1), table=ones(5, 2), positions=ones(1, 2)) →
    positions must be (n_max, 2) with n_max at least 2, got (1, 2)
transformer_block.layer_norm(x=ones(2, 3), eps=nan) → eps must be at least 0, got nan
transformer_block.layer_norm_gradient(x=ones(3), by_output=ones(3), eps=-1) →
    eps must be at least 0, got -1
transformer_block.rms_norm(x=ones(2, 3), eps=-0.1) → eps must be at least 0, got -0.1
transformer_block.block_parameter_count(d_model=0, d_ff=5) →
    d_model and d_ff must be at least 1, got 0 and 5
transformer_block.block_flops(n=3, d_model=4, d_ff=0) →
    n, d_model and d_ff must be at least 1, got 3 and 4 and 0
transformer_block.encoder_block(x=ones(2, 4),
    parameters=BLOCK._replace(attention=square(4)._replace(W_o=ones(4, 1))), num_heads=2) →
    x and output must share d_model, got (2, 4) and (2, 1)
nn.MultiHeadAttention(d_model=6, num_heads=4) → num_heads must divide d_model, got 4 and 6
nn.MultiHeadAttention(d_model=6, num_heads=0) → num_heads must divide d_model, got 0 and 6
nn.TransformerEncoderLayer(**ENCODER | dict(d_ff=0)) → d_ff must be at least 1, got 0
nn.TransformerEncoderLayer(**ENCODER | dict(activation="tanh")) →
    activation must be a function or one of ['relu', 'gelu'], got 'tanh'
"""  # a call, and what is said of it


@pytest.mark.parametrize("row", read_refusals(REFUSED), ids=lambda row: row.call)
def test_a_condition_is_told(row: Refusal) -> None:
    module, _, function = row.name.rpartition(".")
    given = eval(f"dict{row.given}")
    with pytest.raises(ValueError, match=f"^{row.pattern}$"):
        getattr(importlib.import_module(f"attention_docs.{module}"), function)(**given)


def test_every_condition_has_a_row() -> None:
    rows = [row.name for row in read_refusals(REFUSED)]
    for function in list_functions():
        name = f"{function.__module__.removeprefix('attention_docs.')}.{function.__name__}"
        conditions = getattr(inspect.unwrap(function), "_conditions", ())
        assert rows.count(name) >= len(conditions), name


def test_a_foreign_layer_has_the_batch_first() -> None:
    with pytest.raises(ValueError, match="other must have batch_first=True"):
        nn.MultiHeadAttention.from_torch(MultiheadAttention(6, 2))


@pytest.mark.parametrize("options", [{"kdim": 4}, {"add_bias_kv": True}, {"add_zero_attn": True}])
def test_a_foreign_layer_must_be_like_ours(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="other must have kdim = vdim = embed_dim and neither"):
        nn.MultiHeadAttention.from_torch(MultiheadAttention(6, 2, **options))


def test_a_condition_waits_for_its_arguments() -> None:
    """Python tells of a missing one; where an array is left out, nothing is asked of its axes."""

    @requires("n must be below 3", lambda n: n < 3)
    def take(n: int) -> int:
        return n

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'n'"):
        take()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'm'"):
        take(1, m=2)  # type: ignore[call-arg]
    assert (take(2), take(n=1)) == (2, 1)


def test_a_mask_has_booleans_or_the_scores_floats_and_fits() -> None:
    scores = np.ones((2, 3))
    for good in ((2, 3), (1, 3), (3,), ()):
        check_mask(scores, np.ones(good, dtype=bool))
        check_mask(scores, np.ones(good))
    check_mask(torch.ones(2, 3), torch.ones(3, dtype=torch.bool))
    for bad in (np.ones(3, dtype=int), np.ones(3, dtype=np.float32), [True] * 3):
        with pytest.raises(TypeError, match="mask must hold booleans or float64 like the scores"):
            check_mask(scores, bad)
    with pytest.raises(TypeError, match="scores and mask must be of one library, got ndarray and"):
        check_mask(scores, torch.ones(3, dtype=torch.bool))
    for sizes in ((5, 2, 3), (2, 2, 3), (4,)):
        with pytest.raises(ValueError, match=r"must broadcast to the scores' shape \(2, 3\), got"):
            check_mask(scores, np.ones(sizes, dtype=bool))


def test_fits_and_in_range() -> None:
    assert fits(np.ones((1, 3)), (2, 3))
    assert not fits(np.ones((2, 3)), (1, 3))
    assert not fits(np.ones(4), (2, 3))
    assert in_range(torch.tensor([0, 2]), 3)
    assert not in_range(whole(0, 3), 3)
    assert not in_range(whole(-1), 3)
