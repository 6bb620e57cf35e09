"""A few kilobytes of Parquet, Feather or .npz claim rows without end, below zero, or as long as a book."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from backend.datasets.inspection.model_input import ModelInput
from backend.errors import DataError
from backend.numerics.preprocess.declared import DeclaredTable
from backend.server.sandbox.data_inspection import inspect_data, preview_data
from backend.server.sandbox.limited_process import ProcessLimits
from tests.support.tasks.owner_files import npz_of_shape

LIMITS = ProcessLimits(wall_seconds=30.0, cpu_seconds=20, memory_bytes=4 << 30)
ROWS = 100_000_000


def many_rows() -> pa.Table:
    """A hundred million rows of one value: next to nothing once encoded."""
    return pa.table({"a": np.zeros(ROWS, np.int64), "class": np.zeros(ROWS, np.int8)})


def long_texts() -> pa.Table:
    """A book of a megabyte, named in each of 100,000 rows."""
    books = pa.array(["x" * (1 << 20), "y"])
    numbers = pa.array(np.arange(100_000, dtype=np.int32) % 2)
    return pa.table({"a": pa.DictionaryArray.from_arrays(numbers, books), "class": numbers})


def nothing_in_rows() -> pa.Table:
    """Rows of nothing, which take no byte at all."""
    return pa.table({"a": pa.nulls(1 << 30), "class": pa.nulls(1 << 30)})


def parquet(table: pa.Table, path: Path) -> None:
    pyarrow.parquet.write_table(table, path, compression="zstd", row_group_size=ROWS)


def feather(table: pa.Table, path: Path) -> None:
    pyarrow.feather.write_feather(table, path, compression="zstd", chunksize=ROWS)


def raw(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


BOMBS: dict[str, tuple[str, Callable[[], pa.Table], Callable[[pa.Table, Path], None]]] = {
    "rows of Parquet": ("d.parquet", many_rows, parquet),
    "rows of Feather": ("d.feather", many_rows, feather),
    "texts of Parquet": ("d.parquet", long_texts, parquet),
    "texts of Feather": ("d.feather", long_texts, feather),
    "nothing in Arrow": ("d.arrow", nothing_in_rows, raw),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_table_that_unpacks_to_too_much_is_refused_before_it_is_read(tmp_path: Path, bomb: str) -> None:
    name, table, write = BOMBS[bomb]
    write(table(), tmp_path / name)
    assert (tmp_path / name).stat().st_size < 4 << 20
    with pytest.raises(DataError, match="unpack to"):
        inspect_data(tmp_path / name, name, ModelInput(), tmp_path / "out", limits=LIMITS)
    declared = DeclaredTable(columns=[], labels=[])
    with pytest.raises(DataError, match="unpack to"):
        preview_data(tmp_path / name, name, declared, 0.1, None, tmp_path / "out", limits=LIMITS)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("shape", [(-1, 4), (4, -1), (2**70, 0), (0, 2**70), (1,) * 40])
def test_an_array_of_an_impossible_shape_is_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    (tmp_path / "d.npz").write_bytes(npz_of_shape(shape))
    with pytest.raises(DataError, match="shape"):
        inspect_data(tmp_path / "d.npz", "d.npz", ModelInput(), tmp_path / "out", limits=LIMITS)
