"""The page docs/reference/models.md, made of the results of the conformance suite."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.keras.reference_cache import ROOT

LIMIT = 1e-4
TABLE = ROOT / "docs" / "reference" / "models.md"

HEAD = """# Models that train everywhere

Written by `make conformance`. Each of the {count} models of `tests/support/keras/zoo` is saved by Keras,
converted, then trained for ten optimizer steps on every backend from the same weights, batches and random
numbers as by Keras itself (TensorFlow, eager, Keras' own optimizer, which gets the gradients of tables such
as Embedding's read by read, as `fit` hands them on). One batch has uneven sample weights, one is short and
padded.

The numbers are the worst relative L2 error against Keras among the ten losses, each metric over the ten
steps, the gradient of the first step, and the flat vector after the tenth. The limit is 1e-4, but for the
exceptions at the end; what is above its limit stands in bold. `native` is TensorFlow running the bundle's
graphs, as peers do; WebGL and WebGPU ran in Chromium's software adapters.

"""


def markdown(
    cases: Mapping[str, Mapping[str, Any]], backends: Sequence[str], worst: Mapping[tuple[str, str], float]
) -> str:
    """The page: `cases` by name as reference.py describes them, errors by case and backend."""
    lines = [f"| model | what it exercises | {' | '.join(backends)} |", "|---" * (len(backends) + 2) + "|"]
    for name, case in cases.items():
        limit = case["allowance"]["limit"] if case["allowance"] else LIMIT
        figures = " | ".join(_figure(worst[name, backend], limit) for backend in backends)
        lines.append(f"| {name} | {case['exercises'].rstrip('.')} | {figures} |")
    return HEAD.format(count=len(cases)) + "\n".join(lines) + "\n" + _exceptions(cases)


def _figure(error: float, limit: float) -> str:
    if math.isnan(error):
        return "**fails**"
    return f"{error:.0e}" if error <= limit else f"**{error:.0e}**"


def _exceptions(cases: Mapping[str, Mapping[str, Any]]) -> str:
    allowed = {name: case["allowance"] for name, case in cases.items() if case["allowance"]}
    if not allowed:
        return "\nThere are no exceptions.\n"
    lines = (f"- `{name}`, up to {a['limit']:.0e}: {a['reason']}" for name, a in allowed.items())
    return "\n## Exceptions\n\n" + "\n".join(lines) + "\n"
