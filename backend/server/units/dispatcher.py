"""Who gets which unit when: asks the scheduler for those with free slots, and tells them what it grants."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from backend.protocols.units.scheduler_effects import ClientId, Effect, GrantLease, LeaseId, Wait
from backend.server.observers import task_events
from backend.server.units.state import LeasedWork, UnitsState
from backend.server.units.work_generator import past_steps, start_of
from backend.wire import messages, unit_messages

# So many clients are asked for in one turn, so that others get theirs.
ASKED = 64
Cause = Literal["nothing", "quota", "reliable", "bound", "over", "paused"]


class Dispatcher:
    """Owns the queue of those who want units. `chance` draws from [0, 1).

    Newcomers, and those of whom something changed, are asked for in any case; those who wait when there is
    something to be had again.
    """

    def __init__(self, hosted: UnitsState, chance: Callable[[], float] = random.random) -> None:
        self._state = hosted
        self._chance = chance
        # Each in order, without doubles.
        self._asking: dict[ClientId, None] = {}
        self._waiting: dict[ClientId, None] = {}
        self._open: dict[ClientId, set[LeaseId]] = {}
        self._again: float | None = None

    # Who wants some.

    def wants(self, client: ClientId) -> None:
        """It may have a free slot."""
        member = self._state.members.get(client)
        if member is not None and member.ready and member.slots:
            self._waiting.pop(client, None)
            self._asking[client] = None

    def left(self, client: ClientId) -> None:
        """It is not here any more."""
        self._asking.pop(client, None)
        self._waiting.pop(client, None)

    def again(self) -> None:
        """There may be something for those who wait."""
        self._asking.update(self._waiting)
        self._waiting.clear()

    def timer(self, now: float) -> float | None:
        """When `deal` has something to do although nothing happens."""
        if self._asking and self._state.dealing:
            return now
        return self._again

    def deal(self, perform: Callable[[Sequence[Effect]], None], now: float) -> None:
        """Gives out what there is to some of those who want it."""
        if self._again is not None and now >= self._again:
            self._again = None
            self.again()
        if not self._state.dealing:
            self._tell_all_why()
            return
        if self._waiting and self._state.machine.pending:
            self.again()
        for _ in range(min(ASKED, len(self._asking))):
            client = next(iter(self._asking))
            del self._asking[client]
            while self._ask(client, perform, now):
                pass

    def _ask(self, client: ClientId, perform: Callable[[Sequence[Effect]], None], now: float) -> bool:
        """Whether the client got one."""
        effects = self._state.machine.ask(
            client, self._state.base, self._chance(), now, fresh=self._may_begin()
        )
        perform([one for one in effects if not isinstance(one, Wait)])
        for wait in (one for one in effects if isinstance(one, Wait)):
            self._waits(wait)
        return any(isinstance(one, GrantLease) for one in effects)

    def _may_begin(self) -> bool:
        """Whether a unit that nobody began may be given: while the model warms up, one after the other."""
        if self._state.base >= self._state.units.assimilation.warm_start:
            return True
        tally = self._state.machine.progress.tally()
        return not (tally.leased or tally.compared or self._state.blending)

    def _waits(self, wait: Wait) -> None:
        if wait.reason == "slots":
            return
        self._waiting[wait.client] = None
        if wait.again is not None:
            self._again = wait.again if self._again is None else min(self._again, wait.again)
        causes: dict[str, Cause] = {"quota": "quota", "reliable": "reliable", "bound": "bound"}
        self._tell_why(wait.client, causes.get(wait.reason, "nothing"))

    def _tell_all_why(self) -> None:
        if not self._asking:
            return
        cause: Cause = "over" if self._state.finished else "paused" if self._state.held else "nothing"
        for client in self._asking:
            self._tell_why(client, cause)
        self._waiting.update(self._asking)
        self._asking.clear()

    def _tell_why(self, client: ClientId, cause: Cause) -> None:
        member = self._state.members.get(client)
        if member is not None and member.told != cause and not self._open.get(client):
            member.told = cause
            self._state.connected.tell(client, unit_messages.Idle(cause=cause))

    # What they have.

    def open_of(self, client: ClientId) -> Iterator[tuple[LeaseId, LeasedWork]]:
        """Leases of a client whose results may still come."""
        for lease in sorted(self._open.get(client, ())):
            if (work := self._state.works.get(lease)) is not None:
                yield lease, work

    def has_some(self, client: ClientId) -> bool:
        """Whether a client is at work."""
        return client in self._open

    def all_open(self) -> list[tuple[LeaseId, LeasedWork]]:
        """Such leases of everybody."""
        return [one for client in list(self._open) for one in self.open_of(client)]

    @property
    def busy(self) -> bool:
        """Whether anybody has such."""
        return bool(self._open)

    def work(self, client: ClientId, lease: LeaseId) -> LeasedWork | None:
        """A lease of this client; None where it has none of that number (any more)."""
        work = self._state.works.get(lease)
        return work if work is not None and work.grant.client == client else None

    def granted(self, grant: GrantLease, now: float) -> None:
        """A client gets a unit: it is told of once the weights that it begins at lie ready."""
        at, client = self._state, self._state.members[grant.client]
        start, elasticity = start_of(at.units, client.results, client.own)
        work = LeasedWork(
            grant, at.epoch.number, now, client.client.kind, client.client.backend, start, elasticity
        )
        if start == "own":
            work.own = at.last.get(grant.client)
        at.works[grant.lease] = work
        at.of_unit.setdefault(grant.unit, []).append(grant.lease)
        self._open.setdefault(grant.client, set()).add(grant.lease)
        at.snapshots.hold(grant.unit, grant.base, at.weights)
        if at.epoch.began is None:
            at.epoch.began = now
        at.epoch.took(grant.client, work.kind, work.backend)
        client.told = None
        at.notice(task_events.UnitLeased(grant.client, grant.lease, grant.unit, at.epoch.number, grant.shard))
        at.background.spawn(self._tell_unit(grant.lease))

    def repeat(self, client: ClientId, _now: float) -> None:
        """It came back: it is told again what it has."""
        for lease, work in self.open_of(client):
            if work.result is None and not work.over:
                self._state.background.spawn(self._tell_unit(lease))

    async def _tell_unit(self, lease: LeaseId) -> None:
        work = self._state.works[lease]
        try:
            address = await self._state.background.stored(
                lambda: self._state.snapshots.address(work.grant.base)
            )
        except KeyError:
            return  # The unit is over meanwhile, which its client was told.
        if not work.over:
            self._state.connected.tell(work.grant.client, self._frame(work, address))

    def _frame(self, work: LeasedWork, weights: str) -> unit_messages.Unit:
        task, grant = self._state.task, work.grant
        shard = task.shards.train[grant.shard]
        fixed = grant.steps or task.file.training.steps or 0
        return unit_messages.Unit(
            lease=grant.lease,
            unit=grant.unit,
            epoch=work.epoch,
            shard=messages.Shard(sha256=shard.sha256, examples=shard.examples),
            first=grant.first,
            examples=grant.examples,
            base=grant.base,
            weights=weights,
            epochs=0 if fixed else task.epochs,
            steps=fixed,
            batch_size=task.batch_size,
            learning_rate=task.learning_rate,
            past_steps=past_steps(task, work.epoch),
            seed=grant.seed,
            proximal_mu=task.file.training.proximal_mu,
            start=work.start,
            elasticity=work.elasticity,
            seconds=max(0.0, grant.deadline - self._state.clock()),
            heartbeat=grant.heartbeat,
        )

    def returned(self, client: ClientId, lease: LeaseId) -> None:
        """A result of it is here."""
        member = self._state.members.get(client)
        if member is not None:
            member.results += 1
            member.own = self._state.units.keeps_own
        self.ended(lease)

    def ended(self, lease: LeaseId) -> None:
        """Nothing more is awaited of this lease."""
        work = self._state.works[lease]
        opened = self._open.get(work.grant.client)
        if opened is not None:
            opened.discard(lease)
            if not opened:
                del self._open[work.grant.client]

    def forget(self, epoch: int) -> None:
        """Leases of epochs before this one: what comes of them is too late."""
        for lease, work in list(self._state.works.items()):
            if work.epoch < epoch:
                self.ended(lease)
                del self._state.works[lease]
                self._state.of_unit.pop(work.grant.unit, None)

    # What they are told of themselves.

    def tell_standing(self, client: ClientId) -> None:
        """How a client stands, to itself."""
        known = self._state.machine.clients().get(client)
        if known is None or client not in self._state.members:
            return
        given = self._state.credited(client)
        rules = self._state.units.trust
        self._state.connected.tell(
            client,
            unit_messages.Standing(
                credited=given.examples,
                units=given.units,
                checked=known.trust.held,
                trusted=known.trusted or known.trust.held >= rules.checked,
                quota=max(0, known.trust.quota - known.trust.today),
            ),
        )
