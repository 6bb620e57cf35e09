"""Files that cannot become a model are refused by a sentence: which file, what is wrong, what to do."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
import pytest

from converter.readers.model_loader import load_model
from converter.refusal import Refusal
from converter.sandbox.process_limits import Limits
from tests.integration.converter.conftest import OwnFile

pytestmark = pytest.mark.tensorflow
layers = keras.layers


@keras.saving.register_keras_serializable("elsewhere")
class Doubling(keras.layers.Layer):  # type: ignore[misc]
    """A custom layer: even registered in this process, it is not Keras' own."""

    def call(self, x: Any) -> Any:
        return 2.0 * x


class Stranger(keras.layers.Layer):  # type: ignore[misc]
    """A layer of somebody's own that is not registered."""


def own_loss(y: Any, x: Any) -> Any:
    """A loss of somebody's own."""
    return keras.ops.mean(abs(y - x), -1)


def dense(**settings: Any) -> Any:
    return keras.Sequential([keras.Input((4,)), layers.Dense(1, **settings)])


def config_of(model: Any) -> Any:
    return json.loads(model.to_json())


def archive(folder: Path, config: Any, weights: bytes | None = b"") -> Path:
    with zipfile.ZipFile(folder / "model.keras", "w") as file:
        file.writestr("config.json", config if isinstance(config, bytes) else json.dumps(config))
        if weights is not None:
            file.writestr("model.weights.h5", weights)
    return folder / "model.keras"


def zipped(folder: Path, members: tuple[str, ...] = ("README.md",), name: str = "m.zip") -> Path:
    with zipfile.ZipFile(folder / name, "w") as file:
        for member in members:
            file.writestr(member, "nothing else")
    return folder / name


def cut(folder: Path) -> Path:
    path = folder / "model.keras"
    dense().save(path)
    return write_bytes(path, path.read_bytes()[:-100])


CONFIGS: list[tuple[Any, str]] = [
    ({"class_name": "Activation", "module": "os", "config": {"name": "shell"}}, "shell is a custom"),
    ({"deep": [{"class_name": "function", "module": "builtins", "config": "eval"}]}, "eval is custom"),
    ({"class_name": "function", "module": "keras.utils", "config": "get_file"}, "get_file is custom code"),
    ({"class_name": "function", "module": "keras.losses", "config": "deserialize"}, "deserialize is custom"),
    ({"class_name": "function", "module": "keras.losses", "config": "keras.mse"}, "keras.mse is custom"),
    ({"class_name": "get_file", "module": "keras.utils", "config": {}}, "custom get_file from keras.utils"),
    ({"class_name": "x", "module": "keras.src.saving.saving_lib", "config": {}}, "from keras.src.saving"),
    ({"class_name": "Popen", "module": "subprocess", "registered_name": "keras>Dense", "config": {}},
     "from subprocess"),
    ({"class_name": "__lambda__", "config": {}}, "holds a Python lambda"),
    ({"class_name": "__typespec__", "module": "os", "config": {}}, "custom __typespec__"),
    ({"class_name": "__tensor__", "module": "os", "config": {}}, "is no plain value"),
    ({"class_name": "TFSMLayer", "module": "keras.layers", "config": {"name": "saved"}}, "saved is a TFSM"),
    ({"class_name": "ConvNeXtTiny", "module": "keras.src.applications.convnext", "config": {"weights": "/a"}},
     "custom ConvNeXtTiny from keras.src.applications.convnext"),
    ({"class_name": "file_utils", "module": "keras.src.applications.convnext", "config": {}}, "file_utils"),
    ({"class_name": "function", "module": "keras.src.applications.convnext", "config": "ConvNeXtTiny"},
     "ConvNeXtTiny is custom code"),
    ({"class_name": "LayerScale", "module": "keras.src.applications.convnext", "registered_name": "a>Trick",
      "config": {}}, "custom LayerScale"),
    ({"class_name": "LayerScale", "module": "keras.src.applications.resnet", "config": {}},
     "LayerScale from keras.src.applications.resnet"),
    ({"class_name": "Thing", "module": None, "config": {}}, "custom Thing"),
    ({"class_name": "X", "module": "kerasx.layers", "config": {}}, "kerasx"),
    ({"class_name": ["list"], "module": ["os"], "config": []}, "is a custom"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "text"), CONFIGS, ids=[text for _, text in CONFIGS])
def test_code_that_is_not_keras_own_is_refused_before_loading(tmp_path: Path, config: Any, text: str) -> None:
    with pytest.raises(Refusal, match=text):
        load_model(archive(tmp_path, config if "deep" in config else {"deep": config}), Limits())


