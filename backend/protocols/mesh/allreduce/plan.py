"""What a leader makes of its members' answers: who stays, who owns which part, who hands on what is made.

Pure functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

# View and step. The first step of the first view is (0, 1); NEVER says that nothing was accepted.
Ballot: TypeAlias = tuple[int, int]
NEVER: Ballot = (0, 0)
# Ascending.
Places: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class MemberAnswer:
    """What a member holds: digests by part, empty where there is none; accepted together at `held`."""

    held: Ballot
    parts: tuple[bytes, ...]
    weights: tuple[float, ...]


@dataclass
class Troubles:
    """What was complained of in a view: pairs that cannot talk; who was slow, or unfit, by whose word.

    In `slow` and `unfit` the first complains of the second. Owned by the leader.
    """

    gaps: set[frozenset[int]] = field(default_factory=set)
    slow: set[tuple[int, int]] = field(default_factory=set)
    unfit: set[tuple[int, int]] = field(default_factory=set)

    def among(self, places: Collection[int], *, slow: bool) -> Troubles:
        """Those between two of `places`, with or without slowness."""
        here = set(places)
        return Troubles(
            {pair for pair in self.gaps if pair <= here},
            {pair for pair in self.slow if slow and {*pair} <= here},
            {pair for pair in self.unfit if {*pair} <= here},
        )


@dataclass(frozen=True)
class GroupPlan:
    """One step of a group; the fields are those of the frame `config`.

    Only in the first step members exchange in the order's own way: `first`.
    """

    ballot: Ballot
    alive: tuple[int, ...]
    owners: tuple[int, ...]
    parts: tuple[bytes, ...]
    weights: tuple[float, ...]
    first: bool = False


@dataclass(frozen=True)
class Gift:
    """A member hands its mean of a part on to one that lacks it."""

    part: int
    giver: int
    receiver: int


def known(answers: Mapping[int, MemberAnswer]) -> tuple[tuple[bytes, ...], tuple[float, ...], bool]:
    """The means that the next step keeps, the weights that anybody knows, whether no mean may be replaced.

    What a member accepted last may have been decided, and is kept whole. Else each part's most common mean is
    kept, of equally common ones that of the lowest place.
    """
    order = sorted(answers)
    last = max(answers[place].held for place in order)
    if last != NEVER:
        accepted = [(answers[place].parts, answers[place].weights) for place in order]
        accepted = [
            value for place, value in zip(order, accepted, strict=True) if answers[place].held == last
        ]
        parts, weights = Counter(accepted).most_common(1)[0][0]
        return parts, weights, True
    columns = zip(*(answers[place].parts for place in order), strict=True)
    parts = tuple(_commonest(column) for column in columns)
    weights = tuple(
        next((weight for weight in column if weight > 0), 0.0)
        for column in zip(*(answers[place].weights for place in order), strict=True)
    )
    return parts, weights, False


def planned(
    ballot: Ballot,
    leader: int,
    least: int,
    answers: Mapping[int, MemberAnswer],
    troubles: Troubles,
) -> tuple[GroupPlan | None, bool]:
    """The next step, among those who answered; None where no `least` of them can go on together.

    Slow members are gone on without only if enough are left: whether so is the second value. A plan without
    its `leader` says that the others have to go on without that one.
    """
    for heeded in (True, False):
        plan = _among(ballot, leader, answers, troubles, slow=heeded)
        if plan is not None and len(plan.alive) >= least:
            return plan, heeded
    return None, False


def gifts(plan: GroupPlan, answers: Mapping[int, MemberAnswer], troubles: Troubles) -> list[Gift]:
    """Who hands on which mean to whom, so that all alive have all that are made.

    The owner of a part, which may have sent it already, comes first; else the load is spread. Slow pairs are
    passed over where that leaves somebody.
    """
    given = []
    for part, digest in enumerate(plan.parts):
        if digest:
            holders = [place for place in plan.alive if answers[place].parts[part] == digest]
            lacking = [place for place in plan.alive if answers[place].parts[part] != digest]
            for receiver in lacking:
                able = [place for place in holders if frozenset((place, receiver)) not in troubles.gaps]
                quick = [
                    place for place in able if not {(place, receiver), (receiver, place)} & troubles.slow
                ]
                able = quick or able
                owner = plan.owners[part]
                giver = owner if owner in able else able[(part + receiver) % len(able)]
                given.append(Gift(part, giver, receiver))
    return given


def fraction(
    lengths: Sequence[int], contributors: Sequence[Sequence[int]], weights: Sequence[float]
) -> float:
    """How much of all members' weight is in a result: 1 if every value has everybody's.

    Plain sums of float64 from the left, so that it is the same in both languages.
    """
    having = 0.0
    for length, places in zip(lengths, contributors, strict=True):
        having += length * _added(weights[place] for place in places)
    everything = sum(lengths) * _added(weights)
    return having / everything if everything else 0.0


def _added(values: Iterable[float]) -> float:
    # Python's own sum of floats compensates rounding, JavaScript's does not.
    total = 0.0
    for value in values:
        total += value
    return total


def _commonest(digests: Iterable[bytes]) -> bytes:
    made = [digest for digest in digests if digest]
    return Counter(made).most_common(1)[0][0] if made else b""


def _among(
    ballot: Ballot, leader: int, answers: Mapping[int, MemberAnswer], troubles: Troubles, *, slow: bool
) -> GroupPlan | None:
    """Leaves members out, one after the other, until those left can go on in spite of their troubles."""
    alive = sorted(answers)
    while alive:
        left = {place: answers[place] for place in alive}
        step = _tried(ballot, left, troubles.among(alive, slow=slow))
        if isinstance(step, GroupPlan):
            return step
        if not step:
            return None
        alive.remove(_worst(alive, leader, step))
    return None


def _worst(places: Collection[int], leader: int, pairs: Collection[Collection[int]]) -> int:
    """Whom to go on without, because of gaps or of pairs in which the first complains of the second.

    Who complains of more than half of the others is blamed itself; else whom most complain of. Of two that
    cannot talk it is the one with more such gaps. Of equals it is the higher place, a leader after others.
    """
    told = [pair for pair in pairs if isinstance(pair, tuple)]
    blamed = Counter(place for pair in pairs for place in (pair[1:] if isinstance(pair, tuple) else pair))
    querulous = {
        by: times for by, times in Counter(by for by, _ in told).items() if 2 * times > len(places) - 1
    }
    ranks = querulous or blamed
    return max(ranks, key=lambda place: (ranks[place], place != leader, place))


def _tried(
    ballot: Ballot, answers: Mapping[int, MemberAnswer], troubles: Troubles
) -> GroupPlan | Collection[Collection[int]]:
    """The step of exactly these members, or the pairs because of which it is impossible.

    Nobody unfit stays. What is made goes round gaps and slow members. What is not made needs an owner that
    all can talk to, and nobody that is slow.
    """
    alive = tuple(answers)
    parts, weights, whole = known(answers)
    if troubles.unfit:
        return troubles.unfit
    kept = []
    for part, digest in enumerate(parts):
        holders = [place for place in alive if digest and answers[place].parts[part] == digest]
        if not holders and digest and whole:
            return ()
        for place in alive:
            apart = [one for one in holders if frozenset((place, one)) in troubles.gaps]
            if holders and place not in holders and len(apart) == len(holders):
                return troubles.gaps
        kept.append(digest if holders else b"")
    able = [place for place in alive if not any(place in gap for gap in troubles.gaps)]
    if not all(kept) and not able:
        return troubles.gaps
    if not all(kept) and troubles.slow:
        return troubles.slow
    able = able or list(alive)
    owners = tuple(part if part in able else able[part % len(able)] for part in range(len(parts)))
    return GroupPlan(ballot, alive, owners, tuple(kept), weights)
