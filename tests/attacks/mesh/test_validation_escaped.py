"""Liars say that their devices cannot do others' work again, to be left alone by validators or by the court.

Fewer than half of the members lie.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
from msgspec.structs import replace

from backend.protocols.mesh.byzantine.roles import roles_of
from backend.protocols.mesh.byzantine.state import UNABLE_ROUNDS, AgreedState
from backend.wire.byzantine_bodies import WorkFinding
from tests.support.protocols.byzantine.world import TERMS, Lies, World, honest_work

MEMBERS = [f"{number:016x}" for number in range(7)]
LIARS = MEMBERS[:3]


def says_unable(one: WorkFinding) -> WorkFinding:
    return replace(one, found="unable")


def flipped(state: AgreedState, client: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return -honest_work(state, client)


def played(world: World, until: Callable[[AgreedState], bool]) -> list[AgreedState]:
    """Returns the agreed states up to one that is as wanted."""
    states = list[AgreedState]()
    while not states or not until(states[-1]):
        world.play_round()
        world.settle()
        found = world.honest[0].state
        assert found is not None
        assert found.round < 150
        states.append(found)
    return states


def test_liars_that_are_unable_are_judged_and_banned_like_all() -> None:
    world = World(7, Random(3), {one: Lies(work=flipped, judge=says_unable) for one in LIARS})
    states = played(world, lambda state: len(state.membership.banned) == len(LIARS))
    assert [seat.client for seat in states[-1].membership.seats] == MEMBERS[3:]
    assert not states[-1].unable


def test_the_unable_cannot_leave_honest_members_alone_with_all_validations_for_long() -> None:
    world = World(7, Random(4), {LIARS[0]: Lies(judge=says_unable)})
    states = played(world, lambda state: state.round == 110)
    assert {one.client for state in states for one in state.unable} == {LIARS[0]}
    assert all(state.round - one.round < UNABLE_ROUNDS for state in states for one in state.unable)
    drawn = [state for state in states if LIARS[0] in roles_of(state, TERMS.validators).audits]
    assert len(drawn) > 1
    assert not any(state.unable for state in drawn)


def test_who_could_judge_again_is_drawn_again() -> None:
    world = World(7, Random(5), {LIARS[0]: Lies(judge=says_unable)})
    played(world, lambda state: bool(state.unable))
    world.lies = {}
    states = played(world, lambda state: state.round == 100)
    assert any(LIARS[0] in roles_of(state, TERMS.validators).audits for state in states)
    assert not states[-1].unable


def test_nobody_is_unable_who_was_not_to_judge() -> None:
    def unasked(one: WorkFinding) -> WorkFinding:
        return replace(one, target=LIARS[1], found="unable")

    world = World(7, Random(6), {LIARS[0]: Lies(judge=unasked)})
    states = played(world, lambda state: state.round == 30)
    judged = [
        one
        for state in states[:-1]
        if (one := roles_of(state, TERMS.validators).audits.get(LIARS[0])) and one.target == LIARS[1]
    ]
    assert bool(judged) == any(state.unable for state in states)
