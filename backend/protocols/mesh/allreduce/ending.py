"""How a group ends for a member: by the result of all who are left, or by none. A part of allreduce.py."""

from __future__ import annotations

from itertools import pairwise

from backend.protocols.mesh.allreduce.group_events import FailGroup, FinishGroup
from backend.protocols.mesh.allreduce.plan import fraction
from backend.protocols.mesh.allreduce.standing import GroupState
from backend.wire.peer_messages import Decide, GiveUp


class Ending:
    """Whether it is `over` for the member that stands so, and what others are told about it from then on."""

    def __init__(self, own: GroupState) -> None:
        self._own = own
        self._told: Decide | GiveUp | None = None

    @property
    def over(self) -> bool:
        """Nothing but the end is said any more."""
        return self._told is not None

    def decide(self) -> None:
        """All alive hold the same: that is the result. Said by the leader."""
        own, answer = self._own, self._own.accepted
        if answer is None:
            return
        contributors = [
            list(means[digest]) for means, digest in zip(own.arrived.means, answer.parts, strict=True)
        ]
        decide = own.words.decide(own.plan, answer, contributors)
        self._take(decide)
        own.say(("end",), own.others, decide)

    def decided(self, frame: Decide) -> None:
        """A leader says what the result is. Nothing is taken twice, or after giving up."""
        if not self.over and self._fits(frame):
            self._take(frame)

    def give_up(self, reason: str) -> None:
        """No result for this member, which takes none later; `reason` is for people."""
        own = self._own
        self._told = own.words.give_up(own.promised[0], reason)
        own.say(("end",), own.others, self._told)
        own.out.append(FailGroup(reason))

    def remind(self, place: int) -> None:
        """That member does not know yet that it is over here."""
        if self._told is not None:
            self._own.say(("end",), [place], self._told)

    def _fits(self, frame: Decide) -> bool:
        own = self._own
        places = {place for of in (frame.survivors, *frame.contributors) for place in of}
        return (
            len(frame.parts) == len(frame.contributors) == own.parts
            and len(frame.weights) == own.count
            and all(place < own.count for place in places)
        )

    def _take(self, frame: Decide) -> None:
        """Takes the result, if it holds all of it, and tells those who asked for another leader."""
        own, self._told = self._own, frame
        own.say(("end",), list(own.changes), frame)
        if not all(digest in means for digest, means in zip(frame.parts, own.arrived.means, strict=True)):
            own.out.append(FailGroup("The group went on without this member."))
            return
        lengths = [end - start for start, end in pairwise(own.order.bounds)]
        share = fraction(lengths, frame.contributors, frame.weights)
        own.out.append(FinishGroup(frame.parts, frame.contributors, frame.survivors, frame.weights, share))
