"""Describes in words which devices and browsers can take part in training a model."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from backend.server.estimates.devices import DEVICES, PLACES, Device
from backend.server.estimates.traffic import Traffic
from backend.server.tasks.formatting import between, size
from backend.server.tasks.model_inspection import Inspection, StepTime
from backend.translation import gettext, later, listed

_NAMES = {
    "webgpu": "WebGPU",
    "webgl": "WebGL",
    "wasm": "WebAssembly",
    "cpu": "JavaScript",
    "tensorflow-cpu": "TensorFlow",
    "tensorflow-cuda": "TensorFlow on a GPU",
}
_IN_BROWSERS = ("webgpu", "webgl", "wasm", "cpu")
_TITLES = {
    "phone": later("Phones"),
    "laptop": later("Laptops"),
    "gpu": later("Computers with a graphics card"),
}
# Browser versions that first gave workers what each backend needs (OffscreenCanvas for WebGL, SIMD for
# WebAssembly; for WebGPU the versions that the browsers' makers announced).
_BROWSERS = {
    "webgpu": later(
        "Chrome and Edge from 113 (on Android from 121), Safari from 26, Firefox from 141 on Windows"
    ),
    "webgl": later("Chrome and Edge from 69, Firefox from 105, Safari from 17"),
    "wasm": later("Chrome and Edge from 91, Firefox from 89, Safari from 16.4"),
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
    return [f"{_NAMES[name]}: {gettext(since)}." for name, since in _BROWSERS.items() if name in able]


def trained_with(inspection: Inspection) -> str:
    """Names the backends that can train the model, and where, in one or two sentences; "" if none can."""
    where = {
        "everywhere": gettext("on all devices with %(backends)s"),
        "some devices": gettext("on some devices with %(backends)s"),
    }
    parts = []
    for eligible, words in where.items():
        able = {backend.backend for backend in inspection.backends if backend.eligible == eligible}
        if titles := [_NAMES[name] for name in _IN_BROWSERS if name in able]:
            parts.append(words % {"backends": listed(titles)})
    peers = any(
        backend.backend.startswith("tensorflow") and backend.eligible != "nowhere"
        for backend in inspection.backends
    )
    browsers = gettext("Browsers train it %(where)s.") % {"where": ", ".join(parts)} if parts else ""
    return " ".join(filter(None, (browsers, gettext("Peers train it with TensorFlow.") if peers else "")))


def payload(traffic: Traffic) -> str:
    """Returns sentences on the traffic of a volunteer's connection."""
    if traffic.data is None:
        sentence = gettext(
            "A browser fetches the step once (%(step)s). For each round or work unit it fetches %(weights)s "
            "of weights, and sends %(update)s."
        )
    else:
        sentence = gettext(
            "A browser fetches the step once (%(step)s). For each round or work unit it fetches %(weights)s "
            "of weights and %(examples)s of examples, and sends %(update)s."
        )
    return sentence % {
        "step": size(traffic.browser_bundle),
        "weights": size(traffic.version_down),
        "examples": size(traffic.data or 0),
        "update": size(traffic.update_up),
    }


def _support(inspection: Inspection, device: Device) -> DeviceSupport:
    times = [time for time in inspection.step_times if time.device == device.name]
    able = [time for time in times if time.range_ms is not None]
    if not able:
        cannot = gettext("%(devices)s cannot take part.") % {"devices": gettext(_TITLES[device.name])}
        return DeviceSupport(device.name, False, f"{cannot} {_reason(inspection, times)}")
    peak = (inspection.manifest.step.sliced or inspection.manifest.step).memory.peak
    waste = max(place.waste for place in PLACES if place.device is device)
    text = gettext(
        "%(devices)s can take part: a step takes %(times)s, and about %(memory)s of the %(tab)s of memory "
        "that one tab can count on."
    ) % {
        "devices": gettext(_TITLES[device.name]),
        "times": _times(able),
        "memory": size(waste * peak),
        "tab": size(device.tab_bytes),
    }
    return DeviceSupport(device.name, True, text)


def _times(able: Iterable[StepTime]) -> str:
    def words(time: StepTime) -> str:
        if time.range_ms is None:
            return ""
        return gettext("%(time)s with %(backend)s") % {
            "time": between(*time.range_ms),
            "backend": _NAMES[time.backend],
        }

    first, *others = [words(time) for time in sorted(able, key=lambda time: time.range_ms or (0.0, 0.0))]
    if not others:
        return first
    return gettext("%(words)s or %(last)s") % {"words": ", ".join([first, *others[:-1]]), "last": others[-1]}


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