def write_h5(path: Path, **attributes: str) -> Path:
    with h5py.File(path, "w") as file:
        file.attrs.update(attributes)
        file.create_dataset("dense/kernel", data=np.zeros((2, 2), np.float32))
    return path


def write_bytes(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def exported(folder: Path) -> Path:
    model = dense()
    model.export(folder / "exported", verbose=False)
    return folder / "exported"


def tfjs(folder: Path, **model: Any) -> Path:
    return write_bytes(folder / "web" / "model.json", json.dumps(model).encode()).parent


def old(kind: str, **config: Any) -> str:
    """A Keras 2 model with one layer, as JSON."""
    entry = {"class_name": kind, "config": {"name": "layer", "batch_input_shape": [None, 4]} | config}
    return json.dumps({"class_name": "Sequential", "config": {"name": "s", "layers": [entry]}})


DENSE = {"units": 1, "activation": "linear"}
FileCase = tuple[str, Callable[[Path], Path], str, str, str]
FILES: list[FileCase] = [
    ("no file", lambda d: d / "none.keras", "none.keras", "cannot be read", "check the path"),
    ("empty file", lambda d: write_bytes(d / "m.keras", b""), "m.keras", "is empty", "save the model"),
    ("no zip", lambda d: write_bytes(d / "m.keras", b"words"), "m.keras", "is damaged", "save it again"),
    ("no weights in the zip", lambda d: archive(d, {}, weights=None),
     "model.keras", "lacks model.weights.h5", "save it with model.save"),
    ("no model in the zip", lambda d: archive(d, 3), "model.keras", "describes no model", "save it again"),
    ("no JSON", lambda d: archive(d, b"{"),
     "config.json in model.keras", "is damaged", "save the model again"),
    ("a layer for a model", lambda d: archive(d, config_of(dense())["config"]["layers"][1]),
     "model.keras", "holds a Dense, no model", "save it with model.save"),
    ("wrong weights", lambda d: archive(d, config_of(dense())),
     "model.(keras|weights.h5)", "damaged|no Keras file", "save"),
    ("pickle", lambda d: write_bytes(d / "m.pkl", b"x"), "m.pkl", "a pickle, .* never opened", "model.save"),
    ("PyTorch", lambda d: write_bytes(d / "m.pt", b"x"), "m.pt", "a PyTorch file", "model.save"),
    ("TensorFlow Lite", lambda d: write_bytes(d / "m.tflite", b"x"),
     "m.tflite", "cannot be trained", "model.save"),
    ("graph", lambda d: write_bytes(d / "m.pb", b"x"), "m.pb", "a single graph", "model.save"),
    ("unknown suffix", lambda d: write_bytes(d / "model", b"x"),
     "model", "no file of Keras or TF.js", "model.save"),
    ("web page", lambda d: write_bytes(d / "m.keras", b"\n<!DOCTYPE html><p>404"),
     "m.keras", "a web page", "download the file itself"),
    ("web page for HDF5", lambda d: write_bytes(d / "m.h5", b"<html>"),
     "m.h5", "a web page", "download the file itself"),
    ("Git LFS", lambda d: write_bytes(d / "m.h5", b"version https://git-lfs.github.com/spec/v1\noid"),
     "m.h5", "a pointer of Git LFS", "git lfs pull"),
    ("renamed pickle", lambda d: write_bytes(d / "m.keras", b"\x80\x04}."),
     "m.keras", "a pickle, .* never opened", "model.save"),
    ("renamed PyTorch", lambda d: zipped(d, ("m/data.pkl", "m/version"), "m.keras"),
     "m.keras", "a PyTorch file", "model.save"),
    ("renamed ONNX", lambda d: write_bytes(d / "m.keras", b"\x08\x07\x12\x07pytorch"),
     "m.keras", "an ONNX model", "model.save"),
    ("GGUF", lambda d: write_bytes(d / "m.gguf", b"GGUF\x03"), "m.gguf", "a GGUF file", "model.save"),
    ("safetensors", lambda d: write_bytes(d / "m.keras", b"\x10" + bytes(7) + b'{"a":{'),
     "m.keras", "a safetensors file", "model.save"),
    ("packed", lambda d: write_bytes(d / "m.tar.gz", b"\x1f\x8b\x08"), "m.tar.gz", "is packed", "unpack it"),
    ("cut off", cut, "model.keras", "is damaged", "download it again"),
    ("zip in a zip", lambda d: zipped(d, ("inner.zip",)), "m.zip", "another zip file", "give that"),
    ("several models", lambda d: zipped(d, ("a.h5", "b.keras")), "m.zip", "2 models", "give one of them"),
    ("parts of a .keras file", lambda d: zipped(d, ("m/config.json", "m/model.weights.h5"), "m.keras"),
     "m.keras", "the unpacked parts", "zip the parts without their folder"),
    ("layers as JSON", lambda d: write_bytes(d / "model.json", dense().to_json().encode()),
     "model.json", "without its weights", "model.save"),
    ("exported and zipped", lambda d: Path(shutil.make_archive(str(d / "z"), "zip", exported(d))),
     "z.zip", "no Keras layers", "model.save"),
    ("folder without a model", lambda d: write_bytes(d / "empty" / "x", b"").parent,
     "empty", "neither a SavedModel .* nor a TF.js", "model.save"),
    ("zip without a model", lambda d: zipped(d), "m.zip", "neither a SavedModel", "model.save"),
    ("exported", exported, "exported", "no Keras layers, only functions", 'model.save\\("model.keras"\\)'),
    ("weights only", lambda d: write_h5(d / "m.weights.h5"),
     "m.weights.h5", "weights but no layers", "not with save_weights"),
    ("no HDF5", lambda d: write_bytes(d / "m.h5", b"x" * 99), "m.h5", "damaged", "save the model again"),
    ("old custom model", lambda d: write_h5(d / "m.h5", model_config='{"class_name": "Mine", "config": {}}'),
     "The model", "custom class Mine", "build it with keras.Input"),
    ("old custom layer", lambda d: write_h5(d / "m.h5", model_config=old("Mine")),
     "layer layer", "is a Mine, which Keras 3 does not have", "--custom layers.py"),
    ("old Lambda", lambda d: write_h5(d / "m.h5", model_config=old("Lambda", function=["4wEA", None, None])),
     "layer layer", "is a Lambda: it carries Python code", "use Keras' own"),
    ("old setting", lambda d: write_h5(d / "m.h5", model_config=old("LSTM", units=2, time_major=True)),
     "layer layer", "sets time_major = True", "build that layer without it"),
    ("TensorFlow's own ops", lambda d: write_h5(
        d / "m.h5", model_config=old("TFOpLambda", function="linalg.inv")),
     "layer layer", "calls TensorFlow's linalg.inv", "use a Keras layer"),
    ("missing weights", lambda d: write_h5(d / "m.h5", model_config=old("Dense", **DENSE)),
     "m.h5", "holds no weights", "save the whole model"),
    ("old custom loss", lambda d: write_h5(
        d / "m.h5", model_config=old("Dense", **DENSE), training_config=json.dumps({"loss": "mine"})),
     "The model", "compiled with the loss mine", "name the loss in the task file"),
    ("mixed precision optimizer", lambda d: write_h5(
        d / "m.h5", model_config=old("Dense", **DENSE),
        training_config=json.dumps({"optimizer_config": {"class_name": "LossScaleOptimizer", "config": {}}})),
     "optimizer", "is a LossScaleOptimizer of mixed precision", "plain optimizer"),
    ("TF.js graph model", lambda d: tfjs(d, format="graph-model", modelTopology={"node": []}),
     "model.json", "a graph model, which has ops but no layers", "save a layers model"),
    ("no TF.js model", lambda d: tfjs(d, name="package"),
     "model.json", "has no modelTopology", "save the model again"),
    ("TF.js weights missing", lambda d: tfjs(
        d, modelTopology=json.loads(old("Dense", **DENSE)),
        weightsManifest=[{"paths": ["group1-shard1of1.bin"], "weights": []}]),
     "group1-shard1of1.bin", "no file beside it", "all files of the model into one folder"),
    ("TF.js weights of another model", lambda d: tfjs(
        d, modelTopology=json.loads(old("Dense", **DENSE)), weightsManifest=[]),
     "The weights of the TF.js model", "not those of its layers", "save the model again"),
]  # fmt: skip


@pytest.mark.parametrize("case", FILES, ids=[f[0] for f in FILES])
def test_a_file_is_refused_by_place_reason_and_remedy(tmp_path: Path, case: FileCase) -> None:
    _, write, place, reason, remedy = case
    path = write(tmp_path)
    with pytest.raises(Refusal, match=place) as caught:
        load_model(path, Limits())
    sentence = str(caught.value)
    assert re.search(reason, sentence), sentence
    assert re.search(remedy, sentence), sentence
    assert sentence.endswith(".")


@pytest.mark.parametrize("name", ["model", "model.h5", "model.keras (1)", "model.keras.zip"])
def test_a_renamed_file_is_read_by_its_content(tmp_path: Path, name: str) -> None:
    dense().save(tmp_path / "model.keras")
    (tmp_path / "model.keras").rename(tmp_path / name)
    assert load_model(tmp_path / name, Limits()).minga_own_file


@pytest.mark.parametrize("packed", [False, True])
def test_the_only_model_in_a_folder_is_read(tmp_path: Path, packed: bool) -> None:
    (tmp_path / "project").mkdir()
    dense().save(tmp_path / "project" / "model.keras")
    (tmp_path / "project" / "train.py").write_text("words")
    path = tmp_path / "project"
    if packed:
        path = Path(shutil.make_archive(str(path), "zip", path))
    assert load_model(path, Limits()).count_params() == 5


def test_a_model_too_large_for_memory_is_counted_without_memory(tmp_path: Path) -> None:
    config = config_of(dense(name="huge"))
    config["config"]["layers"][1]["config"]["units"] = 10**12
    with pytest.raises(Refusal, match=r"5000000000000 parameters; at most .* largest is huge/kernel"):
        load_model(archive(tmp_path, config), Limits())


CUSTOM = """
import keras


class Doubling(keras.layers.Layer):
    def call(self, x):
        return 2.0 * x
"""


def test_an_owner_may_bring_the_code_of_custom_layers(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((4,)), Doubling(name="twice"), layers.Dense(1)])
    model.save(tmp_path / "model.keras")
    (tmp_path / "my_layers.py").write_text(CUSTOM)
    with pytest.raises(Refusal, match=r"twice is a custom Doubling .* --custom"):
        load_model(tmp_path / "model.keras", Limits())
    loaded = load_model(tmp_path / "model.keras", Limits(), tmp_path / "my_layers.py")
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(loaded(x), model(x))


