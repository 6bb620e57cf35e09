"""Whole rounds of real machines: who lies is found, told and removed, and nobody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from backend.crypto.statements import say
from backend.protocols.mesh.byzantine.round_events import MeansChecked
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.protocols.mesh.byzantine.turn_log import PHASES, TurnPhase
from backend.wire.byzantine_bodies import CallBody
from tests.support.protocols.byzantine.liars import WRONG_OWNER, own, said_again
from tests.support.protocols.byzantine.member_host import Spoken, hashed_keys
from tests.support.protocols.byzantine.schedules import NARROW
from tests.support.protocols.byzantine.world import TERMS, Lies, World, honest_work

SEATS = 7
NAMES = [f"{number:016x}" for number in range(SEATS)]
LIAR = NAMES[3]


@pytest.fixture(autouse=True)
def keys() -> Iterator[None]:
    with hashed_keys():
        yield


def played(lies: dict[str, Lies], rounds: int = 1, seed: int = 0) -> World:
    world = World(SEATS, Random(seed), lies)
    for _ in range(rounds):
        world.play_round()
        world.settle()
    return world


def agreed(world: World) -> AgreedState:
    """Returns the state of all honest members."""
    states = [host.result for host in world.honest]
    assert all(isinstance(state, AgreedState) for state in states), states
    first = states[0]
    assert isinstance(first, AgreedState)
    assert all(state == first for state in states)
    return first


def silent(kind: str) -> Callable[..., list[tuple[float, Any]]]:
    return lambda world, sender, _to, frame: [] if own(world, sender, frame, kind) else [(0.0, frame)]


def removed(world: World) -> dict[str, str]:
    found = [host.removed for host in world.honest]
    assert all(one == found[0] for one in found)
    return found[0]


def test_honest_members_agree_round_after_round_on_work_that_validators_judge() -> None:
    world = played({}, rounds=4)
    state = agreed(world)
    assert (state.round, len(state.membership.seats)) == (4, SEATS)
    assert not any(case.validator for case in state.court)
    assert len(state.works) == SEATS - TERMS.validators
    assert removed(world) == {}


def test_who_was_not_shown_what_others_were_shown_is_no_false_accuser() -> None:
    """Its target may have stood still just then."""
    blind = Lies(judge=lambda one: replace(one, found="missing"))
    state = agreed(played({f"{number:016x}": blind for number in (0, 1, 2)}, rounds=6))
    assert state.membership.banned == ()
    assert len(state.membership.seats) == SEATS


def test_numbers_that_come_too_late_to_make_doubted_means_again_remove_nobody() -> None:
    """A liar sends its numbers once all have said what they found, and doubts every mean."""

    def send(world: World, sender: str, _to: str, frame: Any) -> list[tuple[float, Any]]:
        if own(world, sender, frame, "check"):
            # Two patiences until the exchange, and two until all have said what they found.
            return [(4.5 * TERMS.patience, frame)]
        if statement := own(world, sender, frame, "call"):
            doubts = CallBody("verdict", [], list(range(SEATS)))
            return [(0.0, said_again(world, sender, statement, doubts))]
        return [(0.0, frame)]

    world = World(SEATS, Random(0), {LIAR: Lies(send=send)})
    world.play_round()
    assert len(agreed(world).membership.present(2)) == SEATS
    assert removed(world) == {}


def test_what_members_say_is_bound_to_all_that_was_said_in_the_phase_before() -> None:
    """So no liar can show afterwards that an honest member knew other pieces, means or coins."""
    world = played({})
    for host in world.hosts.values():
        assert host.machine is not None
        log, active = host.machine.turn.log, host.machine.turn.roles.active
        for phase in PHASES[1:]:
            heard = log.heard_before(phase, active)
            assert {log.statement_of(phase, one).before for one in active} == {heard}


def test_who_names_other_statements_than_were_said_counts_as_absent() -> None:
    """Else its own words could not be held against it: they would follow what nobody else knows."""

    def other(world: World, sender: str, _to: str, frame: Any) -> list[tuple[float, Any]]:
        if (said := own(world, sender, frame, "made")) is None:
            return [(0.0, frame)]
        host = world.hosts[sender]
        changed = say(host.private, host.turn, "made", bytes([1] * 32), said.body)
        return [(0.0, Spoken(frame.turn, changed))]

    assert removed(played({LIAR: Lies(send=other)})) == {LIAR: "absent"}


def test_a_radius_to_be_measured_leaves_the_weights_in_its_first_round() -> None:
    world = World(SEATS, Random(1), {}, replace(TERMS, radius=None))
    world.play_round()
    world.settle()
    measured = agreed(world)
    assert measured.radius > 0.0
    world.play_round()
    assert agreed(world).weights != measured.weights


@pytest.mark.parametrize(
    ("kind", "why"),
    [("commit", "absent"), ("made", "absent"), ("reveal", "unrevealed"), ("check", "absent")],
)
def test_who_says_nothing_is_left_out_of_the_round(kind: str, why: str) -> None:
    world = played({LIAR: Lies(send=silent(kind))})
    assert removed(world) == {LIAR: why}
    seats = {seat.client: seat for seat in agreed(world).membership.seats}
    if why == "absent":
        assert seats[LIAR].absences == (1,)
    else:
        assert LIAR not in seats
    assert world.identities[LIAR] not in agreed(world).membership.banned


def test_the_silence_of_one_at_the_verdict_costs_nobody_anything() -> None:
    world = played({LIAR: Lies(send=silent("verdict"))})
    assert removed(world) == {}
    agreed(world)


def test_an_owner_with_a_wrong_mean_is_banned() -> None:
    world = played({LIAR: WRONG_OWNER})
    assert removed(world) == {LIAR: "wrong-mean"}
    assert agreed(world).membership.banned == (world.identities[LIAR],)


def test_who_says_wrong_numbers_is_banned() -> None:
    def wrong(_world: World, _client: str, event: Any) -> Any:
        if not isinstance(event, MeansChecked):
            return event
        lengths = [0.9 * one for one in event.lengths]
        return MeansChecked(event.products, lengths, event.own_products, event.own_lengths)

    world = played({LIAR: Lies(event=wrong)})
    assert removed(world) == {LIAR: "wrong-check"}
    assert agreed(world).membership.banned == (world.identities[LIAR],)


def exchanges(world: World) -> set[int]:
    """Returns how many exchanges honest members had in their last turn."""
    return {host.machine.turn.exchanges for host in world.honest if host.machine is not None}


def test_honest_members_that_doubt_a_mean_make_it_again_and_need_no_exchange() -> None:
    """The lengths of honest updates jump."""
    world = World(SEATS, Random(6), {}, NARROW)
    world.play_round()
    agreed(world)
    assert all(host.machine and host.machine.turn.found_right for host in world.honest)
    assert exchanges(world) == {0}


def test_who_keeps_its_pieces_of_doubted_parts_is_left_out_of_the_round() -> None:
    """Those of the others' parts are shown by their owners, and nobody shows that of its own."""

    def keeps(world: World, sender: str, _to: str, frame: Any) -> list[tuple[float, Any]]:
        machine = world.hosts[sender].machine
        is_doubted = machine is not None and machine.turn.phase is TurnPhase.VERDICT
        return [] if is_doubted and isinstance(frame, tuple) else [(0.0, frame)]

    world = World(SEATS, Random(6), {LIAR: Lies(send=keeps)}, NARROW)
    world.play_round()
    assert removed(world) == {LIAR: "absent"}
    agreed(world)


