"""The machine of a client of work units: the golden conversations, and rules that hold in all of them."""

from __future__ import annotations

import copy
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.client.participant_events import Connect
from backend.protocols.client.unit_client import UnitClientMachine, UnitClientPhase
from backend.protocols.client.unit_client_events import (
    Effect,
    Event,
    FetchUnit,
    ForgetUnit,
    SendResultChunks,
    SendUnitFrame,
    TrainUnit,
)
from backend.protocols.client.units_in_hand import UnitStage
from backend.wire.messages import Ready
from backend.wire.unit_messages import Beat, Enlist, Release, Result, Want
from tests.contract.vectors.client import make_unit_client

CONVERSATIONS = msgspec.json.decode(
    make_unit_client.FILE.read_bytes(), type=list[make_unit_client.Conversation]
)
EVENTS: list[Event] = [step.event for story in CONVERSATIONS for step in story.steps]


def event(raw: make_unit_client.Json) -> Event:
    converted: Event = msgspec.convert(raw, Event)
    return converted


BEGINNING = [event(raw) for raw in make_unit_client.BOTH]
# From nothing, or from two units in hand, whatever happens.
CHAOS = st.tuples(st.sampled_from([[], BEGINNING]), st.lists(st.sampled_from(EVENTS), max_size=60)).map(
    lambda parts: [*parts[0], *parts[1]]
)


def after(*events: make_unit_client.Json) -> UnitClientMachine:
    machine = UnitClientMachine()
    for raw in events:
        machine.handle(event(raw))
    return machine


@pytest.mark.parametrize("story", CONVERSATIONS, ids=lambda story: story.name)
def test_a_conversation_goes_as_written(story: make_unit_client.Conversation) -> None:
    machine = UnitClientMachine()
    for step in story.steps:
        assert machine.handle(step.event) == step.effects
        written = {name: getattr(step, name) for name in make_unit_client.standing_of(machine)}
        assert make_unit_client.standing_of(machine) == written


def test_every_phase_stage_and_effect_occurs_in_the_golden_file() -> None:
    steps = [step for story in CONVERSATIONS for step in story.steps]
    assert {step.phase for step in steps} == set(UnitClientPhase)
    assert {stage for step in steps for _, stage in step.held} == set(UnitStage)
    assert {type(effect) for step in steps for effect in step.effects} == set(Effect.__args__)


NOTHING_LEGAL_BUT = {
    "stopped": ([], ["start", "want", "give_back", "wind_down"]),
    "connecting": (
        [make_unit_client.START],
        ["connected", "disconnected", "stop", "want", "give_back", "wind_down"],
    ),
    "greeted": (
        [make_unit_client.START, make_unit_client.CONNECTED],
        ["enlisted", "closing", "disconnected", "stop", "want", "give_back", "wind_down"],
    ),
    "offline": (
        [*make_unit_client.READY, make_unit_client.lost(0.5)],
        ["connected", "disconnected", "stop", "want", "give_back", "wind_down"],
    ),
}


@pytest.mark.parametrize("phase", NOTHING_LEGAL_BUT)
def test_an_illegal_event_changes_nothing(phase: str) -> None:
    events, legal = NOTHING_LEGAL_BUT[phase]
    machine = after(*events)
    before = copy.deepcopy(machine)
    for candidate in EVENTS:
        raw = msgspec.to_builtins(candidate)
        name = raw["frame"]["type"] if raw["type"] == "frame" else raw["type"]
        if name not in legal:
            assert machine.handle(candidate) == []
            assert machine == before


def test_pauses_double_from_half_a_second_to_half_a_minute_and_start_anew_when_enlisted() -> None:
    machine = after(make_unit_client.START)
    pauses = [pause for _ in range(9) for pause in delays(machine.handle(event(make_unit_client.lost(0.5))))]
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    machine.handle(event(make_unit_client.CONNECTED))
    machine.handle(event(make_unit_client.enlisted()))
    assert delays(machine.handle(event(make_unit_client.lost(0.0)))) == [0.25]


