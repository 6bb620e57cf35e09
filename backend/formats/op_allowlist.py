"""Checks graphs against the allow-list of pure ops, so that no other op is stored or reaches a client."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from backend.errors import BundleError
from backend.wire.graphdef import op_names

_MAX_JSON = 64 << 20


def read_allow_list(path: Path) -> frozenset[str]:
    """Reads the op names, keys of the table `ops`, from `path`. Raises BundleError if unreadable."""
    try:
        content = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, Any]])["ops"]
    except (OSError, KeyError, msgspec.DecodeError) as error:
        raise BundleError(f"The list of allowed ops {path} cannot be read: {error}.") from error
    return frozenset(content)


def check_native(name: str, graph: bytes, allowed: frozenset[str]) -> None:
    """Raises BundleError unless `graph`, a serialised GraphDef, contains allowed ops only."""
    _refuse(name, op_names(graph) - allowed)


def check_tfjs(name: str, text: bytes, allowed: frozenset[str], files: Mapping[str, object]) -> None:
    """Raises BundleError unless `text`, a TF.js model.json, has allowed ops and known weight files only."""
    if len(text) > _MAX_JSON:
        raise BundleError(f"{name} is over {_MAX_JSON} bytes; make the model smaller.")
    try:
        model = msgspec.json.decode(text, type=dict[str, Any])
        nodes = model["modelTopology"]["node"]
        library = model["modelTopology"].get("library") or {}
        ops = {str(node["op"]) for node in nodes}
        paths = [path for group in model["weightsManifest"] for path in group["paths"]]
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BundleError(f"{name} is not a TF.js graph model; convert the model again.") from error
    if library.get("function") or model.get("modelInitializer"):
        raise BundleError(f"{name} brings functions or an initializer; freeze and inline it before bundling.")
    if not ops:
        raise BundleError(f"{name} has no nodes; convert the model again.")
    folder = name.partition("/")[0]
    for path in paths:
        if f"{folder}/{path}" not in files:
            raise BundleError(f"{name} names the weight file '{path}', which is not part of the bundle.")
    _refuse(name, ops - allowed)


def _refuse(name: str, ops: frozenset[str] | set[str]) -> None:
    if ops:
        raise BundleError(
            f"{name} uses ops outside the allow-list: {', '.join(sorted(ops))}. "
            "Use layers made of pure arithmetic."
        )
