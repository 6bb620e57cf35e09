"""What the machine of the rounds does where updates are masked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from backend.errors import UpdateRefusedError
from backend.protocols.rounds import round_effects
from backend.protocols.rounds.federated import Round
from backend.protocols.rounds.phases import RoundPhase
from backend.wire.messages import Aggregation, Offer
from tests.support.protocols.rounds import OFFER, PLAN, deliver, only

MASKED = replace(
    PLAN, aggregation=("masked",), masked_bytes=60, most_masked=100, min_available_clients=3, gather=0.0
)
BOTH = replace(MASKED, aggregation=("masked", "open"))
SILENT = Offer(round=1, version=0, examples=0, steps=0, loss=0.0, sums=[], size=60)
LATE = UpdateRefusedError("Your keys did not come in time.")


def round_of(plan: Any, **clients: Aggregation) -> tuple[Round, list[round_effects.Effect]]:
    machine, effects = Round(plan), list[round_effects.Effect]()
    for client, aggregation in clients.items():
        machine.client_joined(client, aggregation)
        effects += machine.client_ready(client, 0.0)
    return machine, effects


def masked() -> Round:
    machine, _ = round_of(MASKED, a="masked", b="masked", c="masked")
    assert machine.phase is RoundPhase.TRAINING
    return machine


def test_a_masked_round_says_so_and_how_much_its_members_may_count() -> None:
    _, effects = round_of(MASKED, a="masked", b="masked", c="masked")
    (opened,) = only(round_effects.AnnounceRound, effects)
    assert (opened.aggregation, opened.most_examples) == ("masked", 20)


def test_so_many_updates_are_awaited_that_their_sum_can_be_unmasked() -> None:
    """Of ten clients in the complete graph seven recover a secret."""
    clients: dict[str, Aggregation] = dict.fromkeys("abcdefghij", "masked")
    plan = replace(MASKED, fraction_train=0.1, min_train_clients=3, over_selection=10.0)
    (opened,) = only(
        round_effects.AnnounceRound, round_of(replace(plan, min_available_clients=10), **clients)[1]
    )
    assert (len(opened.cohort), opened.wanted) == (10, 7)


def test_a_masked_round_has_no_more_clients_than_it_may() -> None:
    clients: dict[str, Aggregation] = dict.fromkeys("abcdefghij", "masked")
    plan = replace(MASKED, most_masked=4, min_available_clients=10)
    (opened,) = only(round_effects.AnnounceRound, round_of(plan, **clients)[1])
    assert (len(opened.cohort), opened.wanted) == (4, 4)


def test_a_masked_offer_says_nothing_of_its_update() -> None:
    machine = masked()
    assert machine.update_offered("a", SILENT, 1.0) == [round_effects.GrantUpload("a", SILENT)]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"examples": 20}, "bad-examples"),
        ({"steps": 1}, "bad-examples"),
        ({"loss": 0.5}, "bad-examples"),
        ({"sums": [(5.0, 10.0)]}, "bad-examples"),
        ({"size": 40}, "wrong-length"),
        ({"version": 1}, "stale-round"),
    ],
)
def test_an_offer_that_tells_more_or_has_another_length_is_refused(said: dict[str, Any], code: str) -> None:
    offer = {field: getattr(SILENT, field) for field in SILENT.__struct_fields__} | said
    effects = masked().update_offered("a", Offer(**offer), 1.0)
    assert [effect.error.code for effect in only(round_effects.RefuseUpdate, effects)] == [code]


def test_masked_updates_make_a_version_as_others_do() -> None:
    machine = masked()
    for client in "ab":
        assert deliver(machine, client, 2.0, SILENT) == [round_effects.Accept(client, SILENT)]
    assert deliver(machine, "c", 3.0, SILENT) == [
        round_effects.Accept("c", SILENT),
        round_effects.Aggregate(1, 0),
    ]


def test_the_next_deadline_is_made_of_the_work_that_was_asked_for() -> None:
    """Offers do not say how much was done: everybody did 20 examples in 2 s here."""
    plan = replace(MASKED, adaptive_deadline=True)
    machine, _ = round_of(plan, a="masked", b="masked", c="masked")
    for client in "abc":
        deliver(machine, client, 2.0, SILENT)
    (opened,) = only(round_effects.AnnounceRound, machine.aggregated(1, 3.0))
    assert opened.seconds == pytest.approx(4.0)


def test_an_excluded_member_is_told_and_not_waited_for() -> None:
    machine = masked()
    assert machine.member_excluded("a", 1, LATE, 1.0) == [round_effects.RefuseUpdate("a", 1, LATE)]
    assert machine.status("a") == "refused"
    deliver(machine, "b", 2.0, SILENT)
    assert round_effects.Aggregate(1, 0) in deliver(machine, "c", 2.0, SILENT)


@pytest.mark.parametrize("client", ["a", "stranger"])
def test_who_was_accepted_or_is_no_member_cannot_be_excluded(client: str) -> None:
    machine = masked()
    deliver(machine, "a", 2.0, SILENT)
    assert machine.member_excluded(client, 1, LATE, 3.0) == []
    assert machine.member_excluded("b", 2, LATE, 3.0) == []


def test_a_round_that_can_never_be_unmasked_ends_at_once() -> None:
    machine = masked()
    machine.update_offered("a", SILENT, 1.0)
    effects = machine.training_failed(1, "Two of at least three clients sent keys.", 2.0)
    assert [refusal.client for refusal in only(round_effects.RefuseUpdate, effects)] == ["a"]
    assert only(round_effects.Abandon, effects) == [
        round_effects.Abandon(1, "Two of at least three clients sent keys.")
    ]
    assert machine.phase is RoundPhase.GATHERING
    assert machine.training_failed(1, "Again.", 3.0) == []


def test_a_round_opens_once_enough_of_one_kind_are_there() -> None:
    machine, effects = round_of(BOTH, a="masked", b="masked", x="open", y="open")
    assert (machine.phase, machine.needed(), effects) == (RoundPhase.WAITING, 1, [])
    machine.client_joined("c", "masked")
    (opened,) = only(round_effects.AnnounceRound, machine.client_ready("c", 1.0))
    assert (opened.cohort, opened.aggregation) == (("a", "b", "c"), "masked")


def test_open_and_masked_clients_take_turns() -> None:
    machine, _ = round_of(BOTH, a="masked", b="masked", c="masked", x="open", y="open", z="open")
    kinds = []
    for number, offer, clients in ((1, SILENT, "abc"), (2, OFFER, "xyz")):
        assert machine.open is not None
        kinds.append(machine.open.aggregation)
        said = {field: getattr(offer, field) for field in offer.__struct_fields__}
        for client in clients:
            deliver(machine, client, 2.0, Offer(**(said | {"round": number, "version": number - 1})))
        machine.aggregated(number, 3.0)
    assert machine.open is not None
    assert [*kinds, machine.open.aggregation] == ["masked", "open", "masked"]


EIGHT: dict[str, Aggregation] = dict.fromkeys("abcdefgh", "masked")
GROUPED = replace(MASKED, min_available_clients=8, quorum=6, masked_groups=2, least_masked=3)


def test_a_masked_cohort_is_split_by_lot_once_its_members_are_fixed() -> None:
    machine, effects = round_of(GROUPED, **EIGHT)
    (opened,) = only(round_effects.AnnounceRound, effects)
    assert sorted(client for group in opened.groups for client in group) == list("abcdefgh")
    assert [len(group) for group in opened.groups] == [4, 4]
    assert opened.groups == machine.attendance.groups(opened.cohort, 2, "groups/1")
    assert opened.wanted == 6  # Three of each four.


def test_a_round_ends_when_each_group_has_what_it_wants_and_not_before() -> None:
    machine, effects = round_of(GROUPED, **EIGHT)
    (opened,) = only(round_effects.AnnounceRound, effects)
    first, second = opened.groups
    ends = []
    for client in (*first, *second[:3]):
        machine.update_offered(client, SILENT, 1.0)
        after = machine.update_arrived(client, 1, 1.0)
        ends.append(any(isinstance(effect, round_effects.Aggregate) for effect in after))
    assert ends == [False] * 6 + [True]


def test_a_cohort_without_groups_is_one() -> None:
    _, effects = round_of(MASKED, a="masked", b="masked", c="masked")
    (opened,) = only(round_effects.AnnounceRound, effects)
    assert opened.groups == (("a", "b", "c"),)
