"""What a map of attention shows: maps over several layers, with values, with gradients, patched."""

from __future__ import annotations

from collections import deque

import numpy as np
from array_api_compat import device
from jaxtyping import Float

from attention_docs.checks import requires
from attention_docs.signatures import Array, array_namespace, checked, shape

CLOSE = 1e-4  # how far from 1 the sum of a row may be; weights of a model come in float32

_are_weights = requires(
    lambda weights: f"rows of weights must be at least 0 and sum to 1, got sums {_sums(weights)}",
    lambda weights: bool((weights >= 0).all() and (abs(weights.sum(axis=-1) - 1) <= CLOSE).all()),
)


def _sums(weights: Array) -> list[float]:
    sums: list[float] = weights.sum(axis=-1).tolist()
    return sums


@_are_weights
def with_residual(weights: Float[Array, "... n n"]) -> Float[Array, "... n n"]:
    r"""Attention and the skip connection around it, as one map: half of each.

    $$\hat A = \frac{A + I}{2}$$

    Args:
        weights: A (..., n, n), real floats; rows sum to 1.

    Returns:
        (..., n, n), whose rows sum to 1 too.

    Raises:
        ValueError: rows that are not at least 0 with the sum 1.

    Source:
        Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", §3.

    Examples:
        >>> with_residual(np.array([[1.0, 0], [0.5, 0.5]])).tolist()
        [[1.0, 0.0], [0.25, 0.75]]
    """
    xp = array_namespace(weights)
    return (weights + xp.eye(shape(weights)[-1], dtype=weights.dtype, device=device(weights))) / 2


@checked
def attention_rollout(weights: Float[Array, "layers n n"]) -> Float[Array, "layers n n"]:
    r"""Attention rollout: how the maps of all layers up to each one pass on the tokens.

    $$R_l = \hat A_l R_{l-1}, \qquad R_0 = I, \qquad \hat A_l = \frac{A_l + I}{2}$$

    It takes no notice of values, of the output matrix, the feed-forward network and the norms.

    Args:
        weights: A_l (layers, n, n), real floats, of each layer the mean over its heads; the first
            layer first.

    Returns:
        R_l (layers, n, n), the rollout up to each layer; rows sum to 1.

    Raises:
        ValueError: rows that are not at least 0 with the sum 1.

    Source:
        Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", §3.

    Examples:
        Twice the same map: ¼ of the weight on the first token, then ¼ + ¾ · ¼.

        >>> A = np.array([[1.0, 0], [0.5, 0.5]])
        >>> attention_rollout(np.stack([A, A]))[-1].tolist()
        [[1.0, 0.0], [0.4375, 0.5625]]
    """
    xp = array_namespace(weights)
    rolled = [xp.eye(shape(weights)[-1], dtype=weights.dtype, device=device(weights))]
    for mixed in with_residual(weights):
        rolled.append(mixed @ rolled[-1])
    return xp.stack(rolled[1:])


@checked
def attention_flow(weights: Float[np.ndarray, "layers n n"]) -> Float[np.ndarray, "n n"]:
    r"""Attention flow: how much could run from each token below to each output, at the most.

    Each entry of $\hat A_l = (A_l + I)/2$ is a pipe of that width, from token j below layer l to
    token i above it. Entry (i, j) is the greatest flow from input j to output i alone.

    Args:
        weights: as for `attention_rollout`.

    Returns:
        (n, n). Rows need not sum to 1: different inputs may use the same pipe.

    Raises:
        ValueError: rows that are not at least 0 with the sum 1.

    Source:
        Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", §3.

    Examples:
        From token 1 to token 2 two ways lead, each as wide as its narrowest pipe, ¼.

        >>> A = np.array([[1.0, 0], [0.5, 0.5]])
        >>> attention_flow(np.stack([A, A])).tolist()
        [[1.0, 0.0], [0.5, 0.75]]
    """
    pipes = with_residual(weights)
    layers, n, _ = shape(weights)
    width = np.zeros(((layers + 1) * n,) * 2)  # from node to node; node l n + j is token j
    for layer, rows in enumerate(pipes):
        width[layer * n : (layer + 1) * n, (layer + 1) * n : (layer + 2) * n] = rows.T
    return np.array(
        [[_greatest_flow(width, j, layers * n + i) for j in range(n)] for i in range(n)]
    )


