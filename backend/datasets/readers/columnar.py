"""Reads Parquet and Arrow files in batches, and refuses those that unpack to far more than their size.

Encodings of such files have no bounds of their own: a value that repeats takes a byte for a million rows, and
a text that many rows name is stored once. Sizes are checked by the file's metadata before a row is read, and
by each batch before its texts are repeated. False metadata meet the memory limit of the process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backend.datasets.readers.files import MAX_RATIO
from backend.errors import DataError

COLUMNAR = (".parquet", ".feather", ".arrow")
_BATCH_ROWS = 4096
# Files that unpack to less are read whatever their ratio.
_RATIO_MATTERS = 256 << 20
# A row group of Parquet is read as a whole.
_MAX_GROUP_BYTES = 2 << 30
_MAX_CHUNKS = 1_000_000
_PHYSICAL_BYTES = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}


@dataclass
class _Allowance:
    """Counts unpacked bytes against the size of a file."""

    file_bytes: int
    unpacked: int = 0

    def add(self, size: int) -> None:
        """Adds bytes. Raises DataError for a bomb."""
        self.unpacked += size
        if self.unpacked > max(_RATIO_MATTERS, MAX_RATIO * self.file_bytes):
            raise DataError(
                f"its rows unpack to over {MAX_RATIO} times the file's size; leave out constant columns, or "
                "write it as CSV."
            )


def column_names(path: Path) -> list[str]:
    """Returns the names of the columns. Raises DataError."""
    _, dataset = _opened(path)
    names: list[str] = dataset.schema.names
    return names


def columnar_batches(path: Path, columns: Sequence[str]) -> Iterator[Any]:
    """Yields record batches of these columns, whose values may be listed. Raises DataError."""
    arrow, dataset = _opened(path)
    absent = [name for name in columns if name not in dataset.schema.names]
    if absent:
        shown = ", ".join(dataset.schema.names[:30])
        raise DataError(f"column '{absent[0]}' is missing; the file has {shown}.")
    size = path.stat().st_size
    unpacked = _Allowance(size)
    try:
        _check_metadata(path, dataset, _Allowance(size))
        batches = dataset.to_batches(
            columns=list(dict.fromkeys(columns)), batch_size=_BATCH_ROWS, batch_readahead=1
        )
        for batch in batches:
            for column in batch.columns:
                unpacked.add(_unpacked_bytes(arrow, column))
            yield batch
    except arrow.ArrowException as error:
        raise DataError(f"it cannot be read ({error}); write it again.") from error


def _opened(path: Path) -> tuple[Any, Any]:
    """Returns pyarrow and the file as its data set. Raises DataError."""
    try:
        import pyarrow
        import pyarrow.dataset
        import pyarrow.parquet
    except ImportError as error:
        raise DataError("Parquet and Arrow files need pyarrow: run `pip install 'minga[data]'`.") from error
    try:
        if path.suffix.lower() != ".parquet":
            return pyarrow, pyarrow.dataset.dataset(path, format="feather")
        schema = pyarrow.parquet.read_schema(path)
        # Texts stay numbers of a dictionary until their length is known.
        texts = [field.name for field in schema if _is_text(pyarrow, field.type)]
        options = pyarrow.dataset.ParquetReadOptions(dictionary_columns=texts)
        kind = pyarrow.dataset.ParquetFileFormat(read_options=options)
        return pyarrow, pyarrow.dataset.dataset(path, format=kind)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"it cannot be read ({error}); write it again.") from error


def _check_metadata(path: Path, dataset: Any, allowance: _Allowance) -> None:
    if path.suffix.lower() == ".parquet":
        _check_row_groups(path, allowance)
    else:
        rows = dataset.count_rows()
        allowance.add(rows * sum(_least_width(field.type) for field in dataset.schema))


def _check_row_groups(path: Path, allowance: _Allowance) -> None:
    import pyarrow.parquet

    metadata = pyarrow.parquet.read_metadata(path)
    if metadata.num_row_groups * metadata.num_columns > _MAX_CHUNKS:
        raise DataError(f"it has {metadata.num_row_groups} row groups; write it with fewer.")
    for number in range(metadata.num_row_groups):
        group, size = metadata.row_group(number), 0
        for index in range(group.num_columns):
            chunk = group.column(index)
            width = _PHYSICAL_BYTES.get(chunk.physical_type, 1)
            size += max(chunk.total_uncompressed_size, width * max(chunk.num_values, group.num_rows))
        allowance.add(size)
        if size > _MAX_GROUP_BYTES:
            raise DataError(
                f"row group {number} unpacks to {size >> 20:,} MiB; write it with fewer rows in a group "
                "(`row_group_size`)."
            )


def _least_width(kind: Any) -> int:
    """Returns the bytes that a value of an Arrow type takes at least."""
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:
        return 1


def _is_text(arrow: Any, kind: Any) -> bool:
    types = arrow.types
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
    )


def _unpacked_bytes(arrow: Any, column: Any) -> int:
    """Returns the bytes of a column once its values are listed. Raises DataError for types not read here."""
    import pyarrow.compute as compute

    types, kind = arrow.types, column.type
    if types.is_dictionary(kind):
        if not _is_text(arrow, kind.value_type):
            return len(column) * max(8, _least_width(kind.value_type))
        # A dictionary may have far more texts than these rows name.
        named = column.indices.value_counts()
        lengths = compute.binary_length(compute.take(column.dictionary, named.field("values")))
        total = compute.sum(compute.multiply(lengths.cast("int64"), named.field("counts"))).as_py()
        return len(column) + (total or 0)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return len(column) + _unpacked_bytes(arrow, column.flatten())
    if types.is_struct(kind):
        return len(column) + sum(_unpacked_bytes(arrow, part) for part in column.flatten())
    if types.is_nested(kind) or types.is_run_end_encoded(kind) or "view" in str(kind):
        raise DataError(f"a column is of the type {str(kind)[:80]}, which is not read; leave it out.")
    return max(len(column), int(column.nbytes))
