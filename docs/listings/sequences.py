"""What goes into a sequence model, what comes out; why "I saw a saw" needs positions."""

# --8<-- [start:per-token]
import numpy as np

from attention_docs.figures import Frame, heatmap, hull, line_chart, stepper
from attention_docs.sequences import (
    EMBEDDINGS,
    POSITIONS,
    SENTENCE,
    TAGS,
    W_TAG,
    attention_parameters,
    weights_of,
    window_layer,
    window_parameters,
    windows,
)
from attention_docs.text import number, text


def best(row, names):
    """The name of the largest component, or of all where they tie."""
    largest = [i for i, one in enumerate(row) if row.max() - one < 1e-9]
    return "/".join(names[i] for i in largest)


def gap(rows):
    """The largest absolute difference between rows 2 and 4."""
    return np.abs(rows[..., 1, :] - rows[..., 3, :]).max(axis=-1)


x = EMBEDDINGS  # (4, 5)
n, d = x.shape
W_own = W_TAG[d : 2 * d]  # (5, 4)
own = x @ W_own  # (4, 5) @ (5, 4) = (4, 4)
places = [f"{word} {i + 1}" for i, word in enumerate(SENTENCE)]
heatmap(
    own,
    rows=places,
    columns=TAGS,
    role="neutral",
    spec=".0f",
    highlight=[(1, None), (3, None)],
)
# --8<-- [end:per-token]

# --8<-- [start:inputs]
three = np.array([[1.0, 0], [0, 1], [2, 2]])  # This, is, good: (3, 2)
print(text(three, ".0f"))
# --8<-- [end:inputs]

# --8<-- [start:one-label]
W_mood = np.array([[1.0, 1], [0, 1]])  # (2, 2): negative, positive
mood = three.mean(axis=0) @ W_mood  # (2,) @ (2, 2) = (2,)
print(text(mood, ".0f"), best(mood, ("negative", "positive")))
# --8<-- [end:one-label]

# --8<-- [start:n-labels]
W_word = np.array([[2.0, -1, 1], [-1, 2, 1]])  # (2, 3)
names = ("pronoun", "verb", "adjective")
labels = three @ W_word  # (3, 2) @ (2, 3) = (3, 3)
for word, row in zip(("This", "is", "good"), labels, strict=True):
    print(f"{word:5}", text(row, "2.0f"), best(row, names))
# --8<-- [end:n-labels]

# --8<-- [start:own-length]
after = {  # stands in for a trained model: what is written after what
    "This is good": {"START": "C'est", "C'est": "bien", "bien": "END"},
    "I saw a saw": {
        **{"START": "J'", "J'": "ai", "ai": "vu", "vu": "une"},
        **{"une": "scie", "scie": "END"},
    },
}
lengths = {}
for sentence, next_token in after.items():
    written, token = [], next_token["START"]
    while token != "END":  # the model decides when
        written.append(token)
        token = next_token[token]
    lengths[sentence] = len(sentence.split()), len(written)
    print(sentence, "->", " ".join(written), lengths[sentence])
# --8<-- [end:own-length]

# --8<-- [start:window-layer]
in_window = window_layer(x, W_TAG)  # (4, 3·5) @ (3·5, 4) = (4, 4)
for word, row in zip(SENTENCE, in_window, strict=True):
    print(f"{word:4}", text(row, ".0f"), best(row, TAGS))
# --8<-- [end:window-layer]

# --8<-- [start:windows]
around = windows(x, 3)  # (4, 3·5)
for word, row in zip(SENTENCE, around, strict=True):
    print(f"{word:4}", *(text(part, ".0f") for part in row.reshape(3, d)))
W_left, W_right = W_TAG[:d], W_TAG[2 * d :]
print(text(W_left, ".0f"))
print(text(W_own, ".0f"))
print(bool(W_right.any()))
# --8<-- [end:windows]

