"""The open round of a mesh: its members, groups and results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain

from backend.errors import (
    BadExamplesError,
    NotFiniteError,
    StaleRoundError,
    UpdateRefusedError,
)
from backend.numerics.aggregation.update_checks import check_finite
from backend.protocols.mesh.coordinator_effects import SendMeshTrain
from backend.protocols.rounds.cohort_member import too_much, wrong_sums
from backend.protocols.rounds.deadline import PlannedWork
from backend.protocols.rounds.phases import waits_until
from backend.protocols.rounds.plan import RoundPlan
from backend.wire.mesh_messages import Averaged, Group, Trained
from backend.wire.messages import Status

# Added to a group's time and patience, because reports need time to arrive.
REPORT_SECONDS = 2.0


class MeshMemberStage(StrEnum):
    """The progress of a member of the open round."""

    TRAINING = "training"
    TRAINED = "trained"
    AVERAGING = "averaging"
    AVERAGED = "averaged"
    FAILED = "failed"
    OUT = "out"


@dataclass
class Trainee:
    """One member: its work, from the weights `base`, and its reports."""

    base: str
    shards: tuple[int, ...]
    seed: int
    work: PlannedWork
    standing: MeshMemberStage = MeshMemberStage.TRAINING
    lost_at: float | None = None
    trained: Trained | None = None
    group: Group | None = None
    averaged: Averaged | None = None


@dataclass(frozen=True)
class GroupResult:
    """The result of one group: `weights`, by the reports of `holders`."""

    weights: str
    holders: tuple[str, ...]


@dataclass
class MeshRound:
    """The members of round `number`. Owned by the coordinator.

    They train until `until`; then those that trained average, and report until `reports_until`, or for the
    patience after the majority of each group. A member that lost its connection may come back within `grace`
    seconds. In a `byzantine` mesh the result is what its members proved that they `agreed` on, whatever
    reports say.
    """

    number: int
    version: int
    opened: float
    until: float
    members: dict[str, Trainee]
    grace: float
    byzantine: bool = False
    agreed: str | None = None
    groups: list[Group] = field(default_factory=list)
    reports_until: float = math.inf
    reasons: list[str] = field(default_factory=list)

    def timer(self) -> float:
        """Returns when the wait of the current stage ends; lost members may come back within `grace`."""
        lost = (self.members[client].lost_at for client in self.awaited())
        return waits_until(self.deadline(), lost, self.grace)

    def deadline(self) -> float:
        """Returns the deadline of the current stage, whether members are connected or not."""
        return self.reports_until if self.groups else self.until

    def awaited(self) -> list[str]:
        """Returns the members whose report is due: of training or, with groups, of averaging."""
        if not self.groups:
            return [name for name, one in self.members.items() if one.standing is MeshMemberStage.TRAINING]
        averaging: list[str] = []
        for group in self.groups:
            averaging += [client for client in self._survivors(group) if self._averages(client)]
        return averaging

    def counts(self) -> tuple[int, int]:
        """Returns the number of members (with groups, of those in groups), and how many of them are done."""
        inside = len(self.members)
        if self.groups:
            inside = sum(len(group.members) for group in self.groups)
        return inside, inside - len(self.awaited())

    def status(self, client: str) -> Status | None:
        """Returns the status of a member as on the wire; None if it is out."""
        member = self.members.get(client)
        match member.standing if member else MeshMemberStage.OUT:
            case MeshMemberStage.TRAINING:
                return "training"
            case MeshMemberStage.TRAINED | MeshMemberStage.AVERAGING | MeshMemberStage.AVERAGED:
                return "reported"
            case MeshMemberStage.FAILED:
                return "refused"
            case MeshMemberStage.OUT:
                return None

    def assigned(self) -> dict[str, tuple[int, ...]]:
        """Returns the shards that each member was assigned."""
        return {client: member.shards for client, member in self.members.items()}

    def order(self, client: str, now: float) -> SendMeshTrain:
        """Returns the order to train in the remaining time."""
        member, seconds = self.members[client], max(0.0, self.until - now)
        return SendMeshTrain(
            client, self.number, self.version, member.base, member.shards, member.seed, seconds
        )

    def returned(self, client: str) -> None:
        """Takes the connection of a peer."""
        if client in self.members:
            self.members[client].lost_at = None

    def left(self, client: str, now: float, lost: bool) -> None:
        """Takes that a member stopped, or lost its connection to the server; its group may continue."""
        member = self.members.get(client)
        if member is None:
            return
        member.lost_at = now
        if not lost and member.standing in (
            MeshMemberStage.TRAINING,
            MeshMemberStage.TRAINED,
            MeshMemberStage.AVERAGING,
        ):
            member.standing = MeshMemberStage.OUT

    def trained(self) -> dict[str, Trained]:
        """Returns the reports of the members that can join a group now."""
        return {
            name: one.trained
            for name, one in self.members.items()
            if one.standing is MeshMemberStage.TRAINED and one.lost_at is None and one.trained is not None
        }

    def begin(self, groups: list[Group], now: float) -> None:
        """Starts averaging in `groups`."""
        self.groups = groups
        self.reports_until = now + REPORT_SECONDS + max(one.seconds + 3 * one.patience for one in groups)
        for group in groups:
            for name in group.members:
                self.members[name].standing, self.members[name].group = MeshMemberStage.AVERAGING, group

    def shorten_wait(self, now: float) -> None:
        """Waits only for the patience once the result of each group with outstanding reports is certain.

        A majority of its survivors reported it, so the others can only add their part to the record.
        """
        certain = (self._result(one) or not any(map(self._averages, one.members)) for one in self.groups)
        if self.groups and all(certain):
            patience = max(group.patience for group in self.groups)
            self.reports_until = min(self.reports_until, now + patience)

    def silent(self) -> list[str]:
        """Returns the members that reported neither a result of their group nor that it has none."""
        return [client for group in self.groups for client in group.members if self._averages(client)]

    def results(self) -> list[GroupResult]:
        """Returns each group's result that a majority of its survivors report, most holders first."""
        results = [result for group in self.groups if (result := self._result(group)) is not None]
        return sorted(results, key=lambda result: -len(result.holders))

    def _result(self, group: Group) -> GroupResult | None:
        reports = {
            name: report for name in group.members if (report := self.members[name].averaged) is not None
        }
        if self.byzantine:
            agreed = tuple(name for name, one in reports.items() if one.weights == self.agreed)
            return GroupResult(self.agreed, agreed) if self.agreed is not None and agreed else None
        counts = Counter((one.weights, tuple(sorted(set(one.survivors)))) for one in reports.values())
        for (weights, survivors), count in counts.most_common(1):
            if 2 * count > len(survivors):
                holders = (name for name, one in reports.items() if one.weights == weights)
                return GroupResult(weights, tuple(holders))
        return None

    def _survivors(self, group: Group) -> list[str]:
        """Returns the members that may report a result: all, until a report names the survivors.

        In a Byzantine mesh one report keeps nobody from reporting.
        """
        if self.byzantine:
            return group.members
        for name in group.members:
            if (report := self.members[name].averaged) is not None:
                return [group.members[place] for place in report.survivors]
        return group.members

    def _averages(self, client: str) -> bool:
        return self.members[client].standing is MeshMemberStage.AVERAGING


