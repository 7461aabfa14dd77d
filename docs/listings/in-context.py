"""Regressions in prompts: one step of gradient descent, by hand, by a layer, by a trained layer."""

# --8<-- [start:event]
from attention_docs.data import load_examples
from attention_docs.figures import table

asked = load_examples()
followed = [answer["next"][0] for answer in asked["answers"]]  # the likeliest, and its probability
rows = []
for text, (token, p) in zip(asked["texts"], followed, strict=True):
    *before, _ = text.split("\n")
    rows.append([", ".join(before) or "nothing", token.replace(" ", "␣"), p])
table(rows, columns=["before fast →", "likeliest", "probability"], spec=["", "", ".3f"])
# --8<-- [end:event]

# --8<-- [start:task]
import numpy as np

from attention_docs.in_context import in_context_layer

SEED, d, n, noise = 0, 3, 16, 0.25  # noise: its variance


def draw(rng, count, n, d=d):
    """Prompts with n examples each, inputs and answers, and the hidden coefficients."""
    w = rng.normal(size=(count, d))
    x = rng.normal(size=(count, n, d))
    y = (x @ w[..., None])[..., 0] + noise**0.5 * rng.normal(size=(count, n))
    return x, y, w


def tokens_of(x, y):
    """An input and its answer side by side, (count, n, d + 1)."""
    return np.concatenate([x, y[..., None]], axis=-1)


# --8<-- [end:task]


# --8<-- [start:train]
STARTS, STEPS, BATCH, RATE = 5, 500, 256, 0.02


def train(seed, d=d):
    """W_Q, W_K and W_V after training on new prompts in every step, with Adam."""
    rng = np.random.default_rng([SEED, seed])
    parameters = [rng.normal(size=(d + 1, columns)) / 4 for columns in (d + 1, d + 1, 1)]
    mean, square = ([np.zeros_like(p) for p in parameters] for _ in range(2))
    for step in range(1, STEPS + 1):
        x, y, _ = draw(rng, BATCH, n + 1, d)  # the last example is the question
        e = tokens_of(x, y)
        t = np.concatenate([x[:, -1:], np.zeros((BATCH, 1, 1))], axis=-1)  # its answer is hidden
        W_Q, W_K, W_V = parameters
        pairs = np.swapaxes(e[:, :-1], 1, 2) @ e[:, :-1]  # the sum of eᵀ e
        q, u = t @ W_Q, W_K.T @ (pairs @ W_V)
        by_output = 2 * (q @ u - y[:, -1:, None]) / BATCH
        by_q, by_u = by_output * np.swapaxes(u, 1, 2), by_output * np.swapaxes(q, 1, 2)
        found = [
            (np.swapaxes(t, 1, 2) @ by_q).sum(axis=0),
            (pairs @ W_V @ np.swapaxes(by_u, 1, 2)).sum(axis=0),
            (pairs @ (W_K @ by_u)).sum(axis=0),
        ]
        rate = RATE * min(1, 2 * (STEPS - step) / STEPS)  # falls in the second half
        for i, slope in enumerate(found):
            mean[i] = 0.9 * mean[i] + 0.1 * slope
            square[i] = 0.98 * square[i] + 0.02 * slope**2
            m, v = mean[i] / (1 - 0.9**step), square[i] / (1 - 0.98**step)
            parameters[i] = parameters[i] - rate * m / (np.sqrt(v) + 1e-8)
    return parameters


trained = [train(seed) for seed in range(STARTS)]
# --8<-- [end:train]


# --8<-- [start:three]
x, y, _ = draw(np.random.default_rng([SEED, STARTS]), 3, n)
hidden = np.array([[1.0, 1, 1], [1, 0, -1], [-2, -1, 0]])
y = y - y + (x @ hidden[..., None])[..., 0]  # without noise, with coefficients to read
question = np.array([[1.0, 1, 1, 0]])
answers = in_context_layer(question, tokens_of(x, y), *trained[0])[:, 0, 0]
right = hidden.sum(axis=1)
table(
    list(zip(hidden, right, answers, strict=True)),
    columns=["hidden coefficients", "right answer", "answer of the layer"],
    index=["prompt 1", "prompt 2", "prompt 3"],
    spec=[".0f", ".0f", ".2f"],
)
# --8<-- [end:three]

# --8<-- [start:setup]
from fractions import Fraction

