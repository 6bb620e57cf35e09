"""Words and figures as people read them, for the templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from backend.services.figures import between, operations, shape, size

BACKENDS = {
    "webgpu": "WebGPU",
    "webgl": "WebGL",
    "wasm": "WebAssembly",
    "cpu": "JavaScript",
    "tensorflow-cpu": "TensorFlow",
    "tensorflow-cuda": "TensorFlow on a GPU",
}
KINDS = {"browser": "Browser", "peer": "TensorFlow peer"}
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
    "kind": kind,
    "number": number,
    "operations": operations,
    "percent": percent,
    "shape": shape,
    "size": size,
    "standing": standing,
}
