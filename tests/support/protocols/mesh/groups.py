"""Groups of a mesh on virtual time: told, not exchanged, as the group machine ends them.

Its own schedules show that a group ends in one result for most members, or in none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from backend.protocols.mesh.member_events import WeightsCertified
from backend.wire.mesh_messages import Certificate, Group
from tests.support.protocols.mesh.clock import Clock
from tests.support.protocols.mesh.peer import VirtualPeer
from tests.support.protocols.mesh.server import BUNDLE, RUN


@dataclass
class _Meeting:
    """The members that follow an order, with the weights that they trained from."""

    order: Group
    bases: dict[str, str | None] = field(default_factory=dict)
    peers: dict[str, VirtualPeer] = field(default_factory=dict)
    declined: set[str] = field(default_factory=set)
    over: bool = False


class Groups:
    """Owns the groups of a world. `results` has the weights of each that ended with some."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._meetings: dict[tuple[int, int], _Meeting] = {}
        self.results: dict[tuple[int, int], str] = {}

    def join(self, order: Group, peer: VirtualPeer) -> None:
        """A peer begins to average by `order`."""
        key = (order.round, order.group)
        meeting = self._meetings.get(key)
        if meeting is None:
            meeting = self._meetings[key] = _Meeting(order)
            # Missing members that can be talked to are awaited for half of the time, others for the patience.
            self._clock.at(self._clock.now + order.patience, partial(self._end_without_lost, meeting))
            self._clock.at(self._clock.now + order.seconds / 2, partial(self._end, meeting))
            self._clock.at(self._clock.now + order.seconds, partial(self._give_up, meeting))
        assert meeting.order == order, "two groups have one number"
        if meeting.over:
            self._clock.after(0.1, 3.0, partial(peer.failed, order))
            return
        meeting.bases[peer.name], meeting.peers[peer.name] = peer.work, peer
        for name in order.members:
            if name != peer.name and peer.world.is_linked(peer.name, name):
                other = peer.world.peers[name]
                self._clock.after(0.0, 0.1, partial(other.begin_received, key))
        if len(meeting.peers) == len(order.members):
            self._clock.after(0.0, peer.world.slowness / 2, partial(self._end, meeting))

    def leave(self, peer: VirtualPeer) -> None:
        """A peer averages no more."""
        for meeting in self._meetings.values():
            if not meeting.over:
                meeting.peers.pop(peer.name, None)

    def link_up(self, one: VirtualPeer, other: VirtualPeer) -> None:
        """A link is up: members that have begun say so on it."""
        for key, meeting in self._meetings.items():
            if not meeting.over and one.name in meeting.peers and other.name in meeting.order.members:
                self._clock.after(0.0, 0.1, partial(other.begin_received, key))

    def decline(self, key: tuple[int, int], name: str) -> None:
        """A member says that it never joins: the others do not wait for it."""
        meeting = self._meetings[key]
        meeting.declined.add(name)
        if len(set(meeting.order.members) - (meeting.declined - meeting.peers.keys())) < meeting.order.least:
            self._give_up(meeting)
        else:
            self._end_without_lost(meeting)

    def decline_late(self, key: tuple[int, int], name: str) -> None:
        """A member has no order for the patience."""
        if name not in self._meetings[key].bases:
            self.decline(key, name)

    def _end_without_lost(self, meeting: _Meeting) -> None:
        """Ends the group if all that are missing can not be talked to."""
        world = next(iter(meeting.peers.values())).world if meeting.peers else None
        known = {*meeting.peers, *meeting.declined}
        missing = [name for name in meeting.order.members if name not in known]
        if world and not any(self._can_talk(world.peers[name], meeting) for name in missing):
            self._end(meeting)

    def _can_talk(self, peer: VirtualPeer, meeting: _Meeting) -> bool:
        return not peer.is_paused and any(peer.world.is_linked(peer.name, name) for name in meeting.peers)

    def _end(self, meeting: _Meeting) -> None:
        order, peers = meeting.order, [peer for peer in meeting.peers.values() if not peer.is_paused]
        if meeting.over:
            return
        if len(peers) < order.least:
            if len(meeting.peers) >= order.least:
                # The stopped ones are noticed by their silence.
                self._clock.at(self._clock.now + order.patience, partial(self._give_up, meeting))
            return
        meeting.over = True
        for peer in meeting.peers.values():
            if peer.is_paused:
                peer.failed(order)
        random = self._clock.random
        if len(peers) > order.least and random.random() < 0.2:
            out = peers.pop(random.randrange(len(peers)))
            self._clock.after(0.0, 3.0, partial(out.failed, order))
        names = sorted(peer.name for peer in peers)
        bases = {meeting.bases[name] for name in names}
        assert order.subject == "weights" or len(bases) == 1, f"round {order.round} begins from {bases}"
        weights = hashlib.sha256(f"{order.round} {order.group} {names}".encode()).hexdigest()
        self.results[order.round, order.group] = weights
        places = [order.members.index(name) for name in names]
        for peer in peers:
            self._clock.after(0.0, 0.3, partial(peer.averaged, order, weights, places))
        self._certify(order, peers, weights)

    def _certify(self, order: Group, peers: Sequence[VirtualPeer], weights: str) -> None:
        names = sorted(peer.name for peer in peers)
        made = Certificate(
            bundle=BUNDLE, run=RUN, round=order.round, group=order.group, weights=weights,
            survivors=names, signatures=[],
        )  # fmt: skip
        for peer in peers:
            linked = 1 + sum(peer.world.is_linked(peer.name, name) for name in names if name != peer.name)
            if 2 * linked > len(names):
                self._clock.after(0.3, 0.8, partial(peer.post, WeightsCertified(made)))

    def _give_up(self, meeting: _Meeting) -> None:
        if not meeting.over:
            meeting.over = True
            for peer in meeting.peers.values():
                peer.failed(meeting.order)
