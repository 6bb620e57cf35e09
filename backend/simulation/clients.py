"""Simulates clients with the real participant's machine and random drop-outs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from backend.protocols.client import participant_events
from backend.protocols.client.participant import ParticipantMachine
from backend.simulation.client_program import ClientProgram
from backend.simulation.client_work import ClientBehaviour, SimulatedTrainer, SimulatedUpdate, WorkModel
from backend.simulation.masks import ClientMasking
from backend.simulation.network import ServerEndpoint, SimulatedConnection, SimulatedLine
from backend.wire.client_id import client_id
from backend.wire.codec import decode_server
from backend.wire.messages import Accepted, ClientFrame, Hello, Kind, Refused, Train


@dataclass(frozen=True)
class Traits:
    """Properties of a client: identity, device, speed and line.

    One training step takes `step_seconds`. `device` is for reports. `examples` counts its own examples, for
    training and held out; both are 0 if the task provides shards. As many work units as `cores` train at full
    speed.
    """

    token: str
    device: str
    kind: Kind
    backend: str
    step_seconds: float
    line: SimulatedLine
    examples: tuple[int, int] = (0, 0)
    cores: int = 1


DrawBehaviour = Callable[[float], ClientBehaviour]

# A broadcast is decoded once for all its receivers; messages are immutable.
_decoded = lru_cache(maxsize=1024)(decode_server)


class SimulatedClient:
    """Owns one participant's machine across restarts, and performs its effects. Implements Caller.

    `draw_behaviour` is called for each plan with the expected duration of its work in seconds.
    """

    def __init__(
        self,
        traits: Traits,
        work: WorkModel,
        endpoint: ServerEndpoint,
        draw_behaviour: DrawBehaviour,
        random: Random,
    ) -> None:
        self.traits = traits
        self.id = client_id(traits.token)
        self.machine = ParticipantMachine()
        self.program = ClientProgram(traits.line, endpoint, self)
        self.trainer = SimulatedTrainer(
            self.id, work, traits.step_seconds, traits.line.up.rate, self.handle, self._trained
        )
        self.masks = ClientMasking(
            work.model(), Random(f"{traits.token}/masks"), self._send_masking, self._give_up
        )
        self._work = work
        self._draw_behaviour = draw_behaviour
        self._random = random
        self._loop = asyncio.get_running_loop()
        self._exit: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Starts to participate."""
        hello = Hello(
            token=self.traits.token,
            kind=self.traits.kind,
            backend=self.traits.backend,
            agent="simulation",
            aggregation=["masked", "open"],
            min_masked=0,
        )
        self.handle(participant_events.StartParticipant(hello, min_noise=0.0))

    def handle(self, event: participant_events.Event) -> None:
        """Passes an event to the machine and performs the resulting effects."""
        for effect in self.machine.handle(event):
            self._perform(effect)

    # Events.

    def heard(self, frame: bytes) -> None:
        """See Caller."""
        message = _decoded(frame)
        if isinstance(message, Accepted | Refused):
            self.trainer.answered()
        if isinstance(message, Accepted):
            self.trainer.accepted(message.round)
        self.handle(participant_events.ParticipantFrame(message))
        self.masks.frame_received(message, self.machine)

    def cut_off(self, connection: SimulatedConnection) -> None:
        """See Caller."""
        if self.program.ended(connection):
            self._disconnected()

    def drop_out(self, behaviour: ClientBehaviour) -> None:
        """Drops out by the behaviour's exit, and returns later."""
        self.trainer.dropped_out()
        match behaviour.exit:
            case "crash":
                self.program.break_down(behaviour.unnoticed)
                self._forget()
                self.program.later(behaviour.away, self.start)
            case "loss":
                self.program.offline_until = self._loop.time() + behaviour.away
                if self.program.connection is not None:
                    self.program.break_down(behaviour.unnoticed)
                    self._disconnected()
            case "leave":
                self.handle(participant_events.StopParticipant())
                self._forget()
                self.program.later(behaviour.away, self.start)

    def _forget(self) -> None:
        """Resets all state except downloads, as a restart of the program does."""
        self.program.restart()
        self._stop_training()
        self.trainer.stop_measuring()
        self.masks.kill()
        self.machine = ParticipantMachine()

    # Effects.

    def _perform(self, effect: participant_events.Effect) -> None:
        match effect:
            case participant_events.Connect(delay):
                self.program.later(delay, self._dial)
            case participant_events.SendFrame(frame):
                self._send(frame)
            case participant_events.Load(bundle):
                fetching = self.program.fetch({bundle: self._work.bundle_bytes(self.traits.kind)})
                self.program.later(fetching, self._loaded)
            case participant_events.StartTraining(plan):
                self._train(plan)
            case participant_events.AbortTraining():
                self._stop_training()
            case participant_events.MeasureVersion(evaluation):
                self.trainer.measure(evaluation, self.program.fetch(self._work.downloads(evaluation)))
            case participant_events.AbortMeasuring():
                self.trainer.stop_measuring()
            case participant_events.KeepChange(number):
                self._work.keep(self.id, number, undo=False)
            case participant_events.UndoChange(number):
                self._work.keep(self.id, number, undo=True)
            case participant_events.SendUpdateChunks(number, start, until):
                self._send_chunks(number, start, until)
            case participant_events.Close():
                self.program.hang_up()

    def _send(self, frame: ClientFrame) -> None:
        self.program.send(frame)

    def _trained(self, plan: Train, update: SimulatedUpdate) -> None:
        """Offers a finished update; in a masked round it is masked first."""
        if plan.masking is None:
            self.trainer.offer(plan, update, update.vector)
        else:
            self.masks.mask(plan, update, lambda content: self.trainer.offer(plan, update, content))

    def _send_masking(self, frame: ClientFrame) -> None:
        """Sends a frame of the masking protocol if the session is open."""
        if self.machine.connection.is_open:
            self._send(frame)

    def _give_up(self, number: int) -> None:
        """Stops training for round `number`, whose update will not be sent."""
        if self.machine.plan is not None and self.machine.plan.round == number:
            self.trainer.stop_training()

    def _dial(self) -> None:
        self.program.dial(lambda: self.handle(participant_events.Connected()), self._disconnected)

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
        fetching = self.program.fetch(self._work.downloads(plan))
        training = self._work.steps(plan) * self.traits.step_seconds
        behaviour = self._draw_behaviour(
            fetching + training + self._work.size(plan.masking) / self.traits.line.up.rate
        )
        self.trainer.train(plan, fetching, behaviour.slowness)
        if behaviour.exit is not None:
            self._exit = self._loop.call_later(behaviour.after, self.drop_out, behaviour)

    def _stop_training(self) -> None:
        if self._exit is not None:
            self._exit.cancel()
            self._exit = None
        self.trainer.stop_training()

    def _send_chunks(self, number: int, start: int, until: int) -> None:
        trained_round, update = self.trainer.update
        if number != trained_round:
            return
        self.trainer.sending()
        self.program.send_chunks(number, update, self.trainer.size, start, until)
