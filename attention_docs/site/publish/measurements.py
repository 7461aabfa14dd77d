"""The measurements that the package keeps, made with the language model itself.

    python -m attention_docs.site.publish.measurements .cache/models

looks for heads on some texts, cuts them on others, goes on with beginnings, and writes the kept
results of the package.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from attention_docs.assistant import ANSWERS, chat_text
from attention_docs.batches import pad
from attention_docs.data import BATCH, BEGINNINGS, EXAMPLES, MAPS, NEURON, NEURONS, REFERENCE
from attention_docs.gguf import read_gguf
from attention_docs.heads import (
    FOLDER,
    RESULTS,
    SCHEMAS,
    VECTORS,
    copy_loss,
    first_token_share,
    induction_score,
    previous_token_score,
)
from attention_docs.language_model import cross_entropy
from attention_docs.next_word import token_text
from attention_docs.site.publish import beginnings, neurons, patching
from attention_docs.site.publish.patching import by_head, rounded
from attention_docs.site.publish.sentences import write_measurements
from attention_docs.smollm2 import (
    FILE,
    HEADS,
    KEY_HEADS,
    LAYERS,
    MARKS,
    SHA256,
    START,
    Head,
    Run,
    SmolLM2,
    decode_ids,
    encode_chat,
    encode_text,
    load_smollm2,
    run_model,
)
from attention_docs.softmax import entropy, softmax
from attention_docs.tokens import NEIGHBOURS, VOCABULARY

PERIOD = 40
"""How many random tokens are repeated."""

SEARCHED, TESTED = 4, 4
"""Texts on which heads are looked for, and others on which they are cut."""

STRONGEST, DRAWS = 3, 10
"""How many heads of a kind are cut, and how often as many others are drawn and cut."""

FIRST_WORD = 17
"""The tokens before it are marks, such as the end of a text."""

KEPT = 2
"""Of how many heads of each kind the vectors are kept; those of the pronouns' head are too."""

NEIGHBOURS_OF, NEAREST = ("Ġsaw", "Ġking", "Ġthree", "ĠParis"), 6
"""Tokens whose nearest rows in the embedding table are kept, and how many of them."""

COUNTRIES: dict[str, dict[str, str | None]] = {
    "real": {
        **{"France": "Paris", "Japan": "Tokyo", "Peru": "Lima", "Kenya": "Nairobi"},
        **{"Norway": "Oslo", "Egypt": "Cairo", "Cuba": "Havana", "Iran": "Tehran"},
        **{"Chile": "Santiago", "Poland": "Warsaw", "Portugal": "Lisbon", "Vietnam": "Hanoi"},
    },
    "made up": dict.fromkeys(
        (
            *("Zubrowka", "Molvania", "Berovia", "Tasmar", "Qeltia", "Norlund"),
            *("Vendria", "Kaspen", "Urrenia", "Dalmora", "Ostavia", "Belruna"),
        )
    ),
}
"""Whose capitals are asked for; written down before the first of them was asked."""

CAPITAL = "What is the capital of {}?"
QUESTIONS = {
    "France": CAPITAL.format("France"),
    "Zubrowka": CAPITAL.format("Zubrowka"),
    "strawberry": "How many r are in strawberry?",
}
"""Whose whole answers are kept."""

LONGEST_ANSWER = 40

NAMES = (
    *("Mira Talvane", "Tobias Ekelund", "Petra Vondrak", "Jonas Wibberley", "Anselm Quorry"),
    *("Clara Ostrander", "Felix Marchbanks", "Nora Hestwick", "Oscar Pellworth", "Lena Brockhaus"),
)
MEETING = "Our new neighbour is called {first} {last}. Yesterday I met {first}"
"""Ten invented names, and a text in which each begins again: wanted next is the last name."""

ALL = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
Batch = tuple[Int[np.ndarray, "batch n"], Int[np.ndarray, "batch n"] | None]
BATCHED = ("The capital of France is", "When Mary and John went to the store, John gave a drink to")
"""Two texts of different lengths, for one batch."""

PADDING, WRITTEN = "<|im_end|>", 6
"""What the model's tokenizer pads with, and how many tokens are written."""

ASKED_AFTER = ("hot → cold\nbig → small\nfast →", "big → bigger\nsmall → smaller\nfast →", "fast →")
"""One question after two kinds of examples, and after none."""

PROMPTS = (
    "The capital of France is",
    "When Mary and John went to the store, John gave a drink to",
    "Once upon a time, there was a little",
)


