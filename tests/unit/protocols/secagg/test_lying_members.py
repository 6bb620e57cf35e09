"""Clients of a masked round that lie: the sum is exact all the same, or there is none."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from backend.wire.masked_messages import Shares
from tests.support.protocols.secagg.malicious_server import ask, at_unmask
from tests.support.protocols.secagg.world import World, masking


def test_a_client_that_seals_nonsense_for_all_closes_the_round_and_reveals_nothing() -> None:
    """Nobody can tell before the end; then a secret is missing, the sum stays masked, and it is known why."""
    world = World(5, masking())
    client = "0000"
    for one in world.holders:
        world.work(one)
        world.arrive(one)
    world.tell(client)
    world.work(client)
    world.lines[client].up[0] = Shares(round=1, sealed=[bytes(96)] * 4)
    world.settle()
    world.end_inputs()
    world.settle()
    world.wait()
    assert world.outcome == "failed"
    assert world.sum is None
    assert world.given(world.holders)[client] == ({client}, set())
    assert world.false_sharers == {client}


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
    world.lines[client].up[0] = replace(sent, sealed=[bytes(96), *sent.sealed[1:]])
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


def test_those_who_together_reveal_falsely_are_found_and_no_owner() -> None:
    world, honest = at_unmask("honest", 7)
    world.lie = None
    liars = {"0000", "0003", "0005"}
    for client in world.holders:
        (said,) = ask(world, client, honest)
        if client in liars:
            said = replace(said, shares=[bytes(32)] * len(said.shares))
        world.perform(world.masks.reveal_arrived(client, said, world.now))
    assert world.outcome == "failed"
    assert world.sum is None
    assert world.false_sharers == liars


def test_silence_is_nobodys_lie() -> None:
    world, honest = at_unmask("honest", 7)
    world.lie = None
    for client in list(world.holders)[:4]:
        (said,) = ask(world, client, honest)
        world.perform(world.masks.reveal_arrived(client, said, world.now))
    world.wait()
    assert world.outcome == "failed"
    assert world.false_sharers == set()
