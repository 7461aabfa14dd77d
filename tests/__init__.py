"""The tests. `check` checks annotations; an int may stand for a float, as Python's typing has it."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
