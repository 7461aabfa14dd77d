"""Score functions: how well does a query match a key?"""

from __future__ import annotations

from math import pi, sqrt

from jaxtyping import Float

from attention_docs.checks import requires
from attention_docs.signatures import Array, array_namespace, checked


@checked
def dot(
    query: Float[Array, "... n_q d_k"], key: Float[Array, "... n_k d_k"]
) -> Float[Array, "... n_q n_k"]:
    r"""Dot-product scores of every query with every key.

    $$S = QK^\top, \qquad s_{ij} = q_i \cdot k_j$$

    Args:
        query: (..., n_q, d_k), real floats. Axes before the last two are batch and heads.
        key: (..., n_k, d_k), same dtype.

    Returns:
        Scores (..., n_q, n_k), in units of query times key; row i holds the scores of query i.

    Source:
        Luong et al. 2015, §3.1, score "dot".

    Examples:
        Step 4 of the eight steps: query 1 with the three keys, 1·0 + 0·1 + 2·1 = 2 and so on.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> keys = np.array([[0.0, 1, 1], [4, 4, 0], [2, 3, 1]])
        >>> text(dot(np.array([[1.0, 0, 2]]), keys), ".0f")
        '[[2, 4, 4]]'
    """
    xp = array_namespace(query)
    return query @ xp.matrix_transpose(key)


@checked
def scaled_dot(
    query: Float[Array, "... n_q d_k"], key: Float[Array, "... n_k d_k"]
) -> Float[Array, "... n_q n_k"]:
    r"""Dot-product scores divided by $\sqrt{d_k}$, so that their spread does not grow with $d_k$.

    $$S = \frac{QK^\top}{\sqrt{d_k}}$$

    Args:
        query: (..., n_q, d_k), real floats; d_k is read from its last axis.
        key: (..., n_k, d_k), same dtype.

    Returns:
        Scores (..., n_q, n_k), in units of query times key.

    Source:
        Vaswani et al. 2017, "Attention Is All You Need", §3.2.1.

    Examples:
        [2, 4, 4] / √3.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> keys = np.array([[0.0, 1, 1], [4, 4, 0], [2, 3, 1]])
        >>> text(scaled_dot(np.array([[1.0, 0, 2]]), keys), ".4f")
        '[[1.1547, 2.3094, 2.3094]]'
    """
    return dot(query, key) / sqrt(query.shape[-1])


@checked
def cosine(
    query: Float[Array, "... n_q d_k"], key: Float[Array, "... n_k d_k"]
) -> Float[Array, "... n_q n_k"]:
    r"""Cosine of the angle between every query and every key.

    $$s_{ij} = \frac{q_i \cdot k_j}{\lVert q_i \rVert \, \lVert k_j \rVert}$$

    A vector of zeros has no angle: its scores are defined as 0. Each vector is divided by its
    largest absolute component before it is squared, so that its norm neither overflows nor
    vanishes.

    Args:
        query: (..., n_q, d_k), real floats.
        key: (..., n_k, d_k), same dtype.

    Returns:
        Scores (..., n_q, n_k), dimensionless, from -1 to 1 up to rounding. An infinite component
        gives NaN.

    Source:
        Graves et al. 2014, "Neural Turing Machines", §3.3.1.

    Examples:
        q·k = 8, 5 and 6; the query has norm 3, the keys 5, 2 and 3: 8/15, 5/6 and 2/3.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> keys = np.array([[0.0, 3, 0, 4], [1, 1, 1, 1], [0, -2, 1, 2]])
        >>> text(cosine(np.array([[1.0, 0, 2, 2]]), keys), ".4f")
        '[[0.5333, 0.8333, 0.6667]]'
    """
    return dot(_unit(query), _unit(key))


def _unit(vectors: Float[Array, "... n d"]) -> Float[Array, "... n d"]:
    """Every vector divided by its norm; zeros stay zeros."""
    xp = array_namespace(vectors)
    largest = xp.max(xp.abs(vectors), axis=-1, keepdims=True)
    scaled = vectors / xp.where(largest == 0, xp.ones_like(largest), largest)
    square = xp.sum(scaled * scaled, axis=-1, keepdims=True)  # from 1 to d, or 0
    # The replacement comes before the root: the root's derivative at 0 is infinite.
    return scaled / xp.sqrt(xp.where(square == 0, xp.ones_like(square), square))


@checked
def bilinear(
    query: Float[Array, "... n_q d_q"],
    key: Float[Array, "... n_k d_k"],
    W: Float[Array, "d_q d_k"],
) -> Float[Array, "... n_q n_k"]:
    r"""Bilinear scores: a matrix of parameters between query and key.

    $$S = Q W K^\top, \qquad s_{ij} = q_i W k_j^\top$$

    Args:
        query: (..., n_q, d_q), real floats.
        key: (..., n_k, d_k), same dtype; d_k may differ from d_q.
        W: (d_q, d_k), same dtype, the parameters.

    Returns:
        Scores (..., n_q, n_k), in units of query times W times key.

    Source:
        Luong et al. 2015, §3.1, score "general".

    Examples:
        [1, 0, 2, 2] W = [2, 1, 2, -2]; its products with the keys are 3 - 8, 3 and -2 + 2 - 4.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> keys = np.array([[0.0, 3, 0, 4], [1, 1, 1, 1], [0, -2, 1, 2]])
        >>> W = np.array([[0.0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 1, 0], [0, 0, 0, -1]])
        >>> text(bilinear(np.array([[1.0, 0, 2, 2]]), keys, W), ".0f")
        '[[-5, 3, -4]]'
    """
    return dot(query @ W, key)


