"""Each op of the allow-list gives on every backend what TensorFlow gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.chromium import Tab
from tests.browser.ops.compare import VARIANTS, fast, run
from tests.browser.ops.expected import ROOT, expected
from tests.browser.ops.families import FAMILIES
from tests.waiting import LONG

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]

# Emulated GPUs compile a program for most cases; `make conformance` runs them all on every backend.
EVERY = {"webgl": 8, "webgpu": 8}


@pytest.fixture(scope="session")
def cases() -> dict[str, list[dict[str, Any]]]:
    return expected(tuple(FAMILIES))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_op_equals_tensorflow(
    variant: str, family: str, cases: dict[str, list[dict[str, Any]]], bare_tab_for: Callable[[str], Tab]
) -> None:
    chosen = fast(cases[family], EVERY.get(variant, 1))
    verdicts = run(bare_tab_for(variant), variant, chosen, seconds=LONG)
    assert {verdict.label: verdict.fault for verdict in verdicts if verdict.fault is not None} == {}


@pytest.mark.parametrize(
    ("variant", "modules"),
    [
        ("wasm", {"tfjs-backend-wasm-threaded-simd", "shared-relaxed"}),
        ("wasm-simd", {"tfjs-backend-wasm-simd", "alone-relaxed"}),
        ("wasm-plain", {"tfjs-backend-wasm"}),
    ],
)
def test_each_variant_of_wasm_runs_its_own_modules(
    variant: str,
    modules: set[str],
    cases: dict[str, list[dict[str, Any]]],
    bare_tab_for: Callable[[str], Tab],
) -> None:
    tab = bare_tab_for(variant)
    run(tab, variant, cases["elementwise"][:1], seconds=LONG)
    assert set(tab.call("fetchedModules", None)) == modules


def test_every_op_of_the_allow_list_has_a_case(cases: dict[str, list[dict[str, Any]]]) -> None:
    allowed = set(json.loads((ROOT / "converter" / "ops.json").read_text("utf-8"))["ops"])
    covered = {case["op"] for family in cases.values() for case in family}
    assert allowed - {"Const", "Placeholder"} <= covered
