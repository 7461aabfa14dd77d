"""Several texts in one array: padding, packing, and which text each token belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Bool, Int

from attention_docs.checks import requires
from attention_docs.masking import causal_mask
from attention_docs.signatures import Array, array_namespace, checked, shape

Side = Literal["left", "right"]
"""Where the padding of a short text stands."""


_not_empty = requires(
    "wanted at least one sequence, and none of them empty",
    lambda sequences: len(sequences) > 0 and all(len(one) > 0 for one in sequences),
)
_not_negative = requires(
    lambda segments: f"segments must not be negative, got {segments.min()}",
    lambda segments: bool((segments >= 0).all()),
)


@_not_empty
@requires("side must be 'left' or 'right'", lambda side: side in ("left", "right"))
def pad(
    sequences: Sequence[Int[np.ndarray, " _"]], side: Side = "left", padding: int = 0
) -> tuple[Int[np.ndarray, "batch n"], Int[np.ndarray, "batch n"]]:
    """One row for each text, filled up to the length of the longest.

    Args:
        sequences: token ids (n_i,) of each text.
        side: where the filling stands. A decoder that goes on writing reads the last column, so
            that has to hold a token of every text: left.
        padding: the id in the places that are filled up.

    Returns:
        The ids (batch, n), and segments of the same shape: 1 for a token, 0 for padding. This is
        what other libraries call the attention mask.

    Raises:
        ValueError: no texts, an empty one, or another side.

    Source:
        Wolf et al. 2020, "Transformers: State-of-the-Art Natural Language Processing", in its code.

    Examples:
        >>> ids, segments = pad([np.array([3, 1, 4]), np.array([2])], padding=9)
        >>> print(ids, segments)
        [[3 1 4]
         [9 9 2]] [[1 1 1]
         [0 0 1]]
    """
    n = max(len(one) for one in sequences)
    ids = np.full((len(sequences), n), padding)
    segments = np.zeros((len(sequences), n), dtype=np.int64)
    for i, one in enumerate(sequences):
        places = slice(n - len(one), n) if side == "left" else slice(0, len(one))
        ids[i, places], segments[i, places] = one, 1
    return ids, segments


@_not_empty
def pack(
    sequences: Sequence[Int[np.ndarray, " _"]],
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """All texts in one row, one behind the other.

    Args:
        sequences: token ids (n_i,) of each text.

    Returns:
        The ids (n,), and segments (n,): 1 for the tokens of the first text, 2 for the second.

    Raises:
        ValueError: no texts, or an empty one.

    Source:
        Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
        Transformer", §3.1.2, in its code.

    Examples:
        >>> ids, segments = pack([np.array([3, 1, 4]), np.array([2, 7])])
        >>> print(ids, segments)
        [3 1 4 2 7] [1 1 1 2 2]
    """
    lengths = [len(one) for one in sequences]
    return np.concatenate([*sequences]), np.repeat(np.arange(1, len(lengths) + 1), lengths)


@_not_negative
def segment_mask(segments: Int[Array, "... n"]) -> Bool[Array, "... n n"]:
    r"""No token looks at another text, and none at padding.

    $$\text{mask}_{ij} = (s_i = s_j) \wedge (s_j > 0)$$

    Args:
        segments: s (..., n), integers: the number of the text that each token belongs to, from 1,
            or 0 for padding.

    Returns:
        Booleans (..., n, n), True takes part. The rows of padding are empty. A decoder also needs
        the causal mask: `segment_mask(segments) & causal_mask(n)`.

    Raises:
        ValueError: a negative segment.

    Source:
        Krell et al. 2021, "Efficient Sequence Packing without Cross-contamination", §3.2.2.

    Examples:
        >>> segment_mask(np.array([1, 1, 2, 0])).astype(int)
        array([[1, 1, 0, 0],
               [1, 1, 0, 0],
               [0, 0, 1, 0],
               [0, 0, 0, 0]])
    """
    same: Bool[Array, "... n n"] = segments[..., :, None] == segments[..., None, :]
    return same & (segments[..., None, :] > 0)


@checked
def segment_positions(segments: Int[Array, "... n"]) -> Int[Array, "... n"]:
    r"""The place of each token in its own text, counted from 0.

    $$p_i = \#\{j < i : s_j = s_i\}$$

    With one text in a row this is the cumulative sum of the segments, minus 1.

    Args:
        segments: as for `segment_mask`.

    Returns:
        Integers (..., n); padding gets 0.

    Raises:
        ValueError: a negative segment.

    Source:
        Krell et al. 2021, "Efficient Sequence Packing without Cross-contamination", §3.2.1.

    Examples:
        >>> print(segment_positions(np.array([0, 0, 1, 1, 1])))
        [0 0 0 1 2]
        >>> print(segment_positions(np.array([1, 1, 1, 2, 2])))
        [0 1 2 0 1]
    """
    xp, n = array_namespace(segments), shape(segments)[-1]
    before = segment_mask(segments) & causal_mask(n, offset=-1, like=segments)
    return xp.sum(xp.astype(before, segments.dtype), axis=-1)


@_not_negative
def loss_rows(segments: Int[Array, "... n"]) -> Bool[Array, "... n"]:
    r"""Which outputs have a next token to be compared with: the next one of the same text.

    $$r_i = (s_i = s_{i+1}) \wedge (s_i > 0), \qquad r_n = 0$$

    Args:
        segments: as for `segment_mask`.

    Returns:
        Booleans (..., n). A text of m tokens has m - 1 such rows.

    Raises:
        ValueError: a negative segment.

    Source:
        Krell et al. 2021, "Efficient Sequence Packing without Cross-contamination", §3.2.3.

    Examples:
        >>> print(loss_rows(np.array([1, 1, 1, 2, 2, 0])))
        [ True  True False  True False False]
    """
    xp = array_namespace(segments)
    following = xp.concat([segments[..., 1:], xp.zeros_like(segments[..., :1])], axis=-1)
    return (segments == following) & (segments > 0)


@requires(
    lambda segments: (
        f"segments must be those of packed texts, 1 to their number in order, got {segments}"
    ),
    lambda segments: (
        len(segments) > 0 and segments[0] == 1 and bool(np.isin(np.diff(segments), (0, 1)).all())
    ),
)
def cumulative_lengths(segments: Int[np.ndarray, " n"]) -> Int[np.ndarray, " texts_and_1"]:
    """Where each packed text begins, and behind them the end: `cu_seqlens` of fused kernels.

    Args:
        segments: (n,), of one row without padding, as `pack` gives them.

    Returns:
        Integers: 0, and the sums of the lengths so far.

    Raises:
        ValueError: segments that are not 1, 2, … in order.

    Source:
        Dao et al. 2022, "FlashAttention", in its code.

    Examples:
        >>> print(cumulative_lengths(np.array([1, 1, 1, 2, 2])))
        [0 3 5]
    """
    return np.concatenate([[0], np.cumsum(np.bincount(segments)[1:])])
