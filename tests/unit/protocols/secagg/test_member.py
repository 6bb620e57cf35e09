"""The member of masked rounds: the golden conversations, and rules that hold in all of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.protocols.secagg.member import MaskedMember, MemberStage
from backend.protocols.secagg.member_events import (
    Effect,
    Event,
    ForgetRound,
    HostFailed,
    LeaveRound,
    MakeKeys,
    MakeReveal,
    MaskUpdate,
    SendMasked,
    SignSurvivors,
    Welcomed,
)
from backend.wire.masked_messages import ConsistencySignature, Decline, Keys, Reveal, Shares
from tests.contract.vectors.secagg import make_secagg, secagg_inputs

GOLDEN = msgspec.json.decode(make_secagg.FILE.read_bytes(), type=make_secagg.File)
TOLD = {story.name: story for story in GOLDEN.conversations}


def steps(story: make_secagg.Conversation) -> list[make_secagg.Step]:
    """All of a story, with what it goes on from."""
    return [*(steps(TOLD[story.after]) if story.after else ()), *story.steps]


EVENTS: list[Event] = [step.event for story in GOLDEN.conversations for step in story.steps]


@pytest.mark.parametrize("story", GOLDEN.conversations, ids=lambda story: story.name)
def test_a_conversation_goes_as_written(story: make_secagg.Conversation) -> None:
    machine = MaskedMember()
    for step in steps(story):
        assert machine.handle(step.event) == step.effects
        assert (machine.stage, machine.latest) == (step.stage, step.latest)
        assert (machine.members, machine.reason) == (step.members, step.reason)


@pytest.mark.parametrize(
    "story", [one for one in GOLDEN.conversations if one.name.startswith("refused")], ids=lambda one: one.name
)
def test_a_refusal_is_declined_and_ends_the_round_for_good(story: make_secagg.Conversation) -> None:
    effects = [effect for step in steps(story) for effect in step.effects]
    given_up = [effect for effect in effects if isinstance(effect, LeaveRound)]
    assert given_up
    assert len({effect.round for effect in given_up}) == len(given_up)
    refused = [step for step in steps(story) if step.stage is MemberStage.REFUSED]
    sent = [effect.frame for effect in effects if isinstance(effect, SendMasked)]
    declined = [frame for frame in sent if isinstance(frame, Decline)]
    assert [frame.round for frame in declined][: len(given_up)] == [effect.round for effect in given_up]
    # It is said again on every connection, and nothing else is.
    for step in refused[1:]:
        assert step.effects == ([SendMasked(declined[-1])] if isinstance(step.event, Welcomed) else [])


def replies(machine: MaskedMember, events: list[Event]) -> Iterator[list[Effect]]:
    for event in events:
        yield machine.handle(event)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(EVENTS), max_size=60), st.sampled_from(list(make_secagg.STORIES.values())))
def test_whatever_comes_nothing_is_said_otherwise_a_second_time(
    events: list[Event], beginning: list[Event]
) -> None:
    machine = MaskedMember()
    said: dict[tuple[type, int], object] = {}
    work: set[tuple[type, int]] = set()
    over: set[int] = set()
    for effects in replies(machine, [*beginning, *events]):
        for effect in effects:
            match effect:
                case SendMasked(Keys() | Shares() | ConsistencySignature() | Reveal() as frame):
                    assert frame.round not in over
                    assert said.setdefault((type(frame), frame.round), frame) == frame
                case MakeKeys():
                    key = (MakeKeys, effect.plan.round)
                    assert key not in work
                    work.add(key)
                case MaskUpdate() | SignSurvivors() | MakeReveal():
                    assert effect.round not in over
                    assert (type(effect), effect.round) not in work
                    work.add((type(effect), effect.round))
                case LeaveRound() | ForgetRound():
                    over.add(effect.round)


@settings(max_examples=200)
@given(st.lists(st.sampled_from(EVENTS), max_size=60))
def test_an_event_without_effects_that_moves_nothing_changes_nothing(events: list[Event]) -> None:
    machine = MaskedMember()
    for event in events:
        before = copy.deepcopy(machine)
        effects = machine.handle(event)
        if not effects and machine.stage is before.stage:
            assert machine == before


@settings(max_examples=200)
@given(st.lists(st.sampled_from(EVENTS), max_size=80))
def test_no_share_of_both_kinds_is_asked_for_one_place(events: list[Event]) -> None:
    machine = MaskedMember()
    asked: dict[tuple[int, int], str] = {}
    for effects in replies(machine, [*make_secagg.MASKED, *events]):
        for effect in effects:
            if isinstance(effect, MakeReveal):
                for place in effect.seeds:
                    assert asked.setdefault((effect.round, place), "seed") == "seed"
                for place in effect.mask_keys:
                    assert asked.setdefault((effect.round, place), "mask key") == "mask key"


# What each stage answers to what it waits for; every other event of a round changes nothing there.
EXPECTED = {
    MemberStage.IDLE: {"planned"},
    MemberStage.MAKING_KEYS: {"keys_made", "failed"},
    MemberStage.AWAITING_ROSTER: {"roster"},
    MemberStage.CHECKING_ROSTER: {"roster_checked", "failed"},
    MemberStage.SEALING_SHARES: {"shares_sealed", "failed"},
    MemberStage.AWAITING_SHARES: {"dealt"},
    MemberStage.OPENING_SHARES: {"shares_opened", "failed"},
    MemberStage.MASKED_INPUT: {"survivors", "unmask", "failed"},
    MemberStage.SIGNING_SURVIVORS: {"survivors_signed", "failed", "unmask"},
    MemberStage.AWAITING_UNMASK: {"unmask"},
    MemberStage.CHECKING_SIGNATURES: {"vouchers_checked", "failed"},
    MemberStage.MAKING_REVEAL: {"revealed", "failed"},
    MemberStage.REVEALED: set(),
    MemberStage.REFUSED: set(),
}
ROUND_ONE: dict[str, Event] = {
    "planned": secagg_inputs.planned(server="active"), "keys_made": make_secagg.MADE, "roster":
    secagg_inputs.roster(), "roster_checked": secagg_inputs.checked(), "shares_sealed":
    secagg_inputs.sealed(), "dealt": secagg_inputs.dealt(), "shares_opened": secagg_inputs.opened(),
    "survivors": secagg_inputs.survivors(), "survivors_signed": make_secagg.SIGNED, "unmask":
    secagg_inputs.unmask(vouchers=secagg_inputs.VOUCHERS), "vouchers_checked": make_secagg.WEIGHED,
    "revealed": secagg_inputs.revealed(), "failed": HostFailed(1, "No memory."),
}  # fmt: skip


def reach(stage: MemberStage) -> MaskedMember:
    """A machine in `stage` of a round whose server may lie."""
    machine = MaskedMember()
    if stage is MemberStage.REFUSED:
        for event in (ROUND_ONE["planned"], ROUND_ONE["failed"]):
            machine.handle(event)
    for name, event in ROUND_ONE.items():
        if machine.stage is stage:
            break
        if name != "failed":
            machine.handle(event)
    assert machine.stage is stage
    return machine


@pytest.mark.parametrize("stage", list(MemberStage))
@pytest.mark.parametrize("name", list(ROUND_ONE))
def test_in_each_stage_only_what_it_waits_for_moves_on(stage: MemberStage, name: str) -> None:
    machine = reach(stage)
    before = copy.deepcopy(machine)
    effects = machine.handle(ROUND_ONE[name])
    if name in EXPECTED[stage]:
        assert machine.stage is not stage
    else:
        assert machine == before
        assert all(isinstance(effect, SendMasked) for effect in effects)
