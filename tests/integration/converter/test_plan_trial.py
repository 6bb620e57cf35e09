"""A plan is trained with simulated clients, and says how far it comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converter.plan_trial import Plan, try_plan
from converter.refusal import Refusal
from tests.integration.converter.conftest import Convert, keras

pytestmark = pytest.mark.tensorflow


def plan(**changes: Any) -> Plan:
    usual: dict[str, Any] = {
        "rounds": 16, "clients": 4, "part": 24, "epochs": 2, "steps": None, "learning_rate": 0.05,
        "units": False, "alpha": None, "seconds": 60.0,
    }  # fmt: skip
    return Plan(**(usual | changes))


@pytest.fixture
def data(convert: Convert, tmp_path: Path) -> Path:
    """Points in a plane by the side of a line on which they lie, and a model that can tell."""
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [
            keras.Input((2,)),
            keras.layers.Dense(8, "relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.1),
            keras.layers.Dense(2, "softmax"),
        ]
    )
    convert(
        model,
        batch_size=8,
        loss="sparse_categorical_crossentropy",
        optimizer={"name": "adam"},
        metrics=["accuracy"],
    )
    x = np.random.default_rng(0).normal(size=(150, 2)).astype(np.float32)
    y = (x[:, 0] > x[:, 1]).astype(np.int32)
    file = tmp_path / "data.npz"
    np.savez(file, x_0=x[:110], y_0=y[:110], held_x_0=x[110:], held_y_0=y[110:])
    return file


@pytest.mark.parametrize("units", [False, True])
def test_a_plan_comes_as_far_as_it_says(data: Path, tmp_path: Path, units: bool) -> None:
    report = try_plan(tmp_path / "bundle", data, plan(units=units))
    first, last = report["curve"][0], report["curve"][-1]
    assert (first[0], last[0], report["of"]) == (0, 16, 16)
    assert report["steps"] == 16 * 4 * 6
    assert last[2] > 0.85
    assert last[1] < first[1]


def test_a_plan_that_does_too_little_stays_where_it_is(data: Path, tmp_path: Path) -> None:
    report = try_plan(tmp_path / "bundle", data, plan(rounds=2, epochs=1, learning_rate=1e-7))
    first, last = report["curve"][0], report["curve"][-1]
    assert abs(last[1] - first[1]) < 0.05


def test_a_trial_ends_with_its_time(data: Path, tmp_path: Path) -> None:
    report = try_plan(tmp_path / "bundle", data, plan(rounds=100_000, seconds=1.0))
    assert 0 < report["curve"][-1][0] < 100_000


def test_a_plan_without_end_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="not finite: lower the learning rate"):
        try_plan(tmp_path / "bundle", data, plan(learning_rate=float("inf")))
