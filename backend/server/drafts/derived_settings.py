"""Keeps the settings that belong to a draft's file apart from those that outlive its replacement."""

from __future__ import annotations

from typing import Any

from backend.datasets.inspection.findings import DataFindings
from backend.server.drafts import task_tables
from backend.server.drafts.preprocess_merge import merged
from backend.server.drafts.record import Derived, Draft, FileKind

# Keys of [model] that fit only some outputs, and so may not fit those of another model.
_OF_OUTPUTS = ("loss", "metrics", "objectives")


def forget_model_settings(draft: Draft) -> None:
    """Removes what an earlier model's conversion proposed, before another model is converted."""
    before = draft.derived.get("model")
    if before is None or before.sha256 == _hash(draft, "model"):
        return
    model = dict(draft.task.get("model", {}))
    gone = [key for key, value in before.values.items() if model.get(key) == value]
    draft.task = {**draft.task, "model": {key: value for key, value in model.items() if key not in gone}}
    note = f"Settings of the earlier model are gone: {', '.join(gone)}." if gone else ""
    draft.derived["model"] = Derived(_hash(draft, "model"), {}, None, before.ports, note)


def take_model_settings(draft: Draft, result: dict[str, Any]) -> bool:
    """Takes over what a conversion proposes; whether the model must be converted again.

    It must if the owner's loss and metrics were meant for an earlier model with other inputs or outputs, and
    were removed.
    """
    before, ports = draft.derived.get("model"), result.get("ports")
    note = "" if before is None else before.note
    unlike = before is not None and before.ports is not None and before.ports != ports and draft.onward
    chosen = [key for key in _OF_OUTPUTS if key in draft.task.get("model", {})] if unlike else []
    if chosen:
        model = {key: value for key, value in draft.task["model"].items() if key not in chosen}
        draft.task = {**draft.task, "model": model}
        listed = ", ".join(chosen)
        note = (
            f"{note} The new model has other inputs or outputs, so what was set for the earlier one is gone: "
            f"{listed}. Choose again with the plan, or in task.toml, what the new model lacks."
        ).strip()
    else:
        draft.task = task_tables.with_model(draft.task, result["model"])
    draft.derived["model"] = Derived(_hash(draft, "model"), result["model"], None, ports, note)
    return bool(chosen)


def model_note(draft: Draft) -> str:
    """Returns what became of the settings of an earlier model, in sentences."""
    derived = draft.derived.get("model")
    return "" if derived is None else derived.note


def take_data_settings(draft: Draft, findings: DataFindings, converted: bool) -> str:
    """Takes over how the found data are to be read; returns a sentence on earlier data's settings.

    `converted` says whether the model's inputs are known.
    """
    before, data = draft.derived.get("data"), draft.task.get("data", {})
    current, sha256, model = data.get("preprocess"), _hash(draft, "data"), _hash(draft, "model")
    unchanged = before is not None and (before.sha256, before.model) == (sha256, model)
    note = ""
    replaced = before is not None and not unchanged and isinstance(current, dict)
    if replaced and before is not None and (not draft.declared or current["kind"] != findings.kind):
        preprocess, note = merged(current, before.values, findings, converted)
        draft.task = {**draft.task, "data": {**data, "preprocess": preprocess}}
        draft.declared = False
        # Another model for the same data changes nothing that its owner would miss.
        note = note if before.sha256 != sha256 else ""
    draft.task = task_tables.proposed(draft.task, findings)
    draft.derived["data"] = Derived(sha256, findings.preprocess, model, None, note)
    return note


def _hash(draft: Draft, kind: FileKind) -> str:
    stored = draft.files.get(kind)
    return "" if stored is None else stored.sha256
