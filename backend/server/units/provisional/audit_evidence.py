"""Keeps what an audit is compared with: the hash of each provisional result that may be repeated."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from backend.numerics.aggregation.figure_agreement import Figures
from backend.numerics.vectors import Vector, to_bytes
from backend.protocols.units.rules import Verdict
from backend.protocols.units.scheduler_effects import LeaseId
from backend.server.units.parameters.snapshots import SnapshotStore
from backend.server.units.state import LeasedUnit


@dataclass
class ResultEvidence:
    """A result: its `update` [P] until its SHA-256 is known, its steps and figures, and its program."""

    steps: int
    figures: Figures
    program: str | None
    update: Vector | None
    sha256: bytes | None = None

    def hashed(self) -> bytes:
        """Returns the SHA-256 of the update, which is released."""
        update = self.update
        if update is not None:
            self.sha256 = hashlib.sha256(to_bytes(update)).digest()
            self.update = None
        return self.sha256 or b""

    def is_same(self, other: ResultEvidence) -> bool:
        """Whether two results are equal to the last bit, with all that they report."""
        reported = (self.steps, self.figures) == (other.steps, other.figures)
        return reported and self.hashed() == other.hashed()


class AuditEvidence:
    """Owns the evidence of provisional results, and holds the weights that they were trained from."""

    def __init__(self, snapshots: SnapshotStore) -> None:
        self._snapshots = snapshots
        self._of_lease: dict[LeaseId, ResultEvidence] = {}

    def __len__(self) -> int:
        return len(self._of_lease)

    def keep(self, lease: LeaseId, work: LeasedUnit) -> None:
        """Keeps a result until `forget`. Raises KeyError unless its unit still holds its weights."""
        self._snapshots.hold_too(_holder(lease), work.grant.base)
        self._of_lease[lease] = _evidence_of(work)

    def hash(self, lease: LeaseId) -> None:
        """Hashes a kept result, in any thread: its vector need not be kept then."""
        if (kept := self._of_lease.get(lease)) is not None:
            kept.hashed()

    def forget(self, lease: LeaseId) -> None:
        """Forgets a result that is not audited any more."""
        if self._of_lease.pop(lease, None) is not None:
            self._snapshots.release(_holder(lease))

    def verdict(self, lease: LeaseId, audit: LeasedUnit) -> Verdict:
        """Returns what a trusted peer's result says of the kept one: INVALID if they differ by a bit.

        UNDECIDED without evidence, and if they were made by different programs.
        """
        kept, found = self._of_lease.get(lease), _evidence_of(audit)
        if kept is None or kept.program is None or kept.program != found.program:
            return Verdict.UNDECIDED
        return Verdict.VALID if kept.is_same(found) else Verdict.INVALID


def _evidence_of(work: LeasedUnit) -> ResultEvidence:
    result = work.result
    if result is None:
        return ResultEvidence(0, Figures(), work.program, work.update)
    return ResultEvidence(result.steps, Figures(result.loss, tuple(result.sums)), work.program, work.update)


def _holder(lease: LeaseId) -> tuple[str, LeaseId]:
    """Returns the user of the snapshot store that holds the weights for an audit."""
    return ("audit", lease)
