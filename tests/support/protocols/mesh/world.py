"""A mesh on virtual time: one server that is killed and started again, peers, their links and lines."""

from __future__ import annotations

from functools import partial
from itertools import combinations, count
from random import Random

from backend.protocols.mesh.serverless.serverless_events import Event, PeerLinked, PeerLost
from tests.support.protocols.mesh.clock import Clock, Line
from tests.support.protocols.mesh.groups import Groups
from tests.support.protocols.mesh.peer import VirtualPeer
from tests.support.protocols.mesh.server import Server
from tests.support.protocols.mesh_coordinator import client


class MeshWorld:
    """`size` peers of one task.

    `led` counts plans that peers agreed on, `trainings` has the time of each one's last training, which takes
    `slowness` seconds at most.
    """

    def __init__(self, seed: int, size: int, minimum: int, evaluate: float, slowness: float = 4.0) -> None:
        self.random = Random(seed)
        self.clock = Clock(self.random)
        self.groups = Groups(self.clock)
        self.trainings: dict[str, float] = {}
        self.led, self.slowness = 0, slowness
        self.names = [client(number) for number in range(size)]
        self.server = Server(self, minimum, evaluate)
        self.peers = {name: VirtualPeer(self, name, 1000 * at) for at, name in enumerate(self.names)}
        self._numbers = count(1)
        self._cut: set[frozenset[str]] = set()
        self._off: set[str] = set()
        self._lines: dict[tuple[str, str], Line] = {}
        self.server.start()
        for peer in self.peers.values():
            peer.start()
        for one, other in combinations(self.names, 2):
            self._tell_both(one, other, linked=True)

    # Faults.

    def restart(self, seconds: float) -> None:
        """Kills the server, which is back after so many seconds."""
        if self.server.machine is not None:
            self.server.kill()
            self.clock.at(self.clock.now + seconds, self.server.start)

    def cut(self, one: str, other: str) -> None:
        """Ends the link of two peers."""
        if self.is_linked(one, other):
            self._cut.add(frozenset((one, other)))
            self._tell_both(one, other, linked=False)

    def mend(self, one: str, other: str) -> None:
        """Makes it again."""
        if not self.is_linked(one, other):
            self._cut.discard(frozenset((one, other)))
            self._tell_both(one, other, linked=True)

    def cut_off(self, name: str) -> None:
        """Ends a peer's line to the server, and no other one."""
        self._off.add(name)
        self.server.disconnect(name)

    def pause(self, name: str, seconds: float) -> None:
        """Stops a peer's process for so many seconds; after half a minute the server loses it."""
        self.peers[name].paused_until = max(self.peers[name].paused_until, self.clock.now + seconds)
        self.clock.at(self.clock.now + 30.0, partial(self._lose_paused, name))

    def _lose_paused(self, name: str) -> None:
        if self.peers[name].is_paused:
            self.server.disconnect(name)

    def let_back(self, name: str) -> None:
        """Mends it."""
        self._off.discard(name)

    def heal(self) -> None:
        """Mends all lines and links."""
        self._off.clear()
        for one, other in combinations(self.names, 2):
            self.mend(one, other)

    # What peers and server ask.

    def is_linked(self, one: str, other: str) -> bool:
        """Whether two peers have a link."""
        return frozenset((one, other)) not in self._cut

    def is_reachable(self, peer: VirtualPeer) -> bool:
        """Whether the server answers a peer."""
        return self.server.machine is not None and peer.name not in self._off

    def accept(self, peer: VirtualPeer) -> int:
        """Opens a connection to the server; returns its number."""
        number = next(self._numbers)
        self.server.disconnect(peer.name)
        self.server.connections[peer.name] = (number, Line(self.clock, 0.05))
        return number

    def reaches(self, peer: VirtualPeer, weights: str) -> bool:
        """Whether a peer can fetch these weights, from another one or from the server."""
        others = (self.peers[name] for name in self.names if name != peer.name)
        if any(weights in other.cached and self.is_linked(peer.name, other.name) for other in others):
            return True
        return self.is_reachable(peer) and weights in self.server.records.blobs

    def send(self, sender: str, receiver: str, event: Event) -> None:
        """Carries a frame over the link of two peers."""
        line = self._lines.setdefault((sender, receiver), Line(self.clock, 0.1))
        line.send(partial(self._arrive, sender, receiver, event))

    def _arrive(self, sender: str, receiver: str, event: Event) -> None:
        if self.is_linked(sender, receiver):
            self.peers[receiver].take(event)

    def _tell_both(self, one: str, other: str, *, linked: bool) -> None:
        for name, far in ((one, other), (other, one)):
            self.peers[name].take(PeerLinked(far) if linked else PeerLost(far))
            if linked:
                self.groups.link_up(self.peers[name], self.peers[far])
