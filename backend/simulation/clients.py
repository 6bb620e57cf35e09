"""Simulated clients: the real participant's machine, and a hand of fate that takes them out of their work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Literal, Protocol

from backend.protocols import participant as to
from backend.services.links import client_id
from backend.simulation.network import Connection, Door, Line, dial, download
from backend.wire.codec import decode_server, encode
from backend.wire.messages import (
    CHUNK_BYTES,
    Accepted,
    Chunk,
    ClientFrame,
    Hello,
    Kind,
    Sums,
    Train,
)

# How long an attempt takes that nobody answers.
DIAL_SECONDS = 1.0
# Share of the time for a round that a client does not plan with.
MARGIN = 0.1

# How a client drops out: its program dies with the work, only its connection breaks, or it says goodbye.
Exit = Literal["crash", "loss", "leave"]


@dataclass(frozen=True)
class Traits:
    """What a client is like. One training step takes it `step_seconds`."""

    token: str
    kind: Kind
    backend: str
    step_seconds: float
    line: Line


@dataclass(frozen=True)
class Turn:
    """What befalls a client while it works on one plan.

    It drops out `after` so many seconds by `exit` (None: it stays), and is back after `away` seconds. The
    server notices a silent exit only after `unnoticed` seconds. Steps take `slowness` times as long as usual.
    """

    exit: Exit | None = None
    after: float = 0.0
    away: float = 0.0
    unnoticed: float = 0.0
    slowness: float = 1.0


@dataclass(frozen=True)
class Update:
    """What came of some steps: the vector's bytes, and what its offer says of it."""

    vector: bytes
    examples: int
    steps: int
    loss: float
    sums: Sums


class Work(Protocol):
    """How clients train."""

    def bundle_bytes(self, kind: Kind) -> int:
        """What a client of this kind downloads before its first round."""
        ...

    def steps(self, plan: Train) -> int:
        """Steps that the plan asks for."""
        ...

    def downloads(self, plan: Train) -> dict[str, int]:
        """Address and size in bytes of everything that has to be there before the first step."""
        ...

    def size(self, plan: Train) -> int:
        """Bytes of an update."""
        ...

    def train(self, client: str, plan: Train, steps: int) -> Update:
        """The first `steps` steps of the plan, done."""
        ...


Fate = Callable[[float], Turn]


