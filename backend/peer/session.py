"""One peer, one task: performs what the participant's machine decides."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from backend.errors import PeerError, ReplacedError, UnreachableError
from backend.peer.jobs import Job, Jobs
from backend.peer.news import tell_news, tell_partial
from backend.peer.progress import Reporter
from backend.peer.step import Vector
from backend.peer.trainer import Progress
from backend.peer.transport import Outbox, talk
from backend.protocols import participant_events as to
from backend.protocols.pace import Pace
from backend.protocols.participant import Participant, Phase
from backend.wire.messages import CHUNK_BYTES, Accepted, Chunk, Evaluate, Hello, Refused, Train, Welcome

T = TypeVar("T")

# A peer that is told to stop ends within 25 s: this for the partial update, the rest for a long step.
WIND_DOWN_SECONDS = 8.0
GOODBYE_SECONDS = 3.0
PAUSE = 2.0


@dataclass(frozen=True)
class Update:
    """What one training made, until the next one is done."""

    plan: Train
    content: memoryview
    change: Vector | None
    # The control variate's, of this task's run and this client.
    name: str


class Session:
    """Owns the machine, the connection and the training of one peer. `run` once."""

    def __init__(
        self, address: str, hello: Hello, jobs: Jobs, reporter: Reporter, random: Callable[[], float]
    ) -> None:
        self._address = address
        self._hello = hello
        self._jobs = jobs
        self._reporter = reporter
        self._random = random
        self.machine = Participant()
        self._inbox: asyncio.Queue[to.Event | BaseException] = asyncio.Queue()
        self._outbox: Outbox = asyncio.Queue()
        self._identity = ""
        self._chunk_bytes = CHUNK_BYTES
        self._connection: asyncio.Task[None] | None = None
        self._is_open = False
        self._running: set[asyncio.Task[None]] = set()
        self._training: Job[Train] | None = None
        self._measuring: Job[Evaluate] | None = None
        self._update: Update | None = None
        self._pace = Pace()
        self._uploading_since: float | None = None
        self._between_rounds = asyncio.Event()
        self._reason = ""

    async def run(self, stop: asyncio.Event) -> None:
        """Takes part until `stop` is set, the task is finished, or another peer takes this one's place.

        Raises BundleError for a bundle that is refused, PeerError when this machine cannot train it, and
        ReplacedError when the server talks to another peer with the same token.
        """
        self._spawn(self._stop_when(stop))
        self._inbox.put_nowait(to.Start(self._hello))
        try:
            while True:
                event = await self._inbox.get()
                if isinstance(event, BaseException):
                    raise event
                self._handle(event)
                if self.machine.phase is Phase.FINISHED:
                    self._reporter.tell("finished", "The task is finished; thank you.")
                    self._handle(to.Stop())
                    return
                if self.machine.phase is Phase.STOPPED:
                    if isinstance(event, to.Frame):
                        raise ReplacedError(self.machine.reason or "Another peer took this one's place.")
                    return
        finally:
            await self._end()

    def _handle(self, event: to.Event) -> None:
        match event:
            case to.Frame(Welcome() as frame):
                self._chunk_bytes = max(1, min(CHUNK_BYTES, frame.chunk_bytes))
                self._identity = f"{self._address} {frame.bundle} {frame.client}"
            case to.Frame(Accepted() | Refused()):
                self._time_upload()
        for effect in self.machine.handle(event):
            self._perform(effect)
        if isinstance(event, to.Frame):
            tell_news(self._reporter, event.frame)
        if self.machine.plan is None:
            self._between_rounds.set()
        else:
            self._between_rounds.clear()

    def _perform(self, effect: to.Effect) -> None:
        match effect:
            case to.Connect(delay):
                self._connect(delay)
            case to.Send(frame):
                self._outbox.put_nowait(frame)
            case to.Load(bundle):
                self._spawn(self._load(bundle))
            case to.StartTraining(plan):
                seconds = self._pace.training_seconds(plan.seconds, self._jobs.update_bytes())
                self._training = Job(plan, time.monotonic() + seconds)
                self._spawn(self._train(self._training))
            case to.AbortTraining():
                _abort(self._training)
            case to.Measure(exam):
                seconds = self._pace.training_seconds(exam.seconds, 0)
                self._measuring = Job(exam, time.monotonic() + seconds)
                self._spawn(self._measure(self._measuring))
            case to.AbortMeasuring():
                _abort(self._measuring)
            case to.KeepChange(number):
                self._keep(number, undo=False)
            case to.UndoChange(number):
                self._keep(number, undo=True)
            case to.SendChunks(number, start, until):
                self._send_chunks(number, start, until)
            case to.Close():
                self._outbox.put_nowait(None)

    def _connect(self, delay: float) -> None:
        if delay:
            cause = self.machine.dismissal or f"The server is away ({self._reason})."
            sentence = f"{cause} Next attempt in {delay:.1f} s."
            self._reporter.tell("offline", sentence, seconds=round(delay, 3))
        self._outbox = asyncio.Queue()
        self._uploading_since = None
        self._connection = self._spawn(self._talk(delay, self._outbox))

    async def _talk(self, delay: float, outbox: Outbox) -> None:
        await asyncio.sleep(delay)

        def opened() -> None:
            self._is_open = True
            self._inbox.put_nowait(to.Connected())

        self._reason = await talk(
            self._address, outbox, opened, lambda frame: self._inbox.put_nowait(to.Frame(frame))
        )
        self._is_open = False
        self._inbox.put_nowait(to.Disconnected(self._random()))

    def _send_chunks(self, number: int, start: int, until: int) -> None:
        if self._update is None or self._update.plan.round != number:
            return
        if start == 0:
            self._uploading_since = time.monotonic()
        for offset in range(start, until, self._chunk_bytes):
            data = self._update.content[offset : min(offset + self._chunk_bytes, until)]
            self._outbox.put_nowait(Chunk(round=number, offset=offset, data=data))

    def _time_upload(self) -> None:
        """An update was answered: how fast did it get there?"""
        if self._update is not None and self._uploading_since is not None:
            spent = time.monotonic() - self._uploading_since
            self._pace = self._pace.uploaded(len(self._update.content), spent)
        self._uploading_since = None

    def _keep(self, number: int, *, undo: bool) -> None:
        update = self._update
        if update is not None and update.change is not None and update.plan.round == number:
            self._jobs.keep(update.name, update.plan.version, update.change, undo=undo)

    async def _load(self, bundle: str) -> None:
        self._reporter.tell("loading", "Loading the model.")
        loaded = await self._insist(lambda: self._jobs.load(bundle), lambda: False)
        if loaded is None:
            return
        backend, step_ms, examples = loaded
        sentence = f"Ready: one step takes {step_ms:.1f} ms on {backend}."
        self._reporter.tell("ready", sentence, backend=backend, step_ms=step_ms, examples=examples)
        self._inbox.put_nowait(to.Loaded(backend, step_ms, examples))

    async def _train(self, job: Job[Train]) -> None:
        plan, name = job.order, self._identity
        loop = asyncio.get_running_loop()
        self._reporter.tell(
            "training", f"Round {plan.round}: training from version {plan.version}.", round=plan.round
        )

        def report(progress: Progress) -> None:
            step = self._reporter.step
            loop.call_soon_threadsafe(step, plan.round, progress.step, progress.steps, progress.loss)

        result = await self._insist(lambda: self._jobs.train(job, name, report), job.stop.is_set)
        if job.aborted:
            return
        if result is None or not result.steps:
            self._between_rounds.set()
            return
        tell_partial(self._reporter, plan.round, result.steps, result.planned)
        self._update = Update(plan, memoryview(result.content()), result.change, name)
        done = (result.examples, result.steps, result.loss, result.sums)
        self._inbox.put_nowait(to.Trained(plan.round, len(self._update.content), *done))

    async def _measure(self, job: Job[Evaluate]) -> None:
        exam = job.order
        sentence = f"Measuring version {exam.version} on held-out examples."
        self._reporter.tell("measuring", sentence, version=exam.version)
        try:
            measured = await self._insist(lambda: self._jobs.measure(job), job.stop.is_set)
        except PeerError as error:
            # The server does without; training goes on.
            self._reporter.tell("trouble", str(error))
            return
        if job.aborted or measured is None:
            return
        examples, loss, sums = measured
        sentence = f"Version {exam.version} on {examples} held-out examples here: loss {loss:.4f}."
        if not examples:
            sentence = f"Nothing is held out here to measure version {exam.version} on."
        self._reporter.tell("measured", sentence, version=exam.version, examples=examples, loss=loss)
        self._inbox.put_nowait(to.Measured(exam.round, exam.version, examples, loss, sums))

    async def _insist(
        self, work: Callable[[], Coroutine[Any, Any, T]], given_up: Callable[[], bool]
    ) -> T | None:
        """What `work` makes, tried again while the server does not answer; None once it is given up."""
        while not given_up():
            try:
                return await work()
            except UnreachableError as error:
                self._reporter.tell("trouble", f"{error} Trying again in {PAUSE:.0f} s.")
                await asyncio.sleep(PAUSE)
            except PeerError:
                if not given_up():
                    raise  # Else the round is over, and the server may have let its version go.
        return None

    async def _stop_when(self, stop: asyncio.Event) -> None:
        """Ends the training after its current step, gives its partial update a few seconds, and leaves."""
        await stop.wait()
        self._reporter.tell("stopping", "Stopping after the current step.")
        if self._training:
            self._training.stop.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(WIND_DOWN_SECONDS):
                await self._between_rounds.wait()
        self._inbox.put_nowait(to.Stop())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._inbox.put_nowait(error)

    async def _end(self) -> None:
        """Lets the goodbye go out, then ends what is left."""
        _abort(self._training)
        _abort(self._measuring)
        if self._connection and self._is_open:
            self._outbox.put_nowait(None)
            await asyncio.wait([self._connection], timeout=GOODBYE_SECONDS)
        left = list(self._running)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        self._jobs.close()


def _abort(job: Job[Train] | Job[Evaluate] | None) -> None:
    if job:
        job.abort()
