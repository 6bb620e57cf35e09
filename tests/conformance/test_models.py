"""Models of the zoo compute in browsers what Keras computes; `make conformance` takes all of them.

Those here are quick and together hold the kinds of layers, of state, of random numbers and of optimizers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.models_report import measure
from tests.support.browser.chromium import Tab
from tests.support.keras.reference_cache import SHORT, by_lane, case_names

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]

QUICK = {
    "wasm": (
        "mlp",
        "cnn",
        "resnet",
        "mobilenet",
        "unet",
        "group-normalization",
        "dropout",
        "masked",
        "seq2seq",
        "gpt",
        "encoder-decoder",
        "vae",
        "several-outputs",
        "wavenet",
        "adamw",
        "accumulated",
    ),
    "webgl": ("cnn", "resnet", "dropout", "gpt", "several-outputs", "adamw"),
    "webgpu": ("mlp", "cnn", "bag-of-words"),
}
MODELS = [
    pytest.param(backend, model, marks=() if model in SHORT else pytest.mark.long)
    for backend, models in QUICK.items()
    for model in models
]


@pytest.mark.parametrize(("backend", "model"), MODELS)
def test_loss_gradient_and_ten_steps_equal_keras(
    backend: str, model: str, bundles: Path, origin: str, tab_for: Callable[[str], Tab]
) -> None:
    row = measure(tab_for(backend), origin, bundles / model, backend)
    assert row.within, row


@pytest.mark.parametrize("model", by_lane(sorted({*SHORT, *case_names()})))
def test_a_step_that_is_repeated_has_the_bits_of_one_that_is_executed(
    model: str, origin: str, tab_for: Callable[[str], Tab]
) -> None:
    wanted = {"base": f"{origin}/bundles/{model}", "backend": "exact"}
    answer = tab_for("wasm").call("repetitions", wanted)
    assert answer == {
        "differing": [],
        "recorded": {"train": True, "apply": True},
        "executed": {"train": False, "apply": False},
    }


@pytest.mark.parametrize(("backend", "model"), MODELS)
def test_no_model_reads_back_while_a_step_runs(
    backend: str, model: str, origin: str, tab_for: Callable[[str], Tab]
) -> None:
    wanted = {"base": f"{origin}/bundles/{model}", "backend": backend, "steps": 3}
    tab = tab_for(backend)
    first, second = (tab.call("steady", wanted) for _ in range(2))
    assert first["reads"] == second["reads"] == 0
    assert first["tensors"] == second["tensors"]
