"""A version of a model in every format predicts what Keras predicts."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from converter.conversion_task import read_task
from converter.export.compiled_version import compile_version
from converter.export.export_formats import WRITERS
from converter.export.model_version import load_version
from converter.export.tfjs_ops import KNOWN
from converter.refusal import Refusal
from converter.sandbox.process_limits import Limits
from converter.tracing.vector_layout import Layout
from tests.support.keras.tfjs_prediction import predict_tfjs
from tests.support.timeouts import PATIENCE

pytestmark = pytest.mark.tensorflow
L = keras.layers
NODE_MODULES = Path(__file__).parents[3] / "node_modules"
ROWS = 5


def mlp() -> Any:
    return keras.Sequential(
        [keras.Input((6,), name="row"), L.Dense(8, "tanh"), L.Dropout(0.3), L.Dense(3, "softmax")]
    )


def cnn() -> Any:
    image = keras.Input((9, 7, 3), name="pixels")
    x = L.Conv2D(8, 3, padding="same", strides=2, activation="relu", kernel_regularizer="l2")(image)
    x = L.BatchNormalization()(x)
    y = L.DepthwiseConv2D(3, padding="same")(x)
    y = L.LeakyReLU(0.2)(y)
    x = L.Concatenate()([x, L.LayerNormalization()(y)])
    x = L.Activation("silu")(L.SeparableConv2D(6, 2)(x))
    pooled = [L.GlobalAveragePooling2D()(x), L.Flatten()(L.MaxPooling2D(2, padding="same")(x))]
    return keras.Model(image, L.Dense(4, "softmax", name="label")(L.Concatenate()(pooled)))


def recurrent() -> Any:
    tokens = keras.Input((6,), dtype="int32", name="tokens")
    x = L.Embedding(11, 5)(tokens)
    x = L.LSTM(4, return_sequences=True)(x)
    return keras.Model(tokens, L.Dense(2)(L.GRU(3, reset_after=False)(x)))


def two_sided() -> Any:
    left, right = keras.Input((4,), name="left"), keras.Input((4,), name="right")
    shared = L.Dense(5, "relu", name="shared")
    x = L.Add()([shared(left), shared(right)])
    return keras.Model([left, right], [L.Dense(2, name="first")(x), L.Dense(1, name="second")(x)])


def image(layer: Any) -> Callable[[Any], Any]:
    """A layer of images as one of rows of six numbers."""
    return lambda x: L.Flatten()(layer(L.Reshape((3, 2, 2))(L.Dense(12)(x))))


def last_axis() -> Any:
    """Settings that TF.js' layers read, beside those that they do not."""
    x = keras.Input((3, 4, 2), name="pixels")
    y = L.BatchNormalization(axis=3)(L.ELU()(L.Conv2D(4, 2)(x)))
    y = L.UpSampling2D(2)(L.DepthwiseConv2D(1, dilation_rate=1)(y))
    return keras.Model(x, L.Dense(2)(L.Flatten()(L.Softmax(axis=-1)(y))))


MODELS: dict[str, Callable[[], Any]] = {
    "mlp": mlp,
    "cnn": cnn,
    "recurrent": recurrent,
    "two": two_sided,
    "last": last_axis,
}


class Version:
    """A model in a file, and other weights than its own with what it predicts by them."""

    def __init__(self, model: Any, folder: Path) -> None:
        keras.utils.set_random_seed(3)
        model.compile("adam", "mse")
        self.file, self.weights = folder / "model.keras", folder / "weights"
        model.save(self.file)
        layout = Layout(model)
        for variable in layout.trainable_variables + layout.state_variables:
            moved = variable + keras.random.uniform(variable.shape, 0.05, 0.3, seed=1)
            variable.assign(moved)
        layout.values().tofile(self.weights)
        draw = np.random.default_rng(5)
        self.x = [
            draw.integers(0, 11, (ROWS, *i.shape[1:])).astype("int32")
            if i.dtype == "int32"
            else draw.normal(size=(ROWS, *i.shape[1:])).astype("float32")
            for i in model.inputs
        ]
        self.names = list(getattr(model, "input_names", [i.name for i in model.inputs]))
        self.y = [np.asarray(y) for y in flat(model(self.x if len(self.x) > 1 else self.x[0]))]

    def write(self, kind: str, folder: Path) -> Path:
        return WRITERS[kind](load_version(self.file, self.weights, Limits()), folder)


