"""Runs cases in a page of the harness and holds the answers to TensorFlow's."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.conformance.ops.case import Array
from tests.support.browser.chromium import Tab

# Each runs in a page of its own: a backend's flags count when it starts.
VARIANTS: dict[str, tuple[str, dict[str, bool | int] | None]] = {
    "wasm": ("wasm", {"simd": True, "threads": 3}),
    "wasm-simd": ("wasm", {"simd": True, "threads": 1}),
    "wasm-plain": ("wasm", {"simd": False, "threads": 1}),
    "exact": ("exact", {"threads": 3}),
    "webgl": ("webgl", None),
    "webgpu": ("webgpu", None),
    "cpu": ("cpu", None),
}

TOLERANCE = 2e-5
# GPUs promise functions of angles to 2**-11 only.
ANGLES = ("Acos", "Asin", "Atan", "Atan2", "Cos", "Sin", "Tan")
COARSE = {(op, backend): 5e-4 for op in ANGLES for backend in ("webgl", "webgpu")}
# Thousands of numbers that nearly cancel each other: the last digits depend on the order in which they are
# added up, which in TensorFlow itself depends on the processor.
SUMS = ("BiasAddGrad", "Conv2DBackpropFilter", "DepthwiseConv2dNativeBackpropFilter", "MatMul", "Sum")
COARSE |= {(op, backend): 1e-4 for op in SUMS for backend in ("wasm", "exact", "webgl", "webgpu", "cpu")}


@dataclass(frozen=True)
class Verdict:
    """One case on one backend: the largest error, and what is wrong (None if nothing is)."""

    label: str
    op: str
    backend: str
    error: float
    fault: str | None


def _decode(array: dict[str, Any]) -> Array:
    """The values, flat: a wrong backend may give another number of them than its shape says."""
    found: Array = np.frombuffer(base64.b64decode(array["data"]), array["dtype"])
    return found


def judge(case: dict[str, Any], variant: str, answer: Any) -> Verdict:
    """The verdict on what a backend answered to a case."""

    def verdict(error: float, fault: str | None) -> Verdict:
        return Verdict(case["label"], case["op"], variant, error, fault)

    if isinstance(answer, str):
        return verdict(np.inf, answer)
    worst = 0.0
    for output, expected in zip(answer, case["expected"], strict=True):
        for part in ("shape", "dtype"):
            if output[part] != expected[part]:
                return verdict(np.inf, f"{part} {output[part]} instead of {expected[part]}")
        found, wanted = _decode(output), _decode(expected)
        if found.size != wanted.size:
            return verdict(np.inf, f"{found.size} values instead of {wanted.size}")
        errors = errors_of(found, wanted)
        worst = max(worst, float(errors.max(initial=0.0)))
        if worst > COARSE.get((case["op"], VARIANTS[variant][0]), TOLERANCE):
            place = int(errors.argmax())
            return verdict(worst, f"{found[place]:.8g} instead of {wanted[place]:.8g} (value {place})")
    return verdict(worst, None)


def errors_of(found: Array, wanted: Array) -> Array:
    """|found - wanted| / (1 + |wanted|); infinity where one is not finite and the other differs."""
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        errors = np.where(same, 0.0, np.abs(a - b) / (1 + np.abs(b)))
    return np.where(np.isfinite(errors), errors, np.inf)


def run(tab: Tab, variant: str, cases: list[dict[str, Any]], seconds: float) -> list[Verdict]:
    """Verdicts on the cases, in their order. `tab` is the variant's own page."""
    backend, wasm = VARIANTS[variant]
    sent = [{key: case[key] for key in ("topology", "constants", "inputs", "outputs")} for case in cases]
    work = {"cases": sent, "backend": backend, "wasm": wasm}
    answers = tab.call("runOps", work, seconds=seconds)
    return [judge(case, variant, answer) for case, answer in zip(cases, answers, strict=True)]


def fast(cases: list[dict[str, Any]], every: int) -> list[dict[str, Any]]:
    """Of each op the first case and every `every`-th after it."""
    seen: dict[str, int] = {}
    chosen = []
    for case in cases:
        number = seen[case["op"]] = seen.get(case["op"], -1) + 1
        if number % every == 0:
            chosen.append(case)
    return chosen
