"""How long a client trains so that its update arrives in time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.client.training_pace import Pace, Stride

VECTORS = Path(__file__).parents[3] / "contract" / "vectors"


@pytest.mark.parametrize("case", json.loads((VECTORS / "pace.json").read_bytes()))
def test_the_time_left_equals_the_golden_vectors(case: dict[str, Any]) -> None:
    pace = Pace()
    for size, seconds in case["uploads"]:
        pace = pace.uploaded(size, seconds)
    assert pace.rate == case["rate"]
    assert pace.training_seconds(case["seconds"], case["size"]) == case["training"]


@given(st.floats(0.1, 1e4), st.integers(0, 2**32), st.floats(1e3, 1e9))
def test_an_update_that_uploads_as_fast_as_the_last_one_arrives_in_time(
    seconds: float, size: int, rate: float
) -> None:
    pace = Pace().uploaded(int(rate), 1.0)
    training = pace.training_seconds(seconds, size)
    assert 0.0 <= training < seconds
    if training > 0.0:
        assert training + size / int(rate) < seconds


@given(st.floats(0.1, 1e4), st.integers(0, 2**40))
def test_without_a_measured_upload_more_than_half_of_the_time_is_for_training(
    seconds: float, size: int
) -> None:
    assert Pace().training_seconds(seconds, size) > 0.5 * seconds


def test_the_next_step_takes_as_long_as_the_last_or_the_mean() -> None:
    stride = Stride()
    assert stride.step_seconds == 0.0
    stride.stepped(4.0)
    stride.stepped(2.0, steps=2)
    assert stride.step_seconds == pytest.approx(2.0)
    stride.stepped(9.0)
    assert stride.step_seconds == pytest.approx(9.0)
