"""Jobs on drafts: a queue that runs, a draft with data, and the end of a job."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.jobs.job_queue import DraftJobQueue
from backend.server.drafts.limits import DraftLimits
from backend.server.drafts.record import Draft, DraftJob, StoredFile
from backend.server.drafts.task_tables import begin
from tests.support.timeouts import PATIENCE

TABLE = "a,b,class\n" + "".join(f"{n},{n * n},{'xy'[n % 2]}\n" for n in range(20))


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[Drafts, DraftJobQueue]]:
    """Opens the drafts of `folder` with their job queue."""
    drafts = Drafts(folder / "drafts", DraftLimits(min_free_mib=1), lambda: 1.0)
    await drafts.start()
    queue = DraftJobQueue(drafts)
    await queue.start()
    try:
        yield drafts, queue
    finally:
        await queue.stop()


async def with_data(drafts: Drafts, content: str = TABLE) -> Draft:
    """Returns a new draft with a table as its data."""
    draft = await drafts.create("ana", begin("cats", "Cats"), "")
    draft.files["data"] = StoredFile("d.csv", ".csv", len(content), "a" * 64, 1.0)
    drafts.file(draft, "data").write_text(content)
    await drafts.save(draft)
    return draft


async def ended(queue: DraftJobQueue, draft: Draft) -> DraftJob:
    """Waits until the job `look` of a draft has ended."""
    async with asyncio.timeout(PATIENCE):
        job = draft.jobs["look"]
        while job.live:
            job = await queue.watch(draft, "look", len(job.log), PATIENCE)
    return job
