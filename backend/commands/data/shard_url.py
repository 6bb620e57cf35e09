"""`minga shard --url`: computes the table [data.url] for data that clients fetch from another host."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from backend.datasets.download import DownloadRequest, fetch
from backend.datasets.model_fit import check_fits
from backend.datasets.readers.dataset import chunks, fit
from backend.datasets.readers.source import HoldoutSplit, stop
from backend.errors import DataError, MingaError, TaskFileError
from backend.formats.file_hash import file_sha256
from backend.formats.manifest import Manifest
from backend.formats.shard_index import PREPROCESS
from backend.formats.task_file.url_data import MOST_BYTES
from backend.numerics.philox import MAX_EXAMPLES, permutation
from backend.numerics.preprocess.declared import Preprocess
from backend.numerics.preprocess.fitted import Fitted, encode_fitted


def register_url(parser: argparse.ArgumentParser) -> None:
    """Adds the flag `--url`."""
    parser.add_argument(
        "--url",
        metavar="ADDRESS",
        help="do not cut: clients fetch DATA from there. Write the fitted preprocessing beside the task "
        "file, and print the table [data.url]",
    )


def unfinished(address: str | None) -> list[str]:
    """Returns overrides with a placeholder [data.url], so that a task file without the table can be read."""
    if address is None:
        return []
    file = f"{{ address = {json.dumps(address)}, sha256 = {json.dumps('0' * 64)}, bytes = 1 }}"
    return [f"data.url={{ files = [{file}], train = 1 }}"]


def describe(
    args: argparse.Namespace, declared: Preprocess, holdout: float, manifest: Manifest | None
) -> int:
    """Counts the examples as clients will, and prints the table. Raises DataError."""
    path, address = args.data, args.url
    if args.task is None:
        raise TaskFileError("Name the task file: --task FILE; preprocess.json is written beside it.")
    if not path.is_file():
        raise DataError(f"{path} is not a file: give the file stored at {address}; zip a folder first.")
    fitted, train, held_out = counted(path, declared, holdout)
    if manifest is not None:
        check_fits(fitted, manifest)
    place = args.task.parent / PREPROCESS
    try:
        place.write_bytes(encode_fitted(fitted))
    except OSError as error:
        raise DataError(f"{place} cannot be written: {error.strerror}.") from error
    size, digest = path.stat().st_size, file_sha256(path)
    if size > MOST_BYTES:
        raise DataError(
            f"{path} has over {MOST_BYTES >> 20} MiB, more than a browser reads; take a part of it."
        )
    problem = _download_problem(DownloadRequest(address, size, digest, private=True))
    table = {"train": train, "held_out": held_out, "fitted": PREPROCESS}
    file = {"address": address, "sha256": digest, "bytes": size}
    if args.json:
        print(json.dumps({**table, "files": [file], "trouble": problem}, ensure_ascii=False))
        return 0
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    inside = ", ".join(f"{key} = {json.dumps(value)}" for key, value in file.items())
    print("\n".join(["[data.url]", *lines, f"files = [{{ {inside} }}]"]))
    message = problem or f"The file at {address} is identical, byte for byte."
    Console(stderr=True, highlight=False, soft_wrap=True).print(message, markup=False)
    return 0


def counted(path: Path, declared: Preprocess, holdout: float) -> tuple[Fitted, int, int]:
    """Returns the fitted preprocessing, and the numbers of training and held-out examples in clients' split.

    Raises DataError, also for a broken file or row: clients that skip different rows would number the
    examples differently.
    """

    def order(n: int) -> NDArray[np.int64]:
        if n > MAX_EXAMPLES:
            raise DataError(f"{path} gives {n:,} examples; clients can share out at most {MAX_EXAMPLES:,}.")
        return permutation(0, 0, n)

    split = HoldoutSplit(holdout, order)
    fitted = fit(declared, path, split)
    train = held_out = 0
    for chunk in chunks(fitted, path, split, stop):
        held_out += int(chunk.held_out.sum())
        train += int((~chunk.held_out).sum())
    return fitted, train, held_out


def _download_problem(request: DownloadRequest) -> str | None:
    """Returns why clients cannot download the file yet; None if they can."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            fetch(request, Path(folder) / "file", lambda: False)
        except MingaError as error:
            return f"Not there yet: {error}"
    return None
