"""Plans a step of a group from its members' answers: members, owners of parts, senders of means.

Pure functions, with the checks of an order and of a `begin`. Places number the members, from 0. The twin is
protocol/allreduce/plan.ts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from backend.crypto.client_keys import usable
from backend.wire.mesh_fields import Fault
from backend.wire.mesh_messages import Group

# Of two members each could take its own values from the sum.
LEAST_MASKED = 3

# View and step. FIRST is the first step of the first view; NEVER means that nothing was accepted.
Ballot: TypeAlias = tuple[int, int]
NEVER: Ballot = (0, 0)
FIRST: Ballot = (0, 1)
# Ascending.
Places: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class MemberAnswer:
    """A member's digests by part, empty where it has no mean; it accepted them together at `ballot`."""

    ballot: Ballot
    parts: tuple[bytes, ...]
    weights: tuple[float, ...]


@dataclass
class Complaints:
    """Complaints of one view: pairs that cannot reach each other; slow or unfit members, and the accusers.

    In `slow` and `unfit` the first of a pair complains of the second. Owned by the leader.
    """

    unreachable: set[frozenset[int]] = field(default_factory=set)
    slow: set[tuple[int, int]] = field(default_factory=set)
    unfit: set[tuple[int, int]] = field(default_factory=set)

    def add(self, by: int, of: int, fault: Fault) -> bool:
        """Adds a complaint of one member about another; returns whether it is new."""
        if fault == "gone":
            pair = frozenset((by, of))
            is_new = pair not in self.unreachable
            self.unreachable.add(pair)
            return is_new
        pairs = self.slow if fault == "slow" else self.unfit
        is_new = (by, of) not in pairs
        pairs.add((by, of))
        return is_new

    def between(self, places: Collection[int], *, slow: bool) -> Complaints:
        """Those between two of `places`; of slow members only if `slow`."""
        members = set(places)
        return Complaints(
            {pair for pair in self.unreachable if pair <= members},
            {pair for pair in self.slow if slow and {*pair} <= members},
            {pair for pair in self.unfit if {*pair} <= members},
        )


@dataclass(frozen=True)
class GroupPlan:
    """One step of a group; the fields are those of the frame `config`.

    Only in the `first` step do members exchange in the order's own way.
    """

    ballot: Ballot
    alive: tuple[int, ...]
    owners: tuple[int, ...]
    parts: tuple[bytes, ...]
    weights: tuple[float, ...]
    first: bool = False


@dataclass(frozen=True)
class Handover:
    """The member at `sender` sends its mean of a part to `receiver`, which lacks it."""

    part: int
    sender: int
    receiver: int


# Checks.


