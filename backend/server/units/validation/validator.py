"""The validator: compares results of one unit in a separate thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from backend.numerics.aggregation.figure_agreement import Figures
from backend.protocols.units.rules import Verdict
from backend.protocols.units.scheduler_effects import Judge, LeaseId
from backend.server.units.provisional.audit_evidence import AuditEvidence
from backend.server.units.state import LeasedUnit, UnitsState
from backend.server.units.unit_host_events import ResultsValidated, UnitHostEvent
from backend.server.units.validation.result_validator import ComparedResult, ResultValidator


class ValidationJobs:
    """Owns the thread in which results are compared. `post` puts an event into the host's mailbox."""

    def __init__(
        self,
        state: UnitsState,
        post: Callable[[UnitHostEvent], Awaitable[None]],
        evidence: AuditEvidence,
    ) -> None:
        self._state = state
        self._post = post
        self._evidence = evidence
        self._validator = ResultValidator(state.units.trust.tolerance, state.usual)
        self._thread = ThreadPoolExecutor(1, f"vectors-{state.task.file.name}")

    def stop(self) -> None:
        """Ends the thread."""
        self._thread.shutdown()

    def start(self, judge: Judge) -> None:
        """Starts a job that compares results, and posts the verdicts."""
        works = {lease: self._state.leases[lease] for lease in judge.leases}
        if judge.audited is not None:
            self._state.background.spawn(self._audit(judge, judge.audited, works[judge.leases[0]]))
            return
        faulty = {lease: Verdict.FAULTY for lease, work in works.items() if work.fault is not None}
        results = [_compared(lease, work) for lease, work in works.items() if lease not in faulty]
        valid = None
        if judge.valid is not None and judge.valid not in faulty:
            valid = _compared(judge.valid, self._state.leases[judge.valid])
        self._state.background.spawn(self._validate(judge, faulty, results, valid))

    async def _audit(self, judge: Judge, audited: LeaseId, work: LeasedUnit) -> None:
        """Compares a trusted peer's result with one that is in the model already."""
        verdict = Verdict.FAULTY
        if work.update is not None and work.fault is None:
            loop, verdict_of = asyncio.get_running_loop(), self._evidence.verdict
            verdict = await loop.run_in_executor(self._thread, verdict_of, audited, work)
        await self._post(ResultsValidated(judge, {judge.leases[0]: verdict}))

    async def _validate(
        self,
        judge: Judge,
        faulty: dict[LeaseId, Verdict],
        results: Sequence[ComparedResult],
        valid: ComparedResult | None,
    ) -> None:
        verdicts: Mapping[LeaseId, Verdict] = {}
        if len(results) == 1 and len(judge.leases) > 1 and valid is None:
            # All other results were faulty, so this one still needs a comparison.
            verdicts = {results[0].lease: Verdict.UNDECIDED}
        elif results:
            loop = asyncio.get_running_loop()
            verdicts = await loop.run_in_executor(self._thread, self._validator.verdicts, results, valid)
        await self._post(ResultsValidated(judge, {**faulty, **verdicts}))


def _compared(lease: LeaseId, work: LeasedUnit) -> ComparedResult:
    assert work.update is not None  # noqa: S101 - held until the unit is over.
    steps, figures = 0, Figures()
    if work.result is not None:
        steps, figures = work.result.steps, Figures(work.result.loss, tuple(work.result.sums))
    return ComparedResult(lease, work.update, work.grant.unit, steps, figures, work.program)
