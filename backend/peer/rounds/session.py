"""Runs one peer of one task of rounds: performs the effects of the participant's machine."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from backend.peer.admission.work_proof import Prepare, prepare_nothing
from backend.peer.rounds.masking_host import Masker
from backend.peer.rounds.masking_secrets import UnmaskedUpdate
from backend.peer.rounds.spent_versions import SpentVersions
from backend.peer.rounds.update_cache import UpdateCache
from backend.peer.session import session_jobs
from backend.peer.session.progress import Reporter
from backend.peer.session.retry import retry_job
from backend.peer.session.server_connection import ServerConnection
from backend.peer.session.server_messages import tell_news, tell_partial
from backend.peer.session.session_loop import SessionEnd, SessionLoop
from backend.peer.session.transport import NO_HEADERS, ROUNDS, chunks
from backend.peer.session.trust_store import TrustStore
from backend.peer.session.work_clock import WorkClock
from backend.peer.training.step import Vector
from backend.peer.training.trainer import TrainingResult
from backend.peer.training.training_jobs import TrainingJob, TrainingJobs
from backend.protocols.client import participant_events
from backend.protocols.client.participant import ParticipantMachine
from backend.protocols.client.training_pace import Pace
from backend.wire.messages import (
    CHUNK_BYTES,
    Accepted,
    ClientFrame,
    Evaluate,
    Hello,
    Refused,
    ServerFrame,
    Train,
    Welcome,
)


@dataclass(frozen=True)
class TrainedUpdate:
    """The result of the last finished training."""

    plan: Train
    content: memoryview
    change: Vector | None
    # The control variate's name, which identifies the task's run and this client.
    name: str


class RoundsSession:
    """Owns the machine, the connection and the training of one peer. `run` may be called once."""

    def __init__(
        self,
        address: str,
        hello: Hello,
        jobs: TrainingJobs,
        reporter: Reporter,
        random: Callable[[], float],
        identity: bytes,
        trust_store: TrustStore,
        spent_versions: SpentVersions,
        headers: Mapping[str, str] = NO_HEADERS,
        min_noise: float = 0.0,
        promises: dict[str, Welcome] | None = None,
        prepare: Prepare = prepare_nothing,
    ) -> None:
        self._address = address
        self._min_noise = min_noise
        self._hello = hello
        self.jobs = jobs
        self._reporter = reporter
        # What each task promised in earlier sessions of this process: none may promise less later.
        self._promises = {} if promises is None else promises
        self.machine = ParticipantMachine(promised=self._promises.get(address))
        self._connection = ServerConnection(ROUNDS, address, headers, prepare)
        self._loop: SessionLoop[participant_events.Event, ServerFrame] = SessionLoop(
            self._connection, participant_events.ParticipantFrame, reporter, random
        )
        self._welcome: Welcome | None = None
        self._name = ""
        self._chunk_bytes = CHUNK_BYTES
        self._training: TrainingJob[Train] | None = None
        self._measuring: TrainingJob[Evaluate] | None = None
        self._update: TrainedUpdate | None = None
        self._update_cache = UpdateCache()
        self._pace = Pace()
        self._uploading_since: float | None = None
        trust_store.enter(address)
        spent_versions.enter(address)
        self._masker = Masker(
            identity,
            trust_store,
            spent_versions,
            hello.min_masked,
            reporter,
            self._send,
            self._loop.spawn,
            self._give_up,
            os.urandom,
        )

    async def run(self, stop: asyncio.Event, leave: asyncio.Event | None = None) -> SessionEnd:
        """Takes part until `stop` is set, the task is finished, or another peer replaces this one.

        Once `leave` is set, it ends after the round in hand.

        Raises BundleError for a bundle that is refused, PeerError when this machine cannot train it,
        ReplacedError when the server serves another peer with the same token, and UnfitError when the task
        aggregates updates in no way that this peer allows.
        """
        start = participant_events.StartParticipant(self._hello, self._min_noise)
        try:
            return await self._loop.run(self, start, stop, leave)
        finally:
            await self._end()

    def handle(self, event: participant_events.Event) -> None:
        """Passes `event` to the machine, and performs the effects that it returns."""
        match event:
            case participant_events.ParticipantFrame(Welcome() as frame):
                self._welcome = frame
                self._chunk_bytes = max(1, min(CHUNK_BYTES, frame.chunk_bytes))
                self._name = f"{self._address} {frame.bundle} {frame.client}"
            case participant_events.ParticipantFrame(Accepted() | Refused()):
                self._time_upload()
        for effect in self.machine.handle(event):
            self._perform(effect)
        if isinstance(event, participant_events.ParticipantFrame):
            self._update_cache.observe(event.frame)
            tell_news(self._reporter, event.frame, self._masker.members)
            self._forward(event.frame)
        self._loop.set_idle(self.machine.plan is None)

    def _forward(self, frame: ServerFrame) -> None:
        """Passes the server's frame to the machine of masked rounds."""
        plan = self.machine.plan
        match frame:
            case Welcome() if self.machine.ready is not None:
                self._masker.connection_opened()
            case Train() if frame.masking and plan and plan.round == frame.round and self._welcome:
                self._masker.plan_received(self._welcome, frame, self.jobs.model())
            case _:
                self._masker.frame_received(frame)

    def _send(self, frame: ClientFrame) -> None:
        if self.machine.connection.is_open:
            self._connection.send(frame)

    def _give_up(self, number: int) -> None:
        """Aborts the training of round `number`, of which no update will be sent."""
        if self._training and self._training.order.round == number:
            self._training.abort()
        self._loop.set_idle(True)

    def _perform(self, effect: participant_events.Effect) -> None:
        match effect:
            case participant_events.Connect(delay):
                self._uploading_since = None
                self._loop.connect(delay, self.machine.connection.dismissal)
            case participant_events.SendFrame(frame):
                self._connection.send(frame)
            case participant_events.Load(bundle):
                self._loop.spawn(self._load(bundle))
            case participant_events.StartTraining(plan):
                seconds = self._pace.training_seconds(plan.seconds, self.jobs.update_bytes())
                self._training = TrainingJob(plan, time.monotonic() + seconds)
                self._loop.spawn(self._train(self._training))
            case participant_events.AbortTraining():
                _abort(self._training)
            case participant_events.MeasureVersion(request):
                seconds = self._pace.training_seconds(request.seconds, 0)
                self._measuring = TrainingJob(request, time.monotonic() + seconds)
                self._loop.spawn(self._measure(self._measuring))
            case participant_events.AbortMeasuring():
                _abort(self._measuring)
            case participant_events.KeepChange(number):
                self._keep(number, undo=False)
            case participant_events.UndoChange(number):
                self._keep(number, undo=True)
            case participant_events.SendUpdateChunks(number, start, until):
                self._send_chunks(number, start, until)
            case participant_events.Close():
                self._connection.finish()

    def _send_chunks(self, number: int, start: int, until: int) -> None:
        if self._update is None or self._update.plan.round != number:
            return
        if start == 0:
            self._uploading_since = time.monotonic()
        for chunk in chunks(self._update.content, number, start, until, self._chunk_bytes):
            self._connection.send(chunk)

    def _time_upload(self) -> None:
        """Measures the upload's rate when the server has answered an update."""
        if self._update is not None and self._uploading_since is not None:
            spent = time.monotonic() - self._uploading_since
            self._pace = self._pace.uploaded(len(self._update.content), spent)
        self._uploading_since = None

    def _keep(self, number: int, *, undo: bool) -> None:
        update = self._update
        if update is not None and update.change is not None and update.plan.round == number:
            self.jobs.keep(update.name, update.plan.version, update.change, undo=undo)

    async def _load(self, bundle: str) -> None:
        if loaded := await session_jobs.load(self.jobs, bundle, self._reporter):
            self._loop.post(loaded)

    async def _train(self, job: TrainingJob[Train]) -> None:
        plan, name = job.order, self._name
        report = session_jobs.report_steps(f"Round {plan.round}", self._reporter)
        result = self._update_cache.take(name, plan)
        if result is not None:
            sentence = f"Round {plan.round}: the update trained for the previous round is used again."
            self._reporter.tell("kept", sentence, round=plan.round)
        else:
            sentence = f"Round {plan.round}: training from version {plan.version}."
            self._reporter.tell("training", sentence, round=plan.round)
            result = await retry_job(
                lambda: self.jobs.train(job, name, report), self._reporter, job.stop.is_set
            )
        if job.aborted:
            return
        if result is None or not result.steps:
            self._loop.set_idle(True)
            return
        self._update_cache.keep(name, plan, result)
        tell_partial(self._reporter, plan.round, result.steps, result.planned)
        content: memoryview | None = memoryview(result.content())
        if plan.masking is not None:
            content = await self._masker.masked(plan.round, _unmasked_update(plan, result))
        if content is None or job.aborted:
            self._loop.set_idle(True)
            return
        self._update = TrainedUpdate(plan, content, result.change, name)
        done = (result.examples, result.steps, result.loss, result.sums)
        self._loop.post(participant_events.RoundTrained(plan.round, len(self._update.content), *done))

    async def _measure(self, job: TrainingJob[Evaluate]) -> None:
        if measured := await session_jobs.measure(self.jobs, job, self._reporter):
            self._loop.post(measured)

    @property
    def clock(self) -> WorkClock:
        """The seconds of work so far."""
        return self._loop.clock

    @property
    def is_between_work(self) -> bool:
        """Whether the round in hand is decided, and no measurement is outstanding."""
        return self.machine.plan is None and not self.machine.evaluation.is_measuring

    def take_no_more(self) -> None:
        """Does nothing: the server assigns rounds, and none begins for a client that left."""

    def wind_down(self) -> None:
        """Ends the training after its current step; its update is still sent."""
        if self._training:
            self._training.stop.set()

    async def _end(self) -> None:
        """Lets the goodbye be sent, then ends all work."""
        if self.machine.promised is not None:
            self._promises[self._address] = self.machine.promised
        _abort(self._training)
        _abort(self._measuring)
        await self._loop.end()
        self._masker.close()
        await self.jobs.close()


def _unmasked_update(plan: Train, result: TrainingResult) -> UnmaskedUpdate:
    """Returns the part of a result that is masked; under privacy it has neither loss nor metrics."""
    if plan.privacy is None:
        return UnmaskedUpdate(result.update, result.examples, result.loss, result.sums)
    silent = [(0.0, 0.0)] * len(result.sums)
    return UnmaskedUpdate(result.update, result.examples, 0.0, silent, private=plan.privacy.clip > 0.0)


def _abort(job: TrainingJob[Train] | TrainingJob[Evaluate] | None) -> None:
    if job:
        job.abort()