def test_own_code_in_an_old_file_is_read_with_custom(tmp_path: Path, own_file: OwnFile) -> None:
    path, own = own_file(CUSTOM + "\n\ndef own_loss(y, x):\n    return keras.ops.mean(abs(y - x), -1)\n")
    model = keras.Sequential([keras.Input((4,)), own.Doubling(name="twice"), layers.Dense(1)])
    model.compile("sgd", own.own_loss)
    model.save(tmp_path / "model.h5")
    with pytest.raises(Refusal, match=r"own_loss, which is not Keras' own: .* --custom"):
        load_model(tmp_path / "model.h5", Limits())
    loaded = load_model(tmp_path / "model.h5", Limits(), path)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(loaded(x), model(x))
    assert loaded.loss.__name__ == "own_loss"


@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_a_custom_file_without_the_layer_is_named(tmp_path: Path, suffix: str) -> None:
    keras.Sequential([keras.Input((4,)), Stranger()]).save(tmp_path / f"model.{suffix}")
    (tmp_path / "my_layers.py").write_text(CUSTOM)
    with pytest.raises(Refusal, match=r"a (custom )?Stranger.* but my_layers.py does not define Stranger"):
        load_model(tmp_path / f"model.{suffix}", Limits(), tmp_path / "my_layers.py")


