"""Reads the examples and updates that `minga task integrity` measures a model file with."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.commands.tasks.task_path import gallery_or_path
from backend.errors import DataError, TaskFileError
from backend.formats.manifest import parse_manifest
from backend.formats.shard_index import read_index
from backend.formats.task_file import read_task_file
from backend.server.sandbox.graph_arrays import read_examples
from backend.server.tasks.task import TASK_FILE

MOST_EXAMPLES = 2000
_MANIFEST = "bundle.json"


def examples_at(path: Path) -> dict[str, NDArray[Any]]:
    """Returns `x_0`, ... and `y_0` of an .npz with `x` and `y`, or of a built task's held-out shards.

    A task without held-out shards gives the first training shards. Raises DataError, TaskFileError or
    BundleError.
    """
    found = gallery_or_path(path)
    if found.is_dir():
        return _task_examples(found)
    arrays = _arrays(found)
    named = {f"{name}_0" if name in ("x", "y") else name: values for name, values in arrays.items()}
    if not {"x_0", "y_0"} <= named.keys():
        raise DataError(f"{found} holds no arrays `x` and `y`: the model's inputs and the classes, in rows.")
    counts = {len(values) if values.ndim else 0 for values in named.values()}
    if len(counts) > 1:
        raise DataError(f"The arrays of {found} differ in length; give one row for each example.")
    return {name: values[:MOST_EXAMPLES] for name, values in named.items()}


def updates_at(path: Path) -> NDArray[np.float32]:
    """Returns the updates [n, parameters] of an .npz with the array `updates`. Raises DataError."""
    updates = _arrays(path).get("updates")
    if updates is None or updates.ndim != 2 or updates.dtype.kind not in "fiu":
        raise DataError(f"{path} holds no array `updates` of numbers with a row for each update.")
    return updates.astype(np.float32)


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not hasattr(archive, "files"):
                raise DataError(f"{path} is a single array; save several by name with numpy.savez.")
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError as error:
        raise DataError(f"There is no file {path}; check the path.") from error
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is no .npz of plain arrays ({error}); save it with numpy.savez.") from error


def _task_examples(folder: Path) -> dict[str, NDArray[Any]]:
    task = read_task_file(folder / TASK_FILE)
    if task.data.shards is None:
        raise TaskFileError(f"The task in {folder} has no shards; give its examples as an .npz instead.")
    shards = folder / task.data.shards
    index = read_index(shards)
    try:
        manifest = parse_manifest((folder / task.model.bundle / _MANIFEST).read_bytes())
        files = (shards / shard.file for shard in index.holdout or index.train)
        return read_examples(manifest, files, MOST_EXAMPLES)
    except OSError as error:
        raise TaskFileError(f"The task in {folder} is not built ({error}); run `minga build`.") from error
