"""Plays a masked round whose clients leave in chosen numbers, phase by phase.

Of N clients, `before_keys` never send keys, `after_keys` send no shares, `after_shares` send no update, and
`after_input` and `unmasking` reveal nothing, the latter although they were asked to.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from backend.protocols.secagg.server_stages import ServerStage
from tests.support.protocols.secagg.world import World

LEAST = 3


@dataclass(frozen=True)
class Losses:
    """The number of clients that leave in each phase."""

    before_keys: int = 0
    after_keys: int = 0
    after_shares: int = 0
    after_input: int = 0
    unmasking: int = 0


PHASES = [field.name for field in fields(Losses)]


def predicted(count: int, lost: Losses) -> int | None:
    """Returns the number of updates in the sum; None where the round must fail closed.

    The roster fixes the threshold, and each later phase needs as many clients.
    """
    members = count - lost.before_keys
    needed = max(LEAST, 2 * members // 3 + 1)
    dealt = members - lost.after_keys
    updates = dealt - lost.after_shares
    revealed = updates - lost.after_input - lost.unmasking
    return updates if members >= LEAST and revealed >= needed else None


def play(world: World, lost: Losses) -> None:
    """Plays a round in which clients leave as planned; the last ones leave first."""
    leaving = list(world.holders)

    def leave(number: int) -> None:
        for _ in range(number):
            world.hang_up(leaving.pop())

    leave(lost.before_keys)
    for client in leaving:
        world.work(client)
        world.arrive(client)
    leave(lost.after_keys)
    pass_time(world, ServerStage.ADVERTISE_KEYS)
    hear_and_speak(world, leaving)
    leave(lost.after_shares)
    pass_time(world, ServerStage.SHARE_KEYS)
    hear_and_speak(world, leaving)
    world.end_inputs()
    leave(lost.after_input)
    if world.masks.stage is ServerStage.CONSISTENCY_CHECK:
        hear_and_speak(world, leaving)
        pass_time(world, ServerStage.CONSISTENCY_CHECK)
    for client in leaving[len(leaving) - lost.unmasking :]:
        while world.lines[client].down:
            world.tell(client)
    leave(lost.unmasking)
    world.settle()
    world.wait()


def pass_time(world: World, stage: ServerStage) -> None:
    """Lets time pass where the server still waits for clients that left."""
    timer = world.masks.timer()
    if world.masks.stage is stage and timer is not None:
        world.now = timer
        world.perform(world.masks.time_passed(world.now))


def hear_and_speak(world: World, clients: list[str]) -> None:
    """Delivers all messages to each client, then its answers to the server."""
    for client in clients:
        while world.lines[client].down:
            world.tell(client)
        world.work(client)
    for client in clients:
        while world.lines[client].up:
            world.arrive(client)
