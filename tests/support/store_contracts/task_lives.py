"""Tests that every implementation of Lives must pass. Subclasses provide the fixture `lives`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.protocols.tasks.task_life import Life, LifeState
from backend.stores.task_lives import Ban, Lives

PAUSED = Life(LifeState.PAUSED, LifeState.TEST, LifeState.STOPPED, True, "Back on Monday.", 100.5)


class LivesContract:
    """The contract's tests."""

    async def test_nobody_led_a_new_task(self, lives: Lives) -> None:
        assert await lives.life("digits") is None
        assert await lives.bans("digits") == []

    @pytest.mark.parametrize("state", LifeState)
    async def test_a_life_is_remembered_as_it_was_left(self, lives: Lives, state: LifeState) -> None:
        await lives.set_life("digits", PAUSED)
        await lives.set_life("other", Life())
        await lives.set_life("digits", replace(PAUSED, state=state))
        assert await lives.life("digits") == replace(PAUSED, state=state)
        assert await lives.life("other") == Life()

    async def test_bans_are_of_one_task_replaced_and_taken_back(self, lives: Lives) -> None:
        first, second = Ban("a" * 16, "Nonsense.", 2.0), Ban("b" * 16, "", 1.0)
        await lives.ban("digits", first)
        await lives.ban("digits", second)
        await lives.ban("other", first)
        assert await lives.bans("digits") == [second, first]
        await lives.ban("digits", replace(second, since=3.0))
        assert await lives.bans("digits") == [first, replace(second, since=3.0)]
        await lives.unban("digits", first.client)
        await lives.unban("digits", "c" * 16)
        assert await lives.bans("digits") == [replace(second, since=3.0)]
        assert await lives.bans("other") == [first]

    async def test_a_task_is_forgotten_with_its_bans(self, lives: Lives) -> None:
        for task in ("digits", "other"):
            await lives.set_life(task, PAUSED)
            await lives.ban(task, Ban("a" * 16, "", 1.0))
        await lives.forget_life("digits")
        assert (await lives.life("digits"), await lives.bans("digits")) == (None, [])
        assert (await lives.life("other"), len(await lives.bans("other"))) == (PAUSED, 1)
