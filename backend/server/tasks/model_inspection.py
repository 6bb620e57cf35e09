"""Computes what a bundle requires of a device: the facts of `minga inspect` and a task's model page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import msgspec

from backend.formats.layer_costs import StepMemory, TensorShape
from backend.formats.manifest import Manifest
from backend.server.estimates.devices import PLACES, BackendName, Basis, DeviceBackend, DeviceName
from backend.server.estimates.traffic import Traffic
from backend.server.tasks.formatting import size
from backend.translation import gettext

Verdict = Literal["everywhere", "some devices", "nowhere"]


@dataclass(frozen=True)
class Backend:
    """States where a backend can train the model; `reasons` has a sentence for each obstacle."""

    backend: BackendName
    eligible: Verdict
    reasons: list[str]


@dataclass(frozen=True)
class StepTime:
    """Milliseconds of one step, from fast devices to slow ones; None if the backend cannot train there."""

    device: DeviceName
    backend: BackendName
    range_ms: tuple[float, float] | None
    basis: Basis


@dataclass(frozen=True)
class Inspection:
    """All facts that `minga inspect` reports, in its order."""

    manifest: Manifest
    traffic: Traffic
    backends: list[Backend]
    step_times: list[StepTime]

    @property
    def step_flops(self) -> int:
        """Returns the floating-point operations of one training step."""
        return self.manifest.flops.train + self.manifest.flops.apply

    @property
    def step_ops(self) -> int:
        """Returns how many ops one training step runs."""
        return sum(row.runs for row in self.manifest.step.ops)

    def reasons(self) -> dict[str, list[BackendName]]:
        """Returns each sentence on an obstacle once, with the backends that it concerns."""
        backends: dict[str, list[BackendName]] = {}
        for backend in self.backends:
            for reason in backend.reasons:
                backends.setdefault(reason, []).append(backend.backend)
        return backends

    def to_json(self) -> dict[str, Any]:
        """Returns the stable JSON form (docs/reference/inspect.md)."""
        manifest = self.manifest
        memory, sliced = manifest.step.memory, manifest.step.sliced
        return {
            "name": manifest.name,
            "batch_size": manifest.batch_size,
            "parameters": msgspec.to_builtins(manifest.parameters),
            "checked": msgspec.to_builtins(manifest.checked),
            "warnings": manifest.warnings,
            "program": None if manifest.exact is None else manifest.exact.program,
            "layers": msgspec.to_builtins(manifest.layers),
            "flops": msgspec.to_builtins(manifest.flops) | {"step": self.step_flops},
            "memory": _memory(memory),
            "memory_sliced": None if sliced is None else _memory(sliced.memory),
            "ops": msgspec.to_builtins(manifest.step.ops),
            "wire": asdict(self.traffic),
            "backends": [asdict(backend) for backend in self.backends],
            "step_times": [asdict(time) for time in self.step_times],
        }


def inspect(manifest: Manifest, traffic: Traffic) -> Inspection:
    """Returns the facts of a checked bundle."""
    obstacles = [(place, list(_obstacles(manifest, place))) for place in PLACES]
    backends = []
    for backend in dict.fromkeys(place.backend for place in PLACES):
        lists = [reasons for place, reasons in obstacles if place.backend == backend]
        reasons = list(dict.fromkeys(reason for sentences in lists for reason in sentences))
        backends.append(Backend(backend, _verdict(lists), reasons))
    times = [_step_time(manifest, place, not reasons) for place, reasons in obstacles]
    return Inspection(manifest, traffic, backends, times)


def fastest(step_times: list[StepTime]) -> dict[DeviceName, StepTime]:
    """Returns, for each device that can train, the backend whose slow end takes the shortest time."""
    best: dict[DeviceName, StepTime] = {}
    for time in step_times:
        if time.range_ms is None:
            continue
        rival = best.get(time.device)
        if rival is None or rival.range_ms is None or time.range_ms[1] < rival.range_ms[1]:
            best[time.device] = time
    return best


def likely_device(manifest: Manifest, backend: str, step_ms: float) -> DeviceName | None:
    """Guesses the device class on which a step with `backend` is expected to take about `step_ms`.

    None if the time or the backend is unknown.
    """
    expected: dict[DeviceName, float] = {}
    for place in PLACES:
        if place.backend == backend and (range_ms := _step_time(manifest, place, True).range_ms):
            expected[place.device.name] = math.sqrt(range_ms[0] * range_ms[1])
    if not step_ms > 0.0 or not expected:
        return None
    return min(expected, key=lambda device: abs(math.log(step_ms / max(expected[device], 1e-9))))


def _verdict(lists: list[list[str]]) -> Verdict:
    free = sum(not reasons for reasons in lists)
    return "everywhere" if free == len(lists) else "some devices" if free else "nowhere"


def _obstacles(manifest: Manifest, place: DeviceBackend) -> Iterator[str]:
    """Yields a sentence on each obstacle, its reason and its remedy. Browsers may slice the batch."""
    step, limits = manifest.step, place.limits
    deepest = step.deepest_tensor
    if limits.dimensions is not None and len(deepest.shape) > limits.dimensions:
        yield gettext(
            "It knows tensors of up to %(most)s dimensions, and %(tensor)s has %(count)s: merge dimensions "
            "in that layer with a Reshape."
        ) % {"most": limits.dimensions, "tensor": _named(deepest), "count": len(deepest.shape)}
    variant = step if step.sliced is None or place.native else step.sliced
    largest, needed = variant.largest_tensor, variant.memory.peak * place.waste
    if limits.tensor_bytes is not None and largest.bytes > limits.tensor_bytes:
        yield gettext(
            "On %(device)s one tensor may take %(most)s, and %(tensor)s takes %(bytes)s: %(remedy)s."
        ) % {
            "device": gettext(place.device.phrase),
            "most": size(limits.tensor_bytes),
            "tensor": _named(largest),
            "bytes": size(largest.bytes),
            "remedy": _remedy(manifest, largest),
        }
    if needed > place.memory_bytes:
        yield gettext(
            "On %(device)s a step may take %(most)s of memory, and this one takes about %(bytes)s: use a "
            "smaller batch or model."
        ) % {
            "device": gettext(place.device.phrase),
            "most": size(place.memory_bytes),
            "bytes": size(needed),
        }


def _step_time(manifest: Manifest, place: DeviceBackend, fits: bool) -> StepTime:
    """Adds up the times of arithmetic, memory traffic and ops, at the slow and the fast end of the rates."""
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
    range_ms = (_rounded(fast), _rounded(slow)) if fits else None
    return StepTime(place.device.name, place.backend, range_ms, rates.basis)


def _remedy(manifest: Manifest, tensor: TensorShape) -> str:
    """Says how to make this tensor smaller: it grows with the batch, the optimizer or the model."""
    trainable = manifest.parameters.trainable
    if tensor.shape == [manifest.optimizer.slots, trainable] and manifest.optimizer.slots > 1:
        return gettext("use an optimizer with fewer slots, such as momentum, or a smaller model")
    if tensor.shape[-1:] == [trainable]:
        return gettext("use a smaller model")
    return gettext("use a smaller batch")


def _memory(memory: StepMemory) -> dict[str, int]:
    parts: dict[str, int] = msgspec.to_builtins(memory)
    return parts | {"peak": memory.peak}


def _named(tensor: TensorShape) -> str:
    return f"{tensor.name} [{', '.join(map(str, tensor.shape))}]"


def _rounded(value: float) -> float:
    """Rounds to two significant digits, the precision of these estimates."""
    return float(f"{value:.2g}")
