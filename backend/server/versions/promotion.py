"""Decides which version is offered, which are to be checked, and what the owner is asked. Pure.

A version is offered, for downloads and on the task's page, once it passed its integrity check or its owner
accepted it. Everything follows from the records, so a restart changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from backend.formats.task_file.integrity import IntegrityTable
from backend.server.versions.lineage import Lineage, lineage_of
from backend.stores.contracts import CheckCause, EvaluationRecord, IntegrityRecord, VersionRecord

# Versions that wait for their check keep their files, but only the newest so many.
MOST_WAITING = 4
# A version whose accuracy on held-out examples fell so far below the version before is checked at once.
SUDDEN_FALL = 0.05
# Outcomes on which the owner has to decide.
DOUBTFUL = frozenset({"failed", "unmeasured"})


@dataclass(frozen=True)
class Promotion:
    """The versions of a run, oldest first, with their lineage and their checks by number."""

    versions: Sequence[VersionRecord]
    lineage: Lineage
    checks: Mapping[int, IntegrityRecord]

    def check_of(self, number: int) -> IntegrityRecord | None:
        """Returns the check of a version or, if it restores another, of that one."""
        return self.checks.get(number) or self.checks.get(self.lineage.restores.get(number, number))

    def is_cleared(self, number: int) -> bool:
        """Whether a version may be offered. Version 0 is the owner's own."""
        check = self.check_of(number)
        if check is not None:
            return check.outcome == "passed" or check.accepted is not None
        return self.lineage.restores.get(number, number) == 0

    @property
    def offered(self) -> VersionRecord:
        """The newest cleared version that led to the newest one and whose files are kept; else version 0."""
        return next(
            (each for each in reversed(self.versions) if self._leads(each) and self.is_cleared(each.version)),
            self.versions[0],
        )

    def has_passed(self, number: int) -> bool:
        """Whether a version was checked and may be offered; version 0 is not checked."""
        return self.check_of(number) is not None and self.is_cleared(number)

    def base_of(self, number: int) -> int | None:
        """Returns the version that version `number` is compared with; None if there is none before it.

        It is the one of its check or, without that, the newest before it that may be offered. It has files.
        """
        kept = [one.version for one in self.versions if one.version < number and self._leads(one)]
        check = self.checks.get(number)
        if check is not None and check.against in kept:
            return check.against
        return next((one for one in reversed(kept) if self.is_cleared(one)), None)

    @property
    def question(self) -> IntegrityRecord | None:
        """The check on which the owner has to decide: the newest one after the offered version that says no.

        Its version is in the weights from which clients train.
        """
        after = self.offered.version
        for each in reversed(self.versions):
            if each.version <= after:
                return None
            check = None if each.version in self.lineage.rolled_back else self.check_of(each.version)
            if check is not None and check.outcome in DOUBTFUL:
                return replace(check, version=each.version)
        return None

    def waiting(
        self, plan: IntegrityTable, flagged: Mapping[int, CheckCause], ended: bool
    ) -> dict[int, CheckCause]:
        """Returns the versions that are to be checked, with the reason for each, the newest first.

        These are versions after the offered one: the newest of each `plan.every`, those that are `flagged`,
        and, once the task `ended`, the newest.
        """
        causes: dict[int, CheckCause] = {}
        after, newest = self.offered.version, self.versions[-1].version
        for each in reversed(self.versions):
            number = each.version
            if number <= after or len(causes) == MOST_WAITING:
                break
            if not self._leads(each) or self.check_of(number) is not None:
                continue
            if number in flagged:
                causes[number] = flagged[number]
            elif number % plan.every == 0:
                causes[number] = "schedule"
            elif ended and number == newest:
                causes[number] = "end"
        return causes

    def _leads(self, version: VersionRecord) -> bool:
        return version.let_go is None and version.version not in self.lineage.rolled_back


def promotion_of(versions: Sequence[VersionRecord], checks: Collection[IntegrityRecord]) -> Promotion:
    """Returns the promotion of all versions of a run, given oldest first."""
    return Promotion(versions, lineage_of(versions), {check.version: check for check in checks})


def sudden_falls(
    versions: Sequence[VersionRecord], evaluations: Mapping[int, EvaluationRecord]
) -> dict[int, CheckCause]:
    """Returns the versions whose accuracy fell by SUDDEN_FALL or more since the measured version before.

    Losing one class of ten costs ten points. A roll-back, and models without accuracy, have no falls.
    """
    falls: dict[int, CheckCause] = {}
    before: float | None = None
    for version in versions:
        evaluation = evaluations.get(version.version)
        accuracy = None if evaluation is None else evaluation.metrics.get("accuracy")
        if accuracy is None:
            continue
        if version.accepted and before is not None and before - accuracy >= SUDDEN_FALL:
            falls[version.version] = "fall"
        before = accuracy
    return falls


def pushed_versions(found: Collection[int], every: int) -> dict[int, CheckCause]:
    """Returns the versions to check as a minority of their updates pushes: of those `found`, one in `every`.

    The minority may be honest clients with rare classes, which push as long as they train.
    """
    causes: dict[int, CheckCause] = {}
    for number in sorted(found):
        if not causes or number - max(causes) >= every:
            causes[number] = "updates"
    return causes
