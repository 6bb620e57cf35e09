"""Describes a task that is served, to pages and programs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from backend.errors import NotFoundError
from backend.protocols.tasks.task_life import LifeState
from backend.server.accounts.permissions import TaskAccess
from backend.server.dashboards.dashboard import Dashboard
from backend.server.disclosure.statement import Disclosure
from backend.server.estimates import pace
from backend.server.estimates.energy import training_flops
from backend.server.estimates.traffic import program_bytes
from backend.server.hosting import task_summary
from backend.server.hosting.scheme import Scheme, WeightsDeposits
from backend.server.hosting.task_host import TaskHost
from backend.server.hosting.task_lifecycle import TaskLifecycle
from backend.server.hosting.task_summary import TaskDetail
from backend.server.integrity.integrity_report import check_status
from backend.server.integrity.version_gate import VersionGate
from backend.server.rounds.reaggregation.reaggregations import Reaggregations
from backend.server.schemes import scheme_of
from backend.server.tasks.model_inspection import Inspection
from backend.server.versions.timeline import round_summaries, version_summaries
from backend.stores.contracts import AssimilationRecord, VersionRecord
from backend.stores.plan_changes import PlanAmendment


@dataclass(frozen=True)
class HostedTask:
    """A task that is served: its host, its lifecycle and its owner's dashboard, with answers about them.

    `folder` contains its task file; `changes` are those of its plan since its launch. `gate` checks its
    versions; None where they are not checked.
    """

    host: TaskHost
    lifecycle: TaskLifecycle
    board: Dashboard
    folder: Path
    changes: Sequence[PlanAmendment] = ()
    gate: VersionGate | None = None

    @property
    def access(self) -> TaskAccess:
        """Who may access the task; before its launch invited clients only, whatever its file says."""
        is_test = self.lifecycle.life.state is LifeState.TEST
        table = self.host.task.file.access
        visibility = "invited" if is_test else table.visibility
        return TaskAccess(self.host.name, visibility, table.newcomers == "invited")

    def summary(self) -> dict[str, Any]:
        """Returns the task's summary (docs/reference/http.md)."""
        return task_summary.summary(self.host, self.lifecycle.life)

    def detail(self) -> TaskDetail:
        """Returns the content of the task's page."""
        return task_summary.detail(self.host.task, self.summary())

    def data(self) -> dict[str, Any]:
        """Returns the description of the task's data (docs/reference/http.md)."""
        return task_summary.data(self.host.task)

    def inspection(self, dist: Path) -> Inspection:
        """Returns the model's demands on a device; `dist` is the built web app."""
        return task_summary.inspection(self.host.task, program_bytes(dist))

    def disclosure(self) -> Disclosure:
        """Returns the disclosure: who can learn what about clients' data."""
        return self._scheme.disclose(self.host.task.file, task_summary.guarantee_of(self.host))

    # Its records.

    async def rounds(self, after: int, last: int, before: int | None = None) -> list[dict[str, Any]]:
        """Returns the newest `last` rounds after `after`, oldest first (docs/reference/http.md)."""
        return await round_summaries(self.host.history, after, last, before)

    async def versions(self) -> list[dict[str, Any]]:
        """Returns the task's versions, oldest first (docs/reference/http.md)."""
        history, promotion = self.host.history, self.host.history.checks.promotion
        return [
            row | {"check": check_status(promotion, row["version"])}
            for row in version_summaries(history.versions, history.evaluations)
        ]

    async def contributions(self, client: str | None = None) -> list[dict[str, Any]]:
        """Returns the contribution of each client, or of one, the largest first (docs/reference/http.md).

        Beside examples it has the operations of training on them, by which tasks compare. Raises StoreError.
        """
        task, visits = self.host.task, self._scheme.visits
        passes = 1.0 if visits is None else visits(task)
        return [
            asdict(one) | {"operations": round(training_flops(task.bundle.manifest, passes * one.examples))}
            for one in await self.host.history.contributions(client)
        ]

    def traffic(self) -> dict[str, int] | None:
        """Returns the bytes sent and received in the whole training; None where they are not recorded."""
        traffic = self.host.whole_traffic
        return None if traffic is None else {"sent": traffic[0], "received": traffic[1]}

    async def seconds_to_finish(self) -> float | None:
        """Returns how long the task still takes at its pace; None where there is none. Raises StoreError."""
        if self.host.phase in ("paused", "finished"):
            return None
        summary = self.summary()
        rounds = await self.host.history.rounds(0, pace.ROUNDS)
        return pace.seconds_to_finish(rounds, summary["rounds"] - summary["version"], time.time())

    async def restore(self, number: int, reason: str) -> VersionRecord:
        """Restores an earlier version as the newest, for `reason`; returns its record.

        Raises OrderError while the task cannot restore one, NotFoundError, GoneError or StoreError.
        """
        return await self._scheme.restore(self.host, number, reason)

    async def accept(self, number: int) -> None:
        """Offers a version that did not pass its integrity check.

        Raises NotFoundError if it was not checked, OrderError if it is offered or left behind, or StoreError.
        """
        if self.gate is None:
            raise NotFoundError("This task's versions are not checked: its file has no [security.integrity].")
        await self.gate.accept(number)

    # What only some schemes have.

    def mesh(self) -> dict[str, Any]:
        """Returns peers, links and groups of a decentralized task (docs/reference/http.md).

        Raises NotFoundError.
        """
        picture = self._scheme.picture
        if picture is None:
            raise NotFoundError("This task has no mesh: its server averages updates itself.")
        return picture(self.host)

    async def assimilations(self, after: int = 0, last: int | None = None) -> list[AssimilationRecord]:
        """Returns the newest `last` assimilated work-unit results (all for None) after number `after`.

        Raises NotFoundError if the task has no work units, and StoreError.
        """
        assimilations = self._scheme.assimilations
        if assimilations is None:
            raise NotFoundError("This task has no work units: its clients train in rounds.")
        return await assimilations(self.host, after, last)

    async def unit_facts(self, unit: int) -> dict[str, Any]:
        """Returns the facts of a recent work unit. Raises NotFoundError if there is none with that number."""
        unit_facts = self._scheme.unit_facts
        if unit_facts is None:
            raise NotFoundError("This task has no work units: its clients train in rounds.")
        return await unit_facts(self.host, unit)

    def deposits(self) -> WeightsDeposits:
        """Returns the target of uploads of whole weights. Raises NotFoundError if the task takes none."""
        deposits = self._scheme.deposits
        if deposits is None:
            raise NotFoundError(
                "Peers upload weights to decentralized tasks only; in this task the server computes them."
            )
        return deposits(self.host)

    def reaggregations(self) -> Reaggregations:
        """Returns the tries of another rule on kept updates. Raises NotFoundError if the task keeps none."""
        reaggregations = self._scheme.reaggregations
        tries = reaggregations(self.host) if reaggregations else None
        if tries is None:
            raise NotFoundError("This task keeps no updates: its file has no [security.kept_updates].")
        return tries

    @property
    def _scheme(self) -> Scheme[Any]:
        return scheme_of(self.host.task.file)
