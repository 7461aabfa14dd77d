"""How every number is made: one number followed from the package to the page."""

# --8<-- [start:setup]
import numpy as np

from attention_docs.softmax import softmax
from attention_docs.text import text

scores = np.array([2.0, 4.0, 4.0])
# --8<-- [end:setup]

# --8<-- [start:weights]
weights = softmax(scores)
print(text(weights, ".4f"))
# --8<-- [end:weights]
