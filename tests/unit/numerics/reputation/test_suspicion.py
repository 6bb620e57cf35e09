"""What a client's evidence adds up to, and when its updates count again."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from backend.numerics.reputation.suspicion import (
    LIMIT,
    LOW,
    MOST,
    Suspicion,
    SuspicionRules,
    after_round,
    evidence_of,
    lifted,
    newcomer,
)

RULES = SuspicionRules(10.0, 10)
BLANK = Suspicion()


def after(strengths: Iterable[float], before: Suspicion = BLANK, rules: SuspicionRules = RULES) -> Suspicion:
    for strength in strengths:
        before = after_round(before, {"direction": strength} if strength else {}, rules)
    return before


def quarantine_length(suspicion: Suspicion) -> int:
    """So many good rounds end it."""
    length = 0
    while suspicion.quarantined:
        suspicion, length = after([0], suspicion), length + 1
    return length


@pytest.mark.parametrize("half_life", [6.0, 10.0, 1000.0])
def test_three_bad_rounds_begin_a_quarantine(half_life: float) -> None:
    rules = SuspicionRules(half_life, 10)
    assert after([1, 1], rules=rules).counts
    assert not after([1, 1, 1], rules=rules).counts


def test_the_shortest_half_life_begins_a_quarantine_too() -> None:
    assert not after([1] * 4, rules=SuspicionRules(2.0, 1)).counts


def test_suspicion_halves_in_its_half_life() -> None:
    assert after([1] + [0] * 10).score == pytest.approx(0.5)


def test_good_rounds_earn_no_credit() -> None:
    assert after([0] * 500 + [1, 1, 1]).quarantined


def test_a_weight_falls_with_suspicion_to_none_in_quarantine() -> None:
    weights = [after([1] * count).weight for count in range(4)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == 1.0
    assert weights[-1] == 0.0


def test_a_quarantine_lasts_its_rounds_and_until_suspicion_is_low() -> None:
    begun = after([1, 1, 1])
    assert after([0] * 9, begun).quarantined
    assert not after([0] * 12, begun).quarantined
    high = after([1] * 40)
    assert high.score <= MOST
    assert after([0] * 15, high).quarantined
    assert not after([0] * 25, high).quarantined


def test_each_further_quarantine_lasts_twice_as_long() -> None:
    suspicion, lengths = Suspicion(), list[int]()
    for _ in range(4):
        while not suspicion.quarantined:
            suspicion = after([1], suspicion)
        length = quarantine_length(suspicion)
        suspicion = after([0] * length, suspicion)
        assert suspicion.score < LOW
        lengths.append(length)
    assert lengths[1:] == [20, 40, 80]


def test_an_attacker_that_comes_and_goes_has_few_bad_rounds_that_count() -> None:
    # It behaves until its updates count again, and lies then.
    suspicion, counted = Suspicion(), 0
    for _ in range(1000):
        counted += suspicion.counts
        suspicion = after([1 if suspicion.counts else 0], suspicion)
    assert counted <= 20


def test_one_bad_round_in_a_while_is_forgiven() -> None:
    assert after([1, *[0] * 9] * 50).counts
    assert after([1, *[0] * 4] * 50).quarantined


def test_updates_that_a_rule_leaves_out_for_ever_are_no_reason_alone() -> None:
    for rules in (SuspicionRules(2.0, 10), RULES, SuspicionRules(200.0, 10)):
        suspicion = Suspicion()
        for _ in range(5000):
            suspicion = after_round(suspicion, evidence_of(1.4, 0.4, False, True, rules), rules)
        assert suspicion.score == pytest.approx(0.2 * LIMIT, rel=0.1)


def test_evidence_needs_a_distance_or_a_direction_that_is_not_usual() -> None:
    assert evidence_of(1.7, 0.6, False, False, RULES) == {}
    assert evidence_of(2.2, 0.0, False, False, RULES) == {"distance": pytest.approx(0.5)}
    assert evidence_of(9.0, 2 / 3, True, False, RULES) == {
        "distance": 1.0,
        "direction": 1.0,
        "repetition": 1.0,
    }


def test_all_evidence_of_a_round_is_one_bad_round_at_most() -> None:
    found = evidence_of(9.0, 1.0, True, True, RULES)
    assert after_round(Suspicion(), found, RULES).score == 1.0


def test_newcomers_of_a_household_with_quarantined_clients_begin_with_suspicion() -> None:
    assert newcomer(0, RULES) == Suspicion()
    assert newcomer(0, RULES).is_blank
    one, three = newcomer(1, RULES), newcomer(3, RULES)
    assert one.score < three.score < LIMIT
    assert not one.quarantined
    assert after([1, 1], one).quarantined
    assert after([1], three).quarantined


@pytest.mark.parametrize("quarantined", [1, 2, 5, 1000])
def test_an_honest_neighbour_waits_a_bounded_time_and_once(quarantined: int) -> None:
    suspicion, waited = newcomer(quarantined, RULES), 0
    while not suspicion.counts:
        suspicion, waited = after([0], suspicion), waited + 1
    assert waited <= RULES.quarantine
    assert after([0] * 100, suspicion).is_blank


def test_a_bad_round_does_not_shorten_the_wait() -> None:
    suspicion = newcomer(2, RULES)
    assert after([0], suspicion).probation == 1
    assert after([0.5], suspicion).probation == 2


def test_a_lifted_quarantine_ends_and_the_next_one_lasts_longer() -> None:
    suspicion = lifted(after([1] * 10))
    assert suspicion.counts
    assert suspicion.weight == 1.0
    again = after([1, 1, 1], suspicion)
    assert after([0] * 19, again).quarantined
