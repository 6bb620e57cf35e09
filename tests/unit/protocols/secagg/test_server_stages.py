"""The server's table of transitions, and for whom each stage waits, and how long."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import product

import pytest

from backend.protocols.rounds.phases import IllegalEventError
from backend.protocols.secagg.client_slots import ClientSlot
from backend.protocols.secagg.server import MaskedRound
from backend.protocols.secagg.server_stages import (
    ANSWER_SECONDS,
    EXCHANGE_SECONDS,
    TRANSITIONS,
    ServerEvent,
    ServerStage,
    StageWait,
    owes,
)
from backend.wire.masked_messages import ConsistencySignature, Decline, Keys, Reveal, Shares
from tests.support.protocols.secagg.stages import FIVE, STAGES, state
from tests.support.protocols.secagg.world import SECONDS, World

HOST = {
    ServerEvent.INPUT_ACCEPTED,
    ServerEvent.INPUTS_OVER,
    ServerEvent.UNMASKED,
    ServerEvent.MISMATCHED,
}


def reached(stage: ServerStage) -> set[ServerStage]:
    """The stages that `stage` leads to, in any number of steps."""
    then = set(TRANSITIONS[stage].then)
    return then.union(*map(reached, then))


def test_the_table_has_a_row_for_each_stage_and_only_leads_on() -> None:
    assert list(TRANSITIONS) == list(ServerStage)
    for stage, row in TRANSITIONS.items():
        assert stage not in reached(stage)
        assert (row.then == frozenset()) == (stage in (ServerStage.DONE, ServerStage.FAILED))
        assert bool(row.takes) == bool(row.then)
    assert reached(ServerStage.ADVERTISE_KEYS) == set(ServerStage) - {ServerStage.ADVERTISE_KEYS}


Call = Callable[[MaskedRound, str], object]


def keys_of(world: World) -> list[Keys]:
    """The keys that clients made, and some that nobody did."""
    rounds = [holder.machine.round for holder in world.holders.values()]
    made = [one.keys for one in rounds if one and one.keys]
    invented = Keys(
        round=1, mask_key=bytes([9] * 32), share_key=bytes([8] * 32), seed_hash=bytes(32),
        identity=bytes([7] * 32), signature=bytes(64),
    )  # fmt: skip
    return [*made, invented]


def keys_arrive(keys: Keys) -> Call:
    return lambda masks, client: masks.keys_arrived(client, keys, 0.0)


def shares_arrive(count: int) -> Call:
    shares = Shares(round=1, sealed=[b"x" * 80] * count)
    return lambda masks, client: masks.shares_arrived(client, shares, 0.0)


def reveal_arrives(count: int) -> Call:
    reveal = Reveal(round=1, shares=[bytes([3] * 32)] * count)
    return lambda masks, client: masks.reveal_arrived(client, reveal, 0.0)


def calls_of(event: ServerEvent, world: World) -> list[Call]:
    """How `event` may happen to one client: as it should, and as it should not."""
    match event:
        case ServerEvent.KEYS_ARRIVED:
            return [keys_arrive(keys) for keys in keys_of(world)]
        case ServerEvent.SHARES_ARRIVED:
            return [shares_arrive(count) for count in (3, 4)]
        case ServerEvent.CONSISTENCY_SIGNATURE_ARRIVED:
            forged = ConsistencySignature(round=1, signature=bytes(64))
            return [lambda masks, client: masks.consistency_signature_arrived(client, forged, 0.0)]
        case ServerEvent.REVEAL_ARRIVED:
            return [reveal_arrives(count) for count in (4, 5)]
        case ServerEvent.CLIENT_DECLINED:
            return [lambda masks, client: masks.declined(client, Decline(round=1, spent=False), 0.0)]
        case ServerEvent.CLIENT_LEFT:
            return [
                lambda masks, client: masks.client_left(client, 0.0, lost=True),
                lambda masks, client: masks.client_left(client, 0.0, lost=False),
            ]
        case ServerEvent.CLIENT_READY:
            return [lambda masks, client: masks.client_ready(client)]
        case ServerEvent.TIME_PASSED:
            return [lambda masks, _: masks.time_passed(0.0), lambda masks, _: masks.time_passed(SECONDS)]
        case ServerEvent.INPUT_ACCEPTED:
            return [lambda masks, client: masks.input_accepted(client)]
        case ServerEvent.INPUTS_OVER:
            return [lambda masks, _: masks.inputs_over(0.0)]
        case ServerEvent.UNMASKED:
            return [lambda masks, _: masks.unmasked()]
        case ServerEvent.MISMATCHED:
            return [lambda masks, _: masks.mismatched((), 0.0)]


def legal(event: ServerEvent, stage: ServerStage) -> bool:
    """Whether the table takes `event`, and no sum is needed for it that the host would unmask now."""
    return event in TRANSITIONS[stage].takes - {ServerEvent.UNMASKED, ServerEvent.MISMATCHED}


@pytest.mark.parametrize("event", list(ServerEvent))
@pytest.mark.parametrize("stage", list(ServerStage))
def test_an_event_outside_its_stages_row_changes_nothing(stage: ServerStage, event: ServerEvent) -> None:
    world = STAGES[stage]()
    for call, client in product(calls_of(event, world), FIVE):
        masks = copy.deepcopy(world.masks)
        before = state(masks)
        if legal(event, stage):
            call(masks, client)
            assert masks.stage in {stage, *reached(stage)}
            continue
        if event in HOST:
            with pytest.raises(IllegalEventError):
                call(masks, client)
        else:
            assert call(masks, client) == []
        assert state(masks) == before


def slot(**said: object) -> ClientSlot:
    one = ClientSlot("0000", 0)
    for name, what in said.items():
        setattr(one, name, what)
    return one


@pytest.mark.parametrize(
    ("stage", "accepted", "said"),
    [
        (ServerStage.SHARE_KEYS, False, {"shares": Shares(round=1, sealed=[])}),
        (ServerStage.CONSISTENCY_CHECK, True, {"consistency_signature": bytes(64)}),
        (ServerStage.UNMASK, True, {"reveal": Reveal(round=1, shares=[])}),
    ],
)
def test_a_client_owes_what_the_stage_asks_for_until_it_said_it(
    stage: ServerStage, accepted: bool, said: dict[str, object]
) -> None:
    assert owes(slot(accepted=accepted), stage)
    assert not owes(slot(accepted=accepted, **said), stage)
    assert not owes(slot(accepted=accepted, is_excluded=True), stage)


def test_who_is_not_in_the_sum_owes_nothing_for_it() -> None:
    assert not owes(slot(), ServerStage.CONSISTENCY_CHECK)
    assert not owes(slot(), ServerStage.UNMASK)


@pytest.mark.parametrize("stage", [ServerStage.MASKED_INPUT, ServerStage.DONE, ServerStage.FAILED])
def test_nobody_owes_anything_where_nothing_is_asked_for(stage: ServerStage) -> None:
    assert StageWait.for_keys([slot(accepted=True)], 100.0, 0.0, 5.0).is_complete(stage)


@pytest.mark.parametrize(
    ("seconds", "grace", "patience"),
    [(1000.0, 5.0, EXCHANGE_SECONDS), (40.0, 5.0, 10.0), (1000.0, 60.0, 60.0), (40.0, 60.0, 10.0)],
)
def test_keys_and_shares_have_a_quarter_of_the_round_each(
    seconds: float, grace: float, patience: float
) -> None:
    wait = StageWait.for_keys([slot()], seconds, 7.0, grace)
    assert wait.deadline(ServerStage.ADVERTISE_KEYS) == 7.0 + patience
    wait.start_shares(9.0)
    assert wait.deadline(ServerStage.SHARE_KEYS) == 9.0 + patience


@pytest.mark.parametrize(("grace", "patience"), [(5.0, ANSWER_SECONDS), (60.0, 60.0)])
def test_answers_have_as_long_as_a_connection_may_be_lost(grace: float, patience: float) -> None:
    wait = StageWait.for_keys([slot(accepted=True)], 100.0, 0.0, grace)
    wait.start_answers(50.0)
    assert wait.deadline(ServerStage.UNMASK) == 50.0 + patience


def test_where_all_who_owe_something_are_lost_the_last_has_its_grace_to_come_back() -> None:
    one, other = slot(lost_at=1.0), slot(lost_at=3.0)
    wait = StageWait.for_keys([one, other], 100.0, 0.0, 5.0)
    assert wait.deadline(ServerStage.ADVERTISE_KEYS) == 8.0
    other.is_excluded = True
    assert wait.deadline(ServerStage.ADVERTISE_KEYS) == 6.0
    one.lost_at = None
    assert wait.deadline(ServerStage.ADVERTISE_KEYS) == EXCHANGE_SECONDS


@pytest.mark.parametrize("last", [0, 1])
def test_a_stage_waits_for_the_last_one_in_whatever_order_they_answer(last: int) -> None:
    slots = [slot(), slot()]
    wait = StageWait.for_keys(slots, 100.0, 0.0, 5.0)
    slots[1 - last].is_excluded = True
    assert not wait.is_complete(ServerStage.ADVERTISE_KEYS)
    slots[last].is_excluded = True
    assert wait.is_complete(ServerStage.ADVERTISE_KEYS)
