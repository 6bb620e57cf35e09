"""A peer of benchmarks.mesh.member_faults that also reports its group's phase and its links.

It extends benchmarks.support.averaging_peer. Usage: python -m benchmarks.mesh.faulty_member HOST
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvloop

from backend.errors import GroupError
from backend.numerics.vectors import Vector
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import Begin, Holds, Mean, OfGroup, PeerFrame, Piece
from benchmarks.support.averaging_peer import Peer, say, serve

PHASES = {Begin: "begin", Piece: "pieces", Mean: "means", Holds: "decision"}


@dataclass
class Watched(Peer):
    """Reports the first frame of each kind in a group."""

    reported: set[tuple[int, str]] = field(default_factory=set)

    def received(self, client: str, frame: PeerFrame) -> None:
        phase = PHASES.get(type(frame))
        if phase is not None and isinstance(frame, OfGroup) and (frame.round, phase) not in self.reported:
            self.reported.add((frame.round, phase))
            say({"round": frame.round, "phase": phase})
        super().received(client, frame)

    def up(self, client: str, way: Way) -> None:
        super().up(client, way)
        say({"links": sorted(self.links.linked())})

    def down(self, client: str, reason: str) -> None:
        super().down(client, reason)
        say({"links": sorted(self.links.linked())})

    async def average(self, order: Group, vector: Vector, weight: float) -> dict[str, Any]:
        try:
            return {"round": order.round, **await super().average(order, vector, weight)}
        except GroupError as error:
            return {"round": order.round, "reason": str(error)}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        uvloop.run(serve(sys.argv[1], Path(folder), Watched))


if __name__ == "__main__":
    main()
