"""Layers are counted before Keras builds them, and a Sequential is built once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from converter.readers.layer_count import MAX_LAYERS, layer_calls
from converter.readers.model_loader import load_model
from converter.readers.sequential_build import sequentials_built_once
from converter.sandbox.process_limits import Limits

pytestmark = pytest.mark.tensorflow
L = keras.layers


def configuration(model: Any) -> dict[str, Any]:
    config: dict[str, Any] = keras.saving.serialize_keras_object(model)
    return config


def test_layers_of_nested_models_and_wrappers_count_at_each_call() -> None:
    inner = keras.Sequential([keras.Input((3, 4)), L.Dense(4), L.TimeDistributed(L.Dense(4))])
    x = keras.Input((3, 4))
    model = keras.Model(x, L.Bidirectional(L.LSTM(2))(inner(inner(x))))
    # The input; twice an input, a Dense and a wrapper with its Dense; a wrapper of two recurrent layers.
    assert layer_calls(configuration(model)) == 1 + 2 * (1 + 1 + 2) + (1 + 2)


@pytest.mark.parametrize(
    "config", [None, {}, {"config": None}, {"config": {"layers": 3}}, {"config": {"layers": [1]}}]
)
def test_what_is_no_configuration_counts_little(config: Any) -> None:
    assert layer_calls(config) <= 1


def test_the_largest_network_of_keras_applications_is_below_the_limit() -> None:
    assert MAX_LAYERS > 1_039 * 1.5


def test_a_sequential_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = keras.Sequential([L.Dense(4), L.Dense(3)], name="inner")
    model = keras.Sequential([keras.Input((4,)), *(L.Dense(4) for _ in range(8)), inner, L.Dense(1)])
    calls = 0
    original = L.Dense.compute_output_shape

    def counted(layer: Any, shape: Any) -> Any:
        nonlocal calls
        calls += 1
        return original(layer, shape)

    monkeypatch.setattr(L.Dense, "compute_output_shape", counted)
    with sequentials_built_once():
        loaded = keras.saving.deserialize_keras_object(configuration(model))
    assert calls < 25
    loaded.set_weights(model.get_weights())
    x = np.ones((2, 4), "f4")
    np.testing.assert_array_equal(loaded(x), model(x))


def test_the_loaded_model_is_keras_own(tmp_path: Path) -> None:
    file = tmp_path / "model.keras"
    keras.Sequential([keras.Input((4,)), L.Dense(4), L.Dropout(0.5), L.Dense(1)]).save(file)
    loaded, wanted = load_model(file, Limits()), keras.saving.load_model(file)
    assert loaded.get_config() == wanted.get_config()
    assert [v.path for v in loaded.weights] == [v.path for v in wanted.weights]
