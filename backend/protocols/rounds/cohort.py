"""The cohort of the open round: tracks its members and what it waits for, and ends it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from backend.errors import StaleRoundError, UpdateRefusedError
from backend.protocols.rounds.attendance import Attendance, target_updates, with_reserve
from backend.protocols.rounds.cohort_member import CohortMember, CohortStage, objection
from backend.protocols.rounds.deadline import ClientSpeeds, PlannedWork
from backend.protocols.rounds.phases import waits_until
from backend.protocols.rounds.plan import RoundPlan
from backend.protocols.rounds.round_effects import AnnounceRound, Effect, RefuseUpdate, SendRoundTrain
from backend.protocols.rounds.shard_assignment import ShardAssigner, training_seed
from backend.wire.messages import Aggregation, Offer, Status

# How long newcomers may take, in multiples of the time of the clients whose updates count.
NEWCOMER_PATIENCE = 2.0
# The share of a masked cohort whose updates are needed: the sum of fewer could not be unmasked.
MASKED_SHARE = 0.7


@dataclass(frozen=True)
class MaskedGroup:
    """The members of a cohort whose updates are summed together, and how many of their updates are wanted."""

    clients: tuple[str, ...]
    wanted: int


@dataclass
class Cohort:
    """The members of round `number`, which trains `version`. Owned by the round machine.

    `aggregation` is how their updates are added up. A member that lost its connection may come back within
    `grace` seconds. The round ends with `wanted` accepted updates, when no member is outstanding, or at
    `until`; then `ended` is the time. In a masked round each of `groups` is summed alone: a group wants its
    own number of updates, and is complete without the others' help. Updates of newcomers do not count. The
    round waits for them for NEWCOMER_PATIENCE times as long as it took until `enough`, when it waited for
    nobody else any more.
    """

    number: int
    version: int
    available: int
    wanted: int
    opened: float
    until: float
    members: dict[str, CohortMember]
    grace: float
    aggregation: Aggregation = "open"
    groups: tuple[MaskedGroup, ...] = ()
    ended: float = math.inf
    enough: float = math.inf

    def timer(self) -> float | None:
        """When the round ends at the latest, given who is connected; None once it ended."""
        if self.ended < math.inf:
            return None
        lost = (member.lost_at for member in self.members.values() if member.outstanding)
        until = min(self.until, self.opened + NEWCOMER_PATIENCE * (self.enough - self.opened))
        return waits_until(until, lost, self.grace)

    def deadline(self) -> float | None:
        """When the round ends at the latest, regardless of connections; None once it ended."""
        return self.until if self.ended == math.inf else None

    def accepted(self) -> int:
        """The number of accepted updates that count."""
        return sum(
            member.standing is CohortStage.ACCEPTED and not member.newcomer
            for member in self.members.values()
        )

    def false_updates(self) -> int:
        """The number of members, newcomers left out, whose update was refused for a fault of its own."""
        return sum(member.sent_false_update and not member.newcomer for member in self.members.values())

    def counts(self) -> tuple[int, int]:
        """The number of members, and of those whose update was accepted or refused."""
        done = (CohortStage.ACCEPTED, CohortStage.REFUSED)
        return len(self.members), sum(member.standing in done for member in self.members.values())

    def status(self, client: str) -> Status | None:
        """What a member does, as it is reported to clients; None of a member that left."""
        member = self.members.get(client)
        match member.standing if member else CohortStage.GONE:
            case CohortStage.TRAINING | CohortStage.SENDING:
                return "training"
            case CohortStage.ACCEPTED:
                return "reported"
            case CohortStage.REFUSED:
                return "refused"
            case CohortStage.GONE:
                return None

    def assigned(self) -> dict[str, tuple[int, ...]]:
        """The shards that each member was assigned."""
        return {client: member.shards for client, member in self.members.items()}

    def complete(self, now: float) -> bool:
        """Whether enough updates are accepted and checked at `now`, or no member is outstanding.

        Each of several groups needs enough updates; newcomers are in no group.
        """
        if len(self.groups) > 1:
            return all(self._is_complete(group.clients, group.wanted) for group in self.groups)
        outstanding = [member for member in self.members.values() if member.outstanding]
        if not outstanding:
            return True
        known = [member for member in self.members.values() if not member.newcomer]
        waits = self.accepted() < self.wanted and any(member.outstanding for member in known)
        if not known or waits:
            return False
        self.enough = min(self.enough, now)
        return not any(member.newcomer for member in outstanding)

    def _is_complete(self, clients: tuple[str, ...], wanted: int) -> bool:
        members = [self.members[client] for client in clients]
        accepted = sum(member.standing is CohortStage.ACCEPTED for member in members)
        return accepted >= wanted or not any(member.outstanding for member in members)

    def opening_effects(self) -> list[Effect]:
        """Announces the round and sends each member its work."""
        seconds = self.until - self.opened
        cohort = tuple(self.members)
        most = max(member.work.examples for member in self.members.values())
        opened = AnnounceRound(
            self.number,
            self.version,
            cohort,
            self.available,
            self.wanted,
            seconds,
            self.aggregation,
            most,
            tuple(group.clients for group in self.groups),
        )
        return [opened, *(self.train_effect(client, self.opened) for client in cohort)]

    def train_effect(self, client: str, now: float) -> SendRoundTrain:
        """Sends a member its work, with the remaining time."""
        member, seconds = self.members[client], max(0.0, self.until - now)
        return SendRoundTrain(client, self.number, self.version, member.shards, member.seed, seconds)

    def objection(self, client: str, offer: Offer, plan: RoundPlan) -> UpdateRefusedError | None:
        """Returns why a member's offer is refused; None if it is not."""
        return objection(self.members[client], offer, self.version, plan, self.aggregation)

    def returned(self, client: str) -> None:
        """Notes that a client is connected (again)."""
        if client in self.members:
            self.members[client].lost_at = None

    def left(self, client: str, now: float, lost: bool) -> None:
        """Notes that a member stopped or lost its connection; the bytes that it sent are discarded."""
        member = self.members.get(client)
        if member is not None and member.standing in (CohortStage.TRAINING, CohortStage.SENDING):
            member.standing = CohortStage.TRAINING if lost else CohortStage.GONE
            member.lost_at, member.offer = now, None

    def end(self, now: float, attendance: Attendance, speeds: ClientSpeeds) -> list[Effect]:
        """Ends the round: refuses incomplete updates, and suspends members that missed the deadline."""
        self.ended = now
        late = StaleRoundError(f"Round {self.number} ended before your update was complete.")
        refusals: list[Effect] = []
        for client, member in self.members.items():
            if member.standing is CohortStage.SENDING:
                refusals.append(RefuseUpdate(client, self.number, late))
            if (now < self.until and not member.newcomer) or client not in attendance:
                continue
            if member.standing is CohortStage.TRAINING:
                attendance.suspend(client)
            if member.standing in (CohortStage.TRAINING, CohortStage.SENDING):
                speeds.missed(client, member.work.examples, now - self.opened)
        return refusals


