"""Each pass of the graph optimizer: the same values from fewer nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from converter import graph as converter_graph
from converter.graph.graph_view import View
from tests.support.keras.native import relative_error

pytestmark = pytest.mark.tensorflow
BATCH, STEPS, WIDTH = 3, 5, 4


def traced(build: Callable[..., Any], *shapes: tuple[int, ...], dtype: str = "float32") -> Any:
    """GraphDef of `build` with inputs input_0, ... and the output `output`, untouched by any optimizer."""
    with tf.Graph().as_default() as graph:
        inputs = [tf.compat.v1.placeholder(dtype, s, f"input_{i}") for i, s in enumerate(shapes)]
        tf.identity(build(*inputs), "output")
    graph_def = graph.as_graph_def()
    for node in graph_def.node:
        # Gradients are placed beside their ops, which a rewrite may drop.
        node.attr.pop("_class", None)
    return graph_def


def evaluated(graph_def: Any) -> Any:
    """The output for fixed random inputs."""
    generator = np.random.default_rng(4)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        fed = {}
        for node in graph_def.node:
            if node.op == "Placeholder":
                tensor = graph.get_tensor_by_name(f"{node.name}:0")
                fed[tensor] = generator.normal(0.5, 1.0, tensor.shape).astype(tensor.dtype.as_numpy_dtype)
        with tf.compat.v1.Session(graph=graph) as session:
            return session.run("output:0", fed)


def ops(graph_def: Any) -> Counter[str]:
    return Counter(node.op for node in graph_def.node if node.op not in ("Const", "Placeholder", "Identity"))


def after(rewrites: Sequence[converter_graph.Pass], graph_def: Any) -> Counter[str]:
    """The ops after some passes, which must not change the output."""
    view = View(graph_def, ["output"])
    for rewrite in rewrites:
        rewrite(view)
    assert relative_error(evaluated(view.graph_def()), evaluated(graph_def)) <= 1e-6
    return ops(view.graph_def())


def test_what_changes_nothing_is_dropped() -> None:
    def build(x: Any) -> Any:
        x = tf.stop_gradient(tf.identity(x) * 1.0 + 0.0) / tf.ones([1, WIDTH]) - tf.zeros([WIDTH])
        return tf.exp(tf.broadcast_to(x, x.shape))

    assert after([converter_graph.drop_neutral], traced(build, (BATCH, WIDTH))) == {"Exp": 1}


def test_copies_of_several_tensors_are_dropped() -> None:
    def build(x: Any, y: Any) -> Any:
        first, second = tf.raw_ops.IdentityN(input=[tf.exp(x), tf.sin(y)])
        return first * second + second

    graph_def = traced(build, (BATCH, WIDTH), (BATCH, WIDTH))
    assert "IdentityN" in ops(graph_def)
    left = after([converter_graph.drop_identity_lists], graph_def)
    assert left == {"Exp": 1, "Sin": 1, "Mul": 1, "AddV2": 1}


def test_one_times_a_smaller_tensor_is_kept() -> None:
    build = traced(lambda x: x * tf.ones([BATCH, WIDTH]), (WIDTH,))
    assert after([converter_graph.drop_neutral], build) == {"Mul": 1}


def test_common_subexpressions_are_shared() -> None:
    def build(x: Any, y: Any) -> Any:
        return tf.exp(x + y) * tf.sin(x) + tf.exp(y + x) * tf.sin(x * tf.constant(1.0))

    shared = after(
        [converter_graph.drop_neutral, converter_graph.share_common], traced(build, (WIDTH,), (WIDTH,))
    )
    assert shared == {"AddV2": 2, "Exp": 1, "Sin": 1, "Mul": 1}


def test_nodes_that_differ_in_an_attribute_are_not_shared() -> None:
    build = traced(
        lambda x: tf.linalg.matmul(x, x) + tf.linalg.matmul(x, x, transpose_a=True), (WIDTH, WIDTH)
    )
    assert after([converter_graph.share_common], build)["MatMul"] == 2


def test_an_op_of_whose_copy_only_one_output_is_read_is_shared() -> None:
    def build(x: Any) -> Any:
        first, second = (tf.raw_ops.TopKV2(input=x, k=2, sorted=True) for _ in range(2))
        return first.values * tf.cast(first.indices, tf.float32) + second.values

    assert after([converter_graph.share_common], traced(build, (BATCH, WIDTH)))["TopKV2"] == 1


def test_an_op_of_several_outputs_is_shared() -> None:
    def build(x: Any) -> Any:
        first, second = (tf.raw_ops.TopKV2(input=x, k=2, sorted=True) for _ in range(2))
        return first.values + second.values + tf.cast(first.indices - 2 * second.indices, tf.float32)

    assert after([converter_graph.share_common], traced(build, (BATCH, WIDTH)))["TopKV2"] == 1


def test_reshapes_of_reshapes_are_one() -> None:
    def build(x: Any) -> Any:
        flat = tf.reshape(tf.expand_dims(tf.reshape(x, [-1, WIDTH]), 1), [-1])
        return tf.exp(tf.reshape(flat, x.shape)) + tf.reshape(flat, x.shape)

    merged = after([converter_graph.merge_reshapes], traced(build, (BATCH, STEPS, WIDTH)))
    assert merged == {"Exp": 1, "AddV2": 1}


def test_reshapes_meet_past_biases_and_activations() -> None:
    def build(x: Any, w: Any, b: Any) -> Any:
        for _ in range(2):
            flat = tf.matmul(tf.reshape(x, [-1, WIDTH]), w)
            x = tf.nn.relu(tf.nn.bias_add(tf.reshape(flat, [BATCH, STEPS, WIDTH]), b))
        return x

    graph_def = traced(build, (BATCH, STEPS, WIDTH), (WIDTH, WIDTH), (WIDTH,))
    left = after(
        [converter_graph.sink_reshapes, converter_graph.sink_reshapes, converter_graph.merge_reshapes],
        graph_def,
    )
    assert left == {"Reshape": 2, "MatMul": 2, "BiasAdd": 2, "Relu": 2}


def test_a_bias_gradient_reads_past_a_reshape() -> None:
    build = traced(
        lambda g: tf.raw_ops.BiasAddGrad(out_backprop=tf.reshape(g, [BATCH, STEPS, WIDTH])),
        (BATCH * STEPS, WIDTH),
    )
    assert after([converter_graph.lift_bias_gradients], build) == {"BiasAddGrad": 1}


def test_opposite_transposes_cancel_and_trivial_ones_are_reshapes() -> None:
    def build(x: Any) -> Any:
        back = tf.transpose(tf.exp(tf.transpose(tf.transpose(x, [2, 0, 1]), [1, 2, 0])))
        return tf.transpose(tf.reshape(back, [WIDTH, 1, STEPS, BATCH]), [1, 0, 2, 3])

    left = after(
        [converter_graph.cancel_transposes, converter_graph.merge_reshapes],
        traced(build, (BATCH, STEPS, WIDTH)),
    )
    assert left == {"Exp": 1, "Transpose": 1, "Reshape": 1}


def test_tiles_give_way_to_broadcasting() -> None:
    def build(x: Any, y: Any) -> Any:
        return tf.tile(x, [1, STEPS]) * 0.5 + y

    assert after([converter_graph.drop_tiles] * 2, traced(build, (BATCH, 1), (BATCH, STEPS))) == {
        "Mul": 1,
        "AddV2": 1,
    }


def test_negations_become_subtractions() -> None:
    def build(x: Any, y: Any) -> Any:
        return tf.add_n([tf.square(-x), -y]) - (-x) - tf.negative(-y)

    left = after([converter_graph.plain_sums, converter_graph.fold_signs], traced(build, (WIDTH,), (WIDTH,)))
    assert left == {"Square": 1, "Sub": 2, "AddV2": 1}


def test_constant_factors_are_one() -> None:
    build = traced(lambda x: -((x * 0.5) * 3.0), (WIDTH,))
    assert after([converter_graph.fold_factors] * 2, build) == {"Mul": 1}


def test_a_dense_layer_over_a_sequence_is_one_matrix_product() -> None:
    def build(x: Any, w: Any) -> Any:
        return tf.raw_ops.BatchMatMulV2(x=x, y=w, adj_y=True)

    left = after([converter_graph.flatten_products], traced(build, (BATCH, STEPS, WIDTH), (2, WIDTH)))
    assert left == {"Reshape": 2, "MatMul": 1}


def test_a_product_with_what_is_transposed_first_stays() -> None:
    def build(x: Any, w: Any) -> Any:
        return tf.raw_ops.BatchMatMulV2(x=x, y=w, adj_x=True)

    # A square, so that its rows and columns would both fit.
    left = after([converter_graph.flatten_products], traced(build, (BATCH, WIDTH, WIDTH), (WIDTH, 2)))
    assert left == {"BatchMatMulV2": 1}


def test_its_kernels_gradient_is_too() -> None:
    def build(x: Any, g: Any) -> Any:
        return tf.reduce_sum(tf.raw_ops.BatchMatMulV2(x=x, y=g, adj_x=True), 0)

    left = after(
        [converter_graph.flatten_summed_products], traced(build, (BATCH, STEPS, WIDTH), (BATCH, STEPS, 2))
    )
    assert left == {"Reshape": 2, "MatMul": 1}


@pytest.mark.parametrize(
    "equation",
    ["BTNH,BSNH->BNTS", "BNTS,BSNH->BTNH", "BTNH,BNTS->BSNH", "BTNH,BSNH->BNST", "ab,bc->ac", "ab,cb->ca",
     "abc,cde->abde", "ab,ab->ab", "ab,cd->abcd", "bij,bjk->bik", "bij,bkj->bik", "bji,bjk->ikb"],
)  # fmt: skip
def test_an_einsum_is_a_matrix_product(equation: str) -> None:
    sizes = {label: n for n, label in enumerate(sorted(set(equation) - set(",->")), 2)}
    shapes = [tuple(sizes[label] for label in side) for side in equation.split("->")[0].split(",")]
    graph_def = traced(lambda x, y: tf.raw_ops.Einsum(inputs=[x, y], equation=equation), *shapes)
    left = after([converter_graph.lower_einsums], graph_def)
    assert left["Einsum"] == 0
    assert left["MatMul"] + left["BatchMatMulV2"] == 1
    assert left["Transpose"] <= 3


@pytest.mark.parametrize("equation", ["...a,ab->...b", "aab,bc->ac", "ab,cd->ad"])
def test_other_einsums_stay(equation: str) -> None:
    shapes = {
        "...a,ab->...b": ((2, 3), (3, 4)),
        "aab,bc->ac": ((2, 2, 3), (3, 4)),
        "ab,cd->ad": ((2, 3), (3, 4)),
    }
    graph_def = traced(lambda x, y: tf.raw_ops.Einsum(inputs=[x, y], equation=equation), *shapes[equation])
    assert after([converter_graph.lower_einsums], graph_def) == {"Einsum": 1}


def test_a_causal_mask_is_stored_for_one_head_of_one_example() -> None:
    mask = np.broadcast_to(np.tri(STEPS, dtype=bool), (BATCH, WIDTH, STEPS, STEPS))
    graph_def = traced(lambda x: tf.where(mask, x, -1e9), (BATCH, WIDTH, STEPS, STEPS))
    view = View(graph_def, ["output"])
    converter_graph.narrow_constants(view)
    sizes = [view.size(node.name) for node in view.all("Const")]
    assert sorted(sizes) == [1, STEPS * STEPS]
    np.testing.assert_array_equal(evaluated(view.graph_def()), evaluated(graph_def))


def test_the_likeliest_class_needs_no_softmax() -> None:
    build = traced(lambda x: tf.cast(tf.argmax(tf.nn.softmax(x), -1), tf.float32), (BATCH, WIDTH))
    assert after([converter_graph.skip_softmax], build) == {"ArgMax": 1, "Cast": 1}


def unrolled(x: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    """Gradients of an unrolled recurrent layer, as one vector."""
    state = tf.zeros([BATCH, WIDTH])
    for step in tf.unstack(tf.transpose(x, [1, 0, 2])):
        state = tf.tanh(tf.nn.bias_add(tf.matmul(step, kernel), bias) + tf.matmul(state, recurrent))
    gradients = tf.gradients(tf.reduce_sum(tf.square(state)), [x, kernel, recurrent, bias])
    return tf.concat([tf.reshape(gradient, [-1]) for gradient in gradients], 0)


def test_products_of_time_steps_are_joined() -> None:
    graph_def = traced(unrolled, (BATCH, STEPS, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH,))
    before = ops(graph_def)
    rewrites = [
        converter_graph.sum_of_products,
        converter_graph.sum_of_products,
        converter_graph.products_of_steps,
        converter_graph.join_unpacked,
    ]
    left = after(rewrites, graph_def)
    # Two forward and two backward products a step, two kernel gradients.
    assert before["MatMul"] >= 6 * STEPS - 3
    # The recurrence itself stays, forwards and backwards.
    assert left["MatMul"] <= 2 * STEPS + 4
    assert left["BiasAddGrad"] == 1


def test_moving_averages_of_many_layers_are_one() -> None:
    def build(state: Any, *means: Any) -> Any:
        old = tf.split(state, [2, 3, 4])
        return tf.concat([part * 0.9 + mean * 0.1 for part, mean in zip(old, means, strict=True)], 0)

    graph_def = traced(build, (9,), (2,), (3,), (4,))
    left = after([converter_graph.lift_arithmetic] * 3 + [converter_graph.join_split], graph_def)
    assert left == {"ConcatV2": 1, "Mul": 2, "AddV2": 1}


def test_averages_with_different_momentum_stay_apart() -> None:
    def build(x: Any, y: Any, z: Any) -> Any:
        return tf.concat([x * 0.9, y * 0.9, z * 0.8], 0)

    left = after([converter_graph.lift_arithmetic], traced(build, (2,), (3,), (4,)))
    assert left == {"ConcatV2": 2, "Mul": 2}


@pytest.mark.parametrize("activation", [tf.identity, tf.nn.relu, tf.tanh])
def test_bias_and_activation_are_part_of_the_product(activation: Any) -> None:
    def build(x: Any, w: Any, b: Any) -> Any:
        return activation(tf.nn.bias_add(tf.matmul(x, w), b))

    graph_def = traced(build, (BATCH, WIDTH), (WIDTH, 2), (2,))
    expected = {"_FusedMatMul": 1} | ({"Tanh": 1} if activation is tf.tanh else {})
    assert after([converter_graph.fuse_bias], graph_def) == expected


def test_bias_and_relu_are_part_of_the_convolution() -> None:
    def build(x: Any, w: Any, b: Any) -> Any:
        return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, 2, "SAME"), b))

    graph_def = traced(build, (2, 7, 7, 3), (3, 3, 3, 4), (4,))
    assert after([converter_graph.fuse_bias], graph_def) == {"_FusedConv2D": 1}


def test_a_sum_that_others_read_is_not_hidden_in_a_product() -> None:
    def build(x: Any, w: Any, b: Any) -> Any:
        product = tf.matmul(x, w)
        return tf.nn.bias_add(product, b) * product

    graph_def = traced(build, (BATCH, WIDTH), (WIDTH, 2), (2,))
    assert after([converter_graph.fuse_bias], graph_def) == {"MatMul": 1, "BiasAdd": 1, "Mul": 1}


def test_inputs_that_nothing_reads_and_all_outputs_keep_their_names() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder("float32", (2,), "x")
        tf.compat.v1.placeholder("float32", (), "step")
        tf.identity(tf.identity(x, "first") * 1.0, "second")
    simple = converter_graph.simplify(graph.as_graph_def(), ["first", "second"])
    assert {node.name for node in simple.node} == {"x", "step", "first", "second"}
    names = [node.name for node in simple.node]
    assert names.index("x") < names.index("second")


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("keepdims", [False, True])
def test_a_reduction_of_many_axes_has_few(mean: bool, keepdims: bool) -> None:
    reduce = tf.reduce_mean if mean else tf.reduce_sum

    def build(x: Any) -> Any:
        return reduce(tf.reshape(x, [1, 4, 1, 3, 1, 4, 2, 1, 1, 5]), [0, 2, 4, 6, 8], keepdims=keepdims)

    graph_def = traced(build, (4, 3, 8, 5))
    after([converter_graph.narrow_reductions, converter_graph.merge_reshapes], graph_def)
    view = View(graph_def, ["output"])
    for rewrite in (converter_graph.narrow_reductions, converter_graph.merge_reshapes):
        rewrite(view)
    (reduced,) = view.all("Mean" if mean else "Sum")
    assert view.shape(reduced.input[0]) == (48, 2, 5)


def test_a_reduction_of_axes_of_length_one_alone_stays_right() -> None:
    graph_def = traced(lambda x: tf.reduce_sum(tf.reshape(x, [2, 1, 3, 1, 1]), [1, 3]), (2, 3))
    after([converter_graph.narrow_reductions], graph_def)
