"""A language model: tokens in, a distribution over the next token out; its loss, its sampling."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import device, is_array_api_obj
from jaxtyping import Float, Int

from attention_docs.batches import segment_mask, segment_positions
from attention_docs.checks import in_range, requires
from attention_docs.masking import causal_mask
from attention_docs.multi_head import Parameters, linear, multi_head_attention
from attention_docs.signatures import Array, array_namespace, shape
from attention_docs.softmax import softmax, tempered_softmax
from attention_docs.transformer_block import BlockParameters, embed, feed_forward, layer_norm


class LanguageModel(NamedTuple):
    """The parameters of a decoder, from token ids to logits.

    Attributes:
        table: E (vocabulary, d_model), a row for each token.
        positions: (n_max, d_model), a row for each place.
        blocks: one entry a block. `BlockParameters` is a whole block in pre-norm order;
            `Parameters` is attention alone, x + MHA(x), without LayerNorm.
        W_u: (d_model, vocabulary), from the last stream to logits.
        num_heads: h, heads of every block.
        gamma: scale (d_model,) of the last LayerNorm, or None for a model without it.
        vocabulary: the tokens as text, in the order of their ids.
    """

    table: Float[Array, "vocabulary d_model"]
    positions: Float[Array, "n_max d_model"]
    blocks: tuple[BlockParameters | Parameters, ...]
    W_u: Float[Array, "d_model vocabulary"]
    num_heads: int
    gamma: Float[Array, " d_model"] | None = None
    vocabulary: tuple[str, ...] = ()


@requires(
    lambda positions, n_max: f"positions must be from 0 to {n_max - 1}, got {positions.tolist()}",
    lambda positions, n_max: positions is None or in_range(positions, n_max),
)
def language_model(
    ids: Int[Array, "... n"],
    model: LanguageModel,
    segments: Int[Array, "... n"] | None = None,
    positions: Int[Array, "... n"] | None = None,
) -> tuple[Float[Array, "... n vocabulary"], list[Array]]:
    r"""A decoder: logits of the token after every token.

    $$x^{(0)} = E_{t} + p, \qquad x^{(l)} = \operatorname{Block}_l(x^{(l-1)}), \qquad
      Z = \operatorname{LN}(x^{(L)})\, W_U$$

    Every block attends under a causal mask, so row i of Z depends on tokens 1 to i alone.

    Args:
        ids: (..., n), integers from 0 to the size of the vocabulary - 1.
        model: parameters of the library of the ids, one dtype.
        segments: (..., n), for rows that hold padding or several texts: the number of the text of
            each token, from 1, and 0 for padding, as `pad` and `pack` give them. No token looks at
            another text. None for one text a row.
        positions: (..., n), integers from 0 to n_max - 1: which row of the table each token gets.
            Left out, they count the tokens of each text.

    Returns:
        Logits Z (..., n, vocabulary), and the attention weights of each block (..., h, n, n).

    Raises:
        ValueError: more than n_max tokens, or an id or a position without a row.

    Source:
        Radford et al. 2018, "Improving Language Understanding by Generative Pre-Training", §3.1;
        pre-norm as in Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".

    Examples:
        No block, and a W_U that gives each token its successor: after 0 comes 1, after 1 comes 0.

        >>> import numpy as np
        >>> from attention_docs.text import text
        >>> swap = np.array([[0.0, 1], [1, 0]])
        >>> model = LanguageModel(np.eye(2), np.zeros((3, 2)), (), swap, num_heads=1)
        >>> text(language_model(np.array([0, 1, 1]), model)[0], ".0f").split("\n")
        ['[[0, 1],', ' [1, 0],', ' [1, 0]]']
    """
    mask = causal_mask(shape(ids)[-1], like=model.table)
    if segments is not None:
        if positions is None:
            return language_model(ids, model, segments, segment_positions(segments))
        mask = (mask & segment_mask(segments))[..., None, :, :]  # for all heads
    if positions is None:
        x = embed(ids, model.table, model.positions)
    else:
        x = embed(ids, model.table) + embed(positions, model.positions)
    seen = []
    for block in model.blocks:
        if isinstance(block, BlockParameters):
            p, normal = block.attention, layer_norm(x, block.gamma_1, block.beta_1)
        else:
            p, normal = block, x
        out, weights = multi_head_attention(normal, normal, normal, p, model.num_heads, mask)
        x = x + out
        if isinstance(block, BlockParameters):
            normal = layer_norm(x, block.gamma_2, block.beta_2)
            x = x + feed_forward(normal, block.W_1, block.W_2, block.b_1, block.b_2)
        seen.append(weights)
    if model.gamma is not None:
        x = layer_norm(x, model.gamma)
    return linear(x, model.W_u), seen


@requires(
    lambda targets, vocabulary: (
        f"targets must be from 0 to {vocabulary - 1}, got {targets.tolist()}"
    ),
    lambda targets, vocabulary: in_range(targets, vocabulary),
)
def cross_entropy(
    logits: Float[Array, "*batch vocabulary"], targets: Int[Array, "*batch"]
) -> Float[Array, "*batch"]:
    r"""The loss of each prediction: minus the logarithm of what the right token was given.

    $$\ell = -\ln \operatorname{softmax}(z)_t = \ln \sum_j e^{z_j} - z_t$$

    Args:
        logits: z (..., vocabulary), real floats.
        targets: t (...), integers: the id of the token that came.

    Returns:
        The losses (...), in nats, not negative; their mean is what training lowers, and e to the
        mean is the perplexity.

    Raises:
        ValueError: an id without a logit.

    Source:
        Bengio et al. 2003, "A Neural Probabilistic Language Model", §2.

    Examples:
        Logits ln 1, ln 2, ln 5 give 1/8, 2/8, 5/8; the loss of the last token is ln 8/5 = 0.4700.

        >>> logits = np.log(np.array([[1.0, 2, 5], [1, 2, 5]]))
        >>> from attention_docs.text import text
        >>> text(cross_entropy(logits, np.array([2, 0])), ".4f")
        '[0.4700, 2.0794]'
    """
    xp, at_target = array_namespace(logits), _one_hot(logits, targets)
    largest = xp.max(logits, axis=-1, keepdims=True)
    total = xp.log(xp.sum(xp.exp(logits - largest), axis=-1)) + largest[..., 0]
    return total - xp.sum(xp.where(at_target, logits, xp.zeros_like(logits)), axis=-1)


@requires(
    lambda targets, vocabulary: (
        f"targets must be from 0 to {vocabulary - 1}, got {targets.tolist()}"
    ),
    lambda targets, vocabulary: in_range(targets, vocabulary),
)
def cross_entropy_gradient(
    logits: Float[Array, "*batch vocabulary"], targets: Int[Array, "*batch"]
) -> Float[Array, "*batch vocabulary"]:
    r"""Gradient of each loss by its logits: what was predicted minus what came.

    $$\frac{\partial \ell}{\partial z} = \operatorname{softmax}(z) - y, \qquad y_j = [j = t]$$

    Args:
        logits: z (..., vocabulary), real floats.
        targets: t (...), integers.

    Returns:
        (..., vocabulary), same dtype, in nats / units of the logits; each row sums to 0. Divide by
        the number of losses where the loss is their mean.

    Raises:
        ValueError: as for `cross_entropy`.

    Source:
        Bridle 1990, "Probabilistic interpretation of feedforward classification network outputs".

    Examples:
        1/8, 2/8, 5/8 minus 0, 0, 1.

        >>> cross_entropy_gradient(np.log(np.array([1.0, 2, 5])), np.array(2)).round(3)
        array([ 0.125,  0.25 , -0.375])
    """
    xp = array_namespace(logits)
    return softmax(logits) - xp.astype(_one_hot(logits, targets), logits.dtype)


def _one_hot(logits: Array, targets: Array) -> Array:
    """The namespace, and where the target of each row stands."""
    xp, size = array_namespace(logits), shape(logits)[-1]
    places = xp.arange(size, dtype=targets.dtype, device=device(logits))
    return places == targets[..., None]


@requires(
    lambda top_k, vocabulary: f"top_k must be from 1 to {vocabulary}, got {top_k}",
    lambda top_k, vocabulary: top_k is None or 1 <= top_k <= vocabulary,
)
@requires("top_p must be above 0 and at most 1", lambda top_p: top_p is None or 0 < top_p <= 1)
def token_distribution(
    logits: Float[Array, "... vocabulary"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Float[Array, "... vocabulary"]:
    r"""What the next token is drawn from: a temperature, then all but the likeliest cut off.

    $$p_j \propto e^{z_j / \tau} \cdot [j \in S]$$

    S holds the top_k likeliest tokens, or as few of the likeliest as together have at least top_p;
    with both, top_p is a share of what top_k left. Of equals the one with the lower id comes first.

    Args:
        logits: z (..., vocabulary), real floats.
        temperature: τ, positive and finite, in units of the logits.
        top_k: tokens that are kept, from 1 to the vocabulary, or None for all; 1 is greedy.
        top_p: probability that is kept, above 0 and at most 1, or None for all.

    Returns:
        Probabilities of the same shape and dtype; each row sums to 1.

    Raises:
        ValueError: a parameter outside its range.

    Source:
        top_k: Fan, Lewis and Dauphin 2018, "Hierarchical Neural Story Generation", §5.4; top_p:
        Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", §3.1.

    Examples:
        1/8, 2/8, 5/8: the two likeliest become 2/7 and 5/7. 5/8 is at least 0.5, not 0.75.

        >>> from attention_docs.text import text
        >>> logits = np.log(np.array([1.0, 2, 5]))
        >>> text(7 * token_distribution(logits, top_k=2), ".2f")
        '[0.00, 2.00, 5.00]'
        >>> text(token_distribution(logits, top_p=0.5), ".2f")
        '[0.00, 0.00, 1.00]'
        >>> text(7 * token_distribution(logits, top_p=0.75), ".2f")
        '[0.00, 2.00, 5.00]'
    """
    found = tempered_softmax(logits, temperature)
    if top_k is not None:
        found = _likeliest(found, top_k)
    if top_p is not None and top_p < 1:
        xp = array_namespace(found)
        sorted_down = xp.flip(xp.sort(found, axis=-1), axis=-1)
        before = xp.cumulative_sum(sorted_down, axis=-1) - sorted_down
        count = xp.sum(xp.astype(before < top_p, xp.int64), axis=-1, keepdims=True)
        found = _likeliest(found, count)
    return found


def _likeliest(probabilities: Array, count: Any) -> Array:
    """The first `count` of each row in the order of size, made to sum to 1; the rest are 0."""
    xp = array_namespace(probabilities)
    order = xp.argsort(-probabilities, axis=-1, stable=True)
    rank = xp.argsort(order, axis=-1)
    kept = xp.where(rank < count, probabilities, xp.zeros_like(probabilities))
    return kept / xp.sum(kept, axis=-1, keepdims=True)


@requires(
    "uniform must be from 0 to below 1",
    lambda uniform: bool(((uniform >= 0) & (uniform < 1)).all()),
)
@requires(
    lambda probabilities: "probabilities must be at least 0, got one below 0 or NaN",
    lambda probabilities: bool((probabilities >= 0).all()),
)
@requires(
    lambda probabilities: f"probabilities must sum to 1, got {probabilities.sum(-1).tolist()}",
    lambda probabilities: bool((abs(probabilities.sum(-1) - 1) < _slack(probabilities)).all()),
)
def sample(
    probabilities: Float[Array, "*batch vocabulary"], uniform: Float[Array, "*batch"]
) -> Int[Array, "*batch"]:
    r"""Draw tokens: the first one at which the sum of the probabilities so far exceeds u.

    $$t = \min \Bigl\{ j : \sum_{l \le j} p_l > u \Bigr\}, \qquad
      u \sim \mathcal{U}[0, 1) \;\Rightarrow\; P(t = j) = p_j$$

    Chance comes from outside: the same u draws the same token.

    Args:
        probabilities: p (..., vocabulary), real floats; each row sums to 1.
        uniform: u (...), same dtype, from 0 to below 1.

    Returns:
        Token ids (...), integers.

    Raises:
        ValueError: u outside [0, 1), a probability below 0, or a row that does not sum to 1.

    Source:
        Devroye 1986, "Non-Uniform Random Variate Generation", §III.2.

    Examples:
        Sums 1/8, 3/8, 1: u = 1/8 is the first that is not token 0.

        >>> p = np.array([[0.125, 0.25, 0.625]] * 4)
        >>> print(sample(p, np.array([0.0, 0.125, 0.374, 0.375])))
        [0 1 1 2]
    """
    xp = array_namespace(probabilities)
    sums = xp.cumulative_sum(probabilities, axis=-1)
    # Divided by the last, so that rounding leaves no u above all of them.
    passed = sums / sums[..., -1:] <= uniform[..., None]
    return xp.sum(xp.astype(passed, xp.int64), axis=-1)


def _slack(probabilities: Array) -> float:
    """How far from 1 rounding may leave a sum."""
    return 1e-3 if probabilities.dtype == array_namespace(probabilities).float32 else 1e-9


@requires(
    lambda n, steps, n_max, segments: f"the model takes at most {n_max} tokens, got {n + steps}",
    lambda n, steps, n_max, segments: segments is not None or n + steps <= n_max,
)
@requires(
    lambda segments: (
        "the last token of each row must be no padding, since the next one is read there: pad on "
        f"the left, got segments that end in {segments[..., -1].tolist()}"
    ),
    lambda segments: segments is None or bool((segments[..., -1] > 0).all()),
)
def generate(
    ids: Int[Array, "*batch n"],
    model: LanguageModel,
    uniforms: Float[Array, "*batch steps"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    segments: Int[Array, "*batch n"] | None = None,
) -> Int[Array, "*batch n_steps"]:
    """Continue sequences, token by token: each is drawn, appended, and looked at by the next.

    Every step runs the whole sequence again, and uses only the last row of the logits.

    Args:
        ids: (..., n), integers, n at least 1.
        model: parameters of the library of the ids.
        uniforms: (..., steps), one u for each new token, as for `sample`.
        temperature: as for `token_distribution`; so are the next two.
        top_k: tokens that are kept, or None.
        top_p: probability that is kept, or None.
        segments: as for `language_model`, where short texts are padded on the left; new tokens
            belong to the text that is last in their row.

    Returns:
        The ids with the new ones after them, (..., n + steps).

    Raises:
        ValueError: more than n_max tokens at the end, a row that ends in padding, and as for
            `language_model`, `token_distribution` and `sample`.

    Source:
        Bengio et al. 2003, "A Neural Probabilistic Language Model", §2, for the factors.

    Examples:
        The model that gives each token its successor, 0 after 1 and 1 after 0, always the likelier:

        >>> swap = np.array([[0.0, 1], [1, 0]])
        >>> model = LanguageModel(np.eye(2), np.zeros((6, 2)), (), swap, num_heads=1)
        >>> print(generate(np.array([0]), model, np.zeros(4), top_k=1))
        [0 1 0 1 0]
    """
    xp = array_namespace(ids)
    for step in range(shape(uniforms)[-1]):
        logits, _ = language_model(ids, model, segments)
        found = token_distribution(logits[..., -1, :], temperature, top_k, top_p)
        new = xp.astype(sample(found, uniforms[..., step]), ids.dtype)
        ids = xp.concat([ids, new[..., None]], axis=-1)
        if segments is not None:
            segments = xp.concat([segments, segments[..., -1:]], axis=-1)
    return ids


@requires(
    lambda model, block, head: (
        f"wanted a block below {len(model.blocks)} and a head below {model.num_heads}, "
        f"got {block} and {head}"
    ),
    lambda model, block, head: 0 <= block < len(model.blocks) and 0 <= head < model.num_heads,
)
def without_head(model: LanguageModel, block: int, head: int) -> LanguageModel:
    r"""The model with one head cut off: the rows of W_O that take its output are 0.

    $$Y = [O_1 \; \dots \; O_h]\, W_O = \sum_r O_r W_O^r, \qquad W_O^{\text{head}} = 0$$

    Args:
        model: left as it is.
        block: counted from 0.
        head: counted from 0.

    Returns:
        A model that shares every other array.

    Raises:
        ValueError: no such block or head.

    Source:
        Michel, Levy and Neubig 2019, "Are Sixteen Heads Really Better than One?", §2.3.

    Examples:
        >>> zero, one = np.zeros((2, 2)), np.ones((2, 2))
        >>> blocks = (Parameters(zero, zero, one, one),)
        >>> model = LanguageModel(np.eye(2), np.zeros((3, 2)), blocks, one, num_heads=2)
        >>> without_head(model, 0, 1).blocks[0].W_o
        array([[1., 1.],
               [0., 0.]])
    """
    old = model.blocks[block]
    attend = old.attention if isinstance(old, BlockParameters) else old
    xp = array_namespace(attend.W_o)
    d_v = shape(attend.W_o)[0] // model.num_heads
    rows = xp.arange(shape(attend.W_o)[0], device=device(attend.W_o))[:, None]
    cut = (rows >= head * d_v) & (rows < (head + 1) * d_v)
    attend = attend._replace(W_o=xp.where(cut, xp.zeros_like(attend.W_o), attend.W_o))
    new = old._replace(attention=attend) if isinstance(old, BlockParameters) else attend
    return model._replace(blocks=(*model.blocks[:block], new, *model.blocks[block + 1 :]))


def convert(model: Any, function: Callable[[Array], Any]) -> Any:
    """The same model with every array put through a function, such as `torch.tensor`.

    Args:
        model: a `LanguageModel`, or any part of one.
        function: from an array to what shall stand in its place.

    Returns:
        The same tuples around other arrays; None, numbers and words stay.

    Examples:
        >>> model = LanguageModel(np.eye(2), np.zeros((6, 2)), (), np.eye(2), num_heads=1)
        >>> convert(model, lambda array: array.size)[:4]
        (4, 12, (), 4)
    """
    if is_array_api_obj(model):
        return function(model)
    if isinstance(model, tuple):
        parts = [convert(part, function) for part in model]
        return type(model)(*parts) if hasattr(model, "_fields") else tuple(parts)
    return model


def parameter_arrays(model: Any) -> list[Array]:
    """All arrays of a model, or of a part of one, in the order of its fields.

    Examples:
        >>> model = LanguageModel(np.eye(2), np.zeros((6, 2)), (), np.eye(2), num_heads=1)
        >>> [array.shape for array in parameter_arrays(model)]
        [(2, 2), (6, 2), (2, 2)]
    """
    found: list[Array] = []
    convert(model, found.append)
    return found


@requires("digits must be at least 1", lambda digits: digits >= 1)
def to_json(model: LanguageModel, digits: int = 6) -> str:
    """A model as a file that any language can read: nested lists of numbers with so many digits.

    Args:
        model: arrays of any library on the processor.
        digits: significant digits of every number, at least 1.

    Returns:
        JSON: an object with the fields of `LanguageModel`; a block is an object, too.

    Raises:
        ValueError: digits below 1, or a parameter that is not finite.

    Examples:
        >>> tiny = LanguageModel(np.eye(1) / 3, np.ones((1, 1)), (), np.eye(1), 1)
        >>> to_json(tiny, 3)[:57]
        '{"table":[[0.333]],"positions":[[1.0]],"blocks":[],"W_u":'
    """

    def to_plain(value: Any) -> Any:
        if hasattr(value, "_fields"):
            return {name: to_plain(getattr(value, name)) for name in value._fields}
        if isinstance(value, list | tuple):
            return [to_plain(one) for one in value]
        if is_array_api_obj(value):
            return to_plain(value.tolist())
        return float(f"{value:.{digits}g}") if isinstance(value, float) else value

    try:
        return json.dumps(to_plain(model), separators=(",", ":"), allow_nan=False) + "\n"
    except ValueError:
        raise ValueError("parameters must be finite, got NaN or an infinite one") from None


def from_json(text: str) -> LanguageModel:
    """The model that `to_json` wrote, as NumPy arrays of float64.

    Args:
        text: JSON.

    Returns:
        The model.

    Raises:
        ValueError: no JSON, or not the fields of a model.

    Examples:
        >>> tiny = LanguageModel(np.eye(1) / 4, np.ones((1, 1)), (), np.eye(1), 1)
        >>> from_json(to_json(tiny)) == tiny
        True
    """

    def read(value: Any, kind: Any = None) -> Any:
        if isinstance(value, dict):
            kind = BlockParameters if "attention" in value else kind or Parameters
            return kind(**{name: read(one) for name, one in value.items()})
        return np.array(value, dtype=np.float64) if isinstance(value, list) else value

    try:
        fields = json.loads(text)
        blocks = tuple(read(one) for one in fields.pop("blocks"))
        words = tuple(fields.pop("vocabulary"))
        arrays = {name: read(one) for name, one in fields.items()}
        return LanguageModel(blocks=blocks, vocabulary=words, **arrays)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"wanted the JSON of a model, got something else: {error}") from None


@requires(
    lambda words, model: (
        f"wanted words out of: {' '.join(model.vocabulary)}; got {' '.join(_split_words(words))}"
    ),
    lambda words, model: len(words) > 0 and set(_split_words(words)) <= set(model.vocabulary),
)
def token_ids(words: str | Sequence[str], model: LanguageModel) -> Int[np.ndarray, " n"]:
    """The ids of words, which stand apart by blanks or come one by one.

    Raises:
        ValueError: no words, or one that is not in the vocabulary.

    Examples:
        >>> model = LanguageModel(None, None, (), None, 1, vocabulary=("runs", "ann"))
        >>> print(token_ids("ann runs", model), token_ids(["ann"], model))
        [1 0] [1]
    """
    return np.array([model.vocabulary.index(word) for word in _split_words(words)])


def _split_words(words: str | Sequence[str]) -> Sequence[str]:
    return words.split() if isinstance(words, str) else words
