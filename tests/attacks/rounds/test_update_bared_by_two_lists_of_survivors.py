"""A server that names one list of survivors to some members and another list to others reads one update.

A member's neighbours reveal shares of its seed where it is alive, and of its mask key where it is not. A
server that gets enough of both removes all masks of that member. In large rounds each has few neighbours.
"""

from __future__ import annotations

import pytest

from backend.wire.masked_messages import Survivors, Unmask
from tests.support.protocols.secagg.malicious_server import Lying, ask

MEMBERS, VICTIM = 100, 0


@pytest.mark.parametrize("divided", ["few", "half"])
def test_members_of_a_large_round_reveal_for_one_list_of_survivors(divided: str) -> None:
    world = Lying(MEMBERS, "honest")
    world.settle()
    graph, clients = world.masks.graph, list(world.holders)
    threshold, neighbours = graph.degree.threshold, graph.neighbours[VICTIM]
    everyone = list(range(MEMBERS))
    # The fewest members who hold enough shares of the victim's mask key, or half of all.
    told_dead = set(neighbours[: threshold + 1])
    if divided == "half":
        others = [place for place in everyone if place not in neighbours and place != VICTIM]
        told_dead |= set(others[: MEMBERS // 2 - len(told_dead)])
    _unmask(world, [clients[place] for place in everyone if place not in told_dead], everyone)
    _unmask(world, [clients[place] for place in sorted(told_dead)], everyone[1:])
    seeds, mask_keys = world.given(world.holders)[clients[VICTIM]]
    assert min(len(seeds), len(mask_keys)) < threshold
    world.check_secrets()


def _unmask(world: Lying, clients: list[str], alive: list[int]) -> None:
    """Asks these clients to sign this list, and to reveal for it with all the signatures that came."""
    places, signatures = world.masks.graph.places, dict[int, bytes]()
    for client in clients:
        holder = world.holders[client]
        holder.hears(Survivors(round=1, alive=alive))
        while holder.outcomes:
            holder.work()
        current = holder.machine.round
        if current and current.consistency_signature and places[client] in alive:
            signatures[places[client]] = current.consistency_signature.signature
    vouchers = sorted(signatures)
    signed = [signatures[place] for place in vouchers]
    for client in clients:
        ask(world, client, Unmask(round=1, alive=alive, vouchers=vouchers, signatures=signed))
