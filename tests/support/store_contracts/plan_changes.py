"""Tests that every implementation of PlanChanges must pass. Subclasses provide the fixture `plans`."""

from __future__ import annotations

from dataclasses import replace

from backend.stores.plan_changes import PlanAmendment, PlanChanges

ROUNDS = PlanAmendment("coordination.rounds", 30, 20, 1.5)
STOP = PlanAmendment("coordination.stop", {"target": {"metric": "accuracy", "value": 0.9}}, None, 2.0)


class PlanChangesContract:
    """The contract's tests."""

    async def test_nobody_changed_the_plan_of_a_new_task(self, plans: PlanChanges) -> None:
        assert await plans.plan_changes("digits") == []

    async def test_the_newest_change_of_each_key_counts(self, plans: PlanChanges) -> None:
        await plans.change_plan("digits", [STOP, ROUNDS])
        await plans.change_plan("other", [ROUNDS])
        later = replace(STOP, value=None, at=3.0)
        await plans.change_plan("digits", [later])
        assert await plans.plan_changes("digits") == [ROUNDS, later]
        assert await plans.plan_changes("other") == [ROUNDS]

    async def test_a_deleted_task_is_forgotten(self, plans: PlanChanges) -> None:
        for task in ("digits", "other"):
            await plans.change_plan(task, [ROUNDS])
        await plans.forget_plan("digits")
        assert await plans.plan_changes("digits") == []
        assert await plans.plan_changes("other") == [ROUNDS]
