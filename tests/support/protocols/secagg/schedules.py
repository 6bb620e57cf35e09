"""Seeded schedules of masked rounds: in which order things happen, what is lost, said twice, or never."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from backend.protocols.secagg.server_stages import ServerStage
from backend.wire.masked_messages import ConsistencySignature, Decline, Keys, Reveal, Server
from backend.wire.messages import ClientFrame
from tests.support.protocols.secagg.world import Update, World, masking

SIZES = (3, 4, 5, 5, 6, 7, 8, 10)
SERVERS: tuple[Server, ...] = ("honest", "active")


@dataclass(frozen=True)
class Schedule:
    """What one seed stands for.

    In a `gentle` one connections break and come back, and frames are said again, but nobody leaves for good
    or lies, and time does not run out: every round of it must succeed with the updates of all.
    """

    seed: int
    count: int
    server: Server
    rounds: int
    gentle: bool
    steps: int


@dataclass
class Evidence:
    """What came of a schedule: how many rounds ended how, and how much happened in them."""

    done: int = 0
    failed: int = 0
    without_updates: int = 0
    updates: int = 0
    broken: int = 0
    excluded: int = 0


def schedule(seed: int) -> Schedule:
    """The schedule of a seed."""
    random = Random(seed)
    count = random.choice(SIZES)
    return Schedule(
        seed,
        count,
        random.choice(SERVERS),
        random.randint(1, 3),
        random.random() < 0.3,
        random.choice((20, 60, 150)) * count,
    )


class Player:
    """Plays one schedule. What happens next is drawn; an action that cannot happen now is passed over."""

    def __init__(self, told: Schedule) -> None:
        self.told = told
        self.random = Random(f"play {told.seed}")
        self.world = World(told.count, masking(told.server), told.seed)
        self.evidence = Evidence()
        self.left: set[str] = set()
        actions: list[tuple[float, Callable[[str], None]]] = [
            (6.0, self.compute),
            (6.0, self.say),
            (8.0, self.arrive),
            (8.0, self.hear),
            (0.5, self.hang_up),
            (1.0, self.come_back),
            (0.5, self.say_again),
            (0.5, self.hear_again),
        ]
        if not told.gentle:
            actions += [
                (0.3, self.pass_time),
                (0.1, self.leave),
                (0.2, self.overtake),
                (0.1, self.lie),
                (0.1, self.end_inputs),
            ]
        self.weights, self.actions = zip(*actions, strict=True)

    def play(self) -> Evidence:
        """All rounds, each checked when it is over."""
        for number in range(1, self.told.rounds + 1):
            if number > 1:
                self.world.next_round()
            for _ in range(self.told.steps):
                (action,) = self.random.choices(self.actions, self.weights)
                action(self.random.choice(list(self.world.holders)))
            self.calm()
            self.count()
            self.world.check()
            if self.told.gentle:
                assert self.world.outcome == "done", self.world.failed
                assert sorted(self.world.taken) == sorted(self.world.holders)
        return self.evidence

    def calm(self) -> None:
        """Whoever did not leave comes back, and the round ends as it may."""
        for client, line in self.world.lines.items():
            if not line.open and client not in self.left:
                self.world.come_back(client)
        self.world.settle()
        for _ in ServerStage:
            self.world.wait()
            if self.world.taken:
                self.world.end_inputs()
            self.world.settle()
        assert self.world.outcome != "open" or not self.world.taken

    def count(self) -> None:
        """Notes how the round ended."""
        world, evidence = self.world, self.evidence
        evidence.done += world.outcome == "done"
        evidence.failed += world.outcome == "failed"
        evidence.without_updates += world.outcome == "open"
        evidence.updates += len(world.taken) if world.outcome == "done" else 0
        evidence.excluded += len(world.excluded)

    # What may happen.

    def compute(self, client: str) -> None:
        """A host has computed what was asked."""
        if self.world.holders[client].outcomes:
            self.world.holders[client].work()

    def say(self, client: str) -> None:
        """What a client said leaves it."""
        self.world.flush(client)

    def arrive(self, client: str) -> None:
        """The server hears something."""
        if self.world.lines[client].up:
            self.world.arrive(client)

    def hear(self, client: str) -> None:
        """A client hears something."""
        if self.world.lines[client].down:
            self.world.tell(client)

    def hang_up(self, client: str) -> None:
        """A connection breaks; what was under way is lost."""
        if self.world.lines[client].open:
            self.evidence.broken += 1
            self.world.hang_up(client)

    def come_back(self, client: str) -> None:
        """A client connects again."""
        if not self.world.lines[client].open and client not in self.left:
            self.world.come_back(client)

    def say_again(self, client: str) -> None:
        """A client says again what it said in the round."""
        current, line = self.world.holders[client].machine.round, self.world.lines[client]
        if current and line.open:
            line.up.extend(current.sent())

    def hear_again(self, client: str) -> None:
        """The server says again what a client may have missed."""
        if self.world.lines[client].open:
            self.world.perform(self.world.masks.client_ready(client))

    def pass_time(self, _client: str) -> None:
        """Some seconds pass."""
        self.world.now += self.random.expovariate(0.5)
        self.world.perform(self.world.masks.time_passed(self.world.now))

    def leave(self, client: str) -> None:
        """A client stops for good."""
        self.left.add(client)
        self.world.hang_up(client, lost=False)

    def overtake(self, client: str) -> None:
        """Of what is under way the second comes first."""
        line = self.world.lines[client]
        for queue in (line.up, line.down):
            if len(queue) > 1:
                queue.rotate(-1)

    def lie(self, client: str) -> None:
        """A client sends what nobody asked for, and what was never said like that."""
        number, line = self.world.train.round, self.world.lines[client]
        random = self.random.randbytes
        nonsense: list[ClientFrame | Update] = [
            Keys(round=number, mask_key=random(32), share_key=random(32), seed_hash=random(32),
                 identity=random(32), signature=random(64)),
            ConsistencySignature(round=number, signature=random(64)),
            Reveal(round=number, shares=[random(32)] * self.told.count),
            Decline(round=number),
            Update(number - 1, self.world.holders[client].update),
        ]  # fmt: skip
        if line.open:
            line.up.append(self.random.choice(nonsense))

    def end_inputs(self, _client: str) -> None:
        """The Round is over with the updates that came."""
        if self.world.taken:
            self.world.end_inputs()
