"""What cannot become a bundle is refused with a sentence that names the place and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from converter.conversion_task import read_task
from converter.op_allowlist import check_ops
from converter.refusal import Refusal
from converter.sandbox.process_limits import Limits
from converter.tracing.graph_freezer import freeze
from converter.tracing.random_inputs import captured_draws
from converter.tracing.tracer import Traced
from tests.integration.converter.conftest import Convert

pytestmark = pytest.mark.tensorflow
layers = keras.layers


def sequential(*parts: Any, shape: tuple[int | None, ...] = (4,), dtype: str = "float32") -> Any:
    return keras.Sequential([keras.Input(shape, dtype=dtype), *parts])


def not_finite() -> Any:
    model = sequential(layers.Dense(1, name="broken"))
    model.layers[0].kernel.assign(np.full((4, 1), np.nan, np.float32))
    return model


def not_finite_mean() -> Any:
    model = sequential(layers.BatchNormalization(name="still"), layers.Dense(1))
    model.layers[0].moving_mean.assign(np.full(4, np.nan, np.float32))
    return model


@keras.saving.register_keras_serializable("elsewhere")
class Doubling(keras.layers.Layer):  # type: ignore[misc]
    """A custom layer: even registered in this process, it is not Keras' own."""

    def call(self, x: Any) -> Any:
        return 2.0 * x


@keras.saving.register_keras_serializable("elsewhere")
class Halves(keras.initializers.Initializer):  # type: ignore[misc]
    """An initializer of somebody's own."""

    def __call__(self, shape: Any, dtype: Any = None) -> Any:
        return keras.ops.full(shape, 0.5, dtype)


@keras.saving.register_keras_serializable("elsewhere")
class Slow(keras.optimizers.SGD):  # type: ignore[misc]
    """An optimizer of somebody's own."""


def soft(x: Any) -> Any:
    """An activation of somebody's own."""
    return keras.ops.log(1.0 + keras.ops.exp(x))


def soft_loss(y: Any, prediction: Any) -> Any:
    """A loss of somebody's own."""
    return keras.ops.mean(keras.ops.log(keras.ops.cosh(y - prediction)), axis=-1)


def chosen(model: Any, **settings: Any) -> Any:
    model.compile(**({"optimizer": "sgd", "loss": "mse"} | settings))
    return model


def determinant() -> Any:
    x = keras.Input((3, 3))
    return keras.Model(x, layers.Reshape((1,))(keras.ops.det(layers.Dense(3)(x))))


def pairs() -> Any:
    x = keras.Input((4,))
    return keras.Model(x, layers.Dense(1)(keras.ops.reshape(x, (-1, 2))))


def truth() -> Any:
    x = keras.Input((4,))
    return keras.Model(x, layers.Dense(1)(x) > 0.0)


def nested_lambda() -> Any:
    inner = sequential(layers.Dense(2), layers.Lambda(abs, name="deep"))
    return sequential(inner, layers.Dense(1))


def fixed_batch() -> Any:
    x = keras.Input((3,), batch_size=7, name="seven")
    return keras.Model(x, layers.Dense(1)(x))


