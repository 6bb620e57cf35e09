"""Whether a task file asks for what its model and its data give."""

from __future__ import annotations

import math

from backend.errors import TaskFileError
from backend.formats.manifest import Manifest
from backend.formats.task_file import TaskFile


def check_task(file: TaskFile, manifest: Manifest, held: bool, measured: bool) -> None:
    """Raises TaskFileError with what to change.

    `held` says whether shards are held out for the server to measure on, `measured` whether for clients.
    """
    training, where = file.training, file.name
    if training.batch_size and training.batch_size > manifest.batch_size:
        raise TaskFileError(
            f"{where}: training.batch_size is {training.batch_size}, the bundle's {manifest.batch_size}. "
            "Lower it, or raise model.batch_size and convert again."
        )
    if training.control_variates and not manifest.optimizer.plain:
        raise TaskFileError(
            f"{where}: training.control_variates needs plain gradient descent. Convert with optimizer = "
            '{ name = "sgd" } without momentum, schedule, clipping, weight_decay or '
            "gradient_accumulation_steps, or take proximal_mu, which goes with every optimizer."
        )
    _check_privacy(file, manifest)
    _check_schedule(file, manifest)
    if file.fraction_evaluate > 0.0 and not measured and not file.data.own:
        raise TaskFileError(
            f"{where}: coordination.fraction_evaluate needs a held-out shard for clients to measure on. "
            "Cut the data with one, or leave it out."
        )
    by_clients = measured or file.data.own is not None
    _check_stop(file, manifest, held or (by_clients and file.fraction_evaluate > 0.0))


def roomy_norm(file: TaskFile, manifest: Manifest) -> int:
    """A `max_update_norm` that takes updates with the task's local noise; 0 without any."""
    privacy = file.privacy
    if privacy is None or privacy.mechanism != "local":
        return 0
    return math.ceil(1.2 * _usual_norm(file, manifest))


def _usual_norm(file: TaskFile, manifest: Manifest) -> float:
    privacy = file.privacy
    if privacy is None:
        return 0.0
    return privacy.clip * (1.0 + privacy.noise_multiplier * math.sqrt(manifest.parameters.total))


def _check_privacy(file: TaskFile, manifest: Manifest) -> None:
    """The model cannot be noised, or noised updates would all be refused."""
    privacy, where = file.privacy, file.name
    if privacy is None:
        return
    if manifest.parameters.state:
        raise TaskFileError(
            f"{where}: [privacy] does not go with a model that keeps statistics of its data "
            "(BatchNormalization): noise would make variances negative. Take GroupNormalization or "
            "LayerNormalization instead."
        )
    usual = _usual_norm(file, manifest)
    if privacy.mechanism == "local" and file.security.max_update_norm < 1.1 * usual:
        raise TaskFileError(
            f"{where}: updates with local noise have norms of about {usual:.4g}, and "
            f"security.max_update_norm takes {file.security.max_update_norm:g}. Raise it to "
            f"{roomy_norm(file, manifest)}."
        )


def _check_schedule(file: TaskFile, manifest: Manifest) -> None:
    training, where = file.training, file.name
    if training.learning_rate is not None and manifest.optimizer.schedule is not None:
        raise TaskFileError(
            f"{where}: training.learning_rate does not go with a schedule; set the schedule's own."
        )
    if file.data.own and manifest.optimizer.schedule is not None and not training.steps:
        raise TaskFileError(
            f"{where}: a learning-rate schedule needs training.steps here: how many steps volunteers' epochs "
            "take is not known."
        )


def _check_stop(file: TaskFile, manifest: Manifest, evaluated: bool) -> None:
    stop, where = file.coordination.stop, file.name
    if (stop.target or stop.patience) and not evaluated:
        raise TaskFileError(
            f"{where}: coordination.stop needs evaluations to look at. Cut the data with a held-out "
            "shard, or leave target and patience out."
        )
    names = {"loss", *(metric.name for metric in manifest.metrics)}
    if stop.target and stop.target.metric not in names:
        raise TaskFileError(
            f"{where}: coordination.stop.target names '{stop.target.metric}', which this model does not "
            f"measure. It has {', '.join(sorted(names))}."
        )
