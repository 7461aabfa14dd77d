"""What surrounds attention: embedding, residual connection, LayerNorm, feed-forward network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxtyping import Float, Int

from attention_docs.checks import in_range, requires
from attention_docs.multi_head import Parameters, linear, multi_head_attention, parameter_count
from attention_docs.signatures import Array, array_namespace, checked, shape


class BlockParameters(NamedTuple):
    """The parameters of one encoder block.

    Attributes:
        attention: matrices and biases of multi-head attention; W_o has d_model columns.
        W_1: (d_model, d_ff), of the feed-forward network.
        W_2: (d_ff, d_model).
        b_1: bias (d_ff,), or None for no bias.
        b_2: bias (d_model,), or None.
        gamma_1: scale (d_model,) of the LayerNorm that belongs to attention, or None for ones.
        beta_1: its shift (d_model,), or None for zeros.
        gamma_2: scale of the LayerNorm that belongs to the feed-forward network.
        beta_2: its shift.
    """

    attention: Parameters
    W_1: Float[Array, "d_model d_ff"]
    W_2: Float[Array, "d_ff d_model"]
    b_1: Float[Array, " d_ff"] | None = None
    b_2: Float[Array, " d_model"] | None = None
    gamma_1: Float[Array, " d_model"] | None = None
    beta_1: Float[Array, " d_model"] | None = None
    gamma_2: Float[Array, " d_model"] | None = None
    beta_2: Float[Array, " d_model"] | None = None


@requires(
    lambda ids, vocabulary: f"ids must be from 0 to {vocabulary - 1}, got {ids.tolist()}",
    lambda ids, vocabulary: in_range(ids, vocabulary),
)
@requires(
    lambda n, n_max, d_model: (
        f"positions must be (n_max, {d_model}) with n_max at least {n}, got {(n_max, d_model)}"
    ),
    lambda n, n_max, d_model: n <= n_max,
)
def embed(
    ids: Int[Array, "... n"],
    table: Float[Array, "vocabulary d_model"],
    positions: Float[Array, "n_max d_model"] | None = None,
    scale: float = 1.0,
) -> Float[Array, "... n d_model"]:
    r"""Token ids to vectors: a row of the table for each token, plus a row for its place.

    $$x_i = c\, E_{t_i} + p_i$$

    Args:
        ids: (..., n), integers t from 0 to the size of the vocabulary - 1.
        table: E (vocabulary, d_model), real floats, one row a token id.
        positions: p (n_max, d_model), same dtype, one row a place, or None for no positions.
        scale: the factor c of the table's rows; Vaswani et al. take the root of d_model.

    Returns:
        Inputs (..., n, d_model), in units of the table.

    Raises:
        ValueError: an id without a row, or more tokens than n_max.

    Source:
        Vaswani et al. 2017, "Attention Is All You Need", §3.4 and §3.5.

    Examples:
        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> table = np.array([[1.0, 0], [0, 2], [3, 3]])
        >>> text(embed(np.array([2, 0]), table, np.array([[0.0, 1], [0, 5]])), ".0f")
        '[[3, 4],\n [1, 5]]'
    """
    xp = array_namespace(table)
    rows = xp.take(table, xp.reshape(ids, (-1,)), axis=0)
    x = xp.reshape(rows, (*shape(ids), -1)) * scale
    return x if positions is None else x + positions[: shape(ids)[-1], :]


@requires("eps must be at least 0", lambda eps: eps >= 0)
def layer_norm(
    x: Float[Array, "... d"],
    gamma: Float[Array, " d"] | None = None,
    beta: Float[Array, " d"] | None = None,
    eps: float = 1e-5,
) -> Float[Array, "... d"]:
    r"""Layer normalisation: every row gets mean 0 and variance 1, then a scale and a shift.

    $$\operatorname{LN}(x)_c = \gamma_c\, \frac{x_c - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta_c,
      \qquad \mu = \frac{1}{d} \sum_c x_c, \qquad \sigma^2 = \frac{1}{d} \sum_c (x_c - \mu)^2$$

    The variance is the biased one, divided by d and not by d - 1, and ε stands inside the root.

    Args:
        x: (..., d), real floats; each row is normalised by itself.
        gamma: γ (d,), same dtype, or None for ones.
        beta: β (d,), same dtype, or None for zeros.
        eps: ε, at least 0, in units of x squared. It keeps a constant row from dividing by 0.

    Returns:
        The same shape and dtype, dimensionless where γ and β are.

    Raises:
        ValueError: ε is below 0.

    Source:
        Ba, Kiros and Hinton 2016, "Layer Normalization", §3.1; ε as in PyTorch.

    Examples:
        Mean 1/4, variance 1/4 - 1/16 = 3/16, and (1 - 1/4) / √(3/16) = √3 = 1.732.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> text(layer_norm(np.array([1.0, 0, 0, 0])), ".3f")
        '[1.732, -0.577, -0.577, -0.577]'
    """
    xp = array_namespace(x)
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centred * centred, axis=-1, keepdims=True)  # divided by d
    normal = centred / xp.sqrt(variance + eps)
    scaled = normal if gamma is None else normal * gamma
    return scaled if beta is None else scaled + beta


@requires("eps must be at least 0", lambda eps: eps >= 0)
def layer_norm_gradient(
    x: Float[Array, "*batch d"], by_output: Float[Array, "*batch d"], eps: float = 1e-5
) -> Float[Array, "*batch d"]:
    r"""Gradient of a loss by the input of LayerNorm, where γ is 1, from that by the output.

    $$\frac{\partial L}{\partial x_e} = \frac{1}{\sqrt{\sigma^2 + \varepsilon}} \left(
      g_e - \frac{1}{d} \sum_c g_c - \frac{\hat x_e}{d} \sum_c g_c\, \hat x_c \right),
      \qquad g_c = \frac{\partial L}{\partial \hat x_c}$$

    Args:
        x: (..., d), real floats, as `layer_norm` was given it.
        by_output: g (..., d), same dtype, in units of the loss; times γ where there is one.
        eps: ε, at least 0, in units of x squared.

    Returns:
        (..., d), same dtype, in units of the loss / units of x.

    Raises:
        ValueError: ε is below 0.

    Source:
        The quotient rule for Ba, Kiros and Hinton 2016, "Layer Normalization", §3.1.

    Examples:
        x = (1, -1, 1, -1) is normal already: mean 0, σ = 1. From g = (4, 0, 0, 0) its mean 1 is
        taken, and x̂ times the mean of g x̂, which is 1: 4 - 1 - 1, 0 - 1 + 1, 0 - 1 - 1, 0 - 1 + 1.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> x, by_output = np.array([1.0, -1, 1, -1]), np.array([4.0, 0, 0, 0])
        >>> text(layer_norm_gradient(x, by_output, eps=0), ".0f")
        '[2, 0, -2, 0]'
    """
    xp = array_namespace(x)
    normal = layer_norm(x, eps=eps)
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    root = xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + eps)
    common = xp.mean(by_output, axis=-1, keepdims=True)
    along = xp.mean(by_output * normal, axis=-1, keepdims=True)
    return (by_output - common - normal * along) / root


@requires("eps must be at least 0", lambda eps: eps >= 0)
def rms_norm(
    x: Float[Array, "... d"], gamma: Float[Array, " d"] | None = None, eps: float = 1e-6
) -> Float[Array, "... d"]:
    r"""Root mean square normalisation: every row gets mean square 1, then a scale.

    $$\operatorname{RMSNorm}(x)_c = \gamma_c\,
      \frac{x_c}{\sqrt{\frac{1}{d} \sum_e x_e^2 + \varepsilon}}$$

    LayerNorm without its two means: nothing is subtracted, and there is no shift.

    Args:
        x: (..., d), real floats; each row is normalised by itself.
        gamma: γ (d,), same dtype, or None for ones.
        eps: ε, at least 0, in units of x squared. It keeps a row of zeros from dividing by 0.

    Returns:
        The same shape and dtype, dimensionless where γ is.

    Raises:
        ValueError: ε is below 0.

    Source:
        Zhang and Sennrich 2019, "Root Mean Square Layer Normalization", §3; ε as in Llama.

    Examples:
        Mean square (9 + 16) / 2 = 12.5, and 3 / √12.5 = 0.849, 4 / √12.5 = 1.131.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> text(rms_norm(np.array([3.0, 4.0])), ".3f")
        '[0.849, 1.131]'
    """
    xp = array_namespace(x)
    normal = x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + eps)
    return normal if gamma is None else normal * gamma


@checked
def relu(x: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""What is negative becomes 0: $\max(0, x)$, component by component.

    Args:
        x: any shape, real floats.

    Returns:
        The same shape, dtype and units.

    Source:
        Nair and Hinton 2010, "Rectified Linear Units Improve Restricted Boltzmann Machines".

    Examples:
        >>> import numpy as np
        >>> relu(np.array([-2.0, 0.0, 3.0]))
        array([0., 0., 3.])
    """
    xp = array_namespace(x)
    return xp.where(x > 0, x, xp.zeros_like(x))


@checked
def feed_forward(
    x: Float[Array, "... n d_model"],
    W_1: Float[Array, "d_model d_ff"],
    W_2: Float[Array, "d_ff d_out"],
    b_1: Float[Array, " d_ff"] | None = None,
    b_2: Float[Array, " d_out"] | None = None,
    activation: Callable[[Array], Array] = relu,
    dropout: Callable[[Array], Array] | None = None,
) -> Float[Array, "... n d_out"]:
    r"""The feed-forward network: two linear maps with a bend between them, token by token.

    $$\operatorname{FFN}(x) = \varphi(x W_1 + b_1)\, W_2 + b_2, \qquad \varphi = \max(0, \cdot)$$

    Args:
        x: (..., n, d_model), real floats; no token sees another one here.
        W_1: (d_model, d_ff), same dtype.
        W_2: (d_ff, d_out), same dtype; in a block d_out is d_model.
        b_1: bias (d_ff,), or None.
        b_2: bias (d_out,), or None.
        activation: φ, a function of each component; `relu` or, say, torch's `gelu`.
        dropout: a function such as `nn.Dropout(p)`, used on the hidden components, or None.

    Returns:
        (..., n, d_out), same dtype.

    Source:
        Vaswani et al. 2017, "Attention Is All You Need", §3.3, equation 2.

    Examples:
        The distance of two components, |x₁ - x₂| = max(0, x₁ - x₂) + max(0, x₂ - x₁).

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> W_1, W_2 = np.array([[1.0, -1], [-1, 1]]), np.array([[1.0], [1]])
        >>> text(feed_forward(np.array([[3.0, 1], [1, 3], [2, 2]]), W_1, W_2), ".0f").split()
        ['[[2],', '[2],', '[0]]']
    """
    hidden = activation(linear(x, W_1, b_1))  # (..., n, d_ff)
    hidden = hidden if dropout is None else dropout(hidden)
    return linear(hidden, W_2, b_2)


@checked
def silu(x: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""A smooth relative of `relu`, component by component.

    $$\operatorname{SiLU}(x) = \frac{x}{1 + e^{-x}}$$

    Args:
        x: any shape, real floats.

    Returns:
        The same shape and dtype; about x where x is large, about 0 where it is very negative.

    Source:
        Ramachandran, Zoph and Le 2017, "Searching for Activation Functions", §3, there "Swish".

    Examples:
        e to the -ln 3 is 1/3, and ln 3 / (1 + 1/3) = 0.8240; at -ln 3 it is -ln 3 / 4.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> text(silu(np.log(np.array([3.0, 1.0, 1 / 3]))), ".4f")
        '[0.8240, 0.0000, -0.2747]'
    """
    xp = array_namespace(x)
    small = xp.exp(-xp.abs(x))  # never above 1, so nothing overflows
    return x * xp.where(x >= 0, 1, small) / (1 + small)


@checked
def swiglu(
    x: Float[Array, "... n d_model"],
    W_gate: Float[Array, "d_model d_ff"],
    W_up: Float[Array, "d_model d_ff"],
    W_down: Float[Array, "d_ff d_out"],
) -> Float[Array, "... n d_out"]:
    r"""A feed-forward network with a gate: one map decides how much of the other passes.

    $$\operatorname{SwiGLU}(x) = \bigl( \operatorname{SiLU}(x W_\text{gate})
      \odot x W_\text{up} \bigr)\, W_\text{down}$$

    Args:
        x: (..., n, d_model), real floats; no token sees another one here.
        W_gate: (d_model, d_ff), same dtype.
        W_up: (d_model, d_ff), same dtype; its product with x is multiplied, component by component.
        W_down: (d_ff, d_out), same dtype; in a block d_out is d_model.

    Returns:
        (..., n, d_out), same dtype.

    Source:
        Shazeer 2020, "GLU Variants Improve Transformer", §2, equation 6.

    Examples:
        The gate is SiLU(ln 3) = 0.8240, what it lets through 2 · ln 3, and 5 times their product
        is 9.0521.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> x, one = np.log(np.array([[3.0]])), np.ones((1, 1))
        >>> text(swiglu(x, one, 2 * one, 5 * one), ".4f")
        '[[9.0521]]'
    """
    return linear(silu(linear(x, W_gate)) * linear(x, W_up), W_down)


@checked
def encoder_block(
    x: Float[Array, "... n d_model"],
    parameters: BlockParameters,
    num_heads: int,
    mask: Any = None,
    norm_first: bool = False,
    activation: Callable[[Array], Array] = relu,
    dropout: Callable[[Array], Array] | None = None,
    eps: float = 1e-5,
) -> Float[Array, "... n d_model"]:
    r"""One Transformer block: attention, then a feed-forward network, each with a way around it.

    $$\begin{aligned}
      \text{post-norm:} \quad z &= \operatorname{LN}_1(x + \operatorname{MHA}(x)),
      & y &= \operatorname{LN}_2(z + \operatorname{FFN}(z)) \\
      \text{pre-norm:} \quad z &= x + \operatorname{MHA}(\operatorname{LN}_1(x)),
      & y &= z + \operatorname{FFN}(\operatorname{LN}_2(z))
      \end{aligned}$$

    Args:
        x: (..., n, d_model), real floats.
        parameters: matrices, biases, scales and shifts, same dtype.
        num_heads: h, which must divide d_model.
        mask: as for `multi_head_attention`. Booleans: True takes part.
        norm_first: False is post-norm, True is pre-norm.
        activation: of the feed-forward network.
        dropout: a function such as `nn.Dropout(p)` or None. Used on the attention weights, on the
            hidden components, and on what attention and network give before it is added to x.
        eps: ε of both LayerNorms.

    Returns:
        (..., n, d_model), same dtype.

    Raises:
        TypeError: the mask holds neither booleans nor floats of the scores' dtype.
        ValueError: attention that changes the shape of x.

    Source:
        Post-norm: Vaswani et al. 2017, "Attention Is All You Need", §3.1. Pre-norm: Xiong et al.
        2020, "On Layer Normalization in the Transformer Architecture", table 1.

    Examples:
        Parameters of 0 leave the way around alone: pre-norm gives x back, post-norm normalises it.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> zero = np.zeros((4, 4))
        >>> parameters = BlockParameters(Parameters(zero, zero, zero, zero), zero, zero)
        >>> x = np.array([[1.0, 0, 0, 0]])
        >>> text(encoder_block(x, parameters, num_heads=2, norm_first=True), ".3f")
        '[[1.000, 0.000, 0.000, 0.000]]'
        >>> text(encoder_block(x, parameters, num_heads=2), ".3f")
        '[[1.732, -0.577, -0.577, -0.577]]'
    """
    p = parameters

    def norm_1(z: Array) -> Array:
        return layer_norm(z, p.gamma_1, p.beta_1, eps)

    def norm_2(z: Array) -> Array:
        return layer_norm(z, p.gamma_2, p.beta_2, eps)

    def attend(z: Array) -> Array:
        out, _ = multi_head_attention(z, z, z, p.attention, num_heads, mask, dropout)
        return out if dropout is None else dropout(out)

    def feed(z: Array) -> Array:
        out = feed_forward(z, p.W_1, p.W_2, p.b_1, p.b_2, activation, dropout)
        return out if dropout is None else dropout(out)

    if norm_first:
        x = add_residual(x, attend(norm_1(x)))
        return add_residual(x, feed(norm_2(x)))
    x = norm_1(add_residual(x, attend(x)))
    return norm_2(add_residual(x, feed(x)))


@checked
def add_residual(
    x: Float[Array, "*batch n d_model"], output: Float[Array, "*batch n d_model"]
) -> Float[Array, "*batch n d_model"]:
    """Input plus output of a part of a block, which must have the same shape: $x + f(x)$.

    Source:
        He et al. 2016, "Deep Residual Learning for Image Recognition", §3.2.

    Examples:
        >>> import numpy as np
        >>> add_residual(np.array([[1.0, 2.0]]), np.array([[0.5, -2.0]]))
        array([[1.5, 0. ]])
    """
    return x + output


@requires("d_model and d_ff must be at least 1", lambda d_model, d_ff: min(d_model, d_ff) >= 1)
def block_parameter_count(d_model: int, d_ff: int, bias: bool = True) -> int:
    r"""Numbers that one block learns.

    $$\underbrace{4d^2 + 4d}_{\text{attention}} + \underbrace{2\,d\,d_\text{ff} + d_\text{ff} + d}
      _{\text{feed-forward}} + \underbrace{2 \cdot 2d}_{\text{LayerNorm}}
      \;\overset{d_\text{ff} = 4d}{=}\; 12d^2 + 13d$$

    Args:
        d_model: d, size of inputs and outputs.
        d_ff: size of the hidden layer.
        bias: whether linear maps have biases and LayerNorms have shifts; without them
            4d² + 2·d·d_ff + 2d are left.

    Returns:
        The count, dimensionless; the number of heads drops out.

    Raises:
        ValueError: a size below 1.

    Source:
        The shapes in Vaswani et al. 2017, §3.2.2 and §3.3.

    Examples:
        The Transformer's base model: 12·512² + 13·512 = 3145728 + 6656.

        >>> block_parameter_count(512, 2048)
        3152384
    """
    network = 2 * d_model * d_ff + bias * (d_ff + d_model)
    return parameter_count(d_model, 1, bias) + network + 2 * (1 + bias) * d_model


@requires(
    "n, d_model and d_ff must be at least 1",
    lambda n, d_model, d_ff: min(n, d_model, d_ff) >= 1,
)
def block_flops(n: int, d_model: int, d_ff: int) -> int:
    r"""Floating-point operations of the matrix products of one block, for one sequence.

    $$\underbrace{4 \cdot 2nd^2}_{W_Q, W_K, W_V, W_O} + \underbrace{2n^2d}_{\text{scores}}
      + \underbrace{2n^2d}_{\text{weighted sums}} + \underbrace{2 \cdot 2n\,d\,d_\text{ff}}
      _{W_1, W_2} = 8nd^2 + 4n^2d + 4n\,d\,d_\text{ff}$$

    A product of (a, b) and (b, c) takes a·b·c multiplications and as many additions. Softmax,
    LayerNorm, activation, biases and sums are left out.

    Args:
        n: number of tokens.
        d_model: d, size of inputs and outputs.
        d_ff: size of the hidden layer.

    Returns:
        The count, dimensionless; the number of heads drops out.

    Raises:
        ValueError: a size below 1.

    Source:
        Kaplan et al. 2020, "Scaling Laws for Neural Language Models", table 1.

    Examples:
        8·3·4² + 4·3²·4 + 4·3·4·5 = 384 + 144 + 240.

        >>> block_flops(3, 4, 5)
        768
    """
    return 8 * n * d_model**2 + 4 * n**2 * d_model + 4 * n * d_model * d_ff