def flat(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, list | tuple) else [outputs]


@pytest.fixture(
    params=[
        pytest.param(name, marks=() if name in ("mlp", "two", "last") else pytest.mark.long)
        for name in MODELS
    ]
)
def version(request: pytest.FixtureRequest, tmp_path: Path) -> Version:
    return Version(MODELS[request.param](), tmp_path)


def check(found: list[Any], wanted: list[Any]) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_the_keras_file_predicts_the_same_and_is_compiled(version: Version, tmp_path: Path) -> None:
    model = keras.saving.load_model(version.write("keras", tmp_path_of(tmp_path)))
    check(flat(model(version.x if len(version.x) > 1 else version.x[0])), version.y)
    assert type(model.optimizer) is keras.optimizers.Adam


def exported(task: str, folder: Path) -> tuple[Any, str | None]:
    """What Keras loads of an exported model that was not compiled, and what is said of its compilation."""
    keras.utils.set_random_seed(3)
    model = mlp()
    model.save(folder / "model.keras")
    Layout(model).values().tofile(folder / "weights")
    (folder / "task.toml").write_text(f'name = "one"\n[model]\nbatch_size = 8\n{task}', "utf-8")
    version = load_version(folder / "model.keras", folder / "weights", Limits())
    reason = compile_version(version, read_task(folder / "task.toml"))
    return keras.saving.load_model(WRITERS["keras"](version, tmp_path_of(folder))), reason


def test_a_model_that_is_not_compiled_is_exported_compiled_as_its_task_trains_it(tmp_path: Path) -> None:
    model, reason = exported(
        'loss = "sparse_categorical_crossentropy"\nmetrics = ["accuracy"]\n'
        'optimizer = { name = "adamw", learning_rate = 0.02, weight_decay = 0.1 }\n',
        tmp_path,
    )
    assert reason is None
    assert model.compiled
    assert type(model.optimizer) is keras.optimizers.AdamW
    assert float(model.optimizer.learning_rate) == pytest.approx(0.02)
    x, y = np.ones((ROWS, 6), np.float32), np.zeros(ROWS, np.int32)
    assert set(model.evaluate(x, y, return_dict=True, verbose=0)) == {"loss", "accuracy"}
    before = model.evaluate(x, y, return_dict=True, verbose=0)["loss"]
    model.fit(x, y, epochs=5, verbose=0)
    assert model.evaluate(x, y, return_dict=True, verbose=0)["loss"] < before


@pytest.mark.parametrize(
    ("task", "why"),
    [
        ('loss = { name = "quantile", quantile = 0.9 }\noptimizer = { name = "adam" }\n', "quantile"),
        ('loss = "mse"\n', "names an optimizer"),
        ('optimizer = { name = "adam" }\n', "names a loss"),
        (
            '[[model.objectives]]\nlosses = [{ name = "mse", output = "x" }]\n',
            "objectives",
        ),
    ],
)
def test_what_compile_cannot_say_is_left_out_and_told(tmp_path: Path, task: str, why: str) -> None:
    model, reason = exported(task, tmp_path)
    assert not model.compiled
    assert reason is not None
    assert reason.startswith("Not compiled: ")
    assert why in reason


def test_the_saved_model_predicts_the_same(version: Version, tmp_path: Path) -> None:
    place = tmp_path_of(tmp_path)
    unpack(version.write("saved-model", place), place / "out")
    loaded = tf.saved_model.load(place / "out")
    found = flat(loaded.serve(version.x if len(version.x) > 1 else version.x[0]))
    check([np.asarray(y) for y in found], version.y)


def test_onnx_predicts_the_same_under_the_models_own_names(version: Version, tmp_path: Path) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(version.write("onnx", tmp_path_of(tmp_path))))
    assert [one.name for one in session.get_inputs()] == version.names
    check(session.run(None, dict(zip(version.names, version.x, strict=True))), version.y)


