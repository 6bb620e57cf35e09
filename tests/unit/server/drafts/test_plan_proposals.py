"""A draft's plan is the proposed one, but for what its owner set, though nobody opens its page."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.plan_proposals import apply_plan, owned_after, owned_by_file, with_proposals
from backend.server.drafts.record import Draft, DraftJob
from backend.server.drafts.review.checklist import MADE, fingerprint
from tests.support.tasks.draft_jobs import ended, opened, with_data
from tests.support.tasks.tiny_task import write_task

TWENTY = {"training.epochs": 5, "coordination.rounds": 40}


async def new_draft(drafts: Drafts, folder: Path) -> Draft:
    """A draft of a table and a converted model, whose owner has set nothing."""
    draft = await with_data(drafts)
    draft.owned = []
    made = write_task(folder / "made")
    shutil.copytree(made / "bundle", drafts.folder(draft) / MADE["convert"])
    draft.jobs["convert"] = DraftJob("done", fingerprint(draft, "convert"), 1.0)
    return draft


async def test_a_plan_that_nobody_looked_at_is_the_proposed_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, queue):
        draft = await new_draft(drafts, tmp_path)
        await queue.ask(draft, "look")
        assert (await ended(queue, draft)).state == "done"
        # 18 examples for ten people: a step each a visit, which is worth five; 800 steps in a row take 160.
        assert draft.task["training"]["epochs"] == 5
        assert draft.task["coordination"]["rounds"] == 160
        assert draft.task["coordination"]["deadline"] == 30.0
        assert draft.owned == []


async def test_other_data_get_another_plan_in_which_the_owners_values_stay(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, queue):
        draft = await new_draft(drafts, tmp_path)
        draft.task["coordination"]["rounds"], draft.owned = 33, ["coordination.rounds"]
        await queue.ask(draft, "look")
        await ended(queue, draft)
        draft.jobs["look"].result = {"examples": 40_000}
        assert await apply_plan(draft, drafts.folder(draft))
        assert draft.task["training"]["epochs"] == 1
        assert draft.task["coordination"]["rounds"] == 33
        assert draft.owned == ["coordination.rounds"]


async def test_a_plan_that_came_with_a_task_file_is_left_as_it_is(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, queue):
        draft = await new_draft(drafts, tmp_path)
        draft.owned = None
        await queue.ask(draft, "look")
        await ended(queue, draft)
        assert draft.task["coordination"]["rounds"] == 20


def task(**training: Any) -> dict[str, Any]:
    return {"training": training, "coordination": {"scheme": "federated", "rounds": 20}}


def test_what_the_owner_changes_is_his_until_he_takes_the_proposal() -> None:
    owned = owned_after([], task(epochs=1), task(epochs=3))
    assert owned == ["training.epochs"]
    tables, owned = with_proposals(task(epochs=3), TWENTY, owned)
    assert tables == {"training": {"epochs": 3}, "coordination": {"scheme": "federated", "rounds": 40}}
    back, owned = with_proposals(tables | {"training": {"epochs": 5}}, TWENTY, owned)
    assert (back["training"]["epochs"], owned) == (5, [])


def test_what_a_task_file_means_anyway_is_not_written() -> None:
    usual = {"coordination.quorum": 1, "training.proximal_mu": 0.0}
    assert with_proposals(task(), usual, []) == (task(), [])


def test_steps_that_the_owner_counts_are_not_joined_by_proposed_visits() -> None:
    tables, owned = with_proposals(task(steps=7), TWENTY, ["training.steps"])
    assert (tables["training"], owned) == ({"steps": 7}, ["training.steps"])


def test_another_scheme_takes_the_proposals_but_for_the_owners_training() -> None:
    units = {"training": {"epochs": 3}, "coordination": {"scheme": "volunteer", "units": {"epochs": 20}}}
    owned = ["training.epochs", "coordination.rounds"]
    assert owned_after(owned, task(epochs=3), units) == ["training.epochs"]
    assert owned_after(None, task(epochs=3), units) == []


def test_a_task_file_that_an_owner_writes_first_is_his_plan() -> None:
    assert owned_by_file([], {"name": "cats"}) == []
    owned = owned_by_file([], {"coordination": {"rounds": 20}})
    assert "coordination.deadline" in owned
    assert "training.epochs" not in owned
