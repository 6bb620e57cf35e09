"""One step of a group at one member: pieces and means on their ways, and what is still missing. A part of the
machine in allreduce.py, which owns it and says by which plan.
"""

from __future__ import annotations

from backend.protocols.mesh.allreduce.arrived import Arrived
from backend.protocols.mesh.allreduce.group_events import AddPiece, Effect, Reduce, SendMean, SendPiece
from backend.protocols.mesh.allreduce.links import LinkBook
from backend.protocols.mesh.allreduce.plan import NEVER, Ballot, GroupPlan, MemberAnswer, Places
from backend.wire.mesh_fields import Fault
from backend.wire.mesh_messages import Group


class GroupStep:
    """The step of `plan`; `handed` are means of it that this member hands on: their parts, and to whom."""

    def __init__(self, order: Group, place: int, arrived: Arrived, links: LinkBook) -> None:
        self._order, self._place, self._arrived, self._links = order, place, arrived, links
        self._count, self._parts = len(order.members), len(order.bounds) - 1
        self._out: list[Effect] = []
        self.handed: list[tuple[int, int]] = []
        everybody, owners = tuple(range(self._count)), tuple(range(self._parts))
        made, weights = (b"",) * self._parts, (0.0,) * self._count
        self.plan = GroupPlan((0, 1), everybody, owners, made, weights, first=True)

    def work(self, promised: Ballot) -> list[Effect]:
        """What is to be sent and made now.

        Who has `promised` another step makes no masked sum of this one any more.
        """
        if self.is_open() and not (self._arrived.masked and promised != self.plan.ballot):
            for part in range(self._parts):
                if not self.plan.parts[part]:
                    self._make(part)
        for part, place in self.handed:
            self._hand_on(part, self.plan.parts[part], [place])
        effects, self._out = self._out, []
        return effects

    def is_open(self) -> bool:
        """Nobody shows a piece before all who are left committed themselves to theirs, or said their keys."""
        return all(self._has_begun(place) for place in self.plan.alive)

    def is_settling(self) -> bool:
        """Has all masked pieces of a part: must hold their mean before it says what it holds.

        Else another sum of that part would be made, and the two would tell whose piece is in only one.
        """
        return self._arrived.masked and bool(self._arrived.reducing)

    def is_ring(self) -> bool:
        """Whether sums travel from member to member."""
        return self.plan.first and self._order.exchange == "ring"

    def weight(self, place: int) -> float:
        """Of that member in the mean; 0 while it is not known."""
        return self.plan.weights[place] or self._arrived.weights.get(place, 0.0)

    def answer(self) -> MemberAnswer:
        """Means that are here, where nothing was accepted: those that this step wants, or else any."""
        means = self._arrived.means
        parts = (self._mean(part) or next(reversed(means[part]), b"") for part in range(self._parts))
        return MemberAnswer(NEVER, tuple(parts), tuple(self.weight(place) for place in range(self._count)))

    def acceptable(self) -> MemberAnswer | None:
        """All that this step wants, if it is here."""
        plan = self.plan
        parts = tuple(self._mean(part) or b"" for part in range(self._parts))
        if not all(parts) or not (all(plan.parts) or self.is_open()):
            return None
        weights = plan.weights
        if not all(plan.parts):
            here = [self.weight(place) if place in plan.alive else 0.0 for place in range(self._count)]
            weights = tuple(told or own for told, own in zip(weights, here, strict=True))
        return MemberAnswer(plan.ballot, parts, weights)

    def fault(self, place: int, gone: bool, late: float) -> Fault | None:
        """What this step lacks because of that member, `late` seconds after it has begun to be slow."""
        if gone and (self._lacks_piece(place) or self._lacks_mean(place)):
            # Nobody can mask for a member whose key it does not have, and nobody else can help.
            return "unfit" if self._arrived.masked and not self._has_begun(place) else "gone"
        if late >= 0 and self._lacks_piece(place):
            return "slow"
        # The owner of a part may be waiting for others itself, and complains of them first.
        return "slow" if late >= self._order.patience and self._lacks_mean(place) else None

    # What is here.

    def _has_begun(self, place: int) -> bool:
        return place in self._arrived.weights if self._arrived.masked else self.weight(place) > 0

    def _set(self) -> Places:
        """Whom this step's pieces are masked for."""
        return self.plan.alive if self._arrived.masked else ()

    def _is_full(self) -> bool:
        return self.plan.first and self._order.exchange == "full"

    def _mean(self, part: int) -> bytes | None:
        """The digest of the mean of `part` that this step wants, if it is here."""
        wanted = self.plan.parts[part]
        if wanted:
            return wanted if wanted in self._arrived.means[part] else None
        return self._arrived.sources[part].get(self._source_of(part))

    def _source_of(self, part: int) -> int:
        """Who the mean of a part that is not made yet comes from."""
        owner = self.plan.owners[part]
        if self._is_full() or owner == self._place:
            return self._place
        if not self.is_ring():
            return owner
        chain = self._arrived.chain(part)
        return chain[chain.index(self._place) - 1]

    # What is to be done.

    def _make(self, part: int) -> None:
        """A part that nobody has a mean of: pieces to its owner, the mean from there."""
        if self.is_ring():
            self._pass_on(part)
            return
        owner, alive, full = self.plan.owners[part], self.plan.alive, self._is_full()
        others = [place for place in alive if place != self._place]
        if full or owner != self._place:
            self._send_piece(part, others if full else [owner])
        if full or owner == self._place:
            if all(self._arrived.has_piece(part, one, self._set()) for one in others):
                self._reduce(part, list(alive), None)
            if not full:
                self._hand_on(part, self._mean(part), others)

    def _pass_on(self, part: int) -> None:
        chain = self._arrived.chain(part)
        at = chain.index(self._place)
        came = self._arrived.sums.get(part)
        following = chain[(at + 1) % self._count]
        if part == self._place:
            if came is not None:
                self._reduce(part, list(self.plan.alive), came.place)
        elif (at == 0 or came is not None) and self._links.untold(("sum", part), [following]):
            total = sum(self.weight(place) for place in self.plan.alive)
            source, of = (None, []) if came is None else (came.place, came.contributors)
            self._out.append(AddPiece(part, source, of, self.weight(self._place) / total, following))
        if following != part:
            self._hand_on(part, self._mean(part), [following])

    def _send_piece(self, part: int, places: list[int]) -> None:
        of = list(self._set())
        weights = [self.weight(place) for place in of]
        for place in self._links.untold(("piece", part, *of), places):
            self._out.append(SendPiece(part, place, of, weights))

    def _hand_on(self, part: int, digest: bytes | None, places: list[int]) -> None:
        here = digest in self._arrived.means[part]
        fresh = self._links.untold(("mean", part, digest), places) if here else []
        if digest and fresh:
            self._out.append(SendMean(part, digest, fresh))

    def _reduce(self, part: int, contributors: list[int], source: int | None) -> None:
        if part in self._arrived.reducing or self._place in self._arrived.sources[part]:
            return
        self._arrived.reducing[part] = contributors
        weights = [self.weight(place) for place in contributors]
        self._out.append(Reduce(part, contributors, weights, source))

    # What is missing.

    def _lacks_piece(self, place: int) -> bool:
        if not self.is_open():
            return not self._has_begun(place)
        return any(self._waits_for_pieces(part) and self._misses(place, part) for part in range(self._parts))

    def _waits_for_pieces(self, part: int) -> bool:
        """Whether this member is to make the mean of `part`, and has not begun to."""
        made = self.plan.parts[part] or self._place in self._arrived.sources[part]
        reduces = self.plan.owners[part] == self._place or self._is_full()
        return reduces and not made and part not in self._arrived.reducing

    def _misses(self, place: int, part: int) -> bool:
        if self.is_ring():
            return part not in self._arrived.sums
        return not self._arrived.has_piece(part, place, self._set())

    def _lacks_mean(self, place: int) -> bool:
        """Who gives the means that are made already only the leader knows: they may come from anybody."""
        plan = self.plan
        return any(
            self._mean(part) is None
            and (bool(plan.parts[part]) or plan.owners[part] == place or self.is_ring())
            for part in range(self._parts)
        )
