"""Keeps the history of a task's versions: the current one, computing the next, recording all."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise, starmap
from typing import Any

import numpy as np

from backend.errors import GoneError, NotFiniteError, NotFoundError, StoreError
from backend.formats.task_file import Checkpoints
from backend.numerics.aggregation.server_optimizers import no_state
from backend.numerics.aggregation.update_checks import all_finite
from backend.numerics.scaffold import ControlChanges
from backend.numerics.vectors import Vector, Vector64, from_bytes, to_bytes
from backend.protocols.rounds.stop_rules import RunProgress, Source, StopRules
from backend.server.tasks.task import Task
from backend.server.versions.checkpoints import Checkpoint, checkpoint_write, read_checkpoint
from backend.server.versions.retention import best_version, removal, to_let_go
from backend.server.versions.version_checks import VersionChecks
from backend.stores.contracts import (
    AssimilationRecord,
    BlobStore,
    ContributionRecord,
    EvaluationRecord,
    MeshGroupRecord,
    Records,
    ReputationRecord,
    RoundRecord,
    RoundResult,
    VersionRecord,
)


@dataclass(frozen=True)
class StoredVersion:
    """A version with its weights [parameters], the server optimizer's state and the control variate."""

    record: VersionRecord
    weights: Vector
    state: Vector
    control: Vector | None


