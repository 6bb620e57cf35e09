"""Rounds without the server: the golden conversations, and what holds for any company of peers."""

from __future__ import annotations

import pickle
import random
from itertools import combinations

import msgspec
import pytest

from backend.protocols.mesh.serverless.last_round import FIRST_SERVERLESS_GROUP, next_plan
from backend.protocols.mesh.serverless.rounds import ServerlessRounds
from backend.protocols.mesh.serverless.serverless_events import (
    TRANSITIONS,
    Effect,
    Event,
    LocalMeasured,
    PeerFrameReceived,
    ServerlessStage,
    ServerLost,
)
from backend.wire.mesh_messages import Group
from backend.wire.messages import Evaluation, Train
from backend.wire.peer_messages import SetOut
from tests.contract.vectors.mesh import make_serverless
from tests.unit.protocols.mesh.serverless.random_schedules import Company

CONVERSATIONS = msgspec.json.decode(
    make_serverless.FILE.read_bytes(), type=list[make_serverless.Conversation]
)


@pytest.mark.parametrize("story", CONVERSATIONS, ids=lambda story: story.name)
def test_a_conversation_goes_as_written(story: make_serverless.Conversation) -> None:
    machine = ServerlessRounds(story.own, story.steward, make_serverless.SALT)
    for step in story.steps:
        assert machine.happened(step.event, step.now) == step.effects
        assert (machine.stage, machine.timer()) == (step.stage, step.timer)


def test_every_stage_event_and_effect_occurs_in_the_golden_file() -> None:
    steps = [step for story in CONVERSATIONS for step in story.steps]
    assert {step.stage for step in steps} == set(ServerlessStage)
    assert {type(step.event) for step in steps} == set(Event.__args__)
    assert {type(effect) for step in steps for effect in step.effects} == set(Effect.__args__)


# The only stage in which such an event, or frame of a peer, changes anything.
ONLY_IN: dict[type, ServerlessStage] = {
    ServerLost: ServerlessStage.ATTENDED,
    LocalMeasured: ServerlessStage.MEASURING,
    SetOut: ServerlessStage.CALLING,
    Group: ServerlessStage.TRAINED,
}


@pytest.mark.parametrize("story", CONVERSATIONS, ids=lambda story: story.name)
def test_an_event_of_another_stage_or_a_stranger_changes_nothing(story: make_serverless.Conversation) -> None:
    machine = ServerlessRounds(story.own, story.steward, make_serverless.SALT)
    received = [step.event for step in story.steps if isinstance(step.event, PeerFrameReceived)]
    others: list[Event] = [
        ServerLost(False),
        LocalMeasured(Evaluation(round=1, version=1, examples=4, loss=1.0, sums=[])),
        *received,
        *(PeerFrameReceived("9" * 16, event.frame) for event in received),
    ]
    for step in story.steps:
        for other in others:
            kind = type(other.frame) if isinstance(other, PeerFrameReceived) else type(other)
            is_strange = isinstance(other, PeerFrameReceived) and other.client == "9" * 16
            if is_strange or ONLY_IN.get(kind, machine.stage) is not machine.stage:
                before = pickle.dumps(machine)
                assert machine.happened(other, step.now) == []
                assert pickle.dumps(machine) == before
        machine.happened(step.event, step.now)


@pytest.mark.parametrize("before", ServerlessStage)
@pytest.mark.parametrize("after", ServerlessStage)
def test_a_stage_is_entered_only_by_the_table(before: ServerlessStage, after: ServerlessStage) -> None:
    machine = ServerlessRounds("1" * 16, can_lead=True)
    machine.stage = before
    if after is before or after in TRANSITIONS[before]:
        machine._enter(after)
        assert machine.stage is after
    else:
        with pytest.raises(RuntimeError, match=f"from {before} to {after}"):
            machine._enter(after)
        assert machine.stage is before


def test_a_company_makes_round_after_round_and_measures_each_of_them_once() -> None:
    company = Company(5, seed=1)
    company.run(60.0)
    rounds = [one.made.round for one in company.results]
    assert rounds == list(range(2, len(rounds) + 2))
    assert len(rounds) >= 4
    assert all(one.made.survivors == company.names for one in company.results)
    assert len(rounds) <= company.evaluations <= len(rounds) + 1
    assert {one.made.group >= FIRST_SERVERLESS_GROUP for one in company.results} == {True}


def test_after_most_are_dead_the_others_go_on_only_if_they_were_more_than_half() -> None:
    company = Company(5, seed=2)
    company.run(20.0)
    for name in company.names[:2]:
        company.kill(name)
    company.run(60.0)
    before = len(company.results)
    assert company.results[-1].made.survivors == company.names[2:]
    for name in company.names[2:4]:
        company.kill(name)
    company.run(60.0)
    assert len(company.results) <= before + 1
    company.run(60.0)
    assert len(company.results) <= before + 1


def test_of_two_halves_of_a_broken_network_one_goes_on() -> None:
    company = Company(5, seed=3)
    for one in company.names[:2]:
        for other in company.names[2:]:
            company.cut(one, other)
    company.run(90.0)
    assert company.results
    assert all(one.made.survivors == company.names[2:] for one in company.results)


def test_a_steward_that_hears_too_few_makes_way() -> None:
    company = Company(5, seed=4)
    for other in company.names[2:]:
        company.cut(company.names[0], other)
    company.run(90.0)
    assert company.results


def test_when_one_has_the_server_all_are_told_and_begin_nothing() -> None:
    company = Company(3, seed=5)
    company.run(20.0)
    company.reach(company.names[0])
    company.run(20.0)
    made = len(company.results)
    company.run(60.0)
    assert len(company.results) == made
    assert company.hastened >= 2


@pytest.mark.parametrize("seed", range(200))
def test_no_round_is_made_twice_and_each_follows_from_most_of_those_before(seed: int) -> None:
    chance = random.Random(seed)
    company = Company(chance.randint(2, 7), seed)
    pairs = list(combinations(company.names, 2))
    for _ in range(chance.randint(3, 20)):
        company.run(chance.uniform(0.0, 15.0))
        name = chance.choice(company.names)
        match chance.randint(0, 7):
            case 0 if len(company.dead) < len(company.names) // 3:
                company.kill(name)
            case 1 | 2:
                company.cut(*chance.choice(pairs))
            case 3 | 4:
                company.mend(*chance.choice(pairs))
            case 5 if name not in company.reached and name not in company.dead:
                company.reach(name)
            case 6 | 7 if company.reached - company.dead:
                company.desert(chance.choice(sorted(company.reached - company.dead)))
    rounds = [one.made.round for one in company.results]
    assert len(rounds) == len(set(rounds))
    for one in company.results:
        assert 2 * len(set(one.made.survivors) & set(one.base.survivors)) > len(one.base.survivors)
        assert one.made.round > one.base.round
    bases = [one.base.weights for one in company.results]
    assert len(bases) == len(set(bases))


def test_a_schedule_and_the_seed_go_on_with_the_rounds() -> None:
    machine = Company(2, seed=0).machines["0" * 16]
    plan = machine.last.plan
    assert isinstance(plan, Train)
    second = msgspec.structs.replace(plan, version=4, past_steps=40)
    third = next_plan(second, 9, "a" * 64, 20.0)
    assert (third.round, third.version, third.past_steps, third.seconds) == (9, 5, 50, 20.0)
    assert third.seed != second.seed
    again = next_plan(third, 10, "a" * 64, 20.0)
    assert (again.version, again.past_steps) == (5, 50)
    assert 0 <= again.seed < 2**31
