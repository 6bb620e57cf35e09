"""What a peer of a mesh has in hand of a round; `protocol/mesh/member-work.ts` is the mirror."""

from __future__ import annotations

from dataclasses import dataclass

from backend.protocols.client.participant_events import AbortTraining
from backend.protocols.mesh.member_events import AbortAveraging, GroupAveraged, GroupFailed, PlanTrained
from backend.wire import mesh_messages
from backend.wire.messages import Train


@dataclass(frozen=True)
class InHand:
    """`plan` is in hand until its round is over, and `group` from its order to its result.

    `trained` and `report` are what the server is told of each, until it needs no repetition of that.
    """

    plan: Train | None = None
    trained: mesh_messages.Trained | None = None
    group: mesh_messages.Group | None = None
    report: mesh_messages.Averaged | mesh_messages.Failed | None = None

    @property
    def is_work(self) -> bool:
        """Whether there is anything left to do before the round's report."""
        return self.group is not None or (self.plan is not None and self.report is None)

    @property
    def is_busy(self) -> bool:
        """Whether the peer trains or averages now."""
        return self.is_work and (self.trained is None or self.group is not None)

    def repeats(self, plan: Train) -> bool:
        """Whether the work for `plan` is in hand already."""
        mine = self.plan
        same = mine and (mine.round, mine.weights, mine.seed) == (plan.round, plan.weights, plan.seed)
        return bool(same) and self.report is None

    def told_of(self, event: PlanTrained) -> mesh_messages.Trained | None:
        """What the server is told of a training that is done; None if it was not asked for, or is known."""
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

    def awaits(self, order: mesh_messages.Group) -> bool:
        """Whether an order counts: once, and for what was trained."""
        trained = self.trained is not None and self.trained.round == order.round
        return trained and self.report is None and self.group is None

    def is_of(self, event: GroupAveraged | GroupFailed) -> bool:
        """Whether that is the end of the group in hand."""
        return self.group is not None and (self.group.round, self.group.group) == (event.round, event.group)

    def aborted(self) -> list[AbortTraining | AbortAveraging]:
        """What the host leaves where nothing of this is in hand any more."""
        if self.plan is not None and self.trained is None:
            return [AbortTraining()]
        return [AbortAveraging()] if self.group is not None else []
