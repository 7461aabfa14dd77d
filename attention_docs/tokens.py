"""Cut a text into tokens by byte-pair encoding, and learn which pairs to merge."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

from attention_docs.checks import requires

FOLDER = Path(__file__).parent / "data" / "smollm2"
VOCABULARY, NEIGHBOURS = "vocabulary.txt", "neighbours.json"

Pair = tuple[str, str]
"""Two tokens that stand next to each other."""

_WORDS = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W_]+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


class Neighbours(NamedTuple):
    """Rows of an embedding table that point in nearly the same direction.

    Attributes:
        shape: of the table.
        rows: for each token the nearest ones, each with the cosine of the angle.
    """

    shape: tuple[int, ...]
    rows: dict[str, list[tuple[str, float]]]


def count_pairs(words: Sequence[Sequence[str]]) -> Counter[Pair]:
    """How often each pair of neighbours occurs; a pair lies within a word.

    Args:
        words: each as its tokens.

    Examples:
        In "saw" and "saws" a and w meet twice, w and s once.

        >>> counts = count_pairs(["saw", "saws"])
        >>> counts["a", "w"], counts["w", "s"], counts["w", "a"]
        (2, 1, 0)
    """
    return Counter(pair for word in words for pair in pairwise(word))


def merge(word: Sequence[str], pair: Pair) -> list[str]:
    """Replace each occurrence of a pair by one token, from left to right.

    Args:
        word: its tokens.
        pair: the two tokens to join.

    Examples:
        >>> merge("aaab", ("a", "a"))
        ['aa', 'a', 'b']
    """
    merged: list[str] = []
    i = 0
    while i < len(word):
        found = tuple(word[i : i + 2]) == pair
        merged.append("".join(pair) if found else word[i])
        i += 2 if found else 1
    return merged


@requires("steps must not be negative", lambda steps: steps >= 0)
def learn_merges(words: Sequence[Sequence[str]], steps: int) -> list[Pair]:
    """Byte-pair encoding: merge the most frequent pair, count again, and so on.

    Of pairs that are equally frequent, the one that occurs first is merged.

    Args:
        words: each as its tokens, to begin with its characters.
        steps: how many merges to learn at most; it ends earlier where no pair is left.

    Returns:
        The pairs in the order in which they were merged.

    Raises:
        ValueError: a negative number of steps.

    Source:
        Gage 1994, "A New Algorithm for Data Compression"; Sennrich et al. 2016, "Neural Machine
        Translation of Rare Words with Subword Units", §3.2.

    Examples:
        In "saw saw see" s and a meet twice, as do a and w; then "sa" and w do.

        >>> learn_merges(["saw", "saw", "see"], 2)
        [('s', 'a'), ('sa', 'w')]
    """
    current = [list(word) for word in words]
    learned: list[Pair] = []
    for _ in range(steps):
        counts = count_pairs(current)
        if not counts:
            break
        best = max(counts, key=counts.__getitem__)  # the first of equal ones
        learned.append(best)
        current = [merge(word, best) for word in current]
    return learned


@requires("word must have at least one character", lambda word: len(word) > 0)
def merge_pairs(word: str, ranks: Mapping[Pair, int]) -> list[str]:
    """Cut one word into tokens: merge the pair that was learned first, again and again.

    Args:
        word: its characters; in real models each stands for a byte.
        ranks: for each pair that may be merged, how early it was learned.

    Returns:
        The tokens that are left when no pair can be merged.

    Raises:
        ValueError: an empty word.

    Source:
        Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units", §3.2.

    Examples:
        First t and h, then th and e.

        >>> merge_pairs("theme", {("t", "h"): 0, ("th", "e"): 2, ("h", "e"): 1})
        ['the', 'm', 'e']
    """
    tokens = [*word]
    while len(tokens) > 1:
        best = min(pairwise(tokens), key=lambda pair: ranks.get(pair, len(ranks)))
        if best not in ranks:
            break
        tokens = merge(tokens, best)
    return tokens


def byte_characters() -> dict[int, str]:
    """The character that stands for each byte in the tokens of GPT-2 and its relatives.

    A byte that is a visible character of Latin-1 stands for itself; the others get the characters
    from 256 on, in their order. So a space is written Ġ.

    Source:
        Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", in its code.

    Examples:
        >>> characters = byte_characters()
        >>> characters[ord("a")], characters[ord(" ")], len(set(characters.values()))
        ('a', 'Ġ', 256)
        >>> [byte for byte in range(160, 256) if characters[byte] != chr(byte)]
        [160, 173]
    """
    visible = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) for byte in visible} | {
        byte: chr(256 + i) for i, byte in enumerate(hidden)
    }


def split_words(text: str) -> list[str]:
    """The pieces of a text that no token crosses: words with a space before them, single digits.

    Args:
        text: any text.

    Source:
        Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", in its code;
        Allal et al. 2025, "SmolLM2", in its tokenizer, for the digits.

    Examples:
        >>> split_words("Don't pay 42!  Now")
        ['Don', "'t", ' pay', ' ', '4', '2', '!', ' ', ' Now']
    """
    words: list[str] = []
    for is_number, group in groupby(text, lambda one: unicodedata.category(one)[0] == "N"):
        part = "".join(group)
        words += [*part] if is_number else _WORDS.findall(part)
    return words


def cut_text(text: str, ranks: Mapping[Pair, int]) -> list[str]:
    """Cut a text into tokens: into words by `split_words`, and these by their bytes.

    Args:
        text: any text.
        ranks: as for `merge_pairs`, over the characters of `byte_characters`.

    Examples:
        Without any merge each byte is a token; 山 has three.

        >>> cut_text("a 山", {})
        ['a', 'Ġ', 'å', '±', '±']
    """
    characters = byte_characters()
    shown = ["".join(characters[byte] for byte in word.encode()) for word in split_words(text)]
    return [token for word in shown for token in merge_pairs(word, ranks)]


def join_tokens(tokens: Sequence[str]) -> str:
    """The text of some tokens; bytes that are no UTF-8 become a replacement character.

    Examples:
        >>> join_tokens(["a", "Ġ", "å", "±", "±"])
        'a 山'
    """
    return token_bytes(tokens).decode(errors="replace")


def token_bytes(tokens: Sequence[str]) -> bytes:
    """The bytes that the characters of some tokens stand for.

    Examples:
        >>> token_bytes(["a", "å±"]).hex(" ")
        '61 e5 b1'
    """
    byte_of = _read_characters()
    return bytes(byte_of[one] for token in tokens for one in token)


@cache
def _read_characters() -> dict[str, int]:
    return {character: byte for byte, character in byte_characters().items()}


def spell_token(token: str) -> str:
    """A token as text; bytes that are no whole characters are written like ⟨E9 94⟩.

    Examples:
        >>> [spell_token(one) for one in ("Ġa", "å±", "±", "<|endoftext|>")]
        [' a', '⟨E5 B1⟩', '⟨B1⟩', '<|endoftext|>']
    """
    content = token_bytes([token])
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"⟨{content.hex(' ').upper()}⟩"


def load_vocabulary() -> tuple[dict[str, int], dict[Pair, int]]:
    """The tokenizer of SmolLM2-135M-Instruct: the id of each token, and the rank of each pair.

    Examples:
        >>> ids, ranks = load_vocabulary()
        >>> len(ids), len(ranks), ids["<|endoftext|>"]
        (49152, 48900, 0)
    """
    tokens, pairs = _read_vocabulary()
    return {token: i for i, token in enumerate(tokens)}, {pair: i for i, pair in enumerate(pairs)}


@cache
def _read_vocabulary() -> tuple[tuple[str, ...], tuple[Pair, ...]]:
    """The tokens and the pairs, in their order; whoever asks gets dictionaries of their own."""
    lines = (FOLDER / VOCABULARY).read_text(encoding="utf-8").splitlines()
    halves = (line.split(" ") for line in lines if " " in line)
    pairs = tuple((first, second) for first, second in halves)
    return tuple(line.replace(" ", "") for line in lines), pairs


def load_neighbours() -> Neighbours:
    """Nearest rows of the embedding table of SmolLM2-135M-Instruct, for a few tokens, by cosine.

    Examples:
        >>> load_neighbours().rows["Ġsaw"][0]
        ['Ġsees', 0.67]
    """
    found = json.loads((FOLDER / NEIGHBOURS).read_text(encoding="utf-8"))
    return Neighbours(tuple(found["shape"]), found["rows"])
