"""Brings masked rounds of real clients to each stage."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from backend.protocols.secagg.server import MaskedRound
from backend.protocols.secagg.server_stages import ServerStage
from backend.wire.masked_messages import Server
from tests.support.protocols.secagg.world import SECONDS, World, masking

FIVE = ["0000", "0001", "0002", "0003", "0004"]


FIRST, *OTHERS = FIVE


def at_keys(count: int = 5, server: Server = "honest", minima: tuple[int, ...] = (), least: int = 3) -> World:
    return World(count, masking(server, least), minima=minima)


def at_shares(server: Server = "honest", least: int = 3) -> World:
    world = at_keys(server=server, least=least)
    for client in world.holders:
        world.work(client)
        world.arrive(client)
    assert world.masks.stage is ServerStage.SHARE_KEYS
    return world


def at_input(server: Server = "honest", uploaded: int = 5, least: int = 3) -> World:
    world = at_shares(server, least)
    for client in world.holders:
        world.tell(client)
        world.work(client)
        world.arrive(client)
    for client in list(world.holders)[:uploaded]:
        world.tell(client)
        world.work(client)
        world.arrive(client)
    assert world.masks.stage is ServerStage.MASKED_INPUT
    return world


def at_survivors(uploaded: int = 5) -> World:
    world = at_input("active", uploaded)
    world.end_inputs()
    assert world.masks.stage is ServerStage.CONSISTENCY_CHECK
    return world


def at_unmask(server: Server = "honest", uploaded: int = 5) -> World:
    world = at_input(server, uploaded)
    world.end_inputs()
    while world.masks.stage is ServerStage.CONSISTENCY_CHECK:
        client = next(client for client, line in world.lines.items() if line.down)
        world.tell(client)
        world.work(client)
        world.arrive(client)
    assert world.masks.stage is ServerStage.UNMASK
    return world


def done() -> World:
    world = at_unmask()
    world.settle()
    assert world.masks.stage is ServerStage.DONE
    return world


def failed() -> World:
    world = at_keys()
    world.perform(world.masks.time_passed(SECONDS))
    assert world.masks.stage is ServerStage.FAILED
    return world


STAGES: dict[ServerStage, Callable[[], World]] = {
    ServerStage.ADVERTISE_KEYS: at_keys,
    ServerStage.SHARE_KEYS: at_shares,
    ServerStage.MASKED_INPUT: at_input,
    ServerStage.CONSISTENCY_CHECK: at_survivors,
    ServerStage.UNMASK: at_unmask,
    ServerStage.DONE: done,
    ServerStage.FAILED: failed,
}


def state(masks: MaskedRound) -> dict[str, Any]:
    return copy.deepcopy(vars(masks))
