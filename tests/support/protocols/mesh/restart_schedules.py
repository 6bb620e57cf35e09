"""Seeded schedules of a mesh whose server is killed and started again, while other faults happen."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.support.protocols.mesh.world import MeshWorld

# The longest pause between two attempts to reach the server, and the longest round with its evaluation.
RECONNECTION, ROUND = 50.0, 45.0


@dataclass
class PlayedMesh:
    """The end of a schedule: who trained in the last rounds, and how many versions were made of them.

    `told` says what happened when, for people.
    """

    world: MeshWorld
    told: list[str] = field(default_factory=list)
    stranded: list[str] = field(default_factory=list)
    versions: int = 0


def play(seed: int) -> PlayedMesh:
    """Plays the schedule of a seed, and lets the mesh recover: server up, all links and lines mended."""
    random = Random(seed)
    size = random.randint(2, 6)
    world = MeshWorld(
        seed,
        size,
        minimum=random.randint(2, size),
        evaluate=random.choice((0.0, 0.0, 0.5, 1.0)),
        slowness=random.choice((1.0, 2.0, 6.0)),
    )
    played = PlayedMesh(world)
    for _ in range(random.randint(2, 9)):
        world.clock.run(random.choice((random.uniform(0, 2), random.uniform(0, 12), random.uniform(0, 30))))
        played.told.append(f"{world.clock.now:.2f} {_fault(world, random)}")
    _recover(played)
    return played


def _fault(world: MeshWorld, random: Random) -> str:
    """Something happens; returns what, for people."""
    name, pair = random.choice(world.names), random.sample(world.names, 2)
    number = random.randint(0, 11)
    if number <= 4:
        seconds = random.choice((0.1, 2.0, 5.0, 12.0, 40.0)) * random.uniform(0.5, 1.5)
        world.restart(seconds)
        return f"restart after {seconds:.2f}"
    if number <= 6:
        world.cut(*pair)
        return f"cut {pair}"
    if number == 7:
        world.mend(*pair)
        return f"mend {pair}"
    if number == 8:
        seconds = random.choice((1.0, 6.0, 20.0, 50.0)) * random.uniform(0.5, 1.5)
        world.pause(name, seconds)
        return f"pause {name} for {seconds:.2f}"
    if number == 9:
        world.cut_off(name)
        return f"cut off {name}"
    world.let_back(name)
    return f"let back {name}"


def _recover(played: PlayedMesh) -> None:
    world = played.world
    while world.server.machine is None or any(peer.is_paused for peer in world.peers.values()):
        world.clock.run(1.0)
    world.heal()
    world.clock.run(RECONNECTION)
    recovered, version = world.clock.now, world.server.records.version
    world.clock.run(ROUND)
    played.stranded = [name for name in world.names if world.trainings.get(name, 0.0) < recovered]
    played.versions = world.server.records.version - version
