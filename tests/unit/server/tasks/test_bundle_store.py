from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.errors import BundleError
from backend.formats.op_allowlist import read_allow_list
from backend.formats.shard_index import check_shards
from backend.server.tasks.bundle_store import check_bundle, store_bundle
from backend.server.tasks.shard_store import store_shards
from backend.settings import Settings
from backend.stores.blobs import FileBlobs
from tests.support.tasks.tiny_task import OPS, SHARDS, SIZE, graph_def, tfjs_model, write_task

ALLOWED = frozenset(OPS)


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return write_task(tmp_path / "tiny")


def rewrite(bundle: Path, name: str, data: bytes) -> None:
    """Puts another file into a bundle, hash and all: what an attacker would do."""
    (bundle / name).write_bytes(data)
    manifest = json.loads((bundle / "bundle.json").read_text())
    manifest["files"][name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    (bundle / "bundle.json").write_text(json.dumps(manifest))


def edit(bundle: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((bundle / "bundle.json").read_text())
    change(manifest)
    (bundle / "bundle.json").write_text(json.dumps(manifest))


async def test_every_file_of_a_good_bundle_is_stored(task: Path, tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path / "blobs")
    bundle = await store_bundle(task / "bundle", ALLOWED, blobs)
    for name, file in bundle.manifest.files.items():
        assert await blobs.read(file.sha256) == (task / "bundle" / name).read_bytes()
    assert await blobs.read(bundle.address) == (task / "bundle" / "bundle.json").read_bytes()
    assert np.frombuffer(await blobs.read(bundle.weights), "<f4").tolist() == list(range(SIZE))


def test_the_projects_own_list_of_ops_is_read() -> None:
    ops = read_allow_list(Settings(data_dir=Path(), tasks=()).ops_file)
    assert {"Placeholder", "AddV2", "MatMul"} <= ops
    assert not ops & {"ReadFile", "WriteFile", "PyFunc", "EagerPyFunc", "PartitionedCall", "VarHandleOp"}


def test_a_list_of_ops_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    for content in (b"", b"[]", b'{"pos": {}}'):
        (tmp_path / "ops.json").write_bytes(content)
        with pytest.raises(BundleError, match="list of allowed ops"):
            read_allow_list(tmp_path / "ops.json")


@pytest.mark.parametrize("signature", ["train", "apply", "evaluate", "predict"])
def test_an_op_outside_the_list_is_refused_by_name_in_either_form(task: Path, signature: str) -> None:
    bundle = task / "bundle"
    rewrite(bundle, f"native/{signature}.pb", graph_def("AddV2", "ReadFile"))
    with pytest.raises(
        BundleError, match=rf"native/{signature}.pb uses ops outside the allow-list: ReadFile"
    ):
        check_bundle(bundle, ALLOWED)
    rewrite(bundle, f"native/{signature}.pb", graph_def("AddV2"))
    rewrite(bundle, f"{signature}/model.json", json.dumps(tfjs_model("AddV2", "ReadFile")).encode())
    with pytest.raises(
        BundleError, match=rf"{signature}/model.json uses ops outside the allow-list: ReadFile"
    ):
        check_bundle(bundle, ALLOWED)


@pytest.mark.parametrize(
    "model",
    [
        b"",
        b"[]",
        b"{}",
        b'{"modelTopology": null}',
        b'{"modelTopology": {"node": [{"name": "n"}]}, "weightsManifest": []}',
        json.dumps(tfjs_model()).encode(),
        json.dumps({**tfjs_model("AddV2"), "modelInitializer": {"node": []} | {"x": 1}}).encode(),
        json.dumps({**tfjs_model("AddV2"), "weightsManifest": [{"paths": ["../../secret.bin"]}]}).encode(),
        json.dumps(
            {
                **tfjs_model("AddV2"),
                "modelTopology": {"node": [{"op": "AddV2"}], "library": {"function": [{}]}},
            }
        ).encode(),
    ],
)
def test_a_tfjs_model_that_is_not_plain_is_refused(task: Path, model: bytes) -> None:
    rewrite(task / "bundle", "train/model.json", model)
    with pytest.raises(BundleError, match=r"train/model\.json"):
        check_bundle(task / "bundle", ALLOWED)


def test_a_native_graph_with_functions_or_garbage_is_refused(task: Path) -> None:
    for graph in (graph_def("AddV2", library=b"\x0a\x00"), b"garbage", b""):
        rewrite(task / "bundle", "native/train.pb", graph)
        with pytest.raises(BundleError):
            check_bundle(task / "bundle", ALLOWED)


@pytest.mark.parametrize("name", ["weights.bin", "train/model.json", "native/apply.pb"])
def test_a_file_that_was_changed_is_found(task: Path, name: str) -> None:
    path = task / "bundle" / name
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(BundleError, match=r"differs from what bundle.json says"):
        check_bundle(task / "bundle", ALLOWED)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.update(format="minga-bundle/9"), "format"),
        (lambda m: m.update(batch_size=0), "batch_size"),
        (lambda m: m.pop("layout"), "layout"),
        (lambda m: m["parameters"].update(trainable=9), "parameter counts"),
        (lambda m: m["layout"][1].update(offset=7), "gap or overlap at dense/bias"),
        (lambda m: m["layout"][0].update(shape=[2, -3]), "shape"),
        (lambda m: m["layout"][0].update(trainable=False), "comes after non-trainable"),
        (lambda m: m["files"].pop("native/train.pb"), "lacks native/train.pb"),
        (lambda m: m["files"].update({"../../x": m["files"]["weights.bin"]}), "outside of itself"),
        (lambda m: m["files"].update({"/etc/passwd": m["files"]["weights.bin"]}), "outside of itself"),
        (lambda m: m["files"]["weights.bin"].update(bytes=44), "does not hold the layout"),
        (lambda m: m["files"]["weights.bin"].update(sha256="../x"), "sha256"),
    ],
)
def test_a_wrong_manifest_is_refused(
    task: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    edit(task / "bundle", change)
    with pytest.raises(BundleError, match=words):
        check_bundle(task / "bundle", ALLOWED)


def test_a_first_version_that_is_not_finite_is_refused(task: Path) -> None:
    rewrite(task / "bundle", "weights.bin", np.full(SIZE, np.nan, "<f4").tobytes())
    with pytest.raises(BundleError, match="NaN or infinity"):
        check_bundle(task / "bundle", ALLOWED)


def test_a_bundle_that_is_not_there_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="minga convert"):
        check_bundle(tmp_path / "nothing", ALLOWED)


