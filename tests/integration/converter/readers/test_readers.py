"""Every format comes in with equal weights, and with loss, metrics and optimizer where it has them.

The files are real: Keras 2 (tf_keras), TF.js Layers in node, and Keras 3 write them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from converter.bundle.bundle_writer import write_bundle
from converter.bundle.keras_model_file import save_model
from converter.conversion_task import ConversionTask
from converter.readers.model_loader import load_model
from converter.sandbox.process_limits import Limits
from tests.support.keras.native import NativeBundle

pytestmark = pytest.mark.tensorflow
layers = keras.layers
HERE = Path(__file__).parent
KERAS_2 = [
    (name, suffix) for name in ("image", "branches", "nested", "prepared") for suffix in ("", ".keras", ".h5")
]
KERAS_2 += [(name, suffix) for name in ("sequence", "attention") for suffix in (".keras", ".h5")]
# The short lane takes each kind of model and each file format once.
SHORT_2 = (("image", ""), ("branches", ".keras"), ("nested", ".h5"), ("prepared", ""), ("attention", ".h5"))
TFJS = ("image", "branches", "sequence")


@pytest.fixture(scope="module")
def keras_2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keras_2")
    command = [sys.executable, str(HERE / "save_keras2.py"), str(folder)]
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "PYTHONWARNINGS": "ignore"}
    subprocess.run(command, env=os.environ | quiet, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def tfjs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tfjs")
    subprocess.run(["node", str(HERE / "save_tfjs.cjs"), str(folder)], check=True, capture_output=True)
    return folder


def predictions(model: Any, x: list[Any]) -> list[Any]:
    y = model.predict(x if len(x) > 1 else x[0], verbose=0)
    return y if isinstance(y, list) else [y]


def check(path: Path, x: list[Any], y: list[Any]) -> Any:
    """Load the model and compare its predictions; returns it."""
    model = load_model(path, Limits())
    for ours, theirs in zip(predictions(model, x), y, strict=True):
        assert np.std(theirs) > 1e-4
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    return model


def loss_name(loss: Any) -> Any:
    if isinstance(loss, dict):
        return {key: loss_name(value) for key, value in loss.items()}
    return getattr(loss, "name", loss)


TRAINING: dict[str, tuple[str, dict[str, Any], Any]] = {
    "image": ("Adam", {"learning_rate": 0.003}, "sparse_categorical_crossentropy"),
    "branches": (
        "RMSprop",
        {"learning_rate": 0.01, "rho": 0.8},
        {"y": "huber_loss", "z": "categorical_crossentropy"},
    ),
    "sequence": ("SGD", {"learning_rate": 0.01}, "binary_crossentropy"),
    "attention": ("AdamW", {"weight_decay": 0.02}, "mse"),
    "nested": ("SGD", {"learning_rate": 0.1, "momentum": 0.9}, "mse"),
    "prepared": ("Adagrad", {"learning_rate": 0.02}, "mae"),
}


@pytest.mark.parametrize(
    ("name", "suffix"),
    [pytest.param(*one, marks=() if one in SHORT_2 else pytest.mark.long) for one in KERAS_2],
)
def test_models_of_keras_2_predict_as_before_and_stay_compiled(keras_2: Path, name: str, suffix: str) -> None:
    with np.load(keras_2 / f"{name}.npz") as arrays:
        x = [arrays[key] for key in arrays if key.startswith("x")]
        y = [arrays[key] for key in arrays if key.startswith("y")]
    model = check(keras_2 / f"{name}{suffix}", x, y)
    optimizer, settings, loss = TRAINING[name]
    assert type(model.optimizer).__name__ == optimizer
    config = model.optimizer.get_config()
    assert {key: pytest.approx(config[key]) for key in settings} == settings
    assert loss_name(model.loss) == loss
    if name == "image":
        assert model._compile_metrics._user_metrics == ["accuracy"]
    if name == "branches":
        assert model._compile_loss._user_loss_weights == {"y": 1.0, "z": 0.5}
        metrics = model._compile_metrics._user_metrics
        assert metrics in ({"y": ["mae"], "z": ["accuracy"]}, [["mean_absolute_error"], ["accuracy"]])
    if name == "attention":
        assert config["learning_rate"]["class_name"] == "ExponentialDecay"
    if name == "nested":
        assert not model.get_layer("base").layers[0].trainable


def expected(folder: Path) -> tuple[list[Any], list[Any]]:
    values = json.loads((folder / "expected.json").read_text())
    return [np.array(x, np.float32) for x in values["x"]], [np.array(values["y"])]


@pytest.mark.parametrize("name", TFJS)
def test_models_of_tfjs_predict_as_before(tfjs: Path, name: str) -> None:
    check(tfjs / name, *expected(tfjs / name))
    check(tfjs / name / "model.json", *expected(tfjs / name))


def test_models_of_tfjs_stay_compiled(tfjs: Path) -> None:
    model = load_model(tfjs / "image", Limits())
    config = model.optimizer.get_config()
    assert [round(config[key], 6) for key in ("learning_rate", "beta_1", "beta_2")] == [0.02, 0.8, 0.99]
    assert model.loss == "categorical_crossentropy"
    assert model._compile_metrics._user_metrics == ["accuracy"]
    assert load_model(tfjs / "branches", Limits()).loss == "mean_squared_error"


def test_a_file_of_the_python_converter_of_tfjs_comes_in(keras_2: Path, tmp_path: Path) -> None:
    """As tensorflowjs writes an .h5: topology with model_config, weights by layer, split over two files."""
    import h5py

    with h5py.File(keras_2 / "nested.h5") as file:
        topology = {"keras_version": "2.19.0", "backend": "tensorflow"}
        topology |= {key: json.loads(file.attrs[key]) for key in ("model_config", "training_config")}
        names = [n for g in file["model_weights"].values() for n in g.attrs["weight_names"]]
        groups = {n: g[n][()] for g in file["model_weights"].values() for n in g.attrs["weight_names"]}
        order = [
            n
            for layer in file["model_weights"].attrs["layer_names"]
            for n in file["model_weights"][layer].attrs["weight_names"]
        ]
    assert sorted(order) == sorted(names)
    specs = [{"name": n.removesuffix(":0"), "shape": groups[n].shape, "dtype": "float32"} for n in order]
    content = b"".join(groups[n].tobytes() for n in order)
    manifest = [{"paths": ["group1-shard1of2.bin", "group1-shard2of2.bin"], "weights": specs}]
    (tmp_path / "group1-shard1of2.bin").write_bytes(content[:70])
    (tmp_path / "group1-shard2of2.bin").write_bytes(content[70:])
    model = {"format": "layers-model", "modelTopology": topology, "weightsManifest": manifest}
    (tmp_path / "model.json").write_text(json.dumps(model))
    with np.load(keras_2 / "nested.npz") as arrays:
        check(tmp_path / "model.json", [arrays["x0"]], [arrays["y0"]])


@pytest.mark.parametrize(("kind", "tolerance"), [("uint8", 2e-2), ("uint16", 1e-4), ("float16", 2e-3)])
def test_quantized_weights_of_tfjs_are_unpacked(
    tfjs: Path, tmp_path: Path, kind: str, tolerance: float
) -> None:
    shutil.copytree(tfjs / "image", tmp_path / "image")
    path = tmp_path / "image" / "model.json"
    model = json.loads(path.read_text())
    group, at, packed = model["weightsManifest"][0], 0, b""
    weights = (tmp_path / "image" / "weights.bin").read_bytes()
    for spec in group["weights"]:
        values = np.frombuffer(weights, "<f4", int(np.prod(spec["shape"])), at)
        at += 4 * len(values)
        if spec["dtype"] != "float32":
            packed += values.tobytes()
        elif kind == "float16":
            spec["quantization"] = {"dtype": kind, "original_dtype": "float32"}
            packed += values.astype("<f2").tobytes()
        else:
            scale = float(np.ptp(values)) / np.iinfo(kind).max or 1.0
            spec["quantization"] = {"dtype": kind, "min": float(values.min()), "scale": scale}
            packed += np.round((values - values.min()) / scale).astype(kind).tobytes()
    (tmp_path / "image" / "weights.bin").write_bytes(packed)
    path.write_text(json.dumps(model))
    x, y = expected(tfjs / "image")
    [ours] = predictions(load_model(path, Limits()), x)
    np.testing.assert_allclose(ours, y[0], atol=tolerance)
    assert np.abs(ours - y[0]).max() > 0


def variety() -> Any:
    """Nested models, ops between layers, shared layers, three outputs."""
    x = keras.Input((3,), name="x")
    first = keras.Sequential([keras.Input((3,)), layers.Dense(2)])
    inner = keras.Input((3,))
    second = keras.Model(inner, layers.Dense(2)(inner))
    y = keras.ops.concatenate([first(x), second(x)], axis=1) + 1.0
    y = layers.Dropout(0.1)(layers.Activation(keras.activations.gelu)(layers.Dense(2, "leaky_relu")(y)))
    model = keras.Model(x, [y, second(x), first(x)])
    losses = ["mse", keras.losses.huber, keras.losses.MeanAbsoluteError()]
    metrics = [["mae"], [keras.metrics.mean_squared_error], [keras.metrics.MeanAbsoluteError()]]
    model.compile("adam", losses, metrics=metrics)
    return model


def called() -> Any:
    """A Sequential whose shape comes from its first batch."""
    model = keras.Sequential([layers.Dense(3, "hard_sigmoid"), layers.Dense(2)])
    model(np.zeros((5, 4), np.float32))
    model.compile("sgd", "mse")
    return model


@pytest.mark.filterwarnings("ignore:You are saving your model as an HDF5 file")
@pytest.mark.parametrize("suffix", [".keras", ".h5", ".keras.zip"])
@pytest.mark.parametrize("build", [variety, called])
def test_models_of_keras_3_come_in(tmp_path: Path, build: Callable[[], Any], suffix: str) -> None:
    model = build()
    path = tmp_path / f"model{suffix.removesuffix('.zip')}"
    model.save(path)
    if suffix.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / "model.zip", "w") as file:
            file.write(path, "model/model.keras")
        path = tmp_path / "model.zip"
    x = np.random.default_rng(1).random((4, *model.inputs[0].shape[1:]), np.float32)
    loaded = check(path, [x], predictions(model, [x]))
    assert loaded.inputs[0].shape[0] is None
    assert type(loaded.optimizer) is type(model.optimizer)


def packed(folder: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(folder.rglob("*")):
            file.write(path, path.relative_to(folder.parent))
    return target


def bundle(model: Path, folder: Path) -> NativeBundle:
    folder.mkdir()
    write_bundle(model, ConversionTask("test", 3, loss="mse", optimizer={"name": "sgd"}), folder, Limits())
    return NativeBundle(folder)


@pytest.mark.parametrize("kind", ["h5", "SavedModel.zip", "TF.js.zip", "keras"])
def test_any_model_is_offered_as_one_of_keras_3(keras_2: Path, tfjs: Path, tmp_path: Path, kind: str) -> None:
    path = {
        "h5": keras_2 / "sequence.h5",
        "keras": keras_2 / "nested.keras",
        "SavedModel.zip": packed(keras_2 / "nested", tmp_path / "saved.zip"),
        "TF.js.zip": packed(tfjs / "image", tmp_path / "web.zip"),
    }[kind]
    files = [tmp_path / "one.keras", tmp_path / "two.keras"]
    for file in files:
        # Names that Keras makes up are counted; a conversion has a process, and so a count, of its own.
        keras.backend.clear_session()
        loaded = load_model(path, Limits())
        save_model(loaded, path, file)
    model = keras.saving.load_model(files[0])
    for ours, theirs in zip(model.weights, loaded.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert not any(layer.unroll for layer in model.layers if isinstance(layer, layers.RNN))


def test_a_bundle_of_an_old_model_predicts_as_before(keras_2: Path, tmp_path: Path) -> None:
    made = bundle(keras_2 / "nested.h5", tmp_path / "bundle")
    assert keras.saving.load_model(tmp_path / "bundle" / "model.keras").count_params() > 0
    with np.load(keras_2 / "nested.npz") as arrays:
        size = made.manifest["parameters"]["trainable"]
        vectors = {"trainable": made.weights[:size], "state": made.weights[size:]}
        outputs = made.run("predict", vectors | {"x_0": arrays["x0"][:3]})["output_0"]
        np.testing.assert_allclose(outputs, arrays["y0"][:3], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("offset", [2048, 4096])
def test_weights_may_begin_in_the_zip_where_hdf5_would_look_for_a_file(offset: int, tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((2,)), layers.Dense(1)])
    model.save(tmp_path / "whole.keras")
    with zipfile.ZipFile(tmp_path / "whole.keras") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    config, weights = "config.json", "model.weights.h5"
    headers = 2 * 30 + len(config) + len(weights)
    parts[config] += b" " * (offset - headers - len(parts[config]))
    with zipfile.ZipFile(tmp_path / "model.keras", "w") as archive:
        for name in (config, weights):
            archive.writestr(name, parts[name])
    assert (tmp_path / "model.keras").read_bytes()[offset : offset + 4] == b"\x89HDF"
    assert load_model(tmp_path / "model.keras", Limits()).count_params() == 3


def test_of_the_owners_keras_3_file_only_what_keras_reads_is_kept(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((2,)), layers.Dense(1)])
    file, kept = tmp_path / "model.keras", tmp_path / "bundle" / "model.keras"
    model.save(file)
    with zipfile.ZipFile(file) as archive:
        whole = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"a comment that nobody asked for"
        for name, content in whole.items():
            told = json.loads(content) | {"owner": "secret"} if name == "metadata.json" else content
            archive.writestr(name, json.dumps(told) if isinstance(told, dict) else told)
        archive.writestr("assets/notes.txt", "more that nobody asked for")
        archive.writestr("../outside.txt", "nobody")
    file.write_bytes(b"before the zip" + file.read_bytes())
    bundle(file, tmp_path / "bundle")
    with zipfile.ZipFile(kept) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == whole
        assert archive.comment == b""
    assert b"nobody" not in kept.read_bytes()
    assert b"before" not in kept.read_bytes()[:64]
    x = np.ones((3, 2), np.float32)
    np.testing.assert_array_equal(keras.saving.load_model(kept)(x), model(x))
