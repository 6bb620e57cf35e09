"""Builds the messages to clients that rounds on the server and in a mesh have in common."""

from __future__ import annotations

from collections.abc import Iterable

from backend.formats.shard_index import ShardFile
from backend.protocols.mesh import coordinator_effects
from backend.protocols.rounds import round_effects
from backend.server.tasks.task import Task
from backend.stores.contracts import EvaluationRecord, VersionRecord
from backend.wire import messages
from backend.wire.masked_messages import Masking


def train(
    task: Task,
    order: round_effects.SendRoundTrain | coordinator_effects.SendMeshTrain,
    weights: str,
    control: str | None = None,
    masking: Masking | None = None,
) -> messages.Train:
    """Builds a client's training order; `weights` and the `control` variate are addresses of blobs."""
    return messages.Train(
        round=order.round,
        version=order.version,
        weights=weights,
        epochs=task.epochs,
        steps=task.file.training.steps or 0,
        batch_size=task.batch_size,
        learning_rate=task.learning_rate,
        past_steps=task.past_steps(order.version),
        seed=order.seed,
        proximal_mu=task.file.training.proximal_mu,
        control=control,
        masking=masking,
        privacy=task.privacy,
        shards=shards(task.shards.train[number] for number in order.shards),
        seconds=order.seconds,
    )


def evaluate(task: Task, order: round_effects.SendEvaluate, weights: str) -> messages.Evaluate:
    """Builds a client's order to evaluate a version."""
    return messages.Evaluate(
        round=order.round,
        version=order.version,
        weights=weights,
        shards=shards(task.shards.measured[number] for number in order.shards),
        seconds=order.seconds,
    )


def made(version: VersionRecord) -> messages.Version:
    """Builds the announcement of a recorded version."""
    return messages.Version(
        version=version.version,
        round=version.round,
        weights=version.weights,
        accepted=version.accepted,
        examples=version.examples,
        loss=version.loss or 0.0,
        metrics=version.metrics,
    )


def evaluated(evaluation: EvaluationRecord) -> messages.Evaluated:
    """Builds the announcement of a version's evaluation on held-out examples."""
    return messages.Evaluated(
        version=evaluation.version, source=evaluation.source, loss=evaluation.loss, metrics=evaluation.metrics
    )


def shards(files: Iterable[ShardFile]) -> list[messages.Shard]:
    """Builds the list of shards that clients fetch."""
    return [messages.Shard(sha256=file.sha256, examples=file.examples) for file in files]
