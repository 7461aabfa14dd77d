"""Where the language model keeps a country until its capital is due: maps, patches and cuts.

    python -m attention_docs.site.publish.measurements .cache/models

measures this too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from attention_docs.data import REFERENCE
from attention_docs.generation import Cache
from attention_docs.heads import first_token_share
from attention_docs.language_model import cross_entropy
from attention_docs.maps import attention_rollout, patching_effect, value_weighted
from attention_docs.next_word import ALL, token_text
from attention_docs.smollm2 import (
    FILE,
    HEADS,
    LAYERS,
    SHA256,
    START,
    Head,
    Run,
    SmolLM2,
    encode_text,
    mean_outputs,
    run_model,
)
from attention_docs.softmax import softmax

TEXT = "The capital of {} is the city of"
CAPITALS = {
    **{"France": "Paris", "Japan": "Tokyo", "Peru": "Lima", "Kenya": "Nairobi", "Norway": "Oslo"},
    **{"Egypt": "Cairo", "Cuba": "Havana", "Chile": "Santiago", "Poland": "Warsaw"},
    "Portugal": "Lisbon",
}
"""Those real countries of `measurements.COUNTRIES` whose capital is one token and the likeliest."""

PLACE = 4
"""Where the country stands; tokens before it are the same in all texts."""

PATCHED = range(2, LAYERS, 3)
"""Layers after which a row is exchanged."""

CONTROLLED = (2, 14, 20, 29)
"""Layers after which a row of a random text is put in the place of the country and at the end."""

LOOKING, DRAWS = 8, 10
"""How many heads are cut at once, and how often as many of the others are drawn."""

FIRST_WORD, SEED = 17, 0
"""The tokens before it are marks; random texts are drawn from the others."""


def measure_maps(model: SmolLM2) -> dict[str, Any]:
    """All that is kept; two minutes of an idle machine."""
    ids, capitals, random = list_texts(model)
    run = run_model(ids, model, watch=ALL)
    weights = np.stack([run.seen[one].weights for one in ALL])  # (h, text, n, n)
    by_layer = weights.reshape(LAYERS, HEADS, *weights.shape[1:]).mean(axis=1)
    rolled = np.stack([attention_rollout(one) for one in by_layer.swapaxes(0, 1)])
    chances = softmax(run.logits[:, -1].astype(np.float64))
    rows = np.arange(len(ids))
    last, sinks = weights[..., -1, :], _measure_sinks(model)
    values = np.stack([run.cache[layer].value[..., head // 3, :, :] for layer, head in ALL])
    lengths = value_weighted(weights, values)[..., -1, :]
    patches, drawn, n = Patches(run, ids, capitals, model), run_model(random, model), ids.shape[1]
    exchanged = [
        [
            patches.exchange(layer, token, run.layers[layer][patches.following, token])
            for token in range(PLACE, n)
        ]
        for layer in PATCHED
    ]
    return {
        "model": FILE,
        "sha256": SHA256,
        "text": TEXT,
        "capitals": CAPITALS,
        "tokens": [token_text(i, model) for i in ids[0].tolist()],
        "random": random.tolist(),
        "layers": [*PATCHED],
        "probabilities": rounded(chances[rows, capitals]),
        "last_rows": rounded(by_layer[:, 0, -1]),  # of the first text
        "rollout": rounded(rolled[0, :, -1]),
        "rollout_of_all": rounded(rolled[:, -1, -1]),
        "mean_of_all": rounded(last.mean(axis=0)),
        "mean_with_values": rounded((lengths / lengths.sum(axis=-1, keepdims=True)).mean(axis=0)),
        "lead": rounded(patches.own),
        "lead_of_other": rounded(patches.other),
        "effect": [[effect for effect, _ in layer] for layer in exchanged],
        "said": [[said for _, said in layer] for layer in exchanged],
        "controlled": [*CONTROLLED],
        "effect_of_random": [
            [patches.exchange(layer, at, drawn.layers[layer][:, at])[0] for at in (PLACE, n - 1)]
            for layer in CONTROLLED
        ],
        "on_country": by_head(last[..., PLACE]),
        "cost": by_head(measure_costs(run, ids, capitals, model, [[one] for one in ALL])),
        **measure_together(run, ids, capitals, model, last[..., PLACE].mean(axis=1)),
        "sinks": sinks,
    }


def list_texts(
    model: SmolLM2,
) -> tuple[Int[np.ndarray, "texts n"], Int[np.ndarray, " texts"], Int[np.ndarray, "texts n"]]:
    """The texts, the tokens of the capitals, and as many texts of random tokens."""
    ids = np.array([[START, *encode_text(TEXT.format(one), model)] for one in CAPITALS])
    capitals = np.array([encode_text(f" {one}", model) for one in CAPITALS.values()])[:, 0]
    words, random = np.arange(FIRST_WORD, len(model.tokens)), np.random.default_rng(SEED)
    drawn = np.stack([random.permutation(words)[: ids.shape[1] - 1] for _ in ids])
    return ids, capitals, np.insert(drawn, 0, START, axis=1)


class Patches:
    """Runs on the texts in which one row is exchanged.

    Args:
        run: of the texts.
        ids: of their tokens.
        capitals: the token of each text's capital.
        model: as `load_smollm2` gives it.
    """

    def __init__(
        self,
        run: Run,
        ids: Int[np.ndarray, "texts n"],
        capitals: Int[np.ndarray, " texts"],
        model: SmolLM2,
    ) -> None:
        self.rows = np.arange(len(ids))
        self.following = np.roll(self.rows, -1)
        self.ids, self.capitals, self.model = ids, capitals, model
        self.own, self.other = self.lead(run.logits), self.lead(run.logits[self.following])
        # Tokens in front of the country are the same in all runs.
        self.cache = [Cache(*(part[..., :PLACE, :] for part in one)) for one in run.cache]

    def lead(self, logits: Float[np.ndarray, "texts n vocabulary"]) -> Float[np.ndarray, " texts"]:
        """How far the logit of a country's capital is above that of the next country's."""
        z = logits[:, -1].astype(np.float64)
        own, following = self.capitals, self.capitals[self.following]
        lead: Float[np.ndarray, " texts"] = z[self.rows, own] - z[self.rows, following]
        return lead

    def exchange(
        self, layer: int, token: int, source: Float[np.ndarray, "texts d_model"]
    ) -> tuple[list[float], list[Any]]:
        """The effect on each text, and what comes after the first one."""
        patch = {(layer, token - PLACE): source}
        logits = run_model(self.ids[:, PLACE:], self.model, cache=self.cache, patch=patch).logits
        p = softmax(logits[0, -1].astype(np.float64))
        best = int(p.argmax())
        said = [token_text(best, self.model), round(float(p[best]), 4)]
        return rounded(patching_effect(self.lead(logits), self.own, self.other)), said


def measure_costs(
    run: Run,
    ids: Int[np.ndarray, "texts n"],
    capitals: Int[np.ndarray, " texts"],
    model: SmolLM2,
    cuts: Sequence[Sequence[Head]],
) -> Float[np.ndarray, "cuts texts"]:
    """How much the capital's loss rises if these heads give the last token their mean output."""
    means = mean_outputs(np.array([START, *encode_text(REFERENCE, model)]), model)
    before = [Cache(*(part[..., :-1, :] for part in one)) for one in run.cache]

    def nats(logits: Float[np.ndarray, "texts n vocabulary"]) -> Float[np.ndarray, " texts"]:
        losses: Float[np.ndarray, " texts"] = cross_entropy(
            logits[:, -1].astype(np.float64), capitals
        )
        return losses

    whole = nats(run.logits)
    found = []
    for cut in cuts:
        replaced = {one: means[one] for one in cut}
        found.append(nats(run_model(ids[:, -1:], model, replaced, cache=before).logits) - whole)
    return np.array(found)


