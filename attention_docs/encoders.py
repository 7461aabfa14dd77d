"""Encoders: words that are hidden and guessed from both sides, norms over a batch, and patches."""

from __future__ import annotations

from typing import Any, cast

from array_api_compat import device
from jaxtyping import Bool, Float, Int

from attention_docs.checks import in_range, requires
from attention_docs.language_model import LanguageModel
from attention_docs.signatures import Array, array_namespace, shape
from attention_docs.transformer_block import BlockParameters, embed, encoder_block, layer_norm

IS_MASK, IS_SWAPPED = 0.8, 0.9  # of the chosen words: below 0.8 masked, below 0.9 another word


@requires(
    "uniforms must be at least 0 and below 1",
    lambda uniforms: bool(((uniforms >= 0) & (uniforms < 1)).all()),
)
@requires(
    lambda uniforms, ids: (
        f"uniforms must have the shape of ids, got {shape(uniforms)} and {shape(ids)}"
    ),
    lambda uniforms, ids: shape(uniforms) == shape(ids),
)
@requires("share must be above 0 and at most 1", lambda share: 0 < share <= 1)
@requires("words must be at least 1", lambda words: words >= 1)
def mask_words(
    ids: Int[Array, "... n"],
    uniforms: Float[Array, "... n"],
    mask_id: int,
    words: int,
    share: float = 0.15,
) -> tuple[Int[Array, "... n"], Bool[Array, "... n"]]:
    r"""Choose words to be guessed, and hide most of them.

    A place is chosen with the probability `share`. In 80 % of the chosen places [MASK] is shown,
    in 10 % a word drawn from all words, and in 10 % the word itself. With u for the lot of a place
    and $r = u / \text{share}$,

    $$\text{chosen} = (r < 1), \qquad \text{shown} = \begin{cases}
      \text{[MASK]} & r < 0.8 \\ \lfloor 10\,(r - 0.8)\, V \rfloor & 0.8 \le r < 0.9 \\
      \text{the word} & \text{else} \end{cases}$$

    Args:
        ids: (..., n), integers.
        uniforms: u (..., n), a lot for each place, at least 0 and below 1.
        mask_id: the id of [MASK].
        words: V; ids from 0 to V - 1 are the words that may take the place of another.
        share: of the places that are chosen.

    Returns:
        What the model is shown (..., n), and which places are chosen, booleans (..., n). The loss
        counts the chosen places alone.

    Raises:
        ValueError: lots outside of [0, 1) or of another shape, no words, a share outside of (0, 1].

    Source:
        Devlin et al. 2019, "BERT", §3.1, task 1.

    Examples:
        r = u / 0.15 is 0.4 (masked), 0.84 (word 0.04 · 10 · 5 = 2), 0.96 (kept), 2 (not chosen).

        >>> import numpy as np
        >>> shown, chosen = mask_words(
        ...     np.array([4, 4, 4, 4]), np.array([0.06, 0.126, 0.144, 0.3]), mask_id=9, words=5
        ... )
        >>> print(shown, chosen)
        [9 2 4 4] [ True  True  True False]
    """
    xp = array_namespace(ids)
    r = uniforms / share
    other = xp.astype(xp.floor(10 * (r - IS_MASK) * words), ids.dtype)
    other = xp.clip(other, 0, words - 1)  # where it is not wanted, and against rounding
    shown = xp.where(r < IS_SWAPPED, other, ids)
    return xp.where(r < IS_MASK, xp.full_like(ids, mask_id), shown), r < 1


