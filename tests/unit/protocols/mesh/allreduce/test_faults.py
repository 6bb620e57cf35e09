"""What becomes of a group when members are lost, slow or wrong."""

from __future__ import annotations

from functools import partial

import pytest

from backend.protocols.mesh.allreduce.group_events import (
    FailGroup,
    FinishGroup,
    MeanReceived,
    MemberFrameReceived,
    MemberLinked,
    MemberLost,
    MemberSilent,
    MemberUnfit,
    Prepared,
    Reduced,
    SendPiece,
    SendToMembers,
)
from backend.protocols.mesh.allreduce.member import AllReduce
from backend.wire.mesh_fields import Exchange
from backend.wire.peer_messages import Begin, Config, Holds
from tests.support.protocols.allreduce.check import check
from tests.support.protocols.allreduce.schedules import MOST_WEIGHT, PATIENCE, calm, order
from tests.support.protocols.allreduce.world import World

# From before anybody began to after everybody ended: without faults such a group takes two seconds.
MOMENTS = [0.2 * fifth for fifth in range(13)]
TRANSFER = 2.5
END = 100.0


def lose(world: World, kind: str, place: int) -> None:
    """One member is lost, in one of four ways."""
    if kind == "paused":
        world.pause(place, END)
    elif kind == "cut off":
        for other in range(len(world.members)):
            if other != place:
                world.freeze(place, other, END)
    else:
        world.kill(place, noticed=kind == "killed")


@pytest.mark.parametrize("exchange", ["butterfly", "full", "ring"])
@pytest.mark.parametrize("kind", ["killed", "vanished", "paused", "cut off"])
@pytest.mark.parametrize("place", [0, 3])
def test_whenever_one_is_lost_the_others_end_with_the_same_bits_soon(
    exchange: Exchange, kind: str, place: int
) -> None:
    for moment in MOMENTS:
        world = calm(4, exchange, seed=7)
        world.at(moment, partial(lose, world, kind, place))
        world.run(END - 1)
        results = check(world)
        others = [member for at, member in enumerate(world.members) if at != place]
        assert all(member.result for member in others), f"{moment}: {[one.failure for one in others]}"
        # Silence begins with the last beat before the fault, and beats come each quarter of the patience.
        # A new leader is silent no longer than the old one was: nobody waits for it twice.
        soon = moment + 1.25 * PATIENCE + 0.5 + 2 * TRANSFER
        assert max(member.ended_at for member in others) <= soon
        assert results[0].fraction > 0.0


@pytest.mark.parametrize("kind", ["killed", "paused"])
def test_what_was_made_before_somebody_was_lost_is_not_made_again(kind: str) -> None:
    world = calm(4, "butterfly", seed=7)
    world.run(0.9)
    reductions = [event for _, _, event, _ in world.log if isinstance(event, Reduced)]
    made = {event.part: event.contributors for event in reductions}
    assert 0 < len(made) < 4
    lose(world, kind, 3)
    world.run(END - 1)
    (result, *_) = check(world)
    for part, contributors in made.items():
        assert contributors == [0, 1, 2, 3]
        if part != 3:
            assert result.contributors[part] == contributors
    assert result.survivors == [0, 1, 2]
    again = [
        effect
        for _, _, event, effects in world.log
        for effect in effects
        if isinstance(effect, SendPiece) and effect.part in made and effect.part != 3
    ]
    # Each of the parts that were made needed one piece of each other member, and got no more.
    assert len(again) == 3 * len([part for part in made if part != 3])


@pytest.mark.parametrize("count", [3, 4, 5, 8])
def test_without_a_majority_nobody_has_a_result(count: int) -> None:
    world = calm(count, "butterfly")
    few = (count - 1) // 2
    for place in range(few, count):
        world.at(1.2, partial(world.kill, place, noticed=place % 2 == 0))
    world.run(END)
    assert check(world) == []
    assert all(world.members[place].failure for place in range(few))


def test_two_who_cannot_talk_with_each_other_both_stay() -> None:
    world = calm(4, "butterfly")
    world.at(1.2, partial(world.cut, 1, 3))
    world.run(END)
    results = check(world)
    assert [result.survivors for result in results] == [[0, 1, 2, 3]] * 4
    assert results[0].fraction == 1.0


def test_a_member_that_wakes_up_knows_that_the_group_went_on() -> None:
    world = calm(4, "butterfly")
    world.at(1.2, partial(world.pause, 2, 30.0))
    world.run(END)
    assert len(check(world)) == 3
    assert world.members[2].failure == "The group continued without this member."


def test_a_result_outlives_the_leader_that_decided_it() -> None:
    world = calm(5, "butterfly", seed=3)
    moment = 0.0
    while world.members[0].result is None:
        moment += 0.001
        world.run(moment)
    # It told nobody: what it said is still on its way.
    world.kill(0, noticed=True)
    world.run(END)
    results = check(world)
    assert len(results) == 5
    assert results[1].survivors == [1, 2, 3, 4]


