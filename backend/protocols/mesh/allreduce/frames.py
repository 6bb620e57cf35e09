"""The frames of one group, from what the machine of a member knows (allreduce.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backend.protocols.mesh.allreduce.plan import Ballot, GroupPlan, MemberAnswer
from backend.wire.mesh_fields import Fault
from backend.wire.peer_messages import Ask, Begin, Change, Complain, Config, Decide, Give, GiveUp, Holds


@dataclass(frozen=True)
class GroupFrames:
    """All frames name the round and the group that they are of."""

    round: int
    group: int

    def begin(self, weight: float, commitments: list[bytes], key: bytes) -> Begin:
        """Weight, commitments and key, to all."""
        return Begin(self.round, self.group, weight, commitments, key)

    def holds(self, ballot: Ballot, answer: MemberAnswer) -> Holds:
        """What the sender holds, to the leader."""
        held, parts, weights = answer.held, list(answer.parts), list(answer.weights)
        return Holds(self.round, self.group, *ballot, held, parts, weights)

    def change(self, view: int, answer: MemberAnswer) -> Change:
        """Another leader is wanted, to all."""
        held, parts, weights = answer.held, list(answer.parts), list(answer.weights)
        return Change(self.round, self.group, view, held, parts, weights)

    def complain(self, place: int, fault: Fault, reason: str) -> Complain:
        """Of a member, to the leader."""
        return Complain(self.round, self.group, place, fault, reason)

    def ask(self, ballot: Ballot) -> Ask:
        """What do you hold?"""
        return Ask(self.round, self.group, *ballot)

    def config(self, plan: GroupPlan) -> Config:
        """The step as it is planned, to all."""
        alive, owners = list(plan.alive), list(plan.owners)
        return Config(
            self.round, self.group, *plan.ballot, alive, owners, list(plan.parts), list(plan.weights)
        )

    def give(self, ballot: Ballot, part: int, places: list[int]) -> Give:
        """Hand your mean of `part` on."""
        return Give(self.round, self.group, *ballot, part, places)

    def decide(self, plan: GroupPlan, answer: MemberAnswer, contributors: Sequence[Sequence[int]]) -> Decide:
        """The result, to all."""
        return Decide(
            self.round,
            self.group,
            *plan.ballot,
            list(plan.alive),
            list(answer.parts),
            [list(places) for places in contributors],
            list(answer.weights),
        )

    def give_up(self, view: int, reason: str) -> GiveUp:
        """No result for the sender, to all."""
        return GiveUp(self.round, self.group, view, reason)
