"""Which devices and browsers can take part in training a model, in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from backend.server.estimates.devices import DEVICES, PLACES, Device
from backend.server.estimates.traffic import Traffic
from backend.server.tasks.formatting import between, size
from backend.server.tasks.model_inspection import Inspection, StepTime

_NAMES = {
    "webgpu": "WebGPU",
    "webgl": "WebGL",
    "wasm": "WebAssembly",
    "cpu": "JavaScript",
    "tensorflow-cpu": "TensorFlow",
    "tensorflow-cuda": "TensorFlow on a GPU",
}
_IN_BROWSERS = ("webgpu", "webgl", "wasm", "cpu")
_WHO = {"phone": "Phones", "laptop": "Laptops", "gpu": "Computers with a graphics card"}
# Since when browsers have what a worker needs for each backend (OffscreenCanvas for WebGL, SIMD for
# WebAssembly; WebGPU as the browsers' makers announced it).
_BROWSERS = {
    "webgpu": "Chrome and Edge from 113 (on Android from 121), Safari from 26, Firefox from 141 on Windows",
    "webgl": "Chrome and Edge from 69, Firefox from 105, Safari from 17",
    "wasm": "Chrome and Edge from 91, Firefox from 89, Safari from 16.4",
}


class DeviceSupport(Struct, frozen=True):
    """A class of devices: whether any of its backends can train the model, and a sentence on how."""

    device: str
    can: bool
    text: str


def device_support(inspection: Inspection) -> list[DeviceSupport]:
    """A line for each class of devices, in the order of `devices.DEVICES`."""
    return [_support(inspection, device) for device in DEVICES]


def browsers(inspection: Inspection) -> list[str]:
    """A sentence for each kind of browser program that can train the model anywhere."""
    able = {one.backend for one in inspection.backends if one.eligible != "nowhere"}
    return [f"{_NAMES[name]}: {since}." for name, since in _BROWSERS.items() if name in able]


def trained_with(inspection: Inspection) -> str:
    """With what the model can be trained, and where, in a sentence or two; "" where nothing can."""
    where = {"everywhere": "on all devices", "some devices": "on some devices"}
    parts = []
    for eligible, words in where.items():
        able = {one.backend for one in inspection.backends if one.eligible == eligible}
        if titles := [_NAMES[name] for name in _IN_BROWSERS if name in able]:
            parts.append(f"{words} with {_listed(titles)}")
    peers = any(
        one.backend.startswith("tensorflow") and one.eligible != "nowhere" for one in inspection.backends
    )
    browsers = f"Browsers train it {', '.join(parts)}." if parts else ""
    return " ".join(filter(None, (browsers, "Peers train it with TensorFlow." if peers else "")))


def _listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def payload(traffic: Traffic) -> str:
    """What moves over a volunteer's connection."""
    examples = "" if traffic.data is None else f" and {size(traffic.data)} of examples"
    return (
        f"A browser fetches the step once ({size(traffic.browser_bundle)}). For each round or work unit "
        f"it fetches {size(traffic.version_down)} of weights{examples}, and sends {size(traffic.update_up)}."
    )


def _support(inspection: Inspection, device: Device) -> DeviceSupport:
    times = [one for one in inspection.step_times if one.device == device.name]
    able = [one for one in times if one.range_ms is not None]
    if not able:
        return DeviceSupport(
            device.name, False, f"{_WHO[device.name]} cannot take part. {_reason(inspection, times)}"
        )
    peak = (inspection.manifest.step.sliced or inspection.manifest.step).memory.peak
    waste = max(place.waste for place in PLACES if place.device is device)
    return DeviceSupport(
        device.name,
        True,
        f"{_WHO[device.name]} can take part: a step takes {_times(able)}, and about {size(waste * peak)} "
        f"of the {size(device.tab_bytes)} of memory that one tab can count on.",
    )


def _times(able: Iterable[StepTime]) -> str:
    def told(one: StepTime) -> Any:
        return f"{between(*one.range_ms)} with {_NAMES[one.backend]}" if one.range_ms else ""

    first, *others = [told(one) for one in sorted(able, key=lambda one: one.range_ms or (0.0, 0.0))]
    return f"{', '.join([first, *others[:-1]])} or {others[-1]}" if others else str(first)


def _reason(inspection: Inspection, times: list[StepTime]) -> str:
    names = {one.backend for one in times}
    return next((one.reasons[0] for one in inspection.backends if one.backend in names and one.reasons), "")
