"""Refusals name the layer, the true cause and a way out: text, precision, Python and numpy in layers, ops."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import pytest

from converter.refusal import Refusal
from tests.integration.converter.conftest import Convert, OwnFile

pytestmark = pytest.mark.tensorflow
layers, ops = keras.layers, keras.ops


def sequential(*parts: Any, shape: tuple[int, ...] = (4,), dtype: str = "float32") -> Any:
    return keras.Sequential([keras.Input(shape, dtype=dtype), *parts, layers.Dense(1)])


def crossed() -> Any:
    a, b = (keras.Input((1,), dtype="int64") for _ in range(2))
    return keras.Model([a, b], layers.Dense(1)(layers.HashedCrossing(8, output_mode="one_hot")((a, b))))


def unused_text() -> Any:
    text, x = keras.Input((1,), dtype="string", name="review"), keras.Input((3,))
    return keras.Model([text, x], layers.Dense(1)(x))


def hot(layer: Any, dtype: str = "string") -> Any:
    return sequential(layer, shape=(1,), dtype=dtype)


# The model, the cause and the remedy.
TEXT: dict[str, tuple[Callable[[], Any], str, str]] = {
    "TextVectorization": (
        lambda: sequential(
            layers.TextVectorization(vocabulary=["a"], output_mode="count"), shape=(), dtype="string"
        ),
        "turns text into numbers with a vocabulary", "when you write the shards"),
    "StringLookup": (lambda: hot(layers.StringLookup(vocabulary=["a"], output_mode="one_hot")),
        "turns text into numbers with a vocabulary", "when you write the shards"),
    "IntegerLookup": (lambda: hot(layers.IntegerLookup(vocabulary=[3], output_mode="one_hot"), "int64"),
        "looks whole numbers up in a table", 'dtype="int32"'),
    "Hashing": (lambda: hot(layers.Hashing(8, output_mode="one_hot"), "int64"), "hashes its input", "int32"),
    "HashedCrossing": (crossed, "hashes its input", "when you write the shards"),
    "text that no layer reads": (unused_text, "The input review takes text", "declare the input as int32"),
}  # fmt: skip


@pytest.mark.parametrize("case", TEXT)
def test_text_and_tables_belong_into_the_shards(case: str, convert: Convert) -> None:
    build, cause, remedy = TEXT[case]
    with pytest.raises(Refusal, match=rf"{cause}.*{remedy}.*\.$"):
        convert(build())


def test_an_own_layer_cannot_hide_a_hash(convert: Convert, own_file: OwnFile) -> None:
    path, module = own_file(
        "import keras\n\n\nclass Hashes(keras.layers.Layer):\n    def __init__(self, **settings):\n"
        "        super().__init__(**settings)\n        self.inner = keras.layers.Hashing(4, name='inner')\n\n"
        "    def build(self, shape):\n        self.inner.build(shape)\n\n"
        "    def call(self, x):\n        return keras.ops.cast(self.inner(x), 'float32')\n"
    )
    with pytest.raises(Refusal, match="layer inner is a Hashing: it hashes its input"):
        convert(sequential(module.Hashes(), dtype="int64"), custom=path)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "uint8", "int16", "uint32"])
def test_an_input_of_another_dtype_is_refused_at_the_input(dtype: str, convert: Convert) -> None:
    x = keras.Input((4,), dtype=dtype, name="pixels")
    model = keras.Model(x, layers.Dense(1)(ops.cast(x, "float32")))
    with pytest.raises(Refusal, match=rf"input pixels is {dtype}; declare it as float32 or int32"):
        convert(model)


def test_a_mask_of_booleans_is_fed_as_whole_numbers(convert: Convert) -> None:
    frames, mask = keras.Input((4, 3)), keras.Input((4,), dtype="bool")
    bundle = convert(keras.Model([frames, mask], layers.Dense(2)(layers.GRU(3)(frames, mask=mask))))
    assert [port["dtype"] for port in bundle.manifest["inputs"]] == ["float32", "int32"]
    assert bundle.manifest["checked"]["worst"] <= 1e-4


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16", "bfloat16", "float16", "float64"])
def test_a_precision_is_refused_by_its_policy(policy: str, convert: Convert) -> None:
    keras.config.set_dtype_policy(policy)
    try:
        model = sequential(layers.Dense(4, name="first"))
    finally:
        keras.config.set_dtype_policy("float32")
    with pytest.raises(
        Refusal, match=rf"layer first computes in {policy}, .*leave out keras.config.set_dtype"
    ):
        convert(model)


def test_a_quantized_layer_is_refused_with_the_model_before_it(convert: Convert) -> None:
    model = sequential(layers.Dense(4, name="first"))
    model.layers[0].quantize("int8")
    with pytest.raises(Refusal, match=r"layer first is quantized .*before model.quantize"):
        convert(model)


@pytest.mark.parametrize("kind", ["Dense", "Embedding"])
def test_lora_is_refused_for_keras_loads_its_factors_as_zeros(kind: str, convert: Convert) -> None:
    tokens = kind == "Embedding"
    layer = layers.Embedding(4, 4, name="first") if tokens else layers.Dense(4, name="first")
    x = keras.Input((4,), dtype="int32" if tokens else "float32")
    model = keras.Model(x, layers.Dense(1)(layer(x)))
    layer.enable_lora(2)
    with pytest.raises(Refusal, match=r"layer first has LoRA enabled.*without enable_lora"):
        convert(model)


OWN = """
import keras
import numpy as np
import tensorflow as tf
from keras import ops


