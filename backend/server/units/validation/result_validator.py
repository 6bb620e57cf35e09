"""Compares the results of one work unit, and gives a verdict on each (decision 0051)."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from backend.numerics.aggregation.figure_agreement import Figures, figure_agreement, worst
from backend.numerics.aggregation.result_agreement import Agreement, agreement, likeness, majority
from backend.numerics.vectors import Vector, to_bytes
from backend.protocols.units.rules import Verdict
from backend.protocols.units.scheduler_effects import LeaseId, UnitId
from backend.server.units.validation.tolerances import tolerance_of
from backend.server.units.validation.usual_results import UsualResult, UsualResults

NO_FIGURES = Figures()
# Digests stored to detect copies.
MAX_DIGESTS = 4096

_VERDICTS = {
    Agreement.SAME: Verdict.VALID,
    Agreement.DOUBTFUL: Verdict.UNDECIDED,
    Agreement.OTHER: Verdict.INVALID,
}


@dataclass(frozen=True)
class ComparedResult:
    """A result to be compared: `update` [P] for a `unit`, of so many training `steps`.

    `figures` are the loss and the metric sums that it reports. Right results with the same `program` have the
    same bits.
    """

    lease: LeaseId
    update: Vector
    unit: UnitId = -1
    steps: int = 0
    figures: Figures = NO_FIGURES
    program: str | None = None


class ResultValidator:
    """Compares results, and checks single ones against the `usual` ones. Thread-safe."""

    def __init__(self, tolerance: float | None = None, usual: UsualResults | None = None) -> None:
        self._tolerance = tolerance
        self._usual = usual or UsualResults()
        self._unit_of_digest: OrderedDict[bytes, UnitId] = OrderedDict()
        self._lock = threading.Lock()

    def verdicts(
        self, results: Sequence[ComparedResult], valid: ComparedResult | None = None
    ) -> Mapping[LeaseId, Verdict]:
        """Returns a verdict on each result of one unit. `valid` counts as true, and may be one of them.

        A single result is valid unless it is an outlier or a copy: then the unit needs further results.
        """
        copies = {result.lease for result in results if self._is_copy(result)}
        if valid is not None:
            verdicts = {result.lease: self._compare_with_valid(result, valid) for result in results}
        elif len(results) == 1:
            suspicious = results[0].lease in copies or self._usual.is_outlier(_shown(results[0]))
            verdicts = {results[0].lease: Verdict.UNDECIDED if suspicious else Verdict.VALID}
        else:
            verdicts = self._by_majority(results)
        accepted = next((one for one in results if verdicts[one.lease] is Verdict.VALID), None)
        if accepted is not None:
            self._usual.add(_shown(accepted))
        return verdicts

    def _compare_with_valid(self, result: ComparedResult, valid: ComparedResult) -> Verdict:
        return Verdict.VALID if result.lease == valid.lease else _VERDICTS[self._compare(result, valid)]

    def _by_majority(self, results: Sequence[ComparedResult]) -> dict[LeaseId, Verdict]:
        """Returns the verdicts of the majority within the tolerance.

        Where results of one program differ among those, they decide by their bits which of them is right:
        others may agree with each of them. They never outvote others, whatever program they tell.
        """
        agreements = _majority(results, self._compare_within_tolerance)
        like = [one for one in results if agreements.get(one.lease) is Agreement.SAME]
        if deciding := differing_exact(like):
            agreements = _majority(deciding, self._compare)
            like = [one for one in deciding if agreements.get(one.lease) is Agreement.SAME]
        if not like:
            return {result.lease: Verdict.UNDECIDED for result in results}
        return {one.lease: self._verdict(one, like, agreements.get(one.lease)) for one in results}

    def _verdict(
        self, result: ComparedResult, like: Sequence[ComparedResult], agreed: Agreement | None
    ) -> Verdict:
        """Returns the verdict on a result beside those that agree; `agreed` is what the majority found."""
        reference = next((one for one in like if _are_exact(result, one)), like[0])
        if agreed is None or _are_exact(result, reference):
            agreed = self._compare(result, reference)
        return _VERDICTS[agreed]

    def _compare(self, first: ComparedResult, second: ComparedResult) -> Agreement:
        if _are_exact(first, second):
            return Agreement.SAME if have_same_bits(first, second) else Agreement.OTHER
        return self._compare_within_tolerance(first, second)

    def _compare_within_tolerance(self, first: ComparedResult, second: ComparedResult) -> Agreement:
        tolerance = tolerance_of(max(first.steps, second.steps), self._tolerance)
        updates = agreement(likeness(first.update, second.update), tolerance)
        return worst((updates, figure_agreement(first.figures, second.figures, tolerance)))

    def _is_copy(self, result: ComparedResult) -> bool:
        """Whether the same update arrived for another unit. Updates of zeros are exempt."""
        if result.unit < 0 or not result.update.any():
            return False
        digest = hashlib.sha256(to_bytes(result.update)).digest()
        with self._lock:
            before = self._unit_of_digest.setdefault(digest, result.unit)
            if len(self._unit_of_digest) > MAX_DIGESTS:
                self._unit_of_digest.popitem(last=False)
        return before != result.unit


def have_same_bits(first: ComparedResult, second: ComparedResult) -> bool:
    """Whether updates, steps and figures are equal; -0.0 is not 0.0."""
    if first.steps != second.steps or first.figures != second.figures:
        return False
    if first.update is second.update:
        return True
    return np.array_equal(first.update.view(np.uint32), second.update.view(np.uint32))


def differing_exact(results: Sequence[ComparedResult]) -> list[ComparedResult]:
    """Returns the results of the most frequent program of which not all are the same; else none."""
    programs = Counter(result.program for result in results if result.program is not None)
    for program, _ in programs.most_common():
        alike = [result for result in results if result.program == program]
        if any(not have_same_bits(alike[0], other) for other in alike[1:]):
            return alike
    return []


def _are_exact(first: ComparedResult, second: ComparedResult) -> bool:
    """Whether right results of these two have the same bits."""
    return first.program is not None and first.program == second.program


def _majority(
    results: Sequence[ComparedResult], compare: Callable[[ComparedResult, ComparedResult], Agreement]
) -> Mapping[LeaseId, Agreement]:
    """Returns how each result agrees with the majority; empty if there is none."""
    pairs = {(i, j): compare(results[i], results[j]) for i, j in combinations(range(len(results)), 2)}
    agreements = majority(len(results), pairs)
    if agreements is None:
        return {}
    return {one.lease: agreed for one, agreed in zip(results, agreements, strict=True)}


def _shown(result: ComparedResult) -> UsualResult:
    return UsualResult(float(np.linalg.norm(result.update.astype(np.float64))), result.figures)