def measure_heads(model: SmolLM2) -> tuple[dict[str, Any], dict[str, Float[np.ndarray, "n d_k"]]]:
    """All results and vectors that the package keeps; two minutes of an idle machine."""
    repeated, unrepeated, draws = draw_texts(len(model.tokens))
    measured: dict[str, Any] = {"model": FILE, "sha256": SHA256, "period": PERIOD}
    measured["prompts"] = [_complete(one, model) for one in PROMPTS]
    weights = _watch_all(repeated[:SEARCHED], model)
    control = _watch_all(unrepeated, model)
    for name, found in (("", weights), (" without repetition", control)):
        measured[f"induction{name}"] = by_head(induction_score(found, PERIOD))
        measured[f"previous token{name}"] = by_head(previous_token_score(found))
    measured["sink"] = by_head(first_token_share(control))
    measured["after sink"] = round(float(np.mean(control[..., 2:, 1])), 4)
    chosen = {
        kind: [ALL[i] for i in np.argsort(np.ravel(measured[kind]))[::-1][:STRONGEST].tolist()]
        for kind in ("induction", "previous token")
    }
    measured["chosen"] = chosen
    others = [one for one in ALL if not any(one in heads for heads in chosen.values())]
    measured["drawn"] = [[others[i] for i in draw] for draw in draws]
    losses = _measure_cuts(measured, repeated[SEARCHED:], model)
    measured["losses"], measured["losses of the first copy"] = losses
    measured["losses on a text"] = _measure_on_text(measured, model)
    measured["names"] = _measure_names(measured, model)
    measured["pronouns"] = _measure_pronouns(model)
    measured["nouns"] = [[pair["first"], pair["second"]] for pair in _read_schemas()]
    measured["texts"] = repeated.tolist()
    measured["texts without repetition"] = unrepeated.tolist()
    kept = [one for heads in chosen.values() for one in heads[:KEPT]]
    kept.append(measured["pronouns"]["head"])
    words, vectors = _keep_vectors(kept, model)
    return measured | {"words": words}, vectors


def draw_texts(
    vocabulary: int,
) -> tuple[Int[np.ndarray, "texts n"], Int[np.ndarray, "texts n"], list[list[int]]]:
    """Random tokens with a start in front, twice and once, and numbers of heads for the control."""
    random = np.random.default_rng(0)

    def draw(size: int) -> Int[np.ndarray, " n"]:
        return random.permutation(np.arange(FIRST_WORD, vocabulary))[:size]

    twice = [np.tile(draw(PERIOD), 2) for _ in range(SEARCHED + TESTED)]
    once = [draw(2 * PERIOD) for _ in range(SEARCHED)]
    others = len(ALL) - 2 * STRONGEST
    heads = [random.permutation(others)[:STRONGEST].tolist() for _ in range(DRAWS)]
    return (
        np.array([[START, *one] for one in twice]),
        np.array([[START, *one] for one in once]),
        heads,
    )


def _watch_all(ids: Int[np.ndarray, "... n"], model: SmolLM2) -> Float[np.ndarray, "h ... n n"]:
    seen = run_model(ids, model, watch=ALL).seen
    return np.stack([seen[head].weights for head in ALL])


