"""What a bundle asks of a device: the facts behind `minga inspect` and a task's model page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import msgspec

from backend.services.devices import DEVICES, PLACES, BackendName, Basis, DeviceName, Place
from backend.services.manifest import Manifest
from backend.services.traffic import Traffic
from backend.services.work import TensorShape

Verdict = Literal["everywhere", "some devices", "nowhere"]


@dataclass(frozen=True)
class Backend:
    """Where a backend can train the model; `reasons` are sentences, one for each thing in the way."""

    backend: BackendName
    eligible: Verdict
    reasons: list[str]


@dataclass(frozen=True)
class StepTime:
    """Milliseconds of one step, a range; None where the backend cannot train the model there."""

    device: DeviceName
    backend: BackendName
    low_ms: float | None
    high_ms: float | None
    basis: Basis


@dataclass(frozen=True)
class Inspection:
    """Everything `minga inspect` says, in its order."""

    manifest: Manifest
    traffic: Traffic
    backends: list[Backend]
    step_times: list[StepTime]

    @property
    def step_flops(self) -> int:
        """Floating-point operations of one training step."""
        return self.manifest.flops.train + self.manifest.flops.apply

    @property
    def step_ops(self) -> int:
        """Ops that one training step runs."""
        return sum(row.runs for row in self.manifest.step.ops)

    def to_json(self) -> dict[str, Any]:
        """The stable form (docs/reference/inspect.md)."""
        manifest, memory = self.manifest, self.manifest.step.memory
        return {
            "name": manifest.name,
            "batch_size": manifest.batch_size,
            "parameters": msgspec.to_builtins(manifest.parameters),
            "layers": msgspec.to_builtins(manifest.layers),
            "flops": msgspec.to_builtins(manifest.flops) | {"step": self.step_flops},
            "memory": msgspec.to_builtins(memory) | {"peak": memory.peak},
            "ops": msgspec.to_builtins(manifest.step.ops),
            "wire": asdict(self.traffic),
            "backends": [asdict(one) for one in self.backends],
            "step_times": [asdict(one) for one in self.step_times],
        }


def inspect(manifest: Manifest, traffic: Traffic) -> Inspection:
    """The facts of a checked bundle."""
    obstacles = {(place.device.name, place.backend): list(_obstacles(manifest, place)) for place in PLACES}
    backends = []
    for backend in dict.fromkeys(place.backend for place in PLACES):
        lists = [reasons for (_, name), reasons in obstacles.items() if name == backend]
        free = sum(not reasons for reasons in lists)
        verdict: Verdict = "nowhere" if not free else "some devices" if free < len(lists) else "everywhere"
        reasons = list(dict.fromkeys(reason for reasons in lists for reason in reasons))
        backends.append(Backend(backend, verdict, reasons))
    times = [
        _step_time(manifest, place, bool(obstacles[place.device.name, place.backend])) for place in PLACES
    ]
    return Inspection(manifest, traffic, backends, times)


def fastest(step_times: list[StepTime]) -> dict[DeviceName, StepTime | None]:
    """For each device the backend that is likely to be fastest, None where none can train."""
    best: dict[DeviceName, StepTime | None] = {device.name: None for device in DEVICES}
    for one in step_times:
        now = best[one.device]
        if one.high_ms is not None and (now is None or now.high_ms is None or one.high_ms < now.high_ms):
            best[one.device] = one
    return best


def _obstacles(manifest: Manifest, place: Place) -> Iterator[str]:
    """Sentences: what is in the way, why, and what to change."""
    step, limits = manifest.step, place.limits
    deepest, largest = step.deepest_tensor, step.largest_tensor
    if limits.dimensions is not None and len(deepest.shape) > limits.dimensions:
        yield (
            f"It knows tensors of up to {limits.dimensions} dimensions, and {_named(deepest)} has "
            f"{len(deepest.shape)}: merge dimensions in that layer with a Reshape."
        )
    if limits.tensor_bytes is not None and largest.bytes > limits.tensor_bytes:
        yield (
            f"On {place.device.phrase} one tensor may take {_size(limits.tensor_bytes)}, and "
            f"{_named(largest)} takes {_size(largest.bytes)}: {_remedy(manifest, largest)}."
        )
    needed = step.memory.peak * place.waste
    if needed > place.memory_bytes:
        yield (
            f"On {place.device.phrase} it can count on {_size(place.memory_bytes)} of memory, and a step "
            f"takes about {_size(needed)}: use a smaller batch or model."
        )


def _step_time(manifest: Manifest, place: Place, hindered: bool) -> StepTime:
    """Work over rates, slow end and fast end: arithmetic, memory traffic and the cost of each op add up."""
    if hindered:
        return StepTime(place.device.name, place.backend, None, None, place.rates.basis)
    flops = manifest.flops.train + manifest.flops.apply
    moved = sum(row.bytes for row in manifest.step.ops)
    runs = sum(row.runs for row in manifest.step.ops)
    rates = place.rates
    slow, fast = (
        flops / rates.gflops[end] / 1e6
        + moved / rates.gigabytes[end] / 1e6
        + runs * rates.op_us[1 - end] / 1e3
        for end in (0, 1)
    )
    return StepTime(place.device.name, place.backend, _rounded(fast), _rounded(slow), rates.basis)


def _remedy(manifest: Manifest, tensor: TensorShape) -> str:
    """What makes this tensor smaller: it grows with the batch, the optimizer, or the model."""
    trainable = manifest.parameters.trainable
    if tensor.shape == [manifest.optimizer.slots, trainable] and manifest.optimizer.slots > 1:
        return "use an optimizer with fewer slots, such as momentum, or a smaller model"
    if tensor.shape[-1:] == [trainable]:
        return "use a smaller model"
    return "use a smaller batch"


def _named(tensor: TensorShape) -> str:
    return f"{tensor.name} [{', '.join(map(str, tensor.shape))}]"


def _rounded(value: float) -> float:
    """Two digits: no estimate knows more."""
    return float(f"{value:.2g}")


def _size(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
