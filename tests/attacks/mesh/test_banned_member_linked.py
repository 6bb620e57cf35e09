"""A banned member stays linked, or comes back under its key, to take others' bytes and time."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.wire.mesh_fields import Way
from tests.support.peer.linked_peers import Carrier, Member, company, introduce, until


def linked_with(member: Member, other: Member) -> bool:
    return other.own.client in member.links.linked()


@pytest.mark.parametrize("way", ["websocket", "relay"])
async def test_the_link_of_a_banned_key_ends_and_none_is_made_again(tmp_path: Path, way: Way) -> None:
    carrier = Carrier()
    async with company(tmp_path, [(way,)] * 3, [way == "websocket"] * 3, carrier) as (honest, liar, third):
        await until(lambda: all(len(one.links.linked()) == 2 for one in (honest, liar, third)))
        honest.links.ban([liar.neighbour.identity])
        assert not linked_with(honest, liar)
        assert ("down", liar.own.client, "it is banned") in honest.log
        await until(lambda: not linked_with(liar, honest))
        # It tries this way again a few times, and each time the honest member refuses.
        tries = len(carrier.notes)
        introduce(honest, [honest, liar, third])
        introduce(liar, [honest, liar, third])
        if way == "relay":
            await until(lambda: len(carrier.notes) > tries)
        third.links.ban([liar.neighbour.identity])
        await until(lambda: not liar.links.linked())
        assert linked_with(honest, third)
        assert [one for one in honest.log if one[:2] == ("up", liar.own.client)] == [
            ("up", liar.own.client, way)
        ]


async def test_a_key_that_is_banned_before_it_comes_gets_no_link(tmp_path: Path) -> None:
    async with company(tmp_path, [("websocket",)] * 3, [True] * 3) as (honest, liar, third):
        honest.links.ban([liar.neighbour.identity])
        await until(lambda: linked_with(honest, third) and linked_with(third, liar))
        assert honest.links.linked() == [third.own.client]