from attention_docs.attention_function import attention
from attention_docs.figures import Frame, bar_chart, heatmap, line_chart, slider
from attention_docs.in_context import gradient_step, ridge_regression, step_error
from attention_docs.text import check, number

# --8<-- [end:setup]

# --8<-- [start:hand]
F = Fraction
inputs, given = [[F(1), F(2)], [F(1), F(0)]], [F(3), F(1)]
asked, eta = [F(2), F(1)], F(1, 4)
stepped = [eta * sum(y * x[c] for x, y in zip(inputs, given, strict=True)) for c in (0, 1)]
by_step = sum(a * b for a, b in zip(asked, stepped, strict=True))
table(
    [[str(stepped[0]), str(stepped[1]), str(by_step)]],
    columns=["coefficient 1", "coefficient 2", "answer at [2, 1]"],
    index=["after one step"],
)
# --8<-- [end:hand]

# --8<-- [start:layer]
e = [[*x, y] for x, y in zip(inputs, given, strict=True)]  # the tokens [x, y]
W_x = [[F(1), F(0)], [F(0), F(1)], [F(0), F(0)]]  # W_Q and W_K: takes x
W_V = [[F(0)], [F(0)], [eta]]  # takes η y


def product(a, b):
    """A matrix product in fractions."""
    return [[sum(map(F.__mul__, row, column)) for column in zip(*b, strict=True)] for row in a]


((*q,),) = product([[*asked, F(0)]], W_x)
keys, values = product(e, W_x), product(e, W_V)
scores = [sum(map(F.__mul__, q, k)) for k in keys]
by_layer = sum(s * v[0] for s, v in zip(scores, values, strict=True))
check("the layer gives the answer of the gradient step", by_layer == by_step)
table(
    [
        [f"[{k[0]}, {k[1]}]", str(s), str(v[0]), str(s * v[0])]
        for k, s, v in zip(keys, scores, values, strict=True)
    ],
    columns=["key", "q · k", "value", "product"],
    index=["example 1", "example 2"],
)
# --8<-- [end:layer]


# --8<-- [start:layers]
def descend(x, y, rate, steps):
    """The coefficients after several steps of gradient descent from 0."""
    w = np.zeros((len(x), d))
    for _ in range(steps):
        off = (x @ w[..., None])[..., 0] - y
        w = w - rate * (off[..., None] * x).sum(axis=1)
    return w


few = draw(np.random.default_rng([SEED, 1000]), 4, n)
rate, take_x, take_y = 1 / 40, np.eye(d + 1)[:, :d], np.zeros((d + 1, d + 1))
take_y[-1, -1] = -rate
rows = []
stream = tokens_of(*few[:2])
ask = np.broadcast_to(question, (4, 1, d + 1))
for layers in range(1, 4):
    step = [in_context_layer(one, stream, take_x, take_x, take_y) for one in (stream, ask)]
    stream, ask = stream + step[0], ask + step[1]  # residual connections
    by_steps = descend(*few[:2], rate, layers).sum(axis=1)  # answers at [1, 1, 1]
    check("both answers agree to within 10⁻¹²", np.abs(by_steps + ask[:, 0, -1]).max() < 1e-12)
    rows.append([layers, -ask[1, 0, -1], by_steps[1]])
table(rows, columns=["layers", "by the layers", "by the steps"], spec=["d", ".4f", ".4f"])
# --8<-- [end:layers]

# --8<-- [start:rates]
exam = {m: draw(np.random.default_rng([SEED, STARTS, m]), 20_000, m) for m in (4, 8, 16, 32, 64)}


def share(estimate, w):
    """The squared error of new questions, as a share of the squared answers."""
    return ((estimate - w) ** 2).sum(axis=-1).mean() / d


best = 1 / (n + d + 1 + noise)
x, y, w = exam[n]
rows = []
for factor in (0.5, 1, 1.5, 2):
    rate = factor * best
    rows.append([factor, rate, step_error(n, d, rate, noise), share(gradient_step(x, y, rate), w)])
table(
    rows,
    columns=["times the best", "rate η", "error by the formula", "measured"],
    spec=[".1f", ".4f", ".2f", ".2f"],
)
# --8<-- [end:rates]

# --8<-- [start:matrix]
W_Q, W_K, W_V = trained[0]
learned = W_V[-1, 0] * W_Q @ W_K.T
heatmap(
    learned[:d, :d],
    rows=[f"x, component {i}" for i in range(1, d + 1)],
    columns=[f"x_j, component {i}" for i in range(1, d + 1)],
    name="the matrix between x and x_j",
    spec=".4f",
)
# --8<-- [end:matrix]

