"""Byte-pair encoding: by hand, by an implementation on strings, and against the model's file."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from attention_docs.tokens import (
    byte_characters,
    count_pairs,
    cut_text,
    join_tokens,
    learn_merges,
    load_neighbours,
    load_vocabulary,
    merge,
)
from tests.conftest import ROOT
from tests.exact import make_test_of_asked
from tests.page import Page

ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-pencil": [14, 17, 18],
    "exercise-digits": [[7, 9], [1, 3], [7, 7]],
}
test_what_exercises_ask = make_test_of_asked(ASKED)
SENTENCES = "she sells sea shells by the sea shore the shells she sells are sea shells"


def merge_in_text(corpus: str, steps: int) -> list[tuple[str, int, int]]:
    """Merges of a text whose tokens are separated by blanks and whose words by bars: on strings."""
    learned = []
    for _ in range(steps):
        words = [word.split() for word in corpus.split("|")]
        counts = Counter(pair for word in words for pair in pairwise(word))
        (first, second), times = counts.most_common(1)[0]
        apart = rf"(?<!\S){re.escape(first)} {re.escape(second)}(?!\S)"
        corpus = re.sub(apart, first + second, corpus)
        learned.append((first + second, times, len(corpus.replace("|", " ").split())))
    return learned


def test_merges(chapter: Page) -> None:
    corpus = " | ".join(" ".join("␣" + word) for word in SENTENCES.split())
    wanted = merge_in_text(corpus, 10)
    rows = chapter.table("merges")
    shown = [(row["new token"], row["times"], row["tokens in the corpus"]) for row in rows]
    assert shown == [(token, str(times), str(left)) for token, times, left in wanted]
    words = [["␣", *word] for word in SENTENCES.split()]
    assert ["".join(pair) for pair in learn_merges(words, 10)] == [token for token, *_ in wanted]
    letters = SENTENCES.replace(" ", "␣")
    assert chapter.values("merges") == [str(len("␣" + letters)), str(wanted[-1][2])]
    often = [[row["first"], row["second"], row["times"]] for row in chapter.table("corpus")]
    starts = Counter("␣" + word[0] for word in SENTENCES.split())
    assert often[0] == ["␣", "s", str(starts["␣s"])]


@given(st.lists(st.text("ab", min_size=1, max_size=8), min_size=1, max_size=5))
def test_a_merge_takes_at_most_as_many_tokens_as_there_are_pairs(words: list[str]) -> None:
    for pair, times in count_pairs(words).items():
        merged = [merge(word, pair) for word in words]
        assert 1 <= sum(map(len, words)) - sum(map(len, merged)) <= times
        assert ["".join(word) for word in merged] == words


def test_no_pair_is_left() -> None:
    assert learn_merges(["a", "b"], 3) == []
    with pytest.raises(ValueError, match="steps must not be negative, got -1"):
        learn_merges(["ab"], -1)


@given(st.text(max_size=40))
def test_lossless(text: str) -> None:
    """Whatever the merges are: none, and those of the model."""
    text = text.encode("utf-8", "replace").decode()
    for ranks in ({}, load_vocabulary()[1]):
        assert join_tokens(cut_text(text, ranks)) == text


def test_cut(chapter: Page) -> None:
    """Side by side the tokens are the text; each id is its token's in the kept vocabulary."""
    ids, _ = load_vocabulary()
    tokens = [row["token"] for row in chapter.table("cut")]
    assert "".join(tokens).replace("␣", " ") == "How many r are in strawberry?"
    assert chapter.column("cut", "id") == [ids[token.replace("␣", "Ġ")] for token in tokens]


def test_the_real_tokenizer(chapter: Page) -> None:
    """Token ids of Hugging Face's tokenizer of the model, kept in the project's tests."""
    ids, ranks = load_vocabulary()
    by_hand = {"strawberry": "st raw berry", "2026": "2 0 2 6", " Zubrowka": "ĠZ ub row ka"}
    for text, tokens in by_hand.items():
        assert cut_text(text, ranks) == tokens.split()
    rows = {row["text"]: row for row in chapter.table("real")}
    assert rows["strawberry"]["tokens"] == "st · raw · berry"
    assert [rows[one]["how many"] for one in ("2026", "明天上山看日出")] == ["4", "13"]
    pieces = rows["明天上山看日出"]["tokens"].split(" · ")
    parts = [
        re.fullmatch(r"⟨([0-9A-F ]+)⟩", one) for one in pieces
    ]  # the others are whole characters
    joined = [
        bytes.fromhex(part[1]) if part else one.encode()
        for part, one in zip(parts, pieces, strict=True)
    ]
    assert b"".join(joined).decode() == "明天上山看日出"
    assert (len(pieces), sum(map(bool, parts))) == (13, 11)
    assert chapter.values("tokens")[0] == "The answer is 1."  # test_assistant asks again
    first = list(ids)[: len(ids) - len(ranks)]
    assert (len(first), len(first[17:])) == (252, 235)
    assert chapter.values("real") == [
        f"{len(ids):,}",
        "3",
        "13",
        f"{13 / 7:.1f}",
        "235",
        f"{len(ranks):,}",
        "17",
        "21",
    ]
    assert (len(ids), len(ranks)) == (49_152, 48_900)
    assert set(first[17:]) <= set(byte_characters().values())
    assert list(ids)[len(first) :] == ["".join(pair) for pair in ranks]


