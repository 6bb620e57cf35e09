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
    device_in_words,
    duration,
    examples_in_words,
    goal_visits,
    rate,
    round_seconds,
    round_up,
    slow_step,
    steps_in_words,
)
from backend.server.estimates.round_costs import transfer_seconds
from backend.server.estimates.traffic import Traffic
from backend.server.estimates.unit_costs import MAX_SPLIT, batch_of, shard_rows
from backend.server.tasks.model_inspection import StepTime, fastest
from backend.server.units.validation.tolerances import table
from backend.translation import gettext, ngettext

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
        Proposal("training.steps", None, gettext("The number of examples sets the length of a unit.")),
        Proposal("training.epochs", epochs, _visits(steps, epochs)),
        rate(manifest),
        Proposal(
            "training.proximal_mu",
            0.0,
            gettext("Shards are mixed, so all units have similar examples and devices do not drift apart."),
        ),
        _passes(supply, epochs),
        *_lease(units, wire, times, None if step is None else epochs * steps * step),
        Proposal(
            "coordination.units.trust.replicas",
            _REPLICAS,
            ngettext(
                "Two results that agree are accepted, since strangers do not make the same mistake. A "
                "client that was right %(count)s time is compared only occasionally.",
                "Two results that agree are accepted, since strangers do not make the same mistake. A "
                "client that was right %(count)s times is compared only occasionally.",
                units.trust.checked,
            )
            % {"count": units.trust.checked},
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
        whole = gettext(
            "A shard of %(examples)s is %(steps)s: a unit is a whole one. With %(most)s steps at most, wrong "
            "results can be told from right ones."
        )
        steps = steps_in_words(math.ceil(shard / batch))
        return shard, whole % {"examples": examples_in_words(shard), "steps": steps, "most": compared}
    pieces = math.ceil(shard / (maximum * batch))
    rows = batch * math.ceil(shard / pieces / batch)
    if maximum == compared:
        why = gettext(
            "A shard of %(examples)s is cut into %(pieces)s, so a unit is %(steps)s. With %(most)s at most, "
            "wrong results can be told from right ones."
        )
    else:
        why = gettext(
            "A shard of %(examples)s is cut into %(pieces)s, so a unit is %(steps)s, and a slow phone does "
            "an eighth of one in about %(duration)s."
        )
    return rows, why % {
        "examples": examples_in_words(shard),
        "pieces": pieces,
        "steps": steps_in_words(math.ceil(rows / batch)),
        "most": compared,
        "duration": duration(seconds),
    }


def _visits(steps: int, epochs: int) -> str:
    if epochs == 1:
        sentence = gettext("One pass takes %(steps)s: enough to justify the data each unit transfers.")
    else:
        sentence = gettext(
            "One pass takes %(steps)s; %(epochs)s passes justify the data each unit transfers, and results "
            "of so many steps can still be compared."
        )
    return sentence % {"steps": steps_in_words(steps), "epochs": epochs}


def _passes(supply: Supply, epochs: int) -> Proposal:
    minimum, maximum = _PASSES
    value = round_up(min(maximum, max(minimum, math.ceil(goal_visits(supply.examples) / epochs))))
    return Proposal(
        "coordination.units.epochs",
        value,
        gettext(
            "An epoch goes over all %(examples)s: in %(epochs)s each is seen %(times)s times. You can end it "
            "earlier."
        )
        % {"examples": examples_in_words(supply.examples), "epochs": value, "times": value * epochs},
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
    yield Proposal(
        "coordination.units.lease",
        value,
        gettext(
            "%(device)s needs about %(duration)s for its unit. After twice that without a heartbeat, at "
            "least two minutes, another client also gets the unit."
        )
        % {"device": device_in_words(device), "duration": duration(needed)},
    )


def _alpha(units: Units) -> Iterator[Proposal]:
    if isinstance(units.assimilation, VcAsgd):
        yield Proposal(
            "coordination.units.assimilation.alpha",
            None,
            gettext(
                "By default the model keeps e/(e+1) of itself in epoch e: it learns fast at first and "
                "slower later, which measured best."
            ),
        )