@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("exchange", ["butterfly", "full"])
def test_a_piece_that_breaks_its_commitment_costs_its_sender_the_result(
    exchange: Exchange, place: int
) -> None:
    world = calm(4, exchange)
    part = 1 if exchange == "butterfly" else 0
    world.members[place].lies[part] = b"\0" * 8
    world.run(END)
    assert [one for one, member in enumerate(world.members) if member.result is None] == [place]
    check(world)


@pytest.mark.parametrize("weight", [0.0, -1.0, 2 * MOST_WEIGHT, float("inf"), float("nan")])
def test_a_weight_that_is_not_allowed_costs_its_owner_the_result(weight: float) -> None:
    world = calm(4, "butterfly")
    world.members[1].weight = weight
    world.run(END)
    assert [result.survivors for result in check(world)] == [[0, 2, 3]] * 3
    assert world.members[1].failure is not None


@pytest.mark.parametrize("place", [0, 3])
def test_who_complains_of_everybody_goes_alone(place: int) -> None:
    world = calm(5, "butterfly")
    for other in range(5):
        if other != place:
            world.at(1.3 + other / 100, partial(world.tell, place, MemberUnfit(other, "It looks wrong.")))
    world.run(END)
    check(world)
    assert world.members[place].result is None
    assert sum(member.result is not None for member in world.members) >= 3


@pytest.mark.parametrize("exchange", ["butterfly", "full", "ring"])
def test_a_slow_member_is_gone_on_without_after_half_of_the_time(exchange: Exchange) -> None:
    world = calm(4, exchange)
    world.members[2].slowness = 1000.0
    world.run(END)
    assert [result.survivors for result in check(world)] == [[0, 1, 3]] * 3
    assert all(world.members[place].ended_at >= world.order.seconds / 2 for place in (0, 1, 3))


def test_when_all_are_slow_nobody_is_left_out() -> None:
    world = calm(4, "butterfly")
    for member in world.members:
        member.slowness = 60.0
    world.run(END)
    assert [result.survivors for result in check(world)] == [[0, 1, 2, 3]] * 4


def test_a_leader_that_is_never_ready_makes_way() -> None:
    world = calm(4, "butterfly")
    world.members[0].hesitates = 1000.0
    world.run(END)
    assert [result.survivors for result in check(world)] == [[1, 2, 3]] * 3


def test_a_slow_leader_that_reaches_too_few_without_slow_members_makes_way() -> None:
    world = calm(4, "butterfly")
    world.members[0].slowness = 1000.0
    world.at(19.0, partial(world.freeze, 0, 1, END))
    world.run(END)
    assert [result.survivors for result in check(world)] == [[1, 2, 3]] * 3


@pytest.mark.parametrize("seed", range(4))
def test_a_leader_that_has_too_few_without_unfit_members_makes_way_at_once(seed: int) -> None:
    world = calm(4, "butterfly", seed=seed)
    for place in (1, 2):
        world.at(1.2, partial(world.tell, place, MemberUnfit(place + 1, "It looks wrong.")))
    world.run(END)
    check(world)
    assert all(member.machine.over for member in world.members)
    assert world.now < PATIENCE


def test_who_cannot_bring_anything_gives_up_and_the_others_go_on_at_once() -> None:
    world = calm(3, "full")
    world.members[1].hesitates = END
    world.at(0.5, partial(world.tell, 1, MemberUnfit(1, "The vector holds a value that is no number.")))
    world.run(END)
    assert [result.survivors for result in check(world)] == [[0, 2]] * 2
    assert world.members[1].failure == "The vector holds a value that is no number."
    assert world.now < PATIENCE


def test_a_member_accepts_no_weight_of_one_that_was_left_out_before() -> None:
    """Others may never hear that weight, and all must accept the same."""
    of, digest = {"round": 3, "group": 0}, bytes(32)
    known = [2.0, 3.0, 0.0]
    plan = Config(**of, view=0, step=2, alive=[0, 1], owners=[0] * 3, parts=[b""] * 3, weights=known)
    machine = AllReduce(order(3, "butterfly"), 1, 0.0)
    machine.happened(MemberLinked(0), 0.1)
    machine.happened(Prepared(3.0, [digest] * 3), 0.1)
    machine.happened(MemberFrameReceived(0, plan), 0.2)
    machine.happened(MemberFrameReceived(2, Begin(**of, weight=4.0, commitments=[digest] * 3, key=b"")), 0.3)
    effects = [
        effect for part in range(3) for effect in machine.happened(MeanReceived(0, part, [0, 1], digest), 0.4)
    ]
    assert effects == [
        SendToMembers([0], Holds(**of, view=0, step=2, held=(0, 2), parts=[digest] * 3, weights=known))
    ]


def test_a_member_alone_knows_it() -> None:
    machine = AllReduce(order(3, "butterfly"), 1, 0.0)
    machine.happened(Prepared(1.0, [bytes(32)] * 3), 0.0)
    effects = []
    while not machine.over:
        due = machine.timer()
        assert due is not None
        effects = machine.happened(MemberSilent(0), due)
    assert [effect for effect in effects if isinstance(effect, FailGroup | FinishGroup)] == [
        FailGroup("1 of at least 2 members can be reached.")
    ]
    assert machine.timer() is None
    assert machine.happened(MemberLost(0), 99.0) == []
