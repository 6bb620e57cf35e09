"""Estimates a plan's bytes, seconds and energy, for each volunteer, for the server and in total."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from backend.formats.manifest import Manifest
from backend.formats.task_file import TaskFile
from backend.numerics.masking.bit_packing import masked_bytes
from backend.numerics.masking.sparse import chosen_values
from backend.protocols.rounds.attendance import target_updates, with_reserve
from backend.server.estimates.data_supply import Supply
from backend.server.estimates.devices import BackendName, DeviceName, Range
from backend.server.estimates.energy import training_energy
from backend.server.estimates.exact_cost import exact_notes, usable_times
from backend.server.estimates.traffic import Traffic
from backend.server.tasks.model_inspection import StepTime, fastest
from backend.translation import gettext, later, ngettext

_BITS_PER_BYTE, _MEGA = 8.0, 1e6
# Bandwidth in Mbit/s, down and up: the medians of `minga simulate`; a phone has half of them.
BANDWIDTHS: dict[DeviceName, tuple[float, float]] = {
    "phone": (25.0, 5.0),
    "laptop": (50.0, 10.0),
    "gpu": (50.0, 10.0),
}
_DIGITS = 2


InTime = Literal["all", "some", "none"]
# For sentences.
DEVICES: dict[DeviceName, str] = {
    "phone": later("phones"),
    "laptop": later("laptops"),
    "gpu": later("computers with a graphics card"),
}


@dataclass(frozen=True)
class DeviceCost:
    """Seconds of one round, or of a whole work unit, on a device class, from fast devices to slow ones.

    `transfer` is that of the model and the update; `in_time` says which devices meet the deadline, or get
    whole units.
    """

    device: DeviceName
    backend: BackendName
    training: Range
    transfer: float
    round: Range
    in_time: InTime


@dataclass(frozen=True)
class UnitCosts:
    """Work units per epoch, mean leases per unit, and the seconds above which slow clients get a part."""

    an_epoch: int
    leases: float
    seconds: float


@dataclass(frozen=True)
class Estimate:
    """The costs of a plan with `volunteers` who stay; docs/reference/drafts.md describes every field.

    With `units` the fields of a round apply to a work unit, and the server's to an epoch. Bytes are
    integers, energy is in watt-hours from the minimum to the maximum.
    """

    volunteers: int
    clients: int
    rounds: int
    examples: int
    steps: int
    visits: float
    once: int
    down: int
    up: int
    data: int
    volunteer_bytes: int
    volunteer_energy: Range
    server_out: int
    server_in: int
    server_bytes: int
    energy: Range
    devices: list[DeviceCost]
    notes: list[str]
    exactness: list[str]
    units: UnitCosts | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the estimate as the API sends it."""
        return asdict(self)


def estimate(
    file: TaskFile,
    manifest: Manifest,
    wire: Traffic,
    times: Sequence[StepTime],
    supply: Supply,
    volunteers: int,
) -> Estimate:
    """Estimates the costs of `file` for permanent `volunteers`, by a model's traffic and step times."""
    rounds, clients = file.coordination.rounds, cohort(file, volunteers)
    examples, steps = work(file, manifest, supply)
    down, up = _transferred(file, manifest, wire)
    shard, shard_count = _data(file, supply, volunteers)
    once = (wire.program or 0) + wire.browser_bundle
    # Rounds in which one volunteer takes part, if they do not choose all.
    participations = max(1, round(rounds * clients / max(volunteers, clients)))
    devices = _devices(file, usable_times(file, times), steps, down, up)
    bytes_out = 0 if file.coordination.decentralized else clients * down
    bytes_in = 0 if file.coordination.decentralized else clients * up
    # A browser caches shards, so each is fetched once.
    data_bytes = min(shard_count, participations * file.data.shards_per_client) * shard
    total = volunteers * (once + data_bytes) + rounds * (bytes_out + bytes_in)
    visited = examples * clients * rounds
    return Estimate(
        volunteers=volunteers,
        clients=clients,
        rounds=rounds,
        examples=examples,
        steps=steps,
        visits=rounded(visited / (supply.examples * (clients if supply.own else 1))),
        once=once,
        down=down,
        up=up,
        data=data_bytes,
        volunteer_bytes=once + data_bytes + participations * (down + up),
        volunteer_energy=energy_of(manifest, participations * examples),
        server_out=bytes_out,
        server_in=bytes_in,
        server_bytes=total,
        energy=energy_of(manifest, visited),
        devices=devices,
        notes=_notes(file, volunteers, devices),
        exactness=list(exact_notes(file, times, steps)),
    )


def cohort(file: TaskFile, volunteers: int) -> int:
    """Returns how many of `volunteers` are in a round; at least the minimum without which none opens."""
    chosen = file.coordination
    available = max(volunteers, chosen.min_available_clients)
    if chosen.decentralized:
        return available
    goal = target_updates(available, chosen.fraction_train, chosen.min_train_clients)
    count = with_reserve(goal, available, chosen.over_selection)
    return min(count, file.security.masked.most_clients) if file.security.masks else count


