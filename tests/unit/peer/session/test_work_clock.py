from __future__ import annotations

import pytest

from backend.peer.session.work_clock import WorkClock


class Time:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def played(*phases: tuple[str, float]) -> WorkClock:
    """A clock after a session was in each phase for some seconds."""
    time = Time()
    clock = WorkClock(time)
    for phase, seconds in phases:
        clock.enter(phase)
        time.now += seconds
    return clock


@pytest.mark.parametrize("phase", ["fetching", "training", "uploading", "evaluating"])
def test_a_phase_with_work_counts_as_work(phase: str) -> None:
    clock = played(("waiting", 5.0), (phase, 3.0))
    assert (clock.seconds_worked, clock.seconds_waiting) == (3.0, 0.0)


def test_work_of_all_phases_is_added_up() -> None:
    clock = played(
        ("training", 3.0), ("waiting", 7.0), ("training", 2.0), ("uploading", 1.0), ("waiting", 4.0)
    )
    assert (clock.seconds_worked, clock.seconds_waiting) == (6.0, 4.0)


def test_a_wait_goes_on_over_a_lost_connection() -> None:
    assert played(("waiting", 5.0), ("offline", 5.0), ("connecting", 1.0)).seconds_waiting == 11.0


@pytest.mark.parametrize("phase", ["loading", "finished", "stopped"])
def test_neither_loading_nor_the_end_counts(phase: str) -> None:
    clock = played((phase, 60.0))
    assert (clock.seconds_worked, clock.seconds_waiting) == (0.0, 0.0)