class VersionHistory:
    """Owns the current version of one task, in memory and in the stores. Only the task's host uses it.

    `addresses` are those of all versions' blobs that clients fetch. `lost` bounds the number of rounds that
    were open, and are not recorded, when earlier servers ended; `is_resumed` says whether one began the run.
    `repeats` is the number of versions of a masked task that equal the one before: no round was summed.
    `checked` is the number of recorded rounds in which updates of an identity were checked in its probation.
    """

    def __init__(self, task: Task, records: Records, blobs: BlobStore, run: int) -> None:
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
        self.checks = VersionChecks(
            task.file.security.integrity, records, run, lambda: self.versions, lambda: self.evaluations
        )
        self.evaluated: dict[Source, dict[int, EvaluationRecord]] = {"server": {}, "clients": {}}
        self.addresses: set[str] = set()
        self.accepted: dict[str, int] = {}
        self.checked: dict[str, int] = {}
        self.round = 0
        self.lost = 0
        self.is_resumed = False
        self.repeats = 0
        self._seconds = 0.0

    @property
    def run(self) -> int:
        """The number of this run of the task in the records."""
        return self._run

    @property
    def current(self) -> VersionRecord:
        """The newest version."""
        return self.versions[-1]

    @property
    def run_name(self) -> str:
        """The run's name for clients; it changes when a task starts over in another data folder."""
        task, zero = self._task, self.versions[0]
        words = f"minga/run {task.file.name} {task.bundle.address} {zero.weights} {zero.created!r}"
        return hashlib.sha256(words.encode()).hexdigest()

    @property
    def weights(self) -> Vector:
        """Weights of the newest version; read-only for callers."""
        return self._params

    @property
    def evaluations(self) -> dict[int, EvaluationRecord]:
        """The evaluation of each evaluated version: the server's or, without one, the clients'."""
        return {**self.evaluated["clients"], **self.evaluated["server"]}

    @property
    def checkpoints(self) -> Checkpoints:
        """Which versions' files are kept."""
        return self._task.file.checkpoints

    @property
    def best(self) -> EvaluationRecord | None:
        """The evaluation of the best version that may be offered, with files; None if none was evaluated."""
        evaluations, promotion = self.evaluations, self.checks.promotion
        if promotion is not None:
            evaluations = {n: one for n, one in evaluations.items() if promotion.is_cleared(n)}
        number = best_version(self.versions, evaluations)
        return None if number is None else evaluations[number]

    def progress(self, rules: StopRules) -> RunProgress:
        """Returns the progress of the run so far, by its records, for its stop rules."""
        progress = RunProgress(rules, self._seconds)
        for version, evaluation in sorted(self.evaluated[rules.source].items()):
            progress.measured(version, evaluation.source, evaluation.loss, evaluation.metrics)
        return progress

    async def open(self, now: float) -> None:
        """Resumes the run from its records, or starts it with version 0. Raises StoreError."""
        zero = VersionRecord(
            0, 0, self._task.bundle.weights, None, 0, 0, None, {}, 0.0, now, control=self._task.zero_control
        )
        self.is_resumed = bool(await self._records.versions(self._run))
        await self._records.add_first_version(self._run, zero)
        self.versions = await self._records.versions(self._run)
        self.repeats = sum(starmap(self._is_repeat, pairwise(self.versions)))
        self.addresses = set().union(*map(fetched_addresses, self.versions))
        await self.checks.open()
        for evaluation in await self._records.evaluations(self._run):
            self.evaluated[evaluation.source][evaluation.version] = evaluation
        self.accepted = {each.client: each.accepted for each in await self.contributions()}
        self.checked = await self._records.checked(self._run)
        rounds = await self._records.rounds(self._run)
        self.round = rounds[-1].round if rounds else 0
        self.lost = await self._records.openings(self._run) - 1
        self._seconds = math.fsum(record.seconds for record in rounds)
        size = self._task.bundle.manifest.parameters
        data = await self._read(self.current.weights, "weights")
        if len(data) != 4 * size.total:
            raise StoreError(f"Version {self.current.version} has the wrong length; restore the data folder.")
        self._params = from_bytes(data, size.total)
        if self.current.state is not None:
            state = await self._read(self.current.state, "server optimizer's state")
            self._state = np.frombuffer(state, dtype="<f4").astype(np.float32)
        if self._task.zero_control is not None:
            controls = [each.control for each in self.versions if each.control and each.let_go is None]
            self.control_at = controls[-1] if controls else self._task.zero_control
            self._control = from_bytes(await self._blobs.read(self.control_at, verify=True), size.trainable)

    def control_changes(self) -> ControlChanges | None:
        """Returns an empty sum for a round's changes of control variates; None without SCAFFOLD."""
        return None if self._control is None else ControlChanges(self._control, self._task.learning_rate)

    async def _read(self, address: str, what: str) -> bytes:
        try:
            return await self._blobs.read(address, verify=True)
        except NotFoundError as error:
            raise StoreError(
                f"A file of version {self.current.version} is missing from the data folder: its {what}, "
                f"blob {address}. Restore it from a backup."
            ) from error

    def next_version(self, mean: Vector64) -> tuple[Vector, Vector]:
        """Returns weights and optimizer state after a step with the updates' `mean`; changes nothing.

        Takes too long for the event loop: call it in a thread.

        Raises NotFiniteError when the weights overflow.
        """
        trainable = self._task.bundle.manifest.parameters.trainable
        params, state = self._optimizer(self._params, mean, self._state, trainable)
        if not all_finite(params) or not all_finite(state):
            raise NotFiniteError("The new version would hold infinity. Lower the server's learning rate.")
        return params, state

    def next_control(self, changes: ControlChanges | None, clients: Collection[str]) -> Vector | None:
        """Returns the server's control variate after a round that accepted updates of `clients`.

        It is the mean over all clients with an accepted update so far. Raises NotFiniteError.
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
        examples: int,
        loss: float | None,
        metrics: dict[str, float],
        round_record: RoundRecord,
        contributions: Sequence[ContributionRecord],
        control: Vector | None = None,
        privacy: dict[str, Any] | None = None,
        checkpoint: Checkpoint | None = None,
        mesh_groups: list[MeshGroupRecord] | None = None,
        reputations: Mapping[str, ReputationRecord | None] | None = None,
        checked: Collection[str] = (),
    ) -> VersionRecord:
        """Records a version trained on `examples` examples, with its round and contributions.

        Records the `checkpoint` of work units with it, the groups of a mesh, changed `reputations`, or the
        identities of newcomers whose updates were `checked`. On return the version is the current one.
        """
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
                examples=examples,
                loss=loss,
                metrics=metrics,
                seconds=round_record.seconds,
                created=round_record.ended,
                control=control_at,
                privacy=privacy,
            )
            result = RoundResult(
                round_record,
                list(contributions),
                version,
                mesh_groups,
                reputations or {},
                sorted(set(checked)),
            )
            if checkpoint is None:
                await self._records.record(self._run, result)
            else:
                write = await checkpoint_write(writing, checkpoint)
                freed = await self._records.write_checkpoint(self._run, write, result)
                await self._drop(freed)
        self._params, self._state = weights, state
        self._control, self.control_at = control, control_at
        self.repeats += self._is_repeat(self.current, version)
        self.versions.append(version)
        self.addresses |= fetched_addresses(version)
        self.round = round_record.round
        self._seconds += round_record.seconds
        for each in contributions:
            self.accepted[each.client] = self.accepted.get(each.client, 0) + each.accepted
        return version

    async def add_again(
        self,
        earlier: StoredVersion,
        reason: str,
        now: float,
        checkpoint: Checkpoint | None = None,
        mesh_groups: list[MeshGroupRecord] | None = None,
    ) -> VersionRecord:
        """Records an earlier version as the next one, in a round without members, for a `reason`."""
        record = RoundRecord(self.round + 1, self.current.version, 0, 0, 0, "version", reason, 0.0, now)
        results = 0, earlier.record.loss, earlier.record.metrics
        # The privacy terms of a version hold for later versions, too.
        return await self.add_version(
            earlier.weights,
            earlier.state,
            *results,
            record,
            [],
            earlier.control,
            self.current.privacy,
            checkpoint,
            mesh_groups,
        )

    def _is_repeat(self, before: VersionRecord, version: VersionRecord) -> bool:
        """Whether `version` is the one before again, as after a masked round that was not unmasked."""
        is_masked = "masked" in self._task.file.security.aggregation
        return is_masked and not version.accepted and version.weights == before.weights

    async def read_version(self, number: int) -> StoredVersion:
        """Reads an earlier version, for a roll-back. Raises NotFoundError, GoneError or StoreError."""
        record = next((each for each in self.versions if each.version == number), None)
        if record is None:
            raise NotFoundError(f"There is no version {number}; the newest is {self.current.version}.")
        if record.let_go is not None:
            raise GoneError(f"{removal(record, self.checkpoints)} Choose a stored one.")
        size = self._task.bundle.manifest.parameters
        weights = from_bytes(await self._read(record.weights, "weights"), size.total)
        state, control = no_state(), None
        if record.state is not None:
            data = await self._read(record.state, "server optimizer's state")
            state = np.frombuffer(data, dtype="<f4").astype(np.float32)
        if self._task.zero_control is not None:
            at = record.control or self._task.zero_control
            control = from_bytes(await self._read(at, "control variate"), size.trainable)
        return StoredVersion(record, weights, state, control)

    def current_version(self) -> StoredVersion:
        """Returns the newest version, as a roll-back to it would read it."""
        return StoredVersion(self.current, self._params, self._state, self._control)

    async def add_abandoned(
        self,
        round_record: RoundRecord,
        contributions: Sequence[ContributionRecord],
        checkpoint: Checkpoint | None = None,
        reputations: Mapping[str, ReputationRecord | None] | None = None,
        checked: Collection[str] = (),
    ) -> None:
        """Records a round without version, with the `checkpoint` of work units or changed `reputations`.

        `checked` has the identities of newcomers whose updates were checked.
        """
        result = RoundResult(
            round_record,
            list(contributions),
            reputations=reputations or {},
            checked=sorted(set(checked)),
        )
        if checkpoint is None:
            await self._records.record(self._run, result)
        else:
            await self.add_checkpoint(checkpoint, result)
        self.round = round_record.round
        self._seconds += round_record.seconds

    async def reputations(self) -> list[ReputationRecord]:
        """Returns the recorded reputations of clients in rounds. Raises StoreError."""
        return await self._records.reputations(self._run)

    async def write_reputations(self, changes: Mapping[str, ReputationRecord | None]) -> None:
        """Records these reputations; None removes one. Raises StoreError."""
        await self._records.write_reputations(self._run, changes)

    async def add_checkpoint(self, checkpoint: Checkpoint, result: RoundResult | None = None) -> None:
        """Records a checkpoint of a task of work units in place of the previous one."""
        with self._blobs.writing() as writing:
            write = await checkpoint_write(writing, checkpoint)
            freed = await self._records.write_checkpoint(self._run, write, result)
        await self._drop(freed)

    async def _drop(self, freed: Collection[str]) -> None:
        with suppress(StoreError):  # The record is written; the next start sweeps blobs that remain.
            await self._blobs.drop(freed)

    async def mesh_groups(self) -> list[MeshGroupRecord]:
        """Returns the groups of a mesh whose members can certify what follows."""
        return await self._records.mesh_groups(self._run)

    async def replace_mesh_groups(self, groups: Sequence[MeshGroupRecord]) -> None:
        """Records these groups in place of the earlier ones."""
        await self._records.replace_mesh_groups(self._run, groups)

    async def last_checkpoint(self) -> Checkpoint | None:
        """Reads the last checkpoint; None before the first. Raises StoreError."""
        record = await self._records.checkpoint(self._run)
        return None if record is None else await read_checkpoint(record, self._read)

    async def assimilations(self, after: int = 0, last: int | None = None) -> list[AssimilationRecord]:
        """Returns the newest `last` (all for None) of the assimilated results after number `after`."""
        return await self._records.assimilations(self._run, after, last)

    async def add_measurement(self, number: int, evaluation: EvaluationRecord) -> None:
        """Records an evaluation of the model after assimilated result `number`."""
        await self._records.add_measurement(self._run, number, evaluation.loss, evaluation.metrics)

    async def add_evaluation(self, evaluation: EvaluationRecord) -> None:
        """Records an evaluation of a version."""
        await self._records.add_evaluation(self._run, evaluation)
        self.evaluated[evaluation.source][evaluation.version] = evaluation

    async def let_go(self, busy: Collection[int], now: float) -> list[int]:
        """Lets go of the versions that the task file no longer keeps, except those that are `busy`.

        Those that are offered, or wait for their check, stay, too. Returns the numbers of the others. They
        are marked before their blobs are dropped: blobs that remain after a crash are swept at the next
        start.
        """
        busy = {*busy, *self.checks.busy}
        numbers = to_let_go(self.versions, self.evaluations, self.checkpoints, busy)
        if numbers:
            freed = await self._records.let_go(self._run, numbers, now)
            self.versions = [
                replace(each, let_go=now) if each.version in numbers else each for each in self.versions
            ]
            await self._blobs.drop(freed)
        return numbers

    async def rounds(self, after: int, last: int | None, before: int | None = None) -> list[RoundRecord]:
        """Returns the newest `last` (all for None) rounds after `after` and before `before`, oldest first."""
        return await self._records.rounds(self._run, after, last, before)

    async def all_rounds(self) -> list[RoundRecord]:
        """Returns all rounds, oldest first."""
        return await self._records.rounds(self._run)

    async def contributions(self, client: str | None = None) -> list[ContributionRecord]:
        """Returns the summed contributions of each client, or of one."""
        return await self._records.contributions(self._run, client)


def fetched_addresses(version: VersionRecord) -> set[str]:
    """Returns the addresses of a version's blobs that clients fetch."""
    return {version.weights} | ({version.control} if version.control else set())
