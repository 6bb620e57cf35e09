"""Describes a draft and its dry run in browsers to its owner (docs/reference/drafts.md)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from backend.server.drafts.dry_runs.dry_run_files import DryRunFiles
from backend.server.drafts.record import Draft, FileKind
from backend.server.drafts.review.checklist import checklist
from backend.server.drafts.review.forecast import forecast
from backend.server.drafts.review.wizard_steps import step_of, step_states, steps
from backend.server.drafts.starters import choice
from backend.server.drafts.task_names import NameCheck
from backend.server.drafts.transfer.uploads import PIECE_BYTES
from backend.server.tasks.device_support import browsers, device_support, payload
from backend.server.tasks.model_inspection import Inspection

# Keys of a record that are sent to its owner unchanged.
_RECORD_KEYS = (
    *("id", "created", "changed", "onward", "owned", "starter"),
    *("task", "readme", "files", "uploads", "jobs"),
)
_MODEL_KEYS = (
    *("batch_size", "inputs", "labels", "outputs", "metrics"),
    *("optimizer", "checked", "warnings"),
)
_DEVICE_KEYS = ("parameters", "memory", "wire", "backends", "step_times")


def draft_description(
    draft: Draft,
    folder: Path,
    inspection: Inspection | None,
    name: NameCheck,
    offset: Callable[[FileKind], int],
) -> dict[str, Any]:
    """Describes the draft; `offset` gives the bytes that arrived of an upload."""
    record = msgspec.to_builtins(draft)
    for kind, upload in record["uploads"].items():
        upload["offset"] = offset(kind)
    items = checklist(draft, folder, inspection, name.problem)
    return {
        **{key: record[key] for key in _RECORD_KEYS},
        "name": msgspec.to_builtins(name),
        "piece_bytes": PIECE_BYTES,
        "checklist": [{**msgspec.to_builtins(item), "step": step_of(item.key)} for item in items],
        "steps": msgspec.to_builtins(steps(items)),
        "standing": step_states(items),
        "forecast": msgspec.to_builtins(forecast(draft, folder)),
        "model": None if inspection is None else _model(inspection),
        "devices": None if inspection is None else _devices(inspection),
        "starters": choice.offered(draft),
    }


def dry_run_description(
    draft: Draft, files: DryRunFiles | None, current: str, inspection: Inspection | None
) -> dict[str, Any]:
    """Describes the dry run in browsers: its `files`, None before the server's own step, and its results.

    `current` is the fingerprint of the server's step; results of another one are outdated.
    """
    return {
        "trial": msgspec.to_builtins(files),
        "tried": [
            {**msgspec.to_builtins(run), "outdated": files is None or run.of != current}
            for run in draft.tried
        ],
        "takers": [] if inspection is None else msgspec.to_builtins(device_support(inspection)),
        "browsers": [] if inspection is None else browsers(inspection),
        "payload": None if inspection is None else payload(inspection.traffic),
    }


def _devices(inspection: Inspection) -> dict[str, Any]:
    """Returns which devices can take part, how long a step takes, and the traffic."""
    facts = inspection.to_json()
    return {key: facts[key] for key in _DEVICE_KEYS}


def _model(inspection: Inspection) -> dict[str, Any]:
    """Returns the converted model's inputs, labels, outputs, metrics and optimizer, and its comparison."""
    manifest = inspection.manifest
    return {key: msgspec.to_builtins(getattr(manifest, key)) for key in _MODEL_KEYS}
