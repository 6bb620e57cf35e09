"""Every public layer of Keras: loss, gradient, state and prediction are Keras', or it is refused."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
from _pytest.mark import ParameterSet

from converter.readers.refused_layers import REFUSED_LAYERS
from converter.refusal import Refusal
from converter.validation.unsupported_layers import UNSUPPORTED, refuse_unsupported
from tests.integration.converter.conftest import Convert
from tests.integration.converter.tracing.layer_cases import CASES, Case
from tests.integration.converter.tracing.traced_model import BATCH, inputs_of, run, traced_errors, tracer_of
from tests.support.keras.native import relative_error

pytestmark = pytest.mark.tensorflow
# What other layers are made of, and the one whose loss depends on padding, which has tests of its own.
ELSEWHERE = {"InputSpec", "Layer", "Wrapper", "ActivityRegularization"}
# A chain of float32 sums through many steps.
TOLERANCE = 1e-5


def by_lane(cases: Iterable[Case]) -> Iterator[ParameterSet]:
    """The first case of each layer, and its others for the long lane."""
    layers: set[str] = set()
    for case in cases:
        yield pytest.param(case, id=case.name, marks=pytest.mark.long if case.layer in layers else ())
        layers.add(case.layer)


@pytest.mark.parametrize("case", list(by_lane(CASES)))
def test_it_computes_what_keras_computes(case: Case) -> None:
    errors = traced_errors(case.model(), case)
    assert max(errors.values()) <= TOLERANCE, errors


def test_every_public_layer_is_held_to_keras_or_refused() -> None:
    covered = {case.layer for case in CASES} | set(UNSUPPORTED) | set(REFUSED_LAYERS) | ELSEWHERE
    missing = set()
    for name, layer in inspect.getmembers(keras.layers, inspect.isclass):
        # A layer may have several public names.
        if name not in covered and layer.__name__ not in covered:
            missing.add(name)
    assert missing == set()


@pytest.mark.parametrize("kind", [*UNSUPPORTED, *REFUSED_LAYERS])
def test_a_layer_without_a_bundle_is_refused_with_cause_and_way_out(kind: str) -> None:
    layer: Any = object.__new__(type(kind, (), {"__module__": "keras.src.layers", "name": "mine"}))
    model = SimpleNamespace(_flatten_layers=lambda: [layer])
    with pytest.raises(Refusal, match=rf"The layer mine (\({kind}\)|is a {kind}:) .*(;|use).*\.$"):
        refuse_unsupported(model)


def test_what_a_layer_cannot_do_with_a_fixed_batch_is_told_without_its_arguments() -> None:
    layers = [keras.Input((8, 8, 3)), keras.layers.RandomCrop(4, 4), keras.layers.Flatten()]
    tracer = tracer_of(keras.Sequential([*layers, keras.layers.Dense(2)]))
    with pytest.raises(Refusal, match="cannot be traced") as caught:
        tracer.train()
    assert "Arguments received" not in str(caught.value)


def test_a_refused_layer_stops_the_conversion(convert: Convert) -> None:
    layers = [keras.Input((8, 8, 3)), keras.layers.RandomPosterization(4), keras.layers.Flatten()]
    with pytest.raises(Refusal, match="RandomPosterization"):
        convert(keras.Sequential([*layers, keras.layers.Dense(2)]))


def channels(data_format: str) -> Any:
    """Convolution, grouped convolution and pooling with the same weights, channels first or last."""
    keras.utils.set_random_seed(2)
    shape = (4, 9, 8) if data_format == "channels_first" else (9, 8, 4)
    image = keras.Input(shape)
    x = keras.layers.Conv2D(6, 3, data_format=data_format, activation="relu")(image)
    x = keras.layers.Conv2D(4, 2, groups=2, data_format=data_format)(x)
    x = keras.layers.Conv2DTranspose(3, 2, 2, data_format=data_format)(x)
    x = keras.layers.AveragePooling2D(2, data_format=data_format)(x)
    return keras.Model(image, keras.layers.GlobalMaxPooling2D(data_format=data_format)(x))


def test_channels_first_is_channels_last_with_other_axes() -> None:
    """Keras itself cannot run this on a CPU."""
    x = np.random.default_rng(3).normal(0.0, 1.0, (BATCH, 9, 8, 4)).astype(np.float32)
    outputs = []
    for data_format, image in (("channels_last", x), ("channels_first", x.transpose(0, 3, 1, 2))):
        tracer = tracer_of(channels(data_format))
        out = run(tracer.predict(), {"trainable": tracer.layout.values(), "x_0": image})
        outputs.append(out["output_0"])
    assert relative_error(outputs[1], outputs[0]) <= 1e-6


def test_an_own_choice_between_branches_is_both_and_a_selection() -> None:
    case = Case("SpectralNormalization", ((6,),), lambda x: x)
    model = keras.Sequential([keras.Input((6,)), keras.layers.SpectralNormalization(keras.layers.Dense(2))])
    tracer = tracer_of(model)
    size = tracer.layout.trainable
    vector = tracer.layout.values()
    fed = {"trainable": vector[:size], "state": vector[size:], "x_0": inputs_of(case)[0]}
    fed |= {"y_0": np.zeros((BATCH, 2), np.float32), "sample_weight": np.ones(BATCH, np.float32)}
    state = run(tracer.train(), fed)["new_state"]
    model(fed["x_0"], training=True)
    assert relative_error(state, model.layers[0].vector_u) <= 1e-5


def test_recurrent_dropout_draws_in_training_only(convert: Convert) -> None:
    model = keras.Sequential([keras.Input((3, 2)), keras.layers.LSTM(4, dropout=0.2, recurrent_dropout=0.2)])
    bundle = convert(model)
    assert len(bundle.manifest["random"]) >= 2
    names = [spec["name"] for spec in bundle.manifest["signatures"]["evaluate"]["inputs"]]
    assert names == ["trainable", "x_0", "y_0", "sample_weight"]
