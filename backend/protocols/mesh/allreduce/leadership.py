"""What the leader of a view of a group knows, besides what every member does (standing.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from backend.protocols.mesh.allreduce.plan import Ballot, Gift, MemberAnswer, Troubles
from backend.wire.mesh_fields import Fault
from backend.wire.peer_messages import Change


@dataclass
class Leadership:
    """One view's leader: gathers answers for the step `ballot`, plans it, and waits until all hold it.

    `planned` says which of the two it waits for. Owned by the member's machine.
    """

    ballot: Ballot
    since: float
    planned: bool = False
    # Who answered this step's `ask` (or asked for this view by `change`), and who holds all of it.
    answers: dict[int, MemberAnswer] = field(default_factory=dict)
    accepted: dict[int, tuple[bytes, ...]] = field(default_factory=dict)
    gifts: list[Gift] = field(default_factory=list)
    troubles: Troubles = field(default_factory=Troubles)
    # Complaints of slow members were passed over once, for want of others.
    passed_over: bool = False
    # Something was complained of that this step's plan does not know.
    news: bool = False

    def complained(self, by: int, of: int, fault: Fault) -> None:
        """Something is wrong between two members, or with the second."""
        troubles, pair = self.troubles, (by, of)
        if fault == "gone":
            self.news |= frozenset(pair) not in troubles.gaps
            troubles.gaps.add(frozenset(pair))
        else:
            pairs = troubles.slow if fault == "slow" else troubles.unfit
            self.news |= pair not in pairs
            pairs.add(pair)

    def count(self, changes: Mapping[int, Change]) -> None:
        """Who asked for this view has answered its first question."""
        for place, change in changes.items():
            if not self.planned and (change.view, 0) == self.ballot:
                answer = MemberAnswer(change.held, tuple(change.parts), tuple(change.weights))
                self.answers.setdefault(place, answer)

    def begin(self, gifts: list[Gift]) -> None:
        """The step is planned: now all of it has to come to everybody in it."""
        self.planned, self.news = True, False
        self.accepted, self.gifts = {}, gifts

    def again(self, now: float) -> None:
        """The next step begins with everybody's answers."""
        self.ballot = (self.ballot[0], self.ballot[1] + 1)
        self.since, self.planned, self.news = now, False, False
        self.answers, self.accepted = {}, {}

    def agreed(self, alive: tuple[int, ...]) -> bool | None:
        """Whether all hold the same; None while somebody has not said so."""
        if not self.accepted.keys() >= set(alive):
            return None
        return len({self.accepted[place] for place in alive}) == 1
