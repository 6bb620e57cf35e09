"""The open round: its members, what it waits for, and how it ends."""

from __future__ import annotations

import math
from dataclasses import dataclass

from backend.errors import StaleRoundError, UpdateRefusedError
from backend.protocols.rounds.attendance import Attendance, wanted, with_reserve
from backend.protocols.rounds.cohort_member import CohortMember, CohortStage, objection
from backend.protocols.rounds.deadline import PlannedWork, Speeds
from backend.protocols.rounds.phases import waits_until
from backend.protocols.rounds.plan import RoundPlan
from backend.protocols.rounds.round_effects import AnnounceRound, Effect, RefuseUpdate, SendRoundTrain
from backend.protocols.rounds.shard_assignment import ShardAssigner, training_seed
from backend.wire.messages import Aggregation, Offer, Status

# Of those in a masked round at least so many updates are awaited: with fewer their sum could not be unmasked.
STAYING = 0.7


@dataclass
class Cohort:
    """The members of round `number`, which trains `version`. Owned by the machine of the rounds.

    Their updates are added up by `aggregation`. One that lost its connection may come back within `grace`
    seconds.
    It ends with `wanted` accepted updates, when nobody is left to wait for, or at `until`; then `ended` says
    when it did.
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
    ended: float = math.inf

    def timer(self) -> float | None:
        """When it is over at the latest; None once it is."""
        if self.ended < math.inf:
            return None
        lost = (one.lost_at for one in self.members.values() if one.outstanding)
        return waits_until(self.until, lost, self.grace)

    def deadline(self) -> float | None:
        """When it is over, however many are connected; None once it is."""
        return self.until if self.ended == math.inf else None

    def accepted(self) -> int:
        """How many updates count."""
        return sum(member.standing is CohortStage.ACCEPTED for member in self.members.values())

    def counts(self) -> tuple[int, int]:
        """How many are in it, and of how many the update was accepted or refused."""
        done = (CohortStage.ACCEPTED, CohortStage.REFUSED)
        return len(self.members), sum(member.standing in done for member in self.members.values())

    def status(self, client: str) -> Status | None:
        """What a member does, in the wire's word; None of one that left."""
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

    def dealt(self) -> dict[str, tuple[int, ...]]:
        """The shards that each member was dealt."""
        return {client: member.shards for client, member in self.members.items()}

    def complete(self) -> bool:
        """Whether nothing more is wanted or to be waited for."""
        awaited = any(member.outstanding for member in self.members.values())
        return not awaited or self.accepted() >= self.wanted

    def orders(self) -> list[Effect]:
        """What is told at its beginning."""
        seconds = self.until - self.opened
        cohort = tuple(self.members)
        most = max(member.work.examples for member in self.members.values())
        opened = AnnounceRound(
            self.number, self.version, cohort, self.available, self.wanted, seconds, self.aggregation, most
        )
        return [opened, *(self.order(client, self.opened) for client in cohort)]

    def order(self, client: str, now: float) -> SendRoundTrain:
        """What a member is to do in the time that is left."""
        member, seconds = self.members[client], max(0.0, self.until - now)
        return SendRoundTrain(client, self.number, self.version, member.shards, member.seed, seconds)

    def objection(self, client: str, offer: Offer, plan: RoundPlan) -> UpdateRefusedError | None:
        """Why a member's offer cannot be taken; None if it can."""
        return objection(self.members[client], offer, self.version, plan, self.aggregation)

    def returned(self, client: str) -> None:
        """A client is connected (again)."""
        if client in self.members:
            self.members[client].lost_at = None

    def left(self, client: str, now: float, lost: bool) -> None:
        """A member stopped, or its connection was lost. Bytes sent so far are forgotten with it."""
        member = self.members.get(client)
        if member is not None and member.standing in (CohortStage.TRAINING, CohortStage.SENDING):
            member.standing = CohortStage.TRAINING if lost else CohortStage.GONE
            member.lost_at, member.offer = now, None

    def end(self, now: float, attendance: Attendance, speeds: Speeds) -> list[Effect]:
        """Refuses what is incomplete. Members who were silent until the deadline are noted as such."""
        self.ended = now
        late = StaleRoundError(f"Round {self.number} ended before your update was complete.")
        refusals: list[Effect] = []
        for client, member in self.members.items():
            if member.standing is CohortStage.SENDING:
                refusals.append(RefuseUpdate(client, self.number, late))
            if now < self.until or client not in attendance:
                continue
            if member.standing is CohortStage.TRAINING:
                attendance.silent(client)
            if member.standing in (CohortStage.TRAINING, CohortStage.SENDING):
                speeds.missed(client, member.work.examples, now - self.opened)
        return refusals


def open_cohort(
    plan: RoundPlan,
    attendance: Attendance,
    speeds: Speeds,
    dealer: ShardAssigner | None,
    aggregation: Aggregation,
    number: int,
    version: int,
    now: float,
) -> Cohort:
    """Chooses who is in round `number`, what each does, and how long it may last.

    All their updates are added up by `aggregation`. Without a `dealer` clients train on their own examples.
    """
    available = attendance.available_for(aggregation)
    goal = wanted(available, plan.fraction_train, plan.min_train_clients)
    count = with_reserve(goal, available, plan.over_selection)
    if aggregation == "masked":
        count = min(count, plan.most_masked)
        goal = min(count, max(goal, math.ceil(STAYING * count)))
    clients = attendance.choose(count, f"{plan.seed}/train/{number}", aggregation)
    for client in clients:
        attendance.took_part(client)
    members = _members(clients, plan, attendance, dealer, number)
    seconds = plan.deadline
    if plan.adaptive_deadline:
        works = {client: member.work for client, member in members.items()}
        seconds = speeds.seconds(works, plan.quorum, plan.min_deadline, plan.deadline)
    return Cohort(number, version, available, goal, now, now + seconds, members, plan.grace, aggregation)


def _members(
    clients: tuple[str, ...],
    plan: RoundPlan,
    attendance: Attendance,
    dealer: ShardAssigner | None,
    number: int,
) -> dict[str, CohortMember]:
    sizes, members = plan.shard_examples, dict[str, CohortMember]()
    parts = dealer.deal(clients, attendance.available) if dealer else {}
    for client in clients:
        present, shards = attendance[client], parts.get(client, ())
        examples = sum(sizes[shard] for shard in shards) if sizes else present.examples
        work = PlannedWork(plan.most_examples(examples), plan.most_steps(examples), present.step_ms)
        members[client] = CohortMember(shards, training_seed(client, number, plan.seed), work)
    return members
