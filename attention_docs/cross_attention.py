"""Cross-attention: one sequence asks, another answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxtyping import Float

from attention_docs.checks import requires
from attention_docs.learning import attention_backward
from attention_docs.multi_head import Parameters, multi_head_attention
from attention_docs.signatures import Array, array_namespace, checked
from attention_docs.transformer_block import add_residual, feed_forward, layer_norm, relu


class DecoderParameters(NamedTuple):
    """The parameters of one decoder block with three sublayers.

    Attributes:
        self_attention: of the first sublayer, in which the target looks at itself.
        cross_attention: of the second; its W_k and W_v have as many rows as the memory columns.
        W_1: (d_model, d_ff), of the feed-forward network, the third.
        W_2: (d_ff, d_model).
        b_1: bias (d_ff,), or None for no bias.
        b_2: bias (d_model,), or None.
        gammas: scales (d_model,) of the LayerNorms of the three sublayers, or None for ones.
        betas: their shifts (d_model,), or None for zeros.
    """

    self_attention: Parameters
    cross_attention: Parameters
    W_1: Float[Array, "d_model d_ff"]
    W_2: Float[Array, "d_ff d_model"]
    b_1: Float[Array, " d_ff"] | None = None
    b_2: Float[Array, " d_model"] | None = None
    gammas: tuple[Array | None, Array | None, Array | None] = (None, None, None)
    betas: tuple[Array | None, Array | None, Array | None] = (None, None, None)


@checked
def decoder_block(
    x: Float[Array, "*batch n_q d_model"],
    memory: Float[Array, "*batch n_k d_memory"],
    parameters: DecoderParameters,
    num_heads: int,
    mask: Any = None,
    memory_mask: Any = None,
    norm_first: bool = False,
    activation: Callable[[Array], Array] = relu,
    eps: float = 1e-5,
) -> tuple[Float[Array, "*batch n_q d_model"], Float[Array, "*batch h n_q n_k"]]:
    r"""One decoder block: look at what is written, look at what is read, think.

    $$\begin{aligned}
      \text{post-norm:} \quad z &= \operatorname{LN}_1(x + \operatorname{MHA}(x, x)), \quad
        u = \operatorname{LN}_2(z + \operatorname{MHA}(z, m)), \quad
        y = \operatorname{LN}_3(u + \operatorname{FFN}(u)) \\
      \text{pre-norm:} \quad z &= x + \operatorname{MHA}(\operatorname{LN}_1(x),
        \operatorname{LN}_1(x)), \quad u = z + \operatorname{MHA}(\operatorname{LN}_2(z), m), \quad
        y = u + \operatorname{FFN}(\operatorname{LN}_3(u))
      \end{aligned}$$

    The first argument of MHA gives the queries, the second keys and values.

    Args:
        x: the target (..., n_q, d_model), real floats.
        memory: m, what the encoder made of the source, (..., n_k, d_memory), same dtype. It is
            never normalised here: with pre-norm the encoder's last LayerNorm has done it.
        parameters: matrices, biases, scales and shifts, same dtype.
        num_heads: h, of both attentions.
        mask: of the self-attention, as for `multi_head_attention`; a decoder wants a causal one.
            True takes part.
        memory_mask: of the cross-attention, (n_q, n_k) or (..., 1, 1, n_k) for the padding of the
            source. True takes part.
        norm_first: False is post-norm, True is pre-norm.
        activation: of the feed-forward network.
        eps: ε of the three LayerNorms.

    Returns:
        The outputs (..., n_q, d_model) and the weights of the cross-attention (..., h, n_q, n_k),
        the alignment maps of its heads.

    Raises:
        TypeError: the mask holds neither booleans nor floats of the scores' dtype.
        ValueError: a part that changes the shape of x.

    Source:
        Vaswani et al. 2017, "Attention Is All You Need", §3.1 and §3.2.3.

    Examples:
        Parameters of 0 leave the way around alone, and weights of 1/2 on two rows of memory.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> zero, x = np.zeros((4, 4)), np.array([[1.0, 0, 0, 0]])
        >>> p = Parameters(zero, zero, zero, zero)
        >>> block = DecoderParameters(p, p, zero, zero)
        >>> y, weights = decoder_block(x, np.ones((2, 4)), block, num_heads=1, norm_first=True)
        >>> text(y, ".0f"), text(weights, ".1f")
        ('[[1, 0, 0, 0]]', '[[[0.5, 0.5]]]')
    """
    p = parameters

    def norm(number: int, z: Array) -> Array:
        return layer_norm(z, p.gammas[number], p.betas[number], eps)

    z = norm(0, x) if norm_first else x
    itself, _ = multi_head_attention(z, z, z, p.self_attention, num_heads, mask)
    x = add_residual(x, itself)
    x = x if norm_first else norm(0, x)
    z = norm(1, x) if norm_first else x
    read, weights = multi_head_attention(
        z, memory, memory, p.cross_attention, num_heads, memory_mask
    )
    x = add_residual(x, read)
    x = x if norm_first else norm(1, x)
    z = norm(2, x) if norm_first else x
    x = add_residual(x, feed_forward(z, p.W_1, p.W_2, p.b_1, p.b_2, activation))
    return (x if norm_first else norm(2, x)), weights


@checked
def cross_attention_backward(
    target: Float[Array, "*batch n_q d_target"],
    source: Float[Array, "*batch n_k d_source"],
    w_query: Float[Array, "d_target d_k"],
    w_key: Float[Array, "d_source d_k"],
    w_value: Float[Array, "d_source d_v"],
    weights: Float[Array, "*batch n_q n_k"],
    by_output: Float[Array, "*batch n_q d_v"],
) -> tuple[Array, Array, Array, Array, Array]:
    r"""Gradients of a loss by both sequences and the three parameter matrices of cross-attention.

    $$dT = dQ\, W_Q^\top, \quad dX = dK\, W_K^\top + dV\, W_V^\top, \quad
      dW_Q = T^\top dQ, \quad dW_K = X^\top dK, \quad dW_V = X^\top dV$$

    Args:
        target: T (..., n_q, d_target), real floats: who asks.
        source: X (..., n_k, d_source), same dtype: who answers.
        w_query: W_Q (d_target, d_k), same dtype.
        w_key: W_K (d_source, d_k), same dtype.
        w_value: W_V (d_source, d_v), same dtype.
        weights: A (..., n_q, n_k), as `attention` returned them, masked or not.
        by_output: dO (..., n_q, d_v), in units of the loss / units of the output.

    Returns:
        dT, dX, dW_Q, dW_K and dW_V, each in the shape of its array; the matrices get the sum over
        all sequences of the batch. With T = X the gradient of self-attention is dT + dX.

    Source:
        The chain rule for Vaswani et al. 2017, §3.2.3.

    Examples:
        Scores of 0 and two source tokens: each value hears half of dO = 4.

        >>> import numpy as np
        >>> one, zero = np.ones((1, 1)), np.zeros((1, 1))
        >>> X, half = np.array([[1.0], [3.0]]), np.full((1, 2), 0.5)
        >>> dT, dX, *_ = cross_attention_backward(one, X, zero, zero, one, half, 4 * one)
        >>> dT.tolist(), dX.tolist()
        ([[0.0]], [[2.0], [2.0]])
    """
    xp = array_namespace(target)
    dQ, dK, dV = attention_backward(
        target @ w_query, source @ w_key, source @ w_value, weights, by_output
    )

    def gathered(x: Array, gradient: Array) -> Array:
        """Xᵀ dX', summed over the batch: all rows of all sequences stand below each other."""
        rows = xp.reshape(x, (-1, x.shape[-1]))
        return xp.matrix_transpose(rows) @ xp.reshape(gradient, (-1, gradient.shape[-1]))

    return (
        dQ @ xp.matrix_transpose(w_query),
        dK @ xp.matrix_transpose(w_key) + dV @ xp.matrix_transpose(w_value),
        gathered(target, dQ),
        gathered(source, dK),
        gathered(source, dV),
    )