@pytest.mark.parametrize("kind", ["tfjs-graph", "tfjs-layers"])
def test_tfjs_predicts_the_same(version: Version, kind: str, tmp_path: Path) -> None:
    place = tmp_path_of(tmp_path)
    unpack(version.write(kind, place), place / "out")
    check(predict_tfjs(place / "out", dict(zip(version.names, version.x, strict=True))), version.y)


@pytest.mark.parametrize("kind", ["keras", "tfjs-graph", "tfjs-layers"])
def test_the_same_version_gives_the_same_bytes(kind: str, tmp_path: Path) -> None:
    version = Version(cnn(), tmp_path)
    written = []
    for _ in range(2):
        keras.backend.clear_session()  # As a process does that has only just begun.
        written.append(version.write(kind, tmp_path_of(tmp_path)).read_bytes())
    assert written[0] == written[1]


def test_the_ops_that_tfjs_knows_are_those_of_its_executor() -> None:
    lists = NODE_MODULES / "@tensorflow" / "tfjs-converter" / "dist" / "operations" / "op_list"
    found: set[str] = set()
    for path in lists.glob("*.js"):
        for part in path.read_text("utf-8").split("'tfOpName': '")[1:]:
            found.add(part.partition("'")[0])
    assert found == KNOWN


@pytest.mark.parametrize(
    ("make", "kind", "sentence"),
    [
        (lambda x: L.GRU(3)(L.Reshape((3, 2))(x)), "tfjs-layers", "reset_after=True"),
        (lambda x: L.Dense(2, "hard_sigmoid")(x), "tfjs-layers", "no activation hard_sigmoid"),
        (lambda x: L.UnitNormalization()(L.Dense(2)(x)), "tfjs-layers", "no UnitNormalization"),
        (lambda x: L.Dense(2)(x * 2.0), "tfjs-layers", "multiply is called in a way"),
        (lambda x: mlp()(x), "tfjs-layers", "no Sequential"),
        (lambda x: L.ELU(0.5)(L.Dense(2)(x)), "tfjs-layers", "ELU has no alpha=0.5"),
        (
            lambda x: image(L.UpSampling2D(2, interpolation="bilinear"))(x),
            "tfjs-layers",
            "interpolation=bilinear",
        ),
        (
            lambda x: image(L.UpSampling2D(2, interpolation="bicubic"))(x),
            "tfjs-layers",
            "interpolation=bicubic",
        ),
        (
            lambda x: image(L.DepthwiseConv2D(1, dilation_rate=2))(x),
            "tfjs-layers",
            r"no dilation_rate=\(?\[?2",
        ),
        (lambda x: image(L.BatchNormalization(axis=1))(x), "tfjs-layers", "only the last axis, not 1"),
        (lambda x: image(L.Softmax(axis=1))(x), "tfjs-layers", "only the last axis, not 1"),
    ],
)
def test_what_a_format_lacks_is_said_with_what_to_take_instead(
    make: Callable[[Any], Any], kind: str, sentence: str, tmp_path: Path
) -> None:
    x = keras.Input((6,))
    version = Version(keras.Model(x, make(x)), tmp_path)
    with pytest.raises(Refusal, match=sentence) as refused:
        version.write(kind, tmp_path_of(tmp_path))
    assert "Take the TF.js graph model instead" in str(refused.value)


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    version = Version(mlp(), tmp_path)
    np.zeros(3, "<f4").tofile(version.weights)
    with pytest.raises(Refusal, match="The weights have 3 values"):
        version.write("keras", tmp_path_of(tmp_path))


@pytest.mark.usefixtures("forked_python")
def test_the_process_makes_one_file_and_answers(tmp_path: Path) -> None:
    version = Version(mlp(), tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    command = [sys.executable, "-m", "converter.export", str(version.file)]
    command += ["--weights", str(version.weights), "--format", "onnx", "-o", str(out / "m.onnx")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["ok"] is True
    assert [path.name for path in out.iterdir()] == ["m.onnx"]


def tmp_path_of(folder: Path) -> Path:
    place = folder / f"made-{len(list(folder.glob('made-*')))}"
    place.mkdir()
    return place


def unpack(file: Path, folder: Path) -> None:
    with zipfile.ZipFile(file) as packed:
        packed.extractall(folder)
