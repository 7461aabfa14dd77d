"""A curve through noisy points, and attention as the same kind of average."""

# --8<-- [start:points]
import numpy as np

from attention_docs.figures import line_chart
from attention_docs.text import number

SEED, n, sigma = 0, 40, 0.5
x = np.linspace(0, 10, n)[:, None]  # (n, 1)
curve = np.sin(x)  # what we want to find
y = curve + sigma * np.random.default_rng(SEED).normal(size=(n, 1))


def chart(lines):
    """The measured points and some curves."""
    series = [("measured", y[:, 0]), *((name, line[:, 0]) for name, line in lines.items())]
    return line_chart(
        x[:, 0], series, dots=["measured"], xlabel="place x", ylabel="height y", spec=".2f"
    )


chart({"from point to point": y, "mean of all": np.full_like(y, y.mean())})
# --8<-- [end:points]

# --8<-- [start:setup]
from math import log, sqrt

from attention_docs.attention_function import attention
from attention_docs.figures import Frame, slider, table
from attention_docs.kernels import (
    gaussian_kernel,
    kernel_smoothing,
)
from attention_docs.text import check

# --8<-- [end:setup]

# --8<-- [start:three]
places = np.array([[0.0], [1], [2]])
heights = np.array([[4.0], [1], [3]])
h = 1 / sqrt(2 * log(2))  # the kernel is 1/2 at distance 1
kernel = gaussian_kernel(places[:1], places, h)[0]
estimate, weights = kernel_smoothing(places[:1], places, heights, h)
table(
    [*zip(places[:, 0], heights[:, 0], kernel, weights[0], strict=True)],
    columns=["place", "height", "kernel", "weight"],
    index=["point 1", "point 2", "point 3"],
    spec=[".0f", ".0f", ".4f", ".2f"],
)
# --8<-- [end:three]

# --8<-- [start:same]
d_k = 4
query = np.array([[1.0, 1, 0, 0]])
key = np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [-1, -1, 1, 1]])
doubled = key * [[2.0], [1], [1]]
value = np.ones((3, 1))
found = []
for keys in (key, doubled):
    found.append(attention(query, keys, value)[1][0])
    found.append(kernel_smoothing(query, keys, value, d_k**0.25)[1][0])
table(
    found,
    columns=["key 1", "key 2", "key 3"],
    index=[
        "equal norms: attention",
        "equal norms: kernel smoothing",
        "key 1 doubled: attention",
        "key 1 doubled: kernel smoothing",
    ],
    spec=".4f",
)
# --8<-- [end:same]

# --8<-- [start:control]
BANDWIDTHS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)


def frame(place, h):
    """The estimate with one bandwidth, beside the curve that it should find."""
    estimate, _ = kernel_smoothing(x, x, y, h)
    off = number(((estimate - curve) ** 2).mean(), ".3f")
    drawn = chart({"estimate": estimate, "true curve": curve})
    return Frame((str(place),), f"h = {h:.1f}", (drawn,), f"Mean squared error: {off}.")


slider("Bandwidth", [frame(i, h) for i, h in enumerate(BANDWIDTHS)], answer="0")
# --8<-- [end:control]

# --8<-- [start:repeats]
STUDENT, REPEATS = 1.972, 200  # of Student's t, with one degree of freedom less than repeats
again = curve[:, 0] + sigma * np.random.default_rng(SEED).normal(size=(REPEATS, n))
parts, rows = [], []
for h in BANDWIDTHS:
    _, a = kernel_smoothing(x, x, y, h)  # (n, n), the same for all noise
    systematic = ((a @ curve - curve) ** 2).mean()
    chance = sigma**2 * (a**2).sum(axis=1).mean()
    errors = ((again @ a.T - curve[:, 0]) ** 2).mean(axis=1)
    half = STUDENT * errors.std(ddof=1) / sqrt(REPEATS)
    measured = f"{number(errors.mean(), '.3f')} ± {number(half, '.3f')}"
    parts.append([systematic, chance, systematic + chance])
    rows.append([h, *parts[-1], measured])
table(
    rows,
    columns=["h", "bias²", "variance", "sum", "measured"],
    spec=[".1f", ".3f", ".3f", ".3f", ""],
)
# --8<-- [end:repeats]

# --8<-- [start:repeats-chart]
line_chart(
    BANDWIDTHS,
    list(zip(["bias²", "variance", "sum"], np.array(parts).T, strict=True)),
    xlabel="bandwidth h",
    ylabel="mean squared error",
    log_x=True,
    spec=".3f",
)
# --8<-- [end:repeats-chart]


# --8<-- [start:exercise-middle]
estimate, weights = kernel_smoothing(places[1:2], places, heights, 1 / sqrt(2 * log(2)))
middle_weight, middle_height = weights[0, 1], estimate.item()
table(
    [[*weights[0], middle_height]],
    columns=["weight 1", "weight 2", "weight 3", "estimate"],
    spec=".4f",
)
# --8<-- [end:exercise-middle]

