"""Launches a draft as a task: moves its folder to the served tasks and hosts it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import structlog

from backend.errors import NotReadyError, NotWantedError, StoreError
from backend.protocols.tasks.task_life import Life, LifeState
from backend.server.accounts.roles import Roles
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.jobs.job_queue import DraftJobQueue
from backend.server.drafts.record import Draft
from backend.server.drafts.review.checklist import TASK, Item
from backend.server.drafts.task_tables import SHARDS, parsed
from backend.server.drafts.toml import to_toml
from backend.server.drafts.transfer.url_data import forget_shards, url_completed
from backend.server.tasks.task import README, TASK_FILE
from backend.stores.error_translation import translated
from backend.stores.task_lives import Ban, Lives

log = structlog.stdlib.get_logger("minga.drafts")

# Entered with the task's name before it is hosted: records its owner and its initial state, and puts back
# what was recorded before if the task is not hosted.
Prepare = Callable[[str], AbstractAsyncContextManager[None]]
Host = Callable[[Path], Awaitable[None]]


async def launch(
    draft: Draft,
    lacking: list[Item],
    drafts: Drafts,
    tasks: Path,
    taken: Callable[[str], bool],
    prepare: Prepare,
    host: Host,
) -> str:
    """Hosts the draft as a task and deletes the draft. Returns the task's name.

    `lacking` is what the launch still needs; `taken` says whether a task of a name exists. Raises
    NotReadyError that lists everything missing, NotWantedError if the name is taken, and what `host` raises;
    all is then as it was before.
    """
    if lacking:
        raise NotReadyError(" ".join(item.text for item in lacking))
    name = parsed(draft.task).name
    place, source = tasks / name, drafts.folder(draft) / TASK
    if taken(name) or place.exists():
        raise NotWantedError(f"There is a task called '{name}' already; give this one another `name`.")
    with translated("The task's folder cannot be written"):
        await asyncio.to_thread(_write, source, draft)
    async with prepare(name):
        with translated("The task's folder cannot be written"):
            await asyncio.to_thread(_move, source, place)
        try:
            await host(place / TASK_FILE)
        except BaseException:
            await asyncio.to_thread(place.rename, source)
            raise
    await drafts.delete(draft)
    if parsed(draft.task).data.url is not None:
        with translated("The task's folder cannot be written"):
            await asyncio.to_thread(forget_shards, place / SHARDS)
    return name


@asynccontextmanager
async def new_task_records(
    draft: Draft, test: bool, roles: Roles, lives: Lives, queue: DraftJobQueue, now: float, name: str
) -> AsyncIterator[None]:
    """Ends the draft's jobs, and records owner and first state of its task, as long as it takes to host it.

    If that fails, the records of the name are put back, and the jobs begin again.
    """
    life, bans = await lives.life(name), await lives.bans(name)
    live_jobs = [kind for kind, job in draft.jobs.items() if job.live]
    access = await roles.forget(name)
    try:
        await queue.cancel_all(draft)
        await roles.begin(name, draft.owner)
        await begin_life(lives, name, test, now)
        yield
    except BaseException:
        try:
            await roles.put_back(name, access)
            await _restore_life(lives, name, life, bans)
        except StoreError as error:
            log.error("a launch failed, and its records remain", task=name, reason=str(error))
        await queue.resume(draft, live_jobs)
        raise


async def _restore_life(lives: Lives, name: str, life: Life | None, bans: list[Ban]) -> None:
    await lives.forget_life(name)
    if life is not None:
        await lives.set_life(name, life)
    for ban in bans:
        await lives.ban(name, ban)


async def begin_life(lives: Lives, name: str, test: bool, now: float) -> None:
    """Sets a new task live, or to a private test, and lifts the bans of an earlier task of its name."""
    state = LifeState.TEST if test else LifeState.LIVE
    for ban in await lives.bans(name):
        await lives.unban(name, ban.client)
    await lives.set_life(name, Life(state, running=state, since=now))


def _write(folder: Path, draft: Draft) -> None:
    cut = draft.jobs.get("cut")
    # The owner may have edited the tables since: clients must check the very file that was cut.
    task = url_completed(draft.task, draft.files.get("data"), cut.result or {}) if cut else draft.task
    (folder / TASK_FILE).write_text(to_toml(task), "utf-8")
    (folder / README).write_text(draft.readme, "utf-8")


def _move(source: Path, place: Path) -> None:
    """Moves the folder in one step, so that a killed server leaves either the task or the draft."""
    place.parent.mkdir(parents=True, exist_ok=True)
    source.rename(place)
