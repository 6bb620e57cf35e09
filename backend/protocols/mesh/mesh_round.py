"""The open round of a mesh: its members, groups and results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from backend.protocols.mesh.coordinator_effects import SendMeshTrain
from backend.protocols.mesh.round_rules import MeshRoundRules
from backend.protocols.mesh.trainee import GroupResult, MeshMemberStage, Trainee
from backend.protocols.rounds.deadline import PlannedWork
from backend.protocols.rounds.phases import waits_until
from backend.wire.mesh_messages import Averaged, Group, Trained
from backend.wire.messages import Status

# Added to a group's time and patience, because reports need time to arrive.
REPORT_SECONDS = 2.0


@dataclass
class MeshRound:
    """The members of round `number`. Owned by the coordinator.

    They train until `until`; then those that trained average, and report until `reports_until`, or for the
    patience after the majority of each group. A member that lost its connection may come back within `grace`
    seconds. `agreed` are the weights that members proved to have agreed on, where the `rules` ask for that.
    """

    number: int
    version: int
    opened: float
    until: float
    members: dict[str, Trainee]
    grace: float
    rules: MeshRoundRules
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
            reporters = self.rules.reporters(group, self._reports(group))
            averaging += filter(self._averages, reporters)
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

    def forget_group(self, client: str, now: float) -> bool:
        """Takes that a member was started again; returns whether it had a group, which it does not know."""
        member = self.members.get(client)
        if member is None or member.standing is not MeshMemberStage.AVERAGING:
            return False
        member.restarted = True
        self.shorten_wait(now)
        return True

    def base_of(self, group: Group) -> str | None:
        """Returns the weights from which most members of a group trained; None if it has none of them."""
        counts = Counter(
            member.base for one in group.members if (member := self.members.get(one)) is not None
        )
        return counts.most_common(1)[0][0] if counts else None

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
        return self.rules.result(self._reports(group), self.agreed)

    def _reports(self, group: Group) -> dict[str, Averaged]:
        reports = {name: self.members[name].averaged for name in group.members}
        return {name: said for name, said in reports.items() if said is not None}

    def _averages(self, client: str) -> bool:
        member = self.members[client]
        return member.standing is MeshMemberStage.AVERAGING and not member.restarted


def works_of(members: Mapping[str, Trainee]) -> dict[str, PlannedWork]:
    """Returns the planned work of each member."""
    return {name: one.work for name, one in members.items()}