# --8<-- [start:exercise-limits]
ends = [kernel_smoothing(places[:1] + 0.1, places, heights, h)[1][0] for h in (0.01, 100)]
table(ends, columns=["weight 1", "weight 2", "weight 3"], index=["h = 0.01", "h = 100"], spec=".4f")
# --8<-- [end:exercise-limits]

# --8<-- [start:exercise-four]
factor, squared, inverse = sqrt(1 / 4), 1 / 4, sqrt(4)  # of the bandwidth; two mistakes
before = kernel_smoothing(query, key, value, sqrt(2))[1][0]
after = kernel_smoothing(query, key, value, sqrt(2) / 2)[1][0]
by_attention = attention(4 * query, key, value)[1][0]
check("both weights agree to within 10⁻¹²", np.abs(after - by_attention).max() < 1e-12)
table(
    [before, after, by_attention],
    columns=["key 1", "key 2", "key 3"],
    index=["h = √2", "h = √2 / 2", "query times 4"],
    spec=".4f",
)
# --8<-- [end:exercise-four]

# --8<-- [start:exercise-error]
a = np.array([0.25, 0.5, 0.25])
squares = np.array([0.0, 1, 4])  # the true curve at the three places
off, noise = a @ squares - 1, 8 * (a**2).sum()
table([[off, noise, off**2 + noise]], columns=["bias", "variance", "error"], spec=".2f")
# --8<-- [end:exercise-error]


# --8<-- [start:exercise-leave]
others = ~np.eye(n, dtype=bool)  # no point may look at itself
left_out, excess = [], []
for h in BANDWIDTHS:
    guess, _ = kernel_smoothing(x, x, y, h, others)
    estimate, _ = kernel_smoothing(x, x, y, h)
    left_out.append([h, *(((one - y) ** 2).mean() for one in (estimate, guess))])
    excess.append(left_out[-1][2] - ((guess - curve) ** 2).mean())
chosen = min(left_out, key=lambda row: row[2])[0]
table(
    left_out,
    columns=["h", "error at the points", "error at points left out"],
    spec=[".1f", ".3f", ".3f"],
)
# --8<-- [end:exercise-leave]


# --8<-- [start:writing]
def your_estimate(queries, places, heights, h):
    """Kernel smoothing in one dimension: an estimate for each query."""
    return np.full(len(queries), heights.mean())  # write it here


# --8<-- [end:writing]
# --8<-- [start:writing-answer]
def model_estimate(queries, places, heights, h):
    distance = queries[:, None] - places[None, :]
    kernel = np.exp(-(distance**2) / (2 * h**2))
    return kernel @ heights / kernel.sum(axis=-1)


# --8<-- [end:writing-answer]
# --8<-- [start:writing-checks]
from attention_docs.figures.tasks import Task, halves, judge

writing = Task(
    model_estimate,
    inputs=[
        (np.array([0.0]), np.array([0.0, 1.0]), np.array([4.0, 2.0]), 0.5),
        (np.array([0.0, 2.0]), np.array([0.0, 1.0, 3.0]), np.array([4.0, 1.0, 3.0]), 1.5),
        (np.array([0.5, 2.0, -1.0]), np.array([0.0, 1.0]), np.array([5.0, -3.0]), 2.0),
        (np.arange(4.0), np.arange(5.0) / 2 - 1, np.array([2.0, 0, -1, 4, 7]), 0.75),
    ],
    mistakes={
        "The kernels are not divided by their sum, so this is no average.": (
            lambda queries, places, heights, h: (
                np.exp(-((queries[:, None] - places) ** 2) / (2 * h**2)) @ heights
            )
        ),
        "The bandwidth is not squared: h must have the unit of a distance.": (
            lambda queries, places, heights, h: (
                (kernel := np.exp(-((queries[:, None] - places) ** 2) / (2 * h)))
                @ heights
                / kernel.sum(axis=-1)
            )
        ),
        "The distance is not squared: this kernel falls like an exponential, with a peak.": (
            lambda queries, places, heights, h: (
                (kernel := np.exp(-abs(queries[:, None] - places) / (2 * h**2)))
                @ heights
                / kernel.sum(axis=-1)
            )
        ),
        "The weights were divided by their sum over the queries: each query needs a sum of 1.": (
            lambda queries, places, heights, h: (
                (kernel := np.exp(-((queries[:, None] - places) ** 2) / (2 * h**2)))
                / kernel.sum(axis=0)
                @ heights
            )
        ),
    },
    draw=lambda rng: (halves(rng, 5), halves(rng, 6), halves(rng, 6), rng.uniform(0.5, 2)),
)
judge(your_estimate, writing)
# --8<-- [end:writing-checks]
