"""Each op of the allow-list gives on every backend what TensorFlow gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from tests.conformance.ops.comparison import VARIANTS, fast, run
from tests.conformance.ops.expected import ROOT, expected
from tests.conformance.ops.families import FAMILIES
from tests.support.browser.chromium import Tab
from tests.support.timeouts import LONG

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]

# Emulated GPUs compile a program for most cases; `make conformance` runs them all on every backend.
EVERY = {"webgl": 8, "webgpu": 8}


@pytest.fixture(scope="session")
def cases() -> dict[str, list[dict[str, Any]]]:
    return expected(tuple(FAMILIES))


def by_lane() -> Iterator[ParameterSet]:
    """Each family on each variant of a backend: all on WASM, and the dearest on WebGL, in the short lane.

    The class `exact` has kernels of its own for products only.
    """
    for variant in VARIANTS:
        for family in FAMILIES:
            dearest = family in ("products", "windows")
            short = variant == "wasm" or (variant in ("exact", "webgl") and dearest)
            yield pytest.param(variant, family, marks=() if short else pytest.mark.long)


@pytest.mark.parametrize(("variant", "family"), list(by_lane()))
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
        ("exact", {"tfjs-backend-wasm-threaded-simd", "shared"}),
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
