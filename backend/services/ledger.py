"""The versions of one task: which is current, how the next is made, and where all are recorded."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from backend.errors import NotFiniteError, NotFoundError, StoreError
from backend.numerics.aggregate import WeightedMean
from backend.numerics.checks import all_finite
from backend.numerics.control import ControlChanges
from backend.numerics.server_optimizers import no_state
from backend.numerics.vectors import Vector, from_bytes, to_bytes
from backend.protocols.stopping import Progress, Source, StopRules
from backend.services.retention import to_let_go
from backend.services.task import Task
from backend.stores.contracts import (
    Blobs,
    Contribution,
    EvaluationRecord,
    Records,
    RoundRecord,
    RoundResult,
    VersionRecord,
)


class Ledger:
    """Owns the current version of one task, in memory and in the stores. Use by its host alone.

    `addresses` are those of all versions' blobs that clients fetch.
    """

    def __init__(self, task: Task, records: Records, blobs: Blobs, run: int) -> None:
        self._task = task
        self._records = records
        self._blobs = blobs
        self._run = run
        self._optimizer = task.server_optimizer()
        self._params: Vector = no_state()
        self._state: Vector = no_state()
        self._control: Vector | None = None
        self.control_at: str | None = None
        self.versions: list[VersionRecord] = []
        self.evaluated: dict[Source, dict[int, EvaluationRecord]] = {"server": {}, "clients": {}}
        self.addresses: set[str] = set()
        self.accepted: dict[str, int] = {}
        self.round = 0
        self._seconds = 0.0

    @property
    def current(self) -> VersionRecord:
        """The newest version."""
        return self.versions[-1]

    @property
    def evaluations(self) -> dict[int, EvaluationRecord]:
        """One evaluation of each version that has any: the server's, or else the clients'."""
        return {**self.evaluated["clients"], **self.evaluated["server"]}

    def progress(self, rules: StopRules) -> Progress:
        """What stop rules have seen of the run as it was opened."""
        progress = Progress(rules, self._seconds)
        for version, one in sorted(self.evaluated[rules.source].items()):
            progress.measured(version, one.source, one.loss, one.metrics)
        return progress

    async def open(self, now: float) -> None:
        """Takes up the run where it was left, or begins it with version 0. Raises StoreError."""
        zero = VersionRecord(
            0, 0, self._task.bundle.weights, None, 0, 0, None, {}, 0.0, now, control=self._task.zero_control
        )
        await self._records.add_first_version(self._run, zero)
        self.versions = await self._records.versions(self._run)
        self.addresses = set().union(*map(fetched_of, self.versions))
        for one in await self._records.evaluations(self._run):
            self.evaluated[one.source][one.version] = one
        self.accepted = {one.client: one.accepted for one in await self.contributions()}
        rounds = await self._records.rounds(self._run)
        self.round = rounds[-1].round if rounds else 0
        self._seconds = math.fsum(one.seconds for one in rounds)
        size = self._task.bundle.manifest.parameters
        data = await self._read(self.current.weights, "weights")
        if len(data) != 4 * size.total:
            raise StoreError(f"Version {self.current.version} has the wrong length; restore the data folder.")
        self._params = from_bytes(data, size.total)
        if self.current.state is not None:
            state = await self._read(self.current.state, "server optimizer's state")
            self._state = np.frombuffer(state, dtype="<f4").astype(np.float32)
        if self._task.zero_control is not None:
            kept = [one.control for one in self.versions if one.control and one.let_go is None]
            self.control_at = kept[-1] if kept else self._task.zero_control
            self._control = from_bytes(await self._blobs.read(self.control_at, verify=True), size.trainable)

    def control_changes(self) -> ControlChanges | None:
        """What sums up the changes of the clients' control variates in a round; None without such."""
        return None if self._control is None else ControlChanges(self._control, self._task.learning_rate)

    async def _read(self, address: str, what: str) -> bytes:
        try:
            return await self._blobs.read(address, verify=True)
        except NotFoundError as error:
            raise StoreError(
                f"A file of version {self.current.version} is missing from the data folder: its {what}, "
                f"blob {address}. Restore it from a backup."
            ) from error

    def next_version(self, mean: WeightedMean) -> tuple[Vector, Vector]:
        """Weights and optimizer state after `mean`; changes nothing. Long arithmetic, not for the loop.

        Raises NotFiniteError when the weights overflow.
        """
        trainable = self._task.bundle.manifest.parameters.trainable
        params, state = self._optimizer(self._params, mean.mean(), self._state, trainable)
        if not all_finite(params) or not all_finite(state):
            raise NotFiniteError("The new version would hold infinity. Lower the server's learning rate.")
        return params, state

    def next_control(self, changes: ControlChanges | None, clients: Collection[str]) -> Vector | None:
        """The server's control variate after a round in which updates of `clients` were accepted.

        Its changes count by the number of all clients that ever took part. Raises NotFiniteError.
        """
        if changes is None:
            return None
        before = {client for client, accepted in self.accepted.items() if accepted}
        control = changes.next_server(len(before), len(before.union(clients)))
        if not all_finite(control):
            raise NotFiniteError("The control variate would hold infinity. Raise the clients' learning rate.")
        return control

    async def add_version(
        self,
        weights: Vector,
        state: Vector,
        loss: float,
        metrics: dict[str, float],
        round_record: RoundRecord,
        contributions: Sequence[Contribution],
        control: Vector | None = None,
    ) -> VersionRecord:
        """Records a version with its round and contributions; from its return on it is the current one."""
        with self._blobs.writing() as writing:
            weights_at = await writing.put(await asyncio.to_thread(to_bytes, weights))
            state_at = await writing.put(await asyncio.to_thread(to_bytes, state)) if len(state) else None
            control_at = None
            if control is not None:
                control_at = await writing.put(await asyncio.to_thread(to_bytes, control))
            version = VersionRecord(
                version=self.current.version + 1,
                round=round_record.round,
                weights=weights_at,
                state=state_at,
                accepted=round_record.accepted,
                examples=sum(one.examples for one in contributions),
                loss=loss,
                metrics=metrics,
                seconds=round_record.seconds,
                created=round_record.ended,
                control=control_at,
            )
            await self._records.record(self._run, RoundResult(round_record, list(contributions), version))
        self._params, self._state = weights, state
        self._control, self.control_at = control, control_at
        self.versions.append(version)
        self.addresses |= fetched_of(version)
        self.round = round_record.round
        for one in contributions:
            self.accepted[one.client] = self.accepted.get(one.client, 0) + one.accepted
        return version

    async def add_abandoned(self, round_record: RoundRecord, contributions: Sequence[Contribution]) -> None:
        """Records a round that made no version."""
        await self._records.record(self._run, RoundResult(round_record, list(contributions)))

    async def add_evaluation(self, evaluation: EvaluationRecord) -> None:
        """Records what the evaluator found."""
        await self._records.add_evaluation(self._run, evaluation)
        self.evaluated[evaluation.source][evaluation.version] = evaluation

    async def let_go(self, busy: Collection[int], now: float) -> list[int]:
        """Lets go of versions that the task file keeps no longer, but for those that are `busy`.

        They are marked before their blobs are dropped: what a crash leaves is swept at the next start.
        """
        going = to_let_go(self.versions, self.evaluations, self._task.file.checkpoints, busy)
        if going:
            freed = await self._records.let_go(self._run, going, now)
            self.versions = [
                replace(one, let_go=now) if one.version in going else one for one in self.versions
            ]
            await self._blobs.drop(freed)
        return going

    async def rounds(self, after: int, last: int, before: int | None = None) -> list[RoundRecord]:
        """The newest `last` of the rounds after number `after` and before `before`, oldest first."""
        return await self._records.rounds(self._run, after, last, before)

    async def contributions(self) -> list[Contribution]:
        """Sums for each client."""
        return await self._records.contributions(self._run)


def fetched_of(version: VersionRecord) -> set[str]:
    """Addresses of the blobs of a version that clients fetch."""
    return {version.weights} | ({version.control} if version.control else set())
