"""The assimilator: adds valid results to the model, through the parameter servers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import numpy as np
import structlog

from backend.errors import NotFiniteError, TakenOverError
from backend.formats.task_file.units import Downpour
from backend.numerics.aggregation.asynchronous import ClientResult
from backend.numerics.aggregation.update_checks import all_finite
from backend.protocols.units.scheduler_effects import Assimilate
from backend.server.observers import task_events
from backend.server.units.provisional.audit_evidence import AuditEvidence
from backend.server.units.provisional.take_outs import TAKEN_OVER, TakeOuts
from backend.server.units.state import LeasedUnit, ModelState, UnitsState
from backend.server.units.unit_host_events import AssimilationFailed, AssimilationSucceeded, UnitHostEvent
from backend.server.units.work_generator import visits_of
from backend.stores.contracts import AssimilationRecord
from backend.stores.parameters.contract import Receipt

log = structlog.stdlib.get_logger("minga.units")

OVERFLOW = "The model would hold infinity. Lower the rate of the assimilation, or the clients' learning rate."


class Assimilator:
    """Owns the model's state. `post` puts an event into the mailbox, `clock` gives Unix seconds."""

    def __init__(
        self,
        state: UnitsState,
        post: Callable[[UnitHostEvent], Awaitable[None]],
        clock: Callable[[], float],
        take_outs: TakeOuts,
        evidence: AuditEvidence,
    ) -> None:
        self._state = state
        self._take_outs, self._evidence = take_outs, evidence
        self._post = post
        self._clock = clock

    def reserve(self, blend: Assimilate) -> None:
        """Reserves a result's vector until it is in the model."""
        work = self._state.leases[blend.lease]
        work.assimilating, work.provisional = True, blend.provisional
        self._state.model.assimilating.add(blend.unit)

    def start(self, blend: Assimilate) -> None:
        """Starts a job that adds a result to the model."""
        work = self._state.leases[blend.lease]
        if blend.provisional:
            self._evidence.keep(blend.lease, work)
        self._state.background.spawn(self._assimilate(blend, work))

    async def _assimilate(self, blend: Assimilate, work: LeasedUnit) -> None:
        began = self._state.clock()
        async with self._take_outs.blending():
            receipt = await self._blended(blend, work)
        if receipt is None:
            return
        finite = await asyncio.to_thread(all_finite, receipt.weights)
        if finite:
            await self._post(AssimilationSucceeded(blend, receipt, self._state.clock() - began))
        else:
            log.error("the model overflowed", task=self._state.task.file.name)
            await self._post(AssimilationFailed(blend, str(NotFiniteError(OVERFLOW))))

    async def _blended(self, blend: Assimilate, work: LeasedUnit) -> Receipt | None:
        """Blends a result, and returns the receipt; None if another server has the parameters."""
        if blend.provisional:
            await asyncio.to_thread(self._evidence.hash, blend.lease)
        version, base = await self._take_outs.base_of(blend.base)
        update, own = work.update, work.own
        assert update is not None  # noqa: S101 - reserved until it is assimilated.
        weights = await asyncio.to_thread(np.add, base, update)
        if isinstance(self._state.units.assimilation, Downpour) and self._state.units.keeps_own:
            # The client's next unit, sent after this assimilation, may start from these weights.
            self._state.clients.own_weights[blend.client] = weights
        result = ClientResult(weights, base if own is None else own, epoch=work.epoch)
        result_id = f"{blend.unit}-{blend.lease}"
        try:
            receipt = await self._state.background.stored(
                lambda: self._state.servers.assimilate(result, version, result_id)
            )
        except TakenOverError as error:
            log.error("the parameters were taken over", task=self._state.task.file.name, reason=str(error))
            await self._post(AssimilationFailed(blend, f"{error} {TAKEN_OVER}"))
            return None
        self._take_outs.blended(blend, version, work, receipt)
        return receipt

    def succeeded(self, event: AssimilationSucceeded) -> None:
        """Records a result that is in the model."""
        state, blend, receipt = self._state, event.blend, event.receipt
        work = state.leases[blend.lease]
        self._release(blend, work)
        state.snapshots.release(blend.unit)
        state.model.apply(receipt)
        examples = state.scheduler.unit(blend.unit).examples
        if work.result is not None:
            state.run.epoch.assimilated(blend.client, work.result, examples)
            state.notice(task_events.UpdateAccepted(blend.client, work.epoch, examples, "epoch"))
        state.notice(task_events.ResultAssimilated(work.epoch, blend.unit, receipt.staleness, event.seconds))
        visits = visits_of(state.task, work.grant, work.result.steps) if work.result else None
        state.records.add_row(_row(state.model, work, examples, visits, receipt, self._clock()))

    def failed(self, blend: Assimilate) -> None:
        """Releases a result that cannot be assimilated."""
        self._release(blend, self._state.leases[blend.lease])

    def _release(self, blend: Assimilate, work: LeasedUnit) -> None:
        self._state.model.assimilating.discard(blend.unit)
        work.assimilating = False


def _row(
    model: ModelState, work: LeasedUnit, examples: int, visits: int | None, receipt: Receipt, at: float
) -> AssimilationRecord:
    grant = work.grant
    return AssimilationRecord(
        number=model.number,
        epoch=work.epoch,
        unit=grant.unit,
        shard=grant.shard,
        first=grant.first,
        examples=examples,
        client=grant.client,
        kind=work.kind,
        backend=work.backend,
        base=grant.base,
        staleness=receipt.staleness,
        seconds=(work.returned_at or work.began) - work.began,
        lost=model.lost,
        at=at,
        first_step=grant.first_step,
        visits=visits,
    )
