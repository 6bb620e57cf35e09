"""The host of one task: it owns the round machine, and performs what the machine decides.

Everything that happens to a task goes through one bounded inbox and is handled by one loop, so nothing here
needs a lock. Arithmetic on vectors runs in one worker thread, in the order in which it was asked for.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, TypeVar

from backend.errors import BusyError, MingaError, ReplacedError, UpdateRefusedError, WrongLengthError
from backend.numerics.aggregate import WeightedMean
from backend.numerics.checks import check_finite, check_update
from backend.numerics.vectors import Vector, from_bytes
from backend.protocols import effects as do
from backend.protocols.round import Round
from backend.services.audience import Audience, wire_phase
from backend.services.evaluation import Evaluator
from backend.services.ledger import Ledger
from backend.services.links import Client, Link, client_id
from backend.services.tally import Tally
from backend.services.task import Task
from backend.services.uploads import STALL_SECONDS, Uploads
from backend.stores.contracts import Blobs, EvaluationRecord, VersionRecord
from backend.wire import messages as say

log = logging.getLogger("minga.host")

Event: TypeAlias = Callable[[float], list[do.Effect]]
Result = TypeVar("Result")

INBOX = 1024
MAX_CLIENTS = 2000


class TaskHost:
    """Owns one task's machine, clients, uploads and the aggregate of the open round."""

    def __init__(self, task: Task, ledger: Ledger, blobs: Blobs, evaluate: bool) -> None:
        self.task = task
        self.ledger = ledger
        self._blobs = blobs
        self._size = task.bundle.manifest.parameters.total
        self._machine = Round(task.plan(), ledger.round, ledger.current.version)
        self._audience = Audience()
        self._uploads = Uploads()
        self._checked: dict[str, Vector] = {}
        self._tally = Tally(WeightedMean(0))
        self._inbox: asyncio.Queue[Event] = asyncio.Queue(INBOX)
        self._worker = ThreadPoolExecutor(1, f"vectors-{task.file.name}")
        self._jobs: set[asyncio.Task[None]] = set()
        self._evaluator: Evaluator | None = None
        if evaluate and task.shards.holdout:
            self._evaluator = Evaluator(task.bundle.folder, task.shards.holdout, self._evaluated)

    # For the shell that owns the sockets.

    async def join(self, hello: say.Hello, link: Link) -> str:
        """Takes a client in; its id. An older connection of the same client gives way. Raises BusyError."""
        client = Client(client_id(hello.token), hello.kind, hello.backend, link)
        if self.participants >= MAX_CLIENTS and client.id not in self._audience.clients:
            raise BusyError("This task has as many connections as it can hold. Try again in a minute.")
        await self._inbox.put(lambda now: self._on_join(client, now))
        return client.id

    async def hear(self, client: str, link: Link, message: say.ClientFrame) -> None:
        """A client said something after its hello. Waits while the inbox is full."""
        await self._inbox.put(lambda now: self._on_message(client, link, message, now))

    async def leave(self, client: str, link: Link) -> None:
        """A client's connection ended."""
        await self._inbox.put(lambda now: self._on_left(client, link, now, lost=True))

    # For those who ask.

    @property
    def phase(self) -> say.Phase:
        """What happens now, in the wire's word."""
        return wire_phase(self._machine.phase)

    @property
    def round(self) -> int:
        """Number of the last round that was opened."""
        return self._machine.round

    @property
    def participants(self) -> int:
        """Number of connected clients."""
        return len(self._audience.clients)

    # The loop.

    async def run(self) -> None:
        """Hosts the task until cancelled."""
        if self._evaluator is not None:
            self._spawn(self._evaluator.run())
            self._spawn(self._submit_unevaluated())
        try:
            while True:
                await self._turn()
        finally:
            for job in self._jobs:
                job.cancel()
            await asyncio.gather(*self._jobs, return_exceptions=True)
            self._worker.shutdown()

    async def _turn(self) -> None:
        loop = asyncio.get_running_loop()
        event: Event | None = None
        try:
            async with asyncio.timeout_at(self._next_due()):
                event = await self._inbox.get()
        except TimeoutError:
            pass  # A timer is due instead.
        try:
            now = loop.time()
            if event is not None:
                self._perform(event(now), now)
                self._audience.state_changed(now)
            self._on_time(now)
        except Exception:
            # A shell: one event that fails must not end the task for everybody.
            log.exception("Task %s: an event failed.", self.task.file.name)

    def _next_due(self) -> float | None:
        times = (self._machine.timer(), self._uploads.timer(), self._audience.timer())
        return min((at for at in times if at is not None), default=None)

    def _on_time(self, now: float) -> None:
        timer = self._machine.timer()
        if timer is not None and now >= timer:
            self._perform(self._machine.time_passed(now), now)
            self._audience.state_changed(now)
        for client, number in self._uploads.stalled(now):
            error = WrongLengthError(
                f"No chunk came for {STALL_SECONDS:.0f} seconds. Try a better connection."
            )
            self._send_credits(self._uploads.drop(client, now))
            self._perform(self._machine.update_failed(client, number, error, now), now)
        self._audience.tell_state(self._machine, self.ledger.accepted, now)

    # Events.

    def _on_join(self, client: Client, now: float) -> list[do.Effect]:
        effects: list[do.Effect] = []
        older = self._audience.clients.get(client.id)
        if older is not None:
            older.link.close(ReplacedError("You opened this task elsewhere; that connection goes on."))
            effects += self._on_left(client.id, older.link, now, lost=True)
        self._audience.add(client)
        welcome = say.Welcome(
            task=self.task.file.name,
            client=client.id,
            bundle=self.task.bundle.address,
            chunk_bytes=say.CHUNK_BYTES,
        )
        self._audience.tell(client.id, welcome)
        return effects + self._machine.client_joined(client.id)

    def _on_left(self, client: str, link: Link, now: float, lost: bool) -> list[do.Effect]:
        if not self._is_current(client, link):
            return []
        del self._audience.clients[client]
        if self._uploads.receiving(client):
            self._send_credits(self._uploads.drop(client, now))
        return self._machine.client_left(client, now, lost)

    def _on_message(self, client: str, link: Link, message: say.ClientFrame, now: float) -> list[do.Effect]:
        if not self._is_current(client, link):
            return []  # It was replaced, or left, while this was under way.
        match message:
            case say.Ready():
                known = self._audience.clients[client]
                known.backend = message.backend
                self._audience.add(known)
                return self._machine.client_ready(client, now)
            case say.Offer():
                return self._on_offer(client, message, now)
            case say.Chunk():
                return self._on_chunk(client, message, now)
            case say.Leave():
                return self._on_left(client, link, now, lost=False)
            case say.Hello():
                return []  # The shell lets one hello through, before all else.

    def _on_offer(self, client: str, offer: say.Offer, now: float) -> list[do.Effect]:
        effects = self._machine.update_offered(client, offer, now)
        if any(isinstance(effect, do.Grant) for effect in effects):
            try:
                check_finite("loss", [offer.loss])
                check_finite("list of metrics", offer.metrics.values())
            except UpdateRefusedError as error:
                return self._machine.update_failed(client, offer.round, error, now)
        return effects

    def _on_chunk(self, client: str, chunk: say.Chunk, now: float) -> list[do.Effect]:
        try:
            complete, credits = self._uploads.chunk(client, chunk, now)
        except WrongLengthError as error:
            self._send_credits(self._uploads.drop(client, now))
            return self._machine.update_failed(client, chunk.round, error, now)
        self._send_credits(credits)
        return self._machine.update_arrived(client, chunk.round) if complete else []

    def _on_checked(
        self, client: str, offer: say.Offer, found: Vector | UpdateRefusedError, now: float
    ) -> list[do.Effect]:
        self._send_credits(self._uploads.done(client, offer.round, now))
        if isinstance(found, UpdateRefusedError):
            return self._machine.update_failed(client, offer.round, found, now)
        effects = self._machine.update_checked(client, offer.round, now)
        if effects:
            self._checked[client] = found
        return effects

    def _on_version(self, version: VersionRecord, now: float) -> list[do.Effect]:
        self._audience.tell_all(
            say.Version(
                version=version.version,
                round=version.round,
                weights=version.weights,
                accepted=version.accepted,
                examples=version.examples,
                loss=version.loss or 0.0,
                metrics=version.metrics,
            )
        )
        return self._machine.aggregated(version.version, now)

    def _on_evaluation(self, found: EvaluationRecord) -> list[do.Effect]:
        self._audience.tell_all(say.Evaluated(version=found.version, loss=found.loss, metrics=found.metrics))
        return []

    def _is_current(self, client: str, link: Link) -> bool:
        known = self._audience.clients.get(client)
        return known is not None and known.link is link

    # Effects.

    def _perform(self, effects: Iterable[do.Effect], now: float) -> None:
        for effect in effects:
            match effect:
                case do.Opened():
                    self._open_tally(effect, now)
                case do.SendTrain():
                    self._audience.tell(effect.client, self._train(effect))
                case do.Grant():
                    self._send_credits(self._uploads.grant(effect.client, effect.offer, now))
                case do.Check():
                    self._spawn(self._check(effect.client, effect.offer, self._uploads.data(effect.client)))
                case do.Accept():
                    self._accept(effect)
                case do.Refuse():
                    self._refuse(effect, now)
                case do.Aggregate():
                    self._spawn(self._make_version(self._tally, now - self._tally.opened))
                case do.Abandon():
                    self._abandon(effect, now)
                case do.Finished():
                    log.info("Task %s is finished with version %d.", self.task.file.name, effect.version)

    def _open_tally(self, opened: do.Opened, now: float) -> None:
        self._audience.forget_absent()
        mean = WeightedMean(self._size)
        self._tally = Tally(mean, opened.round, opened.version, len(opened.cohort), now)
        log.info("Task %s: round %d with %d clients.", self.task.file.name, opened.round, len(opened.cohort))

    def _train(self, order: do.SendTrain) -> say.Train:
        shards = [self.task.shards.train[number] for number in order.shards]
        return say.Train(
            round=order.round,
            version=order.version,
            weights=self.ledger.current.weights,
            epochs=self.task.file.training.epochs,
            learning_rate=self.task.learning_rate,
            past_steps=self.task.past_steps(order.version),
            seed=order.seed,
            shards=[say.Shard(sha256=shard.sha256, examples=shard.examples) for shard in shards],
            seconds=order.seconds,
        )

    def _accept(self, accept: do.Accept) -> None:
        offer = accept.offer
        self._worker.submit(self._tally.mean.add, self._checked.pop(accept.client), offer.examples)
        self._tally.accepted[accept.client] = offer
        self._audience.tell(accept.client, say.Accepted(round=offer.round, examples=offer.examples))

    def _refuse(self, refuse: do.Refuse, now: float) -> None:
        if self._uploads.receiving(refuse.client):
            self._send_credits(self._uploads.drop(refuse.client, now))
        self._tally.refused[refuse.client] = self._tally.refused.get(refuse.client, 0) + 1
        refused = say.Refused(round=refuse.round, code=refuse.error.code, reason=str(refuse.error)[:500])
        self._audience.tell(refuse.client, refused)

    def _abandon(self, abandon: do.Abandon, now: float) -> None:
        log.info("Task %s: round %d abandoned: %s", self.task.file.name, abandon.round, abandon.reason)
        self._audience.tell_all(say.Abandoned(round=abandon.round, reason=abandon.reason[:500]))
        tally = self._tally
        record = tally.record("abandoned", abandon.reason[:500], now - tally.opened, time.time())
        self._spawn(
            self.ledger.add_abandoned(record, tally.contributions(self._audience.known, counted=False))
        )

    def _send_credits(self, credits: Iterable[tuple[str, say.Credit]]) -> None:
        for client, credit in credits:
            self._audience.tell(client, credit)

    # Work that takes time. Each job ends in an event.

    async def _check(self, client: str, offer: say.Offer, data: bytearray) -> None:
        def check() -> Vector | UpdateRefusedError:
            try:
                update = from_bytes(data, self._size)
                check_update(update, self.task.file.security.max_update_norm)
            except UpdateRefusedError as error:
                return error
            return update

        found = await self._in_worker(check)
        await self._inbox.put(lambda now: self._on_checked(client, offer, found, now))

    async def _make_version(self, tally: Tally, seconds: float) -> None:
        try:
            weights, state = await self._in_worker(lambda: self.ledger.next_version(tally.mean))
            names = [metric.name for metric in self.task.bundle.manifest.metrics]
            loss, metrics = tally.loss(), tally.metrics(names)
            record = tally.record("version", "", seconds, time.time())
            given = tally.contributions(self._audience.known, counted=True)
            version = await self.ledger.add_version(weights, state, loss, metrics, record, given)
        except MingaError as error:
            reason = str(error)
            log.error("Task %s: version not made: %s", self.task.file.name, reason)
            await self._inbox.put(lambda now: self._machine.aggregation_failed(reason, now))
            return
        await self._inbox.put(lambda now: self._on_version(version, now))
        await self._submit(version)

    async def _submit(self, version: VersionRecord) -> None:
        if self._evaluator is not None:
            self._evaluator.submit(version.version, await self._blobs.path(version.weights))

    async def _submit_unevaluated(self) -> None:
        for version in list(self.ledger.versions):
            if version.version not in self.ledger.evaluations:
                await self._submit(version)

    async def _evaluated(self, found: EvaluationRecord) -> None:
        await self.ledger.add_evaluation(found)
        await self._inbox.put(lambda _now: self._on_evaluation(found))

    async def _in_worker(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    def _spawn(self, job: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._guarded(job))
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)

    async def _guarded(self, job: Coroutine[Any, Any, None]) -> None:
        try:
            await job
        except MingaError as error:
            log.error("Task %s: %s", self.task.file.name, error)
        except Exception:
            # A shell: what a job leaves undone is logged, and the task goes on.
            log.exception("Task %s: a job failed.", self.task.file.name)
