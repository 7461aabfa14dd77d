"""What goes into a sequence model, what comes out; why "I saw a saw" needs positions."""

# --8<-- [start:per-token]
import numpy as np

from attention_docs.figures import draggable_hull, heatmap, line_chart, numbered, ribbons, table
from attention_docs.sequences import (
    EMBEDDINGS,
    POSITIONS,
    W_TAG,
    attention_parameters,
    weights_of,
    window_layer,
    window_parameters,
    windows,
)
from attention_docs.text import check


def best(row, names):
    """The name of the largest component, or of all where they tie."""
    largest = [i for i, one in enumerate(row) if row.max() - one < 1e-9]
    return "/".join(names[i] for i in largest)


def gap(rows):
    """The largest absolute difference between rows 2 and 4."""
    return np.abs(rows[..., 1, :] - rows[..., 3, :]).max(axis=-1)


SENTENCE = ["I", "saw", "a", "saw"]
tags = ["pronoun", "verb", "determiner", "noun"]
x = EMBEDDINGS  # (4, 5)
n, d = x.shape
W_own = W_TAG[d : 2 * d]  # (5, 4)
own = x @ W_own  # (4, 5) @ (5, 4) = (4, 4)
places = [f"{word} {i + 1}" for i, word in enumerate(SENTENCE)]
heatmap(
    own,
    rows=places,
    columns=tags,
    role="neutral",
    spec=".0f",
    highlight=[(1, None), (3, None)],
)
# --8<-- [end:per-token]

# --8<-- [start:inputs]
three = np.array([[1.0, 0], [0, 1], [2, 2]])  # This, is, good: (3, 2)
words, parts = ["This", "is", "good"], ["component 1", "component 2"]
table(three, columns=parts, index=words, spec=".0f")
# --8<-- [end:inputs]

# --8<-- [start:one-label]
W_mood = np.array([[1.0, 1], [0, 1]])  # (2, 2): negative, positive
mood = three.mean(axis=0) @ W_mood  # (2,) @ (2, 2) = (2,)
moods = ["negative", "positive"]
table([[*mood, best(mood, moods)]], columns=[*moods, "label"], spec=".0f")
# --8<-- [end:one-label]

# --8<-- [start:n-labels]
W_word = np.array([[2.0, -1, 1], [-1, 2, 1]])  # (2, 3)
names = ["pronoun", "verb", "adjective"]
labels = three @ W_word  # (3, 2) @ (2, 3) = (3, 3)
table(
    [[*row, best(row, names)] for row in labels],
    columns=[*names, "label"],
    index=["This", "is", "good"],
    spec=".0f",
)
# --8<-- [end:n-labels]

# --8<-- [start:own-length]
after = {  # stands in for a trained model: what is written after what
    "This is good": {"START": "C'est", "C'est": "bien", "bien": "END"},
    "I saw a saw": {
        **{"START": "J'", "J'": "ai", "ai": "vu", "vu": "une"},
        **{"une": "scie", "scie": "END"},
    },
}
lengths, results = {}, []
for sentence, next_token in after.items():
    written, token = [], next_token["START"]
    while token != "END":  # the model decides when
        written.append(token)
        token = next_token[token]
    lengths[sentence] = len(sentence.split()), len(written)
    results.append([" ".join(written), *lengths[sentence]])
columns = ["written", "tokens read", "tokens written"]
table(results, columns=columns, index=list(after))
# --8<-- [end:own-length]


# --8<-- [start:window-layer]
def tag_table(points, spec):
    """The points of each token for each tag, and the tag with most points."""
    rows = [[*row, best(row, tags)] for row in points]
    return table(rows, columns=[*tags, "tag"], index=places, spec=spec)


in_window = window_layer(x, W_TAG)  # (4, 3·5) @ (3·5, 4) = (4, 4)
tag_table(in_window, spec=".0f")
# --8<-- [end:window-layer]

# --8<-- [start:sees]
places_far = np.arange(10)
sees = np.abs(places_far[:, None] - places_far) <= 1  # a window of 3
heatmap(
    sees.astype(float),
    rows=numbered("token", 10),
    columns=[str(i + 1) for i in places_far],
    role="neutral",
    spec=".0f",
    highlight=[(9, 0)],
)
# --8<-- [end:sees]

