"""Tests tasks whose clients fetch the data from a URL: what their files may say, and the shards they give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from backend.errors import BundleError, DataError
from backend.formats.manifest import Manifest
from backend.formats.task_file import Data, parse_task
from backend.numerics.partition import data_key, parse_part
from backend.server.schemes import scheme_of
from backend.server.tasks.bundle_store import check_bundle
from backend.server.tasks.task_data import load_data, url_data_summary, url_shards
from backend.stores.blobs import FileBlobs
from tests.support.tasks import tiny_task

FILE: dict[str, Any] = {
    "address": "https://data.example.org/sets/digits.npz",
    "sha256": "ab" * 32,
    "bytes": 1000,
}


def tables(files: list[Any] | None = None, **changes: Any) -> dict[str, Any]:
    url = {"files": files or [FILE], "train": 90, "held_out": 10}
    data: dict[str, Any] = {"source": "url", "preprocess": {"kind": "array"}, "url": url}
    for key, value in changes.items():
        (url if key in ("train", "held_out", "shard_examples", "fitted") else data)[key] = value
    return {
        "name": "far",
        "title": "Far",
        "model": {"file": "m.keras", "bundle": "bundle", "batch_size": 4},
        "data": data,
        "coordination": {"scheme": "federated", "rounds": 2},
    }


def data(**changes: Any) -> Data:
    return parse_task(tables(**changes), "task.toml").data


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    return check_bundle(tiny_task.write_task(tmp_path / "tiny") / "bundle", frozenset(tiny_task.OPS))


def test_parts_are_dealt_out_by_names_that_clients_can_make(manifest: Manifest) -> None:
    url = data(shard_examples=20).url
    assert url is not None
    shards = url_shards(url, dealing_of(manifest), clients_measure=True)
    assert [one.examples for one in shards.train] == [18] * 5
    assert [one.examples for one in shards.measured] == [10]
    assert shards.examples == 90
    assert shards.blobs == frozenset()
    key = data_key([FILE["sha256"]])
    assert [parse_part(key, one.sha256) for one in shards.train] == [("train", n) for n in range(5)]
    assert parse_part(key, shards.measured[0].sha256) == ("held-out", 0)


def dealing_of(manifest: Manifest) -> Any:
    from backend.server.tasks.task_data import own_data

    return own_data(data().preprocess, manifest)


def test_without_a_wish_a_shard_is_of_a_size_that_a_small_cohort_can_share() -> None:
    assert [data(train=n).url.most for n in (5, 90, 20_000)] == [1, 6, 1000]  # type: ignore[union-attr]  # Given.


def test_clients_are_told_where_the_files_lie() -> None:
    summary = url_data_summary(data(holdout=0.1))
    assert summary == {
        "files": [{**FILE, "name": "digits.npz"}],
        "train": 90,
        "held_out": 10,
        "holdout": 0.1,
        "shard_examples": 6,
    }
    assert url_data_summary(msgspec.convert({"source": "shards", "shards": "shards"}, Data)) is None


def test_all_measure_on_what_only_they_have_and_none_where_nothing_is_held_out() -> None:
    assert parse_task(tables(), "task.toml").fraction_evaluate == 1.0
    assert parse_task(tables(held_out=0), "task.toml").fraction_evaluate == 0.0


def test_volunteers_are_told_who_sees_their_address() -> None:
    file = parse_task(tables(), "task.toml")
    sentences = scheme_of(file).disclose(file, None).server
    assert any("fetches the examples from data.example.org" in one for one in sentences)
    assert any("public examples from data.example.org" in one for one in sentences)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"files": [FILE | {"address": "http://data.example.org/digits.npz"}]}, "not encrypted"),
        ({"files": [FILE | {"address": "ftp://data.example.org/digits.npz"}]}, "no address of a file"),
        ({"files": [FILE | {"address": "https://me:secret@example.org/d.npz"}]}, "no address of a file"),
        ({"files": [FILE | {"address": "https://example.org;evil/d.npz"}]}, "no address of a file"),
        (
            {"files": [FILE | {"address": "https://a.org/d.npz 'unsafe-inline'"}]},
            "no address of a file",
        ),
        ({"files": [FILE | {"address": "https://example.org/d.npz\n"}]}, "no address of a file"),
        ({"files": [FILE | {"address": "https://example.org:99999/d.npz"}]}, "no address of a file"),
        ({"files": [FILE | {"address": "https://example.org/"}]}, "ends in no file's name"),
        ({"files": [FILE | {"sha256": "ab"}]}, "sha256"),
        ({"files": [FILE | {"bytes": 0}]}, "bytes"),
        ({"files": [FILE | {"bytes": 10**10}]}, "bytes"),
        ({"files": [FILE | {"path": "../../etc/passwd.npz"}]}, "path"),
        ({"files": [FILE, FILE]}, "two of the files have the same name"),
        ({"files": [FILE, FILE | {"path": "other.npz"}]}, "make one file of them"),
        ({"files": [FILE | {"bytes": 400 << 20}, FILE | {"bytes": 400 << 20, "path": "b.npz"}]}, "512 MiB"),
        ({"files": [FILE | {"path": "digits.pkl"}]}, "does not end in .npz"),
        ({"train": 0}, "train"),
        ({"train": 1 << 21, "shard_examples": 1}, "raise shard_examples"),
        ({"url": None}, r"needs the table \[data.url\]"),
        ({"preprocess": None}, "needs `preprocess`"),
        ({"source": "volunteer"}, 'url goes with source = "url"'),
        ({"shards": "shards"}, "go with source"),
    ],
)
def test_what_clients_could_not_fetch_is_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(Exception, match=told):
        parse_task({key: value for key, value in tables(**changes).items() if value is not None}, "task.toml")


async def test_a_fitted_preprocessing_that_is_not_there_is_told(manifest: Manifest, tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path / "blobs")
    with pytest.raises(BundleError, match=r"fitted\.json cannot be read"):
        await load_data(tmp_path, data(fitted="fitted.json"), manifest, blobs)
    (tmp_path / "fitted.json").write_text("{}")
    with pytest.raises(DataError):
        await load_data(tmp_path, data(fitted="fitted.json"), manifest, blobs)
