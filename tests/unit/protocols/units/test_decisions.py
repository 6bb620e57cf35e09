"""Trust and deadlines: decisions that are pure functions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.units import trust
from backend.protocols.units.client_table import allowed_seconds
from backend.protocols.units.rules import PaceRules, TrustRules
from backend.protocols.units.trust import DAY_SECONDS, newcomer

RULES = TrustRules(proven=10, quota=64)
PACE = PaceRules(usual=600.0, factor=2.0, least=30.0, most=7200.0)


def proven(times: int) -> trust.TrustLevel:
    one = newcomer(RULES)
    for _ in range(times):
        one = trust.after_valid(trust.after_return(one, True), RULES, compared=True)
    return one


@given(chance=st.floats(0, 1, exclude_max=True), times=st.integers(0, 200))
def test_work_is_replicated_at_first_always_then_the_less_the_more_held(chance: float, times: int) -> None:
    expected = times < 10 or chance < max(RULES.floor, 10 / times)
    assert trust.must_replicate(proven(times), RULES, chance) is expected


def test_no_streak_is_so_long_that_nothing_is_repeated() -> None:
    assert trust.replication(proven(10_000), RULES) == 0.05
    careful = replace(RULES, caution=4.0)
    assert [trust.replication(proven(times), careful) for times in (10, 40, 80)] == [1.0, 1.0, 0.5]


def test_who_was_refuted_is_compared_for_ever_and_who_was_outvoted_for_a_while() -> None:
    refuted, outvoted = trust.after_invalid(proven(50)), trust.after_doubt(proven(50), RULES)
    for _ in range(10):
        assert trust.replication(outvoted, RULES) == trust.replication(refuted, RULES) == 1.0
        outvoted = trust.after_valid(outvoted, RULES, compared=True)
        refuted = trust.after_valid(refuted, RULES, compared=True)
    assert (outvoted.quota, outvoted.streak) == (64, 60)
    assert trust.replication(outvoted, RULES) < trust.replication(refuted, RULES) == 1.0
    assert not trust.is_vouched(refuted)


def test_few_units_of_a_client_are_under_way_and_one_of_a_refuted_client() -> None:
    refuted = trust.after_invalid(proven(10))
    assert [trust.most_unproved(level, RULES) for level in (proven(0), proven(11), refuted)] == [3, 3, 1]


def test_what_nobody_compared_proves_nothing() -> None:
    assert trust.after_valid(newcomer(RULES), RULES, compared=False).streak == 0


def test_one_invalid_result_takes_all_trust_and_most_of_the_quota_but_one_lease_a_day() -> None:
    one = trust.after_invalid(proven(50))
    assert (one.streak, one.quota) == (0, 6)
    for _ in range(20):
        one = trust.after_invalid(one)
    assert one.quota == 1
    assert trust.after_valid(one, RULES, compared=True).quota == 2


def test_what_is_no_update_takes_trust_and_half_the_quota_but_is_no_lie() -> None:
    one = trust.after_faulty(proven(50))
    assert (one.streak, one.quota, one.faults) == (0, 32, 0)


def test_being_late_costs_reliability_but_no_trust() -> None:
    one = trust.after_return(proven(20), in_time=False)
    assert (one.streak, trust.is_reliable(one, RULES), trust.is_reliable(proven(10), RULES)) == (
        20,
        False,
        True,
    )


def test_a_quota_is_for_a_day() -> None:
    one = trust.TrustLevel(quota=2)
    for _ in range(2):
        assert trust.may_lease(one, 1000.0)
        one = trust.after_lease(one, 1000.0)
    assert not trust.may_lease(one, DAY_SECONDS - 1)
    assert trust.may_lease(one, DAY_SECONDS)
    assert trust.after_lease(one, DAY_SECONDS).today == 1


@given(st.lists(st.floats(0.001, 1e6), min_size=3, max_size=32))
def test_a_lease_holds_twice_as_long_as_nine_of_ten_took_within_bounds(durations: list[float]) -> None:
    allowed = allowed_seconds(1, durations, PACE)
    assert PACE.least <= allowed <= PACE.most
    if PACE.least < allowed < PACE.most:
        within = sum(duration <= allowed / 2 * (1 + 1e-9) for duration in durations)
        assert within >= 0.9 * len(durations)
        assert allowed / 2 <= max(durations) * (1 + 1e-9)


def test_who_is_not_known_yet_has_the_usual_time() -> None:
    assert allowed_seconds(1, [1.0, 1.0], PACE) == 600.0
    assert allowed_seconds(1, [100.0] * 9 + [5000.0], PACE) == 200.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"usual": 1.0, "least": 2.0},
        {"most": 10.0},
        {"least": 0.0},
        {"factor": 0.5},
    ],
)
def test_rules_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="least <= usual <= most"):
        replace(PACE, **wrong)
    with pytest.raises(ValueError, match="at least 1"):
        TrustRules(proven=0)
