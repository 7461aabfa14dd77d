"""Writing one token at a time: cache, shared and compressed keys, sampling with a draft, beams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import log, sqrt
from typing import Any, NamedTuple

from jaxtyping import Bool, Float

from attention_docs.attention_function import attention
from attention_docs.checks import requires
from attention_docs.masking import causal_mask
from attention_docs.multi_head import join_heads, linear, split_heads
from attention_docs.signatures import Array, array_namespace, checked, shape
from attention_docs.transformer_block import BlockParameters, block_flops, feed_forward, layer_norm

# --- the cache ------------------------------------------------------------------------------------


class Cache(NamedTuple):
    """Keys and values of the tokens so far, of one layer.

    Attributes:
        key: (..., g, n, d_k), one set a key/value head; positions, if any, already in them.
        value: (..., g, n, d_v).
    """

    key: Float[Array, "*batch n_cached d_k"]
    value: Float[Array, "*batch n_cached d_v"]


@checked
def extended(
    cache: Cache | None, key: Float[Array, "*batch n d_k"], value: Float[Array, "*batch n d_v"]
) -> Cache:
    r"""A cache with the keys and values of new tokens behind the old ones.

    $$K \leftarrow \begin{bmatrix} K \\ k_{n+1} \end{bmatrix}, \qquad
      V \leftarrow \begin{bmatrix} V \\ v_{n+1} \end{bmatrix}$$

    Args:
        cache: keys (..., n, d_k) and values (..., n, d_v) of one dtype, or None before the first
            token.
        key: (..., t, d_k), keys of the new tokens, same dtype.
        value: (..., t, d_v), their values.

    Returns:
        A new cache of n + t tokens; the old one is left alone.

    Source:
        Shazeer 2019, "Fast Transformer Decoding", §2.4, incremental attention.

    Examples:
        >>> import numpy as np
        >>> one = extended(None, np.ones((1, 2)), np.ones((1, 3)))
        >>> two = extended(one, np.zeros((1, 2)), np.zeros((1, 3)))
        >>> two.key.tolist(), one.key.tolist()
        ([[1.0, 1.0], [0.0, 0.0]], [[1.0, 1.0]])
    """
    if cache is None:
        return Cache(key, value)
    xp = array_namespace(key)
    return Cache(xp.concat([cache.key, key], axis=-2), xp.concat([cache.value, value], axis=-2))


@checked
def attend_with_cache(
    query: Float[Array, "... h t d_k"],
    key: Float[Array, "... g t d_k"],
    value: Float[Array, "... g t d_v"],
    cache: Cache | None = None,
    window: int | None = None,
) -> tuple[Float[Array, "... h t d_v"], Cache]:
    r"""Causal attention of new tokens to the cached ones and to themselves.

    $$o_i = \sum_{j \le i} a_{ij}\, v_j, \qquad i = n + 1, \dots, n + t$$

    Args:
        query: (..., h, t, d_k), real floats, queries of the t new tokens alone.
        key: (..., g, t, d_k), same dtype; g divides h.
        value: (..., g, t, d_v), same dtype.
        cache: what the tokens before left, or None before the first.
        window: w, if a query sees the last w keys alone, its own among them; the cache that comes
            back then holds no more than w tokens.

    Returns:
        The outputs (..., h, t, d_v) of the new tokens, and the cache that holds them too.

    Raises:
        ValueError: a window below 1.

    Source:
        Shazeer 2019, "Fast Transformer Decoding", §2.4; the window: Jiang et al. 2023,
        "Mistral 7B", §2.

    Examples:
        Queries of 0 average what they see: 2, then (2 + 4)/2, then with a window of 2 (4 + 8)/2.

        >>> import numpy as np
        >>> zero, cache, seen = np.zeros((1, 1, 1)), None, []
        >>> for v in (2.0, 4.0, 8.0):
        ...     output, cache = attend_with_cache(zero, zero, zero + v, cache, window=2)
        ...     seen.append(output.item())
        >>> seen, cache.value.ravel().tolist()
        ([2.0, 3.0, 6.0], [4.0, 8.0])
    """
    t = query.shape[-2]
    longer = extended(cache, key, value)
    if window is not None:  # what none of the new tokens sees is not worth a score
        longer = Cache(*(one[..., -(window - 1 + t) :, :] for one in longer))
    n = longer.key.shape[-2]
    mask = window_mask(t, n, n if window is None else window, offset=n - t, like=query)
    outputs, _ = grouped_attention(query, longer.key, longer.value, mask)
    if window is None:
        return outputs, longer
    return outputs, Cache(longer.key[..., -window:, :], longer.value[..., -window:, :])


@requires("window must be at least 1, the query's own key", lambda window: window >= 1)
def window_mask(
    n_query: int,
    n_key: int | None = None,
    window: int = 1,
    *,
    offset: int = 0,
    like: Array | None = None,
) -> Bool[Array, "n_q n_k"]:
    r"""A causal mask that also forgets: each query sees the last w keys alone, its own included.

    $$\text{mask}_{ij} = (i + \text{offset} - w < j \le i + \text{offset})$$

    Args:
        n_query: number of queries, at least 1.
        n_key: number of keys; as many as queries where it is left out.
        window: w, at least 1.
        offset: tokens that stand before the first query, as for `causal_mask`.
        like: an array whose library and device the mask gets; NumPy where it is left out.

    Returns:
        Booleans (n_query, n_key), True takes part.

    Raises:
        ValueError: n_query, n_key or the window is below 1.

    Source:
        Beltagy et al. 2020, "Longformer", §3.1, in its causal form.

    Examples:
        >>> window_mask(3, window=2).astype(int)
        array([[1, 0, 0],
               [1, 1, 0],
               [0, 1, 1]])
    """
    now = causal_mask(n_query, n_key, offset=offset, like=like)
    return now & ~causal_mask(n_query, n_key, offset=offset - window, like=like)


@requires(
    lambda parameters, num_heads: (
        "the columns of W_k must be heads of the size of those of W_q, got shapes "
        f"{shape(parameters.attention.W_k)} and {shape(parameters.attention.W_q)}"
    ),
    lambda parameters, num_heads: (
        num_heads * parameters.attention.W_k.shape[-1] % parameters.attention.W_q.shape[-1] == 0
    ),
)
def cached_block(
    x: Float[Array, "... t d_model"],
    parameters: BlockParameters,
    num_heads: int,
    cache: Cache | None = None,
    eps: float = 1e-5,
) -> tuple[Float[Array, "... t d_model"], Cache]:
    r"""One pre-norm block for new tokens alone: `encoder_block` under a causal mask, continued.

    $$z = x + \operatorname{MHA}(\operatorname{LN}_1(x)), \qquad
      y = z + \operatorname{FFN}(\operatorname{LN}_2(z))$$

    Args:
        x: (..., t, d_model), real floats, the inputs of the t new tokens.
        parameters: as for `encoder_block`. Fewer columns in W_k and W_v mean fewer key/value heads.
        num_heads: h, the number of query heads.
        cache: of this block, from the tokens before; None before the first.
        eps: ε of both LayerNorms.

    Returns:
        The outputs (..., t, d_model) of the new tokens, and this block's cache.

    Raises:
        ValueError: a number of key/value heads that does not divide h.

    Source:
        Pope et al. 2022, "Efficiently Scaling Transformer Inference", §2.

    Examples:
        Parameters of 0 leave the way around alone, and a cache of zeros, one row a token.

        >>> import numpy as np
        >>> from attention_docs.multi_head import Parameters
        >>> zero = np.zeros((2, 2))
        >>> parameters = BlockParameters(Parameters(zero, zero, zero, zero), zero, zero)
        >>> y, cache = cached_block(np.array([[3.0, 5]]), parameters, num_heads=1)
        >>> y.tolist(), cache.key.tolist()
        ([[3.0, 5.0]], [[[0.0, 0.0]]])
    """
    p, a = parameters, parameters.attention
    normal = layer_norm(x, p.gamma_1, p.beta_1, eps)
    q = split_heads(linear(normal, a.W_q, a.b_q), num_heads)  # (..., h, t, d_k)
    k, v = linear(normal, a.W_k, a.b_k), linear(normal, a.W_v, a.b_v)
    groups = k.shape[-1] // q.shape[-1]
    new = split_heads(k, groups), split_heads(v, groups)
    heads, cache = attend_with_cache(q, *new, cache)
    x = x + linear(join_heads(heads), a.W_o, a.b_o)
    fed = feed_forward(layer_norm(x, p.gamma_2, p.beta_2, eps), p.W_1, p.W_2, p.b_1, p.b_2)
    return x + fed, cache


# --- fewer keys and values ------------------------------------------------------------------------


@requires(
    "the number of key/value heads must divide that of the query heads", lambda g, h: h % g == 0
)
@requires(
    lambda mask, h: f"mask must have 1 or {h} heads, got shape {shape(mask)}",
    lambda mask, h: getattr(mask, "ndim", 2) <= 2 or mask.shape[-3] in (1, h),
)
def grouped_attention(
    query: Float[Array, "... h n_q d_k"],
    key: Float[Array, "... g n_k d_k"],
    value: Float[Array, "... g n_k d_v"],
    mask: Any = None,
) -> tuple[Float[Array, "... h n_q d_v"], Float[Array, "... h n_q n_k"]]:
    r"""Attention in which h/g query heads in a row share one head of keys and values.

    $$O_r = \operatorname{Attention}(Q_r, K_c, V_c), \qquad
      c = \left\lceil r \cdot \tfrac{g}{h} \right\rceil$$

    Args:
        query: (..., h, n_q, d_k), real floats.
        key: (..., g, n_k, d_k), same dtype. g = h is multi-head, g = 1 multi-query attention.
        value: (..., g, n_k, d_v), same dtype.
        mask: None, (n_q, n_k) for all heads, or with all axes of the weights and 1 or h heads.
            Booleans: True takes part.

    Returns:
        The outputs (..., h, n_q, d_v) and the weights (..., h, n_q, n_k).

    Raises:
        TypeError: the mask holds neither booleans nor floats of the scores' dtype.
        ValueError: a number of key/value heads that does not divide h.

    Source:
        Ainslie et al. 2023, "GQA", §2.2; Shazeer 2019, "Fast Transformer Decoding", §3.

    Examples:
        Four query heads of 0, two value heads: heads 1 and 2 get the first, 3 and 4 the second.

        >>> import numpy as np
        >>> key = np.zeros((2, 1, 1))
        >>> output, _ = grouped_attention(np.zeros((4, 1, 1)), key, np.array([[[5.0]], [[7]]]))
        >>> output.ravel().tolist()
        [5.0, 5.0, 7.0, 7.0]
    """
    xp, h, g = array_namespace(query), query.shape[-3], key.shape[-3]
    if mask is not None and getattr(mask, "ndim", 2) > 2:
        parts = (1, 1) if mask.shape[-3] == 1 else (g, h // g)
        mask = xp.reshape(mask, (*shape(mask)[:-3], *parts, *shape(mask)[-2:]))
    grouped = xp.reshape(query, (*shape(query)[:-3], g, h // g, *shape(query)[-2:]))
    outputs, weights = attention(grouped, key[..., None, :, :], value[..., None, :, :], mask)
    return tuple(
        xp.reshape(one, (*shape(one)[:-4], h, *shape(one)[-2:])) for one in (outputs, weights)
    )


@checked
def latent_attention(
    query: Float[Array, "... h n_q d_k"],
    latent: Float[Array, "... n_k d_c"],
    W_uk: Float[Array, "h d_c d_k"],
    W_uv: Float[Array, "h d_c d_v"],
    mask: Any = None,
    absorbed: bool = True,
) -> Float[Array, "... h n_q d_v"]:
    r"""Attention whose keys and values of all heads are linear maps of one short vector a token.

    $$q_i \cdot (c_j W_{UK}^r) = \bigl(q_i\, (W_{UK}^r)^\top\bigr) \cdot c_j, \qquad
      \sum_j a_{ij}\, (c_j W_{UV}^r) = \Bigl(\sum_j a_{ij}\, c_j\Bigr) W_{UV}^r$$

    Args:
        query: (..., h, n_q, d_k), real floats.
        latent: c (..., n_k, d_c), same dtype: all that a cache needs to hold.
        W_uk: (h, d_c, d_k), makes the keys of each head.
        W_uv: (h, d_c, d_v), makes the values of each head.
        mask: broadcastable to (..., h, n_q, n_k), or None. Booleans: True takes part.
        absorbed: True computes the right sides and makes no key and no value; False the left.

    Returns:
        The outputs (..., h, n_q, d_v), the same either way but for rounding.

    Source:
        DeepSeek-AI 2024, "DeepSeek-V2", §2.1.2, without the part that carries positions.

    Examples:
        >>> import numpy as np
        >>> c, W_uk, W_uv = np.array([[0.0], [2]]), np.ones((1, 1, 3)), np.full((1, 1, 2), 5.0)
        >>> query = np.zeros((1, 1, 3))  # weights 1/2 and 1/2, mean latent 1
        >>> latent_attention(query, c, W_uk, W_uv).tolist()
        [[[5.0, 5.0]]]
    """
    c = latent[..., None, :, :]  # (..., 1, n_k, d_c), for all heads
    if not absorbed:
        return attention(query, c @ W_uk, c @ W_uv, mask)[0]
    # attention divides by √d_c, and the scores want √d_k.
    xp, d_c, d_k = array_namespace(query), latent.shape[-1], query.shape[-1]
    moved = query @ xp.matrix_transpose(W_uk) * sqrt(d_c / d_k)  # (..., h, n_q, d_c)
    return attention(moved, c, c, mask)[0] @ W_uv


# --- costs ----------------------------------------------------------------------------------------


@requires(
    "n, d_model and d_ff must be at least 1",
    lambda n, d_model, d_ff: min(n, d_model, d_ff) >= 1,
)
def decode_flops(n: int, d_model: int, d_ff: int, cached: bool = True) -> int:
    r"""Floating-point operations of one block's matrix products while n tokens come one by one.

    $$\text{with a cache: } n\,(8d^2 + 4d\,d_\text{ff}) + 2n(n+1)\,d, \qquad
      \text{without: } \sum_{t=1}^{n} \bigl(8td^2 + 4t\,d\,d_\text{ff} + 4t^2 d\bigr)$$

    Args:
        n: number of tokens, at least 1.
        d_model: d; keys and values of all heads have d components together.
        d_ff: size of the hidden layer.
        cached: whether keys and values are kept.

    Returns:
        The count, dimensionless.

    Raises:
        ValueError: a size below 1.

    Source:
        `block_flops`, summed; Pope et al. 2022, §2.

    Examples:
        d = d_ff = 1: tokens 1 and 2 cost 12 + 4 and 12 + 8; all anew 12 + 4 and 24 + 16.

        >>> decode_flops(2, 1, 1), decode_flops(2, 1, 1, cached=False)
        (36, 56)
    """
    if not cached:
        return sum(block_flops(t, d_model, d_ff) for t in range(1, n + 1))
    return n * (8 * d_model**2 + 4 * d_model * d_ff) + 2 * n * (n + 1) * d_model


class Configuration(NamedTuple):
    """What of a published model decides the size of its cache.

    Attributes:
        name: of the model.
        layers: number of layers.
        heads: number of query heads h.
        kv_heads: number of key/value heads g.
        d_head: components of a key, and of a value.
        latent: d_c, the size of the short vector that all keys and values are made of; 0 if they
            are kept themselves.
        position: d_r, with a latent: the size of the shared key that carries the position.
        window: w of the layers that see the last w tokens alone; 0 if there are none.
        windowed: how many layers have that window.
    """

    name: str
    layers: int
    heads: int
    kv_heads: int
    d_head: int
    latent: int = 0
    position: int = 0
    window: int = 0
    windowed: int = 0


CONFIGURATIONS = (
    Configuration("GPT-3 175B", 96, 96, 96, 128),  # Brown et al. 2020, table 2.1
    Configuration("PaLM 540B", 118, 48, 1, 256),  # Chowdhery et al. 2022, table 1 and §2
    Configuration("Llama 2 7B", 32, 32, 32, 128),  # Touvron et al. 2023, "LLaMA", table 2
    Configuration("Llama 2 70B", 80, 64, 8, 128),  # Touvron et al. 2023, "Llama 2", §A.2.1
    Configuration("Mistral 7B", 32, 32, 8, 128, 0, 0, 4096, 32),  # Jiang et al. 2023, table 1
    Configuration("Gemma 2B", 18, 8, 1, 256),  # Gemma Team 2024, table 1
    Configuration("Gemma 2 9B", 42, 16, 8, 256, 0, 0, 4096, 21),  # Gemma Team 2024b, table 1
    Configuration("Llama 3.1 8B", 32, 32, 8, 128),  # Grattafiori et al. 2024, table 3
    Configuration("Llama 3.1 405B", 126, 128, 8, 128),  # the same
    Configuration("Qwen2.5 72B", 80, 64, 8, 128),  # Qwen Team 2024, table 1
    Configuration("DeepSeek-V2", 60, 128, 128, 128, 512, 64),  # DeepSeek-AI 2024, §3.1.2
    Configuration("DeepSeek-V3", 61, 128, 128, 128, 512, 64),  # DeepSeek-AI 2024b, §4.2
)
"""Published models, with their numbers as their papers give them."""


@requires("bytes_per_number must be at least 1", lambda bytes_per_number: bytes_per_number >= 1)
def cache_bytes(model: Configuration, n: int, bytes_per_number: int = 2) -> int:
    r"""Bytes that the cache of one sequence takes.

    $$b \sum_{\text{layers}} \min(n, w) \cdot
      \begin{cases} 2\, g\, d_\text{head} & \text{keys and values} \\
      d_c + d_r & \text{a latent, and a key for positions} \end{cases}$$

    Args:
        model: layers, heads and sizes; w is n in layers without a window.
        n: number of tokens, at least 1.
        bytes_per_number: b, 2 in bfloat16 and float16.

    Returns:
        The count in bytes.

    Raises:
        ValueError: n or b below 1, key/value heads that do not divide the query heads, or more
            layers with a window than layers.

    Source:
        Pope et al. 2022, "Efficiently Scaling Transformer Inference", §2; DeepSeek-AI 2024,
        "DeepSeek-V2", table 1.

    Examples:
        One layer, one head of size 4, three tokens: 2·4·3 numbers of 2 bytes.

        >>> cache_bytes(Configuration("tiny", 1, 1, 1, 4), 3)
        48
    """
    of_token = model.latent + model.position or 2 * model.kv_heads * model.d_head
    return bytes_per_number * of_token * _tokens_of_layers(model, n)


def step_flops(model: Configuration, n: int) -> int:
    r"""Operations of attention, in all layers, for one new token that sees n keys.

    $$\sum_{\text{layers}} \min(n, w) \cdot \begin{cases}
      4\, h\, d_\text{head} & \text{scores, and the sum of values} \\
      2h\,(d_c + d_r) + 2h\, d_c & \text{over a latent, with the query moved} \end{cases}$$

    Args:
        model: layers, heads and sizes; w is n in layers without a window.
        n: number of keys, the new token's own among them, at least 1.

    Returns:
        The count, dimensionless. Linear maps are left out, and so is moving the query.

    Raises:
        ValueError: as for `cache_bytes`.

    Source:
        `block_flops`, for one row; DeepSeek-AI 2024, "DeepSeek-V2", §2.1.2.

    Examples:
        One layer, two query heads of size 4 on one key head, three keys: 4·2·4·3.

        >>> step_flops(Configuration("tiny", 1, 2, 1, 4), 3)
        96
    """
    of_key = 4 * model.heads * model.d_head
    if model.latent:
        of_key = 2 * model.heads * (2 * model.latent + model.position)
    return of_key * _tokens_of_layers(model, n)


@requires(
    lambda model, n: (
        "n, layers, heads, kv_heads and d_head must be at least 1, got "
        f"{n}, {model.layers}, {model.heads}, {model.kv_heads} and {model.d_head}"
    ),
    lambda model, n: min(n, model.layers, model.heads, model.kv_heads, model.d_head) >= 1,
)
@requires(
    lambda model: (
        "the number of key/value heads must divide that of the query heads, "
        f"got {model.kv_heads} and {model.heads}"
    ),
    lambda model: model.heads % model.kv_heads == 0,
)
@requires(
    lambda model: (
        "latent and position must not be negative, and a position goes with a latent, "
        f"got {model.latent} and {model.position}"
    ),
    lambda model: model.latent >= 0 <= model.position and (model.latent or not model.position),
)
@requires(
    lambda model: (
        f"wanted 0 to {model.layers} layers with a window of at least 1, "
        f"got {model.windowed} with {model.window}"
    ),
    lambda model: (
        model.windowed in range(model.layers + 1) and (not model.windowed or model.window > 0)
    ),
)
def _tokens_of_layers(model: Configuration, n: int) -> int:
    """Tokens kept, summed over the layers; ValueError for sizes that make no sense."""
    whole = model.layers - model.windowed
    return whole * n + model.windowed * min(n, model.window)


# --- speculative sampling -------------------------------------------------------------------------

Probabilities = Sequence[Any]
"""One probability a token: fractions for exact results, or floats."""


@requires(
    "target and draft must be probabilities of one vocabulary that sum to 1",
    lambda target, draft: _are_distributions(target, draft),
)
def acceptance(target: Probabilities, draft: Probabilities) -> list[Any]:
    r"""With which probability a drafted token is kept.

    $$\alpha(x) = \min\left(1, \frac{p(x)}{q(x)}\right)$$

    Args:
        target: p, one probability a token of the vocabulary, fractions or floats.
        draft: q, likewise.

    Returns:
        A probability for each token; 1 where q is 0 and the token is never drafted.

    Raises:
        ValueError: no tokens, another number of them, a negative probability, or probabilities that
            do not sum to 1 (fractions exactly, floats to within 1e-6).

    Source:
        Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding", §2.3;
        Chen et al. 2023, "Accelerating Large Language Model Decoding with Speculative Sampling".

    Examples:
        >>> p, q = [Fraction(1, 2), Fraction(1, 2)], [Fraction(3, 4), Fraction(1, 4)]
        >>> [str(one) for one in acceptance(p, q)]
        ['2/3', '1']
    """
    return [1 if q <= p else p / q for p, q in zip(target, draft, strict=True)]


@requires(
    "target and draft must be probabilities of one vocabulary that sum to 1",
    lambda target, draft: _are_distributions(target, draft),
)
def residual(target: Probabilities, draft: Probabilities) -> list[Any]:
    r"""From what to sample when a drafted token is rejected.

    $$r(x) = \frac{\max(0,\; p(x) - q(x))}{\sum_y \max(0,\; p(y) - q(y))}$$

    Args:
        target: p, one probability a token of the vocabulary, fractions or floats.
        draft: q, likewise.

    Returns:
        One probability a token. Where p = q nothing is ever rejected, and p comes back.

    Raises:
        ValueError: as for `acceptance`.

    Source:
        Leviathan et al. 2023, §2.3.

    Examples:
        >>> p, q = [Fraction(1, 2), Fraction(1, 2)], [Fraction(3, 4), Fraction(1, 4)]
        >>> [str(one) for one in residual(p, q)]
        ['0', '1']
    """
    above = [max(p - q, 0 * p) for p, q in zip(target, draft, strict=True)]
    total = sum(above)
    return [one / total for one in above] if total else list(target)


@requires(
    lambda drafted, drafts, targets, chances: (
        f"for {len(drafted)} drafted tokens: wanted as many drafts, and one more of targets and "
        f"of chances, got {len(drafts)}, {len(targets)} and {len(chances)}"
    ),
    lambda drafted, drafts, targets, chances: (
        len(drafts) == len(drafted) and len(targets) == len(chances) == len(drafted) + 1
    ),
)
@requires(
    "chances must be at least 0 and below 1", lambda chances: all(0 <= u < 1 for u in chances)
)
@requires(
    "drafts and targets must be probabilities of one vocabulary that sum to 1",
    lambda drafts, targets: _are_distributions(*drafts, *targets),
)
@requires(
    lambda drafted, targets: (
        f"drafted tokens must be from 0 to {len(targets[0]) - 1}, got {list(drafted)}"
    ),
    lambda drafted, targets: all(0 <= x < len(targets[0]) for x in drafted),
)
def speculate(
    drafted: Sequence[int],
    drafts: Sequence[Probabilities],
    targets: Sequence[Probabilities],
    chances: Sequence[float],
) -> list[int]:
    r"""Keep drafted tokens from the left while each passes its test, then add one of the target's.

    Token i is kept if its chance is below $\alpha_i(x_i)$. At the first that is not, one token is
    drawn from the residual, and the rest is dropped. If all are kept, one is drawn from
    $p_{k+1}$.

    Args:
        drafted: k tokens x_1 … x_k that the draft model wrote, ids from 0.
        drafts: q_1 … q_k, from which they were drawn.
        targets: p_1 … p_{k+1}, of the target model after the same tokens; one pass gives them all.
        chances: k + 1 numbers from [0, 1), drawn uniformly: one for each test, the last to draw.

    Returns:
        From 1 to k + 1 tokens, distributed as if the target model had written them.

    Raises:
        ValueError: lists whose lengths do not go together, chances or ids out of range, or
            probabilities as for `acceptance`.

    Source:
        Leviathan et al. 2023, algorithm 1.

    Examples:
        Token 0 is kept with the probability 2/3. If not, token 1 comes in its place.

        >>> p, q = [0.5, 0.5], [0.75, 0.25]
        >>> speculate([0], [q], [p, p], [0.6, 0.9]), speculate([0], [q], [p, p], [0.7, 0.9])
        ([0, 1], [1])
    """
    for i, x in enumerate(drafted):
        if chances[i] >= acceptance(targets[i], drafts[i])[x]:
            last = _drawn(residual(targets[i], drafts[i]), chances[-1])
            return [*drafted[:i], last]
    return [*drafted, _drawn(targets[-1], chances[-1])]


@requires("wanted 0 ≤ α ≤ 1 and k ≥ 0", lambda accepted, k: 0 <= accepted <= 1 and k >= 0)
def expected_tokens(accepted: Any, k: int) -> Any:
    r"""Tokens that one pass of the target model yields on average.

    $$1 + \alpha + \alpha^2 + \dots + \alpha^k$$

    Args:
        accepted: α, the probability that a drafted token is kept, the same for each and
            independent of the others; from 0 to 1.
        k: number of drafted tokens, at least 0.

    Returns:
        The mean, in tokens; a fraction for a fraction.

    Raises:
        ValueError: α outside [0, 1], or k below 0.

    Source:
        Leviathan et al. 2023, §3.1, equation 1.

    Examples:
        >>> str(expected_tokens(Fraction(1, 2), 3))
        '15/8'
    """
    return sum(accepted**i for i in range(k + 1))


# --- beam search ----------------------------------------------------------------------------------

Beam = tuple[tuple[int, ...], Any]
"""A text as ids of tokens, and its probability."""


@requires("width and most must be at least 1", lambda width, most: width >= 1 and most >= 1)
@requires("alpha must be at least 0", lambda alpha: alpha >= 0)
def beam_search(
    following: Callable[[tuple[int, ...]], Probabilities],
    width: int,
    most: int,
    end: int | None = None,
    alpha: float = 0,
) -> list[Beam]:
    r"""The likeliest texts that are found when only the `width` best beginnings are kept.

    $$\log p(x_1 \dots x_n) = \sum_{t=1}^{n} \log p(x_t \mid x_1 \dots x_{t-1}), \qquad
      \text{score}(x) = \frac{\log p(x)}{n^\alpha}$$

    Each kept beginning is continued by every token; of all these, the `width` with the best scores
    are kept. A beginning that ends in `end` is a whole text and is kept as it is.

    Args:
        following: gives the probabilities of the next token after a beginning.
        width: b, how many beginnings are kept; 1 takes the likeliest token each time.
        most: the number of tokens after which the search stops, `end` among them.
        end: the token after which a text is whole; None: texts have `most` tokens.
        alpha: 0 compares probabilities, 1 mean logarithms per token.

    Returns:
        At most `width` texts with their probabilities, the best score first; of equal ones, the
        one whose beginning was better, then the smaller id.

    Raises:
        ValueError: width or most below 1, or a negative alpha.

    Source:
        Sutskever et al. 2014, "Sequence to Sequence Learning with Neural Networks", §3.2; the
        length in the score: Wu et al. 2016, "Google's Neural Machine Translation System", §7.

    Examples:
        Token 0 is likelier at first, but nothing that follows it is.

        >>> after = {(): [0.6, 0.4], (0,): [0.5, 0.5], (1,): [0.9, 0.1]}
        >>> [beam_search(after.get, width, 2)[0] for width in (1, 2)]
        [((0, 0), 0.3), ((1, 0), 0.36000000000000004)]
    """

    def score(beam: Beam) -> float:
        tokens, p = beam
        return float(log(p) / len(tokens) ** alpha)

    beams: list[Beam] = [((), 1)]
    for _ in range(most):
        grown = [
            ((*tokens, x), p * chance)
            for tokens, p in beams
            if tokens[-1:] != (end,)
            for x, chance in enumerate(following(tokens))
            if chance > 0
        ]
        whole = [beam for beam in beams if beam[0][-1:] == (end,)]
        beams = sorted([*whole, *grown], key=score, reverse=True)[:width]
    return beams


def _are_distributions(*given: Probabilities) -> bool:
    """Of one vocabulary; fractions sum to 1 exactly, floats to within 1e-6."""
    slack = [0 if all(isinstance(p, Fraction | int) for p in one) else 1e-6 for one in given]
    return len({len(one) for one in given}) == 1 and all(
        min(one, default=-1) >= 0 and abs(sum(one) - 1) <= small
        for one, small in zip(given, slack, strict=True)
    )


def _drawn(probabilities: Probabilities, chance: float) -> int:
    """The token in whose part of [0, 1) the chance falls."""
    below: Any = 0
    for token, p in enumerate(probabilities):
        below = below + p
        if chance < below:
            return token
    return max(x for x, p in enumerate(probabilities) if p > 0)  # the sum was rounded below 1
