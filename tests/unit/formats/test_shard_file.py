"""A shard is read only if it fits the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from backend.errors import BundleError
from backend.formats.manifest import Manifest
from backend.formats.shard_file import decode_shard, largest_shard
from backend.server.tasks.bundle_store import check_bundle
from tests.support.tasks import tiny_task

ALLOWED = frozenset(tiny_task.OPS)


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    return check_bundle(tiny_task.write_task(tmp_path / "tiny") / "bundle", ALLOWED)


def stored(values: NDArray[Any]) -> dict[str, Any]:
    return {"dtype": values.dtype.name, "shape": list(values.shape), "data": values.tobytes()}


X = stored(np.arange(6, dtype="<f4").reshape(3, 2))
Y = stored(np.array([0, 1, 1], "<i4"))


def shard(**changes: Any) -> bytes:
    """Three examples for the tiny model, with `changes`."""
    whole = {"format": "minga-shard/2", "examples": 3, "x": [X], "y": [Y], **changes}
    return msgspec.msgpack.encode(whole)


def test_arrays_come_back_and_every_example_weighs_one(manifest: Manifest) -> None:
    raw = decode_shard(shard(), manifest)
    assert raw.x[0].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert raw.y[0].tolist() == [0, 1, 1]
    assert raw.sample_weight.tolist() == [1, 1, 1]


def test_no_shard_is_longer_than_the_largest(manifest: Manifest) -> None:
    most = 1000
    x, y, weights = np.ones((most, 2), "<f4"), np.ones(most, "<i4"), np.ones(most, "<f4")
    content = shard(examples=most, x=[stored(x)], y=[stored(y)], sample_weight=stored(weights))
    decode_shard(content, manifest)
    assert 4 * 4 * most < len(content) <= largest_shard(manifest, most) == 4 * 4 * most + 65536


def test_sample_weights_come_back(manifest: Manifest) -> None:
    raw = decode_shard(shard(sample_weight=stored(np.array([0.5, 0, 2], "<f4"))), manifest)
    assert raw.sample_weight.tolist() == [0.5, 0, 2]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": "minga-shard/1"}, "cannot be read"),
        ({"colour": "red"}, "colour"),
        ({"x": []}, r"0 inputs where the model has 1 \(x\)"),
        ({"y": [Y, Y]}, r"2 labels where the model has 1 \(class\)"),
        ({"examples": 2}, r"shape \[3, 2\] where the model takes \[2, 2\]"),
        ({"x": [{**X, "data": X["data"][:-1]}]}, "do not fill their shape"),
        ({"y": [stored(np.array([0, 1, 2], "<i4"))]}, "class 2; the model knows 0 to 1"),
        ({"y": [stored(np.array([0, -1, 0], "<i4"))]}, "class -1; the model knows 0 to 1"),
        ({"sample_weight": stored(np.array([1, -1, 1], "<f4"))}, "sample weights below zero"),
        ({"sample_weight": stored(np.array([1, np.nan, 1], "<f4"))}, "sample weights below zero"),
        ({"sample_weight": stored(np.ones((3, 1), "<f4"))}, "shape"),
    ],
)
def test_what_does_not_fit_is_refused(manifest: Manifest, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BundleError, match=words):
        decode_shard(shard(**changes), manifest)


def test_a_text_that_is_not_utf_8_is_refused(manifest: Manifest) -> None:
    with pytest.raises(BundleError, match="cannot be read"):
        decode_shard(shard().replace(b"minga-shard", b"m\xd3nga-shard"), manifest)


def test_more_examples_than_bytes_are_refused_before_their_weights_fill_the_memory(
    manifest: Manifest,
) -> None:
    hollow = msgspec.structs.replace(manifest.inputs[0], shape=[0])
    unlabelled = msgspec.structs.replace(manifest, inputs=[hollow], labels=[])
    most = 2**53 - 1
    with pytest.raises(BundleError, match="more examples than it has bytes"):
        decode_shard(
            shard(examples=most, x=[{"dtype": "float32", "shape": [most, 0], "data": b""}], y=[]), unlabelled
        )
