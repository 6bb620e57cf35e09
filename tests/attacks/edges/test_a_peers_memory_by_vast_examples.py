"""A task names a small file that unpacks to more examples than a peer's memory holds, which ends the peer."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from backend.datasets.readers.arrays import array_chunks
from backend.datasets.readers.source import NO_HOLDOUT
from backend.errors import DataError
from backend.numerics.preprocess.fitted import Arrays, StoredSpec
from backend.peer.data.local_data import LocalDataset
from backend.peer.data.url_data import FetchedUrlData, fetch_url_data
from backend.peer.session.progress import PlainLines
from tests.support.environment.data_server import Elsewhere, elsewhere

ROWS = 4000


def zeros(rows: int, values: int) -> bytes:
    """Returns an .npz of `rows` examples of `values` numbers each, all of them zero."""
    content = io.BytesIO()
    np.savez_compressed(content, x=np.zeros((rows, values), np.uint8), y=np.zeros(rows, np.int32))
    return content.getvalue()


def fitted(values: int) -> Arrays:
    return Arrays(inputs=[StoredSpec([values], "uint8")], labels=[StoredSpec([], "int32")], x=["x"], y=["y"])


@pytest.fixture(scope="module")
def server() -> Iterator[Elsewhere]:
    with elsewhere({"/d.npz": zeros(ROWS, 64)}) as server:
        yield server


def fetched(server: Elsewhere, cache: Path, train: int, values: int) -> LocalDataset:
    content = server.files["/d.npz"]
    file = {"address": f"{server.origin}/d.npz", "bytes": len(content), "name": "d.npz"}
    file["sha256"] = hashlib.sha256(content).hexdigest()
    told = {"files": [file], "train": train, "held_out": 0, "holdout": 0.0, "shard_examples": 100}
    url = msgspec.convert(told, FetchedUrlData)
    return fetch_url_data(url, fitted(values), cache, "127.0.0.1", PlainLines(io.StringIO()), lambda: False)


def test_more_examples_than_the_memory_holds_are_not_fetched(server: Elsewhere, tmp_path: Path) -> None:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    server.asked.clear()
    with pytest.raises(DataError, match=r"takes \d+\.\d GiB for its examples, and this machine gives it"):
        fetched(server, tmp_path, 1 << 21, memory // (1 << 21))
    assert server.asked == []


def test_a_file_of_more_examples_than_were_announced_is_not_read(server: Elsewhere, tmp_path: Path) -> None:
    assert len(fetched(server, tmp_path, ROWS, 64).held_out) == ROWS
    with pytest.raises(DataError, match=f"hold 4,000 examples or more; the task says {ROWS - 1:,}"):
        fetched(server, tmp_path, ROWS - 1, 64)


def test_vast_examples_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    path, values = tmp_path / "d.npz", 4 << 20
    np.savez(path, x=np.zeros((40, values), np.uint8), y=np.zeros(40, np.int32))
    lengths = [len(chunk.held_out) for chunk in array_chunks(fitted(values), path, NO_HOLDOUT)]
    assert (sum(lengths), max(lengths)) == (40, 15)
