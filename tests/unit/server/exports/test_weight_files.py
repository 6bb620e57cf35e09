from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.formats.manifest import Variable
from backend.server.exports.version_comparison import distances
from backend.server.exports.weight_files import write_npz, write_safetensors

LAYOUT = [
    Variable("dense/kernel", [2, 3], 0, True),
    Variable("dense/bias", [2], 6, True),
    Variable("dense/bias", [], 8, True),
    Variable("norm/mean", [2], 9, False),
]
VALUES = np.arange(11, dtype="<f4") / 7


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    VALUES.tofile(tmp_path / "weights")
    return tmp_path / "weights"


def check(found: dict[str, NDArray[np.float32]]) -> None:
    assert set(found) == {"dense/kernel", "dense/bias", "dense/bias_1", "norm/mean"}
    np.testing.assert_array_equal(found["dense/kernel"], VALUES[:6].reshape(2, 3))
    np.testing.assert_array_equal(found["dense/bias"], VALUES[6:8])
    np.testing.assert_array_equal(found["dense/bias_1"], VALUES[8])
    np.testing.assert_array_equal(found["norm/mean"], VALUES[9:])


def test_safetensors_own_library_reads_what_was_written(weights: Path, tmp_path: Path) -> None:
    from safetensors import safe_open
    from safetensors.numpy import load_file

    file = tmp_path / "a.safetensors"
    write_safetensors(weights, LAYOUT, {"bundle": "abc"}, file)
    check(load_file(file))
    with safe_open(file, "numpy") as opened:
        assert opened.metadata() == {"bundle": "abc"}


def test_numpy_reads_what_was_written_without_pickles(weights: Path, tmp_path: Path) -> None:
    write_npz(weights, LAYOUT, {}, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        check(dict(arrays))
    with zipfile.ZipFile(tmp_path / "a.npz") as packed:
        assert {one.date_time for one in packed.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_versions_are_compared_as_a_whole_and_by_variable(weights: Path, tmp_path: Path) -> None:
    moved = VALUES.copy()
    moved[6] += 3.0
    moved[7] += 4.0
    moved[9] += 100.0
    moved.tofile(tmp_path / "moved")
    whole, each = distances(weights, tmp_path / "moved", LAYOUT)
    assert whole.parameters == 9
    assert whole.distance == pytest.approx(5.0, rel=1e-6)  # Statistics are not trained.
    assert whole.relative == pytest.approx(5.0 / np.linalg.norm(VALUES[:9]), rel=1e-6)
    assert [one.distance for one in each] == pytest.approx([0.0, 5.0, 0.0, 100.0], rel=1e-6)


def test_what_was_all_zeros_has_no_relative_change(tmp_path: Path) -> None:
    np.zeros(11, "<f4").tofile(tmp_path / "zeros")
    VALUES.tofile(tmp_path / "values")
    whole, each = distances(tmp_path / "zeros", tmp_path / "values", LAYOUT)
    assert whole.relative is None
    assert each[0].relative is None
