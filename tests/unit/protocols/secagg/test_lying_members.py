"""Clients of a masked round that lie: the sum is exact all the same, or there is none."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from backend.wire.masked_messages import Shares
from tests.support.protocols.secagg.malicious_server import ask, at_unmask
from tests.support.protocols.secagg.world import World, masking


def test_a_client_that_seals_nonsense_for_all_closes_the_round_and_reveals_nothing() -> None:
    """Nobody can tell before the end; then a secret is missing, and the sum stays masked."""
    world = World(5, masking())
    client = "0000"
    for one in world.holders:
        world.work(one)
        world.arrive(one)
    world.tell(client)
    world.work(client)
    world.lines[client].up[0] = Shares(round=1, sealed=[bytes(80)] * 4)
    world.settle()
    world.end_inputs()
    world.settle()
    world.wait()
    assert world.outcome == "failed"
    assert world.sum is None
    assert world.given(world.holders)[client] == ({client}, set())


def test_inconsistent_shares_of_one_client_for_few_are_passed_over() -> None:
    world = World(7, masking())
    client = "0000"
    for one in world.holders:
        world.work(one)
        world.arrive(one)
    world.tell(client)
    world.work(client)
    sent = world.lines[client].up[0]
    assert isinstance(sent, Shares)
    world.lines[client].up[0] = replace(sent, sealed=[bytes(80), *sent.sealed[1:]])
    world.settle()
    world.end_inputs()
    world.settle()
    assert world.outcome == "done"
    world.check()


def test_a_member_that_lies_about_a_share_ends_no_round_while_others_suffice() -> None:
    world, honest = at_unmask("honest", 7)
    world.lie = None
    for place, client in enumerate(world.holders):
        (said,) = ask(world, client, honest)
        if place in (0, 3):
            said = replace(said, shares=[bytes([place + 1] * 32)] * len(said.shares))
        world.perform(world.masks.reveal_arrived(client, said, world.now))
    assert world.outcome == "done"
    assert np.array_equal(world.sum, world.plain_sum())  # type: ignore[arg-type]  # There is a sum.
