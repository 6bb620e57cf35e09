"""Parquet and Arrow files: honest columns of every type, and those that are not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

from backend.datasets.readers.columnar import column_names, columnar_batches
from backend.errors import DataError

TABLE = pyarrow.table(
    {
        "text": ["a", None, "ccc"] * 3000,
        "category": pyarrow.array(["x", "y", None] * 3000).dictionary_encode(),
        "numbers": pyarrow.array([1, 2, 3] * 3000).dictionary_encode(),
        "whole": [1, 2, 3] * 3000,
        "day": pyarrow.array([0, 1, 2] * 3000, pyarrow.date32()),
        "list": [[1, 2], [], None] * 3000,
        "pair": [{"a": 1, "b": "x"}] * 9000,
        "bytes": [b"a", b"", b"b"] * 3000,
    }
)


def written(folder: Path, table: Any, suffix: str) -> Path:
    path = folder / f"d{suffix}"
    if suffix == ".parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=2000)
    else:
        pyarrow.feather.write_feather(table, path)
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_every_row_comes_back(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path, TABLE, suffix)
    assert column_names(path) == TABLE.column_names
    rows = [row for batch in columnar_batches(path, TABLE.column_names) for row in batch.to_pylist()]
    assert rows == TABLE.to_pylist()
    (only,) = {tuple(batch.schema.names) for batch in columnar_batches(path, ["whole", "text", "whole"])}
    assert only == ("whole", "text")


def test_columns_whose_values_may_repeat_without_bounds_are_not_read(tmp_path: Path) -> None:
    runs = pyarrow.RunEndEncodedArray.from_arrays([3], ["x"])
    path = written(tmp_path, pyarrow.table({"a": runs, "b": [1, 2, 3]}), ".arrow")
    with pytest.raises(DataError, match="is not read; leave it out"):
        list(columnar_batches(path, ["a"]))
    assert len(list(columnar_batches(path, ["b"]))) == 1


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_damaged_file_and_a_missing_column_are_told(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path, TABLE, suffix)
    with pytest.raises(DataError, match="column 'z' is missing; the file has text"):
        list(columnar_batches(path, ["z"]))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="cannot be read"):
        column_names(path)