def work(file: TaskFile, manifest: Manifest, supply: Supply) -> tuple[int, int]:
    """Returns the examples that a client processes in a round, each visit counted, and its steps."""
    batch, training = file.training.batch_size or manifest.batch_size, file.training
    examples = examples_of_client(file, supply)
    if training.steps:
        return min(training.steps * batch, training.steps * examples), training.steps
    epochs = training.epochs or 1
    return epochs * examples, epochs * math.ceil(examples / batch)


def examples_of_client(file: TaskFile, supply: Supply) -> int:
    """Returns the number of examples that a client has in a round."""
    if supply.own:
        return supply.examples
    return max(1, round(min(file.data.shards_per_client, supply.shards) * supply.examples / supply.shards))


def _transferred(file: TaskFile, manifest: Manifest, wire: Traffic) -> tuple[int, int]:
    """Returns a client's bytes down and up in a round, without data."""
    down, up = wire.version_down, wire.update_up
    if file.training.control_variates:
        down += 4 * manifest.parameters.trainable
    if file.security.aggregation[0] == "masked" and not file.coordination.decentralized:
        masking = file.security.masked
        values = chosen_values(manifest.parameters.total, masking.share)
        up = masked_bytes(values, sum(metric.rows for metric in manifest.metrics), masking.bits)
    return down, up


def _data(file: TaskFile, supply: Supply, volunteers: int) -> tuple[int, int]:
    """Returns the bytes of a shard, and how many shards one client fetches in total."""
    if supply.own:
        return 0, 0
    share = math.ceil(supply.shards / max(volunteers, 1))
    return round(supply.bytes / supply.shards), min(supply.shards, max(share, file.data.shards_per_client))


def transfer_seconds(device: DeviceName, down: int, up: int) -> float:
    """Returns the seconds to transfer `down` and `up` bytes at the bandwidth of such a device."""
    rate_down, rate_up = BANDWIDTHS[device]
    return _BITS_PER_BYTE * (down / rate_down + up / rate_up) / _MEGA


def best_places(times: Sequence[StepTime]) -> dict[DeviceName, StepTime]:
    """Returns the fastest backend of each device class: in a browser, or TensorFlow if no browser can.

    Most volunteers use a browser.
    """
    browsers = [time for time in times if not time.backend.startswith("tensorflow")]
    return {**fastest(list(times)), **fastest(browsers)}


def _devices(file: TaskFile, times: Sequence[StepTime], steps: int, down: int, up: int) -> list[DeviceCost]:
    costs, deadline = [], file.coordination.deadline
    for device, best in best_places(times).items():
        if best.range_ms is None:
            continue
        low, high = (steps * ms / 1000.0 for ms in best.range_ms)
        transfer = transfer_seconds(device, down, up)
        late = (low + transfer > deadline) + (high + transfer > deadline)
        in_time: tuple[InTime, InTime, InTime] = ("all", "some", "none")
        costs.append(
            DeviceCost(
                device,
                best.backend,
                (rounded(low), rounded(high)),
                rounded(transfer),
                (rounded(low + transfer), rounded(high + transfer)),
                in_time[late],
            )
        )
    return costs


def _notes(file: TaskFile, volunteers: int, devices: list[DeviceCost]) -> list[str]:
    chosen, notes = file.coordination, []
    if volunteers < chosen.min_available_clients:
        none_opens = ngettext(
            "With %(count)s volunteer no round would open: it needs %(least)s "
            "(coordination.min_available_clients).",
            "With %(count)s volunteers no round would open: it needs %(least)s "
            "(coordination.min_available_clients).",
            volunteers,
        )
        notes.append(none_opens % {"count": volunteers, "least": chosen.min_available_clients})
    if not devices:
        notes.append(gettext("No device can train this model; the step “Model” says why."))
    for device in devices:
        words = {"devices": gettext(DEVICES[device.device]), "deadline": f"{chosen.deadline:g}"}
        if device.in_time == "none":
            late = gettext(
                "No %(devices)s will be done within the deadline of %(deadline)s s: raise the deadline, or "
                "assign less work in a round."
            )
            notes.append(late % words)
        elif device.in_time == "some":
            late = gettext(
                "Slow %(devices)s will not be done within the deadline of %(deadline)s s. What they finish "
                "by then still counts; for complete work, raise the deadline or assign less work in a round."
            )
            notes.append(late % words)
    return notes


def energy_of(manifest: Manifest, examples: int) -> Range:
    """Returns the minimum and maximum watt-hours of training on `examples`, each visit counted."""
    low, high = training_energy(manifest, examples)
    return rounded(low), rounded(high)


def rounded(value: float) -> float:
    """Rounds to two significant digits, the precision of these estimates."""
    return float(f"{value:.{_DIGITS}g}")
