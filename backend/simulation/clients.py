"""Simulated clients: the real participant's machine, and a hand of fate that takes them out of their work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from backend.protocols.client import participant_events
from backend.protocols.client.participant import ParticipantMachine
from backend.simulation.client_work import SimulatedLabour, SimulatedUpdate, Turn, WorkModel
from backend.simulation.masks import Masks
from backend.simulation.network import Door, SimulatedConnection, SimulatedLine, dial, download
from backend.wire.client_id import client_id
from backend.wire.codec import decode_server, encode
from backend.wire.messages import CHUNK_BYTES, Accepted, Chunk, ClientFrame, Hello, Kind, Refused, Train

# How long an attempt takes that nobody answers.
DIAL_SECONDS = 1.0
# In so many chunks a short vector is sent that stands for a very long one.
MOST_PIECES = 64


@dataclass(frozen=True)
class Traits:
    """What a client is like. One training step takes it `step_seconds`; `device` is for reports.

    `examples` are its own, for training and held out; none where the task deals out shards.
    """

    token: str
    device: str
    kind: Kind
    backend: str
    step_seconds: float
    line: SimulatedLine
    examples: tuple[int, int] = (0, 0)


Fate = Callable[[float], Turn]

# A broadcast is read once for all who hear it; messages are immutable.
_decoded = lru_cache(maxsize=1024)(decode_server)


class SimulatedClient:
    """Owns one participant's machine over all its lives, and performs its effects. Implements Caller.

    `fate` is asked for each plan, with the seconds that the work on it will take.
    """

    def __init__(self, traits: Traits, work: WorkModel, door: Door, fate: Fate, random: Random) -> None:
        self.traits = traits
        self.id = client_id(traits.token)
        self.machine = ParticipantMachine()
        self.labour = SimulatedLabour(
            self.id, work, traits.step_seconds, traits.line.up.rate, self.handle, self._trained
        )
        self.masks = Masks(work.model(), Random(f"{traits.token}/masks"), self._tell, self._give_up)
        self._work = work
        self._door = door
        self._fate = fate
        self._random = random
        self._loop = asyncio.get_running_loop()
        self._connection: SimulatedConnection | None = None
        self._life = 0
        self._cache: set[str] = set()
        self._offline_until = 0.0
        self._exit: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Takes part from now on."""
        hello = Hello(
            token=self.traits.token,
            kind=self.traits.kind,
            backend=self.traits.backend,
            agent="simulation",
            aggregation=["masked", "open"],
            min_masked=0,
        )
        self.handle(participant_events.StartParticipant(hello))

    def handle(self, event: participant_events.Event) -> None:
        """Brings an event before the machine and performs what it decides."""
        for effect in self.machine.handle(event):
            self._perform(effect)

    # What happens to it.

    def heard(self, frame: bytes) -> None:
        """See Caller."""
        said = _decoded(frame)
        if isinstance(said, Accepted | Refused):
            self.labour.answered()
        if isinstance(said, Accepted):
            self.labour.accepted(said.round)
        self.handle(participant_events.ParticipantFrame(said))
        self.masks.hear(said, self.machine)

    def cut_off(self, connection: SimulatedConnection) -> None:
        """See Caller."""
        if connection is self._connection:
            self._connection = None
            self._disconnected()

    def drop_out(self, turn: Turn) -> None:
        """Leaves its work by the turn's exit, and comes back after a while."""
        self.labour.broke_off()
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
                self.handle(participant_events.StopParticipant())
                self._forget()
                self._later(turn.away, self.start)

    def _forget(self) -> None:
        """A new life: only what was downloaded is still there."""
        self._life += 1
        self._stop_training()
        self.labour.stop_measuring()
        self.masks.die()
        self.machine = ParticipantMachine()

    def _break_down(self, unnoticed: float) -> None:
        if self._connection is not None:
            self._connection.break_down(unnoticed)
            self._connection = None

    # What it does.

    def _perform(self, effect: participant_events.Effect) -> None:
        match effect:
            case participant_events.Connect(delay):
                self._later(delay, self._dial)
            case participant_events.SendFrame(frame):
                self._say(frame)
            case participant_events.Load(bundle):
                self._later(self._fetch({bundle: self._work.bundle_bytes(self.traits.kind)}), self._loaded)
            case participant_events.StartTraining(plan):
                self._train(plan)
            case participant_events.AbortTraining():
                self._stop_training()
            case participant_events.MeasureVersion(request):
                self.labour.measure(request, self._fetch(self._work.downloads(request)))
            case participant_events.AbortMeasuring():
                self.labour.stop_measuring()
            case participant_events.KeepChange(number):
                self._work.keep(self.id, number, undo=False)
            case participant_events.UndoChange(number):
                self._work.keep(self.id, number, undo=True)
            case participant_events.SendUpdateChunks(number, start, until):
                self._send_chunks(number, start, until)
            case participant_events.Close():
                self._close()

    def _say(self, frame: ClientFrame, more: int = 0) -> None:
        """Sends a frame that counts for `more` bytes than it has."""
        if self._connection is not None:
            self._connection.say(encode(frame), more)

    def _trained(self, plan: Train, update: SimulatedUpdate) -> None:
        """An update is made. In a masked round it waits for its masks."""
        if plan.masking is None:
            self.labour.offer(plan, update, update.vector)
        else:
            self.masks.mask(plan, update, lambda content: self.labour.offer(plan, update, content))

    def _tell(self, frame: ClientFrame) -> None:
        """Says what belongs to masks, if the server knows who says it."""
        if self.machine.connection.is_open:
            self._say(frame)

    def _give_up(self, number: int) -> None:
        """No update of round `number` will be sent."""
        if self.machine.plan is not None and self.machine.plan.round == number:
            self.labour.stop_training()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.hang_up()
            self._connection = None

    def _dial(self) -> None:
        if self._loop.time() < self._offline_until:
            self._later(DIAL_SECONDS, self._disconnected)
            return
        life = self._life

        def opened(connection: SimulatedConnection | None) -> None:
            if life != self._life:
                if connection is not None:
                    connection.hang_up()
            elif connection is None:
                self._disconnected()
            else:
                self._connection = connection
                self.handle(participant_events.Connected())

        dial(self.traits.line, self._door, self, opened)

    def _disconnected(self) -> None:
        self.handle(participant_events.Disconnected(self._random.random()))

    def _loaded(self) -> None:
        train, _ = self.traits.examples
        self.handle(
            participant_events.BundleLoaded(
                self.traits.backend, 1000.0 * self.traits.step_seconds, examples=train
            )
        )

    def _train(self, plan: Train) -> None:
        self._stop_training()
        fetching = self._fetch(self._work.downloads(plan))
        training = self._work.steps(plan) * self.traits.step_seconds
        turn = self._fate(fetching + training + self._work.size(plan.masking) / self.traits.line.up.rate)
        self.labour.train(plan, fetching, turn.slowness)
        if turn.exit is not None:
            self._exit = self._loop.call_later(turn.after, self.drop_out, turn)

    def _stop_training(self) -> None:
        if self._exit is not None:
            self._exit.cancel()
            self._exit = None
        self.labour.stop_training()

    def _send_chunks(self, number: int, start: int, until: int) -> None:
        made_in, update = self.labour.update
        if number != made_in:
            return
        self.labour.sending()
        # Where a short vector stands for a long one, its chunks are shorter, and their bytes count for more.
        vector = memoryview(update)
        each = max(self.labour.size / len(vector), 1.0)
        piece = max(int(CHUNK_BYTES / each), len(vector) // MOST_PIECES, 1)
        for offset in range(start, until, piece):
            data = vector[offset : min(offset + piece, until)]
            self._say(Chunk(round=number, offset=offset, data=data), int(len(data) * (each - 1)))

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
