"""Compares the results of one work unit, and gives a verdict on each (decision 0051)."""

from __future__ import annotations

import hashlib
import statistics
import threading
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from backend.numerics.aggregation.result_agreement import Agreement, agreement, likeness, majority
from backend.numerics.vectors import Vector, to_bytes
from backend.protocols.units.rules import Verdict
from backend.protocols.units.scheduler_effects import LeaseId, UnitId
from backend.server.units.validation.tolerances import tolerance_of

# An update norm is an outlier when it differs from the median of the last REMEMBERED by more than ODD
# times; this needs FEW samples.
ODD, REMEMBERED, FEW = 5.0, 64, 8
# Digests that are remembered to detect copies.
SEEN = 4096

_VERDICTS = {
    Agreement.SAME: Verdict.VALID,
    Agreement.DOUBTFUL: Verdict.UNDECIDED,
    Agreement.OTHER: Verdict.INVALID,
}


@dataclass(frozen=True)
class ComparedResult:
    """A result that is compared: `kind` is with what it was computed, `update` [P] the change of `unit`.

    `steps` is how many it took.
    """

    lease: LeaseId
    kind: str
    update: Vector
    unit: UnitId = -1
    steps: int = 0


class ResultValidator:
    """Compares results, and knows what is usual of those that stand alone. Its calls may overlap."""

    def __init__(self, tolerance: float | None = None) -> None:
        self._tolerance = tolerance
        self._lengths: deque[float] = deque(maxlen=REMEMBERED)
        self._seen: OrderedDict[bytes, UnitId] = OrderedDict()
        self._lock = threading.Lock()

    def verdicts(
        self, shown: Sequence[ComparedResult], valid: ComparedResult | None = None
    ) -> Mapping[LeaseId, Verdict]:
        """What of these results of one unit holds; `valid` is taken as true, and may be one of them.

        One alone is valid, unless something is odd about it: then others have to do the same.
        """
        copies = {one.lease for one in shown if self._is_copy(one)}
        if valid is not None:
            found = {one.lease: self._as_good_as(one, valid) for one in shown}
        elif len(shown) == 1:
            odd = shown[0].lease in copies or self._is_odd(shown[0])
            found = {shown[0].lease: Verdict.UNDECIDED if odd else Verdict.VALID}
        else:
            found = self._by_majority(shown)
        self._remember([one for one in shown if found[one.lease] is Verdict.VALID])
        return found

    def _as_good_as(self, one: ComparedResult, valid: ComparedResult) -> Verdict:
        return Verdict.VALID if one.lease == valid.lease else _VERDICTS[self._compare(one, valid)]

    def _by_majority(self, shown: Sequence[ComparedResult]) -> dict[LeaseId, Verdict]:
        pairs = {(i, j): self._compare(shown[i], shown[j]) for i, j in combinations(range(len(shown)), 2)}
        held = majority(len(shown), pairs)
        if held is None:
            return {one.lease: Verdict.UNDECIDED for one in shown}
        return {one.lease: _VERDICTS[how] for one, how in zip(shown, held, strict=True)}

    def _compare(self, first: ComparedResult, second: ComparedResult) -> Agreement:
        steps = max(first.steps, second.steps)
        tolerance = tolerance_of(first.kind, second.kind, steps, self._tolerance)
        return agreement(likeness(first.update, second.update), tolerance)

    def _is_odd(self, one: ComparedResult) -> bool:
        """Whether it is much longer or shorter than others were."""
        with self._lock:
            known = list(self._lengths)
        if len(known) < FEW:
            return False
        usual, length = statistics.median(known), _length(one.update)
        return not usual / ODD <= length <= usual * ODD

    def _is_copy(self, one: ComparedResult) -> bool:
        """Whether the very same numbers came for another unit. Nothing but zeros may do so."""
        if one.unit < 0 or not one.update.any():
            return False
        digest = hashlib.sha256(to_bytes(one.update)).digest()
        with self._lock:
            before = self._seen.setdefault(digest, one.unit)
            if len(self._seen) > SEEN:
                self._seen.popitem(last=False)
        return before != one.unit

    def _remember(self, held: Sequence[ComparedResult]) -> None:
        lengths = [_length(one.update) for one in held[:1]]
        with self._lock:
            self._lengths.extend(lengths)


def _length(update: Vector) -> float:
    return float(np.linalg.norm(update.astype(np.float64)))
