"""Lists device classes with each backend's limits and rates on them (docs/reference/inspect.md).

A rate is a range, the class's slow end first. Rates of processors come from steps measured on two cores of
a server (WebAssembly on one), scaled to phones and laptops; those of GPUs from published peaks, of which
TF.js reaches 1 to 5 % on small models (Smilkov et al. 2019, table 1: 2.6 to 2.8 %).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from backend.translation import later

DeviceName = Literal["phone", "laptop", "gpu"]
BackendName = Literal["webgpu", "webgl", "wasm", "cpu", "tensorflow-cpu", "tensorflow-cuda"]
Basis = Literal["measured", "estimated"]
Range = tuple[float, float]

MIB = 1 << 20
GIB = 1 << 30
# Memory per byte of tensors, with the overhead of a browser's allocators, textures and copies.
BROWSER_WASTE = 2.0
NATIVE_WASTE = 1.5


@dataclass(frozen=True)
class Device:
    """A class of devices; `phrase` names it in sentences."""

    name: DeviceName
    phrase: str
    # Memory that one tab, or one TensorFlow process, can rely on.
    tab_bytes: int
    process_bytes: int


@dataclass(frozen=True)
class TensorLimits:
    """Limits of one tensor; None: limited only by memory."""

    tensor_bytes: int | None = None
    dimensions: int | None = None


@dataclass(frozen=True)
class DeviceRates:
    """GFLOP/s, GB/s of reading and writing, and microseconds of overhead for each op."""

    gflops: Range
    gigabytes: Range
    op_us: Range
    basis: Basis


@dataclass(frozen=True)
class DeviceBackend:
    """A backend on a class of devices."""

    device: Device
    backend: BackendName
    limits: TensorLimits
    rates: DeviceRates

    @property
    def native(self) -> bool:
        """Whether the backend is TensorFlow, outside a browser."""
        return self.backend.startswith("tensorflow")

    @property
    def memory_bytes(self) -> int:
        """Returns the memory for all tensors of a step."""
        return self.device.process_bytes if self.native else self.device.tab_bytes

    @property
    def waste(self) -> float:
        """Returns the memory used for each byte of tensors."""
        return NATIVE_WASTE if self.native else BROWSER_WASTE


PHONE = Device("phone", later("a phone"), tab_bytes=1 * GIB, process_bytes=0)
LAPTOP = Device("laptop", later("a laptop"), tab_bytes=4 * GIB, process_bytes=8 * GIB)
GPU = Device("gpu", later("a computer with a graphics card"), tab_bytes=8 * GIB, process_bytes=8 * GIB)
DEVICES = (PHONE, LAPTOP, GPU)


def _webgl(texture_edge: int) -> TensorLimits:
    # TF.js stores vectors unpacked, one value per texel. Its shaders support six coordinates.
    return TensorLimits(tensor_bytes=4 * texture_edge**2, dimensions=6)


def _webgpu(binding_bytes: int) -> TensorLimits:
    return TensorLimits(tensor_bytes=binding_bytes, dimensions=6)


# WebGPU guarantees bindings of 128 MiB; TF.js requests the adapter's maximum.
PLACES = (
    DeviceBackend(PHONE, "webgpu", _webgpu(128 * MIB), DeviceRates((8, 80), (5, 25), (80, 400), "estimated")),
    DeviceBackend(PHONE, "webgl", _webgl(4096), DeviceRates((5, 50), (4, 20), (150, 800), "estimated")),
    DeviceBackend(PHONE, "wasm", TensorLimits(), DeviceRates((3, 15), (2, 10), (40, 150), "estimated")),
    DeviceBackend(PHONE, "cpu", TensorLimits(), DeviceRates((0.05, 0.3), (0.1, 0.6), (20, 100), "estimated")),
    DeviceBackend(
        LAPTOP, "webgpu", _webgpu(1 * GIB), DeviceRates((30, 250), (15, 80), (30, 120), "estimated")
    ),
    DeviceBackend(LAPTOP, "webgl", _webgl(16384), DeviceRates((20, 150), (10, 60), (50, 250), "estimated")),
    DeviceBackend(LAPTOP, "wasm", TensorLimits(), DeviceRates((8, 40), (6, 24), (15, 40), "measured")),
    DeviceBackend(LAPTOP, "cpu", TensorLimits(), DeviceRates((0.2, 0.8), (0.4, 1.5), (10, 50), "estimated")),
    DeviceBackend(
        LAPTOP, "tensorflow-cpu", TensorLimits(), DeviceRates((80, 400), (20, 90), (8, 25), "measured")
    ),
    DeviceBackend(
        GPU, "webgpu", _webgpu(2 * GIB - 4), DeviceRates((300, 2000), (100, 400), (25, 100), "estimated")
    ),
    DeviceBackend(GPU, "webgl", _webgl(16384), DeviceRates((200, 1000), (80, 300), (40, 150), "estimated")),
    DeviceBackend(
        GPU, "tensorflow-cuda", TensorLimits(), DeviceRates((2000, 20000), (150, 1500), (5, 20), "estimated")
    ),
)
