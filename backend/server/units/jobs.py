"""Work of the host of work units that takes time: comparing, blending, measuring. Each ends in an event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
import structlog

from backend.errors import NotFiniteError
from backend.formats.task_file.units import Downpour
from backend.numerics.aggregation.asynchronous import ClientResult
from backend.numerics.aggregation.update_checks import all_finite
from backend.protocols.units.rules import Verdict
from backend.protocols.units.scheduler_effects import Assimilate, Effect, Judge, LeaseId
from backend.server.units.state import Event, LeasedWork, UnitsState
from backend.server.units.validation.result_validator import ComparedResult, ResultValidator
from backend.stores.parameters.contract import Receipt

log = structlog.stdlib.get_logger("minga.units")

OVERFLOW = "The model would hold infinity. Lower the rate of the assimilation, or the clients' learning rate."


class UnitJobResults(Protocol):
    """What becomes of jobs; called in the host's turns."""

    def judged(self, judge: Judge, verdicts: Mapping[LeaseId, Verdict], now: float) -> Sequence[Effect]:
        """A comparison is done."""
        ...

    def assimilated(self, blend: Assimilate, receipt: Receipt, seconds: float) -> Sequence[Effect]:
        """A result is in the model, `seconds` after it was asked for."""
        ...

    def failed(self, blend: Assimilate, reason: str) -> Sequence[Effect]:
        """A result cannot be blended, and no other could."""
        ...


class UnitJobs:
    """Owns the thread in which results are compared. `post` puts an event into the host's inbox."""

    def __init__(
        self, hosted: UnitsState, post: Callable[[Event], Awaitable[None]], ends: UnitJobResults
    ) -> None:
        self._state = hosted
        self._post = post
        self._ends = ends
        self._judging = ResultValidator(hosted.units.trust.tolerance)
        self._worker = ThreadPoolExecutor(1, f"vectors-{hosted.task.file.name}")

    def stop(self) -> None:
        """Ends the thread."""
        self._worker.shutdown()

    def verdict_of_one(self, judge: Judge) -> Mapping[LeaseId, Verdict]:
        """A single result of a client that is believed."""
        return dict.fromkeys(judge.leases, Verdict.VALID)

    def judge(self, judge: Judge) -> None:
        """Compares results."""
        works = {lease: self._state.works[lease] for lease in judge.leases}
        wrong = {lease: Verdict.INVALID for lease, work in works.items() if work.fault is not None}
        shown = [_shown(lease, work) for lease, work in works.items() if lease not in wrong]
        valid = None
        if judge.valid is not None and judge.valid not in wrong:
            valid = _shown(judge.valid, self._state.works[judge.valid])
        self._state.background.spawn(self._judge(judge, wrong, shown, valid))

    async def _judge(
        self,
        judge: Judge,
        wrong: dict[LeaseId, Verdict],
        shown: Sequence[ComparedResult],
        valid: ComparedResult | None,
    ) -> None:
        found: Mapping[LeaseId, Verdict] = {}
        if len(shown) == 1 and len(judge.leases) > 1 and valid is None:
            # The others were faulty: it is still to be compared.
            found = {shown[0].lease: Verdict.UNDECIDED}
        elif shown:
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._worker, self._judging.verdicts, shown, valid)
        verdicts = {**wrong, **found}
        await self._post(lambda now: self._ends.judged(judge, verdicts, now))

    def assimilate(self, blend: Assimilate) -> None:
        """Has a result blended into the model."""
        self._state.background.spawn(self._assimilate(blend, self._state.works[blend.lease]))

    async def _assimilate(self, blend: Assimilate, work: LeasedWork) -> None:
        began = self._state.clock()
        base = await self._state.snapshots.read(blend.base)
        update, own = work.update, work.own
        assert update is not None  # noqa: S101 - it is kept until it is blended.
        weights = await asyncio.to_thread(np.add, base, update)
        if isinstance(self._state.units.assimilation, Downpour) and self._state.units.keeps_own:
            # It gets its next unit, which may go on from here, when this is blended.
            self._state.last[blend.client] = weights
        result = ClientResult(weights, base if own is None else own, epoch=work.epoch)
        turn = f"{blend.unit}-{blend.lease}"
        receipt = await self._state.background.stored(
            lambda: self._state.servers.assimilate(result, blend.base, turn)
        )
        finite = await asyncio.to_thread(all_finite, receipt.weights)
        seconds = self._state.clock() - began
        if finite:
            await self._post(lambda _now: self._ends.assimilated(blend, receipt, seconds))
        else:
            reason = str(NotFiniteError(OVERFLOW))
            log.error("the model overflowed", task=self._state.task.file.name)
            await self._post(lambda _now: self._ends.failed(blend, reason))


def _shown(lease: LeaseId, work: LeasedWork) -> ComparedResult:
    assert work.update is not None  # noqa: S101 - it is kept until the unit is over.
    steps = work.result.steps if work.result is not None else 0
    return ComparedResult(lease, f"{work.kind} {work.backend}", work.update, work.grant.unit, steps)
