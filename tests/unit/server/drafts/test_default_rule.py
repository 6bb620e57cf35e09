"""Tasks of the wizard whose rounds begin with enough strangers have a robust rule by default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.plan_proposals import apply_plan, owned_after, owned_with_rule
from backend.server.drafts.record import Draft
from tests.support.tasks.draft_jobs import ended, opened
from tests.unit.server.drafts.test_plan_proposals import new_draft

ROBUST = {"rule": "trimmed-mean", "attackers": 2, "before": ["distinct", "nnm"]}


async def changed(drafts: Drafts, draft: Draft, **tables: dict[str, Any]) -> dict[str, Any]:
    """Saves what an owner changed, as the service does, and returns [security.robust]."""
    before = draft.task
    draft.task = {**before, **{name: before.get(name, {}) | table for name, table in tables.items()}}
    draft.owned = owned_after(draft.owned, before, draft.task)
    await apply_plan(draft, drafts.folder(draft))
    robust: dict[str, Any] = draft.task.get("security", {}).get("robust")
    return robust


async def test_rounds_that_begin_with_ten_strangers_bear_two_of_them(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, queue):
        draft = await new_draft(drafts, tmp_path)
        await queue.ask(draft, "look")
        await ended(queue, draft)
        assert draft.task.get("security", {}).get("robust") is None
        assert await changed(drafts, draft, coordination={"min_available_clients": 10}) == ROBUST
        assert draft.task["coordination"]["quorum"] == 5
        assert draft.owned == ["coordination.min_available_clients"]
        # It follows the plan as long as the owner chose nothing.
        assert (await changed(drafts, draft, coordination={"min_available_clients": 5}))["attackers"] == 1
        assert await changed(drafts, draft, coordination={"min_available_clients": 4}) is None
        assert draft.task["coordination"].get("quorum", 1) == 1


async def test_what_does_not_go_with_a_rule_takes_the_default_away(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    others: list[dict[str, dict[str, Any]]] = [
        {"access": {"newcomers": "invited"}},
        {"access": {"newcomers": "work"}},
        {"access": {"visibility": "invited"}},
        {"training": {"control_variates": True}},
        {"coordination": {"quorum": 2}},
        {"security": {"aggregation": ["masked"], "masking": {"min_clients": 3}}},
        {"privacy": {"mechanism": "central", "clip": 1.0, "noise_multiplier": 1.0}},
    ]
    async with opened(tmp_path) as (drafts, queue):
        draft = await new_draft(drafts, tmp_path)
        await queue.ask(draft, "look")
        await ended(queue, draft)
        assert await changed(drafts, draft, coordination={"min_available_clients": 10}) == ROBUST
        task, owned = draft.task, draft.owned
        for tables in others:
            with subtests.test(str(tables)):
                draft.task, draft.owned = task, owned
                assert await changed(drafts, draft, **tables) is None


async def test_an_owner_who_takes_the_mean_or_writes_a_file_keeps_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, queue):
        draft = await new_draft(drafts, tmp_path)
        await queue.ask(draft, "look")
        await ended(queue, draft)
        await changed(drafts, draft, coordination={"min_available_clients": 10})
        assert await changed(drafts, draft, security={"robust": None}) is None
        assert "security.robust" in (draft.owned or [])
        assert await changed(drafts, draft, coordination={"min_available_clients": 20}) is None
        median = {"rule": "median", "attackers": 1}
        assert await changed(drafts, draft, security={"robust": median}) == median
    assert owned_with_rule(["training.epochs"]) == ["training.epochs", "security.robust"]
