"""Merges an owner's choices of preprocessing for earlier data into the proposal for other data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from backend.datasets.inspection.findings import Column, DataFindings

Table = dict[str, Any]
# Keys that a file itself determines: an earlier file's are of no use.
_OF_FILE = {"kind", "classes", "tokens", "delimiter", "decimal", "charset", "missing", "columns", "labels"}
# Keys that follow from the model's inputs and labels, once they are known.
_OF_MODEL = {"size", "channels", "encoding", "length", "bins", "hop"}
_COLUMNS = {"text_column", "label_column"}
_ARRAYS = {"x", "y"}
_NOUNS = {"image": "pictures", "audio": "recordings", "table": "a table", "text": "texts", "array": "arrays"}


def merged(
    current: Mapping[str, Any], proposed: Mapping[str, Any], findings: DataFindings, converted: bool
) -> tuple[Table, str]:
    """Returns the preprocessing of the found data, and a sentence on what became of `current`.

    Values of `current` that differ from those `proposed` for the earlier data are the owner's choices. They
    stay if they fit. `converted` says whether the model's inputs are known.
    """
    new = findings.preprocess
    if _sort(current) != _sort(new):
        before, now = _NOUNS.get(str(current.get("kind"))), _NOUNS.get(findings.kind)
        what = f" ({now} instead of {before})" if before != now else ""
        return dict(
            new
        ), f"The new data are of another kind{what}: the settings of the earlier ones are gone."
    kept, gone, result = [], [], dict(new)
    for key in sorted({*current, *proposed} - _OF_FILE):
        if current.get(key) == proposed.get(key):
            continue
        if not _fits(key, current.get(key), findings, converted):
            if current.get(key) != new.get(key):
                gone.append(key)
            continue
        kept.append(key)
        if key in current:
            result[key] = current[key]
        else:
            result.pop(key, None)
    if "tokenizer" in kept:
        result.pop("tokens", None)
    if findings.kind == "table":
        columns_kept, columns_gone = _merge_columns(result, current, proposed, findings.columns)
        kept, gone = kept + columns_kept, gone + columns_gone
    return result, _sentence(kept, gone)


def _sort(preprocess: Mapping[str, Any]) -> tuple[Any, Any]:
    """Returns what two preprocessings must share for choices of one to make sense in the other."""
    labels = preprocess.get("labels")
    return preprocess.get("kind"), labels if isinstance(labels, str) else None


def _fits(key: str, value: Any, findings: DataFindings, converted: bool) -> bool:
    if key in _OF_MODEL:
        return not converted
    if key in _COLUMNS:
        return value in {column.name for column in findings.columns}
    if key in _ARRAYS:
        return isinstance(value, list) and set(value) <= {array.name for array in findings.arrays}
    return True


def _merge_columns(
    result: Table, current: Mapping[str, Any], proposed: Mapping[str, Any], found: Iterable[Column]
) -> tuple[list[str], list[str]]:
    """Gives columns the roles that the owner chose by their names; returns what is kept and what is gone."""
    by_name = {column.name: column for column in found}
    roles, before, now = _roles(result), _roles(proposed), _roles(current)
    kept, gone = [], []
    for name in sorted({*before, *now}):
        role = now.get(name)
        if role == before.get(name):
            continue
        if name not in by_name or not _role_fits(role, by_name[name]):
            gone.append(name)
            continue
        kept.append(name)
        if role is None:
            roles.pop(name, None)
            continue
        if role[0] == "labels":
            # There is one label: that of the owner's choice.
            roles = {other: entry for other, entry in roles.items() if entry[0] != "labels"}
        roles[name] = (role[0], _declaration(role[1], by_name[name]))
    for part in ("columns", "labels"):
        result[part] = [roles[name][1] for name in by_name if name in roles and roles[name][0] == part]
    return kept, gone


def _roles(preprocess: Mapping[str, Any]) -> dict[str, tuple[str, Table]]:
    """Returns the part of a declaration in which each column stands, and its entry."""
    return {
        str(entry.get("name")): (part, entry)
        for part in ("columns", "labels")
        for entry in preprocess.get(part) or ()
        if isinstance(entry, dict)
    }


def _role_fits(role: tuple[str, Table] | None, column: Column) -> bool:
    if role is None:
        return True
    if role[1].get("kind") == "number":
        return column.least is not None
    return bool(column.values)


def _declaration(entry: Table, column: Column) -> Table:
    """Returns an entry with the classes and the treatment of empty cells that the new column needs."""
    changed = dict(entry)
    if "classes" in entry:
        changed["classes"] = sorted(column.values)
    if entry.get("kind") == "number" and column.missing and "missing" not in entry:
        changed["missing"] = "mean"
    return changed


def _sentence(kept: list[str], gone: list[str]) -> str:
    sentences = ["The settings follow the new file."]
    if kept:
        sentences.append(f"Your choices for these are kept: {', '.join(kept)}.")
    if gone:
        sentences.append(f"Your choices for these did not fit and are gone: {', '.join(gone)}.")
    return " ".join(sentences)
