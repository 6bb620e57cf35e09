"""Writes allreduce.json and allreduce_masked.json: conversations that both languages replay.

Run `python -m tests.contract.vectors.mesh.make_allreduce` after a change of the machine, and read the
difference. Each holds the events of one member of a simulated group
(tests/support/protocols/allreduce/world.py), or of a script, what it did, and when its timer was due
afterwards; bytes are base64.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from backend.protocols.mesh.allreduce.group_events import (
    Effect,
    Event,
    GroupTimePassed,
    MeanReceived,
    MemberFrameReceived,
    MemberLinked,
    MemberUnfit,
    Prepared,
)
from backend.protocols.mesh.allreduce.member import AllReduce
from backend.wire.mesh_fields import Exchange, Precision
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import Begin, Config
from tests.contract.vectors import write
from tests.support.protocols.allreduce.check import check
from tests.support.protocols.allreduce.schedules import calm, order, schedule
from tests.support.protocols.allreduce.world import World


class Step(msgspec.Struct, frozen=True):
    """An event at `now`, the effects, and when the timer is due after it."""

    now: float
    event: Event
    effects: list[Effect]
    timer: float | None


class Conversation(msgspec.Struct, frozen=True):
    """One member's story, from the order at time 0 on."""

    name: str
    order: Group
    place: int
    steps: list[Step]


@dataclass(frozen=True)
class Story:
    """A group to which something happens, and the members of whom it is told.

    With `played`, its size and what happens are those of the schedule of `seed`.
    """

    name: str
    count: int
    exchange: Exchange
    happens: Callable[[World], None]
    places: tuple[int, ...]
    seed: int = 1
    precision: Precision = "float32"
    played: bool = False


@dataclass(frozen=True)
class Script:
    """Events of one member and their times, for a case that no simulated group produces."""

    name: str
    order: Group
    place: int
    events: tuple[tuple[float, Event], ...]


def _nothing(_world: World) -> None:
    pass


def _at(time: float, what: str, *values: object) -> Callable[[World], None]:
    return lambda world: world.at(time, partial(getattr(world, what), *values))


def _killed(place: int, time: float, *, noticed: bool = True) -> Callable[[World], None]:
    return lambda world: world.at(time, partial(world.kill, place, noticed=noticed))


def _lies(place: int, part: int, data: bytes) -> Callable[[World], None]:
    return lambda world: world.members[place].lies.update({part: data})


def _weighs(place: int, weight: float) -> Callable[[World], None]:
    return lambda world: setattr(world.members[place], "weight", weight)


def _slow(place: int, factor: float) -> Callable[[World], None]:
    return lambda world: setattr(world.members[place], "slowness", factor)


def _all(*happenings: Callable[[World], None]) -> Callable[[World], None]:
    def all_of_it(world: World) -> None:
        for happens in happenings:
            happens(world)

    return all_of_it


def _unfit(time: float, place: int, other: int) -> Callable[[World], None]:
    return _at(time, "tell", place, MemberUnfit(other, "It looks wrong."))


OF, DIGEST = {"round": 3, "group": 0}, bytes(32)
# Members 0 and 1 go on without 2, of whose weight only member 1 hears.
WITHOUT_ONE = Config(
    **OF, view=0, step=2, alive=[0, 1], owners=[0] * 3, parts=[b""] * 3, weights=[2.0, 3.0, 0.0]
)
LATE = Script(
    "a greeting comes from one that was left out before",
    order(3, "butterfly"),
    1,
    (
        (0.1, MemberLinked(0)),
        (0.1, Prepared(3.0, [DIGEST] * 3)),
        (0.2, MemberFrameReceived(0, WITHOUT_ONE)),
        (0.3, MemberFrameReceived(2, Begin(**OF, weight=4.0, commitments=[DIGEST] * 3, key=b""))),
        *((0.4, MeanReceived(0, part, [0, 1], DIGEST)) for part in range(3)),
    ),
)
STORIES = (
    Story("nothing goes wrong in a butterfly", 3, "butterfly", _nothing, (0, 1)),
    Story("nothing goes wrong in a full exchange", 2, "full", _nothing, (0, 1)),
    Story("nothing goes wrong in a ring", 3, "ring", _nothing, (0, 2)),
    Story("a member dies before it begins", 3, "butterfly", _killed(2, 0.01), (0, 1)),
    Story("an owner dies among the pieces", 4, "butterfly", _killed(3, 1.2), (0, 2)),
    Story("an owner dies among the means", 4, "butterfly", _killed(1, 1.9, noticed=False), (0, 3)),
    Story("the leader dies among the pieces", 4, "butterfly", _killed(0, 1.2), (1, 2)),
    Story("the leader dies among the means", 4, "butterfly", _killed(0, 1.9), (1, 3)),
    Story("a member of a full exchange dies", 4, "full", _killed(2, 1.0), (0, 1)),
    Story("a ring breaks", 4, "ring", _killed(2, 1.4), (0, 1)),
    Story("a link breaks for good", 4, "butterfly", _at(1.2, "cut", 1, 2), (0, 1, 2)),
    Story(
        "a link breaks and comes back",
        3,
        "butterfly",
        _all(_at(1.2, "cut", 1, 2), _at(2.0, "connect", 1, 2)),
        (1, 2),
    ),
    Story("the leader pauses", 3, "butterfly", _at(1.2, "pause", 0, 15.0), (0, 1)),
    Story("a piece does not fit its commitment", 3, "butterfly", _lies(2, 0, b"\1"), (0, 2)),
    Story("the leader's piece is of no use", 3, "butterfly", _lies(0, 1, b""), (0, 1)),
    Story("a member weighs too much", 3, "full", _weighs(1, 1e9), (0, 1)),
    Story("a member is too slow", 4, "butterfly", _slow(2, 1000.0), (0, 2)),
    Story(
        "a slow leader that has lost sight of one makes way",
        4,
        "butterfly",
        _all(_slow(0, 1000.0), _at(19.0, "freeze", 0, 1, 1000.0)),
        (0, 1, 2),
    ),
    Story(
        "too few are left",
        4,
        "butterfly",
        _all(_killed(1, 1.2), _killed(2, 1.3, noticed=False)),
        (0, 3),
    ),
    Story(
        "without unfit members too few are left for the leader",
        4,
        "butterfly",
        _all(_unfit(1.2, 1, 2), _unfit(1.2, 2, 3)),
        (0, 1),
    ),
    LATE,
)