# --8<-- [start:window-parameters]
size = 64
sizes = [1, 3, 5, 7, 9, 11, 13, 15]
counts = [window_parameters(one, size) for one in sizes]
for one, count in zip(sizes, counts, strict=True):
    print(f"k = {one:2}: {count:5}")
line_chart(
    sizes,
    [("window layer", counts)],
    xlabel="window size k in tokens",
    ylabel="parameters, d = 64",
    spec=".0f",
)
# --8<-- [end:window-parameters]

# --8<-- [start:whole-sentence]
spanning, full = {}, {}
for many in (4, 10, 100, 1000):  # n
    spanning[many] = window_parameters(2 * many - 1, size)
    full[many] = (many * size) ** 2
    print(f"n = {many}: {spanning[many]} {full[many]}")
flat = attention_parameters(size)
# --8<-- [end:whole-sentence]

# --8<-- [start:average]
says = {"I": [1, 0], "a": [0, 1]}  # verb, noun
share = {("saw", "I"): 16, ("saw", "a"): 16}  # who asks, who is asked


def average(words, i):
    """The weights that token i gives, and its output."""
    g = np.array([share.get((words[i], word), 1) for word in words])
    v = np.array([says.get(word, [0, 0]) for word in words])
    a = g / g.sum()  # (n,)
    return a, a @ v  # (n,) @ (n, 2) = (2,)


for words in (["I", "also", "often", "saw"], ["a", "big", "old", "saw"]):
    a, o = average(words, 3)
    print(f"{' '.join(words):16}", text(a, ".2f"), text(o, ".2f"))
# --8<-- [end:average]

# --8<-- [start:mean]
for many in (4, 20, 100):  # n
    even, asked = 1 / many, 16 / (16 + many - 1)
    print(f"n = {many:3}:", number(even, ".2f"), number(asked, ".2f"))
# --8<-- [end:mean]

# --8<-- [start:turn]
corners = np.array([[1.0, 0], [0, 0], [0, 1]])  # (3, 2)
frames = []
for at in np.ndindex(3, 3, 3):
    shares = 4.0 ** np.array(at)
    turned = shares / shares.sum()
    mixed = turned @ corners
    drawn = hull(
        corners,
        turned,
        mixed,
        names=["I", "saw", "a"],
        xlabel="for verb",
        ylabel="for noun",
    )
    label = f"Shares {text(shares, '.0f')}"
    caption = f"Weights {text(turned, '.2f')}, output {text(mixed, '.2f')}."
    frames.append(Frame(tuple(str(one + 1) for one in at), label, (drawn,), caption))
stepper("hull", [(word, [None] * 3) for word in ("I", "saw", "a")], frames)
# --8<-- [end:turn]

# --8<-- [start:reach]
wanted = np.array([0.5, 0.25])
a = weights_of(wanted, corners)
print(text(a, ".2f"), number(a.sum(), ".0f"))
print(text(a @ corners, ".2f"))
# --8<-- [end:reach]

# --8<-- [start:outside]
beyond = np.array([0.75, 0.75])
needed = weights_of(beyond, corners)
print(text(needed, ".2f"), number(needed.sum(), ".0f"))
# --8<-- [end:outside]

# --8<-- [start:corner]
for power in (1, 4, 7, 10):
    shares = np.array([4.0**power, 1, 1])
    output = shares / shares.sum() @ corners
    missing = np.sqrt(((output - corners[0]) ** 2).sum())
    print(f"4^{power}: {number(missing, '.2e')}")
# --8<-- [end:corner]

# --8<-- [start:content-only]
for i in (1, 3):
    a, o = average(SENTENCE, i)
    print(text(a, ".2f"), text(o, ".2f"))
# --8<-- [end:content-only]


# --8<-- [start:positions]
def average_with_places(words, i):
    """The same, with a share 16 times as large for the word before."""
    g = np.array([share.get((words[i], word), 1) for word in words])
    if i > 0:
        g[i - 1] = 16 * g[i - 1]
    v = np.array([says.get(word, [0, 0]) for word in words])
    a = g / g.sum()
    return a, a @ v


