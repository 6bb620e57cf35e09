"""A peer has the examples that a task's clients fetch, and takes the parts of them that are dealt to it."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from backend.errors import DataError, PeerError
from backend.numerics.preprocess.fitted import parse_fitted
from backend.peer.data.local_data import LocalDataset, PartitionedData
from backend.peer.data.url_data import FetchedUrlData, fetch_url_data
from backend.peer.session.progress import PlainLines
from backend.server.tasks.bundle_store import check_bundle
from tests.support.environment.data_server import Elsewhere, elsewhere
from tests.support.tasks import tiny_task

WHOLE = json.loads((Path(__file__).parents[3] / "contract/vectors/dealing.json").read_text("utf-8"))["whole"]
CONTENT = WHOLE["text"].encode()
FITTED = parse_fitted(json.dumps(WHOLE["preprocess"]).encode())


@pytest.fixture
def server() -> Iterator[Elsewhere]:
    with elsewhere({"/table.csv": CONTENT, "/torn.csv": CONTENT + b"forty,1\n"}) as server:
        yield server


def url(server: Elsewhere, path: str = "/table.csv", **changes: Any) -> FetchedUrlData:
    content = server.files[path]
    file = {"address": server.origin + path, "bytes": len(content), "name": path[1:]}
    file["sha256"] = hashlib.sha256(content).hexdigest()
    told = {"files": [file], "train": 30, "held_out": 7, "holdout": WHOLE["holdout"]}
    return msgspec.convert(told | {"shard_examples": WHOLE["most"]} | changes, FetchedUrlData)


def load_url_data(one: FetchedUrlData, cache: Path, server: str = "127.0.0.1") -> LocalDataset:
    return fetch_url_data(one, FITTED, cache, server, PlainLines(io.StringIO()), lambda: False)


def test_the_examples_are_numbered_and_dealt_as_the_golden_file_says(
    server: Elsewhere, tmp_path: Path
) -> None:
    own = load_url_data(url(server), tmp_path)
    # A model that takes one number, as this table has.
    manifest = check_bundle(tiny_task.write_task(tmp_path / "tiny") / "bundle", frozenset(tiny_task.OPS))
    takes = msgspec.structs.replace(manifest.inputs[0], shape=[1])
    ready = own.for_bundle(msgspec.structs.replace(manifest, inputs=[takes]))
    for half, names in WHOLE["names"].items():
        values = [ready.part(name).x[0].ravel().astype(int).tolist() for name in names]
        assert values == WHOLE["values"][half]
    with pytest.raises(PeerError, match="no part of these data"):
        ready.part("f" * 64)


def test_files_are_fetched_once_and_again_only_when_the_kept_ones_are_damaged(
    server: Elsewhere, tmp_path: Path
) -> None:
    assert isinstance(load_url_data(url(server), tmp_path).partition, PartitionedData)
    load_url_data(url(server), tmp_path)
    assert server.asked == ["/table.csv"]
    (kept,) = (tmp_path / "data").iterdir()
    kept.write_bytes(bytes(len(CONTENT)))
    load_url_data(url(server), tmp_path)
    assert server.asked == ["/table.csv"] * 2


@pytest.mark.parametrize(
    ("path", "changes", "told"),
    [
        ("/table.csv", {"train": 31}, "hold 30 examples to train on and 7 held out; the task says 31 and 7"),
        ("/torn.csv", {"train": 31}, "'forty' is no number"),
    ],
)
def test_other_examples_than_the_task_says_are_refused(
    server: Elsewhere, tmp_path: Path, path: str, changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(DataError, match=told):
        load_url_data(url(server, path, **changes), tmp_path)


def test_a_task_from_afar_has_nothing_fetched_from_this_network(server: Elsewhere, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="an address of a local network"):
        load_url_data(url(server), tmp_path, server="minga.example.org")
    assert server.asked == []
    assert list((tmp_path / "data").iterdir()) == []
