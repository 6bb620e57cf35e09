"""A launch gives a task to its owner alone, or leaves everything as it was."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from backend.errors import NotReadyError, NotWantedError, TaskFileError
from backend.protocols.tasks.task_life import Life, LifeState
from backend.server.accounts.accounts import access_to
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.jobs.job_queue import DraftJobQueue
from backend.server.drafts.launch import begin_life, launch, new_task_records
from backend.server.drafts.limits import DraftLimits
from backend.server.drafts.record import Draft, StoredFile
from backend.server.drafts.review.checklist import Item
from backend.server.drafts.task_tables import begin
from backend.stores.access import AccountRecord
from backend.stores.embedded import open_stores
from backend.stores.task_lives import Ban

NOTHING: list[Item] = []


async def ready(folder: Path) -> tuple[Drafts, Draft]:
    drafts = Drafts(folder / "drafts", DraftLimits(min_free_mib=1), lambda: 1.0)
    await drafts.start()
    draft = await drafts.create("ana", begin("cats", "Cats"), "About cats.")
    made = drafts.folder(draft) / "task" / "bundle"
    made.mkdir(parents=True)
    (made / "bundle.json").write_text("{}")
    return drafts, draft


async def hosted(_path: Path) -> None:
    """Takes everything."""


@asynccontextmanager
async def prepared(_name: str) -> AsyncIterator[None]:
    """Has nothing to do."""
    yield


async def test_a_launch_moves_everything_and_forgets_the_draft(tmp_path: Path) -> None:
    drafts, draft = await ready(tmp_path)
    tasks = tmp_path / "tasks"
    assert await launch(draft, NOTHING, drafts, tasks, set[str]().__contains__, prepared, hosted) == "cats"
    assert sorted(path.name for path in (tasks / "cats").iterdir()) == ["README.md", "bundle", "task.toml"]
    assert drafts.all() == []
    assert list(drafts.root.iterdir()) == []


async def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    drafts, draft = await ready(tmp_path)
    with pytest.raises(NotWantedError, match="called 'cats' already"):
        await launch(draft, NOTHING, drafts, tmp_path / "tasks", {"cats"}.__contains__, prepared, hosted)
    (tmp_path / "tasks" / "cats").mkdir(parents=True)
    with pytest.raises(NotWantedError, match="called 'cats' already"):
        await launch(draft, NOTHING, drafts, tmp_path / "tasks", set[str]().__contains__, prepared, hosted)
    assert drafts.get(draft.id) is draft


async def test_what_is_left_to_do_is_said(tmp_path: Path) -> None:
    drafts, draft = await ready(tmp_path)
    left = [Item("convert", "todo", "Convert the model."), Item("cut", "failed", "Too few.")]
    with pytest.raises(NotReadyError, match=r"^Convert the model\. Too few\.$"):
        await launch(draft, left, drafts, tmp_path / "tasks", set[str]().__contains__, prepared, hosted)


async def test_a_task_that_cannot_be_hosted_is_a_draft_again(tmp_path: Path) -> None:
    drafts, draft = await ready(tmp_path)

    async def refuse(_path: Path) -> None:
        raise TaskFileError("It does not fit.")

    with pytest.raises(TaskFileError):
        await launch(draft, NOTHING, drafts, tmp_path / "tasks", set[str]().__contains__, prepared, refuse)
    assert not (tmp_path / "tasks" / "cats").exists()
    assert (drafts.folder(draft) / "task" / "bundle" / "bundle.json").is_file()
    await launch(draft, NOTHING, drafts, tmp_path / "tasks", set[str]().__contains__, prepared, hosted)


async def test_roles_on_an_earlier_task_of_that_name_are_void(tmp_path: Path) -> None:
    stores = open_stores(tmp_path)
    roles = access_to(stores.access, lambda: 1.0).roles
    for account in ("a" * 16, "b" * 16):
        await stores.access.add_account(AccountRecord(account, account[0], operator=False, created=1.0))
    await roles.begin("cats", "a" * 16)
    await roles.begin("cats", "b" * 16)
    assert [(one.account, one.role) for one in await roles.members("cats")] == [("b" * 16, "owner")]
    await stores.close()


async def test_a_new_task_does_not_begin_where_an_earlier_one_of_its_name_ended(tmp_path: Path) -> None:
    stores = open_stores(tmp_path)
    await stores.lives.set_life("cats", Life(LifeState.ARCHIVED))
    await stores.lives.ban("cats", Ban("c" * 16, "Sent nonsense.", 1.0))
    await begin_life(stores.lives, "cats", test=True, now=2.0)
    life = await stores.lives.life("cats")
    assert life == Life(LifeState.TEST, running=LifeState.TEST, since=2.0)
    assert await stores.lives.bans("cats") == []
    await stores.close()


async def test_jobs_that_a_failed_launch_ended_begin_again(tmp_path: Path) -> None:
    drafts, draft = await ready(tmp_path)
    stores, queue = open_stores(tmp_path), DraftJobQueue(drafts)
    roles = access_to(stores.access, lambda: 1.0).roles
    await stores.access.add_account(AccountRecord("ana", "ana", operator=False, created=1.0))
    draft.files["data"] = StoredFile("cats.zip", ".zip", 1, "0" * 64, 1.0)
    await queue.ask(draft, "look")

    async def refuse(_path: Path) -> None:
        assert draft.jobs["look"].state == "cancelled"
        raise TaskFileError("It does not fit.")

    prepare = partial(new_task_records, draft, False, roles, stores.lives, queue, 2.0)
    with pytest.raises(TaskFileError):
        await launch(draft, NOTHING, drafts, tmp_path / "tasks", set[str]().__contains__, prepare, refuse)
    assert draft.jobs["look"].state == "waiting"
    assert await roles.members("cats") == []
    assert await stores.lives.life("cats") is None
    await stores.close()
