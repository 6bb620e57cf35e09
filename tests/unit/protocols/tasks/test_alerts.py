"""What an owner is alerted to: once, in a sentence, and not for what ends by itself."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.tasks.alerts import Alarms, Cleared, Effect, Raised, Trouble

PATIENCE = 600.0


def enough() -> Alarms:
    """Of a task that runs, with enough participants, from second 0 on."""
    alarms = Alarms(PATIENCE)
    assert alarms.looked(running=True, needed=0, now=0.0) == []
    return alarms


def over(
    alarms: Alarms, now: float, accepted: int = 2, refusals: Mapping[str, int] | None = None
) -> list[Effect]:
    """A round that made a version."""
    return alarms.round_ended(made=True, accepted=accepted, refusals=refusals or {}, now=now)


def troubles(effects: list[Effect]) -> list[Trouble]:
    assert all(isinstance(effect, Raised) for effect in effects)
    return [effect.trouble for effect in effects]


def test_no_version_for_too_long_is_told_once_and_cleared_by_the_next() -> None:
    alarms = enough()
    assert alarms.timer() == PATIENCE
    assert over(alarms, 100.0) == []
    assert alarms.time_passed(699.0) == []
    (raised,) = alarms.time_passed(700.0)
    assert isinstance(raised, Raised)
    assert raised.text.startswith("Enough participants are here, but no version was made in 10 minutes.")
    assert alarms.timer() is None
    assert alarms.time_passed(9999.0) == []
    assert over(alarms, 10000.0) == [Cleared(Trouble.STUCK)]
    assert alarms.timer() == 10000.0 + PATIENCE


def test_too_few_participants_are_told_after_a_while_and_only_while_rounds_may_open() -> None:
    alarms = Alarms(PATIENCE)
    alarms.looked(running=True, needed=2, now=0.0)
    alarms.looked(running=True, needed=1, now=300.0)
    (raised,) = alarms.time_passed(600.0)
    assert raised == Raised(Trouble.FEW, "For 10 minutes too few participants were here: 1 more is needed.")
    assert alarms.looked(running=False, needed=1, now=700.0) == [Cleared(Trouble.FEW)]
    assert alarms.timer() is None


def test_a_pause_is_no_lack_of_progress() -> None:
    alarms = enough()
    alarms.looked(running=False, needed=0, now=500.0)
    assert alarms.time_passed(5000.0) == []
    alarms.looked(running=True, needed=0, now=6000.0)
    assert alarms.timer() == 6000.0 + PATIENCE


def test_values_that_are_not_numbers_are_told_and_cleared_by_a_good_round() -> None:
    alarms = enough()
    (raised,) = alarms.round_ended(made=False, accepted=0, refusals={"not-finite": 2}, now=1.0)
    assert isinstance(raised, Raised)
    assert (raised.trouble, raised.text[:22]) == (Trouble.NUMBERS, "2 updates were refused")
    assert alarms.round_ended(made=False, accepted=0, refusals={}, now=2.0) == []
    assert over(alarms, 3.0) == [Cleared(Trouble.NUMBERS)]
    assert troubles(alarms.measured(finite=False)) == [Trouble.NUMBERS]
    assert alarms.measured(finite=True) == []


def test_a_spike_of_refusals_is_one_of_the_last_rounds_together() -> None:
    alarms = enough()
    assert over(alarms, 1.0, 9, {"stale-round": 4}) == []
    assert over(alarms, 2.0, 1, {"norm-too-large": 5}) == []  # 9 of 19.
    (raised,) = over(alarms, 3.0, 1, {"norm-too-large": 3, "stale-round": 1})
    assert raised == Raised(
        Trouble.REFUSALS, "13 of the 24 newest updates were refused, mainly as norm-too-large."
    )
    assert over(alarms, 4.0, 9) == [Cleared(Trouble.REFUSALS)]  # 9 of 20.


def test_few_refusals_are_no_spike() -> None:
    alarms = enough()
    assert over(alarms, 1.0, 0, {"stale-round": 4}) == []


def test_a_disk_that_fails_is_told_until_it_is_mended() -> None:
    alarms = enough()
    assert troubles(alarms.store_failed("No space left.")) == [Trouble.STORE]
    assert alarms.store_failed("No space left.") == []
    assert alarms.raised == {Trouble.STORE: "The task waits for its server's disk: No space left."}
    assert alarms.store_mended() == [Cleared(Trouble.STORE)]
    assert alarms.store_mended() == []


def act(alarms: Alarms, what: str, yes: bool, count: int, now: float) -> list[Effect]:
    """One of the things that may happen."""
    match what:
        case "look":
            return alarms.looked(yes, count, now)
        case "round":
            return alarms.round_ended(yes, 1, {"a": count}, now)
        case "measure":
            return alarms.measured(yes)
        case "fail":
            return alarms.store_failed("Full.")
        case "mend":
            return alarms.store_mended()
    return alarms.time_passed(now)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["look", "round", "measure", "fail", "mend", "wait"]),
            st.booleans(),
            st.integers(0, 6),
            st.floats(0.0, 2 * PATIENCE),
        ),
        max_size=40,
    )
)
def test_alarms_are_raised_and_cleared_in_turn_whatever_happens(
    steps: list[tuple[str, bool, int, float]],
) -> None:
    alarms, now, raised = Alarms(PATIENCE), 0.0, set[Trouble]()
    for what, yes, count, seconds in steps:
        now += seconds
        for effect in act(alarms, what, yes, count, now):
            if isinstance(effect, Raised):
                assert effect.trouble not in raised
                raised.add(effect.trouble)
            else:
                raised.remove(effect.trouble)
        assert raised == alarms.raised.keys()
        timer = alarms.timer()
        if timer is not None and what in ("look", "wait"):
            assert timer > now


def test_a_version_that_failed_its_check_is_told_once_and_another_one_anew() -> None:
    alarms = enough()
    assert alarms.doubted(None) == []
    assert alarms.doubted("Version 10?") == [Raised(Trouble.INTEGRITY, "Version 10?")]
    assert alarms.doubted("Version 10?") == []
    again = alarms.doubted("Version 20?")
    assert again == [Cleared(Trouble.INTEGRITY), Raised(Trouble.INTEGRITY, "Version 20?")]
    assert alarms.doubted(None) == [Cleared(Trouble.INTEGRITY)]
