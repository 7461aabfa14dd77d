"""What a language model says next: its likeliest tokens, how it writes, and what changes that."""

from __future__ import annotations

import codecs
import json
from collections.abc import Collection, Mapping, Sequence
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from attention_docs.assistant import chat_text
from attention_docs.checks import requires
from attention_docs.data import REFERENCE
from attention_docs.generation import Cache
from attention_docs.language_model import cross_entropy, sample, token_distribution
from attention_docs.signatures import checked
from attention_docs.smollm2 import (
    HEADS,
    LAYERS,
    START,
    Head,
    Run,
    SmolLM2,
    cut_neurons,
    encode_chat,
    encode_text,
    mean_outputs,
    neuron_activity,
    neuron_writes,
    read_rows,
    read_smollm2,
    run_model,
)
from attention_docs.softmax import softmax
from attention_docs.tokens import spell_token, token_bytes

COUNT = 10
"""How many of the likeliest tokens are shown."""

POWERS = (0.5, 0.7, 1.0, 1.4, 2.2, 5.0)
"""1/τ of the temperatures for which the sum of all other tokens is kept."""

OTHERS = 5
"""How many of the likeliest tokens of a changed model are shown besides those of the whole one."""

MAX_TOKENS = 200
"""How many tokens of a reader's text are read here; the model could take 8,192."""

ALL = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]


