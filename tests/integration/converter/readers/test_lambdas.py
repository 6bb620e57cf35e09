"""Lambda layers: refused in files of others, run from the owner's own file with `--custom`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from backend.errors import BundleError
from backend.server.sandbox.conversion import convert as convert_file
from converter.refusal import Refusal
from tests.integration.converter.conftest import Convert, OwnFile
from tests.support.keras.native import NativeBundle, relative_error

pytestmark = pytest.mark.tensorflow
TASK = 'name = "small"\n[model]\nbatch_size = 4\nloss = "mse"\noptimizer = { name = "sgd" }\n'
OWN = """
import keras
from keras import ops

HALF = 0.5


def shifted(x):
    return x - HALF


def model():
    return keras.Sequential([
        keras.Input((3,)),
        keras.layers.Dense(4, name="first"),
        keras.layers.Activation(shifted),
        keras.layers.Lambda(shifted),
        keras.layers.Lambda(lambda x: ops.square(x) * HALF, name="squared"),
        keras.layers.Dense(2, name="last"),
    ])


def activated():
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, activation=lambda x: ops.tanh(x))])


def mixing():
    return keras.Sequential([
        keras.Input((3,)), keras.layers.Lambda(lambda x: x - x[::-1]), keras.layers.Dense(1),
    ])
"""


@pytest.fixture
def own(own_file: OwnFile) -> tuple[Path, Any]:
    """The owner's Python file, and the module that it is."""
    keras.utils.set_random_seed(3)
    return own_file(OWN)


@pytest.mark.filterwarnings("ignore:The object being serialized includes a `lambda`")
@pytest.mark.usefixtures("forked_python")
def test_lambdas_convert_with_custom_and_train_as_in_keras(own: tuple[Path, Any], tmp_path: Path) -> None:
    path, module = own
    model = module.model()
    model.save(tmp_path / "model.keras")
    (tmp_path / "task.toml").write_text(TASK)
    with pytest.raises(
        BundleError, match=r"is a Lambda: it carries Python code.* --custom|is custom code.* --custom"
    ):
        convert_file(tmp_path / "model.keras", tmp_path / "task.toml", tmp_path / "refused")
    convert_file(tmp_path / "model.keras", tmp_path / "task.toml", tmp_path / "bundle", custom=path)
    bundle = NativeBundle(tmp_path / "bundle")
    generator = np.random.default_rng(2)
    x, y = (generator.normal(0.0, 1.0, (4, columns)).astype(np.float32) for columns in (3, 2))
    fed = {"trainable": bundle.weights, "x_0": x, "y_0": y, "sample_weight": np.ones(4, np.float32)}
    done = bundle.run("train", fed)
    model.compile(keras.optimizers.SGD(1.0), "mse")
    before = np.concatenate([np.ravel(v) for v in model.trainable_variables])
    assert relative_error(done["loss"], model.train_on_batch(x, y)) <= 1e-5
    moved = before - np.concatenate([np.ravel(v) for v in model.trainable_variables])
    assert relative_error(done["gradient"], moved) <= 1e-5


@pytest.mark.filterwarnings("ignore:The object being serialized includes a `lambda`")
def test_a_lambda_outside_of_a_layer_is_refused_with_custom(own: tuple[Path, Any], convert: Convert) -> None:
    path, module = own
    with pytest.raises(Refusal, match=r"outside of a Lambda layer, which Keras cannot load .* with a name"):
        convert(module.activated(), custom=path)


@pytest.mark.filterwarnings("ignore:The object being serialized includes a `lambda`")
def test_a_lambda_that_mixes_examples_is_refused_with_custom(own: tuple[Path, Any], convert: Convert) -> None:
    path, module = own
    with pytest.raises(Refusal, match="mixes the examples of a batch"):
        convert(module.mixing(), custom=path)
