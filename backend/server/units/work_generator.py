"""The work generator: which units an epoch has, and the settings of a task's scheduler."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator
from functools import partial

from backend.errors import TaskFileError
from backend.formats.task_file import Units
from backend.formats.task_file.units import AssimilationChoice, Downpour, Easgd, name_of, settings_of
from backend.numerics.aggregation.asynchronous import ASSIMILATIONS, Assimilate, warm_start
from backend.protocols.rounds.deadline import PlannedWork
from backend.protocols.units.rules import PaceRules, Rules, SizeRules, TrustRules
from backend.protocols.units.scheduler_effects import GrantLease, UnitId, WorkUnit
from backend.server.tasks.task import Task
from backend.server.units.parameters.parameter_server import Recipe
from backend.wire.unit_messages import Start

# A lease that says that it is at work holds for so many of its usual lengths.
MOST_LEASES_LONG = 4
# Leases shorter than these seconds would be lost to a short sleep of the device.
LEAST_SECONDS = 30.0


def units_of(task: Task) -> Units:
    """Its table of units. Raises TaskFileError where it has none."""
    units = task.file.coordination.units
    if units is None:
        raise TaskFileError(f"{task.file.name}: there are no work units in this task.")
    return units


def rules_of(task: Task) -> Rules:
    """How its units are dealt out."""
    units = units_of(task)
    trust = units.trust
    return Rules(
        replicas=trust.replicas,
        bound=units.bound,
        homogeneous=trust.homogeneous,
        sizes=SizeRules(seconds=0.0 if _has_fixed_size(task) else units.seconds, grain=task.batch_size),
        pace=PaceRules(
            usual=units.lease,
            least=min(LEAST_SECONDS, units.lease),
            most=MOST_LEASES_LONG * units.lease,
        ),
        trust=TrustRules(proven=trust.checked, quota=trust.quota, spot_checks=trust.spot_checks),
    )


def recipe_of(task: Task) -> Recipe:
    """What makes the task's way to assimilate, in whatever process."""
    return partial(_assimilation, units_of(task).assimilation)


def _assimilation(choice: AssimilationChoice) -> Assimilate:
    recipe = ASSIMILATIONS[name_of(choice)](**settings_of(choice))
    return warm_start(recipe, choice.warm_start) if choice.warm_start else recipe


def data_of(task: Task) -> str:
    """Other words for other shards to train on."""
    shards = "".join(shard.sha256 for shard in task.shards.train)
    return hashlib.sha256(shards.encode()).hexdigest()


def units_of_epoch(task: Task, epoch: int, first: UnitId) -> list[WorkUnit]:
    """All units of an epoch, numbered from `first`, in an order of its own."""
    pieces = [(shard, *piece) for shard in range(len(task.shards.train)) for piece in _pieces(task, shard)]
    random.Random(_seed(task, epoch)).shuffle(pieces)  # noqa: S311 - an order, no secret.
    return [
        WorkUnit(first + number, shard, examples, _seed(task, epoch, shard, row), row)
        for number, (shard, row, examples) in enumerate(pieces)
    ]


def _pieces(task: Task, shard: int) -> Iterator[tuple[int, int]]:
    """First row and number of rows of each unit of a shard."""
    units, chosen = units_of(task), units_of(task).assimilation
    rows = task.shards.train[shard].examples
    each = units.rows or rows
    if isinstance(chosen, Downpour) and chosen.n_push:
        each = chosen.n_push * task.batch_size
    for first in range(0, rows, each):
        yield first, min(each, rows - first)


def _seed(task: Task, *what: int) -> int:
    """The same for all who train on one unit, and for nobody else."""
    words = ":".join(map(str, (task.bundle.address, *what)))
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:4], "little")


def _has_fixed_size(task: Task) -> bool:
    """Whether fewer rows would be another way to blend results, or no less work."""
    chosen = units_of(task).assimilation
    pushes = isinstance(chosen, Downpour) and chosen.n_push is not None
    return pushes or task.file.training.steps is not None


def steps_of(task: Task, examples: int) -> int:
    """Steps that a unit of so many rows takes."""
    return task.file.training.steps or task.epochs * math.ceil(examples / task.batch_size)


def asked_of(task: Task, grant: GrantLease) -> PlannedWork:
    """Steps of a lease that is done to its end, and the examples in them; each visit counts."""
    steps, rows = grant.steps or steps_of(task, grant.examples), grant.examples
    passes, rest = divmod(steps, math.ceil(rows / task.batch_size))
    return PlannedWork(passes * rows + min(rest * task.batch_size, rows), steps, 0.0)


def past_steps(task: Task, epoch: int) -> int:
    """Where a learning-rate schedule stands in `epoch`: after so many steps over all data."""
    if task.bundle.manifest.optimizer.schedule is None:
        return 0
    pieces = (piece for shard in range(len(task.shards.train)) for piece in _pieces(task, shard))
    return (epoch - 1) * sum(steps_of(task, examples) for _, examples in pieces)


def examples_after(task: Task, grant: GrantLease, steps: int) -> int:
    """How many of a unit's rows were trained on after so many of its steps."""
    whole = steps_of(task, grant.examples)
    if steps >= whole:
        return grant.examples
    return max(1, math.floor(grant.examples * steps / whole))


def seconds_a_row(task: Task, step_ms: float) -> float | None:
    """What a row of a unit takes a client that says how long a step is, in all epochs of the plan.

    None where it does not say so, and where a unit takes so many steps, however many rows it has.
    """
    if step_ms <= 0 or task.file.training.steps is not None:
        return None
    return task.epochs * step_ms / 1000.0 / task.batch_size


def start_of(units: Units, done: int, has_own: bool) -> tuple[Start, float]:
    """Where a client's next unit begins after it did so many over this connection, and its elasticity."""
    chosen = units.assimilation
    if not has_own:
        return "given", 0.0
    if isinstance(chosen, Easgd):
        return "elastic", chosen.alpha
    if isinstance(chosen, Downpour) and done % chosen.units:
        return "own", 0.0
    return "given", 0.0
