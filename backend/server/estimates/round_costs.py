"""What a plan costs: bytes, seconds and energy, for each volunteer, for the server and in all."""

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
from backend.server.estimates.traffic import Traffic
from backend.server.tasks.model_inspection import StepTime, fastest

_BITS_PER_BYTE, _MEGA = 8.0, 1e6
# Lines of volunteers in Mbit/s, down and up, as `minga simulate` has them in the median; a phone's is half.
LINES: dict[DeviceName, tuple[float, float]] = {
    "phone": (25.0, 5.0),
    "laptop": (50.0, 10.0),
    "gpu": (50.0, 10.0),
}
_ENOUGH_DIGITS = 2


InTime = Literal["all", "some", "none"]
# For sentences.
DEVICES: dict[DeviceName, str] = {
    "phone": "phones",
    "laptop": "laptops",
    "gpu": "computers with a graphics card",
}


@dataclass(frozen=True)
class DeviceCost:
    """Seconds of one round, or of a whole work unit, on a class of devices, from fast ones to slow ones.

    `transfer` is that of the model and the update; `in_time` says which of them are done by the deadline, or
    get whole units.
    """

    device: DeviceName
    backend: BackendName
    training: Range
    transfer: float
    round: Range
    in_time: InTime


@dataclass(frozen=True)
class UnitCosts:
    """Work units of an epoch, how many clients do each in the mean, and the seconds over which slow clients
    get a part of one."""

    an_epoch: int
    leases: float
    seconds: float


@dataclass(frozen=True)
class Estimate:
    """The costs of a plan with `volunteers` who stay; docs/reference/drafts.md has every field.

    With `units` what is said of a round is said of a work unit, and of an epoch where it is the server's.
    Bytes are whole, energy is watt-hours from the least to the most.
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
    units: UnitCosts | None = None

    def to_json(self) -> dict[str, Any]:
        """As the API tells it."""
        return asdict(self)


def estimate(
    file: TaskFile,
    manifest: Manifest,
    wire: Traffic,
    times: Sequence[StepTime],
    supply: Supply,
    volunteers: int,
) -> Estimate:
    """What `file` asks of `volunteers` who are there all the time, on a model's `wire` and step `times`."""
    rounds, clients = file.coordination.rounds, cohort(file, volunteers)
    examples, steps = work(file, manifest, supply)
    down, up = _moved(file, manifest, wire)
    shard, kept = _data(file, supply, volunteers)
    once = (wire.program or 0) + wire.browser_bundle
    # Clients take turns where not all are chosen.
    mailbox = max(1, round(rounds * clients / max(volunteers, clients)))
    devices = _devices(file, times, steps, down, up)
    out = 0 if file.coordination.decentralized else clients * down
    into = 0 if file.coordination.decentralized else clients * up
    # Shards stay in a browser's cache: each is fetched once.
    data_bytes = min(kept, mailbox * file.data.shards_per_client) * shard
    total = volunteers * (once + data_bytes) + rounds * (out + into)
    seen = examples * clients * rounds
    return Estimate(
        volunteers=volunteers,
        clients=clients,
        rounds=rounds,
        examples=examples,
        steps=steps,
        visits=rounded(seen / (supply.examples * (clients if supply.own else 1))),
        once=once,
        down=down,
        up=up,
        data=data_bytes,
        volunteer_bytes=once + data_bytes + mailbox * (down + up),
        volunteer_energy=energy_of(manifest, mailbox * examples),
        server_out=out,
        server_in=into,
        server_bytes=total,
        energy=energy_of(manifest, seen),
        devices=devices,
        notes=list(_notes(file, volunteers, devices)),
    )


def cohort(file: TaskFile, volunteers: int) -> int:
    """How many of so many volunteers are in a round; at least those without whom none opens."""
    chosen = file.coordination
    available = max(volunteers, chosen.min_available_clients)
    if chosen.decentralized:
        return available
    goal = target_updates(available, chosen.fraction_train, chosen.min_train_clients)
    count = with_reserve(goal, available, chosen.over_selection)
    return min(count, file.security.masked.most_clients) if file.security.masks else count


