"""Runs one peer of one task of work units: performs the effects of its machine."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping

from backend.crypto.result_commitments import SALT_BYTES, result_commitment
from backend.errors import BundleError, PeerError
from backend.peer.admission.work_proof import Prepare, prepare_nothing
from backend.peer.session import session_jobs
from backend.peer.session.progress import Reporter
from backend.peer.session.retry import retry_job
from backend.peer.session.server_connection import ServerConnection
from backend.peer.session.session_loop import SessionEnd, SessionLoop
from backend.peer.session.transport import NO_HEADERS, UNITS, chunks
from backend.peer.session.work_clock import WorkClock
from backend.peer.training.trainer import TrainingResult
from backend.peer.training.training_jobs import TrainingJobs
from backend.peer.units.checkpoint_folder import CheckpointFile, CheckpointFolder
from backend.peer.units.options import UnitOptions
from backend.peer.units.server_messages import UnitNews
from backend.peer.units.shard_cache import ShardCache
from backend.peer.units.unit_buffer import UnitBuffer
from backend.peer.units.unit_checkpoint import UnitOwner
from backend.peer.units.unit_trainer import UnitTrainer, UnitWork
from backend.protocols.client import unit_client_events
from backend.protocols.client.participant_events import Close, Connect, Disconnected, Load
from backend.protocols.client.unit_client import UnitClientMachine
from backend.wire.messages import CHUNK_BYTES
from backend.wire.unit_messages import Cause, Enlisted, Rejected, Release, ServerToUnits, Unit, Want

# After this many failed units in a row a person has to check the machine.
MOST_FAILURES = 5
LONGEST_PAUSE = 30.0


class UnitsSession:
    """Owns the machine, the connection and the units of one peer. `run` may be called once."""

    def __init__(
        self,
        options: UnitOptions,
        jobs: TrainingJobs,
        trainer: UnitTrainer,
        shard_cache: ShardCache,
        reporter: Reporter,
        random: Callable[[], float],
        headers: Mapping[str, str] = NO_HEADERS,
        checkpoints: CheckpointFolder | None = None,
        prepare: Prepare = prepare_nothing,
    ) -> None:
        self._options = options
        self._checkpoints = checkpoints
        self.jobs = jobs
        self._trainer = trainer
        self._shard_cache = shard_cache
        self._reporter = reporter
        self._news = UnitNews(reporter)
        self.machine = UnitClientMachine()
        self._connection = ServerConnection(UNITS, options.address, headers, prepare)
        self._loop: SessionLoop[unit_client_events.Event, ServerToUnits] = SessionLoop(
            self._connection, unit_client_events.UnitFrame, reporter, random, "; work continues"
        )
        self._chunk_bytes = CHUNK_BYTES
        self._work: dict[int, UnitWork] = {}
        # Leases of units that arrived over an earlier connection.
        self._earlier_leases: set[int] = set()
        self._buffer = UnitBuffer(options, reporter)
        self._failures = 0
        self._stopping = False
        # Whether this peer leaves after its units in hand.
        self._leaving = False
        # The public id of this client, to which its commitments belong.
        self._client = ""

    async def run(self, stop: asyncio.Event, leave: asyncio.Event | None = None) -> SessionEnd:
        """Takes part until `stop` is set, the task is finished, or another peer replaces this one.

        Once `leave` is set, it ends after the units in hand.

        Raises BundleError for a bundle that is refused, PeerError when this machine cannot train it or fails
        at several units in a row, ReplacedError when the server serves another peer with the same token,
        UnfitError when the task does not admit this peer, and UnreachableError when the server stays
        unreachable.
        """
        options = self._options
        start = unit_client_events.StartUnitClient(options.enlist, options.slots, options.at_once)
        if self._checkpoints is not None:
            await asyncio.to_thread(self._checkpoints.delete_old)
        try:
            return await self._loop.run(self, start, stop, leave)
        finally:
            await self._end()

    def handle(self, event: unit_client_events.Event) -> None:
        """Passes `event` to the machine, and performs the effects that it returns."""
        match event:
            case unit_client_events.UnitFrame(Enlisted() as frame):
                self._chunk_bytes = max(1, min(CHUNK_BYTES, frame.chunk_bytes))
                self._client = frame.client
                self._buffer.allow(frame.offline)
            case unit_client_events.UnitFrame(Rejected(lease=lease)):
                self._trainer.rejected(lease)
            case Disconnected():
                # If their data cannot be fetched later, the server lost them; this machine is not at fault.
                self._earlier_leases = set(self._work)
        for effect in self.machine.handle(event):
            self._perform(effect)
        match event:
            case unit_client_events.UnitFrame(received):
                self._news.report(received)
            case unit_client_events.Fetched() if self.machine.enlist:
                self._shard_cache.write(self.machine.enlist.shards)
                self._buffer.loaded(self.machine)
        self._loop.set_idle(not self.machine.held)

    def _perform(self, effect: unit_client_events.Effect) -> None:
        match effect:
            case Connect(delay):
                self._options.check_patience(self._loop.seconds_away(delay), self._loop.reason)
                self._loop.connect(delay, self.machine.connection.dismissal)
            case unit_client_events.SendUnitFrame(Want()) if self._leaving:
                self._connection.send(Want(slots=0))
            case unit_client_events.SendUnitFrame(frame):
                self._connection.send(frame)
                if isinstance(frame, Release):
                    self._news.report_release(frame)
            case Load(bundle):
                self._loop.spawn(self._load(bundle))
            case unit_client_events.FetchUnit(unit):
                work = self._work[unit.lease] = UnitWork(unit, self._checkpoint(unit))
                self._loop.spawn(self._fetch(work))
                self._loop.spawn(self._send_heartbeats(work))
            case unit_client_events.TrainUnit(unit):
                self._loop.spawn(self._train(self._work[unit.lease]))
            case unit_client_events.FinishUnit(lease):
                self._work[lease].stop.set()
            case unit_client_events.ForgetUnit(lease):
                self._forget(self._work.pop(lease))
            case unit_client_events.SendResultChunks(lease, start, until):
                self._send_chunks(lease, start, until)
            case Close():
                self._connection.finish()

    def _checkpoint(self, unit: Unit) -> CheckpointFile | None:
        """Returns the file for a unit's checkpoints, None where none are written."""
        machine = self.machine
        if self._checkpoints is None or machine.bundle is None or machine.ready is None:
            return None
        owner = UnitOwner(
            self._options.address,
            self._client,
            machine.bundle,
            machine.ready.backend,
            machine.ready.program,
        )
        return self._checkpoints.file(owner, unit)

    def _forget(self, work: UnitWork) -> None:
        """Ends all work on a unit. Other units that it has no lease of are others' by now."""
        work.forget()
        self._trainer.release(work.unit.lease)
        if work.checkpoint is not None:
            work.checkpoint.delete()
        if self._checkpoints is not None:
            files = [one.checkpoint for one in self._work.values() if one.checkpoint]
            self._checkpoints.keep_only(files)

    async def _load(self, bundle: str) -> None:
        self._reporter.tell("loading", "Loading the model.")
        loaded = await retry_job(lambda: self.jobs.load(bundle), self._reporter)
        if loaded is None:
            return
        backend, step_ms, _ = loaded
        sentence = f"Ready: one step takes {step_ms:.1f} ms on {backend}."
        self._reporter.tell("ready", sentence, backend=backend, step_ms=step_ms)
        self._loop.post(unit_client_events.UnitBundleLoaded(backend, step_ms, self.jobs.program))

    async def _fetch(self, work: UnitWork) -> None:
        try:
            await retry_job(lambda: self._trainer.fetch(work), self._reporter, lambda: work.forgotten)
        except (PeerError, BundleError) as error:
            self._give_back(work, "data", error)
        else:
            if not work.forgotten:
                self._loop.post(unit_client_events.Fetched(work.unit.lease))

    async def _train(self, work: UnitWork) -> None:
        unit, began = work.unit, time.monotonic()
        report = session_jobs.report_steps(f"Unit {unit.unit}", self._reporter)
        try:
            await self._trainer.resume(work)
            self._tell_training(work)
            result = await self._trainer.train(work, report)
        except (PeerError, MemoryError) as error:
            cause: Cause = "memory" if isinstance(error, MemoryError) else "failed"
            self._give_back(work, cause, error)
            return
        self._failures = 0
        if work.forgotten:
            return
        if work.content is None:
            self._loop.post(unit_client_events.UnitFailed(unit.lease, self._stop_cause))
            return
        self._tell_partial(unit, result)
        for want in self._buffer.trained(time.monotonic() - began, len(work.content), self.machine):
            self._loop.post(want)
        done = (result.examples, result.steps, result.loss, result.sums)
        commitment, salt = self._commit(unit.lease, work.content)
        told = commitment, list(result.checkpoints), salt
        self._loop.post(unit_client_events.UnitTrained(unit.lease, len(work.content), *done, *told))

    def _commit(self, lease: int, content: memoryview) -> tuple[str | None, str | None]:
        """Returns commitment and salt if this peer told the program that computes."""
        if self.machine.ready is None or self.machine.ready.program is None:
            return None, None
        salt = secrets.token_bytes(SALT_BYTES)
        return result_commitment(salt, self._client, lease, content).hex(), salt.hex()

    def _give_back(self, work: UnitWork, cause: Cause, error: Exception) -> None:
        """Gives a unit back, and pauses before the next: the server may have only such units to lease."""
        if work.forgotten:
            return
        lease, unit = work.unit.lease, work.unit.unit
        if cause == "data" and lease in self._earlier_leases:
            self._loop.post(unit_client_events.UnitFailed(lease, cause))
            return
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            raise PeerError(f"{MOST_FAILURES} units in a row could not be done here; the last: {error}")
        trouble = f"Unit {unit} could not be done: {error or type(error).__name__}"
        self._reporter.tell("trouble", trouble, lease=lease, unit=unit)
        self._loop.post(unit_client_events.WantUnits(0, self._options.at_once))
        self._loop.post(unit_client_events.UnitFailed(lease, cause))
        self._loop.spawn(self._pause(min(LONGEST_PAUSE, 2.0 ** (self._failures - 1))))

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        if not self._stopping:
            self._loop.post(self._buffer.want())

    async def _send_heartbeats(self, work: UnitWork) -> None:
        """Sends heartbeats from a unit's arrival until it is over."""
        while not work.forgotten:
            await asyncio.sleep(max(1.0, work.unit.heartbeat))
            if not work.forgotten:
                self._loop.post(unit_client_events.HeartbeatDue(work.unit.lease, work.steps))

    def _send_chunks(self, lease: int, start: int, until: int) -> None:
        content = self._work[lease].content
        if content is None:
            return
        for chunk in chunks(content, lease, start, until, self._chunk_bytes):
            self._connection.send(chunk)

    def _tell_training(self, work: UnitWork) -> None:
        unit, done = work.unit, work.steps
        begins = f"training continues after step {done}" if done else "training"
        sentence = f"Unit {unit.unit}: {begins}, in epoch {unit.epoch}."
        lease, epoch = unit.lease, unit.epoch
        self._reporter.tell("training", sentence, lease=lease, unit=unit.unit, epoch=epoch, steps=done)

    def _tell_partial(self, unit: Unit, result: TrainingResult) -> None:
        if result.steps < result.planned:
            steps_text = f"{result.steps} of {result.planned} steps"
            sentence = f"Unit {unit.unit}: sending {steps_text}, the finished part."
            steps = {"steps": result.steps, "planned": result.planned}
            self._reporter.tell("partial", sentence, lease=unit.lease, examples=result.examples, **steps)

    @property
    def _stop_cause(self) -> Cause:
        """The reason with which a stopping peer gives a unit back."""
        return "preempted" if self._options.preemptible else "stopping"

    @property
    def clock(self) -> WorkClock:
        """The seconds of work so far."""
        return self._loop.clock

    @property
    def is_between_work(self) -> bool:
        """Whether no unit is in hand, and no result on its way."""
        return not self.machine.held

    def take_no_more(self) -> None:
        """Asks for no further unit. One that the server sent before is trained, too."""
        self._leaving = True
        self._loop.post(unit_client_events.WantUnits(self.machine.slots, self.machine.at_once))

    def wind_down(self) -> None:
        """Ends training after the current steps; the results are still sent."""
        self._stopping = True
        self._loop.post(unit_client_events.WindDown(self._stop_cause))

    async def _end(self) -> None:
        """Lets the goodbye be sent, then ends all work."""
        for work in self._work.values():
            work.forget()
        await self._loop.end()
        await self.jobs.close()