def _measure_cuts(
    measured: dict[str, Any], ids: Int[np.ndarray, "texts n"], model: SmolLM2
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """For each set of heads that is cut, the losses of both copies, second first, text by text."""
    sets: dict[str, list[Head]] = {"whole": []}
    for kind, heads in measured["chosen"].items():
        sets[kind] = heads
        sets |= {f"{layer}.{head}": [(layer, head)] for layer, head in heads}
    sets |= {f"draw {i}": heads for i, heads in enumerate(measured["drawn"], start=1)}
    second, first = {}, {}
    for name, heads in sets.items():
        logits = run_model(ids, model, cut=heads).logits
        second[name] = rounded(copy_loss(logits, ids, PERIOD))
        first[name] = rounded(
            cross_entropy(logits[:, 1:PERIOD], ids[:, 2 : PERIOD + 1]).mean(axis=-1)
        )
    return second, first


def _measure_on_text(measured: dict[str, Any], model: SmolLM2) -> dict[str, float]:
    """For each kind of heads, and for each draw, the loss on ordinary text when they are cut."""
    draws = {f"draw {i}": heads for i, heads in enumerate(measured["drawn"], start=1)}
    ids = np.array([START, *encode_text(REFERENCE, model)])
    losses = {}
    for name, heads in {"whole": [], **measured["chosen"], **draws}.items():
        logits = run_model(ids, model, cut=heads).logits
        losses[name] = round(float(cross_entropy(logits[:-1], ids[1:]).mean()), 4)
    return losses


def _measure_names(measured: dict[str, Any], model: SmolLM2) -> list[dict[str, Any]]:
    """What the strongest induction head does where a name begins again, and what cuts cost there.

    Returns:
        For each name the first token of the last name, the head's weight on it, the place that it
        has among all tokens by how much the head raises them, and its probability next: with the
        whole model, without the induction heads, and without the heads of each draw.
    """
    head, found = measured["chosen"]["induction"][0], []
    for name in NAMES:
        first, last = name.split()
        ids = np.array([START, *encode_text(MEETING.format(first=first, last=last), model)])
        at = int(np.flatnonzero(ids[:-1] == ids[-1])[-1]) + 1  # right after the earlier copy
        wanted = int(ids[at])
        run = run_model(ids, model, watch=[head], last=True)
        raised = _head_writes(run, head, model)
        found.append(
            {
                "name": name,
                "token": decode_ids([wanted], model),
                "weight": round(float(run.seen[head].weights[-1, at]), 6),
                "place": int((raised > raised[wanted]).sum()) + 1,
                "whole": _probability(wanted, ids, [], model),
                "induction": _probability(wanted, ids, measured["chosen"]["induction"], model),
                "draws": [_probability(wanted, ids, draw, model) for draw in measured["drawn"]],
            }
        )
    return found


def _probability(
    token: int, ids: Int[np.ndarray, " n"], cut: Sequence[Head], model: SmolLM2
) -> float:
    """How probable a token is after a text, if heads are cut."""
    logits = run_model(ids, model, cut=cut, last=True).logits
    return round(float(softmax(logits[-1].astype(np.float64))[token]), 6)


def _head_writes(run: Run, head: Head, model: SmolLM2) -> Float[np.ndarray, " vocabulary"]:
    """How much a head's output at the last token raises each token, up to a positive factor.

    The last norm and the table read what the head adds as if nothing came in between.
    """
    layer, r = head
    fetched = run.seen[head].weights[-1] @ run.cache[layer].value[r // (HEADS // KEY_HEADS)]
    rows = slice(r * len(fetched), (r + 1) * len(fetched))
    written = fetched @ model.blocks[layer]["attn_output"][rows]
    raised: Float[np.ndarray, " vocabulary"] = model.table.astype(np.float64) @ (
        written * model.norm
    )
    return raised


def _complete(prompt: str, model: SmolLM2) -> list[Any]:
    """A prompt, the likeliest next token, and its probability."""
    logits = run_model(np.array(encode_text(prompt, model)), model).logits
    losses = cross_entropy(np.tile(logits[-1], (1, 1)), logits[-1:].argmax(axis=-1))
    best = int(logits[-1].argmax())
    return [prompt, decode_ids([best], model), round(float(np.exp(-losses[0])), 4)]


# --- pronouns -------------------------------------------------------------------------------------


def _read_schemas() -> list[dict[str, str]]:
    schemas: list[dict[str, str]] = json.loads((FOLDER / SCHEMAS).read_text(encoding="utf-8"))
    return schemas


def _measure_pronouns(model: SmolLM2) -> dict[str, Any]:
    """Where *it* looks, where the last word looks, and whether the model knows what *it* is."""
    pairs = _read_schemas()
    at_pronoun, at_end, differences, substituted = [], [], [], []
    for pair in pairs:
        rows, ends = zip(*(_look(pair, which, model) for which in ("first", "second")), strict=True)
        at_pronoun.append(rows[0])
        differences.append(float(np.abs(rows[0] - rows[1]).max()))
        at_end.append(ends)
        substituted.append([_substitute(pair, which, model) for which in ("first", "second")])
    pronoun, end = np.array(at_pronoun), np.array(at_end)  # (pair, h, noun), (pair, 2, h, noun)
    best = int(pronoun.sum(axis=2).mean(axis=0).argmax())
    # An end is right where it gives the right noun more weight, in both versions.
    lead = end[..., 0] - end[..., 1]
    right = np.stack([lead[:, 0] > 0, lead[:, 1] < 0], axis=1)  # (pair, version, h)
    half = len(pairs) // 2
    on_search = right[:half].sum(axis=(0, 1))
    chosen = int(on_search.argmax())
    return {
        "head": ALL[best],
        "looks": np.round(pronoun[:, best].astype(float), 4).tolist(),
        "to the first": np.sum(pronoun[..., 0] > pronoun[..., 1], axis=1).tolist(),
        "difference": max(differences),
        "end head": ALL[chosen],
        "end right": [int(on_search[chosen]), int(right[half:, :, chosen].sum())],
        "end mean": round(float(right[half:].sum(axis=(0, 1)).mean()), 4),
        "sentences of a half": 2 * half,
        "substituted": np.round(substituted, 4).tolist(),
    }


def _look(
    pair: dict[str, str], which: str, model: SmolLM2
) -> tuple[Float[np.ndarray, "h nouns"], Float[np.ndarray, "h nouns"]]:
    """For each head, the weights on both nouns: from *it*, and from the last word."""
    before = f"{pair['before']} it"
    text = f"{before} {pair[f'{which}_ending']}"
    weights = _watch_all(np.array(encode_text(text, model)), model)
    spans = [_find_tokens(text, pair[noun], model) for noun in ("first", "second")]
    pronoun = len(encode_text(before, model)) - 1
    looked = [
        np.stack([weights[:, row, span].sum(axis=-1) for span in spans], axis=-1)
        for row in (pronoun, -1)
    ]
    return looked[0], looked[1]


def _find_tokens(text: str, word: str, model: SmolLM2) -> slice:
    """Where the tokens of a word stand; it is there once, with a space in front."""
    at = text.index(f" {word}")
    return slice(
        len(encode_text(text[:at], model)), len(encode_text(text[: at + 1 + len(word)], model))
    )


def _substitute(pair: dict[str, str], which: str, model: SmolLM2) -> list[float]:
    """The loss of an ending where *it* is replaced by the first noun, and by the second."""
    losses = []
    for noun in ("first", "second"):
        start = encode_text(f"{pair['before']} the {pair[noun]}", model)
        ids = np.array([*start, *encode_text(f" {pair[f'{which}_ending']}.", model)])
        logits = run_model(ids, model).logits
        losses.append(float(cross_entropy(logits[:-1], ids[1:])[len(start) - 1 :].sum()))
    return losses


def measure_batch(model: SmolLM2) -> dict[str, Any]:
    """How two texts of different lengths go on, alone and in one batch that is padded."""
    texts = [np.array([START, *encode_text(text, model)]) for text in BATCHED]
    batches: dict[str, list[Batch]] = {"alone": [(one[None], None) for one in texts]}
    for side in ("right", "left"):
        ids, segments = pad(texts, side, model.ids[PADDING])
        batches[side] = [(ids, None)]
    batches["left, masked"] = [(ids, segments)]
    found = {
        name: [one for ids, segments in parts for one in _write(ids, segments, model)]
        for name, parts in batches.items()
    }
    return {"model": FILE, "sha256": SHA256, "texts": BATCHED, "padding": PADDING, **found}


def measure_examples(model: SmolLM2) -> dict[str, Any]:
    """How one line goes on after different examples."""
    prompts = [np.array([[START, *encode_text(text, model)]]) for text in ASKED_AFTER]
    answers = [_write(ids, None, model)[0] for ids in prompts]
    return {"model": FILE, "sha256": SHA256, "texts": ASKED_AFTER, "answers": answers}


def _write(
    ids: Int[np.ndarray, "batch n"], segments: Int[np.ndarray, "batch n"] | None, model: SmolLM2
) -> list[dict[str, Any]]:
    """The likeliest next tokens of each row, and the text that the likeliest ones make."""
    run, found, written = run_model(ids, model, segments=segments), [], []
    for row in run.logits[:, -1]:
        p = softmax(row.astype(np.float64))
        likeliest = np.argsort(-p)[:3].tolist()
        found.append([[decode_ids([i], model), round(float(p[i]), 3)] for i in likeliest])
    for _ in range(WRITTEN):
        written.append(run.logits[:, -1].argmax(axis=-1))
        if segments is not None:
            segments = np.append(segments, np.ones((len(ids), 1), dtype=int), axis=1)
        run = run_model(written[-1][:, None], model, cache=run.cache, segments=segments)
    return [
        {"next": likeliest, "text": decode_ids(row.tolist(), model)}
        for likeliest, row in zip(found, np.stack(written, axis=1), strict=True)
    ]


# --- files ----------------------------------------------------------------------------------------


def _keep_vectors(
    heads: Sequence[Head], model: SmolLM2
) -> tuple[list[str], dict[str, Float[np.ndarray, "n d_k"]]]:
    """The tokens of a sentence and its repetition, and what these heads compute there."""
    pair = _read_schemas()[0]
    sentence = f"{pair['before']} it {pair['first_ending']}."
    ids = encode_text(f"{sentence} {sentence}", model)
    seen = run_model(np.array(ids), model, watch=heads).seen
    vectors = {
        f"{layer}.{head}.{name}": getattr(seen[layer, head], name).astype("<f2")
        for layer, head in heads
        for name in ("query", "key")
    }
    return [decode_ids([i], model) for i in ids], vectors


def measure_neighbours(model: SmolLM2) -> dict[str, Any]:
    """The rows of the embedding table that are nearest to a few tokens, by cosine."""
    directions = model.table / np.linalg.norm(model.table, axis=1, keepdims=True)
    rows = {}
    for token in NEIGHBOURS_OF:
        cosines = directions @ directions[model.ids[token]]
        nearest = np.argsort(-cosines)[1 : NEAREST + 1]
        rows[token] = [[model.tokens[i], round(float(cosines[i]), 2)] for i in nearest]
    return {"model": FILE, "sha256": SHA256, "shape": list(model.table.shape), "rows": rows}


# --- answers --------------------------------------------------------------------------------------


def measure_answers(path: Path, model: SmolLM2) -> dict[str, Any]:
    """The template of a chat, and answers to questions for capitals."""
    metadata, _ = read_gguf(path.read_bytes())
    capitals = {
        kind: {one: {"name": name, **_measure_capital(one, model)} for one, name in names.items()}
        for kind, names in COUNTRIES.items()
    }
    return {
        "model": FILE,
        "sha256": SHA256,
        "template": metadata["tokenizer.chat_template"],
        "context": metadata["llama.context_length"],
        "greedy": {one: _answer_greedily(text, model) for one, text in QUESTIONS.items()},
        "capitals": capitals,
    }


def _ask(country: str) -> str:
    return chat_text([("user", CAPITAL.format(country))])


def _answer_greedily(question: str, model: SmolLM2) -> dict[str, Any]:
    """The likeliest token again and again until the mark that ends an answer, and the text."""
    run = run_model(np.array(encode_chat(chat_text([("user", question)]), model)), model)
    said: list[tuple[str, float]] = []
    ids: list[int] = []
    while len(said) < LONGEST_ANSWER:
        chances = softmax(run.logits[-1].astype(np.float64))
        best = int(chances.argmax())
        said.append((token_text(best, model), round(float(chances[best]), 3)))
        if MARKS.fullmatch(model.tokens[best]):
            break
        ids.append(best)
        run = run_model(np.array([best]), model, cache=run.cache)
    return {"text": decode_ids(ids, model), "tokens": said}


def _measure_capital(country: str, model: SmolLM2) -> dict[str, Any]:
    """The likeliest tokens where the name of the capital is due, and the perplexity there."""
    ids = encode_chat(f"{_ask(country)}The capital of {country} is", model)
    chances = softmax(run_model(np.array(ids), model).logits[-1].astype(np.float64))
    best = np.argsort(-chances, kind="stable")[:10]
    likeliest = [(token_text(int(i), model), round(float(chances[i]), 4)) for i in best]
    return {"likeliest": likeliest, "perplexity": round(float(np.exp(entropy(chances))), 1)}


# --- the files ------------------------------------------------------------------------------------


def write_vocabulary(model: SmolLM2) -> str:
    """The tokens that no merge makes, a line each, then the merges in their order."""
    merges = sorted(model.ranks, key=model.ranks.__getitem__)
    first = model.tokens[: len(model.tokens) - len(merges)]
    return "\n".join([*first, *(" ".join(pair) for pair in merges)]) + "\n"


def write_safetensors(tensors: dict[str, Float[np.ndarray, "..."]]) -> bytes:
    """Tensors of 16 bits in the format that `read_safetensors` reads."""
    header, at = {}, 0
    for name, tensor in tensors.items():
        header[name] = {
            "dtype": "F16",
            "shape": tensor.shape,
            "data_offsets": [at, at + tensor.nbytes],
        }
        at += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join(
        [len(text).to_bytes(8, "little"), text, *(t.tobytes() for t in tensors.values())]
    )


def main(folder: Path) -> None:
    """Measure, and write the files of the package."""
    model = load_smollm2(folder / FILE)
    (FOLDER / VOCABULARY).write_text(write_vocabulary(model), encoding="utf-8")
    heads, vectors = measure_heads(model)
    (FOLDER / VECTORS).write_bytes(write_safetensors(vectors))
    measured = {
        NEIGHBOURS: measure_neighbours(model),
        ANSWERS: measure_answers(folder / FILE, model),
        RESULTS: heads,
        BATCH: measure_batch(model),
        EXAMPLES: measure_examples(model),
        MAPS: patching.measure_maps(model),
        NEURON: neurons.measure_neuron(model),
        NEURONS: neurons.measure_neurons(model),
    }
    for name, results in measured.items():
        (FOLDER / name).write_text(write_measurements(results), encoding="utf-8")
    found = beginnings.measure_beginnings(model)
    (FOLDER / BEGINNINGS).write_text(beginnings.write_beginnings(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