for i in (1, 3):
    a, o = average_with_places(SENTENCE, i)
    print(text(a, ".2f"), text(o, ".2f"))
# --8<-- [end:positions]

# --8<-- [start:mistake-wrong]
believed = own.copy()
for i in range(n):
    believed[i, [1, 3]] += average(SENTENCE, i)[1]  # verb, noun
for word, row in zip(SENTENCE, believed, strict=True):
    print(f"{word:4}", text(row, ".2f"), best(row, TAGS))
print(bool(gap(believed) > 1e-12))
# --8<-- [end:mistake-wrong]

# --8<-- [start:mistake-right]
tagged = own.copy()
for i in range(n):
    tagged[i, [1, 3]] += average_with_places(SENTENCE, i)[1]
for word, row in zip(SENTENCE, tagged, strict=True):
    print(f"{word:4}", text(row, ".2f"), best(row, TAGS))
print(bool(gap(tagged) > 1e-12))
# --8<-- [end:mistake-right]


# --8<-- [start:content-random]
def rounds(inputs, count, blind=False):
    """Averages and per-token layers in turn, under 1000 random rules."""
    rng = np.random.default_rng(2023)
    for _ in range(count):
        M, V, W = rng.normal(0, 1 / np.sqrt(d), (3, 1000, d, d))
        if blind:
            M[:, 3:] = 0  # who asks does not see the place
        g = np.exp(inputs @ M @ np.swapaxes(inputs, -1, -2))  # (1000, n, n)
        a = g / g.sum(axis=-1, keepdims=True)
        inputs = np.tanh(a @ inputs @ V @ W)  # (1000, n, d)
    return inputs


for count in (1, 2, 3):
    equal = int((gap(rounds(x, count)) < 1e-9).sum())
    print(count, equal)
# --8<-- [end:content-random]

# --8<-- [start:position-random]
placed = x + POSITIONS
apart = int((gap(rounds(placed, 1)) > 1e-6).sum())
equal_again = int((gap(rounds(placed, 1, blind=True)) < 1e-9).sum())
print(apart, equal_again)
# --8<-- [end:position-random]

# --8<-- [start:exercise-count]
print(window_parameters(5, 8, 3), window_parameters(2 * 6 - 1, 8, 3))
# --8<-- [end:exercise-count]

# --8<-- [start:exercise-shares]
g = np.array([3.0, 1, 2])
v = np.array([[6.0, 0], [0, 6], [3, 3]])
a = g / g.sum()
print(text(a, ".4f"), text(a @ v, ".1f"))
# --8<-- [end:exercise-shares]

# --8<-- [start:exercise-window]
longer = np.concatenate([x, x])  # I saw a saw I saw a saw
for one in (1, 3, 5):
    two, six = windows(longer, one)[[1, 5]]
    print(f"k = {one}:", bool((two == six).all()))
# --8<-- [end:exercise-window]

# --8<-- [start:exercise-inside]
for target in ([0.25, 0.25], [0.5, 0.5], [-0.25, 0.5]):
    target = np.array(target)
    print(text(target, ".2f"), text(weights_of(target, corners), ".2f"))
# --8<-- [end:exercise-inside]

# --8<-- [start:exercise-bug]
g = np.array([[1.0, 1, 1], [16, 1, 1], [1, 1, 1]])
v = np.array([[1.0, 0], [0, 0], [1, 0]])
a = g / g.sum(axis=0)  # the mistake
print(text(a.sum(axis=1), ".2f"))
print(text((a @ v)[1], ".2f"))
a = g / g.sum(axis=1, keepdims=True)
print(text(a.sum(axis=1), ".2f"))
print(text((a @ v)[1], ".2f"))
# --8<-- [end:exercise-bug]

# --8<-- [start:exercise-before]
for i in (1, 3):
    a, o = average(SENTENCE[: i + 1], i)  # itself and the words before it
    print(text(a, ".2f"), text(o, ".2f"))
# --8<-- [end:exercise-before]