# --8<-- [start:compared]
unit_questions = np.eye(d + 1)[:d]  # [1, 0, 0, 0], [0, 1, 0, 0] and [0, 0, 1, 0]


def coefficients_in(parameters, x, y):
    """What the layer takes the coefficients for: its answers to the unit vectors."""
    return in_context_layer(unit_questions, tokens_of(x, y), *parameters)[..., 0]


def span(shares):
    """The lowest and the highest of the runs."""
    low, high = (number(end, ".3f") for end in (min(shares), max(shares)))
    return f"{low}–{high}"


by_start = {m: [share(coefficients_in(p, *exam[m][:2]), exam[m][2]) for p in trained] for m in exam}
x, y, w = exam[n]
one_step = share(gradient_step(x, y, best), w)
ridge = {m: share(ridge_regression(x, y, noise), w) for m, (x, y, w) in exam.items()}
table(
    [
        [number(1.0, ".3f")],
        [number(one_step, ".3f")],
        [span(by_start[n])],
        [number(ridge[n], ".3f")],
    ],
    columns=["error"],
    index=["always 0", "one step, best rate", "trained layers, 5 runs", "ridge regression"],
)
# --8<-- [end:compared]

# --8<-- [start:stuck] slow
MANY, two = 20, 2
x, y, w = draw(np.random.default_rng([SEED, STARTS, two]), 20_000, n, two)
units = np.eye(two + 1)[:two]
ends = []
for seed in range(MANY):
    answers = in_context_layer(units, tokens_of(x, y), *train(seed, two))[..., 0]
    ends.append(((answers - w) ** 2).sum(axis=-1).mean() / two)
arrived = sum(end < 0.2 for end in ends)
reached = [end for end in ends if end < 0.2], [end for end in ends if end >= 0.2]
table(
    [[len(some), span(some)] for some in reached],
    columns=["runs", "error, lowest to highest"],
    index=["arrived", "stuck"],
)
# --8<-- [end:stuck]

# --8<-- [start:control]
KINDS = ["trained layer", "one step, rate for 16", "one step, rate for this n", "ridge regression"]


def errors(m):
    """The errors with m examples in the prompt."""
    x, y, w = exam[m]
    own = 1 / (m + d + 1 + noise)
    steps = [share(gradient_step(x, y, rate), w) for rate in (best, own)]
    return [float(np.median(by_start[m])), *steps, ridge[m]]


by_count = {m: errors(m) for m in exam}
most = max(map(max, by_count.values()))


def frame(place, m):
    """The errors of all kinds, on the same scale in every frame."""
    drawn = bar_chart(
        KINDS,
        {"": by_count[m]},
        ylabel="error (the answer 0 has 1)",
        scale=(0, most),
        spec=".2f",
    )
    caption = f"Trained layer, lowest to highest of 5 runs: {span(by_start[m])}."
    return Frame((str(place),), f"n = {m}", (drawn,), caption)


slider("Examples in the prompt", [frame(i, m) for i, m in enumerate(exam)], 2, answer="4")
# --8<-- [end:control]

# --8<-- [start:parabola]
counts = np.arange(1, 65)
line_chart(
    counts,
    [
        ("rate for 16", [step_error(int(m), d, best, noise) for m in counts]),
        (
            "rate for this n",
            [step_error(int(m), d, 1 / (int(m) + d + 1 + noise), noise) for m in counts],
        ),
    ],
    xlabel="examples in the prompt",
    ylabel="error by the formula",
    mark=16,
    spec=".2f",
)
# --8<-- [end:parabola]

# --8<-- [start:exercise-hand]
other = np.array([[1.0, 1], [0, 2]]), np.array([2.0, 6])
found = gradient_step(*other, 0.25)
reply = found @ [2.0, 1]
unscaled = 4 * reply  # without the rate
table([[*found, reply]], columns=["coefficient 1", "coefficient 2", "answer at [2, 1]"], spec=".1f")
# --8<-- [end:exercise-hand]

# --8<-- [start:exercise-rate]
quick, least = F(1, 4 + 1 + 1), step_error(4, 1, F(1, 6))
uncorrected = F(1, 4)
table([[str(quick), str(least)]], columns=["best rate", "least error"])
# --8<-- [end:exercise-rate]