def test_shards_that_were_fetched_are_told_the_newest_last_and_64_at_most() -> None:
    machine = after(*make_unit_client.READY)
    for lease in [*range(1, 70), 3]:
        machine.handle(event(make_unit_client.unit(lease + 100, lease)))
        machine.handle(event(make_unit_client.fetched(lease + 100)))
        machine.handle(event(make_unit_client.drop(lease + 100)))
    machine.handle(event(make_unit_client.lost(0.5)))
    (said,) = machine.handle(event(make_unit_client.CONNECTED))
    assert isinstance(said, SendUnitFrame)
    assert isinstance(said.frame, Enlist)
    assert said.frame.backend == "wasm"
    assert said.frame.shards == [f"{lease:064x}" for lease in [*range(6, 70), 3]][-64:]


def test_no_more_units_are_held_than_any_client_may_hold() -> None:
    machine = after(*make_unit_client.READY, *[make_unit_client.unit(lease) for lease in range(1, 65)])
    assert len(machine.held) == 64
    (said,) = machine.handle(event(make_unit_client.unit(65)))
    assert isinstance(said, SendUnitFrame)
    assert isinstance(said.frame, Release)


def delays(effects: list[Effect]) -> list[float]:
    return [effect.delay for effect in effects if isinstance(effect, Connect)]


@given(CHAOS)
def test_each_unit_that_was_to_be_fetched_is_forgotten_once(events: list[Event]) -> None:
    open_leases: Counter[int] = Counter()
    machine = UnitClientMachine()
    for one in [*events, event(make_unit_client.STOP)]:
        for effect in machine.handle(one):
            if isinstance(effect, FetchUnit):
                open_leases[effect.unit.lease] += 1
            if isinstance(effect, ForgetUnit):
                open_leases[effect.lease] -= 1
            assert set(open_leases.values()) <= {0, 1}
        assert {lease for lease, count in open_leases.items() if count} == set(machine.held)
    assert not machine.held


@given(CHAOS)
def test_a_place_is_never_empty_while_something_waits_for_it(events: list[Event]) -> None:
    machine = UnitClientMachine()
    for one in events:
        for effect in machine.handle(one):
            if isinstance(effect, TrainUnit):
                assert machine.held[effect.unit.lease].stage is not UnitStage.FETCHING
        stages = Counter(held.stage for held in machine.held.values())
        assert not stages[UnitStage.QUEUED] or stages[UnitStage.TRAINING] >= machine.at_once


@given(CHAOS)
def test_what_is_in_hand_never_goes_back_a_stage(events: list[Event]) -> None:
    order = list(UnitStage)
    machine = UnitClientMachine()
    for one in events:
        before = {lease: held.stage for lease, held in machine.held.items()}
        for effect in machine.handle(one):
            if isinstance(effect, ForgetUnit):
                before.pop(effect.lease)
        for lease, stage in before.items():
            assert order.index(machine.held[lease].stage) >= order.index(stage)


@given(CHAOS)
def test_nothing_but_who_it_is_is_said_before_the_server_knows_that_it_is_ready(events: list[Event]) -> None:
    machine, ready = UnitClientMachine(), False
    for one in events:
        for effect in machine.handle(one):
            match effect:
                case Connect():
                    ready = False
                case SendUnitFrame(Ready()):
                    ready = True
                case SendUnitFrame(Want() | Beat() | Result() | Release()) | SendResultChunks():
                    assert ready


@given(CHAOS)
def test_chunks_are_sent_in_order_without_gaps_and_never_beyond_the_result(events: list[Event]) -> None:
    sent: dict[int, int] = {}
    machine = UnitClientMachine()
    for one in events:
        for effect in machine.handle(one):
            match effect:
                case SendUnitFrame(Result(lease=lease)):
                    sent[lease] = 0
                case SendResultChunks(lease, start, until):
                    result = machine.held[lease].result
                    assert result is not None
                    assert start == sent[lease] < until <= result.size
                    sent[lease] = until
