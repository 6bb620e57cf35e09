"""Trains for real in a trial, with the peer's trainer and graphs and simulated durations."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from backend.crypto.random_words import keyed_words
from backend.errors import SettingsError
from backend.numerics.vectors import Vector
from backend.peer.data.shards import Examples, join_shards, read_shard
from backend.peer.training.evaluator import HoldoutEvaluator
from backend.peer.training.graphs import import_graphs, open_bundle
from backend.peer.training.measurer import VersionMeasurer
from backend.peer.training.protection import protected
from backend.peer.training.step import never, read_totals
from backend.peer.training.trainer import Control, Trainer, TrainingPlan
from backend.server.observers.task_events import RoundEnded, TaskEvent
from backend.server.tasks.task import Task
from backend.simulation.client_work import MeasurementFindings, SimulatedUpdate
from backend.simulation.synthetic_training import SyntheticTraining
from backend.stores.contracts import BlobStore, VersionRecord
from backend.wire.messages import Evaluate, Shard, Train


@dataclass(frozen=True)
class CurvePoint:
    """One version, `hours` of virtual time after version 0.

    `loss` and `metrics` are measured on held-out examples; without these, `loss` is None. `trained_loss` is
    the loss of clients during training, None for version 0.
    """

    version: int
    hours: float
    trained_loss: float | None
    loss: float | None
    metrics: dict[str, float]


class TensorFlowTraining(SyntheticTraining):
    """Trains for all clients of a trial, in sequence. Implements WorkModel and Observer.

    Sizes, step counts and durations are those of synthetic training. `steps_trained` and `seconds` measure
    the real work. Owns the clients' control variates, and the paths of all available vectors.
    """

    def __init__(self, task: Task, blobs: BlobStore, seed: int) -> None:
        super().__init__(task.bundle.manifest, (*task.shards.train, *task.shards.measured), seed)
        graphs = import_graphs(open_bundle(task.bundle.folder, ["train", "apply", "evaluate"]), "cpu")
        self.steps_trained = 0
        self.seconds = 0.0
        self._blobs = blobs
        self._graphs = graphs
        self._trainer = Trainer(graphs)
        self._measurer = VersionMeasurer(graphs)
        self._sizes = task.bundle.manifest.parameters
        self._holdout = task.shards.holdout
        self._paths: dict[str, Path] = {}
        self._examples: dict[str, Examples] = {}
        self._variates: dict[str, Vector] = {}
        self._changes: dict[str, tuple[int, Vector]] = {}
        self._finding: set[asyncio.Task[None]] = set()

    def with_examples(self, examples: int, held_out: int) -> TensorFlowTraining:
        """Returns itself: clients have no examples of their own in real training."""
        del examples, held_out
        return self

    async def find(self, addresses: Sequence[str | None]) -> None:
        """Looks up the paths of blobs that plans may refer to."""
        for address in addresses:
            if address is not None:
                self._paths[address] = await self._blobs.path(address)

    def notice(self, _task: str, event: TaskEvent) -> None:
        """See Observer: makes a new version readable before any client learns of it."""
        if isinstance(event, RoundEnded) and event.version is not None:
            finding = asyncio.create_task(self.find([event.version.weights, event.version.control]))
            self._finding.add(finding)
            finding.add_done_callback(self._finding.discard)

    def train(self, client: str, plan: Train, steps: int) -> SimulatedUpdate:
        """See WorkModel."""
        started = time.perf_counter()
        control = None
        if plan.control is not None:
            own = self._variates.get(client, np.zeros(self._sizes.trainable, np.float32))
            control = Control(self._vector(plan.control), own)
        result = self._trainer.train(
            self._vector(plan.weights),
            TrainingPlan(
                epochs=plan.epochs,
                learning_rate=plan.learning_rate,
                seed=plan.seed,
                steps=plan.steps,
                batch_size=plan.batch_size,
                past_steps=plan.past_steps,
                proximal_mu=plan.proximal_mu,
                control=control,
            ),
            self._shards(plan.shards),
            lambda done, _: done >= steps,
            lambda _: None,
        )
        # Noise comes from the seed, because a run must be reproducible.
        key = hashlib.sha256(f"{self._seed}/{client}/{plan.round}".encode()).digest()
        result = protected(result, plan.privacy, keyed_words(key))
        if result.change is not None:
            self._changes[client] = plan.round, result.change
        self.steps_trained += result.steps
        self.seconds += time.perf_counter() - started
        return SimulatedUpdate(result.content(), result.examples, result.steps, result.loss, result.sums)

    def measure(self, client: str, evaluation: Evaluate) -> MeasurementFindings:
        """See WorkModel."""
        del client
        totals = self._measurer.totals(
            self._vector(evaluation.weights), self._shards(evaluation.shards), never
        )
        return MeasurementFindings(*read_totals(totals))

    def keep(self, client: str, number: int, *, undo: bool) -> None:
        """See WorkModel."""
        made_in, change = self._changes[client]
        assert made_in == number  # noqa: S101 - a client has one update at a time.
        own = self._variates.get(client, np.zeros_like(change))
        self._variates[client] = own - change if undo else own + change

    def curve(self, versions: Sequence[VersionRecord]) -> list[CurvePoint]:
        """Measures all versions on the held-out shards."""
        evaluator = self._evaluator()
        return [self._point(record, versions[0].created, evaluator) for record in versions]

    def _point(self, record: VersionRecord, started: float, evaluator: HoldoutEvaluator | None) -> CurvePoint:
        evaluation = (
            None if evaluator is None else evaluator.evaluate(record.version, self._vector(record.weights))
        )
        return CurvePoint(
            version=record.version,
            hours=(record.created - started) / 3600,
            trained_loss=record.loss,
            loss=evaluation.loss if evaluation else None,
            metrics=evaluation.metrics if evaluation else record.metrics,
        )

    def _evaluator(self) -> HoldoutEvaluator | None:
        manifest = self._graphs.manifest
        shards = [read_shard(path.read_bytes(), manifest) for path in self._holdout]
        return HoldoutEvaluator(self._graphs, join_shards(shards)) if shards else None

    def _vector(self, address: str) -> Vector:
        return np.fromfile(self._paths[address], "<f4")

    def _shards(self, wanted_shards: Sequence[Shard]) -> Examples:
        for shard in wanted_shards:
            if shard.sha256 not in self._examples:
                content = self._paths[shard.sha256].read_bytes()
                self._examples[shard.sha256] = read_shard(content, self._graphs.manifest)
        return join_shards([self._examples[shard.sha256] for shard in wanted_shards])


async def open_tensorflow_training(task: Task, blobs: BlobStore, seed: int) -> TensorFlowTraining:
    """Opens real training for a task.

    Raises SettingsError if the data are not on this machine, PeerError without TensorFlow, or BundleError.
    """
    if task.file.data.own is not None:
        raise SettingsError(
            "--train needs data, and this task's stays with its volunteers; leave it out to try the plan "
            "alone."
        )
    if task.shards.from_url:
        raise SettingsError(
            "--train needs data on this machine, and this task's are fetched by its clients; leave it out to "
            "try the plan alone."
        )
    native = TensorFlowTraining(task, blobs, seed)
    shards = [shard.sha256 for shard in (*task.shards.train, *task.shards.measured)]
    await native.find([task.bundle.weights, task.zero_control, *shards])
    return native
