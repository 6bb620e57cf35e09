"""Words and figures as people read them, for the templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from backend.services.figures import between, operations, shape, size
from backend.services.taskfile import Checkpoints

BACKENDS = {
    "webgpu": "WebGPU",
    "webgl": "WebGL",
    "wasm": "WebAssembly",
    "cpu": "JavaScript",
    "tensorflow-cpu": "TensorFlow",
    "tensorflow-cuda": "TensorFlow on a GPU",
}
KINDS = {"browser": "Browser", "peer": "TensorFlow peer"}
REFUSALS = {
    "bad-examples": "impossible count of examples or steps",
    "duplicate": "offered twice",
    "norm-too-large": "change too large",
    "not-finite": "values not finite",
    "not-selected": "not chosen for the round",
    "stale-round": "too late",
    "too-slow": "sent too slowly",
    "wrong-length": "incomplete, or of another model",
}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DEVICES = {"phone": "Phone", "laptop": "Laptop", "gpu": "Graphics card"}


def number(value: float) -> str:
    """A whole number with its thousands apart, such as `12 345` (with a thin space)."""
    return f"{value:,.0f}".replace(",", "\u202f")


def percent(value: float | None) -> str:
    """A share between 0 and 1 as `93.1 %`; a dash when there is none yet."""
    return "–" if value is None else f"{value * 100:.1f}\u202f%"


def decimal(value: float | None) -> str:
    """A loss with four digits; a dash when there is none yet."""
    return "–" if value is None else f"{value:.4g}"


def counted(value: int, singular: str, plural: str | None = None) -> str:
    """`1 volunteer`, `3 volunteers`."""
    return f"{number(value)} {singular if value == 1 else plural or singular + 's'}"


def standing(task: Mapping[str, Any]) -> str:
    """What happens in a task now, as a sentence without its full stop."""
    match task["phase"]:
        case "finished":
            return "Finished: the model is trained"
        case "training":
            return f"Training round {number(task['round'])} now"
        case "evaluating":
            return f"Measuring version {number(task['version'])} now"
        case "aggregating":
            return f"Putting round {number(task['round'])} together"
    if task["participants"]:
        return "Waiting for more volunteers"
    return "Waiting for volunteers" if task["version"] else "Waiting for the first volunteer"


def backend(word: str) -> str:
    return BACKENDS.get(word, word)


def runner(words: str) -> str:
    """A client by its kind and backend, such as `browser webgpu`."""
    what, _, runs_on = words.partition(" ")
    who = {"browser": "browser", "peer": "peer"}.get(what, "other client")
    return f"{who} with {backend(runs_on)}" if runs_on else who


def refusal(code: str) -> str:
    return REFUSALS.get(code, code)


def label(name: str) -> str:
    """A metric's name at the head of its value."""
    return name.replace("_", " ").capitalize()


def instant(seconds: float) -> str:
    """Unix time for machines: `2026-11-21T16:20:03Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(seconds: float) -> str:
    """Unix time as `21 Nov 2026, 16:20:03 UTC`; pages' scripts put it into the reader's own time."""
    at = datetime.fromtimestamp(seconds, UTC)
    return f"{at.day} {MONTHS[at.month - 1]} {at.year}, {at:%H:%M:%S} UTC"


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{number(whole // 3600)} h {whole % 3600 // 60} min"


def kept(plan: Checkpoints) -> str:
    """Which versions' weights can be had, in a sentence."""
    parts = [f"the newest {number(plan.keep_last)}"]
    if plan.keep_best:
        parts.append("the best" if plan.keep_best == 1 else f"the best {number(plan.keep_best)}")
    if plan.keep_every:
        parts.append(f"every {number(plan.keep_every)}th")
    return f"Kept are the weights of {', '.join(parts)} and version 0; others are let go to save space."


def device(word: str) -> str:
    return DEVICES.get(word, word)


def kind(word: str) -> str:
    return KINDS.get(word, word)


FILTERS: dict[str, Callable[..., str]] = {
    "backend": backend,
    "between": between,
    "counted": counted,
    "decimal": decimal,
    "device": device,
    "duration": duration,
    "instant": instant,
    "kind": kind,
    "label": label,
    "moment": moment,
    "number": number,
    "operations": operations,
    "percent": percent,
    "refusal": refusal,
    "runner": runner,
    "shape": shape,
    "size": size,
    "standing": standing,
}
