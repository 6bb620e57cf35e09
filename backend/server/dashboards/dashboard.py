"""The dashboard of one task: what its owner sees while it runs, and what they are alerted to."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any

from backend.errors import BusyError, NotFoundError, StoreError
from backend.protocols.tasks.alerts import Alarms, Cleared, Effect, Raised
from backend.protocols.tasks.task_life import RUNNING
from backend.server.alerting.alert_log import AlertBook
from backend.server.alerting.messenger import Messenger
from backend.server.dashboards.participants import People
from backend.server.dashboards.totals import Totals
from backend.server.hosting.client_link import Presence
from backend.server.hosting.task_host import TaskHost
from backend.server.hosting.task_lifecycle import TaskLifecycle
from backend.server.observers import task_events
from backend.server.schemes import scheme_of
from backend.server.tasks.model_inspection import likely_device
from backend.server.versions.lineage import Lineage, lineage_of
from backend.stores.contracts import EvaluationRecord, VersionRecord

MOST_WATCHERS = 32
# Points of a curve.
MOST_POINTS = 500


class Dashboard:
    """A Companion of the host of a task: notes what happens, and wakes those who watch.

    `clock` gives the time of day (Unix seconds); alarms go by the event loop's.
    """

    def __init__(
        self,
        host: TaskHost,
        lifecycle: TaskLifecycle,
        messenger: Messenger,
        book: AlertBook,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._host, self._lifecycle, self._messenger, self._clock = host, lifecycle, messenger, clock
        manifest, file = host.task.bundle.manifest, host.task.file
        self._alarms, self._alert_log = Alarms(60.0 * file.alerts.minutes, book.lasting()), book
        self._totals, self._people = Totals(manifest), People()
        board = scheme_of(file).board
        self._board = board(host) if board else None
        self._watchers: set[asyncio.Event] = set()
        self._more = asyncio.Event()
        self._happened: list[task_events.TaskEvent] = []
        # Rounds that end before those that are recorded are looked at; None from then on.
        self._early: list[task_events.RoundEnded] | None = []

    # What happens.

    def notice(self, task: str, event: task_events.TaskEvent) -> None:
        """See Observer."""
        if task != self._host.name:
            return
        self._people.notice(event)
        match event:
            case task_events.RoundEnded():
                self._ended(event)
            case (
                task_events.UpdateAccepted()
                | task_events.UpdateRefused()
                | task_events.UnitLeased()
                | task_events.UnitReturned()
                | task_events.UnitReleased()
                | task_events.UnitCounted()
                | task_events.UnitRejected()
                | task_events.ResultAssimilated()
            ):
                self._wake()
                return
        self._happened.append(event)
        self._more.set()

    async def run(self) -> None:
        """Looks back on what is recorded, then at what happens, until cancelled."""
        await self._look_back()
        await self._alert_log.restarted(self._host, self._lifecycle.life.state, self._clock())
        async with asyncio.TaskGroup() as group:
            group.create_task(self._messenger.run())
            while True:
                now = asyncio.get_running_loop().time()
                await self._perform(self._look(now))
                await self._something(self._alarms.timer())

    async def _look_back(self) -> None:
        recorded = await self._host.history.rounds(0, None)
        made = {one.round: one for one in self._host.history.versions}
        early, self._early = self._early or [], None
        last = recorded[-1].round if recorded else 0
        past = [task_events.RoundEnded(one, made.get(one.round)) for one in recorded]
        for one in [*past, *(one for one in early if one.round.round > last)]:
            self._ended(one)
        await self._count()

    def _ended(self, event: task_events.RoundEnded) -> None:
        if self._early is not None:
            self._early.append(event)
            return
        self._totals.add(event.round, event.version.examples if event.version else None)

    async def _something(self, due: float | None) -> None:
        """Waits until something happened, or is due."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(due):
                await self._more.wait()
        self._more.clear()
        if any(isinstance(event, task_events.RoundEnded) for event in self._happened):
            await self._count()

    async def _count(self) -> None:
        with suppress(StoreError):  # What was known before is shown meanwhile.
            self._people.given = {one.client: one for one in await self._host.history.contributions()}

    def _look(self, now: float) -> list[Effect]:
        events, self._happened = self._happened, []
        effects: list[Effect] = []
        for event in events:
            match event:
                case task_events.RoundEnded(ended, version):
                    made = version is not None
                    effects += self._alarms.round_ended(made, ended.accepted, ended.refusals, now)
                case task_events.VersionEvaluated(found):
                    effects += self._alarms.measured(math.isfinite(found.loss))
                case task_events.StoreFailed(reason=reason):
                    effects += self._alarms.store_failed(reason)
                case task_events.StoreMended():
                    effects += self._alarms.store_mended()
        running = self._lifecycle.life.state in RUNNING
        return [*effects, *self._alarms.looked(running, self._host.needed, now)]

    async def _perform(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case Raised(trouble, text):
                    await self._alert_log.add(trouble, text, self._clock())
                    self._messenger.send(trouble, text)
                case Cleared(trouble):
                    await self._alert_log.clear(trouble, self._clock())
        self._wake()

    async def acknowledge(self, id: int) -> None:
        """The owner has seen an alert. Raises NotFoundError or StoreError."""
        await self._alert_log.acknowledge(id, self._clock())
        self._wake()

    def _wake(self) -> None:
        for watcher in self._watchers:
            watcher.set()

    # Who watches.

    @contextmanager
    def watching(self) -> Iterator[asyncio.Event]:
        """An event that is set whenever something changed. Raises BusyError when too many watch."""
        if len(self._watchers) >= MOST_WATCHERS:
            raise BusyError(
                f"{MOST_WATCHERS} windows watch this task already. Close one, or come back later."
            )
        watcher = asyncio.Event()
        self._watchers.add(watcher)
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)

    def now(self) -> dict[str, Any]:
        """How it stands (docs/reference/http.md)."""
        host, life = self._host, self._lifecycle.life
        return {
            "state": life.state,
            "reason": life.reason,
            "since": life.since,
            "orders": list(life.orders),
            "phase": host.phase,
            "round": host.round,
            "version": host.history.current.version,
            "rounds": host.task.file.coordination.rounds,
            "needed": host.needed,
            "trouble": host.trouble,
            "here": host.participants,
            "received": host.received,
            "sent": host.sent,
            "carried": host.carried,
            "totals": self._totals.summary(),
            "alerts": self._alert_log.entries(),
            "undelivered": self._messenger.trouble,
            "participants": self.participants(),
        }

    def participants(self) -> list[dict[str, Any]]:
        """Who is here, who is kept out, and who helped most (docs/reference/http.md)."""
        return self._people.rows(self._host.presences, self._lifecycle.bans, self._device)

    async def units(self) -> dict[str, Any]:
        """Its work units (docs/reference/http.md). Raises NotFoundError where it has none, and StoreError."""
        if self._board is None:
            raise NotFoundError("This task has no work units: its clients train all at once.")
        return await self._board.overview()

    def history(self) -> dict[str, Any]:
        """The newest rounds, and the curves of versions (docs/reference/http.md)."""
        history = self._host.history
        found, lineage = history.evaluations, lineage_of(history.versions)
        versions = history.versions[-MOST_POINTS:]
        return {
            "rounds": [asdict(one) for one in self._totals.newest],
            "curve": [_point(one, found, lineage) for one in versions],
        }

    def _device(self, one: Presence) -> str | None:
        return likely_device(self._host.task.bundle.manifest, one.backend, one.step_ms)


def _point(version: VersionRecord, found: Mapping[int, EvaluationRecord], lineage: Lineage) -> dict[str, Any]:
    measured = found.get(version.version)
    return {
        "version": version.version,
        "round": version.round,
        "created": version.created,
        "kept": version.let_go is None,
        "restores": lineage.restores.get(version.version),
        "left": version.version in lineage.rolled_back,
        "training_loss": _finite(version.loss),
        "loss": _finite(measured.loss) if measured else None,
        "metrics": {name: _finite(one) for name, one in measured.metrics.items()} if measured else {},
    }


def _finite(value: float | None) -> float | None:
    """JSON has no other numbers."""
    return value if value is not None and math.isfinite(value) else None