# --8<-- [start:windows]
around = windows(x, 3)  # (4, 3·5)
table(
    around.reshape(n, 3, d),
    columns=["left neighbour", "the token", "right neighbour"],
    index=places,
    spec=".0f",
)
# --8<-- [end:windows]

# --8<-- [start:window-matrix]
W_left, W_right = W_TAG[:d], W_TAG[2 * d :]
check("the part for the right neighbour is 0", not W_right.any())
table(
    np.concatenate([W_left, W_own]),
    columns=tags,
    index=[f"{side}, row {i + 1}" for side in ("left neighbour", "the token") for i in range(d)],
    spec=".0f",
)
# --8<-- [end:window-matrix]

# --8<-- [start:window-parameters]
size = 64
sizes = [1, 3, 5, 7, 9, 11, 13, 15]
counts = [window_parameters(one, size) for one in sizes]
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
flat = attention_parameters(size)
table(
    [[many, spanning[many], full[many]] for many in spanning],
    columns=["n", "window of 2n − 1", "a single matrix"],
    spec=",",
)
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


results = {}
for sentence in ("I also often saw", "a big old saw"):
    a, o = average(sentence.split(), 3)
    results[sentence] = a, o
columns = ["weights", "output (verb, noun)"]
table(list(results.values()), columns=columns, index=list(results), spec=".2f")
# --8<-- [end:average]

# --8<-- [start:first-row]
farther = ["I", "also", "often", "saw"]
looked = [average(farther, i) for i in range(len(farther))]
ribbons(
    farther,
    [weights for weights, output in looked],
    values=[says.get(word, [0, 0]) for word in farther],
    outputs=[output for weights, output in looked],
    names=["verb", "noun"],
    first=3,
)
# --8<-- [end:first-row]

# --8<-- [start:mean]
table(
    [[many, 1 / many, 16 / (16 + many - 1)] for many in (4, 20, 100)],
    columns=["n", "weight in the mean", "weight with a share of 16"],
    spec=["", ".2f", ".2f"],
)
# --8<-- [end:mean]

# --8<-- [start:content-only]
columns = ["weights", "output (verb, noun)"]
results = [average(SENTENCE, i) for i in (1, 3)]
table(results, columns=columns, index=[places[1], places[3]], spec=".2f")
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


averages = [average_with_places(SENTENCE, i) for i in range(n)]
ribbons(
    SENTENCE,
    [a for a, o in averages],
    values=[says.get(word, [0, 0]) for word in SENTENCE],
    outputs=[o for a, o in averages],
    names=["verb", "noun"],
    first=3,
)
# --8<-- [end:positions]

# --8<-- [start:mistake-wrong]
believed = own.copy()
for i in range(n):
    believed[i, [1, 3]] += average(SENTENCE, i)[1]  # verb, noun
check("tokens 2 and 4 have the same points", gap(believed) < 1e-12)
tag_table(believed, spec=".2f")
# --8<-- [end:mistake-wrong]

# --8<-- [start:mistake-right]
tagged = own.copy()
for i in range(n):
    tagged[i, [1, 3]] += average_with_places(SENTENCE, i)[1]
check("tokens 2 and 4 have different points", gap(tagged) > 1e-12)
tag_table(tagged, spec=".2f")
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


table(
    [[count, int((gap(rounds(x, count)) < 1e-9).sum())] for count in (1, 2, 3)],
    columns=["rounds", "rules under which rows 2 and 4 are equal"],
)
# --8<-- [end:content-random]

# --8<-- [start:position-random]
placed = x + POSITIONS
apart = int((gap(rounds(placed, 1)) > 1e-6).sum())
equal_again = int((gap(rounds(placed, 1, blind=True)) < 1e-9).sum())
table(
    [[apart, equal_again]],
    columns=["rows 2 and 4 differ", "equal again when M does not read the place"],
    index=["rules, of 1000"],
)
# --8<-- [end:position-random]

# --8<-- [start:turn]
corners = np.array([[1.0, 0], [0, 0], [0, 1]])  # (3, 2)
turned = np.array([0.25, 0.25, 0.5])
mixed = turned @ corners
draggable_hull(
    corners,
    turned,
    mixed,
    names=["I", "saw", "a"],
    xlabel="for verb",
    ylabel="for noun",
)
# --8<-- [end:turn]


# --8<-- [start:reach]
def needed_for(points):
    """The only numbers that sum to 1 and mix the three corners to each point."""
    rows = [[point, *weights_of(np.array(point), corners)] for point in points]
    return table(rows, columns=["point", "I", "saw", "a"], spec=".2f")


