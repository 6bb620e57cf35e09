"""How many units a client takes for a time without a connection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.client.unit_buffer import buffered_slots
from backend.wire.unit_messages import MOST_SLOTS

VECTORS = Path(__file__).parents[3] / "contract" / "vectors"


@pytest.mark.parametrize("case", json.loads((VECTORS / "unit_buffer.json").read_bytes()))
def test_the_slots_equal_the_golden_vectors(case: dict[str, Any]) -> None:
    slots = case.pop("slots")
    assert buffered_slots(**case) == slots


@given(st.floats(1.0, 86_400.0), st.integers(1, 8), st.floats(0.1, 1e4))
def test_buffered_units_last_for_the_time_unless_there_are_too_many(
    offline: float, at_once: int, unit_seconds: float
) -> None:
    slots = buffered_slots(offline, at_once, unit_seconds, 4, 2**40)
    # Those in training are nearly done when the connection is lost.
    assert slots == MOST_SLOTS or (slots - at_once) * unit_seconds / at_once >= offline * 0.999_999


@given(st.floats(1.0, 86_400.0), st.floats(0.1, 1e4), st.integers(1, 10**9), st.integers(0, 2**32))
def test_buffered_units_fit_into_the_memory(
    offline: float, unit_seconds: float, result: int, memory: int
) -> None:
    slots = buffered_slots(offline, 1, unit_seconds, result, memory)
    assert slots == 2 or 2 * slots * result <= memory