def test_a_piece_that_is_shown_to_nobody_is_its_senders_fault_and_not_the_owners() -> None:
    def keeps(_world: World, _sender: str, _to: str, frame: Any) -> list[tuple[float, Any]]:
        return [] if isinstance(frame, tuple) else [(0.0, frame)]

    world = played({LIAR: Lies(send=keeps)})
    assert removed(world) == {LIAR: "absent"}


def test_a_piece_kept_from_its_owner_alone_reaches_it_through_others() -> None:
    def keeps(_world: World, _sender: str, to: str, frame: Any) -> list[tuple[float, Any]]:
        return [] if isinstance(frame, tuple) and to == NAMES[0] else [(0.0, frame)]

    world = played({LIAR: Lies(send=keeps)})
    assert removed(world) == {}
    agreed(world)


def test_wrong_work_is_judged_by_all_after_a_validator_found_it_and_banned() -> None:
    world = World(SEATS, Random(2), {LIAR: Lies(work=lambda state, client: -honest_work(state, client))})
    rounds = 0
    while not world.honest[0].state or not world.honest[0].state.membership.banned:
        rounds += 1
        assert rounds < 60
        world.play_round()
        world.settle()
    assert agreed(world).membership.banned == (world.identities[LIAR],)


def test_a_validator_that_accuses_an_honest_member_is_banned_in_its_stead() -> None:
    world = World(SEATS, Random(3), {LIAR: Lies(judge=lambda one: replace(one, found="other"))})
    for _ in range(60):
        world.play_round()
        world.settle()
        if agreed(world).membership.banned:
            break
    assert agreed(world).membership.banned == (world.identities[LIAR],)
    assert len(agreed(world).membership.seats) == SEATS - 1


def test_statements_of_a_former_turn_change_nothing() -> None:
    """A liar repeats everything that it hears."""
    heard: list[Spoken] = []

    def repeats(world: World, sender: str, to: str, frame: Any) -> list[tuple[float, Any]]:
        if isinstance(frame, Spoken):
            heard.append(frame)
        return [(0.0, frame), *((0.1, one) for one in heard[-5:])]

    world = played({LIAR: Lies(send=repeats)}, rounds=3)
    assert agreed(world).round == 3
    assert removed(world) == {}


def test_a_device_that_sleeps_has_no_result_of_its_own_and_costs_the_others_none() -> None:
    world = World(SEATS, Random(4), {})
    world.at(8.0, lambda: world.sleep(NAMES[2], 300.0))
    world.play_round()
    sleeper, others = world.hosts[NAMES[2]], [host for host in world.honest if host.client != NAMES[2]]
    assert (sleeper.result, sleeper.failure) == (None, "This device slept during the round, or was too busy.")
    results = {host.result.digest() for host in others if isinstance(host.result, AgreedState)}
    assert len(results) == 1
    assert all(isinstance(host.result, AgreedState) for host in others)


def test_a_stranger_that_shows_a_members_identity_takes_nothing_from_it() -> None:
    world = World(SEATS, Random(5), {})
    world.identities["f" * 16] = world.identities[NAMES[2]]
    world.play_round()
    assert removed(world) == {}
    assert len(agreed(world).works) == SEATS
