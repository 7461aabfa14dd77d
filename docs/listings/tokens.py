"""Byte-pair encoding: learn merges on two sentences, cut texts with those of a real model."""

# --8<-- [start:asked]
from attention_docs.assistant import load_answers
from attention_docs.tokens import byte_characters, load_vocabulary

said, _ = load_answers().greedy["strawberry"].values()
byte_tokens = len(load_vocabulary()[0].keys() & set(byte_characters().values()))
# --8<-- [end:asked]

# --8<-- [start:cut]
from attention_docs.figures import table
from attention_docs.tokens import cut_text, spell_token

ids, ranks = load_vocabulary()


def show(token):
    """A token as text, with ␣ for a space and ⟨…⟩ for the bytes of a part of a character."""
    text = spell_token(token)
    return text if text.startswith("⟨") else text.replace(" ", "␣")


own_text = "How many r are in strawberry?"  # knob
own_tokens = cut_text(own_text, ranks)
table(
    [[show(token), ids[token]] for token in own_tokens],
    columns=["token", "id"],
    index=[str(i + 1) for i in range(len(own_tokens))],
)
# --8<-- [end:cut]

# --8<-- [start:corpus]
from attention_docs.tokens import count_pairs, merge

SENTENCES = [
    "she sells sea shells by the sea shore",
    "the shells she sells are sea shells",
]
words = [["␣", *word] for sentence in SENTENCES for word in sentence.split()]
counts = count_pairs(words)
often = sorted(counts, key=lambda pair: -counts[pair])[:4]
table(
    [[*pair, counts[pair]] for pair in often],
    columns=["first", "second", "times"],
)
# --8<-- [end:corpus]

# --8<-- [start:merging]
letters = sorted({letter for word in words for letter in word})
vocabulary, rows, pairs, current = [*letters], [], [], words
for _ in range(10):
    counts = count_pairs(current)
    pair = max(counts, key=lambda one: counts[one])  # the first of equal ones
    pairs.append(pair)
    vocabulary.append("".join(pair))
    current = [merge(word, pair) for word in current]
    rows.append([vocabulary[-1], counts[pair], sum(map(len, current))])
# --8<-- [end:merging]

# --8<-- [start:merges]
from attention_docs.text import check

joined = ["".join(word) for word in current]
before = ["".join(word) for word in words]
check("joined, the tokens are the words", joined == before)
distinct = len(set(vocabulary))
is_new = distinct == len(letters) + 10
check("each merge adds one token to the vocabulary", is_new)
table(
    rows,
    columns=["new token", "times", "tokens in the corpus"],
    index=[str(i + 1) for i in range(len(rows))],
)
# --8<-- [end:merges]

# --8<-- [start:chips]
from attention_docs.figures import chips

followed = words[3]  # ␣shells
cuts = [("letters", followed)]
for i, pair in enumerate(pairs):
    after = merge(cuts[-1][1], pair)
    if after != cuts[-1][1]:
        cuts.append((f"merge {i + 1}", after))
chips(cuts)
# --8<-- [end:chips]

# --8<-- [start:real]
from attention_docs.tokens import join_tokens, load_neighbours

kept = load_neighbours()
rows_of_table, width = kept.shape
examples = ["strawberry", " strawberry", "2026", " unbelievably", " Zubrowka"]
examples.append("明天上山看日出")
real = {text: cut_text(text, ranks) for text in examples}
bytes_each = len("山".encode())
per_character = len(real["明天上山看日出"]) / len("明天上山看日出")
whole = [join_tokens(real[text]) == text for text in examples]
check("joined, the tokens are the text", all(whole))
table(
    [
        [text.replace(" ", "␣"), " · ".join(map(show, tokens)), len(tokens)]
        for text, tokens in real.items()
    ],
    columns=["text", "tokens", "how many"],
)
# --8<-- [end:real]

# --8<-- [start:neighbours]
table(
    [
        [", ".join(f"{show(name)} {cosine:.2f}" for name, cosine in near)]
        for near in kept.rows.values()
    ],
    columns=["nearest rows, with the cosine of the angle"],
    index=[show(token) for token in kept.rows],
)
# --8<-- [end:neighbours]

# --8<-- [start:one-move]
import numpy as np

from attention_docs.softmax import softmax

