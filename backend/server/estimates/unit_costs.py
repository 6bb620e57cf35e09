"""Estimates the bytes, seconds and energy of a plan of work units: per unit, per epoch and in total."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from backend.formats.manifest import Manifest
from backend.formats.task_file import TaskFile, Units
from backend.formats.task_file.units import Downpour, TrustTable
from backend.protocols.units.rules import SizeRules
from backend.server.estimates.data_supply import Supply
from backend.server.estimates.exact_cost import exact_notes, usable_times
from backend.server.estimates.round_costs import (
    DEVICES,
    DeviceCost,
    Estimate,
    InTime,
    UnitCosts,
    best_places,
    energy_of,
    rounded,
    transfer_seconds,
)
from backend.server.estimates.traffic import Traffic
from backend.server.tasks.formatting import number
from backend.server.tasks.model_inspection import StepTime
from backend.server.units.provisional.room import may_be_provisional
from backend.server.units.validation.tolerances import table
from backend.server.units.work_generator import MAX_LEASE_FACTOR, caution_of
from backend.translation import gettext, ngettext

# A whole unit has this multiple of the rows of the smallest part that a slow client gets.
MAX_SPLIT = 2 ** SizeRules().halvings


def estimate_units(
    file: TaskFile,
    manifest: Manifest,
    wire: Traffic,
    times: Sequence[StepTime],
    supply: Supply,
    volunteers: int,
) -> Estimate:
    """Estimates the costs of `file`, a task of work units, for permanent and honest `volunteers`."""
    units, epochs = _units(file), file.coordination.rounds
    rows = unit_rows(file, manifest, supply)
    examples, steps = unit_work(file, manifest, rows)
    an_epoch = supply.shards * math.ceil(shard_rows(supply) / rows)
    caution = caution_of(units.trust, may_be_provisional(file, units))
    leases = leases_of_unit(units.trust, caution, an_epoch * epochs, volunteers)
    down, up = wire.version_down, wire.update_up
    all_leases = an_epoch * epochs * leases
    leases_each = max(1, round(all_leases / volunteers))
    once = (wire.program or 0) + wire.browser_bundle
    # A client gets units of its cached shards first.
    shard_count = min(supply.shards, leases_each, math.ceil(supply.shards * leases / volunteers))
    data = shard_count * round(supply.bytes / supply.shards)
    devices = list(_devices(units, usable_times(file, times), steps, down, up))
    return Estimate(
        volunteers=volunteers,
        clients=volunteers,
        rounds=epochs,
        examples=examples,
        steps=steps,
        visits=rounded(examples * an_epoch * epochs / supply.examples),
        once=once,
        down=down,
        up=up,
        data=data,
        volunteer_bytes=once + data + leases_each * (down + up),
        volunteer_energy=energy_of(manifest, leases_each * examples),
        server_out=round(an_epoch * leases * down),
        server_in=round(an_epoch * leases * up),
        server_bytes=volunteers * (once + data) + round(all_leases * (down + up)),
        energy=energy_of(manifest, round(all_leases * examples)),
        devices=devices,
        notes=list(_notes(file, volunteers, steps, devices)),
        exactness=list(exact_notes(file, times, steps, leases)),
        units=UnitCosts(an_epoch, rounded(leases), units.seconds),
    )


def shard_rows(supply: Supply) -> int:
    """Returns the mean number of examples of a shard."""
    return max(1, round(supply.examples / supply.shards))


def unit_rows(file: TaskFile, manifest: Manifest, supply: Supply) -> int:
    """Returns the number of examples of a whole unit."""
    units, whole = _units(file), shard_rows(supply)
    chosen = units.assimilation
    if isinstance(chosen, Downpour) and chosen.n_push:
        return min(whole, chosen.n_push * batch_of(file, manifest))
    return min(whole, units.rows or whole)


def unit_work(file: TaskFile, manifest: Manifest, rows: int) -> tuple[int, int]:
    """Returns the examples that a client processes in a unit of `rows`, each visit counted, and its steps."""
    batch, training = batch_of(file, manifest), file.training
    if training.steps:
        return min(training.steps * batch, training.steps * rows), training.steps
    epochs = training.epochs or 1
    return epochs * rows, epochs * math.ceil(rows / batch)


def batch_of(file: TaskFile, manifest: Manifest) -> int:
    """Returns the number of examples of a step."""
    return file.training.batch_size or manifest.batch_size


def leases_of_unit(trust: TrustTable, caution: float, units: int, volunteers: int) -> float:
    """Returns the mean number of leases of each of `units` if `volunteers` share them and none leaves.

    Newcomers are compared among themselves until `checked` results of each are accepted, `caution` times as
    many. Later a client is compared with that number over its compared results as probability, so that these
    grow like a root.
    """
    each, always = units / volunteers, trust.checked * caution
    as_newcomer = min(each, always / trust.replicas)
    later = math.sqrt(always**2 + 2.0 * always * (each - as_newcomer)) - always
    extra = (trust.replicas - 1) * (as_newcomer + later) / each
    return 1.0 + extra + (trust.spot_checks if trust.trusted else 0.0)


def _units(file: TaskFile) -> Units:
    if file.coordination.units is None:
        raise ValueError("The task has rounds.")
    return file.coordination.units


def _devices(units: Units, times: Sequence[StepTime], steps: int, down: int, up: int) -> Iterator[DeviceCost]:
    """Yields the cost of a whole unit on each device class; `in_time` says which devices get whole units."""
    words: tuple[InTime, InTime, InTime] = ("all", "some", "none")
    fixed = isinstance(units.assimilation, Downpour) and units.assimilation.n_push is not None
    for device, best in best_places(times).items():
        if best.range_ms is None:
            continue
        low, high = (steps * ms / 1000.0 for ms in best.range_ms)
        transfer = transfer_seconds(device, down, up)
        halved = 0 if fixed else (low > units.seconds) + (high > units.seconds)
        yield DeviceCost(
            device,
            best.backend,
            (rounded(low), rounded(high)),
            rounded(transfer),
            (rounded(low + transfer), rounded(high + transfer)),
            words[halved],
        )


def _notes(file: TaskFile, volunteers: int, steps: int, devices: Sequence[DeviceCost]) -> Iterator[str]:
    units = _units(file)
    replicas = units.trust.replicas
    if volunteers < replicas and not units.trust.trusted:
        yield ngettext(
            "With %(count)s volunteer no unit would ever be done: newcomers' work is done by %(replicas)s "
            "and compared (coordination.units.trust.replicas).",
            "With %(count)s volunteers no unit would ever be done: newcomers' work is done by %(replicas)s "
            "and compared (coordination.units.trust.replicas).",
            volunteers,
        ) % {"count": volunteers, "replicas": replicas}
    compared = table().steps
    if steps > compared and replicas > 1:
        yield gettext(
            "A unit takes %(steps)s steps. Beyond %(most)s rounding makes honest results as unlike as wrong "
            "ones, so comparison detects less: make units smaller (coordination.units.rows), or visit their "
            "examples less often."
        ) % {"steps": number(steps), "most": compared}
    if not devices:
        yield gettext("No device can train this model; the step “Model” says why.")
    for cost in devices:
        smallest = cost.training[1] / MAX_SPLIT + cost.transfer
        if smallest > MAX_LEASE_FACTOR * units.lease:
            yield gettext(
                "Slow %(devices)s would lose their turn: even the smallest unit, an eighth, takes them "
                "longer than %(leases)s leases. Raise the lease, or make units smaller."
            ) % {"devices": gettext(DEVICES[cost.device]), "leases": MAX_LEASE_FACTOR}
