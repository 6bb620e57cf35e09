"""An honest worker is blamed for a result that another machine's kernels round otherwise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from backend.numerics.vectors import Vector
from backend.protocols.units.rules import Verdict
from backend.server.units.validation.result_validator import ComparedResult, ResultValidator
from backend.server.units.validation.tolerances import table
from tests.support.timeouts import PATIENCE

BUNDLE = Path(__file__).parents[3] / "models" / "cifar10" / "built" / "bundle"
# In 64 steps of this plan TensorFlow with oneDNN and without were 0.41 apart, in 24 steps 0.029.
SEED, LONG = 1, 64
STEPS = (12, 24, LONG)


@pytest.fixture(scope="module")
def updates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, Vector]]:
    """The updates of plans of each length, with TensorFlow's oneDNN kernels and without."""
    folder, made = tmp_path_factory.mktemp("results"), {}
    for onednn in ("1", "0"):
        # Kernels are chosen while TensorFlow is imported, so no process that has it already will do.
        module = ("-m", "tests.support.attacks.kernel_results")
        arguments = (str(BUNDLE), str(folder / f"{onednn}.npy"), str(SEED), *map(str, STEPS))
        environment = {
            "TF_ENABLE_ONEDNN_OPTS": onednn,
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "CUDA_VISIBLE_DEVICES": "-1",
        }
        subprocess.run((sys.executable, *module, *arguments), env=environment, check=True, timeout=PATIENCE)
        made[onednn] = dict(zip(STEPS, np.load(folder / f"{onednn}.npy"), strict=True))
    return made


def compared(steps: int, *results: Vector) -> list[ComparedResult]:
    return [ComparedResult(lease, update, 7, steps) for lease, update in enumerate(results)]


def test_units_of_proposed_length_agree_whatever_the_kernels(
    updates: dict[str, dict[int, Vector]],
) -> None:
    steps = table().steps
    assert steps == 24
    both = compared(steps, updates["1"][steps], updates["0"][steps])
    assert ResultValidator().verdicts(both) == {0: Verdict.VALID, 1: Verdict.VALID}


def test_nobody_is_blamed_for_rounding_in_a_long_unit(updates: dict[str, dict[int, Vector]]) -> None:
    trusted, honest = compared(LONG, updates["1"][LONG], updates["0"][LONG])
    assert ResultValidator().verdicts([honest], trusted)[1] is not Verdict.INVALID


def test_half_of_the_work_and_noise_are_still_found(updates: dict[str, dict[int, Vector]]) -> None:
    noise = np.random.default_rng(3).normal(0, 1, len(updates["0"][24])).astype(np.float32)
    noise *= np.float32(np.linalg.norm(updates["0"][24]) / np.linalg.norm(noise))
    for lie in (updates["0"][12], noise):
        trusted, false = compared(24, updates["1"][24], lie)
        assert ResultValidator().verdicts([false], trusted) == {1: Verdict.INVALID}