class SimulatedClient:
    """Owns one participant's machine over all its lives, and performs its effects. Implements Caller.

    `fate` is asked for each plan, with the seconds that the work on it will take. `steps` counts all steps
    that were done, for nothing or not; `accepted` the updates that the server said it counts.
    """

    def __init__(self, traits: Traits, work: Work, door: Door, fate: Fate, random: Random) -> None:
        self.traits = traits
        self.id = client_id(traits.token)
        self.machine = to.Participant()
        self.steps = 0.0
        self.accepted = 0
        self._work = work
        self._door = door
        self._fate = fate
        self._random = random
        self._loop = asyncio.get_running_loop()
        self._connection: Connection | None = None
        self._life = 0
        self._cache: set[str] = set()
        self._offline_until = 0.0
        self._training: tuple[asyncio.TimerHandle, float, float] | None = None
        self._exit: asyncio.TimerHandle | None = None
        self._update: tuple[int, bytes] = (0, b"")

    def start(self) -> None:
        """Takes part from now on."""
        hello = Hello(
            token=self.traits.token, kind=self.traits.kind, backend=self.traits.backend, agent="simulation"
        )
        self.handle(to.Start(hello))

    def handle(self, event: to.Event) -> None:
        """Brings an event before the machine and performs what it decides."""
        for effect in self.machine.handle(event):
            self._perform(effect)

    # What happens to it.

    def heard(self, frame: bytes) -> None:
        """See Caller."""
        message = decode_server(frame)
        self.accepted += isinstance(message, Accepted)
        self.handle(to.Frame(message))

    def cut_off(self, connection: Connection) -> None:
        """See Caller."""
        if connection is self._connection:
            self._connection = None
            self._disconnected()

    def drop_out(self, turn: Turn) -> None:
        """Leaves its work by the turn's exit, and comes back after a while."""
        match turn.exit:
            case "crash":
                self._break_down(turn.unnoticed)
                self._forget()
                self._later(turn.away, self.start)
            case "loss":
                self._offline_until = self._loop.time() + turn.away
                if self._connection is not None:
                    self._break_down(turn.unnoticed)
                    self._disconnected()
            case "leave":
                self.handle(to.Stop())
                self._forget()
                self._later(turn.away, self.start)

    def _forget(self) -> None:
        """A new life: only what was downloaded is still there."""
        self._life += 1
        self._stop_training()
        self.machine = to.Participant()

    def _break_down(self, unnoticed: float) -> None:
        if self._connection is not None:
            self._connection.break_down(unnoticed)
            self._connection = None

    # What it does.

    def _perform(self, effect: to.Effect) -> None:
        match effect:
            case to.Connect(delay):
                self._later(delay, self._dial)
            case to.Send(frame):
                self._say(frame)
            case to.Load(bundle):
                self._later(self._fetch({bundle: self._work.bundle_bytes(self.traits.kind)}), self._loaded)
            case to.StartTraining(plan):
                self._train(plan)
            case to.AbortTraining():
                self._stop_training()
            case to.SendChunks(number, start, until):
                self._send_chunks(number, start, until)
            case to.Close():
                self._close()

    def _say(self, frame: ClientFrame) -> None:
        if self._connection is not None:
            self._connection.say(encode(frame))

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.hang_up()
            self._connection = None

    def _dial(self) -> None:
        if self._loop.time() < self._offline_until:
            self._later(DIAL_SECONDS, self._disconnected)
            return
        life = self._life

        def opened(connection: Connection | None) -> None:
            if life != self._life:
                if connection is not None:
                    connection.hang_up()
            elif connection is None:
                self._disconnected()
            else:
                self._connection = connection
                self.handle(to.Connected())

        dial(self.traits.line, self._door, self, opened)

    def _disconnected(self) -> None:
        self.handle(to.Disconnected(self._random.random()))

    def _loaded(self) -> None:
        self.handle(to.Loaded(self.traits.backend, 1000.0 * self.traits.step_seconds, examples=0))

    def _train(self, plan: Train) -> None:
        self._stop_training()
        planned, size = self._work.steps(plan), self._work.size(plan)
        fetching = self._fetch(self._work.downloads(plan))
        turn = self._fate(fetching + planned * self.traits.step_seconds + size / self.traits.line.up.rate)
        step_seconds = self.traits.step_seconds * turn.slowness
        seconds = (1 - MARGIN) * (plan.seconds - fetching - size / self.traits.line.up.rate)
        steps = max(1, min(planned, int(seconds / step_seconds)))
        begin = self._loop.time() + fetching

        def trained() -> None:
            self._training = None
            self.steps += steps
            update = self._work.train(self.id, plan, steps)
            self._update = plan.round, update.vector
            self.handle(
                to.Trained(
                    round=plan.round,
                    size=len(update.vector),
                    examples=update.examples,
                    steps=update.steps,
                    loss=update.loss,
                    sums=update.sums,
                )
            )

        self._training = self._loop.call_at(begin + steps * step_seconds, trained), begin, step_seconds
        if turn.exit is not None:
            self._exit = self._loop.call_later(turn.after, self.drop_out, turn)

    def _stop_training(self) -> None:
        """Ends the training in progress; the steps that were done count as done."""
        if self._exit is not None:
            self._exit.cancel()
            self._exit = None
        if self._training is not None:
            timer, begin, step_seconds = self._training
            timer.cancel()
            self.steps += max(0.0, (self._loop.time() - begin) / step_seconds)
            self._training = None

    def _send_chunks(self, number: int, start: int, until: int) -> None:
        if number != self._update[0]:
            return
        for offset in range(start, until, CHUNK_BYTES):
            data = self._update[1][offset : min(offset + CHUNK_BYTES, until)]
            self._say(Chunk(round=number, offset=offset, data=memoryview(data)))

    def _fetch(self, wanted: dict[str, int]) -> float:
        """Seconds until everything that is not here yet will be."""
        missing = {address: size for address, size in wanted.items() if address not in self._cache}
        self._cache |= missing.keys()
        return max(
            (download(self.traits.line, self._door.line, size) for size in missing.values()), default=0.0
        )

    def _later(self, seconds: float, what: Callable[[], None]) -> None:
        """Does `what` after `seconds`, if this life lasts so long."""
        life = self._life
        self._loop.call_later(seconds, lambda: what() if life == self._life else None)
