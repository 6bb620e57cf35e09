"""An owner whose launch fails would own the name all the same, and what others serve under it later."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest

from backend.errors import MingaError
from backend.protocols.tasks.task_life import Life, LifeState
from backend.server.accounts.accounts import access_to
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.jobs.job_queue import DraftJobQueue
from backend.server.drafts.launch import launch, new_task_records
from backend.server.drafts.limits import DraftLimits
from backend.server.drafts.record import Draft
from backend.server.drafts.review.checklist import Item
from backend.server.drafts.task_tables import begin
from backend.server.hosting.task_registry import TaskRegistry
from backend.stores.access import AccountRecord, Invitation, TokenRecord
from backend.stores.embedded import Stores, open_stores
from backend.stores.task_lives import Ban
from tests.support.tasks.tiny_task import write_task

NOTHING: list[Item] = []
OPS = Path(__file__).parents[3] / "converter" / "ops.json"
ANN, EVE = "a" * 16, "e" * 16
LIFE = Life(LifeState.PAUSED, running=LifeState.LIVE, since=1.0)
BAN = Ban("c" * 16, "Sent nonsense.", 1.0)
INVITATION = Invitation("4" * 64, "cats", "a class", 1.0)
TOKEN = TokenRecord("2" * 64, ANN, "nightly", ["manage"], 1.0, "cats")


async def served_before(stores: Stores) -> None:
    """Ann's task `cats` was served here; its folder is away for a day."""
    for account in (ANN, EVE):
        await stores.access.add_account(AccountRecord(account, account[0], operator=False, created=1.0))
    await stores.access.grant("cats", ANN, "owner")
    await stores.access.add_invitation(INVITATION)
    await stores.access.admit(INVITATION.secret, "d" * 64, 2.0)
    await stores.access.add_token(TOKEN)
    await stores.lives.set_life("cats", LIFE)
    await stores.lives.ban("cats", BAN)


async def recorded(stores: Stores) -> list[object]:
    """Who may do what with `cats`."""
    return [
        await stores.access.members("cats"),
        await stores.access.invitations("cats"),
        await stores.access.admissions("d" * 64, 3.0),
        await stores.access.tokens(ANN),
        await stores.lives.life("cats"),
        await stores.lives.bans("cats"),
    ]


async def broken_draft(drafts: Drafts) -> Draft:
    """Eve's draft of a task `cats` whose bundle no server hosts."""
    await drafts.start()
    draft = await drafts.create(EVE, begin("cats", "Cats"), "About cats.")
    bundle = drafts.folder(draft) / "task" / "bundle"
    bundle.mkdir(parents=True)
    (bundle / "bundle.json").write_text("{}")
    return draft


async def test_a_launch_that_fails_leaves_roles_bans_and_life_as_they_were(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path / "drafts", DraftLimits(min_free_mib=1), lambda: 1.0)
    stores = open_stores(tmp_path)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(stores.close)
        await served_before(stores)
        draft, before = await broken_draft(drafts), await recorded(stores)
        registry = TaskRegistry(stores, OPS)
        await registry.start([write_task(tmp_path / "gallery" / "tiny").parent], [], tmp_path / "tasks")
        stack.push_async_callback(registry.stop)
        queue = DraftJobQueue(drafts)
        await queue.start()
        stack.push_async_callback(queue.stop)
        roles = access_to(stores.access, lambda: 1.0).roles
        prepare = partial(new_task_records, draft, True, roles, stores.lives, queue, 5.0)
        with pytest.raises(MingaError):
            await launch(
                draft,
                NOTHING,
                drafts,
                tmp_path / "tasks",
                set[str]().__contains__,
                prepare,
                registry.open_task,
            )
        assert await recorded(stores) == before
        assert await roles.of(EVE) == {}
        assert not (tmp_path / "tasks" / "cats").exists()
        assert (drafts.folder(draft) / "task" / "bundle" / "bundle.json").is_file()
