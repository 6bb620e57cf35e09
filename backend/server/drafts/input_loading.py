"""Writes how clients load stored values into a converted bundle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from backend.errors import BundleError, TaskFileError
from backend.numerics.preprocess.declared import Preprocess


def set_loading(bundle: Path, tables: Mapping[str, Any]) -> None:
    """Sets the scale and offset in the bundle to those of [data.preprocess] in a task file's tables.

    Only clients' arithmetic before the graphs depends on them, so the model need not be converted again.
    Pins, which a launch that failed has left, are taken out.
    Raises TaskFileError or BundleError.
    """
    path, loading = bundle / "bundle.json", _loading_of(tables)
    try:
        manifest: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BundleError(f"The bundle cannot be read ({error}); convert the model again.") from error
    if manifest.get("preprocess") == loading:
        return
    manifest.pop("exact", None)
    aside = path.with_name(".bundle.json")
    aside.write_bytes(msgspec.json.format(msgspec.json.encode({**manifest, "preprocess": loading}), indent=1))
    aside.replace(path)


def _loading_of(tables: Mapping[str, Any]) -> dict[str, Any]:
    declared = tables.get("data", {}).get("preprocess")
    if declared is None:
        return {}
    try:
        scale, offset = msgspec.convert(declared, type=Preprocess).loading
    except (msgspec.ValidationError, ValueError) as error:
        raise TaskFileError(f"[data.preprocess] cannot be used: {error}.") from error
    # Default values are omitted, as the converter does.
    return ({} if scale == 1.0 else {"scale": scale}) | ({} if offset == 0.0 else {"offset": offset})
