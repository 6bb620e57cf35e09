"""A member's machine and others that make no sense."""

from __future__ import annotations

import pickle
from random import Random

import pytest

from backend.protocols.mesh.allreduce import group_events
from backend.protocols.mesh.allreduce.member import EVENTS, TRANSITIONS, AllReduce, MemberPhase
from backend.wire.mesh_fields import Exchange
from backend.wire.peer_messages import Ask, Begin, Change, Complain, Config, Decide, Give, GiveUp, Holds
from tests.support.protocols.allreduce.schedules import calm, order

DIGEST = bytes(range(32))
OF = {"round": 3, "group": 0}
NOTHING = [b""] * 4
WEIGHTS = [1.0] * 4


def member(place: int) -> AllReduce:
    """Among the pieces of a group of four."""
    world = calm(4, "butterfly", seed=7)
    world.run(0.62)
    return world.members[place].machine


@pytest.mark.parametrize(
    "event",
    [
        group_events.Prepared(5.0, [DIGEST] * 4),
        group_events.MemberFrameReceived(1, Begin(**OF, weight=9.0, commitments=[DIGEST] * 4, key=b"")),
        group_events.MemberFrameReceived(4, Begin(**OF, weight=9.0, commitments=[DIGEST] * 4, key=b"")),
        group_events.MemberFrameReceived(2, Ask(**OF, view=0, step=9)),
        group_events.MemberFrameReceived(1, Ask(**OF, view=2, step=0)),
        group_events.MemberFrameReceived(
            1, Config(**OF, view=0, step=9, alive=[1, 2, 3], owners=[1] * 4, parts=NOTHING, weights=WEIGHTS)
        ),
        group_events.MemberFrameReceived(
            0, Config(**OF, view=0, step=9, alive=[0, 1, 2], owners=[3] * 4, parts=NOTHING, weights=WEIGHTS)
        ),
        group_events.MemberFrameReceived(
            0, Config(**OF, view=0, step=9, alive=[0, 1, 2], owners=[0], parts=[b""], weights=WEIGHTS)
        ),
        group_events.MemberFrameReceived(
            0, Config(**OF, view=0, step=0, alive=[0, 1], owners=[0] * 4, parts=NOTHING, weights=WEIGHTS)
        ),
        group_events.MemberFrameReceived(
            0, Config(**OF, view=0, step=9, alive=[0, 2], owners=[0] * 4, parts=NOTHING, weights=WEIGHTS)
        ),
        group_events.MemberFrameReceived(
            1, Holds(**OF, view=0, step=1, held=(0, 1), parts=[DIGEST], weights=WEIGHTS)
        ),
        group_events.MemberFrameReceived(
            1, Holds(**OF, view=0, step=7, held=(0, 7), parts=[DIGEST] * 4, weights=WEIGHTS)
        ),
        group_events.MemberFrameReceived(0, Give(**OF, view=0, step=2, part=0, places=[1])),
        group_events.MemberFrameReceived(0, Give(**OF, view=0, step=1, part=31, places=[1])),
        group_events.MemberFrameReceived(
            1, Change(**OF, view=1, held=(0, 0), parts=[DIGEST], weights=WEIGHTS)
        ),
        group_events.MemberFrameReceived(
            1, Change(**OF, view=99, held=(0, 0), parts=NOTHING, weights=WEIGHTS)
        ),
        group_events.MemberFrameReceived(
            1,
            Decide(
                **OF,
                view=0,
                step=1,
                survivors=[9],
                parts=[DIGEST] * 4,
                contributors=[[0]] * 4,
                weights=WEIGHTS,
            ),
        ),
        group_events.MemberFrameReceived(
            1,
            Decide(
                **OF, view=0, step=1, survivors=[0, 1, 2], parts=[DIGEST], contributors=[[0]], weights=WEIGHTS
            ),
        ),
        group_events.MemberFrameReceived(1, Complain(**OF, place=31, fault="unfit", reason="")),
        group_events.PieceReceived(1, 4, [], DIGEST),
        group_events.PieceReceived(9, 0, [], DIGEST),
        group_events.PieceReceived(1, 2, [1, 0], DIGEST),
        group_events.MeanReceived(1, 4, [0], DIGEST),
        group_events.Reduced(3, [0, 1, 2, 3], DIGEST),
        group_events.MemberUnfit(7, "Nobody."),
        group_events.MemberLinked(7),
        group_events.MemberLost(7),
        group_events.MemberSilent(7),
        group_events.GroupTimePassed(),
    ],
)
@pytest.mark.parametrize("place", [0, 2])
def test_an_event_that_makes_no_sense_changes_nothing(event: group_events.Event, place: int) -> None:
    machine = member(place)
    before = pickle.dumps(machine)
    assert machine.happened(event, 0.0) == []
    assert pickle.dumps(machine) == before


