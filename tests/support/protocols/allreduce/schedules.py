"""Makes seeded schedules: groups that average, and the faults that happen to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import product
from random import Random
from typing import get_args

from backend.wire.mesh_fields import Exchange, Plain, Precision
from backend.wire.mesh_messages import Group
from tests.support.protocols.allreduce.world import World

PATIENCE = 5.0
MOST_WEIGHT = 1000.0


def order(count: int, exchange: Exchange, precision: Precision = "float32", seconds: float = 60.0) -> Group:
    """Returns the order of a group that averages 40 values; the last of several parts is longer."""
    parts = 1 if exchange == "full" else count
    bounds = [*(40 * part // (parts + 1) for part in range(parts)), 40]
    return Group(
        round=3,
        group=0,
        members=[f"{place:016x}" for place in range(count)],
        bounds=bounds,
        exchange=exchange,
        precision=precision,
        subject="changes",
        reducer="mean",
        least=max(count // 2 + 1, 3 if precision == "masked" else 0),
        most_weight=MOST_WEIGHT,
        patience=PATIENCE,
        seconds=seconds,
    )


def calm(count: int, exchange: Exchange, precision: Precision = "float32", seed: int = 0) -> World:
    """Returns a group without faults: all links are up, and all members prepare within a second."""
    random = Random(seed)
    weights = [1.0 + random.randrange(100) for _ in range(count)]
    world = World(order(count, exchange, precision), random, weights, 40)
    for one in range(count):
        for other in range(one):
            world.at(0.0, partial(world.connect, one, other))
        world.at(random.random(), partial(world.prepare, one))
    return world


def any_calm(random: Random, most: int = 8, *, masked: bool = False) -> World:
    """Returns a group without faults of random size and kind."""
    if masked:
        return calm(random.randint(3, most), "butterfly", "masked", random.getrandbits(32))
    count = random.randint(2, most)
    exchange, precision = random.choice(get_args(Exchange)), random.choice(get_args(Plain))
    return calm(count, exchange, precision, random.getrandbits(32))


@dataclass
class Played:
    """A world with the faults that were planned in it.

    `touched` are members with a fault of their own; `broken` are pairs with a faulty link. `last` is when the
    last fault begins.
    """

    world: World
    touched: set[int] = field(default_factory=set)
    broken: set[frozenset[int]] = field(default_factory=set)
    last: float = 0.0
    # Members of which it may be unclear who is slow, and who waits for another.
    sluggish: set[int] = field(default_factory=set)
    # Members that send nonsense to one owner.
    liars: set[int] = field(default_factory=set)
    told: list[str] = field(default_factory=list)

    def sound(self) -> set[int]:
        """Returns members without faults whose links with each other all hold."""
        sound = set(range(len(self.world.members))) - self.touched
        for pair in sorted(self.broken, key=sorted):
            if pair <= sound:
                sound.discard(max(pair))
        return sound

    def whole(self) -> set[int]:
        """Returns the sound members whose links to all others hold, too."""
        return {place for place in self.sound() if not any(place in pair for pair in self.broken)}

    def say(self, time: float, what: str) -> None:
        """Notes for people what happens when."""
        self.last = max(self.last, time)
        self.told.append(f"{time:.2f} {what}")


def schedule(seed: int, *, masked: bool = False) -> Played:
    """Returns the world of a seed, with masked pieces if `masked`."""
    random = Random(seed)
    played = Played(any_calm(random, masked=masked))
    for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3, 5))):
        # Most faults happen while the group averages, some during the repair of another fault.
        time = random.choice((random.uniform(0.0, 4.0), random.uniform(0.0, 20.0)))
        random.choice(FAULTS)(played, random, time)
    return played


def _someone(played: Played, random: Random) -> int:
    place = random.randrange(len(played.world.members))
    played.touched.add(place)
    return place


def _killed(played: Played, random: Random, time: float) -> None:
    place, noticed = _someone(played, random), random.random() < 0.5
    played.world.at(time, partial(played.world.kill, place, noticed=noticed))
    played.say(time, f"kill {place} noticed={noticed}")


def _paused(played: Played, random: Random, time: float) -> None:
    place, seconds = _someone(played, random), random.choice((2.0, 8.0, 20.0, 100.0))
    played.world.at(time, partial(played.world.pause, place, time + seconds))
    played.say(time, f"pause {place} for {seconds}")


def _cut(played: Played, random: Random, time: float) -> None:
    """Breaks one link, permanently or for a time, noticed or not."""
    world = played.world
    one, other = random.sample(range(len(world.members)), 2)
    seconds = random.choice((0.5, 4.0, 12.0, 1000.0))
    played.broken.add(frozenset((one, other)))
    if random.random() < 0.5:
        world.at(time, partial(world.cut, one, other))
        world.at(time + seconds, partial(world.connect, one, other))
        played.say(time, f"cut {one}-{other} for {seconds}")
    else:
        world.at(time, partial(world.freeze, one, other, time + seconds))
        played.say(time, f"freeze {one}-{other} for {seconds}")


def _cut_off(played: Played, random: Random, time: float) -> None:
    """Freezes all or some of one member's links."""
    world, place = played.world, _someone(played, random)
    others = [other for other in range(len(world.members)) if other != place]
    seconds = random.choice((1.0, 12.0, 1000.0))
    for other in random.sample(others, random.randint(1, len(others))):
        world.at(time, partial(world.freeze, place, other, time + seconds))
        played.broken.add(frozenset((place, other)))
        played.say(time, f"freeze {place}-{other} for {seconds}")


def _split(played: Played, random: Random, time: float) -> None:
    """Separates two halves for a time."""
    world = played.world
    places = list(range(len(world.members)))
    half = set(random.sample(places, random.randint(1, len(places) - 1)))
    seconds = random.choice((3.0, 12.0, 1000.0))
    for one, other in product(sorted(half), sorted(set(places) - half)):
        world.at(time, partial(world.freeze, one, other, time + seconds))
        played.broken.add(frozenset((one, other)))
    played.say(time, f"split {sorted(half)} for {seconds}")


def _slow(played: Played, random: Random, _time: float) -> None:
    place = _someone(played, random)
    played.sluggish.add(place)
    played.world.members[place].slowness = random.choice((5.0, 30.0, 1000.0))
    played.say(0.0, f"slow {place} {played.world.members[place].slowness}")


def _never_ready(played: Played, random: Random, _time: float) -> None:
    place = _someone(played, random)
    played.sluggish.add(place)
    played.world.members[place].hesitates = random.choice((10.0, 40.0, 1000.0))
    played.say(0.0, f"late {place} {played.world.members[place].hesitates}")


def _heavy(played: Played, random: Random, _time: float) -> None:
    place = _someone(played, random)
    played.world.members[place].weight = random.choice((0.0, -1.0, 1e9, float("nan"), float("inf")))
    played.say(0.0, f"weight {place} {played.world.members[place].weight}")


def _liar(played: Played, random: Random, _time: float) -> None:
    """Lets a member send a piece of one part that differs from its commitment."""
    place = _someone(played, random)
    part = random.randrange(len(played.world.order.bounds) - 1)
    played.liars.add(place)
    played.world.members[place].lies[part] = b"\xff" * random.choice((0, 1, 400))
    played.say(0.0, f"lie {place} of {part}")


FAULTS = (_killed, _killed, _paused, _cut, _cut, _cut_off, _split, _slow, _never_ready, _heavy, _liar)