# --8<-- [start:exercise-order]
x, y, _ = (one[:1] for one in exam[8])
prompts = {
    "as it was": (x, y),
    "in reverse order": (x[:, ::-1], y[:, ::-1]),
    "every example twice": (np.repeat(x, 2, axis=1), np.repeat(y, 2, axis=1)),
}
table(
    [coefficients_in(trained[0], *prompt)[0].tolist() for prompt in prompts.values()],
    columns=["coefficient 1", "coefficient 2", "coefficient 3"],
    index=list(prompts),
    spec=".4f",
)
# --8<-- [end:exercise-order]

# --8<-- [start:exercise-self]
x, y, w = exam[n]
e, divided = tokens_of(x, y), []
W = np.eye(d + 1)[:, :d], np.eye(d + 1)[:, :d], best * np.eye(d + 1)[:, d:]
alone = in_context_layer(unit_questions[:1], e, *W)
with_itself = np.concatenate([e, np.broadcast_to(unit_questions[:1], (len(e), 1, d + 1))], axis=1)
check(
    "the answers are the same",
    (in_context_layer(unit_questions[:1], with_itself, *W) == alone).all(),
)

answers = [
    attention(unit_questions[:1] @ W[0], one @ W[0], one[..., d:])[0] for one in (e, with_itself)
]
moved = np.abs(answers[1] - answers[0]).mean()
table(
    [[0.0], [moved]], columns=["mean change"], index=["linear, no divisor", "softmax"], spec=".3f"
)
# --8<-- [end:exercise-self]

# --8<-- [start:exercise-mean]
c = best * n  # the rate is c / n
table(
    [
        [m, step_error(m, d, best, noise), step_error(m, d, c / m, noise)]
        for m in (16, 64, 256, 1024)
    ],
    columns=["examples", "rate fixed", "rate c/n"],
    spec=[",", ".3f", ".3f"],
)
# --8<-- [end:exercise-mean]

# --8<-- [start:exercise-precondition]
P = np.diag([1.0, 1, 1 / 9])
stretched = x * [1.0, 1, 3]  # the third component is three times as large
y_stretched = (stretched @ w[..., None])[..., 0]
rows = []
for matrix in (np.eye(d), P):
    guess = gradient_step(stretched, y_stretched, 1.0) @ matrix
    rate = (guess * [1, 1, 9] * w).sum() / (
        guess**2 * [1, 1, 9]
    ).sum()  # the best for these prompts
    off = ((rate * guess - w) ** 2 * [1, 1, 9]).sum() / (w**2 * [1, 1, 9]).sum()
    rows.append([rate, off])
table(
    rows,
    columns=["best rate", "error"],
    index=["P = I", "P = diag(1, 1, 1/9)"],
    spec=[".4f", ".2f"],
)
# --8<-- [end:exercise-precondition]


# --8<-- [start:writing]
def your_answer(x, y, question, rate):
    """The answer to a question after one step from 0: x (n, d), y (n,)."""
    return 0.0  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_answer(x, y, question, rate):
    coefficients = rate * (y @ x)  # the sum of y_j x_j
    return coefficients @ question


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

writing = Task(
    model_answer,
    inputs=[
        (np.array([[1.0]]), np.array([2.0]), np.array([3.0]), 0.5),
        (np.array([[1.0, 2], [1, 0]]), np.array([3.0, 1]), np.array([2.0, 1]), 0.25),
        (np.array([[2.0, 1], [0, -1], [1, 3]]), np.array([-4.0, -2, 1]), np.array([1.0, -2]), 0.1),
    ],
    mistakes={
        "The step goes uphill: minus the gradient at 0 is the sum of y times x, with a plus.": (
            lambda x, y, question, rate: -rate * (y @ x) @ question
        ),
        "The errors are summed in this chapter, and not averaged over the examples.": (
            lambda x, y, question, rate: rate * (y @ x) @ question / len(y)
        ),
        "Least squares has a factor of one half here, which cancels the 2 of the square.": (
            lambda x, y, question, rate: 2 * rate * (y @ x) @ question
        ),
        "The answers of the examples are missing: each dot product is multiplied by its y.": (
            lambda x, y, question, rate: rate * x.sum(axis=0) @ question
        ),
    },
    draw=lambda rng: (halves(rng, 4, 3), halves(rng, 4), halves(rng, 3), rng.uniform(0.1, 1)),
)
judge(your_answer, writing)
# --8<-- [end:writing-checks]