@checked
def additive(
    query: Float[Array, "... n_q d_q"],
    key: Float[Array, "... n_k d_k"],
    W_q: Float[Array, "d_q d_a"],
    W_k: Float[Array, "d_k d_a"],
    w: Float[Array, " d_a"],
) -> Float[Array, "... n_q n_k"]:
    r"""Additive scores: a network with one hidden layer looks at query and key.

    $$s_{ij} = w \cdot \tanh(q_i W_q + k_j W_k)$$

    The hidden layer is held for all pairs at once: (..., n_q, n_k, d_a) numbers.

    Args:
        query: (..., n_q, d_q), real floats.
        key: (..., n_k, d_k), same dtype; d_k may differ from d_q.
        W_q: (d_q, d_a), same dtype, parameters that bring the query to size d_a.
        W_k: (d_k, d_a), same dtype, parameters that bring the key to size d_a.
        w: (d_a,), same dtype, parameters that make one number of the hidden layer.

    Returns:
        Scores (..., n_q, n_k), in units of w, between -sum(abs(w)) and sum(abs(w)).

    Source:
        Bahdanau et al. 2015, §3.1 and appendix A.1.2; Luong et al. 2015, §3.1, score "concat".

    Examples:
        q W_q + k W_k is [1, 0] + [1, 2] = [2, 2]: the score is 2 tanh 2 + tanh 2 = 3 · 0.9640.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> query, key = np.array([[1.0, 0, 2, 2]]), np.array([[1.0, 1, 1, 1]])
        >>> W_q = np.array([[1.0, 0], [0, 1], [0, 1], [0, -1]])
        >>> W_k = np.array([[0.0, 1], [1, 0], [1, 1], [-1, 0]])
        >>> text(additive(query, key, W_q, W_k, np.array([2.0, 1.0])), ".4f")
        '[[2.8921]]'
    """
    xp = array_namespace(query)
    queries = (query @ W_q)[..., :, None, :]  # (..., n_q, 1, d_a)
    keys = (key @ W_k)[..., None, :, :]  # (..., 1, n_k, d_a)
    return xp.tanh(queries + keys) @ w


@requires("query must have no vector of zeros", lambda query: bool((query != 0).any(-1).all()))
@requires("key must have no vector of zeros", lambda key: bool((key != 0).any(-1).all()))
def angles(
    query: Float[Array, "... n_q d_k"], key: Float[Array, "... n_k d_k"]
) -> Float[Array, "... n_q n_k"]:
    r"""The angle between every query and every key.

    $$\theta_{ij} = \arccos \frac{q_i \cdot k_j}{\lVert q_i \rVert\, \lVert k_j \rVert}$$

    Args:
        query: (..., n_q, d_k), real floats, no vector of zeros.
        key: (..., n_k, d_k), same dtype, no vector of zeros.

    Returns:
        Angles (..., n_q, n_k) in degrees, from 0 to 180.

    Raises:
        ValueError: a vector of zeros, which has no direction.

    Examples:
        Query 1 of the eight steps with key 1: 2 / (√5·√2) = 0.6325. Key 1 is the nearest by angle
        and has the lowest score.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> key = np.array([[0.0, 1, 1], [4, 4, 0], [2, 3, 1]])
        >>> text(angles(np.array([[1.0, 0, 2]]), key), ".1f")
        '[[50.8, 71.6, 61.4]]'
    """
    xp = array_namespace(query)
    cosines = cosine(query, key)
    # Rounding can leave a cosine a little outside [-1, 1], where arccos is NaN.
    ones = xp.ones_like(cosines)
    return xp.acos(xp.minimum(xp.maximum(cosines, -ones), ones)) * (180 / pi)


@requires("query must have no vector of zeros", lambda query: bool((query != 0).any(-1).all()))
def projections(
    query: Float[Array, "... n_q d_k"], key: Float[Array, "... n_k d_k"]
) -> Float[Array, "... n_q n_k"]:
    r"""The signed length of every key's projection on every query.

    $$\frac{q_i \cdot k_j}{\lVert q_i \rVert} = \lVert k_j \rVert \cos\theta_{ij}$$

    Args:
        query: (..., n_q, d_k), real floats, no vector of zeros.
        key: (..., n_k, d_k), same dtype.

    Returns:
        Lengths (..., n_q, n_k), in units of the keys; negative where the angle is above 90°.

    Raises:
        ValueError: a query of zeros, which has no direction.

    Examples:
        Projected on [3, 4], whose length is 5: 3/5, 4/5 and -5/5.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> key = np.array([[1.0, 0], [0, 1], [1, -2]])
        >>> text(projections(np.array([[3.0, 4]]), key), ".1f")
        '[[0.6, 0.8, -1.0]]'
    """
    xp = array_namespace(query)
    return dot(query, key) / xp.sqrt(xp.sum(query * query, axis=-1, keepdims=True))