class Own(keras.layers.Layer):
    def compute_output_spec(self, x):
        return keras.KerasTensor(x.shape, x.dtype)

    def call(self, x):
        {body}
"""
SHORTER = OWN.replace("def compute_output_spec", "def unused")
NUMPY, PYTHON, LOOPS = "with keras.ops, without numpy", "reads a tensor's value in Python", "it loops"
BODIES = {
    "return np.sin(x)": NUMPY,
    "return x.numpy() * 2": NUMPY,
    "return x * ops.convert_to_numpy(x).mean()": NUMPY,
    "return x if ops.sum(x) > 0 else -x": PYTHON,
    "return x * float(ops.max(x))": PYTHON,
    "return x + len([1 for _ in range(int(ops.sum(x)))])": PYTHON,
    "return tf.ensure_shape(tf.numpy_function(lambda v: v * 2, [x], tf.float32), x.shape)": "it runs Python",
    "return tf.ensure_shape(tf.py_function(lambda v: v * 2, [x], tf.float32), x.shape)": "it runs Python",
    "return ops.fori_loop(0, 3, lambda i, v: v * 2.0, x)": LOOPS,
    "return ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), (0, x))[1]": LOOPS,
    "return ops.map(lambda row: row * 2.0, x)": LOOPS,
    "return x * tf.Variable([2.0])": "reads a variable that the model does not own|cannot be traced",
    "return x * ops.cast(ops.cast(x, 'int16'), 'float32')": 'computes in int16 .*cast to "int32"',
    "return ops.cast(ops.cast(x, 'float16'), 'float32')": "computes in float16 .*float32",
    "return ops.cast(ops.cast(x, 'float64'), 'float32')": "computes in float64 .*float32",
    "return ops.real(tf.cast(x, tf.complex64))": "computes in complex64 .*no complex numbers",
    "return x + ops.cast(tf.strings.length(tf.strings.as_string(x)), 'float32')": "it works on text",
    "raise ValueError('a layer of mine')": "a layer of mine.* repair its call",
}


@pytest.mark.parametrize("body", BODIES)
def test_what_an_own_layer_may_not_do_is_said_with_its_name(
    body: str, convert: Convert, own_file: OwnFile
) -> None:
    path, module = own_file(OWN.format(body=body))
    with pytest.raises(Refusal, match=rf"layer mine.*({BODIES[body]}).*\.$") as caught:
        convert(sequential(module.Own(name="mine")), custom=path)
    assert "\x1b" not in str(caught.value)


def test_a_layer_that_keras_cannot_build_is_named(convert: Convert, own_file: OwnFile) -> None:
    path, module = own_file(OWN.format(body="return np.sin(x)"))
    model = sequential(module.Own(name="mine"))
    path.write_text(SHORTER.format(body="return np.sin(x)"))
    with pytest.raises(
        Refusal, match=r"layer mine \(Own\) cannot be built .*symbolic.*without numpy"
    ) as caught:
        convert(model, custom=path)
    assert "\x1b" not in str(caught.value)


WHOLE = {
    "return x * ops.cast(ops.cast(x * 10, 'int32') // 3, 'float32')",
    "return x * ops.cast(ops.cast(x * 10, 'int64') % 3, 'float32')",
    "return ops.where(ops.logical_and(x > 0, x < 1), x, -x)",
    "return x + ops.one_hot(ops.argmax(x, -1), 4)",
    "return x * ops.cast(ops.argmin(x, 0, keepdims=True) * 0 + 1, 'float32')",
    "return x - ops.median(x, axis=-1, keepdims=True)",
}


@pytest.mark.parametrize("body", sorted(WHOLE))
def test_whole_numbers_in_own_layers_are_converted(body: str, convert: Convert, own_file: OwnFile) -> None:
    path, module = own_file(SHORTER.format(body=body))
    bundle = convert(sequential(module.Own(name="mine")), custom=path)
    assert bundle.manifest["checked"]["worst"] <= 1e-6


OPS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "inv": (ops.inv, "decomposes matrices"),
    "cholesky": (lambda x: ops.cholesky(ops.matmul(x, ops.transpose(x, (0, 2, 1))) + ops.eye(3)), "matrices"),
    "svd": (lambda x: ops.svd(x)[1], "decomposes matrices"),
    "qr": (lambda x: ops.qr(x)[0], "decomposes matrices"),
    "eigh": (lambda x: ops.eigh(x)[0], "decomposes matrices"),
    "solve": (lambda x: ops.solve(x, x + 1.0), "solves or decomposes matrices"),
    "rfft": (lambda x: ops.rfft(x)[0], "store spectra in the shards"),
    "erfinv": (lambda x: ops.erfinv(0.1 * x), "other layers or functions of keras.ops"),
    "float16": (lambda x: ops.cast(ops.cast(x, "float16"), "float32"), "bundles compute with float32"),
}


@pytest.mark.parametrize("case", OPS)
def test_a_function_between_layers_is_refused_by_the_layer_before_it(case: str, convert: Convert) -> None:
    function, remedy = OPS[case]
    x = keras.Input((3, 3))
    between = layers.Flatten()(function(layers.Dense(3, name="before")(x)))
    with pytest.raises(Refusal, match=rf"keras.ops after the layer before .*{remedy}"):
        convert(keras.Model(x, layers.Dense(1)(between)))


def test_a_layer_that_counts_in_python_is_refused_for_that(convert: Convert, own_file: OwnFile) -> None:
    path, module = own_file(
        "import keras\n\n\nclass Counts(keras.layers.Layer):\n    def __init__(self, **settings):\n"
        "        super().__init__(**settings)\n        self.calls = 0\n\n"
        "    def call(self, x):\n        self.calls += 1\n        return x * self.calls\n"
    )
    with pytest.raises(Refusal, match=r"something else each time that it is called.*self.add_weight"):
        convert(sequential(module.Counts()), custom=path)


def test_a_number_of_rows_in_a_layer_is_refused_for_that(convert: Convert, own_file: OwnFile) -> None:
    path, module = own_file(SHORTER.format(body="return x + ops.zeros((4, 4)) if x.shape[0] else x"))
    with pytest.raises(Refusal, match=r"batches of 4 examples only.*keras.ops.shape\(x\)\[0\]"):
        convert(sequential(module.Own(name="mine")), custom=path)


def test_the_optimizer_of_mixed_precision_is_refused_for_it(convert: Convert) -> None:
    model = sequential()
    model.compile(keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD()), "mse")
    with pytest.raises(
        Refusal, match="belongs to mixed precision; compile the model with the optimizer inside"
    ):
        convert(model, optimizer=None)


@pytest.mark.parametrize("axis", [None, 0])
def test_a_median_of_the_batch_is_refused(axis: Any, convert: Convert) -> None:
    x = keras.Input((3, 4))
    hidden = layers.Dense(4)(x)
    across = layers.Flatten()(hidden - ops.median(hidden, axis=axis, keepdims=True))
    with pytest.raises(Refusal, match=r"mixes the examples of a batch: .*another axis than 0"):
        convert(keras.Model(x, layers.Dense(1)(across)))


@pytest.mark.parametrize("axis", [1, -1, (1, 2)])
def test_a_median_of_an_example_is_converted(axis: Any, convert: Convert) -> None:
    x = keras.Input((3, 4))
    hidden = layers.Dense(4)(x)
    within = layers.Flatten()(hidden - ops.median(hidden, axis=axis, keepdims=True))
    assert convert(keras.Model(x, layers.Dense(1)(within))).manifest["checked"]["worst"] <= 1e-4


def test_an_op_without_a_gradient_is_refused(convert: Convert) -> None:
    x = keras.Input((3,))
    between = ops.slice_update(layers.Dense(3)(x), (0, 0), ops.ones((1, 1)))
    with pytest.raises(Refusal, match="XlaDynamicUpdateSlice, which has no gradient"):
        convert(keras.Model(x, layers.Dense(1)(between)))


def test_settings_of_compile_that_keras_cannot_load_are_not_the_fault_of_the_file(
    convert: Convert, tmp_path: Path
) -> None:
    model = sequential()
    # Keras saves these weights in a form that it does not read.
    weights = keras.metrics.AUC(multi_label=True, num_labels=1, label_weights=[2.0])
    model.compile("sgd", "mse", metrics=[weights])
    with pytest.raises(Refusal, match=r"loss, metrics or optimizer that .*before compile.*under \[model\]"):
        convert(model)
