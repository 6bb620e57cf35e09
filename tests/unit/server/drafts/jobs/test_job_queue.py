"""Work on drafts: in turn, told, cancelled, and begun anew after a restart."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from backend.errors import NotFoundError, NotWantedError, TaskFileError
from backend.server.drafts.input_loading import set_loading
from backend.server.drafts.record import StoredFile
from tests.support.tasks.draft_jobs import TABLE, ended, opened, with_data


async def test_what_is_found_becomes_a_proposal(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, queue):
        draft = await with_data(drafts)
        await queue.ask(draft, "look")
        with pytest.raises(NotWantedError, match="already running"):
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
        assert "starts over" in job.log[0].text


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
