"""Keeps the integrity checks of a run's versions, and says which version is offered by them."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from backend.errors import NotFoundError, OrderError
from backend.formats.task_file.integrity import IntegrityTable
from backend.numerics.integrity.integrity_score import IntegrityPart, is_pushing, trend_part
from backend.numerics.integrity.update_clusters import MIN_UPDATES
from backend.numerics.integrity.update_trend import (
    FEWEST_ROUNDS,
    ROUNDS,
    RoundMinority,
    UpdateTrend,
    update_trend,
)
from backend.server.versions.promotion import Promotion, promotion_of, pushed_versions, sudden_falls
from backend.stores.contracts import (
    CheckCause,
    EvaluationRecord,
    IntegrityRecord,
    Records,
    VersionRecord,
)

# The newest versions of which it is kept what a minority of the updates did.
MOST_TRENDS = 256


class VersionChecks:
    """Owns the checks of a run, in memory and in the records. `plan` is None where versions are not checked.

    `versions` returns all versions of the run, oldest first, `evaluations` what is measured of them. What
    minorities of the updates do is in memory alone: a restart forgets it.
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
        self._rounds: deque[tuple[int, RoundMinority]] = deque(maxlen=ROUNDS)
        self._trends: OrderedDict[int, UpdateTrend] = OrderedDict()

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
        pushed = pushed_versions(
            {number for number, trend in self._trends.items() if is_pushing(trend)}, self.plan.every
        )
        falls = sudden_falls(promotion.versions, self._evaluations())
        return promotion.waiting(self.plan, pushed | falls, ended)

    def add_round(self, number: int, clustered: RoundMinority | None) -> None:
        """Takes note of the updates that made version `number`; None where they are not compared."""
        promotion = self.promotion
        if clustered is None or promotion is None:
            return
        self._rounds.append((number, clustered))
        left_behind = promotion.lineage.rolled_back
        trend = update_trend([one for version, one in self._rounds if version not in left_behind])
        if trend is not None:
            self._trends[number] = trend
        if len(self._trends) > MOST_TRENDS:
            self._trends.popitem(last=False)

    def is_pushed(self, number: int, since: int) -> bool:
        """Whether a minority of the updates pushed in its own direction from after `since` to `number`."""
        return any(is_pushing(trend) for at, trend in self._trends.items() if since < at <= number)

    def updates_part(self, number: int) -> IntegrityPart:
        """Returns the part of the score about the updates up to version `number`."""
        trend = self._trends.get(number)
        if trend is not None:
            return trend_part(trend)
        why = (
            f"Of this version, the updates of the last rounds were not compared. That takes {FEWEST_ROUNDS} "
            f"rounds with {MIN_UPDATES} updates or more since the server started, and a server that sees "
            "single updates, without masks."
        )
        return IntegrityPart("updates", None, why)

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
