"""A thousand steps leave nothing behind: no tensor, no byte of the device, no JavaScript object."""

from __future__ import annotations

import pytest

from tests.e2e.browser.steady_steps import STEPS, measure
from tests.support.browser.chromium import Chromium

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.long]

# A tensor left behind by each step would take more; what the engine itself keeps varies by some kilobytes.
HEAP_NOISE = 128 * STEPS


@pytest.mark.parametrize(("backend", "model"), [("wasm", "cnn"), ("webgl", "mlp")])
def test_a_thousand_steps_hold_nothing_more(backend: str, model: str, harness: Chromium, origin: str) -> None:
    tab = harness.open(f"{origin}/harness/index.html")
    early, late = measure(tab, origin, model, backend)
    tab.close()
    assert late.steps - early.steps == STEPS
    assert late.tensors == early.tensors
    assert late.bytes == early.bytes
    assert late.heap - early.heap < HEAP_NOISE
    assert early.reads == late.reads == 0


def test_steps_on_webgpu_hold_no_more_tensors_and_buffers(harness: Chromium, origin: str) -> None:
    """Fewer steps, as the emulated device is slow; the engine does not settle in so few."""
    tab = harness.open(f"{origin}/harness/index.html")
    early, late = measure(tab, origin, "mlp", "webgpu", steps=40, warm_up=20)
    tab.close()
    assert late.tensors == early.tensors
    assert late.bytes == early.bytes
    assert early.reads == late.reads == 0
