"""Work on drafts: in turn, told, cancelled, and begun anew after a restart."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from backend.errors import NotFoundError, NotWantedError, TaskFileError
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.input_loading import set_loading
from backend.server.drafts.jobs.job_queue import DraftJobQueue
from backend.server.drafts.limits import DraftLimits
from backend.server.drafts.record import Draft, DraftJob, StoredFile
from backend.server.drafts.task_tables import begin
from tests.support.timeouts import PATIENCE

TABLE = "a,b,class\n" + "".join(f"{n},{n * n},{'xy'[n % 2]}\n" for n in range(20))


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[Drafts, DraftJobQueue]]:
    drafts = Drafts(folder / "drafts", DraftLimits(min_free_mib=1), lambda: 1.0)
    await drafts.start()
    queue = DraftJobQueue(drafts)
    await queue.start()
    try:
        yield drafts, queue
    finally:
        await queue.stop()


async def with_data(drafts: Drafts, content: str = TABLE) -> Draft:
    draft = await drafts.create("ana", begin("cats", "Cats"), "")
    draft.files["data"] = StoredFile("d.csv", ".csv", len(content), "a" * 64, 1.0)
    drafts.file(draft, "data").write_text(content)
    await drafts.save(draft)
    return draft


async def ended(queue: DraftJobQueue, draft: Draft) -> DraftJob:
    async with asyncio.timeout(PATIENCE):
        job = draft.jobs["look"]
        while job.live:
            job = await queue.watch(draft, "look", len(job.log), PATIENCE)
    return job


async def test_what_is_found_becomes_a_proposal(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, queue):
        draft = await with_data(drafts)
        await queue.ask(draft, "look")
        with pytest.raises(NotWantedError, match="being done already"):
            await queue.ask(draft, "look")
        job = await ended(queue, draft)
    assert [line.text for line in job.log] == ["Looking at d.csv.", "Found 20 examples."]
    assert draft.task["data"]["preprocess"]["kind"] == "table"


async def test_an_owner_has_one_job_at_a_time_and_a_failure_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, queue):
        first, second, third = (
            await with_data(drafts, "a\n"),
            await with_data(drafts),
            await with_data(drafts),
        )
        for draft in (first, second, third):
            await queue.ask(draft, "look")
        assert "Waits for" in third.jobs["look"].log[0].text
        await queue.cancel(third, "look")
        assert third.jobs["look"].state == "cancelled"
        failed = await ended(queue, first)
        assert (failed.state, failed.log[-1].text[:33]) == ("failed", "The table has no row of examples:")
        assert (await ended(queue, second)).state == "done"
        with pytest.raises(NotFoundError):
            await queue.cancel(second, "look")


async def test_a_stopped_server_begins_its_work_anew(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, queue):
        draft = await with_data(drafts)
        # Who reads it waits for somebody who writes: the work is under way when the server stops.
        pipe = drafts.file(draft, "data")
        pipe.unlink()
        os.mkfifo(pipe)
        await queue.ask(draft, "look")
    pipe.unlink()
    pipe.write_text(TABLE)
    async with opened(tmp_path) as (drafts, queue):
        same = drafts.get(draft.id)
        job = await ended(queue, same)
        assert (job.state, job.restarts) == ("done", 1)
        assert "begins anew" in job.log[0].text


async def test_a_deleted_draft_is_let_go_of(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, queue):
        draft = await with_data(drafts)
        await queue.ask(draft, "look")
        await queue.cancel_all(draft)
        await drafts.delete(draft)
        assert list(drafts.root.iterdir()) == []
        other = await with_data(drafts)
        await queue.ask(other, "look")
        assert (await ended(queue, other)).state == "done"


async def test_a_draft_that_goes_on_by_itself_is_looked_at_once_its_data_are_here(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, queue):
        draft = await with_data(drafts)
        await queue.advance(draft)
        assert draft.jobs == {}
        draft.onward = True
        await queue.advance(draft)
        first = await ended(queue, draft)
        assert first.state == "done"
        await queue.advance(draft)
        assert draft.jobs["look"] is first
        # Other data are looked at anew; without a model nothing else can be done.
        stored = draft.files["data"]
        draft.files["data"] = StoredFile(stored.name, stored.suffix, stored.bytes, "b" * 64, 2.0)
        await queue.advance(draft)
        assert draft.jobs["look"] is not first
        assert (await ended(queue, draft)).state == "done"
        assert list(draft.jobs) == ["look"]


async def test_what_failed_is_left_alone_until_something_changes(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, queue):
        draft = await with_data(drafts, "a\n")
        draft.onward = True
        await queue.advance(draft)
        failed = await ended(queue, draft)
        await queue.advance(draft)
        assert (draft.jobs["look"] is failed, failed.state) == (True, "failed")


def test_how_values_are_loaded_is_said_in_the_bundle_after_the_conversion(tmp_path: Path) -> None:
    path = tmp_path / "bundle.json"
    path.write_text('{"name": "tiny", "preprocess": {}, "files": {}}')
    preprocess = {"kind": "image", "size": [8, 8], "channels": 3, "scale": 0.5, "mean": 1.0, "std": 2.0}
    set_loading(tmp_path, {"data": {"preprocess": preprocess}})
    changed = json.loads(path.read_text())
    assert changed == {"name": "tiny", "preprocess": {"scale": 0.25, "offset": -0.5}, "files": {}}
    set_loading(tmp_path, {"data": {}})
    assert json.loads(path.read_text())["preprocess"] == {}
    with pytest.raises(TaskFileError, match="std of 0"):
        set_loading(tmp_path, {"data": {"preprocess": preprocess | {"std": 0.0}}})
