"""Examples that a task has its clients fetch from another place: had once, checked, and kept for later."""

from __future__ import annotations

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
from backend.formats.task_file.url_data import MOST_BYTES, check_address
from backend.formats.task_file.url_data import Path as FilePath
from backend.numerics.partition import data_key
from backend.numerics.preprocess.fitted import Fitted
from backend.peer.data.blob_cache import CACHE_BYTES
from backend.peer.data.local_data import OwnData, PartitionedData, read_all
from backend.peer.data.shared_files import evict
from backend.peer.session.progress import Reporter

_TOLD_EVERY = 5.0


class FetchedUrlFile(Struct, frozen=True):
    """One file, as the server says it."""

    address: Annotated[str, Meta(max_length=2000)]
    sha256: Hash
    bytes: Annotated[int, Meta(ge=1, le=MOST_BYTES)]
    name: FilePath


class FetchedUrlData(Struct, frozen=True):
    """All files, and how many examples they hold. Only the server's word: all of it is checked here."""

    files: Annotated[list[FetchedUrlFile], Meta(min_length=1, max_length=64)]
    train: Annotated[int, Meta(ge=1, le=1 << 21)]
    held_out: Annotated[int, Meta(ge=0, le=1 << 21)]
    holdout: Annotated[float, Meta(ge=0, lt=1)]
    shard_examples: Annotated[int, Meta(ge=1)]


def fetch_elsewhere(
    url: FetchedUrlData,
    fitted: Fitted,
    cache: Path,
    server: str,
    reporter: Reporter,
    halted: Callable[[], bool],
) -> OwnData:
    """The examples, from the kept files where they are there. `server` is the host of the task's own server.

    Raises DataError where they are not what the task says, and UnreachableError where another try may help.
    """
    kept = cache / "data"
    try:
        kept.mkdir(parents=True, exist_ok=True)
        paths = [_have(file, kept, server, reporter, halted) for file in url.files]
        with _together(url, paths) as path:
            own = read_all(path, fitted, url.holdout, halted)
        evict(kept, CACHE_BYTES)
    except OSError as error:
        raise DataError(f"{kept} cannot be used: {error.strerror}. Choose another --cache-dir.") from error
    train, held = int((~own.held).sum()), int(own.held.sum())
    if (train, held) != (url.train, url.held_out):
        raise DataError(
            f"The files hold {train:,} examples to train on and {held:,} held out; the task says "
            f"{url.train:,} and {url.held_out:,}. Tell its owner: they have to make it anew."
        )
    return replace(
        own, dealt=PartitionedData(data_key([file.sha256 for file in url.files]), url.shard_examples)
    )


def _have(
    file: FetchedUrlFile, kept: Path, server: str, reporter: Reporter, halted: Callable[[], bool]
) -> Path:
    problem = check_address(file.address)
    if problem is not None:
        raise DataError(f"The task's data: {problem}. Tell the task's owner.")
    path = kept / file.sha256
    if path.is_file() and path.stat().st_size == file.bytes and file_sha256(path) == file.sha256:
        path.touch()
        return path
    # A task of a stranger's must not make this machine look into the network that it is in.
    near = urlsplit(file.address).hostname == server
    wanted = DownloadRequest(file.address, file.bytes, file.sha256, private=near)
    reporter.tell("fetching", f"Fetching {file.bytes / 1e6:,.1f} MB of examples from {wanted.host}.")
    told = time.monotonic()

    def tell(length: int) -> None:
        nonlocal told
        if time.monotonic() - told > _TOLD_EVERY:
            told = time.monotonic()
            reporter.tell("fetching", f"{100 * length // file.bytes} % of {file.name} are here.")

    with tempfile.NamedTemporaryFile(dir=kept, prefix=".", delete=False) as draft:
        draft.close()
        try:
            fetch(wanted, Path(draft.name), halted, tell)
            Path(draft.name).replace(path)
        except MingaError:
            Path(draft.name).unlink(missing_ok=True)
            raise
    return path


@contextmanager
def _together(url: FetchedUrlData, paths: list[Path]) -> Iterator[Path]:
    """The files under their names: one by itself, several in a folder."""
    with tempfile.TemporaryDirectory(prefix="minga-data-") as folder:
        root = Path(folder)
        for file, path in zip(url.files, paths, strict=True):
            place = root / file.name
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                place.symlink_to(path.resolve())
            except OSError:
                # Some systems let only administrators make links.
                shutil.copyfile(path, place)
        yield root / url.files[0].name if len(url.files) == 1 else root
