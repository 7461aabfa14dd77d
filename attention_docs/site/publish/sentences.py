"""What maps of MiniLM do not tell: the measurements that the package keeps, made with the model.

python -m attention_docs.site.publish.sentences .cache/models/minilm
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from attention_docs.minilm import (
    HEADS,
    KEPT,
    LAYERS,
    SHA256,
    MiniLM,
    Sentence,
    load_minilm,
    read_sentence,
    sentence_vector,
)

BEFORE = "The trophy doesn't fit in the suitcase because it is too"
PRONOUN, NOUNS, ENDINGS = "it", ("trophy", "suitcase"), ("big", "small")


def measure_sentences(model: MiniLM) -> dict[str, Any]:
    """Where *it* looks in both versions of a sentence, and what is left when a head is cut."""
    sentences = [f"{BEFORE} {ending}." for ending in ENDINGS]
    read = [read_sentence(one, model) for one in sentences]
    vectors = [sentence_vector(one.output) for one in read]
    looks = [_look(one) for one in read]
    cut = [
        [_compare(sentences[0], model, vectors[0], (layer, head)) for head in range(HEADS)]
        for layer in range(LAYERS)
    ]
    return {
        "sha256": SHA256,
        "sentences": sentences,
        "tokens": [one.tokens for one in read],
        "looks": looks,
        "similarity": round(float(vectors[0] @ vectors[1]), 4),
        "cut": cut,
    }


def _look(sentence: Sentence) -> list[Any]:
    """The weights from the pronoun to both nouns, head by head: (layers, heads, nouns)."""
    row, *columns = (sentence.tokens.index(one) for one in (PRONOUN, *NOUNS))
    found: list[Any] = np.round(sentence.weights[:, :, row, columns].astype(float), 4).tolist()
    return found


def _compare(
    text: str, model: MiniLM, whole: Float[np.ndarray, " d"], head: tuple[int, int]
) -> float:
    """The cosine of the vectors of a text with all heads, and without one."""
    return round(float(sentence_vector(read_sentence(text, model, [head]).output) @ whole), 4)


def write_measurements(measured: dict[str, Any]) -> str:
    """As JSON, with a line for each result."""
    lines = (f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in measured.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(folder: Path) -> None:
    """Measure, and write the file of the package."""
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(write_measurements(measure_sentences(load_minilm(folder))), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
