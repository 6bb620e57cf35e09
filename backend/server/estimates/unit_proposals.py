"""Proposes a plan of work units that fits a model and its data, with a reason for each value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from backend.formats.manifest import Manifest
from backend.formats.task_file import TaskFile, Units
from backend.formats.task_file.units import VcAsgd
from backend.server.estimates.data_supply import Supply
from backend.server.estimates.reasons import (
    ENOUGH_STEPS,
    MAX_EPOCHS,
    Proposal,
    counted,
    duration,
    goal_visits,
    rate,
    round_seconds,
    round_up,
    slow_step,
)
from backend.server.estimates.round_costs import transfer_seconds
from backend.server.estimates.traffic import Traffic
from backend.server.estimates.unit_costs import MAX_SPLIT, batch_of, shard_rows
from backend.server.tasks.model_inspection import StepTime, fastest
from backend.server.units.validation.tolerances import table

_PASSES = (10, 1000)
_LEASES = (120.0, 3600.0)
_SLACK = 2.0
_REPLICAS = 2


def propose_units(
    file: TaskFile,
    manifest: Manifest,
    wire: Traffic,
    times: Sequence[StepTime],
    supply: Supply,
    _volunteers: int,
) -> list[Proposal]:
    """Proposes values in the plan's order; each assumes those before it.

    They do not depend on the number of volunteers, since no client waits for another.
    """
    units = file.coordination.units
    if units is None:
        raise ValueError("The task has rounds.")
    step, batch = slow_step(times), batch_of(file, manifest)
    rows, why = _rows(shard_rows(supply), batch, step, units.seconds)
    steps = math.ceil(rows / batch)
    epochs = max(
        1, min(MAX_EPOCHS, _max_steps(step, units.seconds) // steps, math.ceil(ENOUGH_STEPS / steps))
    )
    return [
        Proposal("coordination.units.rows", 0 if rows >= shard_rows(supply) else rows, why),
        Proposal("training.steps", None, "The examples of a unit say how long it is."),
        Proposal("training.epochs", epochs, _visits(steps, epochs)),
        rate(manifest),
        Proposal(
            "training.proximal_mu",
            0.0,
            "Shards are mixed, so that all units are of alike examples: nothing pulls devices apart.",
        ),
        _passes(supply, epochs),
        *_lease(units, wire, times, None if step is None else epochs * steps * step),
        Proposal(
            "coordination.units.trust.replicas",
            _REPLICAS,
            "Two results that agree hold, since strangers do not make the same mistake. Whoever was right "
            f"{counted(units.trust.checked, 'time')} is compared only now and then.",
        ),
        *_alpha(units),
    ]


def _max_steps(step: float | None, seconds: float) -> int:
    """Returns the maximum steps of a unit.

    Results of more steps cannot be compared, and a slow device must finish the smallest part of a unit within
    `seconds`.
    """
    compared = table().steps
    return compared if step is None else max(1, min(compared, math.floor(MAX_SPLIT * seconds / step)))


def _rows(shard: int, batch: int, step: float | None, seconds: float) -> tuple[int, str]:
    """Returns the examples of a unit, and the reason; a shard is cut equally, up to whole batches."""
    maximum, compared = _max_steps(step, seconds), table().steps
    if shard <= maximum * batch:
        steps = counted(math.ceil(shard / batch), "step")
        return shard, (
            f"A shard of {counted(shard, 'example')} is {steps}: a unit is a whole one. With {compared} "
            "steps at most, wrong results can be told from right ones."
        )
    pieces = math.ceil(shard / (maximum * batch))
    rows = batch * math.ceil(shard / pieces / batch)
    steps = counted(math.ceil(rows / batch), "step")
    if maximum == compared:
        why = f"so a unit is {steps}. With {compared} at most, wrong results can be told from right ones."
    else:
        why = f"so a unit is {steps}, and a slow phone does an eighth of one in about {duration(seconds)}."
    return rows, f"A shard of {counted(shard, 'example')} is cut into {pieces}, {why}"


def _visits(steps: int, epochs: int) -> str:
    if epochs == 1:
        return f"One visit is {counted(steps, 'step')}: enough for a unit to be worth its traffic."
    return (
        f"One visit is {counted(steps, 'step')}; {epochs} of them make a unit worth its traffic, and no "
        "longer than what can be compared."
    )


def _passes(supply: Supply, epochs: int) -> Proposal:
    minimum, maximum = _PASSES
    value = round_up(min(maximum, max(minimum, math.ceil(goal_visits(supply.examples) / epochs))))
    return Proposal(
        "coordination.units.epochs",
        value,
        f"An epoch goes over all {counted(supply.examples, 'example')}: in {value} each is seen "
        f"{value * epochs} times. You can end it earlier.",
    )


def _lease(
    units: Units, wire: Traffic, times: Sequence[StepTime], seconds: float | None
) -> Iterator[Proposal]:
    if seconds is None:
        return
    device = next(name for name in ("phone", "laptop", "gpu") if name in fastest(list(times)))
    # Slow devices get parts that take them at most `units.seconds`, but at least an eighth of a unit.
    part = max(min(seconds, units.seconds), seconds / MAX_SPLIT)
    needed = part + transfer_seconds(device, wire.version_down, wire.update_up)
    minimum, maximum = _LEASES
    value = round_seconds(min(maximum, max(minimum, _SLACK * needed)))
    phrase = {"phone": "A slow phone", "laptop": "A slow laptop", "gpu": "A slow computer"}[device]
    yield Proposal(
        "coordination.units.lease",
        value,
        f"{phrase} needs about {duration(needed)} for what it is given. After twice that, and two minutes at "
        "least, without a sign of life somebody else gets the unit, too.",
    )


def _alpha(units: Units) -> Iterator[Proposal]:
    if isinstance(units.assimilation, VcAsgd):
        yield Proposal(
            "coordination.units.assimilation.alpha",
            None,
            "Left out, the model keeps e/(e+1) of itself in epoch e: it learns fast at first and calms down, "
            "which did best where it was measured.",
        )
