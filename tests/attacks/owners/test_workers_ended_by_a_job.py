"""A file takes its sandboxed process over, whose words and file names end the workers of all owners' jobs."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from backend.datasets.inspection.model_input import ModelInput
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.jobs.job_queue import MOST_RESTARTS, WORKERS, DraftJobQueue
from backend.server.drafts.limits import DraftLimits
from backend.server.drafts.record import DraftJob, read_draft, write_draft
from backend.server.drafts.task_tables import begin
from backend.server.drafts.toml import to_toml
from backend.server.drafts.transfer.import_zip import ZipImporter
from backend.server.sandbox.data_inspection import inspect_data
from tests.support.attacks.taken_over import taken_over
from tests.support.tasks.draft_jobs import ended, opened, with_data

# Ways to give the server a text that has no UTF-8, or that a terminal obeys.
PROGRAMS = {
    "words": r"""print('{"ok": false, "message": "\\ud800 \\u001b[2J"}', flush=True); os._exit(1)""",
    "the name of a folder": r"os.mkdir(os.fsencode(made) + b'/\xff\x1b[2J')",
    "the name of a file": r"open(os.fsencode(made) + b'/\xff\x1b[2J', 'wb').truncate(64 << 30)",
    "progress": r"print('doing: \x1b[2J', flush=True); os.write(1, b'doing: \xff\n'); time.sleep(0.5)",
    "last words": r"os.write(2, b'\xff\x1b[2J'); os._exit(1)",
}


@pytest.mark.parametrize("kind", PROGRAMS)
async def test_a_job_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    async with opened(tmp_path) as (drafts, queue):
        for number in range(WORKERS):
            draft = await with_data(drafts)
            draft.owner = f"eve-{number}"
            with monkeypatch.context() as taken:
                taken.setattr("sys.executable", taken_over(tmp_path, PROGRAMS[kind]))
                await queue.ask(draft, "look")
                job = await ended(queue, draft)
            assert job.state == "failed"
            texts = [line.text for line in job.log]
            assert "\x1b" not in "".join(texts)
            # Its end is in its record: no restart does it again.
            assert [line.text for line in read_draft(drafts.folder(draft)).jobs["look"].log] == texts
        await honest(drafts, queue)


async def test_a_draft_that_cannot_be_recorded_ends_no_worker(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, queue):
        for number in range(WORKERS):
            draft = await with_data(drafts)
            draft.owner = f"eve-{number}"
            await queue.ask(draft, "look")
            draft.readme = "\ud800"
            job = await ended(queue, draft)
            assert (job.state, "failed unexpectedly" in job.log[-1].text) == ("failed", True)
        await honest(drafts, queue)


async def honest(drafts: Drafts, queue: DraftJobQueue) -> None:
    """Does a job of another owner."""
    draft = await with_data(drafts)
    draft.owner = "bob"
    await queue.ask(draft, "look")
    assert (await ended(queue, draft)).state == "done"


async def test_a_job_that_ends_the_server_is_not_begun_for_ever(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, _):
        draft = await with_data(drafts)
    for _ in range(MOST_RESTARTS + 1):
        # A server that was killed leaves the record of a running job.
        running = drafts.get(draft.id)
        running.jobs["look"] = msgspec.structs.replace(
            running.jobs.get("look", DraftJob("running", "", 1.0)), state="running", ended=None
        )
        write_draft(drafts.folder(draft), running)
        async with opened(tmp_path) as (drafts, queue):
            job = await ended(queue, drafts.get(draft.id))
    assert (job.state, job.restarts) == ("failed", MOST_RESTARTS)
    assert f"ended {MOST_RESTARTS + 1} times during this job" in job.log[-1].text


async def test_a_zip_with_such_a_name_leaves_no_draft_that_cannot_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts = Drafts(tmp_path / "drafts", DraftLimits(min_free_mib=1), lambda: 1.0)
    await drafts.start()
    program = f"""(made / 'task.toml').write_text({to_toml(begin("cats", "Cats"))!r})
open(os.fsencode(made) + b'/data.\\xff.csv', 'wb').write(b'a,b')"""
    monkeypatch.setattr("sys.executable", taken_over(tmp_path, program))

    async def content() -> AsyncIterator[bytes]:
        yield b"PK"

    draft = await ZipImporter(drafts).import_zip("eve", 2, content())
    assert read_draft(drafts.folder(draft)).files["data"].name == "data..csv"


def test_words_of_a_process_reach_no_terminal_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "d.csv").write_text("a,b\n1,2\n")
    program = r"""
for number in range(1000): os.write(2, b'sandbox: \x1b[2J %d\n' % number)
(made / 'findings.json').write_text('{"kind": "table", "examples": 1}')"""
    monkeypatch.setattr("sys.executable", taken_over(tmp_path, program))
    # What was logged before is logged again.
    monkeypatch.setattr("backend.server.sandbox.limited_process._lacking", set())
    with caplog.at_level(logging.WARNING):
        inspect_data(tmp_path / "d.csv", "d.csv", ModelInput(), tmp_path / "out")
    assert "\x1b" not in caplog.text
    assert len(caplog.records) < 10
