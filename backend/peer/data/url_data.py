"""Fetches, checks and caches the examples that a task's clients get from URLs."""

from __future__ import annotations

import math
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from backend.datasets.download import DownloadRequest, fetch
from backend.errors import DataError, MingaError
from backend.formats.file_hash import file_sha256
from backend.formats.manifest import Hash
from backend.formats.network_address import is_ip
from backend.formats.task_file.url_data import MOST_BYTES, check_address
from backend.formats.task_file.url_data import Path as FilePath
from backend.numerics.partition import data_key
from backend.numerics.preprocess.fitted import Fitted
from backend.peer.data.blob_cache import CACHE_BYTES
from backend.peer.data.local_data import LocalDataset, PartitionedData, read_shared_data
from backend.peer.data.shared_files import evict
from backend.peer.session.progress import Reporter
from backend.peer.training.graph_memory import memory_limit

_REPORT_SECONDS = 5.0
# Of each value of an example: as it is read, joined with all others, and as the graphs take it.
_VALUE_BYTES = 8


class FetchedUrlFile(Struct, frozen=True):
    """One file of a task's URL data, as described by the server."""

    address: Annotated[str, Meta(max_length=2000)]
    sha256: Hash
    bytes: Annotated[int, Meta(ge=1, le=MOST_BYTES)]
    name: FilePath


class FetchedUrlData(Struct, frozen=True):
    """All files and the number of their examples, as described by the server; all of it is verified."""

    files: Annotated[list[FetchedUrlFile], Meta(min_length=1, max_length=64)]
    train: Annotated[int, Meta(ge=1, le=1 << 21)]
    held_out: Annotated[int, Meta(ge=0, le=1 << 21)]
    holdout: Annotated[float, Meta(ge=0, lt=1)]
    shard_examples: Annotated[int, Meta(ge=1)]


def fetch_url_data(
    url: FetchedUrlData,
    fitted: Fitted,
    cache: Path,
    server: str,
    reporter: Reporter,
    is_canceled: Callable[[], bool],
) -> LocalDataset:
    """Returns the examples, from cached files where possible. `server` is the task server's hostname.

    Raises DataError where the files do not match the task or this machine has too little memory for them, and
    UnreachableError where a retry may help.
    """
    _check_memory(url, fitted)
    folder = cache / "data"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = [_cached_file(file, folder, server, reporter, is_canceled) for file in url.files]
        with _linked_files(url, paths) as path:
            local_data = read_shared_data(path, fitted, url.holdout, url.train + url.held_out, is_canceled)
        evict(folder, CACHE_BYTES)
    except OSError as error:
        raise DataError(f"{folder} cannot be used: {error.strerror}. Choose another --cache-dir.") from error
    train, holdout = int((~local_data.held_out).sum()), int(local_data.held_out.sum())
    if (train, holdout) != (url.train, url.held_out):
        raise DataError(
            f"The files hold {train:,} examples to train on and {holdout:,} held out; the task says "
            f"{url.train:,} and {url.held_out:,}. Tell its owner, who must create it again."
        )
    return replace(
        local_data,
        partition=PartitionedData(data_key([file.sha256 for file in url.files]), url.shard_examples),
    )


def _check_memory(url: FetchedUrlData, fitted: Fitted) -> None:
    values = sum(math.prod(spec.shape) for spec in (*fitted.inputs, *fitted.labels))
    needed, most = (url.train + url.held_out) * values * _VALUE_BYTES, memory_limit()
    if needed > most:
        raise DataError(
            f"The task takes {needed / (1 << 30):.1f} GiB for its examples, and this machine gives it "
            f"{most / (1 << 30):.1f} GiB. Take part with another device."
        )


def _cached_file(
    file: FetchedUrlFile, folder: Path, server: str, reporter: Reporter, is_canceled: Callable[[], bool]
) -> Path:
    problem = check_address(file.address)
    if problem is not None:
        raise DataError(f"The task's data: {problem}. Tell the task's owner.")
    path = folder / file.sha256
    if path.is_file() and path.stat().st_size == file.bytes and file_sha256(path) == file.sha256:
        path.touch()
        return path
    # The task of a stranger must not make this machine send requests into its own network: only to the very
    # machine whose number this person typed. A name does not count, as its owner chooses what it leads to.
    is_typed = urlsplit(file.address).hostname == server and (is_ip(server) or server == "localhost")
    request = DownloadRequest(file.address, file.bytes, file.sha256, private=is_typed)
    reporter.tell("fetching", f"Fetching {file.bytes / 1e6:,.1f} MB of examples from {request.host}.")
    reported = time.monotonic()

    def report(length: int) -> None:
        nonlocal reported
        if time.monotonic() - reported > _REPORT_SECONDS:
            reported = time.monotonic()
            reporter.tell("fetching", f"{100 * length // file.bytes} % of {file.name} fetched.")

    with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as draft:
        draft.close()
        try:
            fetch(request, Path(draft.name), is_canceled, report)
            Path(draft.name).replace(path)
        except MingaError:
            Path(draft.name).unlink(missing_ok=True)
            raise
    return path


@contextmanager
def _linked_files(url: FetchedUrlData, paths: list[Path]) -> Iterator[Path]:
    """Yields the path of the files under their names: a single file, or a folder of several."""
    with tempfile.TemporaryDirectory(prefix="minga-data-") as folder:
        root = Path(folder)
        for file, path in zip(url.files, paths, strict=True):
            link = root / file.name
            link.parent.mkdir(parents=True, exist_ok=True)
            try:
                link.symlink_to(path.resolve())
            except OSError:
                # Some systems allow only administrators to create links.
                shutil.copyfile(path, link)
        yield root / url.files[0].name if len(url.files) == 1 else root
