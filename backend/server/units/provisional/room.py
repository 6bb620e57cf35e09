"""Decides in which tasks results count before they are proven, and of how many clients (decision 0074)."""

from __future__ import annotations

from backend.formats.task_file import TaskFile, exactness
from backend.formats.task_file.units import Units, name_of, settings_of
from backend.numerics.aggregation.mixing import is_linear

# Memory for the provisional results of a task: a sum for each client, and its newest ones, which others still
# build upon.
PROVISIONAL_BYTES, VECTORS_OF_CLIENT = 2 << 30, 8


def provisional_clients(file: TaskFile, parameters: int) -> int:
    """Returns how many clients may have provisional results of a model of `parameters` values; 0: none.

    This requires trusted peers that refute results, exact bits, and a model that is a sum, from which a
    result can be removed.
    """
    units = file.coordination.units
    if units is None or not may_be_provisional(file, units):
        return 0
    return PROVISIONAL_BYTES // (4 * VECTORS_OF_CLIENT * max(1, parameters))


def may_be_provisional(file: TaskFile, units: Units) -> bool:
    """Whether results of this task may count before they are proven, if there is memory for them."""
    compared = units.trust.comparison == "newcomers" and units.trust.spot_checks > 0.0
    required = exactness(file) == "required" and bool(units.trust.trusted)
    linear = is_linear(name_of(units.assimilation), settings_of(units.assimilation))
    return compared and required and linear and not units.keeps_own