@requires("keep must be at least 0", lambda keep: keep >= 0)
@requires("swap must be above 0", lambda swap: swap > 0)
@requires(
    "prior must hold probabilities that sum to 1",
    lambda prior: bool((prior >= 0).all() and (abs(prior.sum(-1) - 1) < 1e-9).all()),
)
@requires(
    lambda shown, vocabulary: f"shown must be from 0 to {vocabulary - 1}, got {shown}",
    lambda shown, vocabulary: 0 <= shown < vocabulary,
)
def visible_word(
    prior: Float[Array, "... vocabulary"], shown: int, keep: float = 0.1, swap: float = 0.1
) -> Float[Array, "... vocabulary"]:
    r"""What the word is at a place that shows a word, by Bayes' rule.

    With c for the context, q for `keep`, r for `swap` and V words,

    $$P(t \mid \text{shows } w, c) = \frac{P(t \mid c)\,(q\,[t = w] + r / V)}
      {q\,P(w \mid c) + r / V}$$

    Args:
        prior: P(t | c) (..., V), what the context alone says, real floats that sum to 1.
        shown: w, the id of the word that stands there.
        keep: q, how often a word is chosen and shown as it is. Only q / r matters.
        swap: r, how often it is chosen and a word is shown that is drawn from all V.

    Returns:
        (..., V), same dtype.

    Raises:
        ValueError: no probabilities, a word without an id, a negative q, or an r that is not above
            0.

    Source:
        Bayes' rule for the choices of Devlin et al. 2019, "BERT", §3.1.

    Examples:
        Two words, one of them drawn as often as kept: (1/2)(1 + 1/2) / (1/2 + 1/2) = 3/4.

        >>> import numpy as np
        >>> visible_word(np.array([0.5, 0.5]), 0)
        array([0.75, 0.25])
    """
    xp = array_namespace(prior)
    size = shape(prior)[-1]
    is_shown = xp.astype(xp.arange(size, device=device(prior)) == shown, prior.dtype)
    joint = prior * (keep * is_shown + swap / size)
    return joint / xp.sum(joint, axis=-1, keepdims=True)


@requires(
    lambda model: "the blocks of model must be whole, BlockParameters, got Parameters",
    lambda model: all(isinstance(block, BlockParameters) for block in model.blocks),
)
@requires(
    lambda ids, vocabulary: f"ids must be from 0 to {vocabulary - 1}, got {ids.tolist()}",
    lambda ids, vocabulary: in_range(ids, vocabulary),
)
def encode(
    ids: Int[Array, "... n"], model: LanguageModel, mask: Any = None
) -> Float[Array, "... n d_model"]:
    r"""A vector for each token: a stack of blocks in which every token may see all others.

    $$x^{(0)} = E_{t} + p, \qquad x^{(l)} = \operatorname{Block}_l(x^{(l-1)}), \qquad
      y = \operatorname{LN}(x^{(L)})$$

    $y W_U$ are the logits of a masked word.

    Args:
        ids: (..., n), integers.
        model: parameters; its blocks are whole ones, `BlockParameters`.
        mask: as for `multi_head_attention`, True takes part. None is an encoder; with
            `causal_mask(n)` it is a decoder.

    Returns:
        y (..., n, d_model), the dtype of the model.

    Raises:
        ValueError: more tokens than positions, an id without a row, or a block of attention alone.

    Source:
        Devlin et al. 2019, "BERT", §3; pre-norm as in `language_model`.

    Examples:
        Without a block there is LayerNorm alone: (3, 1) has the mean 2 and the deviation 1.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> model = LanguageModel(
        ...     np.array([[3.0, 1.0]]), np.zeros((2, 2)), (), np.ones((2, 1)), 1, np.ones(2)
        ... )
        >>> text(encode(np.array([0, 0]), model), ".2f").split("\n")
        ['[[1.00, -1.00],', ' [1.00, -1.00]]']
    """
    x = embed(ids, model.table, model.positions)
    for block in cast(tuple[BlockParameters, ...], model.blocks):
        x = encoder_block(x, block, model.num_heads, mask, norm_first=True)
    return x if model.gamma is None else layer_norm(x, model.gamma)


@requires("eps must be at least 0", lambda eps: eps >= 0)
@requires(
    lambda mean, variance: "mean and variance must come together, got one of them",
    lambda mean, variance: (mean is None) == (variance is None),
)
@requires(
    "variance must not be negative",
    lambda variance: variance is None or bool((variance >= 0).all()),
)
def batch_norm(
    x: Float[Array, "... d"],
    mean: Float[Array, " d"] | None = None,
    variance: Float[Array, " d"] | None = None,
    eps: float = 1e-5,
) -> Float[Array, "... d"]:
    r"""Batch normalisation: each component gets mean 0 and variance 1 over all tokens of a batch.

    $$\operatorname{BN}(x)_{ic} = \frac{x_{ic} - \mu_c}{\sqrt{\sigma_c^2 + \varepsilon}}, \qquad
      \mu_c = \frac{1}{N} \sum_{i=1}^{N} x_{ic}, \qquad
      \sigma_c^2 = \frac{1}{N} \sum_{i=1}^{N} (x_{ic} - \mu_c)^2$$

    N counts all tokens of all sequences. In training the mean and the variance are those of the
    batch; in evaluation they are kept from training.

    Args:
        x: (..., d), real floats.
        mean: μ (d,), same dtype, that was kept, or None for that of this batch.
        variance: σ² (d,) likewise, given with the mean.
        eps: ε, at least 0, in units of x squared.

    Returns:
        The same shape and dtype, dimensionless.

    Raises:
        ValueError: one of mean and variance alone, a negative variance or ε.

    Source:
        Ioffe and Szegedy 2015, "Batch Normalization", algorithm 1; ε as in PyTorch.

    Examples:
        The first component has the mean 2 and the deviation 1; that of the second is 4, and 2.

        >>> import numpy as np
        >>> batch_norm(np.array([[1.0, 2.0], [3.0, 6.0]]), eps=0.0)
        array([[-1., -1.],
               [ 1.,  1.]])
    """
    xp = array_namespace(x)
    if mean is None or variance is None:
        tokens = xp.reshape(x, (-1, shape(x)[-1]))
        mean = xp.mean(tokens, axis=0)
        variance = xp.mean((tokens - mean) ** 2, axis=0)  # divided by N
    return (x - mean) / xp.sqrt(variance + eps)