async def test_training_shards_are_stored_and_held_out_ones_are_not(task: Path, tmp_path: Path) -> None:
    index = json.loads((task / "shards" / "shards.json").read_text())
    index["holdout"] = [index["train"].pop()]
    (task / "shards" / "shards.json").write_text(json.dumps(index))
    blobs = FileBlobs(tmp_path / "blobs")
    shards = await store_shards(task / "shards", check_bundle(task / "bundle", ALLOWED), blobs, False)
    assert len(shards.train) == SHARDS - 1
    stored = {path.name for path in (tmp_path / "blobs").rglob("*") if path.is_file()}
    assert stored == {shard.sha256 for shard in shards.train}
    assert [path.name for path in shards.holdout] == [index["holdout"][0]["file"]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda one: one.update(sha256="0" * 64), "differs from what shards.json says"),
        (lambda one: one.update(bytes=3), "differs from what shards.json says"),
        (lambda one: one.update(examples=4), "count different examples"),
        (lambda one: one.update(examples=0), "examples"),
        (lambda one: one.update(file="../../task.toml"), "file"),
        (lambda one: one.update(file="missing"), "cannot be read"),
        (lambda one: one.update(colour="red"), "colour"),
    ],
)
def test_a_wrong_index_of_shards_is_refused(
    task: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    path = task / "shards" / "shards.json"
    index = json.loads(path.read_text())
    change(index["train"][0])
    path.write_text(json.dumps(index))
    with pytest.raises(BundleError, match=words):
        check_shards(task / "shards", check_bundle(task / "bundle", ALLOWED))