def test_how_the_pieces_of_a_word_fuse(chapter: Page) -> None:
    """By hand: merges 4, 7 and 9 are of other words, and each row joins one pair of the last."""
    assert chapter.figure("chips") == (
        "letters: ␣ · s · h · e · l · l · s. merge 1: ␣s · h · e · l · l · s (new: ␣s). "
        "merge 2: ␣s · he · l · l · s (new: he). merge 3: ␣she · l · l · s (new: ␣she). "
        "merge 5: ␣she · ll · s (new: ll). merge 6: ␣she · lls (new: lls). "
        "merge 8: ␣shells (new: ␣shells)."
    )


def test_one_move(chapter: Page) -> None:
    """With two words the probability of the first is a sigmoid of the difference."""
    moved = {}
    for row, (word, a, b, first) in zip(
        chapter.table("one-move"),
        [("king", 0.2, 0.1, True), ("queen", -0.1, 0.3, True), ("tree", 0.1, 0.2, False)],
        strict=True,
    ):
        missing = (1 if first else 0) - 1 / (1 + math.exp(b - a))
        moved[word] = (a, b), (a + missing, b - missing)
        assert row["row before"] == f"[{a:.3f}, {b:.3f}]".replace("-", "−")
        assert row["row after"] == f"[{a + missing:.3f}, {b - missing:.3f}]".replace("-", "−")
        for when, ends in zip(("before", "after"), moved[word], strict=True):
            x, y = (f"{one:.2f}".replace("-", "−") for one in ends)
            assert f"{word}, {when} to ({x}, {y})" in chapter.figure("one-move-arrows")
        for when, (x, king) in {
            "before": (moved[word][0], moved["king"][0]),
            "after": (moved[word][1], moved["king"][1]),
        }.items():
            dot = sum(i * j for i, j in zip(x, king, strict=True))
            cosine = dot / math.hypot(*x) / math.hypot(*king)
            assert row[f"cosine {when}"] == f"{cosine:.2f}".replace("-", "−")


def test_neighbours(chapter: Page) -> None:
    kept = load_neighbours()
    rows = chapter.table("neighbours")
    title = "nearest rows, with the cosine of the angle"
    assert [row[""] for row in rows] == ["␣saw", "␣king", "␣three", "␣Paris"]
    assert rows[0][title].startswith("␣sees 0.67, ␣see 0.61, ␣seeing 0.59")
    assert rows[1][title].startswith("␣King 0.82, King 0.72, ␣kings 0.70")
    king = 1 / (1 + math.exp(0.1 - 0.2))
    assert chapter.values("neighbours") == [
        f"{kept.shape[0]:,}",
        str(kept.shape[1]),
        f"{king:.3f}",
        f"{1 - king:.3f}",
        "28",
    ]
    assert 49_152 * 576 == kept.shape[0] * kept.shape[1] == 28_311_552


@pytest.mark.needs("smollm2")
def test_the_model_has_these_tokens_and_neighbours() -> None:
    """The file itself, and cosines by torch."""
    import torch

    from attention_docs.gguf import dequantise, read_gguf
    from attention_docs.smollm2 import FILE

    path = next(Path(ROOT, ".cache", "models").rglob(FILE))
    metadata, tensors = read_gguf(path.read_bytes())
    ids, ranks = load_vocabulary()
    assert list(ids) == list(metadata["tokenizer.ggml.tokens"])
    assert [" ".join(pair) for pair in ranks] == list(metadata["tokenizer.ggml.merges"])
    table = torch.from_numpy(dequantise(tensors["token_embd.weight"]).copy())
    for token, near in load_neighbours().rows.items():
        cosines = torch.cosine_similarity(table, table[ids[token]][None])
        values, places = cosines.topk(len(near) + 1)
        assert [list(ids)[i] for i in places[1:]] == [name for name, _ in near]
        assert [round(one, 2) for one in values[1:].tolist()] == [one for _, one in near]


def test_exercises(chapter: Page) -> None:
    rows = chapter.table("exercise-spaces")
    assert [row["how many"] for row in rows] == ["2", "1", "2"]
    assert [row["tokens"] for row in chapter.table("exercise-digits")] == ["7", "9"]
