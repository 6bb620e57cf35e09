"""The open round of a mesh: who trains, who averages with whom, and what came of it."""

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
from backend.wire.mesh_messages import Averaged, Group, Trained
from backend.wire.messages import Status

# Beyond a group's own time and its patience: reports are on their way.
REPORT_SECONDS = 2.0


class MeshMemberStage(StrEnum):
    """How far a member of the open round is."""

    TRAINING = "training"
    TRAINED = "trained"
    AVERAGING = "averaging"
    AVERAGED = "averaged"
    FAILED = "failed"
    OUT = "out"


@dataclass
class Trainee:
    """One member: what it is to do, from the weights `base`, and what it said of that."""

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
    """What one group ended with: `weights`, by the reports of `holders`."""

    weights: str
    holders: tuple[str, ...]


@dataclass
class MeshRound:
    """The members of round `number`. Owned by the coordinator.

    They train until `until`; then those who trained average, and report until `reports_until`. One that lost
    its connection may come back within `grace` seconds.
    """

    number: int
    version: int
    opened: float
    until: float
    members: dict[str, Trainee]
    grace: float
    groups: list[Group] = field(default_factory=list)
    reports_until: float = math.inf
    reasons: list[str] = field(default_factory=list)

    def timer(self) -> float:
        """When what is awaited now is over at the latest."""
        lost = (self.members[one].lost_at for one in self.awaited())
        return waits_until(self.deadline(), lost, self.grace)

    def deadline(self) -> float:
        """When what is awaited now is over, however many are connected."""
        return self.reports_until if self.groups else self.until

    def awaited(self) -> list[str]:
        """Members of whom something is due: to have trained or, once there are groups, to have averaged."""
        if not self.groups:
            return [name for name, one in self.members.items() if one.standing is MeshMemberStage.TRAINING]
        found: list[str] = []
        for group in self.groups:
            found += [one for one in self._survivors(group) if self._averages(one)]
        return found

    def counts(self) -> tuple[int, int]:
        """How many are in it, or in its groups, and how many of them are done."""
        inside = len(self.members)
        if self.groups:
            inside = sum(len(group.members) for group in self.groups)
        return inside, inside - len(self.awaited())

    def status(self, client: str) -> Status | None:
        """What a member does, in the wire's word; None of one that is out."""
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
        """The shards that each member was assigned."""
        return {client: member.shards for client, member in self.members.items()}

    def order(self, client: str, now: float) -> SendMeshTrain:
        """What a member is to do in the time that is left."""
        member, seconds = self.members[client], max(0.0, self.until - now)
        return SendMeshTrain(
            client, self.number, self.version, member.base, member.shards, member.seed, seconds
        )

    def returned(self, client: str) -> None:
        """A peer is connected (again)."""
        if client in self.members:
            self.members[client].lost_at = None

    def left(self, client: str, now: float, lost: bool) -> None:
        """A member stopped, or its connection to the server was lost: its group may go on all the same."""
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
        """What those said who can be in a group now."""
        return {
            name: one.trained
            for name, one in self.members.items()
            if one.standing is MeshMemberStage.TRAINED and one.lost_at is None and one.trained is not None
        }

    def begin(self, groups: list[Group], now: float) -> None:
        """The members of `groups` average from now on."""
        self.groups = groups
        self.reports_until = now + REPORT_SECONDS + max(one.seconds + 3 * one.patience for one in groups)
        for group in groups:
            for name in group.members:
                self.members[name].standing, self.members[name].group = MeshMemberStage.AVERAGING, group

    def results(self) -> list[GroupResult]:
        """Of each group that ended with a result what a majority of its survivors report, the most first."""
        found = [result for group in self.groups if (result := self._result(group)) is not None]
        return sorted(found, key=lambda one: -len(one.holders))

    def _result(self, group: Group) -> GroupResult | None:
        reports = {
            name: report for name in group.members if (report := self.members[name].averaged) is not None
        }
        counts = Counter((one.weights, tuple(sorted(set(one.survivors)))) for one in reports.values())
        for (weights, survivors), count in counts.most_common(1):
            if 2 * count > len(survivors):
                holders = (name for name, one in reports.items() if one.weights == weights)
                return GroupResult(weights, tuple(holders))
        return None

    def _survivors(self, group: Group) -> list[str]:
        """Those who may report a result: all, until somebody says who they are."""
        for name in group.members:
            if (report := self.members[name].averaged) is not None:
                return [group.members[place] for place in report.survivors]
        return group.members

    def _averages(self, client: str) -> bool:
        return self.members[client].standing is MeshMemberStage.AVERAGING


def objection(member: Trainee, said: Trained, rows: int) -> UpdateRefusedError | None:
    """Why what a member says that it trained cannot be; None if it can. `rows` are those of its metrics."""
    if said.base != member.base:
        return StaleRoundError(f"Round {said.round} trains other weights than those. Load the ones it names.")
    if error := too_much(member.work, said.examples, said.steps) or wrong_sums(len(said.sums), rows):
        return error
    try:
        check_finite("loss", [said.loss])
        check_finite("list of metric sums", chain.from_iterable(said.sums))
    except NotFiniteError as error:
        return error
    return None


def misreport(group: Group, client: str, said: Averaged) -> UpdateRefusedError | None:
    """Why what a member reports of its group cannot be; None if it can."""
    survivors = set(said.survivors)
    fits = len(survivors) == len(said.survivors) and all(place < len(group.members) for place in survivors)
    if not fits or len(survivors) < group.least or group.members.index(client) not in survivors:
        return BadExamplesError(f"These survivors cannot be: you and at least {group.least} of your group.")
    if not 0.0 < said.fraction <= 1.0 + 1e-9 or not 0.0 <= said.seconds < math.inf:
        return NotFiniteError("The fraction is above 0 and at most 1, and the seconds are not negative.")
    return None


def works_of(members: Mapping[str, Trainee]) -> dict[str, PlannedWork]:
    """What each is asked for."""
    return {name: one.work for name, one in members.items()}