@pytest.mark.filterwarnings("ignore:The object being serialized includes a `lambda`")
@pytest.mark.parametrize("loss", [own_loss, lambda y, x: keras.ops.mean(abs(y - x), -1)])
def test_a_loss_of_own_code_is_refused_with_the_way_around_it(tmp_path: Path, loss: Any) -> None:
    model = dense()
    model.compile("sgd", loss)
    model.save(tmp_path / "model.keras")
    with pytest.raises(Refusal, match=r"The loss that .* compiled with.* --custom .* compile=False"):
        load_model(tmp_path / "model.keras", Limits())
    keras.saving.load_model(tmp_path / "model.keras", compile=False).save(tmp_path / "new.keras")
    load_model(tmp_path / "new.keras", Limits())


def test_custom_code_that_fails_is_refused(tmp_path: Path) -> None:
    dense().save(tmp_path / "model.keras")
    (tmp_path / "my_layers.py").write_text("import nothing_of_that_name")
    with pytest.raises(Refusal, match=r"my_layers.py cannot be run \(ModuleNotFoundError.*repair it"):
        load_model(tmp_path / "model.keras", Limits(), tmp_path / "my_layers.py")
    (tmp_path / "my_layers.py").write_text("import sys\n\nsys.exit('give --data')")
    with pytest.raises(Refusal, match=r"my_layers.py cannot be run \(SystemExit: give --data\)"):
        load_model(tmp_path / "model.keras", Limits(), tmp_path / "my_layers.py")
    with pytest.raises(Refusal, match="not a Python file"):
        load_model(tmp_path / "model.keras", Limits(), tmp_path / "none.py")
