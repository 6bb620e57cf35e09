"""The work that a mesh peer has in hand for one round; the twin is `protocol/mesh/member-work.ts`."""

from __future__ import annotations

from dataclasses import dataclass

from backend.protocols.client.participant_events import AbortTraining
from backend.protocols.mesh.member_events import AbortAveraging, GroupAveraged, GroupFailed, PlanTrained
from backend.wire import mesh_messages
from backend.wire.messages import Train


@dataclass(frozen=True)
class MemberWork:
    """The work in hand: `plan` until its round is over, and `group` from its order to its result.

    `trained` and `report` are the reports to the server of either, until they need no repetition.
    """

    plan: Train | None = None
    trained: mesh_messages.Trained | None = None
    group: mesh_messages.Group | None = None
    report: mesh_messages.Averaged | mesh_messages.Failed | None = None

    @property
    def is_work(self) -> bool:
        """Whether the round has work left before its report."""
        return self.group is not None or (self.plan is not None and self.report is None)

    @property
    def is_busy(self) -> bool:
        """Whether the peer trains or averages now."""
        return self.is_work and (self.trained is None or self.group is not None)

    def repeats(self, plan: Train) -> bool:
        """Whether the peer is already working on `plan`."""
        current = self.plan
        same = current and (current.round, current.weights, current.seed) == (
            plan.round,
            plan.weights,
            plan.seed,
        )
        return bool(same) and self.report is None

    def trained_report(self, event: PlanTrained) -> mesh_messages.Trained | None:
        """Returns the report of a finished training; None if not asked for, or already reported."""
        plan = self.plan
        if plan is None or self.trained is not None or event.round != plan.round:
            return None
        return mesh_messages.Trained(
            round=event.round,
            base=plan.weights,
            examples=event.examples,
            steps=event.steps,
            loss=event.loss,
            sums=event.sums,
        )

    def accepts_order(self, order: mesh_messages.Group) -> bool:
        """Whether an order is accepted: once, and only after training in its round."""
        trained = self.trained is not None and self.trained.round == order.round
        return trained and self.report is None and self.group is None

    def ends_group(self, event: GroupAveraged | GroupFailed) -> bool:
        """Whether the event ends the group in hand."""
        return self.group is not None and (self.group.round, self.group.group) == (event.round, event.group)

    def abort_effects(self) -> list[AbortTraining | AbortAveraging]:
        """Returns the effects that end the work in hand."""
        if self.plan is not None and self.trained is None:
            return [AbortTraining()]
        return [AbortAveraging()] if self.group is not None else []