@requires(
    lambda size, height, width: (
        f"size must be at least 1 and divide height and width, got {size}, {height} and {width}"
    ),
    lambda size, height, width: size >= 1 and height % size == 0 and width % size == 0,
)
def cut_patches(
    image: Float[Array, "... height width"], size: int
) -> Float[Array, "... n size_squared"]:
    r"""An image as a row of tokens: squares of pixels, each read line by line.

    With $w$ squares in a line, square $i = a w + b$ and pixel $c = u s + v$ of it are

    $$x_{ic} = I_{a s + u,\; b s + v}$$

    Args:
        image: I (..., height, width), real floats.
        size: s, pixels along the side of a square. It must divide both sides of the image.

    Returns:
        (..., height · width / s², s²), same dtype.

    Raises:
        ValueError: a size that does not divide the sides.

    Source:
        Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", §3.1.

    Examples:
        >>> import numpy as np
        >>> cut_patches(np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]]), 2)
        array([[1., 2., 5., 6.],
               [3., 4., 7., 8.]])
    """
    xp = array_namespace(image)
    *batch, height, width = shape(image)
    rows, columns = height // size, width // size
    x = xp.reshape(image, (*batch, rows, size, columns, size))
    x = x.swapaxes(-3, -2)  # rows and columns of squares in front
    return xp.reshape(x, (*batch, rows * columns, size * size))


@requires(
    lambda rows, columns: f"rows and columns must be at least 1, got {rows} and {columns}",
    lambda rows, columns: rows >= 1 and columns >= 1,
)
def resize_positions(
    table: Float[Array, "height width d"], rows: int, columns: int
) -> Float[Array, "rows columns d"]:
    r"""A table of positions in a plane, read for a grid of another size.

    The centre of row i of R lies at $t = (i + \tfrac12) \frac{H}{R} - \tfrac12$ among the H rows of
    the table, held within 0 and H - 1. The vector there is mixed of those of the two rows beside
    it, and likewise for columns:

    $$p_t = (1 - f)\, p_{\lfloor t \rfloor} + f\, p_{\lfloor t \rfloor + 1}, \qquad
      f = t - \lfloor t \rfloor$$

    Args:
        table: (H, W, d), real floats.
        rows: R, at least 1.
        columns: likewise.

    Returns:
        (R, columns, d), same dtype. For R = H and columns = W it is the table.

    Raises:
        ValueError: no rows or no columns.

    Source:
        Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", §3.2; bilinear, with the corners
        of PyTorch's `interpolate(align_corners=False)`.

    Examples:
        Four columns out of two: the centres lie at -1/4 (held at 0), 1/4, 3/4 and 5/4 (held at 1).

        >>> import numpy as np
        >>> print(resize_positions(np.array([[[0.0], [8.0]]]), 1, 4)[0, :, 0])
        [0. 2. 6. 8.]
    """
    return _resize_first(_resize_first(table, rows).swapaxes(0, 1), columns).swapaxes(0, 1)


def _resize_first(table: Array, wanted: int) -> Array:
    """The first axis read at other places."""
    xp, size = array_namespace(table), shape(table)[0]
    t = (xp.arange(wanted, dtype=table.dtype, device=device(table)) + 0.5) * size / wanted - 0.5
    t = xp.clip(t, 0, size - 1)
    low = xp.floor(t)
    below = xp.astype(low, xp.int64)
    above = xp.clip(below + 1, 0, size - 1)
    f = xp.reshape(t - low, (-1, 1, 1))
    return (1 - f) * xp.take(table, below, axis=0) + f * xp.take(table, above, axis=0)
