from __future__ import annotations

import pytest

from backend.protocols.rounds.deadline import FIRST_ROUND, SLACK, ClientSpeeds, PlannedWork

WORK = PlannedWork(examples=100, steps=10, step_ms=50.0)


def seconds(
    speeds: ClientSpeeds, *clients: str, quorum: int = 1, least: float = 1.0, most: float = 60.0
) -> float:
    return speeds.seconds(dict.fromkeys(clients, WORK), quorum, least, most)


def test_as_long_as_nobodys_pace_is_known_a_round_may_last_its_longest() -> None:
    assert seconds(ClientSpeeds(), "a", "b") == 60.0


def test_a_round_lasts_twice_what_half_of_the_cohort_needs() -> None:
    speeds = ClientSpeeds(rates={"a": 0.01, "b": 0.02, "c": 0.2})
    assert seconds(speeds, "a", "b", "c") == pytest.approx(SLACK * 2.0)


def test_but_never_less_than_the_quorum_needs() -> None:
    speeds = ClientSpeeds(rates={"a": 0.01, "b": 0.02, "c": 0.2})
    assert seconds(speeds, "a", "b", "c", quorum=3) == pytest.approx(SLACK * 20.0)


def test_a_newcomer_is_judged_by_the_time_of_its_step() -> None:
    speeds = ClientSpeeds(rates={"a": 0.001})
    assert seconds(speeds, "a", "new", quorum=2) == pytest.approx(SLACK * FIRST_ROUND * 0.5)


@pytest.mark.parametrize(("rate", "expected"), [(1e-9, 1.0), (1e9, 60.0)])
def test_the_bounds_hold(rate: float, expected: float) -> None:
    assert seconds(ClientSpeeds(rates={"a": rate}), "a") == expected


def test_one_who_was_too_slow_is_awaited_once_and_then_no_longer() -> None:
    speeds = ClientSpeeds(rates={"a": 0.01, "b": 0.01, "slow": 0.01})
    speeds.missed("slow", 100, 10.0)
    assert seconds(speeds, "a", "b", "slow") == pytest.approx(SLACK * 10.0)
    speeds.missed("slow", 100, 20.0)
    assert seconds(speeds, "a", "b", "slow") == pytest.approx(SLACK * 1.0)
    speeds.delivered("slow", 50, 2.0)
    assert speeds.rates["slow"] == 0.04
    speeds.missed("slow", 100, 5.0)
    assert seconds(speeds, "a", "b", "slow") == pytest.approx(SLACK * 5.0)


def test_among_very_many_a_few_silent_ones_do_not_stretch_every_round() -> None:
    names = [str(number) for number in range(100)]
    speeds = ClientSpeeds(rates=dict.fromkeys(names, 0.01))
    for silent in names[:10]:
        speeds.missed(silent, 100, 30.0)
    assert seconds(speeds, *names) == pytest.approx(SLACK * 1.0)
    speeds.missed(names[10], 100, 30.0)
    assert seconds(speeds, *names) == pytest.approx(SLACK * 30.0)


def test_after_an_abandoned_round_the_next_gets_all_the_time_there_is() -> None:
    assert seconds(ClientSpeeds(failed=True, rates={"a": 0.01}), "a") == 60.0


def test_what_one_client_claims_of_its_steps_does_not_stretch_a_round() -> None:
    speeds = ClientSpeeds(rates={"a": 0.01, "b": 0.01})
    works = {"a": WORK, "b": WORK, "liar": PlannedWork(100, 10, 1e300)}
    assert speeds.seconds(works, 1, 1.0, 60.0) == pytest.approx(SLACK * 1.0)
