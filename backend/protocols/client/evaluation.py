"""A client's evaluation of a version on held-out examples, without I/O; `evaluation.ts` is its mirror."""

from __future__ import annotations

from dataclasses import dataclass, replace

from backend.protocols.client.participant_events import AbortMeasuring, MeasureVersion, VersionMeasured
from backend.wire.messages import Evaluate, Evaluation


@dataclass(frozen=True)
class AssignedEvaluation:
    """The evaluation that the server asked for last, and its `result`; `order` is None without any."""

    order: Evaluate | None = None
    result: Evaluation | None = None

    @property
    def is_measuring(self) -> bool:
        """Whether the result is outstanding."""
        return self.order is not None and self.result is None

    def is_of(self, order: Evaluate) -> bool:
        """Whether `order` repeats this one."""
        return self.order is not None and _named(self.order) == _named(order)

    def asked(self, order: Evaluate) -> tuple[AssignedEvaluation, list[AbortMeasuring | MeasureVersion]]:
        """Replaces the evaluation by that of `order`."""
        _, aborted = self.forgotten()
        return AssignedEvaluation(order), [*aborted, MeasureVersion(order)]

    def measured(self, event: VersionMeasured) -> tuple[AssignedEvaluation, Evaluation | None]:
        """Takes the client's result, and returns it for the server; None if it is not awaited."""
        if not self.is_measuring or self.order is None or _named(self.order) != _named(event):
            return self, None
        result = Evaluation(
            round=event.round,
            version=event.version,
            examples=event.examples,
            loss=event.loss,
            sums=event.sums,
        )
        return replace(self, result=result), result

    def forgotten(self, until: int | None = None) -> tuple[AssignedEvaluation, list[AbortMeasuring]]:
        """Discards an evaluation of version `until` or an older one; with None, of any version."""
        if self.order is None or (until is not None and self.order.version > until):
            return self, []
        return AssignedEvaluation(), [AbortMeasuring()] if self.is_measuring else []


def _named(one: Evaluate | VersionMeasured) -> tuple[int, int]:
    return one.round, one.version