def open_cohort(
    plan: RoundPlan,
    attendance: Attendance,
    speeds: ClientSpeeds,
    assigner: ShardAssigner | None,
    aggregation: Aggregation,
    number: int,
    version: int,
    now: float,
) -> Cohort:
    """Selects the members of round `number` at time `now`, assigns their work, and sets the deadline.

    `aggregation` is how all their updates are added up. Without an `assigner` clients train on their own
    examples.
    """
    available = attendance.available_for(aggregation)
    goal = target_updates(available, plan.fraction_train, plan.min_train_clients)
    count = with_reserve(goal, available, plan.over_selection)
    if aggregation == "masked":
        count = min(count, plan.most_masked)
        goal = min(count, max(goal, math.ceil(MASKED_SHARE * count)))
    count, seats = _seats(plan, available, count, attendance.newcomers)
    known = attendance.select(count, f"train/{number}", aggregation)
    groups = _masked_groups(known, plan, attendance, number, goal) if aggregation == "masked" else ()
    goal = sum(group.wanted for group in groups) or goal
    newcomers = attendance.select_newcomers(seats, f"newcomers/{number}")
    clients = tuple(sorted((*known, *newcomers)))
    for client in clients:
        attendance.took_part(client)
    members = _members(clients, plan, attendance, assigner, number)
    seconds = plan.deadline
    if plan.adaptive_deadline:
        works = {client: members[client].work for client in known or clients}
        seconds = speeds.seconds(works, plan.quorum, plan.min_deadline, plan.deadline)
    until = now + seconds
    return Cohort(number, version, available, goal, now, until, members, plan.grace, aggregation, groups)


def _masked_groups(
    clients: tuple[str, ...], plan: RoundPlan, attendance: Attendance, number: int, goal: int
) -> tuple[MaskedGroup, ...]:
    """Splits the selected `clients` by lot, now that no client can change who they are.

    A whole cohort wants `goal` updates, a group as many as it needs at least.
    """
    if plan.masked_groups == 1:
        return (MaskedGroup(clients, goal),)
    groups = attendance.groups(clients, plan.masked_groups, f"groups/{number}")
    return tuple(
        MaskedGroup(group, max(plan.least_masked, math.ceil(MASKED_SHARE * len(group)))) for group in groups
    )


def _seats(plan: RoundPlan, available: int, count: int, newcomers: int) -> tuple[int, int]:
    """Returns how many of `available` clients, of which a round wants `count`, and of newcomers it selects.

    Newcomers are a share of the cohort, unless too few others are there for a round: then newcomers fill it,
    without the others if those are fewer than the quorum, whose work would be in vain.
    """
    if not newcomers or available >= plan.min_available_clients:
        return count, min(newcomers, plan.newcomer_seats(count))
    everyone = available + newcomers
    goal = target_updates(everyone, plan.fraction_train, plan.min_train_clients)
    total = with_reserve(goal, everyone, plan.over_selection)
    selected = count if available >= plan.quorum else 0
    return selected, min(newcomers, max(plan.newcomer_seats(selected), total - selected))


def _members(
    clients: tuple[str, ...],
    plan: RoundPlan,
    attendance: Attendance,
    assigner: ShardAssigner | None,
    number: int,
) -> dict[str, CohortMember]:
    sizes, members = plan.shard_examples, dict[str, CohortMember]()
    sharing = attendance.available + attendance.newcomers
    assigned = assigner.assign(clients, sharing) if assigner else {}
    for client in clients:
        connected, shards = attendance[client], assigned.get(client, ())
        examples = sum(sizes[shard] for shard in shards) if sizes else connected.examples
        work = PlannedWork(plan.most_examples(examples), plan.most_steps(examples), connected.step_ms)
        seed = training_seed(client, number, plan.seed)
        members[client] = CohortMember(shards, seed, work, connected.household, connected.newcomer)
    return members
