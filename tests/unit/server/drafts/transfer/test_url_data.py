"""A draft whose data clients will fetch: the server finds out what they check the file by."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.jobs.job_queue import DraftJobQueue
from backend.server.drafts.record import Draft, DraftJob, StoredFile
from backend.server.drafts.review.checklist import MADE, TASK, fingerprint
from backend.server.drafts.task_tables import fixed, parsed
from backend.server.drafts.transfer.url_data import address_state, fixed_url, forget_shards, url_completed
from backend.server.tasks.bundle_store import check_bundle
from backend.server.tasks.task_data import load_data
from backend.stores.blobs import FileBlobs
from tests.support.tasks import tiny_task
from tests.support.tasks.draft_jobs import TABLE, opened, with_data
from tests.support.timeouts import PATIENCE

ADDRESS = "https://data.example.org/d.csv"


async def addressed(drafts: Drafts, folder: Path, content: str = TABLE) -> Draft:
    """With a converted model of two numbers, and the address of the data."""
    draft = await with_data(drafts, content)
    digest = hashlib.sha256(content.encode()).hexdigest()
    draft.files["data"] = StoredFile("d.csv", ".csv", len(content), digest, 1.0)
    task = draft.task | {"data": {"source": "url", "holdout": 0.1, "url": {"files": [{"address": ADDRESS}]}}}
    draft.task = fixed(task)
    shutil.copytree(tiny_task.write_task(folder / "tiny") / "bundle", drafts.folder(draft) / MADE["convert"])
    draft.jobs["convert"] = DraftJob("done", fingerprint(draft, "convert"), 1.0)
    return draft


async def done(queue: DraftJobQueue, draft: Draft, kind: Any) -> DraftJob:
    job = await queue.ask(draft, kind)
    async with asyncio.timeout(PATIENCE):
        while job.live:
            job = await queue.watch(draft, kind, len(job.log), PATIENCE)
    return job


async def test_cutting_says_what_clients_check_the_file_by_and_the_launched_task_is_sound(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as (drafts, queue):
        draft = await addressed(drafts, tmp_path)
        assert address_state(draft)[0]
        for kind in ("look", "cut"):
            job = await done(queue, draft, kind)
            assert job.state == "done", job.log[-1].text
        url = draft.task["data"]["url"]
        stored = draft.files["data"]
        assert (url["train"], url["held_out"]) == (18, 2)
        assert url["files"] == [{"address": ADDRESS, "sha256": stored.sha256, "bytes": stored.bytes}]
        folder = drafts.folder(draft) / TASK
        forget_shards(folder / "shards")
        assert sorted(path.name for path in (folder / "shards").iterdir()) == [
            "preprocess.json",
            "shards.json",
        ]
        manifest = check_bundle(folder / "bundle", frozenset(tiny_task.OPS))
        blobs = FileBlobs(tmp_path / "blobs")
        shards = await load_data(folder, parsed(draft.task).data, manifest, blobs, True)
    assert shards.examples == 18
    assert sum(one.examples for one in shards.measured) == 2


async def test_a_file_that_not_all_of_can_be_read_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, queue):
        draft = await addressed(drafts, tmp_path, f"{TABLE}1,1,z\n")
        # All is declared, so that nothing has to be learnt before the row is met.
        draft.task["data"]["preprocess"] = {
            "kind": "table",
            "columns": [{"kind": "number", "name": "a"}, {"kind": "number", "name": "b"}],
            "labels": [{"kind": "class", "name": "class", "classes": ["x", "y"]}],
        }
        job = await done(queue, draft, "cut")
    assert job.state == "failed"
    assert "Clients fetch this file and must read all of it" in job.log[-1].text


def test_owners_say_the_address_and_the_server_the_rest() -> None:
    said = {"fitted": "../../etc/passwd", "shard_examples": 50, "files": [{"address": ADDRESS}]}
    assert fixed_url(said, "shards") == {
        "train": 1,
        "held_out": 0,
        "shard_examples": 50,
        "fitted": "shards/preprocess.json",
        "files": [{"address": ADDRESS, "sha256": "0" * 64, "bytes": 1}],
    }


@pytest.mark.parametrize(
    ("url", "left"),
    [
        (None, "Give the address where clients fetch the data"),
        ({"files": []}, "Give the address where clients fetch the data"),
        ({"files": [{"address": "http://data.example.org/d.csv"}]}, "not encrypted"),
        ({"files": [{"address": ADDRESS}, {"address": ADDRESS}]}, "make a zip of several"),
        ({"files": [{"address": ADDRESS, "sha256": "b" * 64}]}, "describes a different file"),
    ],
)
def test_what_is_left_is_said(url: Any, left: str) -> None:
    draft = Draft("1", "ana", 1.0, 1.0, {"data": {"source": "url", "url": url}})
    draft.files["data"] = StoredFile("d.csv", ".csv", 10, "a" * 64, 1.0)
    placed, text = address_state(draft)
    assert not placed
    assert left in text


def test_other_sources_are_left_alone() -> None:
    tables = {"data": {"source": "shards"}}
    assert url_completed(tables, StoredFile("d.csv", ".csv", 10, "a" * 64, 1.0), {"train": 3}) == tables
