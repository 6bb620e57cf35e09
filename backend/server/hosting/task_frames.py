"""What a task tells its clients, whether the server averages or they do it among themselves."""

from __future__ import annotations

from collections.abc import Iterable

from backend.formats.shard_index import ShardFile
from backend.protocols.mesh import coordinator_effects
from backend.protocols.rounds import effects
from backend.server.tasks.task import Task
from backend.stores.contracts import EvaluationRecord, VersionRecord
from backend.wire import messages as say
from backend.wire.masked import Masking


def train(
    task: Task,
    order: effects.SendRoundTrain | coordinator_effects.SendMeshTrain,
    weights: str,
    control: str | None = None,
    masking: Masking | None = None,
) -> say.Train:
    """What a client is to do, from the `weights` and with the `control` variate at these addresses."""
    return say.Train(
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
        shards=_shards(task.shards.train[number] for number in order.shards),
        seconds=order.seconds,
    )


def evaluate(task: Task, order: effects.SendEvaluate, weights: str) -> say.Evaluate:
    """What a client is to measure."""
    return say.Evaluate(
        round=order.round,
        version=order.version,
        weights=weights,
        shards=_shards(task.shards.measured[number] for number in order.shards),
        seconds=order.seconds,
    )


def made(version: VersionRecord) -> say.Version:
    """The next version is recorded."""
    return say.Version(
        version=version.version,
        round=version.round,
        weights=version.weights,
        accepted=version.accepted,
        examples=version.examples,
        loss=version.loss or 0.0,
        metrics=version.metrics,
    )


def evaluated(found: EvaluationRecord) -> say.Evaluated:
    """A version was measured on held-out examples."""
    return say.Evaluated(version=found.version, source=found.source, loss=found.loss, metrics=found.metrics)


def _shards(files: Iterable[ShardFile]) -> list[say.Shard]:
    return [say.Shard(sha256=file.sha256, examples=file.examples) for file in files]
