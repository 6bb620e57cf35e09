"""An attacker behaves for long, then lies, again and again, while its suspicion decays (on-off attack)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backend.numerics.reputation.suspicion import Suspicion, SuspicionRules, after_round

RULES = SuspicionRules(10.0, 10)
ROUNDS = 2000
Lies = Callable[[int, Suspicion], bool]


def counted_lies(lies: Lies) -> int:
    """Plays an attacker that decides by the round and its own suspicion; returns its lies that counted."""
    suspicion, counted = Suspicion(), 0
    for number in range(ROUNDS):
        is_lie = lies(number, suspicion)
        counted += is_lie and suspicion.counts
        suspicion = after_round(suspicion, {"distance": 1.0} if is_lie else {}, RULES)
    return counted


def test_a_long_good_time_before_brings_no_more_lies() -> None:
    assert counted_lies(lambda number, _: number >= 1000) == 3


@pytest.mark.parametrize("good", [10, 30, 60])
def test_phases_of_lies_have_three_that_count_and_ever_longer_quarantines(good: int) -> None:
    period = good + 10
    counted = counted_lies(lambda number, _: number % period >= good)
    assert counted <= 3 * 8  # Seven doublings fit these rounds.


def test_lying_whenever_updates_count_again_brings_few() -> None:
    assert counted_lies(lambda _, suspicion: suspicion.counts) <= 25


def test_an_attacker_who_knows_its_suspicion_has_one_lie_in_seven_rounds() -> None:
    # It lies only where the limit is not reached: that share remains, and the guide says so.
    def careful(_: int, suspicion: Suspicion) -> bool:
        return not after_round(suspicion, {"distance": 1.0}, RULES).quarantined

    assert counted_lies(careful) <= ROUNDS / 7