def objection(
    member: Trainee, said: Trained, rows: int, byzantine: bool = False
) -> UpdateRefusedError | None:
    """Returns why a training report is invalid, or None. `rows` is the number of metric rows.

    In a `byzantine` mesh the members agree on the weights to train from, and validators train nothing.
    """
    if said.base != member.base and not byzantine:
        return StaleRoundError(f"Round {said.round} trains other weights than those. Load the ones it names.")
    idle = byzantine and said.examples == said.steps == len(said.sums) == 0
    if not idle and (error := _impossible(member.work, said, rows)):
        return error
    try:
        check_finite("loss", [said.loss])
        check_finite("list of metric sums", chain.from_iterable(said.sums))
    except NotFiniteError as error:
        return error
    return None


def _impossible(work: PlannedWork, said: Trained, rows: int) -> UpdateRefusedError | None:
    return too_much(work, said.examples, said.steps) or wrong_sums(len(said.sums), rows)


def misreport(
    group: Group, client: str, said: Averaged, byzantine: bool = False
) -> UpdateRefusedError | None:
    """Returns why a report on a group is invalid, or None.

    In a `byzantine` mesh also a member that made no part of the result holds it: newcomers, and who rests.
    """
    survivors = set(said.survivors)
    fits = len(survivors) == len(said.survivors) and all(place < len(group.members) for place in survivors)
    stranger = not byzantine and group.members.index(client) not in survivors
    if not fits or len(survivors) < group.least or stranger:
        return BadExamplesError(
            f"These survivors are impossible: name yourself and at least {group.least} of your group."
        )
    if not 0.0 < said.fraction <= 1.0 + 1e-9 or not 0.0 <= said.seconds < math.inf:
        return NotFiniteError("The fraction is above 0 and at most 1, and the seconds are not negative.")
    return None


def works_of(members: Mapping[str, Trainee]) -> dict[str, PlannedWork]:
    """Returns the planned work of each member."""
    return {name: one.work for name, one in members.items()}


def planned_work(plan: RoundPlan, examples: int, step_ms: float, byzantine: bool) -> PlannedWork:
    """Returns the most that a member with so many `examples` can do in a round.

    In a `byzantine` mesh a coin draws its examples, not the server, and it does the same steps in any case.
    """
    if byzantine:
        return PlannedWork(plan.steps * plan.batch_size, plan.steps, step_ms)
    return PlannedWork(plan.most_examples(examples), plan.most_steps(examples), step_ms)
