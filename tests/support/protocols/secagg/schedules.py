"""Plays seeded schedules of masked rounds: the order of events, losses, and repeated frames."""

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
    """The parameters of one seed.

    In a `gentle` schedule connections break and return, and frames are repeated, but no client leaves
    permanently or lies, and time does not run out: every round must succeed with all updates.
    """

    seed: int
    count: int
    server: Server
    rounds: int
    gentle: bool
    steps: int


@dataclass
class Evidence:
    """The counts of a schedule: how its rounds ended, and what happened in them."""

    done: int = 0
    failed: int = 0
    without_updates: int = 0
    updates: int = 0
    broken: int = 0
    excluded: int = 0


def schedule(seed: int) -> Schedule:
    """Returns the schedule of a seed."""
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
    """Plays one schedule by random actions; an action that is impossible at present is skipped."""

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
        """Plays all rounds, and checks each at its end."""
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
        """Reconnects all clients that did not leave, and lets the round end."""
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
        """Counts how the round ended."""
        world, evidence = self.world, self.evidence
        evidence.done += world.outcome == "done"
        evidence.failed += world.outcome == "failed"
        evidence.without_updates += world.outcome == "open"
        evidence.updates += len(world.taken) if world.outcome == "done" else 0
        evidence.excluded += len(world.excluded)

    # The actions.

    def compute(self, client: str) -> None:
        """Completes a host's computation."""
        if self.world.holders[client].outcomes:
            self.world.holders[client].work()

    def say(self, client: str) -> None:
        """Sends a client's frames."""
        self.world.flush(client)

    def arrive(self, client: str) -> None:
        """Delivers a frame to the server."""
        if self.world.lines[client].up:
            self.world.arrive(client)

    def hear(self, client: str) -> None:
        """Delivers a frame to a client."""
        if self.world.lines[client].down:
            self.world.tell(client)

    def hang_up(self, client: str) -> None:
        """Breaks a connection; frames in transit are lost."""
        if self.world.lines[client].open:
            self.evidence.broken += 1
            self.world.hang_up(client)

    def come_back(self, client: str) -> None:
        """Reconnects a client."""
        if not self.world.lines[client].open and client not in self.left:
            self.world.come_back(client)

    def say_again(self, client: str) -> None:
        """Repeats a client's frames of the round."""
        current, line = self.world.holders[client].machine.round, self.world.lines[client]
        if current and line.open:
            line.up.extend(current.sent())

    def hear_again(self, client: str) -> None:
        """Repeats the server's frames that a client may have missed."""
        if self.world.lines[client].open:
            self.world.perform(self.world.masks.client_ready(client))

    def pass_time(self, _client: str) -> None:
        """Lets some seconds pass."""
        self.world.now += self.random.expovariate(0.5)
        self.world.perform(self.world.masks.time_passed(self.world.now))

    def leave(self, client: str) -> None:
        """Removes a client permanently."""
        self.left.add(client)
        self.world.hang_up(client, lost=False)

    def overtake(self, client: str) -> None:
        """Lets the second frame in transit overtake the first."""
        line = self.world.lines[client]
        for queue in (line.up, line.down):
            if len(queue) > 1:
                queue.rotate(-1)

    def lie(self, client: str) -> None:
        """Sends an unrequested or malformed frame of a client."""
        number, line = self.world.train.round, self.world.lines[client]
        random = self.random.randbytes
        nonsense: list[ClientFrame | Update] = [
            Keys(round=number, mask_key=random(32), share_key=random(32), seed_hash=random(32),
                 identity=random(32), signature=random(64)),
            ConsistencySignature(round=number, signature=random(64)),
            Reveal(round=number, shares=[random(32)] * self.told.count),
            Decline(round=number, spent=number % 2 == 0),
            Update(number - 1, self.world.holders[client].update),
        ]  # fmt: skip
        if line.open:
            line.up.append(self.random.choice(nonsense))

    def end_inputs(self, _client: str) -> None:
        """Ends the inputs with the updates that came."""
        if self.world.taken:
            self.world.end_inputs()