def work(file: TaskFile, manifest: Manifest, supply: Supply) -> tuple[int, int]:
    """Examples that a client processes in a round, each visit counted, and its steps."""
    batch, training = file.training.batch_size or manifest.batch_size, file.training
    has = examples_of_client(file, supply)
    if training.steps:
        return min(training.steps * batch, training.steps * has), training.steps
    epochs = training.epochs or 1
    return epochs * has, epochs * math.ceil(has / batch)


def examples_of_client(file: TaskFile, supply: Supply) -> int:
    """Examples that a client has in a round."""
    if supply.own:
        return supply.examples
    return max(1, round(min(file.data.shards_per_client, supply.shards) * supply.examples / supply.shards))


def _moved(file: TaskFile, manifest: Manifest, wire: Traffic) -> tuple[int, int]:
    """Bytes down and up of a client in a round, without data."""
    down, up = wire.version_down, wire.update_up
    if file.training.control_variates:
        down += 4 * manifest.parameters.trainable
    if file.security.aggregation[0] == "masked" and not file.coordination.decentralized:
        masking = file.security.masked
        values = chosen_values(manifest.parameters.total, masking.share)
        up = masked_bytes(values, sum(one.rows for one in manifest.metrics), masking.bits)
    return down, up


def _data(file: TaskFile, supply: Supply, volunteers: int) -> tuple[int, int]:
    """Bytes of a shard, and how many of them one client ever fetches."""
    if supply.own:
        return 0, 0
    share = math.ceil(supply.shards / max(volunteers, 1))
    return round(supply.bytes / supply.shards), min(supply.shards, max(share, file.data.shards_per_client))


def transfer_seconds(device: DeviceName, down: int, up: int) -> float:
    """How long the line of such a device takes for so many bytes."""
    rate_down, rate_up = LINES[device]
    return _BITS_PER_BYTE * (down / rate_down + up / rate_up) / _MEGA


def best_places(times: Sequence[StepTime]) -> dict[DeviceName, StepTime]:
    """Where each class of devices trains fastest: most volunteers come with a browser; where none can train,
    TensorFlow may."""
    browsers = [one for one in times if not one.backend.startswith("tensorflow")]
    return {**fastest(list(times)), **fastest(browsers)}


def _devices(file: TaskFile, times: Sequence[StepTime], steps: int, down: int, up: int) -> list[DeviceCost]:
    found, deadline = [], file.coordination.deadline
    for device, best in best_places(times).items():
        if best.range_ms is None:
            continue
        low, high = (steps * ms / 1000.0 for ms in best.range_ms)
        moving = transfer_seconds(device, down, up)
        late = (low + moving > deadline) + (high + moving > deadline)
        in_time: tuple[InTime, InTime, InTime] = ("all", "some", "none")
        found.append(
            DeviceCost(
                device,
                best.backend,
                (rounded(low), rounded(high)),
                rounded(moving),
                (rounded(low + moving), rounded(high + moving)),
                in_time[late],
            )
        )
    return found


def _notes(file: TaskFile, volunteers: int, devices: list[DeviceCost]) -> list[str]:
    chosen, notes = file.coordination, []
    if volunteers < chosen.min_available_clients:
        notes.append(
            f"With {volunteers} {'volunteer' if volunteers == 1 else 'volunteers'} no round would open: it "
            f"takes {chosen.min_available_clients} (coordination.min_available_clients)."
        )
    if not devices:
        notes.append("No device can train this model; the step “Model” says why.")
    for one in devices:
        plural = DEVICES[one.device]
        remedy = "raise the deadline, or ask for less work in a round"
        if one.in_time == "none":
            notes.append(f"No {plural} will be done within the deadline of {chosen.deadline:g} s: {remedy}.")
        elif one.in_time == "some":
            notes.append(
                f"Slow {plural} will not be done within the deadline of {chosen.deadline:g} s. What they "
                f"have by then still counts; to have them do it all, {remedy}."
            )
    return notes


def energy_of(manifest: Manifest, examples: int) -> Range:
    """Watt-hours of training on so many examples, each visit counted, from the least to the most."""
    low, high = training_energy(manifest, examples)
    return rounded(low), rounded(high)


def rounded(value: float) -> float:
    """To two digits: no estimate knows more."""
    return float(f"{value:.{_ENOUGH_DIGITS}g}")
