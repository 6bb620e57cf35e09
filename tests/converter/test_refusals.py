"""What cannot become a bundle is refused with a sentence that names the place and what to do."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from converter.allowlist import check_ops
from converter.archive import check_archive
from converter.draws import captured_draws
from converter.freezing import freeze
from converter.limits import Limits
from converter.refusal import Refusal
from converter.task import read_task
from converter.tracing import Traced
from tests.converter.conftest import Convert

pytestmark = pytest.mark.tensorflow
layers = keras.layers


def sequential(*parts: Any, shape: tuple[int | None, ...] = (4,), dtype: str = "float32") -> Any:
    return keras.Sequential([keras.Input(shape, dtype=dtype), *parts])


def determinant() -> Any:
    x = keras.Input((3, 3))
    return keras.Model(x, layers.Reshape((1,))(keras.ops.det(layers.Dense(3)(x))))


def not_finite() -> Any:
    model = sequential(layers.Dense(1, name="broken"))
    model.layers[0].kernel.assign(np.full((4, 1), np.nan, np.float32))
    return model


@keras.saving.register_keras_serializable("elsewhere")
class Doubling(keras.layers.Layer):  # type: ignore[misc]
    """A custom layer: even registered in this process, it is not Keras' own."""

    def call(self, x: Any) -> Any:
        return 2.0 * x


MODELS: list[tuple[str, Callable[[], Any], str]] = [
    ("lambda", lambda: sequential(layers.Lambda(abs, name="trick"), layers.Dense(1)), "trick is a Lambda"),
    ("custom layer", lambda: sequential(Doubling(name="twice"), layers.Dense(1)), "twice is a custom"),
    (
        "text",
        lambda: sequential(
            layers.TextVectorization(vocabulary=["a"], output_mode="count", name="words"),
            layers.Dense(1),
            shape=(),
            dtype="string",
        ),
        "words is a TextVectorization",
    ),
    ("open shape", lambda: sequential(layers.Conv1D(2, 1), shape=(None, 3)), "open shape"),
    ("nothing to train", lambda: sequential(layers.Dense(1, trainable=False)), "no trainable"),
    ("not finite", not_finite, "broken/kernel holds NaN"),
    (
        "activity regularizer",
        lambda: sequential(layers.Dense(1, activity_regularizer="l2", name="busy")),
        "busy has an activity regularizer",
    ),
    (
        "stateful",
        lambda: keras.Sequential(
            [keras.Input((3, 2), batch_size=4), layers.LSTM(2, stateful=True, name="memory"), layers.Dense(1)]
        ),
        "memory is stateful",
    ),
    ("half precision", lambda: sequential(layers.Dense(1, dtype="float16")), "float16"),
    ("op off the list", determinant, "needs the op (MatrixDeterminant|LogMatrix)"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "text"), [m[1:] for m in MODELS], ids=[m[0] for m in MODELS])
def test_a_model_is_refused_with_the_reason(convert: Convert, build: Callable[[], Any], text: str) -> None:
    with pytest.raises(Refusal, match=text) as caught:
        convert(build())
    assert str(caught.value).endswith(".") or "Keras cannot load" in str(caught.value)


def test_too_many_parameters_are_refused(convert: Convert) -> None:
    with pytest.raises(Refusal, match="at most 4"):
        convert(sequential(layers.Dense(1)), limits=Limits(parameters=4))


def test_an_op_is_refused_with_the_name_of_its_layer() -> None:
    graph = tf.Graph()
    with graph.as_default(), tf.name_scope("model"), tf.name_scope("reader_1"):
        tf.io.read_file("somewhere", name="peek")
    with pytest.raises(Refusal, match=r"The layer reader (needs the op ReadFile|computes in string)"):
        check_ops(graph.as_graph_def(), "train", ["reader"])


def test_a_random_number_outside_training_is_refused() -> None:
    graph = tf.__internal__.FuncGraph("predict")
    with graph.as_default(), captured_draws():
        x = tf.compat.v1.placeholder(tf.float32, (2,), "x")
        output = tf.identity(x + keras.random.uniform((2,)), "output")
    with pytest.raises(Refusal, match="outside training"):
        freeze(Traced(graph, (x,), (output,)))


