"""The tests. `check` checks annotations; an int may stand for a float."""

import os

from beartype import BeartypeConf, beartype

# Before NumPy and torch are imported: on small tensors, threads only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