def measure_together(
    run: Run,
    ids: Int[np.ndarray, "texts n"],
    capitals: Int[np.ndarray, " texts"],
    model: SmolLM2,
    on_country: Float[np.ndarray, " h"],
) -> dict[str, Any]:
    """Cuts of the heads that look at the country most, all at once, and of as many others."""
    order = np.argsort(-on_country, kind="stable")
    random = np.random.default_rng(SEED)
    drawn = [random.permutation(order[LOOKING:])[:LOOKING] for _ in range(DRAWS)]
    cuts = [[ALL[i] for i in chosen] for chosen in (order[:LOOKING], *drawn)]
    together, *others = measure_costs(run, ids, capitals, model, cuts).mean(axis=1).tolist()
    return {"together": round(together, 4), "drawn": [round(one, 4) for one in others]}


def _measure_sinks(model: SmolLM2) -> list[dict[str, Any]]:
    """How much the tokens of a text with lines look at its first token, full stops, line ends."""
    text = REFERENCE.replace(". ", ".\n")
    found = []
    for start in ([START], []):
        ids = np.array([*start, *encode_text(text, model)])
        seen = run_model(ids, model, watch=ALL).seen
        weights = np.stack([seen[one].weights for one in ALL])
        equal = np.tri(len(ids)) / np.arange(1, len(ids) + 1)[:, None]
        line_ends, full_stops = (ids == model.ids[one] for one in ("Ċ", "."))
        found.append(
            {
                "first": by_head(first_token_share(weights)[:, None]),
                "first_equal": round(float(first_token_share(equal)), 4),
                "line_ends": rounded(_shares(line_ends, weights, equal)),
                "full_stops": rounded(_shares(full_stops, weights, equal)),
            }
        )
    return found


def _shares(
    at: Bool[np.ndarray, " n"], *maps: Float[np.ndarray, "... n n"]
) -> Float[np.ndarray, " maps"]:
    """The mean weight, over heads and all queries but the first, on these tokens together."""
    return np.array([one[..., 1:, at].sum(axis=-1).mean(dtype=np.float64) for one in maps])


def by_head(values: Float[np.ndarray, "h texts"]) -> list[list[float]]:
    """One row for each layer: the means over the texts."""
    means = np.mean(values, axis=1, dtype=np.float64)
    return rounded(means.reshape(LAYERS, HEADS))


def rounded(values: Float[np.ndarray, "..."]) -> list[Any]:
    found: list[Any] = np.round(values.astype(np.float64), 4).tolist()
    return found