rows = np.array([[0.2, 0.1], [-0.1, 0.3], [0.1, 0.2]])  # king, queen, tree: a score for each word
followed = np.array([[1.0, 0], [1, 0], [0, 1]])  # by rules, by rules, by grows
missing = followed - softmax(rows)
moved = rows + missing
units = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (rows, moved)]
with_king = np.transpose([x @ x[0] for x in units])
table(
    [
        [f"[{a[0]:.3f}, {a[1]:.3f}]", f"[{b[0]:.3f}, {b[1]:.3f}]", f"{c:.2f}", f"{d:.2f}"]
        for a, b, (c, d) in zip(rows, moved, with_king, strict=True)
    ],
    columns=["row before", "row after", "cosine before", "cosine after"],
    index=["king, then rules", "queen, then rules", "tree, then grows"],
)
# --8<-- [end:one-move]

# --8<-- [start:one-move-arrows]
from attention_docs.figures import beside, plane

earlier = ["king, before", "queen, before", "tree, before"]
later = ["king, after", "queen, after", "tree, after"]
roles = ["query", "key", "value"]  # for their colours
beside(
    plane(list(zip(earlier, roles, rows, strict=True)), reach=1),
    plane(list(zip(later, roles, moved, strict=True)), reach=1),
    columns=1,
)
# --8<-- [end:one-move-arrows]

# --8<-- [start:exercise-pencil]
pencil = [[*word] for word in ("low", "lower", "slow", "slower")]
pencil_counts = count_pairs(pencil)
first_pair = max(pencil_counts, key=lambda one: pencil_counts[one])
after = [merge(word, first_pair) for word in pencil]
left = sum(map(len, after))
# --8<-- [end:exercise-pencil]

# --8<-- [start:exercise-spaces]
places = {"at the start of a text": "saw", "after a space": " saw", "with a capital": "Saw"}
table(
    [
        [" · ".join(map(show, cut_text(text, ranks))), len(cut_text(text, ranks))]
        for text in places.values()
    ],
    columns=["tokens", "how many"],
    index=list(places),
)
# --8<-- [end:exercise-spaces]

# --8<-- [start:exercise-digits]
sums = {text: len(cut_text(text, ranks)) for text in ("1234567", "1,234,567")}
table([[count] for count in sums.values()], columns=["tokens"], index=list(sums))
# --8<-- [end:exercise-digits]


# --8<-- [start:writing]
def your_merge(ids, first, second, new):
    """The ids in which each `first`, `second` has become `new`."""
    return ids  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_merge(ids, first, second, new):
    merged, i = [], 0
    while i < len(ids):
        found = list(ids[i : i + 2]) == [first, second]
        merged.append(new if found else ids[i])
        i += 2 if found else 1
    return merged


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from itertools import pairwise

from attention_docs.figures.tasks import Task, judge

writing = Task(
    model_merge,
    inputs=[
        ([5, 6], 5, 6, 9),
        ([6, 5], 5, 6, 9),
        ([6, 5, 6, 7], 5, 6, 9),
        ([5, 5, 5], 5, 5, 8),
        ([1, 2, 3, 1, 2], 1, 2, 4),
        ([15, 6, 5, 6, 300], 5, 6, 301),
        ([5, 6, 5, 6, 7, 5, 66], 5, 6, 9),
    ],
    mistakes={
        "The pair was replaced only where it occurs first.": lambda ids, first, second, new: (
            model_merge(ids[: _end(ids, first, second)], first, second, new)
            + list(ids[_end(ids, first, second) :])
        ),
        "Overlapping pairs were both replaced: go on behind the second token of a pair.": (
            lambda ids, first, second, new: [
                new if list(ids[i : i + 2]) == [first, second] else one for i, one in enumerate(ids)
            ]
        ),
        "Each of the two tokens has become `new`: a pair becomes one token.": (
            lambda ids, first, second, new: [
                one
                for token in model_merge(ids, first, second, new)
                for one in ([new, new] if token == new else [token])
            ]
        ),
    },
    draw=lambda rng: ([*rng.integers(0, 3, size=12).tolist(), 2, 2, 2], 2, 2, 9),
)


def _end(ids, first, second):
    """Where the first pair ends."""
    pairs = [*pairwise(ids)]
    return pairs.index((first, second)) + 2 if (first, second) in pairs else len(ids)


judge(your_merge, writing)
# --8<-- [end:writing-checks]
