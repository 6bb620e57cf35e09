"""A few kilobytes of Parquet or Feather claim rows without end, or as long as a book."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

from backend.datasets.inspection.model_input import ModelInput
from backend.errors import DataError
from backend.numerics.preprocess.declared import DeclaredCategory, DeclaredTable, DeclaredTarget
from backend.server.sandbox.data_inspection import inspect_data, preview_data
from backend.server.sandbox.limited_process import ProcessLimits

LIMITS = ProcessLimits(wall_seconds=30.0, cpu_seconds=20, memory_bytes=4 << 30)
ROWS = 100_000_000


def many_rows() -> pyarrow.Table:
    """A hundred million rows of one value: next to nothing once encoded."""
    return pyarrow.table({"a": np.zeros(ROWS, np.int64), "class": np.zeros(ROWS, np.int8)})


def long_texts() -> pyarrow.Table:
    """A book of a megabyte, named in each of 100,000 rows."""
    books = pyarrow.array(["x" * (1 << 20), "y"])
    numbers = pyarrow.array(np.arange(100_000, dtype=np.int32) % 2)
    return pyarrow.table({"a": pyarrow.DictionaryArray.from_arrays(numbers, books), "class": numbers})


def nothing_in_rows() -> pyarrow.Table:
    """Rows of nothing, which take no byte at all."""
    return pyarrow.table({"a": pyarrow.nulls(1 << 30), "class": pyarrow.nulls(1 << 30)})


def parquet(table: pyarrow.Table, path: Path) -> None:
    pyarrow.parquet.write_table(table, path, compression="zstd", row_group_size=ROWS)


def feather(table: pyarrow.Table, path: Path) -> None:
    pyarrow.feather.write_feather(table, path, compression="zstd", chunksize=ROWS)


def raw(table: pyarrow.Table, path: Path) -> None:
    with pyarrow.OSFile(str(path), "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


BOMBS: dict[str, tuple[str, Callable[[], pyarrow.Table], Callable[[pyarrow.Table, Path], None]]] = {
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
    declared = DeclaredTable(columns=[DeclaredCategory(name="a")], labels=[DeclaredTarget(name="class")])
    with pytest.raises(DataError, match="unpack to"):
        preview_data(tmp_path / name, name, declared, 0.1, None, tmp_path / "out", limits=LIMITS)
    assert not (tmp_path / "out").exists()