def least_members(order: Group, place: int) -> int:
    """The fewest members that may finish. Raises ValueError where the order contradicts itself."""
    count, parts = len(order.members), len(order.bounds) - 1
    if parts != (1 if order.exchange == "full" else count) or not 0 <= place < count:
        raise ValueError("The group's bounds do not fit its members and its exchange.")
    masked = order.precision == "masked"
    if masked and (order.exchange, order.reducer) != ("butterfly", "mean"):
        raise ValueError("Masked pieces need the exchange butterfly and a plain mean.")
    least = max(order.least, count // 2 + 1, LEAST_MASKED if masked else 0)
    if count < least:
        raise ValueError(f"The group has {count} members and needs {least}.")
    return least


def begin_error(order: Group, weight: float, commitments: Sequence[bytes], key: bytes) -> str | None:
    """Why a member cannot begin with these; None if it can."""
    if not (math.isfinite(weight) and 0 < weight <= order.most_weight):
        return "Its weight is not above 0, or exceeds what the group allows."
    masked = order.precision == "masked"
    expected = 0 if order.exchange == "ring" or masked else len(order.bounds) - 1
    if len(commitments) != expected:
        return f"It committed to {len(commitments)} pieces instead of {expected}."
    if not (usable(key) if masked else key == b""):
        return "Its key is not of the kind that this group needs."
    return None


# Plans.


def first_plan(order: Group) -> GroupPlan:
    """The step that every group begins with: all members, and no mean yet."""
    count, parts = len(order.members), len(order.bounds) - 1
    members, owners = tuple(range(count)), tuple(range(parts))
    return GroupPlan(FIRST, members, owners, (b"",) * parts, (0.0,) * count, first=True)


def merge_answers(answers: Mapping[int, MemberAnswer]) -> tuple[tuple[bytes, ...], tuple[float, ...], bool]:
    """The means that the next step keeps, all known weights, and whether no mean may be replaced.

    The parts accepted at the highest ballot may have been decided, and are kept together. If nothing was
    accepted, each part's most common mean is kept, of equally common ones that of the lowest place.
    """
    places = sorted(answers)
    latest = max(answers[place].ballot for place in places)
    if latest != NEVER:
        accepted = [answers[place] for place in places if answers[place].ballot == latest]
        values = Counter((answer.parts, answer.weights) for answer in accepted)
        parts, weights = values.most_common(1)[0][0]
        return parts, weights, True
    columns = zip(*(answers[place].parts for place in places), strict=True)
    parts = tuple(_most_common(column) for column in columns)
    weights = tuple(
        next((weight for weight in column if weight > 0), 0.0)
        for column in zip(*(answers[place].weights for place in places), strict=True)
    )
    return parts, weights, False


def make_plan(
    ballot: Ballot,
    leader: int,
    least: int,
    answers: Mapping[int, MemberAnswer],
    complaints: Complaints,
) -> tuple[GroupPlan | None, bool]:
    """The next step of the members that answered; None if no `least` of them can finish together.

    Slow members are left out only if `least` others remain: the second value says whether they were. A plan
    without its `leader` means that the others have to finish without it.
    """
    for without_slow in (True, False):
        plan = _leave_out(ballot, leader, answers, complaints, without_slow=without_slow)
        if plan is not None and len(plan.alive) >= least:
            return plan, without_slow
    return None, False


def plan_handovers(
    plan: GroupPlan, answers: Mapping[int, MemberAnswer], complaints: Complaints
) -> list[Handover]:
    """The sender and receivers of each mean, so that all living members get all existing means.

    The owner of a part, which may have sent it already, comes first; else the load is spread. Slow pairs are
    avoided where another sender exists.
    """
    handovers = []
    for part, digest in enumerate(plan.parts):
        if digest:
            holders = [place for place in plan.alive if answers[place].parts[part] == digest]
            receivers = [place for place in plan.alive if answers[place].parts[part] != digest]
            for receiver in receivers:
                able = [
                    place for place in holders if frozenset((place, receiver)) not in complaints.unreachable
                ]
                fast = [
                    place for place in able if not {(place, receiver), (receiver, place)} & complaints.slow
                ]
                able = fast or able
                owner = plan.owners[part]
                sender = owner if owner in able else able[(part + receiver) % len(able)]
                handovers.append(Handover(part, sender, receiver))
    return handovers


def weight_fraction(
    lengths: Sequence[int], contributors: Sequence[Sequence[int]], weights: Sequence[float]
) -> float:
    """The share of all members' weight in a result: 1 if every value has every member's.

    Plain sums of float64 from the left, so that it is the same in both languages.
    """
    included = 0.0
    for length, places in zip(lengths, contributors, strict=True):
        included += length * _sum(weights[place] for place in places)
    total = sum(lengths) * _sum(weights)
    return included / total if total else 0.0


def _sum(values: Iterable[float]) -> float:
    # Python's own sum of floats compensates rounding, JavaScript's does not.
    total = 0.0
    for value in values:
        total += value
    return total


def _most_common(digests: Iterable[bytes]) -> bytes:
    made = [digest for digest in digests if digest]
    return Counter(made).most_common(1)[0][0] if made else b""


def _leave_out(
    ballot: Ballot,
    leader: int,
    answers: Mapping[int, MemberAnswer],
    complaints: Complaints,
    *,
    without_slow: bool,
) -> GroupPlan | None:
    """Leaves members out, one after the other, until the others can finish despite their complaints."""
    alive = sorted(answers)
    while alive:
        remaining = {place: answers[place] for place in alive}
        plan = _plan_of(ballot, remaining, complaints.between(alive, slow=without_slow))
        if isinstance(plan, GroupPlan):
            return plan
        if not plan:
            return None
        alive.remove(_most_blamed(alive, leader, plan))
    return None


def _most_blamed(places: Collection[int], leader: int, pairs: Collection[Collection[int]]) -> int:
    """The member to leave out, because of pairs that are unreachable or of which the first complains.

    A member that complains of more than half of the others is blamed itself; else the one that most complain
    of. Of an unreachable pair it is the member of more such pairs. Of equals it is the higher place, a leader
    after others.
    """
    complaints = [pair for pair in pairs if isinstance(pair, tuple)]
    blamed = Counter(place for pair in pairs for place in (pair[1:] if isinstance(pair, tuple) else pair))
    complainants = Counter(by for by, _ in complaints)
    frequent = {by: times for by, times in complainants.items() if 2 * times > len(places) - 1}
    ranks = frequent or blamed
    return max(ranks, key=lambda place: (ranks[place], place != leader, place))


def _plan_of(
    ballot: Ballot, answers: Mapping[int, MemberAnswer], complaints: Complaints
) -> GroupPlan | Collection[Collection[int]]:
    """Returns the step of exactly these members, or the pairs that prevent it (empty: no member can help).

    No unfit member stays. Means that are made go around unreachable pairs and slow members. A mean that is
    not made needs an owner that all can reach, and no slow member.
    """
    alive = tuple(answers)
    parts, weights, final = merge_answers(answers)
    if complaints.unfit:
        return complaints.unfit
    kept_digests = []
    for part, digest in enumerate(parts):
        holders = [place for place in alive if digest and answers[place].parts[part] == digest]
        if not holders and digest and final:
            return ()
        for place in alive:
            apart = [holder for holder in holders if frozenset((place, holder)) in complaints.unreachable]
            if holders and place not in holders and len(apart) == len(holders):
                return complaints.unreachable
        kept_digests.append(digest if holders else b"")
    able = [place for place in alive if not any(place in pair for pair in complaints.unreachable)]
    if not all(kept_digests) and not able:
        return complaints.unreachable
    if not all(kept_digests) and complaints.slow:
        return complaints.slow
    able = able or list(alive)
    owners = tuple(part if part in able else able[part % len(able)] for part in range(len(parts)))
    return GroupPlan(ballot, alive, owners, tuple(kept_digests), weights)
