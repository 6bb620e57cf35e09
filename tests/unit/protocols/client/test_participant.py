"""The participant's machine: the golden conversations, and rules that hold in all of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.client.participant import ParticipantMachine, ParticipantPhase
from backend.protocols.client.participant_events import (
    AbortMeasuring,
    AbortTraining,
    Connect,
    Effect,
    Event,
    KeepChange,
    MeasureVersion,
    SendFrame,
    SendUpdateChunks,
    StartTraining,
    UndoChange,
)
from backend.wire.messages import Chunk, Evaluation, Offer, Ready
from tests.contract.vectors.client import make_participant

CONVERSATIONS = msgspec.json.decode(
    make_participant.FILE.read_bytes(), type=list[make_participant.Conversation]
)
EVENTS: list[Event] = [step.event for story in CONVERSATIONS for step in story.steps]


def event(raw: make_participant.Json) -> Event:
    converted: Event = msgspec.convert(raw, Event)
    return converted


def after(*events: make_participant.Json) -> ParticipantMachine:
    machine = ParticipantMachine()
    for raw in events:
        machine.handle(event(raw))
    return machine


@pytest.mark.parametrize("story", CONVERSATIONS, ids=lambda story: story.name)
def test_a_conversation_goes_as_written(story: make_participant.Conversation) -> None:
    machine = ParticipantMachine()
    for step in story.steps:
        assert machine.handle(step.event) == step.effects
        assert machine.phase == step.phase
        assert (machine.accepted, machine.refused, machine.reason) == (
            step.accepted,
            step.refused,
            step.reason,
        )


def test_every_phase_and_effect_occurs_in_the_golden_file() -> None:
    steps = [step for story in CONVERSATIONS for step in story.steps]
    assert {step.phase for step in steps} == set(ParticipantPhase)
    assert {type(effect) for step in steps for effect in step.effects} == set(Effect.__args__)


NOTHING_LEGAL_BUT = {
    "stopped": ([], ["start"]),
    "connecting": ([make_participant.START], ["connected", "disconnected", "stop"]),
    "greeted": (
        [make_participant.START, make_participant.CONNECTED],
        ["welcome", "closing", "disconnected", "stop"],
    ),
    "offline": ([*make_participant.READY, make_participant.lost(0.5)], ["connected", "disconnected", "stop"]),
    "loading": (
        make_participant.READY[:3],
        ["loaded", "state", "closing", "disconnected", "stop", "accepted", "refused"],
    ),
    "waiting": (
        make_participant.READY,
        ["train", "evaluate", "state", "closing", "disconnected", "stop", "accepted", "refused"],
    ),
}


@pytest.mark.parametrize("phase", NOTHING_LEGAL_BUT)
def test_an_illegal_event_changes_nothing(phase: str) -> None:
    events, legal = NOTHING_LEGAL_BUT[phase]
    machine = after(*events)
    before = copy.copy(machine)
    for candidate in EVENTS:
        raw = msgspec.to_builtins(candidate)
        name = raw["frame"]["type"] if raw["type"] == "frame" else raw["type"]
        if name not in legal:
            assert machine.handle(candidate) == []
            assert machine == before


def test_pauses_double_from_half_a_second_to_half_a_minute_and_start_anew_after_welcome() -> None:
    machine = after(make_participant.START)
    pauses = [pause for _ in range(9) for pause in delays(machine.handle(event(make_participant.lost(0.5))))]
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    machine.handle(event(make_participant.CONNECTED))
    machine.handle(event(make_participant.welcome()))
    assert delays(machine.handle(event(make_participant.lost(0.0)))) == [0.25]


def test_a_thousand_failed_attempts_still_wait_half_a_minute() -> None:
    machine = after(make_participant.START, *[make_participant.lost(0.5)] * 1000)
    assert delays(machine.handle(event(make_participant.lost(0.5)))) == [30.0]


def delays(effects: list[Effect]) -> list[float]:
    return [effect.delay for effect in effects if isinstance(effect, Connect)]


def walk(events: list[Event]) -> Iterator[tuple[ParticipantMachine, Effect]]:
    machine = ParticipantMachine()
    for one in events:
        for effect in machine.handle(one):
            yield machine, effect


@given(st.lists(st.sampled_from(EVENTS), max_size=60))
def test_at_most_one_training_goes_on_whatever_happens(events: list[Event]) -> None:
    training = 0
    machine = ParticipantMachine()
    for one in events:
        before = machine.phase, machine.offer
        for effect in machine.handle(one):
            training += isinstance(effect, StartTraining)
            training -= isinstance(effect, AbortTraining)
            assert training in (0, 1)
        if machine.offer is not None and machine.offer is not before[1]:
            training -= 1  # It ended by itself.
        assert training == int(machine.plan is not None and machine.offer is None)


@given(st.lists(st.sampled_from(EVENTS), max_size=60))
def test_at_most_one_measurement_goes_on_and_none_beside_a_training(events: list[Event]) -> None:
    measuring = 0
    machine = ParticipantMachine()
    for one in events:
        before = machine.evaluation.result
        for effect in machine.handle(one):
            measuring += isinstance(effect, MeasureVersion)
            measuring -= isinstance(effect, AbortMeasuring)
            assert measuring in (0, 1)
            assert not (measuring and isinstance(effect, StartTraining))
        if machine.evaluation.result is not None and machine.evaluation.result is not before:
            measuring -= 1  # It ended by itself.
        assert measuring == int(machine.evaluation.order is not None and machine.evaluation.result is None)


@given(st.lists(st.sampled_from(EVENTS), max_size=60))
def test_a_change_is_taken_back_only_after_it_was_kept_and_once(events: list[Event]) -> None:
    kept: int | None = None
    for _, effect in walk(events):
        if isinstance(effect, KeepChange):
            kept = effect.round
        if isinstance(effect, UndoChange):
            assert effect.round == kept
            kept = None


@given(st.lists(st.sampled_from(EVENTS), max_size=60))
def test_nothing_is_sent_before_welcome_but_hello(events: list[Event]) -> None:
    for machine, effect in walk(events):
        if isinstance(effect, SendFrame) and isinstance(effect.frame, Ready | Offer | Evaluation):
            assert machine.phase in (
                ParticipantPhase.WAITING,
                ParticipantPhase.TRAINING,
                ParticipantPhase.UPLOADING,
                ParticipantPhase.EVALUATING,
                ParticipantPhase.FINISHED,
            )
        assert not (isinstance(effect, SendFrame) and isinstance(effect.frame, Chunk))


@given(st.lists(st.sampled_from(EVENTS), max_size=60))
def test_chunks_are_sent_in_order_without_gaps_and_never_beyond_the_update(events: list[Event]) -> None:
    sent = 0
    for machine, effect in walk(events):
        if isinstance(effect, SendFrame) and isinstance(effect.frame, Offer):
            sent = 0
        if isinstance(effect, SendUpdateChunks):
            assert machine.offer is not None
            assert effect.start == sent < effect.until <= machine.offer.size
            sent = effect.until
