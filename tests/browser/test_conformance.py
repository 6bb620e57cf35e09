"""Every model family computes on every backend what Keras computes, within 1e-4."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.chromium import Tab
from tests.browser.conformance import BACKENDS, LIMIT, compare, measure
from tests.browser.references import MODELS, native_results

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.timeout(900)]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_loss_gradient_and_ten_steps_equal_keras(
    model: str, backend: str, bundles: Path, origin: str, tab_for: Callable[[str], Tab]
) -> None:
    row = measure(tab_for(backend), origin, bundles, model, backend)
    assert row.worst() <= LIMIT, row


def test_the_native_graphs_equal_keras(bundles: Path) -> None:
    native = json.loads(native_results(bundles))
    for model in MODELS:
        row = compare(native[model], model, "native", bundles / model / "reference")
        assert row.worst() <= LIMIT, row


@pytest.mark.parametrize("backend", ["wasm", "webgl"])
def test_two_hundred_steps_leave_no_tensor_behind_and_never_read_back(
    backend: str, origin: str, tab_for: Callable[[str], Tab]
) -> None:
    wanted = {"base": f"{origin}/bundles/cnn", "backend": backend, "steps": 200}
    steady = tab_for(backend).call("steady", wanted)
    assert steady["before"] == steady["after"]
    assert steady["reads"] == 0


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("backend", ["wasm", "webgl", "webgpu"])
def test_no_model_reads_back_while_a_step_runs(
    model: str, backend: str, origin: str, tab_for: Callable[[str], Tab]
) -> None:
    wanted = {"base": f"{origin}/bundles/{model}", "backend": backend, "steps": 3}
    steady = tab_for(backend).call("steady", wanted)
    assert steady["reads"] == 0
    assert steady["before"] == steady["after"]