def test_a_function_call_is_refused() -> None:
    function = tf.function(lambda x: tf.while_loop(lambda i: i < x, lambda i: i + 1, [0])[0])
    graph = tf.Graph()
    with graph.as_default():
        function(tf.constant(3))
    with pytest.raises(Refusal, match="still calls the function"):
        check_ops(graph.as_graph_def(), "train", [])


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"loss": None}, "No loss"),
        ({"loss": "ctc"}, "loss ctc"),
        ({"optimizer": None}, "No optimizer"),
        ({"metrics": ("auc",)}, "metric auc"),
        ({"loss": "sparse_categorical_crossentropy", "metrics": ("mae",)}, "class numbers"),
    ],
)
def test_a_gap_in_the_task_is_refused(convert: Convert, settings: dict[str, Any], text: str) -> None:
    with pytest.raises(Refusal, match=text) as caught:
        convert(sequential(layers.Dense(2)), **settings)
    assert caught.value.code == "bad-task"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("name = 3", "name"),
        ("name = \"A B\"", "name"),
        ("name = \"a\"", "batch_size"),
        ("name = \"a\"\n[model]\nbatch_size = 0", "batch_size"),
        ("name = \"a\"\n[model]\nbatch_size = 8\nepochs = 2", "epochs"),
        ("name = \"a\"\nmodel = 1", "table"),
        ("name = \"a\"\n[model]\nbatch_size = 8\noptimizer = \"adam\"", "optimizer"),
        ("name = \"a\"\n[model]\nbatch_size = 8\nloss = 1", "loss"),
        ("name = \"a\"\n[model]\nbatch_size = 8\nmetrics = \"accuracy\"", "metrics"),
        ("name = \"a\"\n[model]\nbatch_size = 8\n[data]\npreprocess = { mean = 1 }", "preprocess"),
        ("name = ", "TOML"),
    ],
)  # fmt: skip
def test_a_task_file_is_refused_by_field(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / "task.toml").write_text(text)
    with pytest.raises(Refusal, match=word) as caught:
        read_task(tmp_path / "task.toml")
    assert caught.value.code == "bad-task"


def archive(folder: Path, config: Any, name: str = "model.keras") -> Path:
    with zipfile.ZipFile(folder / name, "w") as file:
        file.writestr("config.json", json.dumps(config))
        file.writestr("model.weights.h5", b"")
    return folder / name


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"class_name": "Activation", "module": "os", "config": {"name": "shell"}}, "shell is a custom"),
        ({"deep": [{"class_name": "function", "module": "builtins", "config": "eval"}]}, "eval is a custom"),
        ({"class_name": "__lambda__", "config": {}}, "lambda"),
        (
            {"class_name": "TFSMLayer", "module": "keras.layers", "config": {"name": "saved"}},
            "saved is a TFSM",
        ),
        ({"class_name": "Thing", "module": None, "config": {}}, "custom Thing"),
        ({"class_name": "X", "module": "kerasx.layers", "config": {}}, "kerasx"),
    ],
)
def test_code_that_is_not_keras_own_is_refused_before_loading(tmp_path: Path, config: Any, text: str) -> None:
    with pytest.raises(Refusal, match=text):
        check_archive(archive(tmp_path, config), 1 << 20)


def test_other_files_are_refused(tmp_path: Path) -> None:
    for name in ("model.h5", "model.pb", "model"):
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(Refusal, match=r"not a \.keras file"):
            check_archive(tmp_path / name, 1 << 20)
    (tmp_path / "model.keras").write_bytes(b"no zip at all")
    with pytest.raises(Refusal, match="damaged"):
        check_archive(tmp_path / "model.keras", 1 << 20)


def test_a_zip_bomb_is_refused_before_unpacking(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.keras", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("config.json", "{}")
        file.writestr("model.weights.h5", bytes(10_000_000))
    assert (tmp_path / "model.keras").stat().st_size < 20_000
    with pytest.raises(Refusal, match="over the limit"):
        check_archive(tmp_path / "model.keras", 1_000_000)
