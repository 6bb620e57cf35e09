"""The work generator: makes the units of each epoch, and the settings of a task's scheduler."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator
from functools import partial
from typing import Any

from backend.errors import TaskFileError
from backend.formats.task_file import Units
from backend.formats.task_file.units import (
    AssimilationChoice,
    DcAsgd,
    Downpour,
    Easgd,
    TrustTable,
    name_of,
    settings_of,
)
from backend.numerics.aggregation import mixing
from backend.numerics.aggregation.asynchronous import ASSIMILATIONS, Assimilate, warm_start
from backend.protocols.rounds.deadline import PlannedWork
from backend.protocols.units.rules import PaceRules, Rules, SizeRules, TrustRules
from backend.protocols.units.scheduler_effects import GrantLease, UnitId, WorkUnit
from backend.server.tasks.task import Task
from backend.server.units.parameters.parameter_server import Recipe
from backend.server.units.provisional.room import provisional_clients
from backend.wire.unit_messages import Start

# Heartbeats extend a lease to at most this multiple of its usual length.
MAX_LEASE_FACTOR = 4
# Where trusted peers decide, all units of a client are repeated until `checked * GUARDED_CAUTION` of its
# results held: who lies after that has worked longer than the lies are worth (decision 0059).
GUARDED_CAUTION = 8.0
# Where results of refuted clients are taken out again, fewer have to be repeated (decision 0074).
PROVISIONAL_CAUTION = 1.0
# A lease shorter than this would expire during a short sleep of the device.
MIN_LEASE_SECONDS = 30.0


def units_of(task: Task) -> Units:
    """Returns the task's table of units. Raises TaskFileError if it has none."""
    units = task.file.coordination.units
    if units is None:
        raise TaskFileError(f"{task.file.name}: there are no work units in this task.")
    return units


def rules_of(task: Task, may_take_out: bool = True) -> Rules:
    """Returns the scheduler's rules for the task; whether its parameters' store lets results be taken out."""
    units = units_of(task)
    trust = units.trust
    room = provisional_clients(task.file, task.bundle.manifest.parameters.total)
    provisional = room if may_take_out else 0
    return Rules(
        replicas=trust.replicas,
        bound=units.bound or 0,
        homogeneous=trust.homogeneous,
        sizes=SizeRules(seconds=0.0 if _has_fixed_size(task) else units.seconds, grain=task.batch_size),
        pace=PaceRules(
            usual=units.lease,
            least=min(MIN_LEASE_SECONDS, units.lease),
            most=MAX_LEASE_FACTOR * units.lease,
            offline=0.0 if units.keeps_own else units.offline,
        ),
        trust=TrustRules(
            proven=trust.checked,
            quota=trust.quota,
            spot_checks=trust.spot_checks,
            caution=caution_of(trust, bool(provisional)),
            guarded=bool(trust.trusted),
            provisional=provisional,
        ),
    )


def caution_of(trust: TrustTable, provisional: bool) -> float:
    """Returns how many times `checked` results of a client have to hold until fewer are repeated."""
    if not trust.trusted:
        return 1.0
    return PROVISIONAL_CAUTION if provisional else GUARDED_CAUTION


def mixing_of(task: Task) -> mixing.Mixing:
    """Returns how the task's assimilation mixes a result in. Raises KeyError if it is not linear."""
    choice = units_of(task).assimilation
    mix = mixing.MIXINGS[name_of(choice)](**settings_of(choice))
    return mixing.warm_start(mix, choice.warm_start) if choice.warm_start else mix


def recipe_of(task: Task) -> Recipe:
    """Returns a picklable function that makes the task's assimilation, in any process."""
    choice = units_of(task).assimilation
    return partial(_assimilation, choice, _model_settings(choice, task) | settings_of(choice))


def _model_settings(choice: AssimilationChoice, task: Task) -> dict[str, Any]:
    """Returns the arguments of the assimilation that come from the model and its clients' optimizer."""
    trainable = task.bundle.manifest.parameters.trainable
    if isinstance(choice, DcAsgd):
        return {"client_rate": task.learning_rate, "trainable": trainable}
    return {"trainable": trainable} if isinstance(choice, Downpour) else {}


def _assimilation(choice: AssimilationChoice, settings: dict[str, Any]) -> Assimilate:
    recipe = ASSIMILATIONS[name_of(choice)](**settings)
    return warm_start(recipe, choice.warm_start) if choice.warm_start else recipe


def data_of(task: Task) -> str:
    """Returns a digest that identifies the task's training shards."""
    shards = "".join(shard.sha256 for shard in task.shards.train)
    return hashlib.sha256(shards.encode()).hexdigest()


def order_of(task: Task) -> str:
    """Returns what the steps of a unit depend on beside its rows and seed: they say where rests begin."""
    return f"{task.batch_size} {task.epochs} {task.file.training.steps or 0}"


