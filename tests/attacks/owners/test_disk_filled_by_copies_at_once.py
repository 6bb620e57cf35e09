"""An owner asks for many copies at the same time, none of which counts for the others, and fills the disk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest

from backend.errors import MingaError, NotFoundError, NotWantedError, OverQuotaError
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.limits import DraftLimits
from backend.server.drafts.record import Draft, StoredFile
from backend.server.drafts.task_tables import begin
from backend.server.drafts.transfer.copies import copy_draft, copy_task
from backend.server.drafts.transfer.from_task import take_model
from backend.server.drafts.transfer.uploads import DraftUploads
from tests.support.environment.small_disk import small_disk
from tests.support.tasks.tiny_task import write_task

MIB = 1 << 20
QUOTA = 20 * MIB
SIZE = 4 * MIB


async def opened(folder: Path, quota_mib: int = QUOTA // MIB, free_mib: int = 1) -> Drafts:
    drafts = Drafts(
        folder / "drafts", DraftLimits(min_free_mib=free_mib, max_owner_mib=quota_mib), lambda: 1.0
    )
    await drafts.start()
    return drafts


async def with_data(drafts: Drafts) -> Draft:
    draft = await drafts.create("eve", begin("cats", "Cats"), "")
    draft.files["data"] = StoredFile("d.csv", ".csv", SIZE, "a" * 64, 1.0)
    drafts.file(draft, "data").write_bytes(os.urandom(SIZE))
    await drafts.save(draft)
    return draft


def with_model(folder: Path) -> Path:
    """Writes a task with a large model."""
    task = write_task(folder / "tasks" / "tiny")
    (task / "bundle" / "model.keras").write_bytes(os.urandom(SIZE))
    return task


async def refused(asked: list[Awaitable[object]]) -> int:
    """Awaits all at once; returns how many found no room. Raises whatever else went wrong."""
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, OverQuotaError):
            raise outcome
    return sum(isinstance(outcome, OverQuotaError) for outcome in outcomes)


def taken(place: Path) -> int:
    """Returns the bytes of all files below `place`."""
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())


async def test_copies_of_a_draft_count_for_one_another(tmp_path: Path) -> None:
    drafts = await opened(tmp_path)
    draft = await with_data(drafts)
    asked: list[Awaitable[object]] = [copy_draft(drafts, draft, "eve", f"copy-{n}") for n in range(15)]
    assert await refused(asked) == 12
    assert taken(drafts.root) <= drafts.used_bytes("eve") <= QUOTA
    # Nothing is left of the others, and what was reserved for them is free again.
    assert len(drafts.of("eve")) == 4
    await drafts.delete(drafts.of("eve")[0])
    assert await refused([copy_draft(drafts, drafts.of("eve")[0], "eve", "next")]) == 0


async def test_copies_of_a_task_count_for_one_another(tmp_path: Path) -> None:
    drafts, task = await opened(tmp_path), with_model(tmp_path)
    asked: list[Awaitable[object]] = [copy_task(drafts, task, "eve", f"copy-{n}") for n in range(9)]
    assert await refused(asked) == 7
    assert taken(drafts.root) <= drafts.used_bytes("eve") <= QUOTA


async def test_models_that_are_taken_over_count_for_one_another(tmp_path: Path) -> None:
    drafts, task = await opened(tmp_path), with_model(tmp_path)
    empty = [await drafts.create("eve", begin("cats", "Cats"), "") for _ in range(9)]
    assert await refused([take_model(drafts, draft, task) for draft in empty]) == 4
    # The records of drafts count once a job measures them.
    assert taken(drafts.root) < QUOTA + MIB // 10


async def test_copies_of_many_owners_leave_the_disk_its_free_space(tmp_path: Path) -> None:
    with small_disk(tmp_path / "data", "64m") as disk:
        drafts = await opened(disk, quota_mib=1000, free_mib=40)
        draft = await with_data(drafts)
        asked: list[Awaitable[object]] = [copy_draft(drafts, draft, f"eve-{n}", "copy") for n in range(20)]
        assert await refused(asked) > 12
        state = os.statvfs(disk)
        assert state.f_bavail * state.f_frsize >= 40 * MIB


async def test_a_draft_that_grows_while_it_is_copied_is_not_copied(tmp_path: Path) -> None:
    drafts = await opened(tmp_path)
    draft = await with_data(drafts)
    copying = asyncio.create_task(copy_draft(drafts, draft, "eve", "copy"))
    await asyncio.sleep(0)
    draft.files["model"] = StoredFile("m.keras", ".keras", SIZE, "b" * 64, 1.0)
    with pytest.raises(NotWantedError, match="changed while it was copied"):
        await copying
    assert drafts.of("eve") == [draft]


async def test_a_copy_that_is_deleted_while_it_is_made_leaves_nothing(tmp_path: Path) -> None:
    drafts = await opened(tmp_path)
    draft = await with_data(drafts)
    for number in range(300):
        (drafts.folder(draft) / f"made-{number}").mkdir()
        (drafts.folder(draft) / f"made-{number}" / "part").write_bytes(os.urandom(1000))
    copying = asyncio.create_task(copy_draft(drafts, draft, "eve", "copy"))
    while len(drafts.of("eve")) < 2 or len(list(drafts.root.glob("*/made-*"))) < 310:  # noqa: ASYNC110 - a thread
        await asyncio.sleep(0)
    (copy,) = (one for one in drafts.of("eve") if one is not draft)
    await drafts.delete(copy)
    with pytest.raises(MingaError):
        await copying
    assert list(drafts.root.iterdir()) == [drafts.folder(draft)]


@pytest.mark.parametrize("rest", [(b"b",), ()])
async def test_pieces_of_a_file_are_refused_once_its_draft_is_deleted(
    tmp_path: Path, rest: tuple[bytes, ...]
) -> None:
    drafts = await opened(tmp_path)
    uploads, draft = DraftUploads(drafts), await drafts.create("eve", begin("cats", "Cats"), "")
    await uploads.begin(draft, "data", "d.csv", 3, None)

    async def pieces() -> AsyncIterator[bytes]:
        yield b"a"
        await drafts.delete(draft)
        for part in rest:
            yield part

    with pytest.raises(NotFoundError, match="deleted in the meantime"):
        await uploads.append(draft, "data", 0, pieces())