@requires(
    "n_query, n_key, d_model and steps must be at least 1",
    lambda n_query, n_key, d_model, steps: min(n_query, n_key, d_model, steps) >= 1,
)
def cross_attention_flops(n_query: int, n_key: int, d_model: int, steps: int = 1) -> int:
    r"""Floating-point operations of the matrix products of one cross-attention layer.

    $$\underbrace{2 \cdot 2\, n_q d^2}_{W_Q, W_O} + \underbrace{s \cdot 2 \cdot 2\, n_k d^2}
      _{W_K, W_V} + \underbrace{2\, n_q n_k d}_{\text{scores}}
      + \underbrace{2\, n_q n_k d}_{\text{weighted sums}}$$

    A product of (a, b) and (b, c) takes a·b·c multiplications and as many additions. Softmax,
    biases and the division by √d_k are left out.

    Args:
        n_query: tokens of the target.
        n_key: tokens of the source.
        d_model: d, the dimension of both; heads times head dimension is d too.
        steps: s, how often keys and values are made of the source: 1 where they are kept,
            n_query where each new token makes them again.

    Returns:
        The count, dimensionless; the number of heads drops out.

    Raises:
        ValueError: a size or steps below 1.

    Source:
        The shapes in Vaswani et al. 2017, §3.2.

    Examples:
        4·2·3² + 4·5·3² + 4·2·5·3 = 72 + 180 + 120; with keys made twice, 180 more.

        >>> cross_attention_flops(2, 5, 3), cross_attention_flops(2, 5, 3, steps=2)
        (372, 552)
    """
    maps = 4 * (n_query + steps * n_key) * d_model**2
    return maps + 4 * n_query * n_key * d_model
