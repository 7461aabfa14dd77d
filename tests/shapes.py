"""The checker of annotations: an int may stand for a float, as Python's own typing has it."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
