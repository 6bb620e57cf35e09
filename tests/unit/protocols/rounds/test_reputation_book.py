"""Whose suspicion is kept for whom, and what newcomers of a household begin with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from backend.numerics.reputation.suspicion import EvidenceKind, Suspicion, SuspicionRules
from backend.protocols.rounds.reputation_book import (
    MALFORMED,
    TIMELINE_ROUNDS,
    ReputationBook,
    Suspect,
    SuspectKey,
)

RULES = SuspicionRules(10.0, 10)
BAD: Mapping[EvidenceKind, float] = {"direction": 1.0}
GOOD: Mapping[EvidenceKind, float] = {}


def book(suspects: Iterable[Suspect] = (), known: Iterable[str] = ()) -> ReputationBook:
    return ReputationBook(RULES, suspects, set(known).__contains__)


def lies(one: ReputationBook, client: str, rounds: int = 3, first: int = 1) -> list[Suspect]:
    """The client lies in so many rounds; returns what the last one changed."""
    changed: list[Suspect] = []
    for number in range(first, first + rounds):
        counted = [client] if one.suspicion(client).counts else []
        changed = one.round_ended(number, {client: BAD}, counted)
    return changed


def test_a_liar_is_in_quarantine_after_three_rounds_and_others_are_not() -> None:
    one = book()
    for number in range(3):
        one.round_ended(number, {"liar": BAD, "honest": GOOD}, ["liar", "honest"])
    assert one.suspicion("liar").quarantined
    assert one.suspicion("honest") == Suspicion()
    assert [suspect.client for suspect in one.suspects] == ["liar"]


def test_what_is_judged_is_recorded_and_honest_clients_leave_no_record() -> None:
    one = book()
    (changed,) = one.round_ended(7, {"liar": BAD, "honest": GOOD}, ["liar", "honest"])
    assert (changed.subject, changed.client) == ("liar", "liar")
    (judged,) = changed.timeline
    assert (judged.round, judged.evidence, judged.counted) == (7, BAD, True)
    assert changed.reasons == ["direction"]


def test_suspicion_that_is_over_is_returned_once_to_be_removed() -> None:
    one = book()
    lies(one, "a", 1)
    changes = [one.round_ended(number, {"a": GOOD}, ["a"]) for number in range(2, 100)]
    last = max(index for index, change in enumerate(changes) if change)
    assert changes[last][0].suspicion.is_blank
    assert one.suspects == []


def test_a_timeline_is_bounded() -> None:
    one = book()
    (suspect,) = lies(one, "a", 3 * TIMELINE_ROUNDS)
    assert len(suspect.timeline) == TIMELINE_ROUNDS
    assert not suspect.timeline[-1].counted


def test_malformed_updates_are_evidence_and_late_ones_are_not() -> None:
    one = book()
    for number in range(20):
        for code in ("too-slow", "stale-round", "duplicate", "not-selected"):
            one.update_refused("slow", code)
        for code in MALFORMED:
            one.update_refused("broken", code)
        one.round_ended(number, {}, [])
    assert one.suspicion("slow") == Suspicion()
    assert one.suspicion("broken").quarantined
    assert one.suspects[0].reasons == ["refused"]


def test_rounds_of_others_do_not_let_suspicion_decay() -> None:
    one = book()
    lies(one, "liar")
    before = one.suspicion("liar")
    for number in range(50):
        one.round_ended(number, {"honest": GOOD}, ["honest"])
    assert one.suspicion("liar") == before


def test_an_account_takes_its_suspicion_to_other_devices() -> None:
    one = book()
    one.join("phone", SuspectKey("account a"))
    one.join("laptop", SuspectKey("account a"))
    lies(one, "phone")
    assert one.suspicion("laptop").quarantined
    assert len(one.suspects) == 1


def test_devices_of_one_account_are_judged_once_a_round_by_the_worst() -> None:
    one = book()
    for client in ("phone", "laptop"):
        one.join(client, SuspectKey("account a"))
    (changed,) = one.round_ended(1, {"phone": GOOD, "laptop": BAD}, ["phone", "laptop"])
    assert changed.suspicion.score == 1.0
    assert changed.client == "laptop"


def test_a_newcomer_of_a_household_with_a_quarantined_client_waits_and_a_known_neighbour_does_not() -> None:
    one = book(known=["neighbour"])
    for client in ("liar", "neighbour", "new", "elsewhere"):
        one.join(client, SuspectKey(client, "house" if client != "elsewhere" else "other"))
    lies(one, "liar")
    assert one.suspicion("neighbour") == Suspicion()
    assert one.suspicion("elsewhere") == Suspicion()
    new = one.suspicion("new")
    assert not new.counts
    assert not new.quarantined
    one.round_ended(9, {"new": GOOD}, [])
    assert one.suspicion("new").counts


def test_a_client_that_was_judged_before_its_neighbour_lied_is_no_newcomer() -> None:
    one = book()
    for client in ("liar", "early"):
        one.join(client, SuspectKey(client, "house"))
    one.round_ended(1, {"early": GOOD}, ["early"])
    lies(one, "liar")
    assert one.suspicion("early") == Suspicion()


def test_clients_without_household_inherit_nothing() -> None:
    one = book()
    lies(one, "liar")
    assert one.suspicion("new") == Suspicion()


def test_an_owner_lifts_a_quarantine() -> None:
    one = book()
    one.join("a", SuspectKey("account a"))
    lies(one, "a")
    lifted = one.lifted("a")
    assert lifted is not None
    one.settle(lifted)
    assert lifted.suspicion.counts
    assert one.suspicion("a").counts
    assert one.lifted("nobody") is None
    lies(one, "a")
    assert one.suspicion("a").quarantines == 2


def test_what_was_recorded_is_taken_up() -> None:
    first = book()
    first.join("a", SuspectKey("account a", "house"))
    (recorded,) = lies(first, "a")
    one = book([recorded])
    assert one.suspicion("new") == Suspicion()
    one.join("b", SuspectKey("account a"))
    one.join("new", SuspectKey("new", "house"))
    assert one.suspicion("b").quarantined
    assert not one.suspicion("new").counts


def test_suspects_come_with_the_quarantined_first() -> None:
    one = book()
    lies(one, "quarantined")
    lies(one, "worse", 2)
    lies(one, "bad", 1)
    assert [suspect.client for suspect in one.suspects] == ["quarantined", "worse", "bad"]
