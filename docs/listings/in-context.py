"""In context: replace this listing by that of your chapter."""

# --8<-- [start:weights]
import numpy as np

from attention_docs.figures import Frame, heatmap, slider, table
from attention_docs.softmax import softmax
from attention_docs.text import check

scores = np.array([0.0, 1.0, 2.0])
weights = softmax(scores)
check("the weights add up to 1", abs(weights.sum() - 1) < 1e-12)
table(np.stack([scores, weights], axis=1), columns=["score", "weight"], spec=[".0f", ".4f"])
# --8<-- [end:weights]


# --8<-- [start:control]
def frame(place, added):
    """The weights after a constant was added to every score."""
    shifted = softmax(scores + added)
    drawn = heatmap(shifted, name="weights", spec=".4f", scale=(0, 1))
    return Frame((str(place),), f"{added} added", (drawn,), "The weights stay.")


slider("Added to every score", [frame(i, added) for i, added in enumerate((0, 1, 5))])
# --8<-- [end:control]

# --8<-- [start:exercise-ratio]
ratio = weights[2] / weights[1]
table([[ratio]], columns=["weight 3 / weight 2"], spec=".4f")
# --8<-- [end:exercise-ratio]
