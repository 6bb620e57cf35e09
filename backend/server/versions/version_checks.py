"""Keeps the integrity checks of a run's versions, and says which version is offered by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from backend.errors import NotFoundError, OrderError
from backend.formats.task_file.integrity import IntegrityTable
from backend.server.versions.promotion import Promotion, promotion_of, sudden_falls
from backend.stores.contracts import (
    CheckCause,
    EvaluationRecord,
    IntegrityRecord,
    Records,
    VersionRecord,
)


class VersionChecks:
    """Owns the checks of a run, in memory and in the records. `plan` is None where versions are not checked.

    `versions` returns all versions of the run, oldest first, `evaluations` what is measured of them.
    """

    def __init__(
        self,
        plan: IntegrityTable | None,
        records: Records,
        run: int,
        versions: Callable[[], Sequence[VersionRecord]],
        evaluations: Callable[[], Mapping[int, EvaluationRecord]],
    ) -> None:
        self.plan = plan
        self._records, self._run = records, run
        self._versions, self._evaluations = versions, evaluations
        self._checks: dict[int, IntegrityRecord] = {}

    async def open(self) -> None:
        """Reads the recorded checks. Raises StoreError."""
        self._checks = {check.version: check for check in await self._records.integrity(self._run)}

    @property
    def promotion(self) -> Promotion | None:
        """Which version is offered; None where versions are not checked."""
        return None if self.plan is None else promotion_of(self._versions(), self._checks.values())

    @property
    def offered(self) -> VersionRecord:
        """The version for downloads and pages: the newest, where versions are not checked."""
        promotion = self.promotion
        return self._versions()[-1] if promotion is None else promotion.offered

    def is_withheld(self, number: int) -> bool:
        """Whether version `number` is not for everybody."""
        promotion = self.promotion
        return promotion is not None and not promotion.is_cleared(number)

    def waiting(self, ended: bool) -> dict[int, CheckCause]:
        """Returns the versions that wait for their check, the newest first (see `Promotion.waiting`)."""
        promotion = self.promotion
        if promotion is None or self.plan is None:
            return {}
        falls = sudden_falls(promotion.versions, self._evaluations())
        return promotion.waiting(self.plan, falls, ended)

    @property
    def busy(self) -> set[int]:
        """The versions whose files must not be removed to save space."""
        promotion = self.promotion
        return set() if promotion is None else {promotion.offered.version, *self.waiting(ended=True)}

    async def add(self, check: IntegrityRecord) -> None:
        """Records a check. Raises StoreError."""
        await self._records.add_integrity(self._run, check)
        self._checks[check.version] = check

    async def accept(self, number: int, now: float) -> IntegrityRecord:
        """Records that the owner takes version `number` for clean; returns its check.

        Raises NotFoundError without a check, OrderError if it passed or was rolled back, and StoreError.
        """
        promotion = self.promotion
        check = None if promotion is None else promotion.check_of(number)
        if promotion is None or check is None:
            raise NotFoundError(f"Version {number} was not checked, so there is nothing to accept.")
        if number in promotion.lineage.rolled_back:
            raise OrderError(f"Version {number} was left behind by a roll-back. Restore it first.")
        if promotion.is_cleared(number):
            raise OrderError(f"Version {number} is offered or may be already.")
        accepted = replace(check, accepted=now)
        await self.add(accepted)
        return accepted
