"""Keeps the dashboard of one task up to date and raises the alerts for its owner."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any

from backend.errors import BundleError, BusyError, NotFoundError, StoreError
from backend.protocols.tasks.alerts import Alarms, Cleared, Effect, Raised
from backend.protocols.tasks.learning import Diagnosis, MeasuredVersion, diagnose
from backend.protocols.tasks.task_life import RUNNING
from backend.server.alerting.alert_log import AlertLog
from backend.server.alerting.messenger import Messenger
from backend.server.dashboards.participants import ParticipantTable
from backend.server.dashboards.totals import Totals
from backend.server.estimates.guessing import chance_in
from backend.server.hosting.clients.client_link import Presence
from backend.server.hosting.task_host import TaskHost
from backend.server.hosting.task_lifecycle import TaskLifecycle
from backend.server.integrity.integrity_report import integrity_report, question_text
from backend.server.observers import task_events
from backend.server.schemes import scheme_of
from backend.server.tasks.model_inspection import likely_device
from backend.server.versions.lineage import Lineage, lineage_of
from backend.stores.contracts import EvaluationRecord, VersionRecord

MAX_WATCHERS = 32
# Points of a curve, one for each version.
MAX_POINTS = 500


class Dashboard:
    """A Companion of a task's host: collects the task's events and wakes the open dashboard pages.

    `clock` gives the time of day (Unix seconds); alarms use the event loop's time. `is_reopened` says that
    this server hosted the task before, so that nothing restarted.
    """

    def __init__(
        self,
        host: TaskHost,
        lifecycle: TaskLifecycle,
        messenger: Messenger,
        alert_log: AlertLog,
        clock: Callable[[], float] = time.time,
        is_reopened: bool = False,
    ) -> None:
        self._is_reopened = is_reopened
        self._host, self._lifecycle, self._messenger, self._clock = host, lifecycle, messenger, clock
        manifest, file = host.task.bundle.manifest, host.task.file
        self._alarms = Alarms(60.0 * file.alerts.minutes, alert_log.uncleared())
        self._alert_log = alert_log
        self._totals, self._participants = Totals(manifest), ParticipantTable()
        board = scheme_of(file).board
        self._board = board(host) if board else None
        self._watchers: set[asyncio.Event] = set()
        self._changed = asyncio.Event()
        self._events: list[task_events.TaskEvent] = []
        # Rounds that ended before the records were read; None once they are read.
        self._early: list[task_events.RoundEnded] | None = []
        # How often a guess is right; None where answers are no classes.
        self._chance: float | None = None
        # Whether its host ended.
        self.is_over = False

    # Called by the task's host.

    def notice(self, task: str, event: task_events.TaskEvent) -> None:
        """See Observer."""
        if task != self._host.name:
            return
        self._participants.notice(event)
        match event:
            case task_events.RoundEnded():
                self._add_round(event)
            case (
                task_events.UpdateAccepted()
                | task_events.UpdateChecked()
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
        self._events.append(event)
        self._changed.set()

    async def run(self) -> None:
        """Reads the recorded rounds, then handles events and alarms until cancelled."""
        await self._read_records()
        if not self._is_reopened:
            await self._alert_log.restarted(self._host, self._lifecycle.life.state, self._clock())
        await self._read_chance()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._messenger.run())
                while True:
                    now = asyncio.get_running_loop().time()
                    await self._perform(self._handle_events(now))
                    await self._wait(self._alarms.timer())
        finally:
            self.is_over = True
            self._wake()

    def _diagnosis(self) -> Diagnosis | None:
        """Says what is wrong with the curve of the versions that led to the newest one, if anything."""
        history = self._host.history
        left, evaluations = lineage_of(history.versions).rolled_back, history.evaluations
        curve = [
            measured_version(version, evaluations[version.version])
            for version in history.versions
            if version.version in evaluations and version.version not in left
        ]
        return diagnose(curve, self._host.task.file.coordination.rounds, self._chance)

    async def _read_chance(self) -> None:
        task = self._host.task
        with suppress(OSError, BundleError):  # Then losses are compared.
            self._chance = await asyncio.to_thread(chance_in, task.shards.holdout, task.bundle.manifest)

    async def _read_records(self) -> None:
        records = await self._host.history.rounds(0, None)
        versions = {version.round: version for version in self._host.history.versions}
        early, self._early = self._early or [], None
        last = records[-1].round if records else 0
        recorded = [task_events.RoundEnded(record, versions.get(record.round)) for record in records]
        for event in [*recorded, *(event for event in early if event.round.round > last)]:
            self._add_round(event)
        await self._read_contributions()

    def _add_round(self, event: task_events.RoundEnded) -> None:
        if self._early is not None:
            self._early.append(event)
            return
        self._totals.add(event.round, event.version.examples if event.version else None)

    async def _wait(self, due: float | None) -> None:
        """Waits for the next event, at most until `due`, a time of the event loop."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(due):
                await self._changed.wait()
        self._changed.clear()
        if any(isinstance(event, task_events.RoundEnded) for event in self._events):
            await self._read_contributions()

    async def _read_contributions(self) -> None:
        with suppress(StoreError):  # Meanwhile the older numbers are shown.
            contributions = await self._host.history.contributions()
            self._participants.contributions = {each.client: each for each in contributions}

    def _handle_events(self, now: float) -> list[Effect]:
        events, self._events = self._events, []
        effects: list[Effect] = []
        for event in events:
            match event:
                case task_events.RoundEnded(ended, version):
                    made = version is not None
                    effects += self._alarms.round_ended(made, ended.accepted, ended.refusals, now)
                    # A roll-back answers the question, too.
                    effects += self._alarms.doubted(question_text(self._host.history.checks.promotion))
                case task_events.VersionEvaluated(evaluation):
                    effects += self._alarms.measured(math.isfinite(evaluation.loss), self._diagnosis())
                case task_events.VersionChecked():
                    effects += self._alarms.doubted(question_text(self._host.history.checks.promotion))
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
        """Marks an alert as seen by the owner. Raises NotFoundError or StoreError."""
        await self._alert_log.acknowledge(id, self._clock())
        self._wake()

    async def lift_suspicion(self, client: str) -> None:
        """Lets the updates of a suspect client count again. Raises NotFoundError or StoreError."""
        await self._host.lift_suspicion(client)
        self._wake()

    def _wake(self) -> None:
        for watcher in self._watchers:
            watcher.set()

    # Called for the dashboard's pages.

    @contextmanager
    def watching(self, watcher: asyncio.Event) -> Iterator[None]:
        """Sets the event `watcher` at each change. Raises BusyError if too many pages watch."""
        if len(self._watchers) >= MAX_WATCHERS:
            raise BusyError(f"{MAX_WATCHERS} windows watch this task already. Close one, or come back later.")
        self._watchers.add(watcher)
        try:
            yield
        finally:
            self._watchers.discard(watcher)

    def now(self) -> dict[str, Any]:
        """Returns the current state of the task (docs/reference/http.md)."""
        host, life = self._host, self._lifecycle.life
        return {
            "state": life.state,
            "reason": life.reason,
            "since": life.since,
            "orders": list(life.orders),
            "phase": host.phase,
            "round": host.round,
            "version": host.history.current.version,
            "rounds": host.task.file.coordination.rounds + host.history.repeats,
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
            "tolerance": host.tolerance,
            "suspects": host.suspects,
        }

    def participants(self) -> list[dict[str, Any]]:
        """Returns connected, banned and most contributing clients (docs/reference/http.md)."""
        return self._participants.rows(
            self._host.presences, self._lifecycle.bans, self._device, self._host.traffic
        )

    async def units(self) -> dict[str, Any]:
        """Returns the work units (docs/reference/http.md).

        Raises NotFoundError if the task has none, and StoreError.
        """
        if self._board is None:
            raise NotFoundError("This task has no work units: its clients train in rounds.")
        return await self._board.overview()

    def history(self) -> dict[str, Any]:
        """Returns the newest rounds and the curves over versions (docs/reference/http.md)."""
        history = self._host.history
        evaluations, lineage = history.evaluations, lineage_of(history.versions)
        versions = history.versions[-MAX_POINTS:]
        best = history.best.version if history.best else None
        return {
            "rounds": [asdict(record) for record in self._totals.newest],
            "refusals": self._totals.refusal_hours.rows(),
            "best": best,
            "integrity": integrity_report(history.checks, self._host.phase == "finished"),
            "curve": [_point(version, evaluations, lineage) for version in versions],
        }

    def _device(self, client: Presence) -> str | None:
        return likely_device(self._host.task.bundle.manifest, client.backend, client.step_ms)


def measured_version(version: VersionRecord, evaluation: EvaluationRecord) -> MeasuredVersion:
    """Returns a point of the curve by which a training is judged."""
    accuracy = evaluation.metrics.get("accuracy")
    return MeasuredVersion(version.version, evaluation.loss, accuracy, version.loss)


def _point(
    version: VersionRecord, evaluations: Mapping[int, EvaluationRecord], lineage: Lineage
) -> dict[str, Any]:
    evaluation = evaluations.get(version.version)
    return {
        "version": version.version,
        "round": version.round,
        "created": version.created,
        "kept": version.let_go is None,
        "restores": lineage.restores.get(version.version),
        "left": version.version in lineage.rolled_back,
        "training_loss": _finite(version.loss),
        "loss": _finite(evaluation.loss) if evaluation else None,
        "metrics": {name: _finite(value) for name, value in evaluation.metrics.items()} if evaluation else {},
    }


def _finite(value: float | None) -> float | None:
    """Replaces NaN and infinity, which JSON cannot hold, by None."""
    return value if value is not None and math.isfinite(value) else None
