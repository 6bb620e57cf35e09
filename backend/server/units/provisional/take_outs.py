"""Takes the provisional results of refuted clients out of the model (decision 0074)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import structlog

from backend.errors import TakenOverError
from backend.numerics.aggregation.contributions import LOOSE_SPREAD, SETTLED_SPREAD, Contributions
from backend.numerics.aggregation.mixing import Arrival
from backend.numerics.vectors import Vector
from backend.protocols.units.records import CLOSED
from backend.protocols.units.scheduler_effects import Assimilate, ClientId, TakeOutResults
from backend.server.units.parameters.shared_lock import SharedLock
from backend.server.units.provisional.room import PROVISIONAL_BYTES
from backend.server.units.state import LeasedUnit, UnitsState
from backend.server.units.unit_host_events import TakeOutEnded, TakeOutFailed, UnitHostEvent
from backend.server.units.work_generator import mixing_of
from backend.stores.parameters.contract import Receipt

log = structlog.stdlib.get_logger("minga.units")

# Contributions are summed up for their clients after so many results: that takes time.
RESULTS_BETWEEN_SUMS = 100
TAKEN_OVER = "Stop the other server, then start this one again."


class TakeOuts:
    """Owns the contributions of provisional results. `post` puts an event into the mailbox.

    Where no result is provisional it owns nothing, and takes nothing out. Results are blended side by side,
    but none while contributions are taken out or summed up. `room` is how many bytes they may take: where
    more are needed the oldest versions are given up, which somebody still trains from.
    """

    def __init__(
        self,
        state: UnitsState,
        post: Callable[[UnitHostEvent], Awaitable[None]],
        room: int = PROVISIONAL_BYTES,
    ) -> None:
        self._state, self._post, self._room = state, post, room
        self._lock = SharedLock()
        self._contributions: Contributions | None = None
        if state.takes_out:
            self._mixing = mixing_of(state.task)
            self._begin(state.model.base)

    def blending(self) -> AbstractAsyncContextManager[None]:
        """Returns the context in which a result is blended."""
        return self._lock.held(exclusive=False)

    async def base_of(self, base: int) -> tuple[int, Vector]:
        """Returns a version and its weights [P], without results removed since, to blend a result from it.

        It is the base of the result, or the newest version if that base was dropped.
        """
        if self._contributions is None:
            return base, await self._state.snapshots.read(base)
        model = self._state.model
        if base < self._oldest:
            version, weights = max(model.base, self._oldest), model.weights
        else:
            version, weights = base, await self._state.snapshots.read(base)
        correction = await asyncio.to_thread(self._contributions.correction, version)
        return version, weights if correction is None else weights - correction

    def blended(self, blend: Assimilate, base: int, work: LeasedUnit, receipt: Receipt) -> None:
        """Takes a result that was blended from `base`; receipts come in the order of versions."""
        if self._contributions is None or not self._follows(receipt):
            return
        mix = self._mixing(Arrival(receipt.staleness, work.epoch, receipt.memory.count - 1))
        client, update = (blend.client, work.update) if blend.provisional else (None, None)
        self._contributions.blended(receipt.base, base, mix, client, update)
        if receipt.base % RESULTS_BETWEEN_SUMS == 0:
            self._state.background.spawn(self._sum_up())

    def keep(self, client: ClientId) -> None:
        """Makes the results of a client in the model permanent."""
        self._state.background.spawn(self._keep(client))

    def start(self, out: TakeOutResults) -> None:
        """Starts a job that takes a client's results out."""
        self._state.model.taking_out += 1
        self._state.background.spawn(self._take_out(out))

    def _begin(self, version: int) -> None:
        self._oldest, self._contributions = version, Contributions(self._state.size, version)

    def _follows(self, receipt: Receipt) -> bool:
        """Whether a version follows the newest one. If it does not, all earlier results stay in the model.

        That happens when the store was emptied, and began again with an older version.
        """
        if self._contributions is not None and receipt.base == self._contributions.newest + 1:
            return True
        log.warning("earlier results cannot be taken out any more", task=self._state.task.file.name)
        self._begin(receipt.base)
        return False

    async def _keep(self, client: ClientId) -> None:
        async with self._lock.held(exclusive=True):
            if self._contributions is not None:
                self._contributions.proven(client)

    async def _sum_up(self) -> None:
        async with self._lock.held(exclusive=True):
            contributions, bases = self._contributions, self._bases()
            if contributions is None:
                return
            crowded = contributions.held_bytes > self._room
            if crowded and len(bases) > 1:
                # Who takes very long must not make the server remember all that others do meanwhile.
                del bases[0]
            self._oldest = max(self._oldest, bases[0])
            spread = LOOSE_SPREAD if crowded else SETTLED_SPREAD
            await asyncio.to_thread(contributions.bases_in_use, self._oldest, spread)

    async def _take_out(self, out: TakeOutResults) -> None:
        receipt: Receipt | None = None
        async with self._lock.held(exclusive=True):
            contributions = self._contributions
            share: Vector | None = None
            if contributions is not None:
                share = await asyncio.to_thread(contributions.share, out.client, contributions.newest)
            if contributions is not None and share is not None:
                try:
                    receipt = await self._shifted(-share, f"{contributions.newest} without {out.client}")
                except TakenOverError as error:
                    log.error("the parameters were taken over", task=self._state.task.file.name)
                    await self._post(TakeOutFailed(f"{error} {TAKEN_OVER}"))
                    return
                if self._follows(receipt):
                    contributions.taken_out(receipt.base, out.client)
        await self._post(TakeOutEnded(out.client, out.results, receipt))

    async def _shifted(self, change: Vector, shift_id: str) -> Receipt:
        return await self._state.background.stored(lambda: self._state.servers.shift(change, shift_id))

    def _bases(self) -> list[int]:
        """Returns the versions from which results may still be blended, the oldest first."""
        scheduler, model = self._state.scheduler, self._state.model
        units = [scheduler.unit(unit) for unit in model.assimilating]
        units += [unit for unit in scheduler.units() if unit.state not in CLOSED]
        return sorted({model.base, *(unit.base for unit in units if unit.base is not None)})