def _masked(name: str, count: int, happens: Callable[[World], None], places: tuple[int, ...]) -> Story:
    return Story(name, count, "butterfly", happens, places, precision="masked")


MASKED = (
    _masked("nothing goes wrong", 3, _nothing, (0, 1)),
    _masked("a member dies before it begins", 4, _killed(2, 0.01), (0, 1)),
    _masked("an owner dies among the pieces", 4, _killed(3, 1.2), (0, 2)),
    _masked("an owner dies among the means", 4, _killed(1, 1.9, noticed=False), (0, 3)),
    _masked("the leader dies among the pieces", 4, _killed(0, 1.2), (1, 2)),
    _masked("the leader dies among the means", 4, _killed(0, 1.9), (1, 3)),
    _masked("two never meet", 4, _all(_at(0.0, "freeze", 1, 2, 1000.0)), (0, 1, 2)),
    _masked(
        "a link breaks and comes back", 4, _all(_at(1.2, "cut", 1, 2), _at(2.0, "connect", 1, 2)), (1, 2)
    ),
    _masked("a member is too slow", 4, _slow(2, 1000.0), (0, 2)),
    _masked("masks are left in the sum", 4, _lies(2, 0, b"\x55" * 32), (0, 1, 2)),
    _masked("of three one dies", 3, _killed(2, 1.2), (0, 1)),
    replace(
        _masked("one of a sum in hand turns out to send nonsense", 0, _nothing, (0,)), seed=8164, played=True
    ),
)
FILES = {"allreduce.json": STORIES, "allreduce_masked.json": MASKED}


def conversations(stories: Iterable[Story | Script]) -> Iterator[Conversation]:
    """The content of one file."""
    for story in stories:
        if isinstance(story, Script):
            steps = replayed(story.order, story.place, story.events)
            yield Conversation(story.name, story.order, story.place, steps)
            continue
        world = _world(story)
        world.run(world.order.seconds + 2 * world.order.patience + 1.0)
        check(world)
        for place in story.places:
            steps = replayed(
                world.order, place, [(now, event) for now, one, event, _ in world.log if one == place]
            )
            yield Conversation(story.name, world.order, place, steps)


def _world(story: Story) -> World:
    if story.played:
        return schedule(story.seed, masked=story.precision == "masked").world
    world = calm(story.count, story.exchange, story.precision, story.seed)
    story.happens(world)
    return world


def replayed(order: Group, place: int, events: Iterable[tuple[float, Event]]) -> list[Step]:
    """What a new machine makes of these; times at which nothing was due are left out."""
    machine, steps = AllReduce(order, place, 0.0), []
    for now, event in events:
        effects = machine.happened(event, now)
        if effects or not isinstance(event, GroupTimePassed):
            steps.append(Step(now, event, effects, machine.timer()))
    return steps


def files() -> dict[str, str]:
    """The content of each file."""
    return {file: _text(stories) for file, stories in FILES.items()}


def _text(stories: Iterable[Story | Script]) -> str:
    told = msgspec.to_builtins(list(conversations(stories)))
    return json.dumps(told, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    write(files())
