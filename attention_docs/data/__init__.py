"""Models that other people trained: the names of their files and what these must hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

BEGINNINGS = "next-word.json"  # how the model goes on with some
BATCH = "batches.json"  # two texts alone and in one batch
EXAMPLES = "examples.json"  # one question after different examples
NEURON = "neuron.json"  # one neuron: when it is active, and what it writes
NEURONS = "neurons.json"  # several, and the texts that make them most active
MAPS = "maps.json"  # maps, exchanged rows and cut heads on a question for capitals

SMOLLM2 = {
    "SmolLM2-135M-Instruct.Q4_1.gguf": (
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    )
}
"""A file and its SHA-256."""

MINILM = {
    "model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}

REFERENCE = (
    "The town lies on a river between two hills. In the morning people walk over the old bridge to "
    "the market, where they buy bread, fish and apples. A teacher asks her class how many boats "
    "they have seen, and one child says that there were seven."
)
"""Over its tokens the mean output of a head is taken."""


def _read(name: str) -> dict[str, Any]:
    """A file of what was measured on SmolLM2-135M-Instruct."""
    path = Path(__file__).parent / "smollm2" / name
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return kept


def load_beginnings() -> dict[str, Any]:
    """How SmolLM2-135M-Instruct goes on with some beginnings, as measured.

    Source:
        The file data/smollm2/next-word.json of this package; the README beside it says how to make
        it.

    Examples:
        >>> found = load_beginnings()
        >>> found["beginnings"][0]["text"]
        'The cat sat on the'
    """
    return _read(BEGINNINGS)


def load_neuron() -> dict[str, Any]:
    """When one neuron of SmolLM2-135M-Instruct is active, what it writes and what cutting it costs.

    Source:
        The file data/smollm2/neuron.json of this package; the README beside it says how to make it.

    Examples:
        >>> load_neuron()["raised"][:2]
        [' November', ' December']
    """
    return _read(NEURON)


def load_neurons() -> dict[str, Any]:
    """What several neurons of SmolLM2-135M-Instruct do on the definitions of a dictionary.

    Source:
        The file data/smollm2/neurons.json of this package; the README beside it says how to make
        it.

    Examples:
        >>> load_neurons()["texts"]
        737
    """
    return _read(NEURONS)


class Sizes(NamedTuple):
    """What SmolLM2-135M consists of.

    Attributes:
        vocabulary: its tokens.
        d_model: the components of a token's vector.
        d_ff: the width of a feed-forward network.
        parameters: all numbers that were learned.
    """

    vocabulary: int
    d_model: int
    d_ff: int
    parameters: int


def load_sizes() -> Sizes:
    """The sizes of SmolLM2-135M, as its file holds them.

    Examples:
        >>> load_sizes().parameters
        134515008
    """
    return Sizes(**load_beginnings()["sizes"])


def load_batch() -> dict[str, Any]:
    """How SmolLM2-135M-Instruct goes on with two texts, alone and in one batch that is padded.

    Source:
        The file data/smollm2/batches.json of this package; the README beside it says how to make
        it.

    Examples:
        >>> load_batch()["alone"][0]["next"][0]
        [' Paris', 0.806]
    """
    return _read(BATCH)


def load_examples() -> dict[str, Any]:
    """How SmolLM2-135M-Instruct goes on with one line after different examples, and after none.

    Source:
        The file data/smollm2/examples.json of this package; the README beside it says how to make
        it.

    Examples:
        >>> load_examples()["answers"][0]["next"][0][0]
        ' slow'
    """
    return _read(EXAMPLES)


class Sinks(NamedTuple):
    """Weights of all heads on one text.

    Attributes:
        first: for each layer and head the mean weight on the first token.
        first_equal: that of equal weights for all visible tokens.
        line_ends: the mean weight on ends of lines, and that of equal weights.
        full_stops: the same for full stops.
    """

    first: list[list[float]]
    first_equal: float
    line_ends: list[float]
    full_stops: list[float]


class Maps(NamedTuple):
    """How SmolLM2-135M-Instruct names a capital, as measured on ten countries.

    Attributes:
        model: the name of its file.
        sha256: of that file.
        text: what it reads, with {} for a country.
        capitals: the countries and their capitals.
        tokens: of the first text.
        random: tokens of random texts, for the control.
        probabilities: of each capital.
        mean_of_all: for each text the last token's weights, mean of all heads.
        mean_with_values: the same of weights times lengths of values, as shares of each row.
        last_rows: for each layer the last token's weights in the first text, mean of its heads.
        rollout: for each layer the last token's row of the rollout in the first text.
        rollout_of_all: for each text that row after the last layer.
        lead: for each text how far the capital's logit is above that of the next country's.
        lead_of_other: the same difference in the next country's text.
        layers: after which a row of the next country's text was put in, counted from 0.
        effect: (layer, token from the country on, text).
        said: (layer, token from the country on): the likeliest token of the first text then.
        controlled: layers after which a row of a random text was put in.
        effect_of_random: (layer, country or last token, text).
        on_country: for each layer and head the last token's weight on the country.
        cost: by how much the capital's loss rises when the head is cut for the last token.
        together: the same for the eight heads with the largest such weights, all cut at once.
        drawn: the same for ten draws of eight other heads.
        sinks: on a text with lines, with `<|endoftext|>` in front and without.
    """

    model: str
    sha256: str
    text: str
    capitals: dict[str, str]
    tokens: list[str]
    random: list[list[int]]
    probabilities: list[float]
    mean_of_all: list[list[float]]
    mean_with_values: list[list[float]]
    last_rows: list[list[float]]
    rollout: list[list[float]]
    rollout_of_all: list[list[float]]
    lead: list[float]
    lead_of_other: list[float]
    layers: list[int]
    effect: list[list[list[float]]]
    said: list[list[tuple[str, float]]]
    controlled: list[int]
    effect_of_random: list[list[list[float]]]
    on_country: list[list[float]]
    cost: list[list[float]]
    together: float
    drawn: list[float]
    sinks: list[Sinks]


def load_maps() -> Maps:
    """How SmolLM2-135M-Instruct names a capital: its maps, and what exchanges and cuts change.

    Source:
        The file data/smollm2/maps.json of this package; the README beside it says how to make it.

    Examples:
        >>> load_maps().tokens[4]
        ' France'
    """
    kept = _read(MAPS)
    return Maps(**{**kept, "sinks": [Sinks(**one) for one in kept["sinks"]]})


def list_ids(node: Mapping[str, Any]) -> set[int]:
    """The tokens that a kept beginning names, or one of its branches.

    Args:
        node: of `load_beginnings`.

    Examples:
        >>> sorted(list_ids({"ids": [3, 1], "layers": [[7], [990]], "then": [{"ids": [4]}]}))
        [1, 3, 4, 7]
    """
    own = {*node["ids"], *node.get("prompt", ()), *node.get("layers", [()])[0]}
    return own.union(*(list_ids(one) for one in node.get("then", ())))