def member_in(phase: MemberPhase) -> AllReduce:
    """A member of a group of four."""
    if phase is MemberPhase.AVERAGING:
        return member(2)
    if phase is MemberPhase.FINISHED:
        world = calm(4, "butterfly", seed=7)
        world.run(60.0)
        return world.members[2].machine
    machine = AllReduce(order(4, "butterfly"), 2, 0.0)
    if phase is MemberPhase.FAILED:
        machine.happened(group_events.MemberUnfit(2, "It has no numbers."), 0.0)
    return machine


@pytest.mark.parametrize(
    "event",
    [
        group_events.Prepared(5.0, [DIGEST] * 4),
        group_events.MemberFrameReceived(1, Begin(**OF, weight=9.0, commitments=[DIGEST] * 4, key=b"")),
        group_events.PieceReceived(1, 2, [], DIGEST),
        group_events.MeanReceived(1, 1, [0, 1, 2, 3], DIGEST),
        group_events.Reduced(2, [0, 1, 2, 3], DIGEST),
        group_events.MemberUnfit(2, "It has no numbers."),
        group_events.MemberLinked(1),
        group_events.MemberLost(1),
        group_events.MemberSilent(1),
        group_events.GroupTimePassed(),
    ],
)
@pytest.mark.parametrize("phase", MemberPhase)
def test_a_phase_takes_only_the_events_of_its_row(phase: MemberPhase, event: group_events.Event) -> None:
    machine = member_in(phase)
    assert machine.phase is phase
    before = pickle.dumps(machine)
    effects = machine.happened(event, 0.0)
    assert machine.phase is phase or machine.phase in TRANSITIONS[phase]
    if type(event) not in EVENTS[phase]:
        assert effects == []
        assert pickle.dumps(machine) == before


def test_a_phase_is_entered_only_by_the_table() -> None:
    machine = member_in(MemberPhase.FAILED)
    with pytest.raises(RuntimeError, match="from failed to averaging"):
        machine._enter(MemberPhase.AVERAGING)
    assert machine.phase is MemberPhase.FAILED


@pytest.mark.parametrize("masked", [False, True], ids=["plain", "masked"])
@pytest.mark.parametrize("seed", range(20))
def test_nothing_that_others_say_breaks_a_machine(seed: int, masked: bool) -> None:
    random = Random(seed)
    exchange: Exchange = "butterfly" if masked else random.choice(["butterfly", "ring"])
    machine = AllReduce(order(4, exchange, "masked" if masked else "float32"), random.randrange(4), 0.0)
    commitments = [] if masked or exchange == "ring" else [DIGEST] * 4
    machine.happened(group_events.Prepared(1.0, commitments, DIGEST if masked else b""), 0.0)
    for turn in range(2000):
        for effect in machine.happened(anything(random), turn / 100):
            if isinstance(effect, group_events.Reduce) and random.random() < 0.5:
                machine.happened(group_events.Reduced(effect.part, effect.contributors, DIGEST), turn / 100)
    assert machine.over or machine.timer() is not None


def anything(random: Random) -> group_events.Event:
    """An event that the wire and a host let through."""
    place, part = random.randrange(5), random.randrange(5)
    view, step = random.randrange(14), random.randrange(4)
    held = (random.randrange(5), random.randrange(4))
    places = sorted(random.sample(range(5), random.randrange(1, 5)))
    parts = [random.choice([b"", DIGEST, DIGEST[::-1]]) for _ in range(random.choice([4, 4, 4, 1]))]
    weights = [random.choice([0.0, 1.0, 7.5]) for _ in range(random.choice([4, 4, 4, 0]))]
    owners = [random.choice(places) for _ in parts]
    frames: list[group_events.Control] = [
        Begin(
            **OF,
            weight=random.choice([1.0, 7.5, -1.0]),
            commitments=[DIGEST] * random.choice([4, 4, 0]),
            key=random.choice([b"", b"", DIGEST, bytes(32)]),
        ),
        Holds(**OF, view=view, step=step, held=held, parts=parts, weights=weights),
        Complain(**OF, place=random.randrange(6), fault=random.choice(["gone", "slow", "unfit"]), reason=""),
        Ask(**OF, view=view, step=step),
        Config(**OF, view=view, step=step, alive=places, owners=owners, parts=parts, weights=weights),
        Give(**OF, view=view, step=step, part=part, places=places),
        Change(**OF, view=view, held=held, parts=parts, weights=weights),
    ]
    if random.random() < 0.001:
        frames = [
            GiveUp(**OF, view=view, reason=""),
            Decide(
                **OF,
                view=view,
                step=step,
                survivors=places,
                parts=[DIGEST] * 4,
                contributors=[places] * 4,
                weights=weights,
            ),
        ]
    links: list[group_events.Event] = [
        group_events.MemberLinked(place),
        group_events.MemberLost(place),
        group_events.MemberSilent(place),
    ]
    events: list[group_events.Event] = [
        *(group_events.MemberFrameReceived(place, frame) for frame in frames),
        group_events.PieceReceived(
            place, part, random.choice([[], places]), random.choice([DIGEST, b"\1" * 32])
        ),
        group_events.MeanReceived(place, part, places, random.choice([DIGEST, DIGEST[::-1]])),
        random.choice(links),
        group_events.GroupTimePassed(),
    ]
    return random.choice(events)
