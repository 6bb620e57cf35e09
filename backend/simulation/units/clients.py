"""Simulates clients of work units with the real client's machine, drop-outs and preemptions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

from backend.crypto.result_commitments import SALT_BYTES, result_commitment
from backend.protocols.client import unit_client_events as events
from backend.protocols.client.participant_events import (
    Close,
    Connect,
    Connected,
    Disconnected,
    Load,
    StopParticipant,
)
from backend.protocols.client.unit_client import UnitClientMachine
from backend.simulation.client_program import ClientProgram
from backend.simulation.client_work import ClientBehaviour
from backend.simulation.clients import DrawBehaviour, Traits
from backend.simulation.network import ServerEndpoint, SimulatedConnection
from backend.simulation.population import AWAY_SECONDS, UNNOTICED_SECONDS
from backend.simulation.units.lease_ledger import Fate, LeaseLedger, UnitAttempt
from backend.simulation.units.life_times import DrawLife
from backend.simulation.units.shared_device import SharedDevice
from backend.simulation.units.synthetic_units import SyntheticUnits
from backend.wire.client_id import client_id
from backend.wire.unit_messages import MOST_SLOTS, Enlist, Unit
from backend.wire.units_codec import decode_to_units

# A broadcast is decoded once for all its receivers; messages are immutable.
_decoded = lru_cache(maxsize=1024)(decode_to_units)


@dataclass(frozen=True)
class UnitHabits:
    """How all clients of a simulation work: `at_once` units in training, and their lives' lengths, if any.

    `program` is what clients tell that compute the same bits; None for others.
    """

    at_once: int = 1
    draw_life: DrawLife | None = None
    program: str | None = None

    @property
    def slots(self) -> int:
        """The number of units to hold: one is fetched while others are trained, as in real clients."""
        return min(self.at_once + 1, MOST_SLOTS)


@dataclass
class _SimulatedUnit:
    """A unit that the client holds, with its content once it is trained."""

    unit: Unit
    attempt: UnitAttempt
    slowness: float = 1.0
    content: bytes = b""


class SimulatedUnitClient:
    """Owns one client's machine over all its connections and lives. Implements Caller.

    `draw_behaviour` is called for each unit with the expected duration of its work in seconds. A client that
    was preempted comes back as a new one: `ids` are those of all lives, `preempted` of the ended ones.
    `present` counts the seconds in which its program ran, `lives` how often it started as a new client.
    """

    def __init__(
        self,
        traits: Traits,
        work: SyntheticUnits,
        endpoint: ServerEndpoint,
        draw_behaviour: DrawBehaviour,
        random: Random,
        ledger: LeaseLedger,
        habits: UnitHabits,
    ) -> None:
        self.traits = traits
        self.ids = [client_id(traits.token)]
        self.preempted: list[str] = []
        self.machine = UnitClientMachine()
        self.program = ClientProgram(traits.line, endpoint, self)
        self.device = SharedDevice(traits.cores)
        self.lives = 0
        self._work = work
        self._draw_behaviour = draw_behaviour
        self._random = random
        self._ledger = ledger
        self._habits = habits
        self._token = traits.token
        self._held: dict[int, _SimulatedUnit] = {}
        self._shards: list[str] = []
        self._loop = asyncio.get_running_loop()
        self._exit: asyncio.TimerHandle | None = None
        # Why the client forgets its units now.
        self._fate: Fate = "not needed"
        self._present, self._started_at = 0.0, 0.0
        self._is_running = False

    @property
    def present(self) -> float:
        """The seconds in which its program ran so far."""
        return self._present + (self._loop.time() - self._started_at if self._is_running else 0.0)

    def begin_life(self) -> None:
        """Starts as a client that the server does not know yet."""
        if self.lives:
            self.traits = replace(self.traits, token=f"{self._token}-life-{self.lives}")
            self.ids.append(client_id(self.traits.token))
        self.lives += 1
        if self._habits.draw_life is not None:
            self._loop.call_later(self._habits.draw_life(self._random), self._preempted)
        self.start()

    def start(self) -> None:
        """Starts the program."""
        self._is_running, self._started_at = True, self._loop.time()
        enlist = Enlist(
            token=self.traits.token,
            kind=self.traits.kind,
            backend=self.traits.backend,
            agent="simulation",
            shards=self._shards,
        )
        self.handle(events.StartUnitClient(enlist, self._habits.slots, self._habits.at_once))

    def handle(self, event: events.Event) -> None:
        """Passes an event to the machine and performs the resulting effects."""
        for effect in self.machine.handle(event):
            self._perform(effect)

    # Events.

    def heard(self, frame: bytes) -> None:
        """See Caller."""
        self.handle(events.UnitFrame(_decoded(frame)))

    def cut_off(self, connection: SimulatedConnection) -> None:
        """See Caller."""
        if self.program.ended(connection):
            self._disconnected()

    def drop_out(self, behaviour: ClientBehaviour) -> None:
        """Drops out by the behaviour's exit, and returns later as the same client."""
        self._exit = None
        match behaviour.exit:
            case "crash":
                self.program.break_down(behaviour.unnoticed)
                self._end_program("dropped out")
                self.program.later(behaviour.away, self.start)
            case "loss":
                self.program.offline_until = self._loop.time() + behaviour.away
                if self.program.connection is not None:
                    self.program.break_down(behaviour.unnoticed)
                    self._disconnected()
            case "leave":
                self._fate = "dropped out"
                self.handle(StopParticipant())
                self._end_program("dropped out")
                self.program.later(behaviour.away, self.start)

    def count_steps(self) -> None:
        """Counts the steps of units that are still in training."""
        for lease, work in self._held.items():
            work.attempt.steps = max(work.attempt.steps, self.device.steps(lease))

    def _preempted(self) -> None:
        """Ends without a notice; another machine takes its place after a while."""
        self.preempted.append(self.ids[-1])
        self.program.break_down(self._random.uniform(0.0, UNNOTICED_SECONDS))
        self._end_program("preempted", cache=False)
        self.program.offline_until = 0.0
        self.program.later(self._random.expovariate(1.0 / AWAY_SECONDS), self.begin_life)

    def _end_program(self, fate: Fate, cache: bool = True) -> None:
        """Resets all state of the program; downloads stay in the `cache`."""
        if self._is_running:
            self._present += self._loop.time() - self._started_at
        self._is_running = False
        if self._exit is not None:
            self._exit.cancel()
            self._exit = None
        self._fate = fate
        for lease in list(self._held):
            self._forget(lease)
        self._fate = "not needed"
        self._shards = self.machine.enlist.shards if cache and self.machine.enlist is not None else []
        self.program.restart(cache)
        self.machine = UnitClientMachine()

    # Effects.

    def _perform(self, effect: events.Effect) -> None:
        match effect:
            case Connect(delay):
                self.program.later(delay, self._dial)
            case events.SendUnitFrame(frame):
                self.program.send(frame)
            case Load(bundle):
                fetching = self.program.fetch({bundle: self._work.bundle_bytes(self.traits.kind)})
                self.program.later(fetching, self._loaded)
            case events.FetchUnit(unit):
                self._fetch(unit)
            case events.TrainUnit(unit):
                self._train(self._held[unit.lease])
            case events.FinishUnit(lease):
                self._trained(self._held[lease], self.device.stop(lease))
            case events.ForgetUnit(lease):
                self._forget(lease)
            case events.SendResultChunks(lease, start, until):
                content = self._held[lease].content
                self.program.send_chunks(lease, content, self._work.vector_bytes, start, until)
            case Close():
                self.program.hang_up()

    def _dial(self) -> None:
        self.program.dial(lambda: self.handle(Connected()), self._disconnected)

    def _disconnected(self) -> None:
        self.handle(Disconnected(self._random.random()))

    def _loaded(self) -> None:
        step_ms = 1000.0 * self.traits.step_seconds
        self.handle(events.UnitBundleLoaded(self.traits.backend, step_ms, self._habits.program))

    def _fetch(self, unit: Unit) -> None:
        attempt = UnitAttempt(unit.lease, self.traits.device, self._work.steps(unit), self._loop.time())
        work = self._held[unit.lease] = _SimulatedUnit(unit, attempt)
        self._ledger.attempts[unit.lease] = attempt
        fetching = self.program.fetch(self._work.downloads(unit))
        self.program.later(fetching, self._if_held(work, lambda: self.handle(events.Fetched(unit.lease))))
        self._beat_later(work)

    def _beat_later(self, work: _SimulatedUnit) -> None:
        def beat() -> None:
            lease = work.unit.lease
            done = work.attempt.planned if work.content else self.device.steps(lease)
            self.handle(events.HeartbeatDue(lease, done))
            self._beat_later(work)

        self.program.later(max(1.0, work.unit.heartbeat), self._if_held(work, beat))

    def _train(self, work: _SimulatedUnit) -> None:
        lease, steps = work.unit.lease, work.attempt.planned
        seconds = steps * self.traits.step_seconds
        uploading = self._work.vector_bytes / self.traits.line.up.rate
        behaviour = self._draw_behaviour(seconds * self._habits.at_once + uploading)
        self.device.start(lease, steps, seconds * behaviour.slowness, lambda: self._trained(work, steps))
        if behaviour.exit is not None and self._exit is None:
            self._exit = self._loop.call_later(behaviour.after, self.drop_out, behaviour)

    def _trained(self, work: _SimulatedUnit, steps: int) -> None:
        unit, work.attempt.steps = work.unit, steps
        if not steps:
            self.handle(events.UnitFailed(unit.lease, "stopping"))
            return
        result = self._work.result(unit, steps)
        work.content = result.vector
        commitment = salt = None
        if self._habits.program is not None:
            salt = self._random.randbytes(SALT_BYTES)
            commitment = result_commitment(salt, self.ids[-1], unit.lease, memoryview(result.vector))
        self.handle(
            events.UnitTrained(
                lease=unit.lease,
                size=len(result.vector),
                examples=result.examples,
                steps=result.steps,
                loss=result.loss,
                sums=result.sums,
                commitment=commitment.hex() if commitment else None,
                salt=salt.hex() if salt else None,
            )
        )

    def _forget(self, lease: int) -> None:
        work = self._held.pop(lease)
        attempt = work.attempt
        attempt.steps = max(attempt.steps, self.device.stop(lease))
        # A result that arrived whole is the server's; it says what became of it.
        if self._fate != "not needed" or not work.content:
            attempt.fate = self._fate
        else:
            attempt.needed = self._loop.time() - attempt.received_at

    def _if_held(self, work: _SimulatedUnit, action: Callable[[], None]) -> Callable[[], None]:
        return lambda: action() if self._held.get(work.unit.lease) is work else None
