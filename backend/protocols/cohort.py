"""The open round: its members, what it waits for, and how it ends."""

from __future__ import annotations

import math
from dataclasses import dataclass

from backend.errors import StaleRoundError, UpdateRefusedError
from backend.protocols.assignment import Dealer, training_seed
from backend.protocols.deadline import Speeds, Work
from backend.protocols.effects import Effect, Opened, Refuse, SendTrain
from backend.protocols.member import Member, Standing, objection
from backend.protocols.phases import waits_until
from backend.protocols.plan import Plan
from backend.protocols.roster import Roster, wanted, with_reserve
from backend.wire.messages import Offer


@dataclass
class Cohort:
    """The members of round `number`, which trains `version`. Owned by the machine of the rounds.

    It ends with `wanted` accepted updates, when nobody is left to wait for, or at `until`; then `ended` says
    when it did.
    """

    number: int
    version: int
    available: int
    wanted: int
    opened: float
    until: float
    members: dict[str, Member]
    ended: float = math.inf

    def timer(self) -> float:
        """When it is over at the latest."""
        return waits_until(self.until, (one.lost_at for one in self.members.values() if one.outstanding))

    def accepted(self) -> int:
        """How many updates count."""
        return sum(member.standing is Standing.ACCEPTED for member in self.members.values())

    def reported(self) -> int:
        """Members whose update was accepted or refused."""
        done = (Standing.ACCEPTED, Standing.REFUSED)
        return sum(member.standing in done for member in self.members.values())

    def complete(self) -> bool:
        """Whether nothing more is wanted or to be waited for."""
        awaited = any(member.outstanding for member in self.members.values())
        return not awaited or self.accepted() >= self.wanted

    def orders(self) -> list[Effect]:
        """What is told at its beginning."""
        seconds = self.until - self.opened
        cohort = tuple(self.members)
        opened = Opened(self.number, self.version, cohort, self.available, self.wanted, seconds)
        return [opened, *(self.order(client, self.opened) for client in cohort)]

    def order(self, client: str, now: float) -> SendTrain:
        """What a member is to do in the time that is left."""
        member, seconds = self.members[client], max(0.0, self.until - now)
        return SendTrain(client, self.number, self.version, member.shards, member.seed, seconds)

    def objection(self, client: str, offer: Offer, plan: Plan) -> UpdateRefusedError | None:
        """Why a member's offer cannot be taken; None if it can."""
        return objection(self.members[client], offer, self.version, plan)

    def left(self, client: str, now: float, lost: bool) -> None:
        """A member stopped, or its connection was lost. Bytes sent so far are forgotten with it."""
        member = self.members.get(client)
        if member is not None and member.standing in (Standing.TRAINING, Standing.SENDING):
            member.standing = Standing.TRAINING if lost else Standing.GONE
            member.lost_at, member.offer = now, None

    def end(self, now: float, roster: Roster, speeds: Speeds) -> list[Effect]:
        """Refuses what is incomplete. Members who were silent until the deadline are noted as such."""
        self.ended = now
        late = StaleRoundError(f"Round {self.number} ended before your update was complete.")
        refusals: list[Effect] = []
        for client, member in self.members.items():
            if member.standing in (Standing.SENDING, Standing.CHECKING):
                refusals.append(Refuse(client, self.number, late))
            if now < self.until or client not in roster:
                continue
            if member.standing is Standing.TRAINING:
                roster.silent(client)
            if member.standing in (Standing.TRAINING, Standing.SENDING):
                speeds.missed(client, member.work.examples, now - self.opened)
        return refusals


def open_cohort(
    plan: Plan,
    roster: Roster,
    speeds: Speeds,
    dealer: Dealer | None,
    number: int,
    version: int,
    now: float,
) -> Cohort:
    """Chooses who is in round `number`, what each does, and how long it may last.

    Without a `dealer` clients train on their own examples.
    """
    available = roster.available
    goal = wanted(available, plan.fraction_train, plan.min_train_clients)
    count = with_reserve(goal, available, plan.over_selection)
    clients = roster.choose(count, f"{plan.seed}/train/{number}")
    for client in clients:
        roster.took_part(client)
    members = _members(clients, plan, roster, dealer, number)
    seconds = plan.deadline
    if plan.adaptive_deadline:
        works = {client: member.work for client, member in members.items()}
        seconds = speeds.seconds(works, plan.quorum, plan.min_deadline, plan.deadline)
    return Cohort(number, version, available, goal, now, now + seconds, members)


def _members(
    clients: tuple[str, ...], plan: Plan, roster: Roster, dealer: Dealer | None, number: int
) -> dict[str, Member]:
    sizes, members = plan.shard_examples, dict[str, Member]()
    parts = dealer.deal(clients, roster.available) if dealer else {}
    for client in clients:
        present, shards = roster[client], parts.get(client, ())
        examples = sum(sizes[shard] for shard in shards) if sizes else present.examples
        work = Work(plan.most_examples(examples), plan.most_steps(examples), present.step_ms)
        members[client] = Member(shards, training_seed(client, number, plan.seed), work)
    return members
