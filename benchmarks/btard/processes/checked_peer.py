"""A peer process of `benchmarks.btard --cost`: averages in ordinary groups, and in Byzantine rounds.

Usage: python -m benchmarks.btard.processes.checked_peer HOST. It communicates as
benchmarks.support.averaging_peer does. Groups of number CHECKED are a mesh's first round, in which all work,
each time from the same state.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import uvloop

from backend.crypto.client_keys import identity_key
from backend.numerics.vectors import Vector
from backend.peer.mesh.byzantine.contents import RoundContents
from backend.peer.mesh.byzantine.exchange import ByzantineExchange, RoundInput
from backend.protocols.mesh.byzantine.first_state import first_state
from backend.wire.byzantine_messages import ByzantineRules, ByzantineTerms, Say, Show
from backend.wire.mesh_fields import Outer
from backend.wire.mesh_messages import Group
from backend.wire.messages import Shard
from backend.wire.peer_messages import PeerFrame
from benchmarks.support.averaging_peer import BUNDLE, Peer, serve

CHECKED = 1
# The values of the peers' vectors have this deviation, so that half of the pieces are cut a little.
_RADIUS = 0.01


@dataclass
class CheckedPeer(Peer):
    """Forwards the events of links to the exchange of the present group, of either kind."""

    checked: ByzantineExchange | None = None
    attempt: int = -1
    said: list[tuple[str, Say | Show]] = field(default_factory=list)

    def received(self, client: str, frame: PeerFrame) -> None:
        if not isinstance(frame, Say | Show):
            super().received(client, frame)
        elif self.checked and frame.round == self.attempt:
            self.checked.frame_received(client, frame)
        elif frame.round > self.attempt:
            self.said.append((client, frame))

    async def average(self, order: Group, vector: Vector, weight: float) -> dict[str, Any]:
        """Takes part in one group; in ordinary ones all have the same weight, as in Byzantine rounds."""
        del weight
        if order.group != CHECKED:
            return await super().average(order, vector, 1.0)
        cpu_seconds, began = process_time(), perf_counter()
        identities = self._identities(order)
        rules, weights = _rules(order.patience), bytes(4 * len(vector))
        state = first_state(rules, _sha256_of_zeros(len(weights)), identities)
        given = RoundInput(rules, state, vector, (), weights, b"", len(vector))
        if self.checked:
            self.checked.close()
        self.checked = exchange = ByzantineExchange(
            order, given, identities, self.links.local.key, self.links, RoundContents(), _ignore_removed
        )
        self.attempt = order.round
        self.links.set_group_patience(order.patience)
        exchange.start()
        early, self.said = self.said, []
        for client, frame in early:
            self.received(client, frame)
        end = await exchange.result()
        return {
            "seconds": perf_counter() - began,
            "cpu_seconds": process_time() - cpu_seconds,
            "fraction": len(end.active) / len(order.members),
            "sha256": end.state.digest().hex(),
        }

    def _identities(self, order: Group) -> dict[str, bytes]:
        own = {self.links.local.client: identity_key(self.links.local.key)}
        others = (self.links.neighbour(client) for client in order.members)
        return own | {one.client: one.identity for one in others if one is not None}


def _rules(patience: float) -> ByzantineRules:
    return ByzantineRules(
        terms=ByzantineTerms(radius=_RADIUS, patience=patience),
        bundle=BUNDLE,
        run=BUNDLE,
        outer=Outer(kind="nesterov", learning_rate=1.0, momentum=0.9),
        steps=10,
        batch_size=8,
        learning_rate=0.1,
        tolerance=None,
        shards=[Shard(sha256=BUNDLE, examples=100)],
    )


@lru_cache(1)
def _sha256_of_zeros(size: int) -> bytes:
    return hashlib.sha256(np.zeros(size, np.uint8).data).digest()


def _ignore_removed(client: str, why: str, _said: object) -> None:
    print(f"{client} was removed: {why}", file=sys.stderr)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        uvloop.run(serve(sys.argv[1], Path(folder), CheckedPeer))


if __name__ == "__main__":
    main()
