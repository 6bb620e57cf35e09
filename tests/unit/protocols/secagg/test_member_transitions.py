"""The member's table of transitions: every event in every state of the golden conversations obeys it."""

from __future__ import annotations

import copy
from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.protocols.secagg.member import TRANSITIONS, MaskedMember, MemberStage, tag_of
from backend.protocols.secagg.member_events import Event
from tests.contract.vectors.secagg import make_secagg

Transition = tuple[MemberStage, str, MemberStage]

# All different events of the golden conversations.
EVENTS: list[Event] = list(
    {
        msgspec.json.encode(event): event for events in make_secagg.STORIES.values() for event in events
    }.values()
)


@cache
def machines() -> dict[MemberStage, list[MaskedMember]]:
    """All different states that the golden conversations go through, by stage."""
    reached: dict[str, MaskedMember] = {}
    for events in make_secagg.STORIES.values():
        machine = MaskedMember()
        reached.setdefault(repr(machine), copy.deepcopy(machine))
        for event in events:
            machine.handle(event)
            reached.setdefault(repr(machine), copy.deepcopy(machine))
    return {stage: [one for one in reached.values() if one.stage is stage] for stage in MemberStage}


def bring(machine: MaskedMember, event: Event) -> Transition | None:
    """Brings `event` before the machine, which must do with it what the table says; None outside of it."""
    before, tag = copy.deepcopy(machine), tag_of(event)
    effects, row = machine.handle(event), TRANSITIONS[before.stage]
    if tag not in row:
        assert not effects
        assert machine == before
        return None
    assert machine.stage in (before.stage, *row[tag])
    return before.stage, tag, machine.stage


def test_the_table_has_a_row_for_each_stage() -> None:
    assert list(TRANSITIONS) == list(MemberStage)
    assert {tag for row in TRANSITIONS.values() for tag in row} <= {tag_of(event) for event in EVENTS}


@pytest.mark.parametrize("stage", list(MemberStage))
def test_each_event_does_what_the_table_says_and_all_that_it_says_can_happen(stage: MemberStage) -> None:
    happened = {bring(copy.deepcopy(machine), event) for machine in machines()[stage] for event in EVENTS} - {
        None
    }
    promised = {(stage, tag, then) for tag, stages in TRANSITIONS[stage].items() for then in stages}
    assert promised <= happened


@settings(max_examples=200)
@given(st.lists(st.sampled_from(EVENTS), max_size=60))
def test_no_series_of_events_leaves_the_table(events: list[Event]) -> None:
    machine = MaskedMember()
    for event in events:
        bring(machine, event)
