"""NumPy's files, read a few rows at a time."""

from __future__ import annotations

import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.datasets.readers.npz import open_npz
from backend.errors import DataError

ARRAYS: dict[str, Any] = {
    "plain": np.arange(60, dtype=np.float32).reshape(20, 3),
    "deep": np.arange(120, dtype=np.int16).reshape(20, 2, 3),
    "columns": np.asfortranarray(np.arange(60.0).reshape(20, 3)),
    "swapped": np.arange(20, dtype=">i4"),
    "bits": np.arange(20) % 2 == 0,
    "none": np.zeros((20, 0), np.float32),
}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_every_array_comes_back_row_by_row(tmp_path: Path, save: Any) -> None:
    save(tmp_path / "in.npz", **ARRAYS)
    with open_npz(tmp_path / "in.npz", list(ARRAYS)) as opened:
        # All at once, as examples are read: seven rows of each, then the next seven.
        taken = [[rows.take(7) for rows in opened] for _ in range(4)]
    for (name, array), parts in zip(ARRAYS.items(), zip(*taken, strict=True), strict=True):
        assert [len(part) for part in parts] == [7, 7, 6, 0], name
        assert (np.concatenate(parts) == array).all(), name


def test_a_large_array_takes_little_memory(tmp_path: Path) -> None:
    large = np.zeros((16_000, 1_000), np.float32)
    large[:, :50] = np.random.default_rng(0).random((16_000, 50))
    np.savez_compressed(tmp_path / "in.npz", x=large)
    tracemalloc.start()
    with open_npz(tmp_path / "in.npz", ["x"]) as (x,):
        assert sum(len(x.take(1000)) for _ in range(16)) == 16_000
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < large.nbytes / 3


def npy(tmp_path: Path, array: np.ndarray[Any, Any]) -> bytes:
    np.save(tmp_path / "one.npy", array)
    return (tmp_path / "one.npy").read_bytes()


def test_what_is_no_array_or_does_not_keep_its_length_is_refused(tmp_path: Path) -> None:
    whole = npy(tmp_path, np.arange(10.0))
    larger = whole.replace(b"(10,), ", b"(9999,)", 1)
    for content, words in [
        (whole[:-8], "ends early"),
        (larger, "ends early"),
        (whole + bytes(8), "continues after its end"),
        (b"not NumPy's", "not an .npz file"),
        (b"", "not an .npz file"),
    ]:
        with zipfile.ZipFile(tmp_path / "in.npz", "w") as archive:
            archive.writestr("x.npy", content)
        with pytest.raises(DataError, match=words), open_npz(tmp_path / "in.npz", ["x"]) as (x,):
            x.take(10)


def test_a_damaged_byte_is_noticed(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.arange(1000.0))
    content = bytearray((tmp_path / "in.npz").read_bytes())
    content[4000] ^= 1
    (tmp_path / "in.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"not an \.npz file"), open_npz(tmp_path / "in.npz", ["x"]) as (x,):
        x.take(1000)


def test_other_files_and_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("not a zip file")
    for name, words in (("text.npz", "not an .npz file"), ("away.npz", "There is no file")):
        with pytest.raises(DataError, match=words), open_npz(tmp_path / name, ["x"]):
            pass
