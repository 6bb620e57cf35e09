"""Estimates the energy of a training, since volunteers' devices are not metered."""

from __future__ import annotations

from backend.formats.manifest import Manifest

# GFLOP for each joule that a device draws while it trains, from its slow end: WebAssembly on a laptop gets 8
# to 40 GFLOP/s (backend/server/estimates/devices.py) at some 20 W, a phone's GPU some 50 GFLOP/s at 5 W.
GIGAFLOP_PER_JOULE = (0.4, 10.0)
# Additional watts that a device draws while it trains: a phone, and a desktop computer under full load.
WATTS = (5.0, 65.0)
_JOULES_PER_WATT_HOUR = 3600.0


def training_flops(manifest: Manifest, examples: float) -> float:
    """Returns the operations of training on `examples`, each visit counted, in full batches."""
    return examples / manifest.batch_size * (manifest.flops.train + manifest.flops.apply)


def training_energy(manifest: Manifest, examples: int) -> tuple[float, float]:
    """Returns the minimum and maximum watt-hours that devices draw for it: an order of magnitude.

    The network, screens that were on anyway and refused work are not included.
    """
    joules = [training_flops(manifest, examples) / 1e9 / rate for rate in GIGAFLOP_PER_JOULE]
    return min(joules) / _JOULES_PER_WATT_HOUR, max(joules) / _JOULES_PER_WATT_HOUR


def working_energy(seconds: float) -> tuple[float, float]:
    """Returns the minimum and maximum kWh of devices in `seconds` of work: an order of magnitude."""
    low, high = (seconds * watts / _JOULES_PER_WATT_HOUR / 1000.0 for watts in WATTS)
    return low, high