class Subclassed(keras.Model):  # type: ignore[misc]
    """Built by running it, so that its file does not say how its layers are joined."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.dense = layers.Dense(1)

    def call(self, x: Any) -> Any:
        return self.dense(x)


def subclassed() -> Any:
    model = Subclassed(name="mine")
    model(np.zeros((1, 4), np.float32))
    return model


Case = tuple[str, Callable[[], Any], str, str, str]
# A name, the model, and three parts of the sentence: where, what is wrong, what to do instead.
MODELS: list[Case] = [
    ("lambda", lambda: sequential(layers.Lambda(abs, name="trick"), layers.Dense(1)),
     "layer trick", "is a Lambda: it carries Python code", "use Keras' own layers"),
    ("lambda in a nested model", nested_lambda, "layer deep", "is a Lambda", "use Keras' own layers"),
    ("custom layer", lambda: sequential(Doubling(name="twice"), layers.Dense(1)),
     "twice is a custom Doubling", "its code is not in the file", "--custom layers.py"),
    ("custom activation", lambda: sequential(layers.Dense(1, activation=soft, name="d")),
     "function soft", "custom code", "--custom layers.py"),
    ("custom initializer", lambda: sequential(layers.Dense(1, kernel_initializer=Halves())),
     "is a custom Halves", "its code is not in the file", "use Keras' own"),
    ("custom loss", lambda: chosen(sequential(layers.Dense(1)), loss=soft_loss),
     "function soft_loss", "custom code", "--custom layers.py"),
    ("custom optimizer", lambda: chosen(sequential(layers.Dense(1)), optimizer=Slow()),
     "is a custom Slow", "compile with Keras' own", "compile=False"),
    ("subclassed", subclassed, "mine|Subclassed", "custom Subclassed", "use Keras' own layers|keras.Input"),
    ("text", lambda: sequential(
        layers.TextVectorization(vocabulary=["a"], output_mode="count", name="words"), layers.Dense(1),
        shape=(), dtype="string"),
     "layer words", "is a TextVectorization: it turns text into numbers", "when you write the shards"),
    ("string lookup", lambda: sequential(
        layers.StringLookup(vocabulary=["a"], output_mode="one_hot", name="look"), layers.Dense(1),
        shape=(1,), dtype="string"),
     "layer look", "is a StringLookup", "when you write the shards"),
    ("open shape", lambda: sequential(layers.Conv1D(2, 1), shape=(None, 3)),
     "The input", "has the open shape", "give every dimension but the batch a number"),
    ("open image", lambda: sequential(layers.Conv2D(2, 1), layers.GlobalMaxPool2D(), shape=(None, None, 3)),
     "The input", "has the open shape", "give every dimension but the batch a number"),
    ("no input shape", lambda: keras.Sequential([layers.Dense(1)], name="bare"),
     "model bare", "knows no input shape", "begin it with keras.Input"),
    ("no layers", lambda: keras.Sequential(name="void"),
     "model void", "has no layers", "begin it with keras.Input"),
    ("nothing to train", lambda: sequential(layers.Dense(1, trainable=False)),
     "The model", "has no trainable variables", "set layer.trainable = True"),
    ("nothing to learn", lambda: sequential(layers.Flatten()),
     "The model", "has no weights", "add a layer with some"),
    ("rows of several examples", pairs,
     "The output", "instead of one row per example", "keep the first axis"),
    ("output of truth values", truth, "mean_squared_error", "output of bool \\[1\\]", "take another loss"),
    ("not finite", not_finite, "broken/kernel", "holds NaN", "save a model with finite weights"),
    ("not finite and not trained", not_finite_mean,
     "still/moving_mean", "holds NaN", "save a model with finite weights"),
    ("stateful", lambda: keras.Sequential(
        [keras.Input((3, 2), batch_size=4), layers.LSTM(2, stateful=True, name="memory"), layers.Dense(1)]),
     "layer memory", "is stateful", "set stateful=False"),
    ("half precision", lambda: sequential(layers.Dense(1, dtype="float16", name="half")),
     "layer half", "computes in float16", "set_dtype_policy"),
    ("mixed precision", lambda: sequential(layers.Dense(1, dtype="mixed_bfloat16", name="mixed")),
     "layer mixed", "computes in mixed_bfloat16", "copy its weights by set_weights"),
    ("double precision", lambda: sequential(layers.Dense(1, dtype="float64", name="double")),
     "layer double", "computes in float64", "copy its weights by set_weights"),
    ("odd name", lambda: sequential(layers.Dense(1, name="my layer!")),
     "layer 'my layer!'", "a name that a graph cannot hold", "name it with letters"),
    ("wrong batch", fixed_batch,
     "input seven", "fixed batch size 7, but the task's is 4", "write batch_size = 7"),
    ("op off the list", determinant,
     "after the layer dense", "needs the op (MatrixDeterminant|LogMatrix)", "decomposes matrices"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:You are saving a model that has not yet been built")
@pytest.mark.parametrize("case", MODELS, ids=[m[0] for m in MODELS])
def test_a_model_is_refused_by_place_reason_and_remedy(convert: Convert, case: Case) -> None:
    _, build, place, reason, remedy = case
    with pytest.raises(Refusal, match=place) as caught:
        convert(build())
    sentence = str(caught.value)
    assert re.search(reason, sentence), sentence
    assert re.search(remedy, sentence), sentence
    assert sentence.endswith(".")


def test_too_many_parameters_are_refused_with_the_largest(convert: Convert) -> None:
    with pytest.raises(Refusal, match=r"has 5 parameters; at most 4 .* largest is big/kernel; make"):
        convert(sequential(layers.Dense(1, name="big")), limits=Limits(parameters=4))


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
        ({"metrics": ("r2_score",)}, "metric r2_score"),
        ({"metrics": ("mine",)}, "metric mine"),
        ({"metrics": ("f1",)}, "metric f1 is not a metric of Keras, such as f1_score"),
        ({"loss": "sparse_categorical_crossentropy", "metrics": ("mae",)}, "class numbers"),
    ],
)
def test_a_gap_in_the_task_is_refused(convert: Convert, settings: dict[str, Any], text: str) -> None:
    with pytest.raises(Refusal, match=text) as caught:
        convert(sequential(layers.Dense(2)), **settings)
    assert caught.value.code == "bad-task"


@pytest.mark.parametrize("shape", [(4,), (4, 4, 3)])
@pytest.mark.parametrize("loss", ["categorical_crossentropy", "sparse_categorical_crossentropy"])
def test_a_loss_of_classes_is_refused_for_a_single_unit(
    convert: Convert, loss: str, shape: tuple[int, ...]
) -> None:
    with pytest.raises(Refusal, match=r"dense.* has a single one; .* binary_crossentropy") as caught:
        convert(sequential(layers.Dense(1), shape=shape), loss=loss, metrics=("accuracy",))
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
        ("name = \"a\"\n[model]\nbatch_size = 8\n[data]\npreprocess = { mean = \"1\" }", "preprocess"),
        ("name = \"a\"\n[model]\nbatch_size = 8\n[data]\npreprocess = { mean = [1, 2], std = []}", "std"),
        ("name = \"a\"\n[model]\nbatch_size = 8\n[data]\npreprocess = { std = 0 }", "std"),
        ("name = ", "TOML"),
    ],
)  # fmt: skip
def test_a_task_file_is_refused_by_field(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / "task.toml").write_text(text)
    with pytest.raises(Refusal, match=word) as caught:
        read_task(tmp_path / "task.toml")
    assert caught.value.code == "bad-task"
