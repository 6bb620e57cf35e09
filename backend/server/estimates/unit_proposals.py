"""A plan of work units that fits a model and its data, each value with its reason."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from backend.formats.manifest import Manifest
from backend.formats.task_file import TaskFile, Units
from backend.formats.task_file.units import VcAsgd
from backend.server.estimates.data_supply import Supply
from backend.server.estimates.reasons import (
    ENOUGH_STEPS,
    MOST_EPOCHS,
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
from backend.server.estimates.unit_costs import SMALLEST, batch_of, shard_rows
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
    """Values in the order in which a plan is read; each goes with those before it. They are the same for any
    number of volunteers, since nobody waits for others."""
    units = file.coordination.units
    if units is None:
        raise ValueError("The task has rounds.")
    step, batch = slow_step(times), batch_of(file, manifest)
    rows, why = _rows(shard_rows(supply), batch, step, units.seconds)
    steps = math.ceil(rows / batch)
    epochs = max(
        1, min(MOST_EPOCHS, _most_steps(step, units.seconds) // steps, math.ceil(ENOUGH_STEPS / steps))
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


def _most_steps(step: float | None, seconds: float) -> int:
    """Steps of a unit: so many that results can be compared, and that a slow device does the smallest part
    that it may be given within `seconds`."""
    compared = table().steps
    return compared if step is None else max(1, min(compared, math.floor(SMALLEST * seconds / step)))


def _rows(shard: int, batch: int, step: float | None, seconds: float) -> tuple[int, str]:
    """Examples of a unit, in pieces of a shard that are as alike as whole batches let them be."""
    most, compared = _most_steps(step, seconds), table().steps
    if shard <= most * batch:
        steps = counted(math.ceil(shard / batch), "step")
        return shard, (
            f"A shard of {counted(shard, 'example')} is {steps}: a unit is a whole one. With {compared} "
            "steps at most, wrong results can be told from right ones."
        )
    pieces = math.ceil(shard / (most * batch))
    rows = batch * math.ceil(shard / pieces / batch)
    steps = counted(math.ceil(rows / batch), "step")
    if most == compared:
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
    least, most = _PASSES
    value = round_up(min(most, max(least, math.ceil(goal_visits(supply.examples) / epochs))))
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
    device = next(one for one in ("phone", "laptop", "gpu") if one in fastest(list(times)))
    # Slow ones get parts that take them no longer than `units.seconds`, an eighth at least.
    part = max(min(seconds, units.seconds), seconds / SMALLEST)
    needed = part + transfer_seconds(device, wire.version_down, wire.update_up)
    least, most = _LEASES
    value = round_seconds(min(most, max(least, _SLACK * needed)))
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
