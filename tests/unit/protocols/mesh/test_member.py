"""The machine of a mesh's member: the golden conversations, and rules that hold in all of them."""

from __future__ import annotations

import copy

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.client.participant_events import AbortTraining, Connect, StartTraining
from backend.protocols.mesh.member import MeshMember, MeshPhase
from backend.protocols.mesh.member_events import AbortAveraging, Average, Effect, Event, SendToServer
from backend.protocols.mesh.serverless.last_round import FIRST_SERVERLESS_GROUP
from backend.wire import mesh_messages
from backend.wire.messages import Leave, Ready
from tests.contract.vectors.client.make_participant import CONNECTED, lost
from tests.contract.vectors.mesh import make_mesh_member

CONVERSATIONS = msgspec.json.decode(
    make_mesh_member.FILE.read_bytes(), type=list[make_mesh_member.Conversation]
)
EVENTS: list[Event] = [step.event for story in CONVERSATIONS for step in story.steps]
# What does nothing anywhere before `ready` was said, and what never does anything by itself.
NEWS = {"evaluated", "version", "abandoned"}


def after(*events: make_mesh_member.Json) -> MeshMember:
    machine = MeshMember()
    for raw in events:
        machine.handle(msgspec.convert(raw, Event, builtin_types=()))
    return machine


@pytest.mark.parametrize("story", CONVERSATIONS, ids=lambda story: story.name)
def test_a_conversation_goes_as_written(story: make_mesh_member.Conversation) -> None:
    machine = MeshMember()
    for step in story.steps:
        assert machine.handle(step.event) == step.effects
        assert (machine.phase, machine.averaged, machine.failed) == (step.phase, step.averaged, step.failed)
        assert (machine.enter.holds if machine.enter else None) == step.holds
        assert machine.reason == step.reason


def test_every_phase_and_effect_occurs_in_the_golden_file() -> None:
    steps = [step for story in CONVERSATIONS for step in story.steps]
    assert {step.phase for step in steps} == set(MeshPhase)
    assert {type(effect) for step in steps for effect in step.effects} == set(Effect.__args__)


ALWAYS = {"closing", "disconnected", "stop"}
NOTHING_LEGAL_BUT = {
    "stopped": ([], {"start"}),
    "connecting": ([make_mesh_member.START], {"connected", "disconnected", "stop"}),
    "greeted": ([make_mesh_member.START, CONNECTED], {"entered", *ALWAYS}),
    "offline": ([*make_mesh_member.READY, lost(0.5)], {"connected", "disconnected", "stop", "agreed"}),
    "loading": (make_mesh_member.READY[:3], {"loaded", "deposit", "state", *ALWAYS}),
    "waiting": (make_mesh_member.READY, {"train", "evaluate", "deposit", "state", *ALWAYS}),
    "training": (make_mesh_member.TRAINING, {"train", "trained", "deposit", "state", *NEWS, *ALWAYS}),
    "trained": (make_mesh_member.TRAINED, {"train", "group", "deposit", "state", *NEWS, *ALWAYS}),
    "averaging": (make_mesh_member.AVERAGING, {"train", "averaged", "failed", "deposit", "state", *ALWAYS}),
}


@pytest.mark.parametrize("phase", NOTHING_LEGAL_BUT)
def test_an_illegal_event_changes_nothing(phase: str) -> None:
    events, legal = NOTHING_LEGAL_BUT[phase]
    machine = after(*events)
    before = copy.copy(machine)
    for candidate in EVENTS:
        raw = msgspec.to_builtins(candidate)
        name = raw["frame"]["type"] if raw["type"] == "frame" else raw["type"]
        if name not in legal and name != "certified":
            assert machine.handle(candidate) == []
            assert machine == before


def test_a_thousand_failed_attempts_still_wait_half_a_minute() -> None:
    machine = after(make_mesh_member.START, *[lost(0.5)] * 1000)
    [again] = machine.handle(msgspec.convert(lost(0.5), Event))
    assert again == Connect(30.0)


@given(st.lists(st.sampled_from(EVENTS), max_size=60))
def test_training_and_averaging_never_go_on_beside_each_other(events: list[Event]) -> None:
    at_work: list[str] = []
    machine = MeshMember()
    for one in events:
        trained, group = machine.in_hand.trained, machine.in_hand.group
        effects = machine.handle(one)
        if machine.in_hand.trained is not None and machine.in_hand.trained is not trained:
            at_work.remove("training")  # It ended by itself.
        if group is not None and machine.in_hand.group is None and machine.in_hand.report is not None:
            at_work.remove("averaging")
        for effect in effects:
            match effect:
                case StartTraining():
                    at_work.append("training")
                case AbortTraining():
                    at_work.remove("training")
                case Average():
                    at_work.append("averaging")
                case AbortAveraging():
                    at_work.remove("averaging")
            assert len(at_work) <= 1


@given(st.lists(st.sampled_from(EVENTS), max_size=60))
def test_a_server_hears_reports_and_readiness_before_all_else_and_neither_within_a_group(
    events: list[Event],
) -> None:
    machine = MeshMember()
    heard: list[str] = []
    for one in events:
        if not machine.connection.is_open:
            heard = []
        for effect in machine.handle(one):
            if isinstance(effect, SendToServer) and not isinstance(effect.frame, mesh_messages.Enter | Leave):
                assert "ready" in heard or isinstance(
                    effect.frame, Ready | mesh_messages.Averaged | mesh_messages.Failed
                )
                heard.append(effect.frame.__struct_config__.tag)  # type: ignore[arg-type] # a word
                assert machine.in_hand.group is None


@given(st.lists(st.sampled_from(EVENTS), max_size=60))
def test_a_group_is_averaged_in_only_by_a_member_that_trained_for_its_round(events: list[Event]) -> None:
    machine = MeshMember()
    for one in events:
        for effect in machine.handle(one):
            if isinstance(effect, Average):
                assert machine.in_hand.trained
                assert machine.in_hand.trained.round == effect.group.round
                assert machine.entered
                assert machine.entered.client in effect.group.members


def test_with_the_server_it_declines_groups_of_the_peers_except_the_one_that_it_is_in() -> None:
    for story in CONVERSATIONS:
        machine = MeshMember()
        for step in story.steps:
            machine.handle(step.event)
            order = machine.in_hand.group
            if order is None:
                assert machine.declines(1, FIRST_SERVERLESS_GROUP) is machine.connection.is_open
            assert not machine.declines(1, FIRST_SERVERLESS_GROUP - 1)
            assert order is None or not machine.declines(order.round, order.group)
