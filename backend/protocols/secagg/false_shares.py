"""Finds the clients whose false shares prevented unmasking a sum.

A holder reveals a share as the key of what the owner sealed for it. So a share that opens is the owner's own,
and an owner whose shares open but do not rebuild its secret dealt them falsely, whatever holders do. A share
that does not open is false of one of two: the owner sealed nonsense, or the holder revealed a wrong key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from backend.protocols.secagg.server_effects import Place


def false_sharers(
    mismatched: Collection[Place], unopened: Mapping[Place, Collection[Place]]
) -> frozenset[Place]:
    """Returns the fewest clients, found greedily, whose false shares explain the failure.

    `mismatched` are owners whose shares open and do not rebuild their secrets. `unopened` has, for each owner
    with too few shares that open, the holders whose keys open nothing. If an owner and a holder explain
    equally much, both are returned: the server cannot tell which is false.
    """
    found = set(mismatched)
    pairs = {(owner, holder) for owner, holders in unopened.items() for holder in holders}
    while pairs := {pair for pair in pairs if found.isdisjoint(pair)}:
        # An owner that falsified its own share has one lie, not two.
        lies = Counter(client for pair in pairs for client in set(pair))
        most = max(lies.values())
        found |= {client for client, count in lies.items() if count == most}
    return frozenset(found)
