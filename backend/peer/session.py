"""One peer, one task: performs what the participant's machine decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from backend.errors import ReplacedError, UnreachableError
from backend.peer.jobs import Job, Jobs
from backend.peer.progress import Reporter
from backend.peer.trainer import Progress
from backend.peer.transport import Outbox, talk
from backend.protocols.participant import (
    AbortTraining,
    Close,
    Connect,
    Connected,
    Disconnected,
    Effect,
    Event,
    Frame,
    Load,
    Loaded,
    Participant,
    Phase,
    Send,
    SendChunks,
    Start,
    StartTraining,
    Stop,
    Trained,
)
from backend.wire.messages import (
    CHUNK_BYTES,
    Accepted,
    Chunk,
    Evaluated,
    Hello,
    Refused,
    ServerFrame,
    Version,
    Welcome,
)

# A peer that is told to stop ends within 25 s: this for the partial update, the rest for a long step.
WIND_DOWN_SECONDS = 8.0
GOODBYE_SECONDS = 3.0
PAUSE = 2.0


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
        self._inbox: asyncio.Queue[Event | BaseException] = asyncio.Queue()
        self._outbox: Outbox = asyncio.Queue()
        self._chunk_bytes = CHUNK_BYTES
        self._connection: asyncio.Task[None] | None = None
        self._is_open = False
        self._running: set[asyncio.Task[None]] = set()
        self._job: Job | None = None
        self._update: tuple[int, memoryview] | None = None
        self._between_rounds = asyncio.Event()
        self._reason = ""

    async def run(self, stop: asyncio.Event) -> None:
        """Takes part until `stop` is set, the task is finished, or another peer takes this one's place.

        Raises BundleError for a bundle that is refused, PeerError when this machine cannot train it, and
        ReplacedError when the server talks to another peer with the same token.
        """
        self._spawn(self._stop_when(stop))
        self._inbox.put_nowait(Start(self._hello))
        try:
            while True:
                event = await self._inbox.get()
                if isinstance(event, BaseException):
                    raise event
                self._handle(event)
                if self.machine.phase is Phase.FINISHED:
                    self._reporter.tell("finished", "The task is finished; thank you.")
                    self._handle(Stop())
                    return
                if self.machine.phase is Phase.STOPPED:
                    if isinstance(event, Frame):
                        raise ReplacedError(self.machine.reason or "Another peer took this one's place.")
                    return
        finally:
            await self._end()

    def _handle(self, event: Event) -> None:
        for effect in self.machine.handle(event):
            self._perform(effect)
        if isinstance(event, Frame):
            self._tell_news(event.frame)
        if self.machine.plan is None:
            self._between_rounds.set()
        else:
            self._between_rounds.clear()

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Connect(delay):
                self._connect(delay)
            case Send(frame):
                self._outbox.put_nowait(frame)
            case Load(bundle):
                self._spawn(self._load(bundle))
            case StartTraining(plan):
                self._job = Job(plan)
                self._spawn(self._train(self._job))
            case AbortTraining():
                if self._job:
                    self._job.abort()
            case SendChunks(number, start, until):
                self._send_chunks(number, start, until)
            case Close():
                self._outbox.put_nowait(None)

    def _connect(self, delay: float) -> None:
        if delay:
            sentence = f"The server is away ({self._reason}); next attempt in {delay:.1f} s."
            self._reporter.tell("offline", sentence, seconds=round(delay, 3))
        self._outbox = asyncio.Queue()
        self._connection = self._spawn(self._talk(delay, self._outbox))

    async def _talk(self, delay: float, outbox: Outbox) -> None:
        await asyncio.sleep(delay)

        def opened() -> None:
            self._is_open = True
            self._inbox.put_nowait(Connected())

        self._reason = await talk(
            self._address, outbox, opened, lambda frame: self._inbox.put_nowait(Frame(frame))
        )
        self._is_open = False
        self._inbox.put_nowait(Disconnected(self._random()))

    def _send_chunks(self, number: int, start: int, until: int) -> None:
        if self._update is None or self._update[0] != number:
            return
        for offset in range(start, until, self._chunk_bytes):
            data = self._update[1][offset : min(offset + self._chunk_bytes, until)]
            self._outbox.put_nowait(Chunk(round=number, offset=offset, data=memoryview(data)))

    async def _load(self, bundle: str) -> None:
        self._reporter.tell("loading", "Loading the model.")
        while True:
            try:
                backend, step_ms = await self._jobs.load(bundle)
                break
            except UnreachableError as error:
                self._reporter.tell("trouble", f"{error} Trying again in {PAUSE:.0f} s.")
                await asyncio.sleep(PAUSE)
        sentence = f"Ready: one step takes {step_ms:.1f} ms on {backend}."
        self._reporter.tell("ready", sentence, backend=backend, step_ms=step_ms)
        self._inbox.put_nowait(Loaded(backend, step_ms))

    async def _train(self, job: Job) -> None:
        plan = job.plan
        loop = asyncio.get_running_loop()
        self._reporter.tell(
            "training", f"Round {plan.round}: training from version {plan.version}.", round=plan.round
        )

        def report(progress: Progress) -> None:
            step = self._reporter.step
            loop.call_soon_threadsafe(step, plan.round, progress.step, progress.steps, progress.loss)

        result = None
        while result is None and not job.stop.is_set():
            try:
                result = await self._jobs.train(job, report)
            except UnreachableError as error:
                self._reporter.tell("trouble", f"{error} Trying again in {PAUSE:.0f} s.", round=plan.round)
                await asyncio.sleep(PAUSE)
        if job.aborted:
            return
        if result is None or not result.steps:
            self._between_rounds.set()
            return
        update = memoryview(result.update.astype("<f4", copy=False).tobytes())
        self._update = plan.round, update
        done = (result.examples, result.steps, result.loss, result.sums)
        self._inbox.put_nowait(Trained(plan.round, len(update), *done))

    def _tell_news(self, frame: ServerFrame) -> None:
        match frame:
            case Welcome(client=client, chunk_bytes=chunk_bytes):
                self._chunk_bytes = max(1, min(CHUNK_BYTES, chunk_bytes))
                self._reporter.tell("connected", f"Connected as {client}.", client=client)
            case Accepted(round=number, examples=examples):
                sentence = f"Round {number}: your update counts, with {examples} examples."
                self._reporter.tell("accepted", sentence, round=number, examples=examples)
            case Refused(round=number, code=code, reason=reason):
                sentence = f"Round {number}: your update does not count. {reason}"
                self._reporter.tell("refused", sentence, round=number, code=code)
            case Version(version=version, round=number, loss=loss, metrics=metrics):
                sentence = f"Version {version} is there (the cohort's loss {loss:.4f})."
                self._reporter.tell(
                    "version", sentence, version=version, round=number, loss=loss, metrics=metrics
                )
            case Evaluated(version=version, loss=loss, metrics=metrics):
                shown = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
                sentence = f"Version {version} on held-out data: loss {loss:.4f}" + (
                    f", {shown}." if shown else "."
                )
                self._reporter.tell("evaluated", sentence, version=version, loss=loss, metrics=metrics)

    async def _stop_when(self, stop: asyncio.Event) -> None:
        """Ends the training after its current step, gives its partial update a few seconds, and leaves."""
        await stop.wait()
        self._reporter.tell("stopping", "Stopping after the current step.")
        if self._job:
            self._job.stop.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(WIND_DOWN_SECONDS):
                await self._between_rounds.wait()
        self._inbox.put_nowait(Stop())

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
        if self._job:
            self._job.abort()
        if self._connection and self._is_open:
            self._outbox.put_nowait(None)
            await asyncio.wait([self._connection], timeout=GOODBYE_SECONDS)
        left = list(self._running)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        self._jobs.close()
