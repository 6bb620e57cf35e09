"""A client's measurement of a version on held-out examples, without I/O; `evaluation.ts` is its mirror."""

from __future__ import annotations

from dataclasses import dataclass, replace

from backend.protocols.client.participant_events import AbortMeasuring, MeasureVersion, VersionMeasured
from backend.wire.messages import Evaluate, Evaluation


@dataclass(frozen=True)
class Exam:
    """What the server asked for last, and what was found. Without `order` nothing is in hand."""

    order: Evaluate | None = None
    evaluation: Evaluation | None = None

    @property
    def is_measuring(self) -> bool:
        """Whether the client still has to find it."""
        return self.order is not None and self.evaluation is None

    def is_of(self, order: Evaluate) -> bool:
        """Whether `order` is a repetition of what is in hand."""
        return self.order is not None and _named(self.order) == _named(order)

    def asked(self, order: Evaluate) -> tuple[Exam, list[AbortMeasuring | MeasureVersion]]:
        """The server asks for `order` instead."""
        _, aborted = self.forgotten()
        return Exam(order), [*aborted, MeasureVersion(order)]

    def measured(self, event: VersionMeasured) -> tuple[Exam, Evaluation | None]:
        """What the client found, for the server; None if it was not asked for, or is known already."""
        if not self.is_measuring or self.order is None or _named(self.order) != _named(event):
            return self, None
        found = Evaluation(
            round=event.round,
            version=event.version,
            examples=event.examples,
            loss=event.loss,
            sums=event.sums,
        )
        return replace(self, evaluation=found), found

    def forgotten(self, until: int | None = None) -> tuple[Exam, list[AbortMeasuring]]:
        """Nothing in hand, if that is of version `until` or an older one; None forgets any."""
        if self.order is None or (until is not None and self.order.version > until):
            return self, []
        return Exam(), [AbortMeasuring()] if self.is_measuring else []


def _named(one: Evaluate | VersionMeasured) -> tuple[int, int]:
    return one.round, one.version
