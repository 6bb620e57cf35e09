"""Estimates the cost of the same bits everywhere: steps on processors instead of GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backend.formats.task_file import TaskFile, exactness
from backend.server.estimates.devices import BackendName, DeviceName, Range
from backend.server.tasks.formatting import between
from backend.server.tasks.model_inspection import StepTime
from backend.server.units.provisional.room import may_be_provisional
from backend.translation import gettext

# Its steps are those of WebAssembly; plain kernels take up to a quarter longer, which a range covers.
_EXACT: BackendName = "wasm"
_GPUS: tuple[BackendName, ...] = ("webgpu", "webgl")


@dataclass(frozen=True)
class ExactCost:
    """Milliseconds of a step on a class of devices: with the backend `exact`, and with the GPU.

    `gpu_ms` is None if the GPU cannot train the model, or is not expected to be faster.
    """

    device: DeviceName
    exact_ms: Range
    gpu_ms: Range | None


def exact_costs(times: Sequence[StepTime]) -> list[ExactCost]:
    """Returns the cost on each class of devices that can compute the same bits."""
    exact = {time.device: time.range_ms for time in times if time.backend == _EXACT and time.range_ms}
    return [ExactCost(device, ms, _faster_gpu(times, device, ms)) for device, ms in exact.items()]


def usable_times(file: TaskFile, times: Sequence[StepTime]) -> list[StepTime]:
    """Returns the times of the backends with which clients may take part."""
    required = exactness(file) == "required"
    return [time for time in times if not required or time.backend == _EXACT]


def exact_notes(
    file: TaskFile, times: Sequence[StepTime], steps: int, leases: float | None = None
) -> Iterator[str]:
    """Yields what the choice of exactness costs in seconds, and what it buys.

    `steps` are those of a unit or of a client's round, `leases` the mean number for each useful result.
    """
    mode, unit = exactness(file), gettext("unit") if file.coordination.volunteer else gettext("round")
    if mode == "off":
        return
    if leases is not None:
        if mode == "required":
            compared = gettext(
                "Results are compared by their hash, without a tolerance: each useful result takes about "
                "%(leases)s leases."
            )
        else:
            compared = gettext(
                "Results of exact devices are compared by their hash, without a tolerance: each useful "
                "result takes about %(leases)s leases."
            )
        yield compared % {"leases": f"{leases:.2f}"}
    yield from _taking_out(file)
    laptop = next((cost for cost in exact_costs(times) if cost.device == "laptop"), None)
    if laptop is None:
        return
    if mode == "required":
        start = gettext(
            "All compute on their processors: a %(unit)s takes a laptop %(exact)s this way, %(gpu)s."
        )
    else:
        start = gettext(
            'With training.exact = "required" all would compute on their processors: a %(unit)s takes a '
            "laptop %(exact)s this way, %(gpu)s."
        )
    if laptop.gpu_ms is None:
        faster = gettext("and its graphics processor would be no faster")
    else:
        faster = gettext("and its graphics processor would take %(time)s") % {
            "time": _total(steps, laptop.gpu_ms)
        }
    yield start % {"unit": unit, "exact": _total(steps, laptop.exact_ms), "gpu": faster}


def _taking_out(file: TaskFile) -> Iterator[str]:
    """Yields whether false results can be removed from the model, and what that would need."""
    units = file.coordination.units
    if units is None or exactness(file) != "required":
        return
    if may_be_provisional(file, units):
        yield gettext(
            "They count before they are proven. If a trusted peer refutes one, all unproven results of its "
            "client are taken out of the model."
        )
    elif not units.trust.trusted:
        yield gettext(
            "Equal results of two strangers prove nothing: they may know each other. If you name a peer of "
            "your own as trusted, false results can be removed from the model."
        )


def _faster_gpu(times: Sequence[StepTime], device: DeviceName, exact_ms: Range) -> Range | None:
    ranges = [time.range_ms for time in times if time.device == device and time.backend in _GPUS]
    best = min(filter(None, ranges), key=_middle, default=None)
    return best if best is not None and _middle(best) < _middle(exact_ms) else None


def _total(steps: int, range_ms: Range) -> str:
    """Returns the times of so many steps by two digits, the precision of these estimates."""
    low, high = (float(f"{steps * ms:.2g}") for ms in range_ms)
    return between(low, high)


def _middle(range_ms: Range) -> float:
    """Returns the square of the geometric mean, by which ranges are ordered."""
    return range_ms[0] * range_ms[1]
