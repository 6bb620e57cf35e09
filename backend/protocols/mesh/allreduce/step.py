"""Runs one step of a group at one member: sends, makes means, accepts, and finds what is missing.

Places number the members; times are seconds of the host's clock. The twin is protocol/allreduce/step.ts.
"""

from __future__ import annotations

from backend.protocols.mesh.allreduce.group_events import AddPiece, Reduce, SendMean, SendPiece
from backend.protocols.mesh.allreduce.plan import NEVER, Ballot, GroupPlan, MemberAnswer, Places, first_plan
from backend.protocols.mesh.allreduce.transfers import MemberLinks, ReceivedParts
from backend.wire.mesh_fields import Fault
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import Change, Config, Holds


class GroupStep:
    """The step that the member at `place` follows, from `now` on.

    `accepted` is what it accepted last; `handovers` are means that it sends for the leader: parts, and to
    whom. Members that keep others waiting are slow from `slow_at`; the group's time ends at `ends`.
    """

    def __init__(self, order: Group, place: int, now: float) -> None:
        self.order, self.place = order, place
        self.count, self.parts = len(order.members), len(order.bounds) - 1
        # Every frame of the group begins with these.
        self.header = (order.round, order.group)
        others = [other for other in range(self.count) if other != place]
        self.links = MemberLinks(others, order.patience / 2, order.patience, now)
        self.received = ReceivedParts(order, place)
        self.ends, self.slow_at = now + order.seconds, now + order.seconds / 2
        self.plan = first_plan(order)
        self.accepted: MemberAnswer | None = None
        self.handovers: list[tuple[int, int]] = []

    # The plan.

    def adopt(self, plan: GroupPlan) -> None:
        """Follows this plan, without the members that it leaves out."""
        excluded = [place for place in self.plan.alive if place not in plan.alive and place != self.place]
        self.plan, self.handovers = plan, []
        now = self.links.now
        self.slow_at = now + max((self.ends - now) / 2, self.order.patience)
        for place in excluded:
            self.links.cancel_transfers(place)

    def is_complete(self, frame: Holds | Change | Config) -> bool:
        """Whether a frame names all parts and all members."""
        return len(frame.parts) == self.parts and len(frame.weights) == self.count

    def is_prepared(self) -> bool:
        """Whether this member's own vector is encoded."""
        return self.place in self.received.weights

    def is_late(self) -> bool:
        """Whether members that are not ready now keep others waiting."""
        return self.links.now >= self.slow_at

    def is_open(self) -> bool:
        """Pieces are sent only when all members left have sent their commitments, or keys."""
        return all(self._has_begun(place) for place in self.plan.alive)

    def is_settling(self) -> bool:
        """The host adds up masked pieces: their mean must be made before this member answers.

        Else another sum of that part would be made, and the difference of the two would be one member's.
        """
        return self.received.masked and bool(self.received.reducing)

    def is_ring(self) -> bool:
        """Whether sums travel from member to member."""
        return self.plan.first and self.order.exchange == "ring"

    def weight(self, place: int) -> float:
        """That member's weight in the mean; 0 while it is unknown."""
        return self.plan.weights[place] or self.received.weights.get(place, 0.0)

    # What this member has.

    def answer(self) -> MemberAnswer:
        """What it accepted last, or else the means that it has: those of this step, or any."""
        if self.accepted is not None:
            return self.accepted
        means = self.received.means
        parts = (self._mean(part) or next(reversed(means[part]), b"") for part in range(self.parts))
        return MemberAnswer(NEVER, tuple(parts), tuple(self.weight(place) for place in range(self.count)))

    def has_accepted(self) -> bool:
        """Whether it accepted the means of this step."""
        return self.accepted is not None and self.accepted.ballot == self.plan.ballot

    def accept(self) -> MemberAnswer | None:
        """Accepts the means of this step, once all have arrived; returns None before."""
        if self.has_accepted():
            return self.accepted
        plan, is_made = self.plan, all(self.plan.parts)
        parts = tuple(self._mean(part) or b"" for part in range(self.parts))
        if not all(parts) or not (is_made or self.is_open()):
            return None
        weights = plan.weights
        if not is_made:
            own = [self.weight(place) if place in plan.alive else 0.0 for place in range(self.count)]
            weights = tuple(planned or known for planned, known in zip(weights, own, strict=True))
        self.accepted = MemberAnswer(plan.ballot, parts, weights)
        return self.accepted

    def _has_begun(self, place: int) -> bool:
        return place in self.received.weights if self.received.masked else self.weight(place) > 0

    def _masked_for(self) -> Places:
        return self.plan.alive if self.received.masked else ()

    def _is_full(self) -> bool:
        return self.plan.first and self.order.exchange == "full"

    def _mean(self, part: int) -> bytes | None:
        """Returns the digest of this step's mean of `part`; None before it has arrived."""
        planned = self.plan.parts[part]
        if planned:
            return planned if planned in self.received.means[part] else None
        return self.received.sources[part].get(self._source(part))

    def _source(self, part: int) -> int:
        """The member that sends a mean that is not made yet."""
        owner = self.plan.owners[part]
        if self._is_full() or owner == self.place:
            return self.place
        if not self.is_ring():
            return owner
        ring = self.received.ring(part)
        return ring[ring.index(self.place) - 1]

    # What it sends and makes.

    def exchange(self, promised: Ballot) -> None:
        """Sends, and has made, what is due now.

        A member that `promised` another step makes no masked sum of this one any more.
        """
        if self.is_open() and not (self.received.masked and promised != self.plan.ballot):
            for part in range(self.parts):
                if not self.plan.parts[part]:
                    self._exchange_part(part)
        for part, place in self.handovers:
            self._send_mean(part, self.plan.parts[part], [place])

    def _exchange_part(self, part: int) -> None:
        """A part without a mean: all send their pieces to its owner, which sends the mean."""
        if self.is_ring():
            self._pass_sum_on(part)
            return
        owner, alive, full = self.plan.owners[part], self.plan.alive, self._is_full()
        others = [place for place in alive if place != self.place]
        if full or owner != self.place:
            self._send_piece(part, others if full else [owner])
        if full or owner == self.place:
            if all(self.received.has_piece(part, place, self._masked_for()) for place in others):
                self._reduce(part, list(alive), None)
            if not full:
                self._send_mean(part, self._mean(part), others)

    def _pass_sum_on(self, part: int) -> None:
        ring = self.received.ring(part)
        at = ring.index(self.place)
        received = self.received.sums.get(part)
        following = ring[(at + 1) % self.count]
        if part == self.place:
            if received is not None:
                self._reduce(part, list(self.plan.alive), received.place)
        elif (at == 0 or received is not None) and self.links.take_unsent(("sum", part), [following]):
            total = sum(self.weight(place) for place in self.plan.alive)
            source, members = (None, []) if received is None else (received.place, received.contributors)
            add = AddPiece(part, source, members, self.weight(self.place) / total, following)
            self.links.effects.append(add)
        if following != part:
            self._send_mean(part, self._mean(part), [following])

    def _send_piece(self, part: int, places: list[int]) -> None:
        members = list(self._masked_for())
        weights = [self.weight(place) for place in members]
        for place in self.links.take_unsent(("piece", part, *members), places):
            self.links.effects.append(SendPiece(part, place, members, weights))

    def _send_mean(self, part: int, digest: bytes | None, places: list[int]) -> None:
        if digest and digest in self.received.means[part]:
            unsent = self.links.take_unsent(("mean", part, digest), places)
            if unsent:
                self.links.effects.append(SendMean(part, digest, unsent))

    def _reduce(self, part: int, contributors: list[int], source: int | None) -> None:
        if part in self.received.reducing or self.place in self.received.sources[part]:
            return
        self.received.reducing[part] = contributors
        weights = [self.weight(place) for place in contributors]
        self.links.effects.append(Reduce(part, contributors, weights, source))

    # What is missing.

    def fault(self, place: int) -> Fault | None:
        """What to complain of about that member; None while this step lacks nothing because of it."""
        late = self.links.now - self.slow_at
        if self.links.is_lost(place) and (self._misses_piece(place) or self._misses_mean(place)):
            # No member can mask for one whose key it does not have, and no other can help.
            return "unfit" if self.received.masked and not self._has_begun(place) else "gone"
        if late >= 0 and self._misses_piece(place):
            return "slow"
        # The owner of a part may be waiting for others itself, and complains of them first.
        return "slow" if late >= self.order.patience and self._misses_mean(place) else None

    def _misses_piece(self, place: int) -> bool:
        if not self.is_open():
            return not self._has_begun(place)
        return any(self._needs_pieces(part) and self._lacks(place, part) for part in range(self.parts))

    def _needs_pieces(self, part: int) -> bool:
        """Whether this member is to make the mean of `part`, and has not begun to."""
        made = self.plan.parts[part] or self.place in self.received.sources[part]
        reduces = self.plan.owners[part] == self.place or self._is_full()
        return reduces and not made and part not in self.received.reducing

    def _lacks(self, place: int, part: int) -> bool:
        if self.is_ring():
            return part not in self.received.sums
        return not self.received.has_piece(part, place, self._masked_for())

    def _misses_mean(self, place: int) -> bool:
        """Only the leader knows who sends the means that are made: any member may."""
        plan = self.plan
        return any(
            self._mean(part) is None
            and (bool(plan.parts[part]) or plan.owners[part] == place or self.is_ring())
            for part in range(self.parts)
        )
