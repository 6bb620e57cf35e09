"""Checks a task file against its model and its data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec

from backend.errors import TaskFileError
from backend.formats.exact_program import ExactProgram
from backend.formats.manifest import KERAS_FILE, Manifest
from backend.formats.task_file import TaskFile, exactness
from backend.formats.task_file.rules.byzantine import shards_conflict
from backend.formats.task_file.rules.recipes import accumulation_conflict, buffer_conflict, optimizer_conflict

PIN = "`minga task pin FOLDER` with the folder of the task"


def check_task(file: TaskFile, manifest: Manifest, server_holdout: bool, client_holdout: bool) -> None:
    """Raises TaskFileError that says what to change.

    `server_holdout` says whether the server has held-out shards to evaluate on, `client_holdout` whether
    clients have them.
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
    if pins := missing_pins(file, manifest):
        raise TaskFileError(f"{where}: {pins}")
    check_recipe(file, manifest)
    check_rule(file)
    _check_integrity(file, manifest, server_holdout)
    _check_privacy(file, manifest)
    _check_schedule(file, manifest)
    if file.fraction_evaluate > 0.0 and not client_holdout and not file.data.own:
        raise TaskFileError(
            f"{where}: coordination.fraction_evaluate needs a held-out shard for clients to measure on. "
            "Cut the data with one, or leave it out."
        )
    by_clients = client_holdout or file.data.own is not None
    _check_stop(file, manifest, server_holdout or (by_clients and file.fraction_evaluate > 0.0))


def check_recipe(file: TaskFile, manifest: Manifest, shards: Sequence[int] | None = None) -> None:
    """Raises TaskFileError if the recipe of work units does not fit the clients' optimizer.

    With `shards`, the number of rows of each, neither may its buffer be larger than an epoch, nor may they be
    more than members of a mesh can be told of.
    """
    plain = manifest.optimizer.plain and file.training.proximal_mu == 0.0
    accumulated = int(manifest.optimizer.hyperparameters.get("gradient_accumulation_steps", 0))
    conflict = optimizer_conflict(file, plain) or accumulation_conflict(file, accumulated)
    if shards is not None:
        conflict = conflict or buffer_conflict(file, shards, file.training.batch_size or manifest.batch_size)
        conflict = conflict or shards_conflict(file, len(shards))
    if conflict:
        raise TaskFileError(f"{file.name}: {conflict}")


def missing_pins(file: TaskFile, manifest: Manifest) -> str | None:
    """Says how to pin the bundle if the task requires exactness and its bundle has no pins."""
    if exactness(file) != "required" or manifest.exact is not None:
        return None
    return (
        'training.exact = "required" needs a bundle that is pinned to the program which computes it, and '
        f"this one has no pins. Run {PIN}."
    )


def check_program(file: TaskFile, manifest: Manifest, program: ExactProgram | None) -> None:
    """Raises TaskFileError if no page of this server, whose own is `program`, could take part."""
    if exactness(file) != "required" or manifest.exact is None:
        return
    if program is None:
        raise TaskFileError(
            f'{file.name}: training.exact = "required" has browsers compute by the built web app, which this '
            "server lacks. Run `make build`."
        )
    if program.program != manifest.exact.program:
        raise TaskFileError(
            f"{file.name}: its bundle is pinned to the program {manifest.exact.program[:12]}, and this "
            f"server has {program.program[:12]}. Run {PIN}: the task then continues with this server's "
            "program."
        )


def noisy_norm_bound(file: TaskFile, manifest: Manifest) -> int:
    """Returns a `max_update_norm` that accepts updates with the task's local noise; 0 without noise."""
    privacy = file.privacy
    if privacy is None or privacy.mechanism != "local":
        return 0
    return math.ceil(1.2 * _expected_norm(file, manifest))


def _expected_norm(file: TaskFile, manifest: Manifest) -> float:
    privacy = file.privacy
    if privacy is None:
        return 0.0
    return privacy.clip * (1.0 + privacy.noise_multiplier * math.sqrt(manifest.parameters.total))


def check_rule(file: TaskFile) -> None:
    """Raises TaskFileError if this machine lacks what the robust rule needs."""
    robust = file.security.robust
    if robust is not None and robust.rule == "flame" and find_spec("sklearn") is None:
        raise TaskFileError(
            f'{file.name}: security.robust.rule = "flame" needs scikit-learn on this machine. Install it: '
            "pip install 'minga[robust]'; or take another rule, such as \"multi-krum\"."
        )


def _check_integrity(file: TaskFile, manifest: Manifest, server_holdout: bool) -> None:
    """Raises TaskFileError if this machine cannot check the task's versions."""
    if file.security.integrity is None:
        return
    if find_spec("tensorflow") is None or find_spec("sklearn") is None:
        raise TaskFileError(
            f"{file.name}: [security.integrity] needs TensorFlow and scikit-learn on this machine. Install "
            "them: pip install 'minga[convert]'; or leave the table out."
        )
    if KERAS_FILE not in manifest.files:
        raise TaskFileError(
            f"{file.name}: [security.integrity] measures the Keras model, which its bundle lacks. Convert "
            "the task again, or leave the table out."
        )
    if not server_holdout and (file.data.shards is None or file.data.own is not None):
        raise TaskFileError(
            f"{file.name}: [security.integrity] measures versions on examples of the server, which has none. "
            "Cut some as held-out shards, or leave the table out."
        )


def _check_privacy(file: TaskFile, manifest: Manifest) -> None:
    """Raises TaskFileError if the model cannot be noised, or noised updates would all be refused."""
    privacy, where = file.privacy, file.name
    if privacy is None:
        return
    if manifest.parameters.state:
        raise TaskFileError(
            f"{where}: [privacy] cannot be combined with a model that keeps statistics of its data "
            "(BatchNormalization): noise would make variances negative. Take GroupNormalization or "
            "LayerNormalization instead."
        )
    expected = _expected_norm(file, manifest)
    if privacy.mechanism == "local" and file.security.max_update_norm < 1.1 * expected:
        raise TaskFileError(
            f"{where}: updates with local noise have norms of about {expected:.4g}, and "
            f"security.max_update_norm takes {file.security.max_update_norm:g}. Raise it to "
            f"{noisy_norm_bound(file, manifest)}."
        )


def _check_schedule(file: TaskFile, manifest: Manifest) -> None:
    training, where = file.training, file.name
    if training.learning_rate is not None and manifest.optimizer.schedule is not None:
        raise TaskFileError(
            f"{where}: training.learning_rate cannot be combined with a schedule; set the schedule's own."
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
