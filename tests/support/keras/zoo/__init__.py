"""The models of the conformance suite: a module for each family, tiny, with fixed weights and data."""

from __future__ import annotations

from tests.support.keras.cases import Case
from tests.support.keras.zoo import (
    attention,
    convolutions,
    dense,
    generative,
    losses,
    normalization,
    optimizers,
    own,
    recurrent,
    sequences,
    several,
    starters,
    vision,
)

_FAMILIES = (
    dense,
    convolutions,
    vision,
    normalization,
    recurrent,
    sequences,
    attention,
    generative,
    several,
    starters,
    losses,
    optimizers,
    own,
)
CASES: dict[str, Case] = {case.name: case for family in _FAMILIES for case in family.CASES}
FAMILIES: dict[str, str] = {c.name: f.__name__.rpartition(".")[2] for f in _FAMILIES for c in f.CASES}