def _greatest_flow(width: Float[np.ndarray, "n n"], source: int, sink: int) -> float:
    """Along a shortest way that has room, again and again (Edmonds and Karp 1972)."""
    room, total = width.copy(), 0.0
    while sink in (before := _find_way(room, source)):
        way = [sink]
        while way[-1] != source:
            way.append(before[way[-1]])
        steps = list(zip(way[1:], way[:-1], strict=True))
        narrowest = min(room[step] for step in steps)
        for a, b in steps:
            room[a, b] -= narrowest
            room[b, a] += narrowest  # what has been sent can be sent back
        total += narrowest
    return float(total)


def _find_way(room: Float[np.ndarray, "n n"], source: int) -> dict[int, int]:
    """For each node that can be reached, the node before it."""
    before, waiting = {source: source}, deque([source])
    while waiting:
        here = waiting.popleft()
        for node in np.flatnonzero(room[here] > 0).tolist():
            if node not in before:
                before[node] = here
                waiting.append(node)
    return before


@checked
def value_weighted(
    weights: Float[Array, "... n_q n_k"], values: Float[Array, "... n_k d_v"]
) -> Float[Array, "... n_q n_k"]:
    r"""How long each weighted value is, rather than how large its weight.

    $$m_{ij} = a_{ij} \lVert v_j \rVert$$

    Args:
        weights: A (..., n_q, n_k), real floats.
        values: V (..., n_k, d_v); with the output matrix applied, where there is one.

    Returns:
        (..., n_q, n_k).

    Source:
        Kobayashi et al. 2020, "Attention is Not Only a Weight", §3.

    Examples:
        >>> value_weighted(np.array([[0.9, 0.1]]), np.array([[0.0, 0], [3, 4]])).tolist()
        [[0.0, 0.5]]
    """
    xp = array_namespace(weights)
    return weights * xp.sqrt(xp.sum(values * values, axis=-1))[..., None, :]


@checked
def gradient_times_attention(
    weights: Float[Array, "... n_q n_k"],
    values: Float[Array, "... n_k d_v"],
    gradient: Float[Array, "... n_q d_v"],
) -> Float[Array, "... n_q n_k"]:
    r"""Each weight times the slope of a number y along it, where y depends on the outputs O = AV.

    $$m_{ij} = a_{ij} \frac{\partial y}{\partial a_{ij}} = a_{ij}\,(g_i \cdot v_j), \qquad
      g_i = \frac{\partial y}{\partial o_i}$$

    Args:
        weights: A (..., n_q, n_k), real floats.
        values: V (..., n_k, d_v).
        gradient: g (..., n_q, d_v), of y with respect to the outputs.

    Returns:
        (..., n_q, n_k); row i sums to g_i · o_i.

    Source:
        Simonyan et al. 2014, "Deep Inside Convolutional Networks", §3, for slopes; Chefer et al.
        2021, "Generic Attention-model Explainability for Interpreting Bi-Modal and Encoder-Decoder
        Transformers", §3, for the product.

    Examples:
        >>> V, g = np.array([[2.0, 0], [1, 1]]), np.array([[1.0, -1]])
        >>> gradient_times_attention(np.array([[0.25, 0.75]]), V, g).tolist()
        [[0.5, 0.0]]
    """
    xp = array_namespace(weights)
    return weights * (gradient @ xp.matrix_transpose(values))


@requires(
    "own and other must differ",
    lambda own, other: bool(array_namespace(own).all(own != other)),
)
def patching_effect(
    patched: Float[Array, "..."], own: Float[Array, "..."], other: Float[Array, "..."]
) -> Float[Array, "..."]:
    r"""How far a patch carries a number from that of one run to that of another.

    $$e = \frac{y_\text{own} - y_\text{patched}}{y_\text{own} - y_\text{other}}$$

    Args:
        patched: y of a run in which something was replaced, real floats.
        own: y of the run itself.
        other: y of the run that the replacement was taken from.

    Returns:
        0 where the patch changes nothing, 1 where it does as much as another text.

    Raises:
        ValueError: the two runs agree, so that there is nothing to carry.

    Source:
        Wang et al. 2023, "Interpretability in the Wild", §3.1; Heimersheim and Nanda 2024, "How to
        use and interpret activation patching", §4.

    Examples:
        >>> patching_effect(np.array([8.0, -1, -4]), np.array([8.0]), np.array([-4.0])).tolist()
        [0.0, 0.75, 1.0]
    """
    return (own - patched) / (own - other)