wanted = np.array([0.5, 0.25])
a = weights_of(wanted, corners)
check("the three numbers add up to 1", abs(a.sum() - 1) < 1e-12)
check("they mix the corners to the point", np.abs(a @ corners - wanted).max() < 1e-12)
needed_for([wanted])
# --8<-- [end:reach]

# --8<-- [start:outside]
beyond = np.array([0.75, 0.75])
check("the three numbers add up to 1", abs(weights_of(beyond, corners).sum() - 1) < 1e-12)
needed_for([beyond])
# --8<-- [end:outside]

# --8<-- [start:corner]
rows = []
for power in (1, 4, 7, 10):
    shares = np.array([4**power, 1, 1])
    output = shares / shares.sum() @ corners
    missing = np.sqrt(((output - corners[0]) ** 2).sum())
    rows.append([int(shares[0]), missing])
table(rows, columns=["share of I", "distance"], spec=[",", ".2e"])
# --8<-- [end:corner]

# --8<-- [start:exercise-count]
spans = [5, 2 * 6 - 1]
table(
    [[span, window_parameters(span, 8, 3)] for span in spans],
    columns=["window size", "parameters"],
)
# --8<-- [end:exercise-count]

# --8<-- [start:exercise-shares]
g = np.array([3.0, 1, 2])
v = np.array([[6.0, 0], [0, 6], [3, 3]])
a = g / g.sum()
table([[a, a @ v]], columns=["weights", "output"], spec=[".4f", ".1f"])
# --8<-- [end:exercise-shares]

# --8<-- [start:exercise-window]
longer = np.concatenate([x, x])  # I saw a saw I saw a saw
results = []
for one in (1, 3, 5):
    two, six = windows(longer, one)[[1, 5]]
    results.append([one, bool((two == six).all())])
table(results, columns=["k", "windows of tokens 2 and 6 are equal"])
# --8<-- [end:exercise-window]

# --8<-- [start:exercise-inside]
needed_for([[0.25, 0.25], [0.5, 0.5], [-0.25, 0.5]])
# --8<-- [end:exercise-inside]

# --8<-- [start:exercise-bug]
g = np.array([[1.0, 1, 1], [16, 1, 1], [1, 1, 1]])
v = np.array([[1.0, 0], [0, 0], [1, 0]])
wrong = g / g.sum(axis=0)  # the mistake
right = g / g.sum(axis=1, keepdims=True)
table(
    [[a.sum(axis=1), (a @ v)[1]] for a in (wrong, right)],
    columns=["sums of the rows", "output 2"],
    index=["with the mistake", "corrected"],
    spec=".2f",
)
# --8<-- [end:exercise-bug]

# --8<-- [start:exercise-before]
results = [average(SENTENCE[: i + 1], i) for i in (1, 3)]  # itself and the words before it
table(results, columns=columns, index=[places[1], places[3]], spec=".2f")
# --8<-- [end:exercise-before]


# --8<-- [start:writing]
def your_average(shares, vectors):
    """Average of vectors (n, d) with positive shares (n,) of any sum."""
    return shares @ vectors  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_average(shares, vectors):
    return shares / shares.sum() @ vectors


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

writing = Task(
    model_average,
    inputs=[
        (np.array([1.0]), np.array([[5.0]])),
        (np.array([1.0, 1]), np.array([[2.0], [4]])),
        (np.array([3.0, 1]), np.array([[4.0, 0], [0, 8]])),
        (np.array([1.0, 2, 5]), np.array([[8.0, 1], [0, 1], [16, 1]])),
    ],
    mistakes={
        "The shares do not sum to 1: divide them by their sum.": lambda g, v: g @ v,
        "Divided by the number of tokens instead of the sum of the shares.": (
            lambda g, v: g @ v / len(v)
        ),
        "This is the plain average: the shares play no part.": lambda g, v: v.mean(axis=0),
        "The tokens were not added up: an average is one vector.": (
            lambda g, v: (g / g.sum())[:, None] * v
        ),
    },
    draw=lambda rng: (
        rng.permutation([0.01, 7.3, *rng.integers(1, 9, size=3) / 2]),
        halves(rng, 5, 3),
    ),
)
judge(your_average, writing)
# --8<-- [end:writing-checks]
