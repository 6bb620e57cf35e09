"""Records the newest work units and the verdicts on their results, for replays.

The weights that a unit began with are held in the snapshot store: those of the newest units, as many as
KEPT_BYTES hold. Records do not survive a restart, as leases' weights do not either.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from backend.errors import NotFoundError
from backend.numerics.vectors import Vector, to_bytes
from backend.protocols.replay.checkpoints import parting
from backend.protocols.units.scheduler_effects import GrantLease, LeaseId, UnitId
from backend.server.observers import task_events
from backend.server.observers.task_events import TaskEvent
from backend.server.units.state import LeasedUnit, UnitsState
from backend.server.units.work_generator import past_steps, planned_work

KEPT_UNITS = 1000
KEPT_BYTES = 256 << 20
# The verdict on results of a unit that was in the model until a trusted peer refuted its client elsewhere.
TAKEN_OUT = "taken_out"


@dataclass
class ResultFacts:
    """A result of a unit: `sha256` of its update once it arrived, `verdict` once it is judged.

    The verdict is `valid`, TAKEN_OUT, or the code of a refusal. `start` is `given` if its training began at
    the unit's weights. `checkpoints` are as in `protocols.replay.checkpoints`.
    """

    client: str
    kind: str
    backend: str
    start: str
    steps: int | None = None
    sha256: str | None = None
    verdict: str | None = None
    checkpoints: list[str] = field(default_factory=list)


@dataclass
class _UnitRecord:
    """A unit as it was leased; `weights` is the address of its base once that is written.

    `provisional` is the client of the result in the model, if that may be taken out again.
    """

    grant: GrantLease
    epoch: int
    past_steps: int
    weights: str | None = None
    kept: bool = True
    results: dict[LeaseId, ResultFacts] = field(default_factory=dict)
    provisional: str | None = None

    def is_of(self, grant: GrantLease) -> bool:
        """Whether a later lease is of the same work."""
        mine = self.grant
        return (mine.base, mine.first, mine.examples) == (grant.base, grant.first, grant.examples)


class UnitRecords:
    """An observer of its task's units. Owns their records, and its holds of their weights."""

    def __init__(self, state: UnitsState, kept_bytes: int = KEPT_BYTES) -> None:
        self._state = state
        self._kept_bytes = kept_bytes
        # Oldest first.
        self._units: dict[UnitId, _UnitRecord] = {}
        self._bases: Counter[int] = Counter()

    def notice(self, task: str, event: TaskEvent) -> None:
        """See Observer."""
        del task
        match event:
            case task_events.UnitLeased():
                self._leased(event.lease, self._state.leases[event.lease])
            case task_events.UnitReturned():
                work = self._state.leases[event.lease]
                self._state.background.spawn(self._returned(event.lease, work, work.update))
            case task_events.UnitCounted():
                self._judged(event.lease, "valid")
            case task_events.ResultsTakenOut():
                self._taken_out(event.client, event.results)
            case task_events.UnitRejected():
                self._judged(event.lease, event.code)

    async def facts(self, unit: UnitId) -> dict[str, Any]:
        """Returns a unit's facts as JSON (docs/reference/http.md). Raises NotFoundError without a record."""
        record = self._units.get(unit)
        if record is None:
            raise NotFoundError(
                f"There is no record of unit {unit}: this server has those of the last "
                f"{len(self._units)} units that it gave to clients since it started."
            )
        if record.weights is None:
            await self._write_weights(record)
        return {
            "unit": unit,
            "epoch": record.epoch,
            "work": self._work(record),
            "kept": record.kept,
            "results": [self._told(record, result) for result in record.results.values()],
        }

    def _told(self, record: _UnitRecord, result: ResultFacts) -> dict[str, Any]:
        """Returns a result; one that is `invalid` with where it parts from a valid one, if both told that."""
        others = (one for one in record.results.values() if one.verdict == "valid" and one.checkpoints)
        valid = next(others, None) if result.verdict == "invalid" else None
        steps = planned_work(self._state.task, record.grant).steps
        parts = valid and parting(steps, result.checkpoints, valid.checkpoints)
        return {**asdict(result), "parts": parts and asdict(parts)}

    def _work(self, record: _UnitRecord) -> dict[str, Any]:
        task, grant = self._state.task, record.grant
        return {
            "bundle": task.bundle.address,
            "weights": record.weights,
            "shard": task.shards.train[grant.shard].sha256,
            "first": grant.first,
            "examples": grant.examples,
            "seed": grant.seed,
            "steps": planned_work(task, grant).steps,
            "batch_size": task.batch_size,
            "learning_rate": task.learning_rate,
            "past_steps": record.past_steps,
            "first_step": grant.first_step,
            "proximal_mu": task.file.training.proximal_mu,
        }

    def _leased(self, lease: LeaseId, work: LeasedUnit) -> None:
        grant = work.grant
        record = self._units.get(grant.unit)
        if record is None or not record.is_of(grant):
            self._forget(grant.unit)
            record = _UnitRecord(grant, grant.epoch, past_steps(self._state.task, grant))
            self._units[grant.unit] = record
            self._bases[grant.base] += 1
            self._state.snapshots.hold(_holder(grant.unit), grant.base, self._state.model.weights)
            self._state.background.spawn(self._write_weights(record))
            self._make_room()
        record.results[lease] = ResultFacts(grant.client, work.kind, work.backend, work.start)

    async def _write_weights(self, record: _UnitRecord) -> None:
        base = record.grant.base
        record.weights = await self._state.background.stored(lambda: self._state.snapshots.address(base))

    async def _returned(self, lease: LeaseId, work: LeasedUnit, update: Vector | None) -> None:
        facts = self._facts_of(lease, work)
        if facts is None or work.result is None:
            return
        facts.steps, facts.checkpoints = work.result.steps, work.result.checkpoints
        if update is not None:
            facts.sha256 = await asyncio.to_thread(lambda: hashlib.sha256(to_bytes(update)).hexdigest())

    def _judged(self, lease: LeaseId, verdict: str) -> None:
        work = self._state.leases.get(lease)
        if work is not None and (facts := self._facts_of(lease, work)) is not None:
            facts.verdict = verdict
            if work.provisional:
                self._units[work.grant.unit].provisional = facts.client

    def _taken_out(self, client: str, results: int) -> None:
        """Marks the newest units with a provisional result of a client; older ones stay permanently."""
        records = [one for one in self._units.values() if one.provisional == client]
        for facts in [facts for one in records[-results:] for facts in one.results.values()]:
            # Those that agreed with what is out of the model now are not known to be right, either.
            facts.verdict = TAKEN_OUT if facts.verdict == "valid" else facts.verdict

    def _facts_of(self, lease: LeaseId, work: LeasedUnit) -> ResultFacts | None:
        record = self._units.get(work.grant.unit)
        return None if record is None else record.results.get(lease)

    def _make_room(self) -> None:
        """Forgets the oldest units, and before them the weights of older ones."""
        while len(self._units) > KEPT_UNITS:
            self._forget(next(iter(self._units)))
        kept = [unit for unit, record in self._units.items() if record.kept]
        for unit in kept[:-1]:
            if len(self._bases) * 4 * self._state.size <= self._kept_bytes:
                break
            self._release(unit)

    def _forget(self, unit: UnitId) -> None:
        if unit in self._units:
            self._release(unit)
            del self._units[unit]

    def _release(self, unit: UnitId) -> None:
        record = self._units[unit]
        if not record.kept:
            return
        record.kept = False
        self._state.snapshots.release(_holder(unit))
        self._bases[record.grant.base] -= 1
        self._bases += Counter()


def _holder(unit: UnitId) -> tuple[str, UnitId]:
    """Returns the user of the snapshot store that holds a unit's weights for replays."""
    return ("replay", unit)