def units_of_epoch(task: Task, epoch: int, first: UnitId) -> list[WorkUnit]:
    """Returns the units of an epoch, numbered from `first`, in an order that depends on the epoch."""
    pieces = [(shard, *piece) for shard in range(len(task.shards.train)) for piece in _pieces(task, shard)]
    random.Random(_seed(task, epoch)).shuffle(pieces)  # noqa: S311 - the order is no secret.
    return [
        WorkUnit(first + number, shard, examples, _seed(task, epoch, shard, row), row)
        for number, (shard, row, examples) in enumerate(pieces)
    ]


def _pieces(task: Task, shard: int) -> Iterator[tuple[int, int]]:
    """Yields the first row and the number of rows of each unit of a shard."""
    rows = task.shards.train[shard].examples
    size = units_of(task).rows_of_unit(rows, task.batch_size)
    for first in range(0, rows, size):
        yield first, min(size, rows - first)


def _seed(task: Task, *parts: int) -> int:
    """Returns a seed [0, 2**32) that depends on the task and `parts`: replicas of a unit share it."""
    key = ":".join(map(str, (task.bundle.address, *parts)))
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "little")


def _has_fixed_size(task: Task) -> bool:
    """Whether units must not be split: fewer rows would change the assimilation, or save no steps."""
    assimilation = units_of(task).assimilation
    pushes = isinstance(assimilation, Downpour) and assimilation.n_push is not None
    return pushes or task.file.training.steps is not None


def steps_of(task: Task, examples: int) -> int:
    """Returns the number of steps of a unit with so many examples."""
    return task.file.training.steps or task.epochs * math.ceil(examples / task.batch_size)


def planned_work(task: Task, grant: GrantLease) -> PlannedWork:
    """Returns the work of a whole lease: its steps and the examples in them, counted in each pass."""
    steps = grant.steps or steps_of(task, grant.examples) - grant.first_step
    return PlannedWork(visits_of(task, grant, steps), steps, 0.0)


def visits_of(task: Task, grant: GrantLease, steps: int) -> int:
    """Returns how many examples the first `steps` of a lease's steps have, counted in each pass."""
    before = _visits(task, grant.examples, grant.first_step)
    return _visits(task, grant.examples, grant.first_step + steps) - before


def _visits(task: Task, rows: int, steps: int) -> int:
    """Returns how many examples the first `steps` steps on so many rows have, counted in each pass."""
    passes, rest = divmod(steps, math.ceil(rows / task.batch_size))
    return passes * rows + min(rest * task.batch_size, rows)


def visits_a_row(task: Task) -> float:
    """Returns how often the training of a unit visits each of its rows, in the mean of all units."""
    pieces = [piece for shard in range(len(task.shards.train)) for piece in _pieces(task, shard)]
    rows = [examples for _, examples in pieces]
    return sum(_visits(task, one, steps_of(task, one)) for one in rows) / sum(rows)


def past_steps(task: Task, grant: GrantLease) -> int:
    """Returns the steps before a lease for the learning-rate schedule; 0 without a schedule."""
    if task.bundle.manifest.optimizer.schedule is None:
        return 0
    pieces = (piece for shard in range(len(task.shards.train)) for piece in _pieces(task, shard))
    return (grant.epoch - 1) * sum(steps_of(task, examples) for _, examples in pieces) + grant.first_step


def examples_after(task: Task, grant: GrantLease, steps: int) -> int:
    """Returns how many rows count as trained after `steps` of a lease's steps.

    Each row counts once in a unit, so that with several visits a visit counts as a part of a row. Those of a
    unit's parts add up to its rows.
    """
    first, total = grant.first_step, steps_of(task, grant.examples)
    visits = [_visits(task, grant.examples, min(one, total)) for one in (first, first + steps, total)]
    before, after = (grant.examples * visit // visits[-1] for visit in visits[:-1])
    return after - before


def seconds_a_row(task: Task, step_ms: float) -> float | None:
    """Returns the seconds that a client needs per row of a unit, for all local epochs.

    None if the client did not report its step time (`step_ms`, milliseconds), and if each unit has the same
    number of steps.
    """
    if step_ms <= 0 or task.file.training.steps is not None:
        return None
    return task.epochs * step_ms / 1000.0 / task.batch_size


def start_of(units: Units, done: int, has_own: bool) -> tuple[Start, float]:
    """Returns the start of a client's unit after `done` results over this connection, and its elasticity."""
    assimilation = units.assimilation
    if not has_own:
        return "given", 0.0
    if isinstance(assimilation, Easgd):
        # Both sides move by alpha times their distance before that; the client is given the model after it,
        # which is 1 - alpha times as far.
        return "elastic", assimilation.alpha / (1.0 - assimilation.alpha)
    if isinstance(assimilation, Downpour) and done % assimilation.units:
        return "own", 0.0
    return "given", 0.0
