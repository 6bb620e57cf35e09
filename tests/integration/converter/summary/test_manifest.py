"""The manifest says what is really in the bundle."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from converter.op_allowlist import ALLOWED
from tests.integration.converter.conftest import Convert
from tests.support.keras.native import NativeBundle
from tests.support.keras.reference_cache import by_lane
from tests.support.keras.zoo import CASES

pytestmark = pytest.mark.tensorflow
NAMES = ("train", "apply", "evaluate", "predict")


@pytest.fixture(scope="module")
def resnet(references: Path) -> Path:
    """The ResNet's bundle: state, momentum, metrics."""
    return references / "resnet"


@pytest.fixture(scope="module")
def manifest(resnet: Path) -> Any:
    return json.loads((resnet / "bundle.json").read_text("utf-8"))


def graph_def(folder: Path, name: str) -> Any:
    graph = tf.compat.v1.GraphDef()
    graph.ParseFromString((folder / "native" / f"{name}.pb").read_bytes())
    return graph


def test_every_file_has_its_hash_and_size(resnet: Path, manifest: Any) -> None:
    found = {p.relative_to(resnet).as_posix(): p for p in resnet.rglob("*") if p.is_file()}
    own = {name for name in found if name != "bundle.json" and not name.startswith("reference/")}
    assert own == set(manifest["files"])
    for name, entry in manifest["files"].items():
        content = found[name].read_bytes()
        assert entry == {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    assert {f"native/{name}.pb" for name in NAMES} | {f"{name}/model.json" for name in NAMES} < own


def test_the_layout_is_dense_and_trainable_values_come_first(manifest: Any) -> None:
    offset = 0
    for entry in manifest["layout"]:
        assert entry["offset"] == offset
        offset += int(np.prod(entry["shape"]))
    counts = manifest["parameters"]
    assert offset == counts["trainable"] + counts["state"]
    flags = [entry["trainable"] for entry in manifest["layout"]]
    assert flags == sorted(flags, reverse=True)
    assert sum(int(np.prod(e["shape"])) for e in manifest["layout"] if e["trainable"]) == counts["trainable"]
    assert len({entry["name"] for entry in manifest["layout"]}) == len(flags)


def test_weights_are_the_models_own_in_layout_order(resnet: Path, manifest: Any) -> None:
    weights = np.fromfile(resnet / "weights.bin", "<f4")
    variables = {
        v.path: np.asarray(v)
        for v in keras.saving.load_model(resnet / "model.keras", compile=False).variables
    }
    for entry in manifest["layout"]:
        size = int(np.prod(entry["shape"]))
        values = weights[entry["offset"] : entry["offset"] + size].reshape(entry["shape"])
        np.testing.assert_array_equal(values, variables[entry["name"]])


@pytest.mark.parametrize("name", NAMES)
def test_signatures_are_the_graphs_shapes_and_types(resnet: Path, manifest: Any, name: str) -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def(resnet, name), name="")
    signature = manifest["signatures"][name]
    for spec in signature["inputs"] + signature["outputs"]:
        tensor = graph.get_tensor_by_name(spec["tensor"] + ":0")
        assert (tensor.shape.as_list(), tensor.dtype.name) == (spec["shape"], spec["dtype"])
    placeholders = {op.name for op in graph.get_operations() if op.type == "Placeholder"}
    assert placeholders == {spec["tensor"] for spec in signature["inputs"]}


@pytest.mark.parametrize("case", by_lane(CASES))
@pytest.mark.parametrize("name", NAMES)
def test_graphs_hold_only_listed_ops_and_no_functions(references: Path, case: str, name: str) -> None:
    graph = graph_def(references / case, name)
    ops = json.loads((references / case / "bundle.json").read_text("utf-8"))["ops"][name]
    assert sorted({node.op for node in graph.node}) == ops
    assert set(ops) <= ALLOWED
    assert not graph.library.function
    assert not any(edge.startswith("^") for node in graph.node for edge in node.input)
    assert not any(node.device for node in graph.node)


@pytest.mark.parametrize("case", by_lane(CASES))
@pytest.mark.parametrize("name", NAMES)
def test_the_browsers_graph_is_the_native_one(references: Path, case: str, name: str) -> None:
    folder = references / case / name
    model = json.loads((folder / "model.json").read_text("utf-8"))
    native = {node.name: node for node in graph_def(references / case, name).node}
    for node in model["modelTopology"]["node"]:
        assert native[node["name"]].op == node["op"]
        assert list(native[node["name"]].input) == node.get("input", [])
    assert len(model["modelTopology"]["node"]) == len(native)
    (group,) = model["weightsManifest"]
    blob, offset = b"".join((folder / path).read_bytes() for path in group["paths"]), 0
    for spec in group["weights"]:
        dtype = np.dtype(spec["dtype"])
        assert dtype in (np.float32, np.int32, np.bool_)
        count = int(np.prod(spec["shape"]))
        values = np.frombuffer(blob, dtype, count, offset).reshape(spec["shape"])
        np.testing.assert_array_equal(values, tf.make_ndarray(native[spec["name"]].attr["value"].tensor))
        offset += count * dtype.itemsize
    assert offset == len(blob)
    strings = [a["s"] for n in model["modelTopology"]["node"] for a in n.get("attr", {}).values() if "s" in a]
    assert all(base64.b64decode(text, validate=True).isascii() for text in strings)


def test_what_is_empty_is_left_out(convert: Convert) -> None:
    bundle = convert(keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]))
    signatures = bundle.manifest["signatures"]
    assert [s["name"] for s in signatures["train"]["inputs"]] == ["trainable", "x_0", "y_0", "sample_weight"]
    assert [s["name"] for s in signatures["train"]["outputs"]] == ["loss", "gradient"]
    assert [s["name"] for s in signatures["apply"]["inputs"]] == [
        "trainable",
        "gradient",
        "learning_rate",
        "step",
    ]
    assert [s["name"] for s in signatures["apply"]["outputs"]] == ["new_trainable"]


def test_flops_count_the_products_of_forward_and_backward(convert: Convert) -> None:
    bundle = convert(keras.Sequential([keras.Input((100,)), keras.layers.Dense(50, use_bias=False)]), 8)
    product = 2 * 8 * 100 * 50
    # Forward and the gradient of the kernel; the input needs none. The rest is linear in the outputs.
    assert 2 * product <= bundle.manifest["flops"]["train"] <= 2 * product + 100 * 50 + 20 * 8 * 50


def test_the_random_inputs_are_listed_with_their_shapes(references: Path) -> None:
    bundle = NativeBundle(references / "dropout")
    drawn = bundle.manifest["random"]
    assert [r["name"] for r in drawn] == [f"random_{k}" for k in range(4)]
    assert [r["shape"] for r in drawn] == [[8, 1, 1, 6], [8, 216], [8, 216], [8, 216]]
    assert [s["name"] for s in bundle.manifest["signatures"]["train"]["inputs"]][-4:] == [
        r["name"] for r in drawn
    ]


@pytest.mark.parametrize(("constraint", "said"), [("non_neg", True), (None, None)])
def test_a_step_that_ends_with_constraints_says_so(
    convert: Convert, constraint: str | None, said: bool | None
) -> None:
    layer = keras.layers.Dense(2, kernel_constraint=constraint)
    manifest = convert(keras.Sequential([keras.Input((3,)), layer])).manifest
    assert manifest["optimizer"]["hyperparameters"].get("constrained") is said
