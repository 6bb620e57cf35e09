"""Each op of the allow-list gives on every backend what TensorFlow gives."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.browser.chromium import Tab
from tests.browser.references import ROOT, op_graphs

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.timeout(600)]

# erf is a polynomial on GPUs and in WASM, good to 5e-7 absolutely.
TOLERANCE = 2e-5
# GPUs promise sine and cosine to 2**-11 only.
COARSE = {(op, backend): 5e-4 for op in ("Sin", "Cos") for backend in ("webgl", "webgpu")}


@pytest.fixture(scope="session")
def cases() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads(op_graphs())
    return loaded


def _decode(array: dict[str, Any]) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(array["data"]), array["dtype"]).reshape(array["shape"])


def _fault(case: dict[str, Any], backend: str, answer: Any) -> str | None:
    """What is wrong with a backend's answer; None if nothing is."""
    if isinstance(answer, str):
        return answer
    for output, wanted in zip(answer, map(_decode, case["expected"]), strict=True):
        if output["shape"] != list(wanted.shape):
            return f"shape {output['shape']} instead of {list(wanted.shape)}"
        if output["dtype"] != wanted.dtype.name:
            return f"dtype {output['dtype']} instead of {wanted.dtype.name}"
        values = np.array([np.nan if v is None else v for v in output["values"]], np.float64)
        difference = np.abs(values - wanted.astype(np.float64).ravel())
        tolerance = COARSE.get((case["op"], backend), TOLERANCE)
        if not (difference <= tolerance * (1 + np.abs(wanted.ravel()))).all():
            return f"values differ by {difference.max():.2g}"
    return None


@pytest.mark.parametrize("backend", ["wasm", "webgl", "webgpu", "cpu"])
def test_every_op_equals_tensorflow(
    backend: str, cases: list[dict[str, Any]], tab_for: Callable[[str], Tab]
) -> None:
    answers = tab_for(backend).call("runOps", {"cases": cases, "backend": backend}, seconds=500)
    faults = {
        case["label"]: fault
        for case, answer in zip(cases, answers, strict=True)
        if (fault := _fault(case, backend, answer)) is not None
    }
    assert faults == {}


def test_every_op_of_the_allow_list_has_a_case(cases: list[dict[str, Any]]) -> None:
    allowed = set(json.loads((ROOT / "converter" / "ops.json").read_text("utf-8"))["ops"])
    assert allowed - {"Const", "Placeholder"} <= {case["op"] for case in cases}