@requires(
    lambda logits, count: f"count must be from 1 to {logits.shape[0] - 1}, got {count}",
    lambda logits, count: 0 < count < logits.shape[0],
)
def next_tokens(logits: Float[np.ndarray, " vocabulary"], count: int = COUNT) -> dict[str, Any]:
    r"""The likeliest tokens, with what is needed to know their probabilities at each temperature.

    $$p_j(\tau) = \frac{p_j^{1/\tau}}{\sum_{l \in S} p_l^{1/\tau} + R(1/\tau)}, \qquad
      R(\beta) = \sum_{l \notin S} p_l^\beta$$

    S holds the likeliest tokens.

    Args:
        logits: (vocabulary,), real floats, of one place.
        count: how many, the size of S.

    Returns:
        Under "ids" the ids, under "nats" -ln p of each, and under "rest" ln R for each of `POWERS`.

    Raises:
        TypeError: logits are no array of real floats.
        ValueError: logits of more than one place, or count not below the number of tokens.

    Source:
        Guo et al. 2017, "On Calibration of Modern Neural Networks", §4.2: temperature.

    Examples:
        1/8, 2/8, 5/8: the likeliest is token 2, and the square roots of the others add up to
        0.354 + 0.5, whose logarithm is -0.158.

        >>> found = next_tokens(np.log(np.array([1.0, 2, 5])), 1)
        >>> found["ids"], round(found["nats"][0], 4), round(found["rest"][0], 3)
        ([2], 0.47, -0.158)
    """
    exact = logits.astype(np.float64)
    largest = np.maximum.reduceat(
        logits, np.arange(0, len(logits), 1 + len(logits) // (16 * count))
    )
    found = np.flatnonzero(logits >= np.partition(largest, -count)[-count])  # count or more
    found = found[np.argsort(-exact[found], kind="stable")][:count]
    tenths = np.exp((exact - exact[found[0]]) / 10)  # of the powers: one exponential for all
    log_total = np.log(_raise(tenths, 10).sum())
    others = np.delete(tenths, found)
    rest = [np.log(_raise(others, round(10 * power)).sum()) - power * log_total for power in POWERS]
    return {
        "ids": found.tolist(),
        "nats": (log_total + exact[found[0]] - exact[found]).tolist(),
        "rest": [float(one) for one in rest],
    }


def _raise(x: Float[np.ndarray, " n"], power: int) -> Float[np.ndarray, " n"]:
    """The power of each, by squares: in a browser a tenth of the time of as many exponentials."""
    if power == 1:
        return x
    half = _raise(x, power // 2)
    square: Float[np.ndarray, " n"] = half * half
    return square * x if power % 2 else square


@checked
def surprises(
    logits: Float[np.ndarray, "n vocabulary"], ids: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n_less_1"]:
    r"""How surprising each token after the first was to the model, in bits.

    $$s_i = -\log_2 \operatorname{softmax}(z_{i-1})_{t_i}$$

    Args:
        logits: z (n, vocabulary), real floats.
        ids: t (n,), at least 2.

    Returns:
        (n - 1,), in bits: 1 for a token that had the probability 1/2.

    Raises:
        TypeError: as for `cross_entropy`.
        ValueError: as for `cross_entropy`.

    Source:
        Shannon 1951, "Prediction and Entropy of Printed English".

    Examples:
        Probabilities 1/4 and 1/2.

        >>> logits = np.log(np.array([[1.0, 3], [1, 1], [1, 1]]))
        >>> surprises(logits, np.array([0, 0, 1])).round(4).tolist()
        [2.0, 1.0]
    """
    bits: Float[np.ndarray, " n_less_1"] = cross_entropy(logits[:-1], ids[1:]) / log(2)
    return bits


@checked
def guess_by_layer(run: Run, model: SmolLM2) -> list[tuple[int, float]]:
    """The likeliest next token after each layer, if the last token's row were read out there.

    The last RMSNorm and the table are applied to a row that the model would have gone on with. It
    shows a direction that the row has taken, not a decision: no later layer sees the reading, and
    the model was not trained to give it.

    Args:
        run: of one text.
        model: whose last norm and table read the rows.

    Returns:
        For each layer the id and its probability.

    Source:
        nostalgebraist 2020, "interpreting GPT: the logit lens", LessWrong.
    """
    probabilities = softmax(read_rows(np.stack([x[-1] for x in run.layers]), model))
    best = probabilities.argmax(axis=-1)
    return [(int(i), float(probabilities[layer, i])) for layer, i in enumerate(best)]


@checked
def token_text(i: int, model: SmolLM2) -> str:
    """A token as `spell_token` writes it.

    Args:
        i: its id.
        model: for its tokens.
    """
    return spell_token(model.tokens[i])


@checked
def whole_text(ids: Sequence[int], model: SmolLM2) -> tuple[str, str]:
    """The text of some tokens as far as its characters are whole, and the bytes of one that is not.

    Args:
        ids: of a text.
        model: for its tokens.

    Returns:
        The text, in which bytes that never make a character are �, and, if it ends inside a
        character, the bytes of that, like F0 9F.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(token_bytes([model.tokens[i] for i in ids]))
    unfinished, _ = decoder.getstate()
    return text, unfinished.hex(" ").upper()


# --- a reader's own text --------------------------------------------------------------------------


class Writer:
    """A text that the model reads and goes on with, one token after another.

    Args:
        model: as `load_smollm2` gives it.

    Attributes:
        ids: the tokens, `START` in front.
        bits: how surprising each of them was; None for the first, and for those of a text that
            has been read until `find_bits` is asked.
        is_cut: whether the text had more than `MAX_TOKENS`.
        left: the tokens of a text that are still to be read.
        run: of the last step.
    """

    def __init__(self, model: SmolLM2) -> None:
        self.model = model
        self.means: Mapping[Head, Float[np.ndarray, " d_v"]] = {}
        self.cut: Collection[Head] = ()
        self.skip: list[tuple[int, str]] = []
        self.whole = model
        self.spacing = (0.0, 1.0)
        self.clear()

    def clear(self) -> None:
        """Forget the text."""
        self.ids: list[int] = []
        self.bits: list[float | None] = []
        self.left: list[int] = []
        self.rows: list[Float[np.ndarray, "n d_model"]] = []  # of a text, by the steps of reading
        self.weights: list[Mapping[Head, Float[np.ndarray, "n m"]]] = []  # of each step
        self.run: Run | None = None
        self.is_cut = False

    def read(self, text: str, as_chat: bool = False, count: int = MAX_TOKENS) -> None:
        """Begin with a text and the whole model; half of a surrogate pair becomes �.

        As a chat it is what a user says, and what comes next is the answer. The marks of a chat are
        marks only where the template writes them. Of a long text `count` tokens are read now, and
        the others by `read_on`, so that a reader can stop in between.
        """
        self.ids = []
        self.change()
        self.clear()
        clean = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        ids = [START, *encode_text(clean, self.model)]
        if as_chat:
            before, after = chat_text([("user", "\0")]).split("\0")
            framed = [encode_chat(part, self.model) for part in (before, after)]
            own, room = ids[1:], MAX_TOKENS - sum(map(len, framed))
            ids = [*framed[0], *own[:room], *framed[1], *own[room:]]  # what is too long comes last
        self.is_cut = len(ids) > MAX_TOKENS
        self.left = ids[:MAX_TOKENS]
        self.read_on(count)

    def read_on(self, count: int = MAX_TOKENS) -> None:
        """Read so many more tokens of the text, if any are left."""
        ids, self.left = self.left[:count], self.left[count:]
        if ids:
            self.rows.append(self._step(ids).layers[-1])

    def change(
        self,
        heads: Sequence[Head] = (),
        by_mean: bool = False,
        skip: Sequence[tuple[int, str]] = (),
        neurons: Sequence[tuple[int, int]] = (),
        spacing: tuple[float, float] = (0, 1),
    ) -> None:
        """Change the model from now on, and read the text again so; nothing given is as it was.

        Args:
            heads: those whose output is replaced.
            by_mean: whether by their mean over `REFERENCE` rather than by 0.
            skip: as for `run_model`.
            neurons: as for `cut_neurons`.
            spacing: the position of the first token, and the step from one to the next: with the
                step 0 there are no positions, with -1 they run backwards.
        """
        chosen = [(int(layer), int(head)) for layer, head in heads]
        if by_mean and chosen and not self.means:
            reference = np.array([START, *encode_text(REFERENCE, self.model)])
            self.means = mean_outputs(reference, self.whole)
        self.cut = {one: self.means[one] for one in chosen} if by_mean else chosen
        self.skip = [(int(layer), str(part)) for layer, part in skip]
        out = [(int(layer), int(neuron)) for layer, neuron in neurons]
        self.model = cut_neurons(out, self.whole) if out else self.whole
        self.spacing = (float(spacing[0]), float(spacing[1]))
        if self.ids:
            self._read_again(self.ids)

    def compare(
        self, changes: Sequence[Mapping[str, Any]], head: Head | None = None
    ) -> dict[str, Any]:
        """What comes next as it is now and after each of some changes, which are undone.

        Args:
            changes: each what `change` takes.
            head: one whose map is wanted each time.

        Returns:
            Under "ids" the likeliest tokens of now and then the `OTHERS` likeliest after the first
            change, under "texts" these as text, under "shares" their probabilities, now and after
            each change, and under "maps" the maps.
        """
        before, logits, maps = vars(self).copy(), [self.last], []
        if head:
            maps.append(self.map(*head))
        for change in changes:
            self.change(**change)
            logits.append(self.last)
            if head:
                maps.append(self.map(*head))
            vars(self).update(before, means=self.means)  # means take as long as a text
        ids = next_tokens(logits[0])["ids"]
        ids += [i for i in next_tokens(logits[1], OTHERS)["ids"] if i not in ids]
        return {
            "ids": ids,
            "texts": [token_text(i, self.model) for i in ids],
            "shares": softmax(np.array(logits, dtype=np.float64))[:, ids].tolist(),
            "maps": [_round(one) for one in maps],
        }

    def append(self, i: int, cached: bool = True) -> None:
        """Go on with a token; without the cache everything before it is computed once more.

        What is left of a text is never read then.
        """
        bits = [*self.bits, float(cross_entropy(self.last, np.array(int(i)))) / log(2)]
        if cached:
            self._step([int(i)])
            self.left = []
        else:
            self._read_again([*self.ids, int(i)])
        self.bits = bits

    def draw(
        self,
        uniform: float,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
    ) -> int:
        """A next token, drawn as `token_distribution` and `sample` say."""
        p = token_distribution(self.last.astype(np.float64), temperature, top_k, top_p)
        return int(sample(p, np.array(float(uniform))))

    def find_bits(self) -> list[float | None]:
        """The `bits` of all tokens.

        Of a text they need the logits after each of its tokens, and what comes next needs the last
        ones alone: so these can be seen first.
        """
        rows = np.concatenate(self.rows)
        if len(rows) > 1:
            read = np.array(self.ids[: len(rows)])
            self.bits[1 : len(rows)] = surprises(read_rows(rows, self.model), read).tolist()
        return self.bits

    @property
    def last(self) -> Float[np.ndarray, " vocabulary"]:
        """The logits for the next token."""
        assert self.run, "read a text first"
        row: Float[np.ndarray, " vocabulary"] = self.run.logits[-1]
        return row

    def map(self, layer: int, head: int) -> Float[np.ndarray, "n n"]:
        """The weights of one head on the whole text, of all steps."""
        n = len(self.ids)
        found, row = np.zeros((n, n), dtype=np.float32), 0
        for step in self.weights:
            part = step[layer, head]
            found[row : row + part.shape[0], : part.shape[1]] = part
            row += part.shape[0]
        return found

    def follow(self, layer: int, neuron: int) -> tuple[list[float], list[list[int]]]:
        """What one neuron does on the whole text, and the ids that it raises most.

        Returns:
            Its activity at each token; the ids that it raises where that is positive, and those
            where it is negative.
        """
        run = self._run(self.ids, (), self.skip)
        activity = neuron_activity(run, self.model, (layer, neuron))
        raised = np.argsort(-neuron_writes((layer, neuron), self.whole), kind="stable")
        return activity.tolist(), [raised[:COUNT].tolist(), raised[: -COUNT - 1 : -1].tolist()]

    def _run(
        self,
        ids: list[int],
        watch: Collection[Head],
        skip: Collection[tuple[int, str]],
        cache: Sequence[Cache] = (),
    ) -> Run:
        first, step = self.spacing
        before = len(self.ids) if cache else 0
        positions = first + step * np.arange(before, before + len(ids), dtype=np.float32)
        return run_model(
            np.array(ids), self.model, self.cut, watch, skip, cache, positions=positions, last=True
        )

    def _read_again(self, ids: list[int]) -> None:
        is_cut = self.is_cut
        self.clear()
        self.is_cut, self.left = is_cut, ids
        self.read_on(len(ids))

    def _step(self, ids: list[int]) -> Run:
        cache = self.run.cache if self.run else []
        self.run = self._run(ids, ALL, self.skip, cache)
        self.bits += [None] * len(ids)
        self.ids = [*self.ids, *ids]
        self.weights.append({one: seen.weights for one, seen in self.run.seen.items()})
        return self.run


def open_model(path: str) -> SmolLM2:
    """The model in a file, which is deleted: it would take its memory twice.

    Args:
        path: of a copy of the file, as a browser has one, whose pieces the page has compared with
            their hashes.
    """
    file = Path(path)
    content = file.read_bytes()
    file.unlink()
    return read_smollm2(content)


@checked
def answer(writer: Writer, request: str) -> str:
    """What a page asks of the model, and what comes of it, both as JSON.

    Args:
        writer: what has been read so far.
        request: `do` is "read" with a text, "read_on", "append" with an id, "draw" with `uniform`
            and the settings, "compare" with changes, "map" with a head, "neuron" with one,
            "guesses", or "bits".

    Returns:
        The tokens that are new, the whole text, and the likeliest next tokens; or what `compare`
        finds, or the map, or what the neuron does, or the guesses, or how surprising each token
        was.

    Raises:
        ValueError: something else to do.
    """
    asked = json.loads(request)
    do, known = asked.pop("do"), 0
    if do == "map":
        return json.dumps(_round(writer.map(asked["layer"], asked["head"])))
    if do == "compare":
        return json.dumps(writer.compare(**asked))
    if do == "neuron":
        activity, raised = writer.follow(asked["layer"], asked["neuron"])
        tokens_of = [[token_text(i, writer.model) for i in ids] for ids in raised]
        return json.dumps({"activity": activity, "raised": tokens_of})
    if do == "bits":
        return json.dumps(writer.find_bits())
    if do == "guesses":
        assert writer.run, "read a text first"
        found = guess_by_layer(writer.run, writer.model)
        return json.dumps([[token_text(i, writer.model), p] for i, p in found])
    if do == "read":
        writer.read(**asked)
    elif do == "read_on":
        known = len(writer.ids)
        writer.read_on(**asked)
    elif do in ("append", "draw"):
        cached, known = asked.pop("cached", True), len(writer.ids)
        writer.append(asked["id"] if do == "append" else writer.draw(**asked), cached)
    else:
        raise ValueError(f"do must be a known request, got {do!r}")
    new = zip(writer.ids[known:], writer.bits[known:], strict=True)
    following = next_tokens(writer.last)
    texts = [token_text(i, writer.model) for i in following["ids"]]
    text, unfinished = whole_text(writer.ids[1:], writer.model)
    return json.dumps(
        {
            "known": known,
            "tokens": [[i, token_text(i, writer.model), bits] for i, bits in new],
            "text": text,
            "unfinished": unfinished,
            "isCut": writer.is_cut,
            "left": len(writer.left),
            "next": {**following, "texts": texts},
        }
    )


def _round(weights: Float[np.ndarray, "n n"]) -> list[list[float]]:
    """A map as JSON may have it."""
    return np.round(weights.astype(float), 4).tolist()  # type: ignore[no-any-return]
