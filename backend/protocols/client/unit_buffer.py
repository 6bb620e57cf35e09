"""The unit buffer: computes how many units a client takes to work for a time without a connection.

`unit-buffer.ts` is the twin; tests/contract/vectors/unit_buffer.json binds both.
"""

from __future__ import annotations

import math

from backend.wire.unit_messages import MOST_SLOTS

# A unit in hand needs memory for the weights that it starts from and for its result.
VECTORS_PER_UNIT = 2


def buffered_slots(
    offline: float, at_once: int, unit_seconds: float, result_bytes: int, memory_bytes: int
) -> int:
    """Returns the number of units to hold, to have work for `offline` seconds.

    `at_once` units are trained at a time, each in `unit_seconds` (0: not measured yet), for results of
    `result_bytes`. Buffered units need at most `memory_bytes`. One unit more than those in training is held
    in any case: it is fetched meanwhile.
    """
    usual = at_once + 1
    if offline <= 0 or unit_seconds <= 0:
        return min(usual, MOST_SLOTS)
    needed = at_once + math.ceil(offline * at_once / unit_seconds)
    fitting = memory_bytes // max(1, VECTORS_PER_UNIT * result_bytes)
    return min(max(usual, min(needed, fitting)), MOST_SLOTS)
