"""Masks: who may look at whom. In this package True always means "takes part"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from array_api_compat import device
from jaxtyping import Bool, Float, Int, Shaped

from attention_docs.checks import check_mask, in_range, requires
from attention_docs.signatures import Array, array_namespace, checked, shape


@checked
def apply_mask(scores: Float[Array, "..."], mask: Any) -> Float[Array, "..."]:
    r"""Put a mask on scores before softmax.

    $$\tilde s_{ij} = \begin{cases} s_{ij} & \text{mask}_{ij} \text{ is True} \\
      -\infty & \text{otherwise} \end{cases} \qquad\text{or}\qquad \tilde S = S + M$$

    Args:
        scores: (..., n_q, n_k), real floats.
        mask: broadcastable to the scores. Booleans: True takes part, False is masked out.
            Floats of the scores' dtype: added to them, so 0 takes part and -inf is masked out.

    Returns:
        Scores of the same shape; the caller's arrays are left alone.

    Raises:
        TypeError: the mask holds neither booleans nor floats of the scores' dtype.
        ValueError: the mask does not broadcast to the scores' shape.

    Source:
        Vaswani et al. 2017, §3.2.3: illegal connections are set to -∞ before the softmax.

    Examples:
        >>> import numpy as np
        >>> apply_mask(np.array([[2.0, 4.0, 4.0]]), np.array([True, True, False]))
        array([[  2.,   4., -inf]])
    """
    xp = array_namespace(scores)
    check_mask(scores, mask)
    if xp.isdtype(mask.dtype, "bool"):
        return xp.where(mask, scores, xp.full_like(scores, -xp.inf))
    return scores + mask


@requires(
    "n_query and n_key must be at least 1",
    lambda n_query, n_key: n_query >= 1 and (n_key is None or n_key >= 1),
)
def causal_mask(
    n_query: int, n_key: int | None = None, *, offset: int = 0, like: Array | None = None
) -> Bool[Array, "n_q n_k"]:
    r"""No query looks at a key that comes after it.

    $$\text{mask}_{ij} = (j \le i + \text{offset})$$

    Args:
        n_query: number of queries, at least 1.
        n_key: number of keys; as many as queries where it is left out.
        offset: tokens that stand before the first query, the keys of a cache say. 0 aligns the
            mask to the upper left corner, n_key - n_query to the lower right.
        like: an array whose library and device the mask gets; NumPy where it is left out.

    Returns:
        Booleans (n_query, n_key), True takes part. With a negative offset the first rows are empty.

    Raises:
        ValueError: n_query or n_key is below 1.

    Source:
        Vaswani et al. 2017, §3.2.3: leftward information flow is prevented. The two corners are
        those of PyTorch's `torch.nn.attention.bias`.

    Examples:
        >>> causal_mask(3)
        array([[ True, False, False],
               [ True,  True, False],
               [ True,  True,  True]])

        The last query after 4 tokens that are kept in a cache sees all 5 keys.

        >>> causal_mask(1, 5, offset=4)
        array([[ True,  True,  True,  True,  True]])
    """
    n_key = n_query if n_key is None else n_key
    like = np.empty(0) if like is None else like
    xp = array_namespace(like)
    i = xp.arange(n_query, device=device(like))[:, None]
    j = xp.arange(n_key, device=device(like))[None, :]
    return j <= i + offset


@requires(
    lambda lengths, n_key: f"lengths must be from 0 to {n_key}, got {lengths.tolist()}",
    lambda lengths, n_key: in_range(lengths, n_key + 1),
)
def padding_mask(lengths: Int[Array, "..."], n_key: int) -> Bool[Array, "... 1 n_k"]:
    r"""No query looks at padding: of each sequence only the first tokens, its own, take part.

    $$\text{mask}_{bj} = (j < \text{length}_b)$$

    Args:
        lengths: tokens of each sequence before padding, integers from 0 to n_key. Shape (batch,)
            goes with scores (batch, n_q, n_k), shape (batch, 1) with (batch, heads, n_q, n_k).
        n_key: number of keys, padding included.

    Returns:
        Booleans (..., 1, n_key), True takes part; the axis of size 1 stands for every query.

    Raises:
        ValueError: a length is below 0 or above n_key.

    Source:
        Devlin et al. 2019, "BERT", whose code feeds such a mask with each batch.

    Examples:
        >>> padding_mask(np.array([3, 1]), 3)
        array([[[ True,  True,  True]],
        <BLANKLINE>
               [[ True, False, False]]])
    """
    xp = array_namespace(lengths)
    return xp.arange(n_key, device=device(lengths)) < lengths[..., None, None]


@requires("sequences must not be empty", lambda sequences: len(sequences) > 0)
@requires("max_length must be at least 1", lambda max_length: max_length >= 1)
@requires(
    lambda sequences: (
        "sequences must differ in their first axis alone, got "
        + " and ".join(f"{shape(one)} of {one.dtype}" for one in sequences)
    ),
    lambda sequences: len({(one.shape[1:], one.dtype) for one in sequences}) == 1,
)
def truncate_and_pad(
    sequences: Sequence[Shaped[np.ndarray, "_ ..."]], max_length: int, padding: Any = 0
) -> tuple[Shaped[np.ndarray, "batch n ..."], Int[np.ndarray, " batch"]]:
    """Make one array of sequences of different lengths: cut the long, fill up the short.

    Args:
        sequences: arrays (n_i,) of token ids or (n_i, d) of vectors, at least one, alike but for
            n_i.
        max_length: tokens that are kept of a sequence, counted from its beginning.
        padding: what stands in the places after the end of a short sequence.

    Returns:
        The array (batch, n, ...), n the largest length that is left, and the lengths (batch,), for
        `padding_mask`.

    Raises:
        ValueError: no sequences, max_length below 1, or sequences that differ in more than n_i.

    Source:
        Devlin et al. 2019, "BERT", §A.2: sequences of at most 512 tokens.

    Examples:
        >>> ids, lengths = truncate_and_pad([np.array([3, 1, 4, 1]), np.array([2, 7])], 3)
        >>> print(ids, lengths)
        [[3 1 4]
         [2 7 0]] [3 2]
    """
    lengths = np.array([min(len(one), max_length) for one in sequences])
    n = int(lengths.max())
    batch = np.full((len(sequences), n, *sequences[0].shape[1:]), padding, sequences[0].dtype)
    for row, one in zip(batch, sequences, strict=True):
        row[: min(len(one), n)] = one[:n]
    return batch, lengths
