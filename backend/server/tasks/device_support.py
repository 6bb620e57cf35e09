"""Describes in words which devices and browsers can take part in training a model."""

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
_TITLES = {"phone": "Phones", "laptop": "Laptops", "gpu": "Computers with a graphics card"}
# Browser versions that first gave workers what each backend needs (OffscreenCanvas for WebGL, SIMD for
# WebAssembly; for WebGPU the versions that the browsers' makers announced).
_BROWSERS = {
    "webgpu": "Chrome and Edge from 113 (on Android from 121), Safari from 26, Firefox from 141 on Windows",
    "webgl": "Chrome and Edge from 69, Firefox from 105, Safari from 17",
    "wasm": "Chrome and Edge from 91, Firefox from 89, Safari from 16.4",
}


class DeviceSupport(Struct, frozen=True):
    """States whether any backend of a device class can train the model, with a sentence on how."""

    device: str
    can: bool
    text: str


def device_support(inspection: Inspection) -> list[DeviceSupport]:
    """Returns an entry for each device class, in the order of `devices.DEVICES`."""
    return [_support(inspection, device) for device in DEVICES]


def browsers(inspection: Inspection) -> list[str]:
    """Returns a sentence on browser versions for each backend that can train the model on some device."""
    able = {backend.backend for backend in inspection.backends if backend.eligible != "nowhere"}
    return [f"{_NAMES[name]}: {since}." for name, since in _BROWSERS.items() if name in able]


def trained_with(inspection: Inspection) -> str:
    """Names the backends that can train the model, and where, in one or two sentences; "" if none can."""
    where = {"everywhere": "on all devices", "some devices": "on some devices"}
    parts = []
    for eligible, words in where.items():
        able = {backend.backend for backend in inspection.backends if backend.eligible == eligible}
        if titles := [_NAMES[name] for name in _IN_BROWSERS if name in able]:
            parts.append(f"{words} with {_listed(titles)}")
    peers = any(
        backend.backend.startswith("tensorflow") and backend.eligible != "nowhere"
        for backend in inspection.backends
    )
    browsers = f"Browsers train it {', '.join(parts)}." if parts else ""
    return " ".join(filter(None, (browsers, "Peers train it with TensorFlow." if peers else "")))


def _listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def payload(traffic: Traffic) -> str:
    """Returns sentences on the traffic of a volunteer's connection."""
    examples = "" if traffic.data is None else f" and {size(traffic.data)} of examples"
    return (
        f"A browser fetches the step once ({size(traffic.browser_bundle)}). For each round or work unit "
        f"it fetches {size(traffic.version_down)} of weights{examples}, and sends {size(traffic.update_up)}."
    )


def _support(inspection: Inspection, device: Device) -> DeviceSupport:
    times = [time for time in inspection.step_times if time.device == device.name]
    able = [time for time in times if time.range_ms is not None]
    if not able:
        return DeviceSupport(
            device.name, False, f"{_TITLES[device.name]} cannot take part. {_reason(inspection, times)}"
        )
    peak = (inspection.manifest.step.sliced or inspection.manifest.step).memory.peak
    waste = max(place.waste for place in PLACES if place.device is device)
    return DeviceSupport(
        device.name,
        True,
        f"{_TITLES[device.name]} can take part: a step takes {_times(able)}, and about {size(waste * peak)} "
        f"of the {size(device.tab_bytes)} of memory that one tab can count on.",
    )


def _times(able: Iterable[StepTime]) -> str:
    def words(time: StepTime) -> Any:
        return f"{between(*time.range_ms)} with {_NAMES[time.backend]}" if time.range_ms else ""

    first, *others = [words(time) for time in sorted(able, key=lambda time: time.range_ms or (0.0, 0.0))]
    return f"{', '.join([first, *others[:-1]])} or {others[-1]}" if others else str(first)


def _reason(inspection: Inspection, times: list[StepTime]) -> str:
    names = {time.backend for time in times}
    return next(
        (
            backend.reasons[0]
            for backend in inspection.backends
            if backend.backend in names and backend.reasons
        ),
        "",
    )
