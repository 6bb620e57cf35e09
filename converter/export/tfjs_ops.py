"""Checks a graph for ops that TF.js' graph-model executor lacks (converter/export/tfjs_ops.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from converter.refusal import Refusal

KNOWN: frozenset[str] = frozenset(json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))["ops"])


def check_tfjs_ops(graph_def: Any) -> None:
    """Raises Refusal that names the graph's ops which TF.js does not know."""
    nodes = [*graph_def.node, *(node for one in graph_def.library.function for node in one.node_def)]
    unknown = sorted({node.op for node in nodes} - KNOWN)
    if unknown:
        raise Refusal(
            f"TF.js has no op for {', '.join(unknown)}, which this model needs. Take a SavedModel or the "
            ".keras file."
        )
