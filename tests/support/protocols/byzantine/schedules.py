"""Draws schedules of Byzantine meshes from seeds: who lies, and how, who sleeps, and who enters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from random import Random

from msgspec.structs import replace

from backend.protocols.mesh.byzantine.machine import ByzantineRound
from tests.support.protocols.byzantine.liars import Liar, liar, newcomers_lie
from tests.support.protocols.byzantine.world import TERMS, Lies, World, newcomers

# Every honest piece is much farther from the mean than so: all means are doubted.
NARROW = replace(TERMS, radius=1e-3)


@dataclass
class Schedule:
    """A world in which `liars` lie and `sleepers` sleep, as `told`."""

    world: World
    liars: list[str]
    sleepers: list[str]
    told: dict[str, list[str]]


def schedule(seed: int, machine: type[ByzantineRound] = ByzantineRound) -> Schedule:
    """Returns the schedule of a seed; in every fifth the radius is much too small."""
    random = Random(seed)
    seats = random.randint(3, 9)
    names = [f"{number:016x}" for number in range(seats)]
    liars = sorted(random.sample(names, random.randint(0, (seats - 1) // 2)))
    lies: dict[str, Lies] = {name: liar(random, names, liars) for name in liars}
    told = {name: one.told for name, one in lies.items() if isinstance(one, Liar)}
    entering = random.choice((0, 0, 1, 2))
    for name in newcomers(entering):
        if random.random() < 0.5:
            lies[name] = newcomers_lie(random, names)
    terms = TERMS if seed % 5 else NARROW
    world = World(seats, random, lies, terms, entering=entering, machine=machine)
    others = [name for name in names if name not in liars]
    sleepers = random.sample(others, random.randint(0, (seats - 1) // 2 - len(liars)))
    for name in sleepers:
        begin, seconds = random.uniform(0.0, 40.0), random.choice((1.0, 5.0, 20.0, 1000.0))
        world.at(begin, partial(world.sleep, name, begin + seconds))
        told[name] = [f"sleeps at {begin:.1f} for {seconds}"]
    return Schedule(world, liars, sleepers, told)
