"""Reads the part of a task file that the converter needs."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from converter.objectives.objective_tables import ObjectiveTable, read_objectives, refuse_other_losses
from converter.refusal import Refusal

MAX_BYTES = 1 << 18
MAX_BATCH = 4096
MODEL_KEYS = {"file", "bundle", "batch_size", "loss", "loss_weights", "class_weight", "metrics", "optimizer"}
MODEL_KEYS |= {"slice", "objectives"}


@dataclass(frozen=True)
class ConversionTask:
    """The model section of a task; `loss`, `metrics`, `optimizer` None take the compiled model's.

    `loss`, `loss_weights` and `metrics` stand as the task file says them;
    converter/objectives/objective_selection.py reads them. Of `objectives` and `loss` there is one at most.
    """

    name: str
    batch_size: int
    loss: Any = None
    metrics: Any = None
    optimizer: dict[str, Any] | None = None
    preprocess: dict[str, float | list[float]] = field(default_factory=dict)
    loss_weights: Any = None
    slice: int | None = None
    class_weight: tuple[float, ...] | None = None
    objectives: tuple[ObjectiveTable, ...] = ()


def read_task(path: Path) -> ConversionTask:
    """Reads a task.toml.

    Raises Refusal (code bad-task), which names the field and what to write instead.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _bad(f"The task file is larger than {MAX_BYTES} bytes; keep long texts in README.md.")
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise _bad(f"The task file cannot be read ({error.strerror}); check the path {path}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _bad(f"The task file is not valid TOML: {error}.") from error
    return _task(table)


def _task(table: dict[str, Any]) -> ConversionTask:
    name = table.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9-]{1,64}", name):
        raise _bad('`name` must be 1 to 64 characters of a-z, 0-9 and -, for example name = "digits".')
    model = _table(table, "model")
    unknown = sorted(set(model) - MODEL_KEYS)
    if unknown:
        raise _bad(
            f"[model] has the unknown key `{unknown[0]}`; it may have {', '.join(sorted(MODEL_KEYS))}."
        )
    batch_size = model.get("batch_size")
    if type(batch_size) is not int or not 1 <= batch_size <= MAX_BATCH:
        raise _bad(f"[model] `batch_size` must be a whole number from 1 to {MAX_BATCH}.")
    loss, metrics = model.get("loss"), model.get("metrics")
    if loss is not None and not _names(loss):
        raise _bad(
            '[model] `loss` must be the name of a Keras loss, for example "mean_squared_error", a table with '
            "its name and settings, or a list or table with one for each output."
        )
    if metrics is not None and (isinstance(metrics, str) or not _names(metrics)):
        raise _bad(
            '[model] `metrics` must be a list of names, for example ["accuracy"], or a table with a list for '
            "each output."
        )
    return ConversionTask(
        name,
        batch_size,
        loss,
        metrics,
        _optimizer(model),
        _preprocess(_table(table, "data")),
        _weights(model.get("loss_weights")),
        _slice(model.get("slice")),
        _class_weight(model.get("class_weight")),
        _objectives(model),
    )


def _objectives(model: dict[str, Any]) -> tuple[ObjectiveTable, ...]:
    if "objectives" not in model:
        return ()
    refuse_other_losses(model)
    return read_objectives(model["objectives"])


def _slice(value: Any) -> int | None:
    if value is not None and (type(value) is not int or value < 1):
        raise _bad("[model] `slice` must be a whole number of rows that divides `batch_size`.")
    return value


def _class_weight(value: Any) -> tuple[float, ...] | None:
    if value is None:
        return None
    numbers = isinstance(value, list) and not any(
        isinstance(entry, bool) or not isinstance(entry, int | float) or not 0 <= entry < 1e6
        for entry in value
    )
    if not numbers:
        raise _bad("[model] `class_weight` must be a list of numbers, not negative, one for each class.")
    return tuple(float(entry) for entry in value)


def _names(value: Any) -> bool:
    """Returns whether the value is a name, a table with a name, or lists or tables of those."""
    if isinstance(value, dict):
        return isinstance(value.get("name"), str) or all(_names(entry) for entry in value.values())
    return isinstance(value, str) or (isinstance(value, list) and all(_names(entry) for entry in value))


def _weights(value: Any) -> Any:
    entries = (
        list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [value]
    )
    for entry in entries:
        if value is not None and (isinstance(entry, bool) or not isinstance(entry, int | float)):
            raise _bad("[model] `loss_weights` must be a list of numbers or a table, one for each output.")
    return value


def _optimizer(model: dict[str, Any]) -> dict[str, Any] | None:
    optimizer = model.get("optimizer")
    if optimizer is None:
        return None
    if not isinstance(optimizer, dict) or not isinstance(optimizer.get("name"), str):
        raise _bad('[model] `optimizer` must be a table with a name, such as { name = "adam" }.')
    return optimizer


def _preprocess(data: dict[str, Any]) -> dict[str, float | list[float]]:
    """Returns the preprocessing (stored * scale - mean) / std as one scale and one offset.

    The other keys of [data.preprocess] concern only the code that reads the data.
    """
    table = _table(data, "preprocess")
    factor_lists = [
        _factors(key, table.get(key, default)) for key, default in (("scale", 1), ("mean", 0), ("std", 1))
    ]
    length = max(map(len, factor_lists))
    if any(len(values) not in (1, length) for values in factor_lists):
        raise _bad("[data.preprocess] `scale`, `mean` and `std` must be numbers, or lists of one length.")
    scale, mean, std = (values * (length // len(values)) for values in factor_lists)
    if not all(std):
        raise _bad("[data.preprocess] a `std` of 0 divides nothing; write 1.")
    factors = {
        "scale": [s / d for s, d in zip(scale, std, strict=True)],
        "offset": [-m / d if m else 0.0 for m, d in zip(mean, std, strict=True)],
    }
    if any(isinstance(table.get(key), list) for key in ("scale", "mean", "std")):
        return dict(factors)
    return {key: values[0] for key, values in factors.items() if values != [float(key == "scale")]}


def _factors(key: str, value: Any) -> list[float]:
    values = value if isinstance(value, list) else [value]
    if not values or any(isinstance(one, bool) or not isinstance(one, int | float) for one in values):
        raise _bad(f"[data.preprocess] `{key}` must be a number, or a list with one for each channel.")
    return [float(one) for one in values]


def _table(parent: dict[str, Any], key: str) -> dict[str, Any]:
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise _bad(f"`{key}` must be a table.")
    return value


def _bad(message: str) -> Refusal:
    return Refusal(message, "bad-task")
