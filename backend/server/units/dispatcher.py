"""The dispatcher: gets leases for clients with free slots from the scheduler, and sends the units."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from backend.protocols.units.scheduler_effects import ClientId, Effect, GrantLease, LeaseId, Wait
from backend.server.observers import task_events
from backend.server.units.state import LeasedUnit, UnitsState
from backend.server.units.work_generator import past_steps, start_of
from backend.wire import messages, unit_messages

# Clients served for each event, so that one event does not block the others.
ASKED = 64
Cause = Literal["nothing", "quota", "reliable", "bound", "over", "paused"]


class Dispatcher:
    """Owns the queue of clients that want units, and their open leases. `chance` draws from [0, 1).

    New clients, and those whose state changed, are asked for at once; idle ones after a unit became pending.
    """

    def __init__(self, state: UnitsState, chance: Callable[[], float] = random.random) -> None:
        self._state = state
        self._chance = chance
        # Each in order, without doubles.
        self._queue: dict[ClientId, None] = {}
        self._idle: dict[ClientId, None] = {}
        self._open: dict[ClientId, set[LeaseId]] = {}
        self._retry_at: float | None = None

    # The queue.

    def wants(self, client: ClientId) -> None:
        """Queues a client that may have a free slot."""
        member = self._state.clients.members.get(client)
        if member is not None and member.ready and member.slots:
            self._idle.pop(client, None)
            self._queue[client] = None

    def left(self, client: ClientId) -> None:
        """Removes a client that left."""
        self._queue.pop(client, None)
        self._idle.pop(client, None)

    def wake(self) -> None:
        """Queues idle clients again: there may be units for them."""
        self._queue.update(self._idle)
        self._idle.clear()

    def timer(self, now: float) -> float | None:
        """When `dispatch` is due without an event."""
        if self._queue and self._state.run.granting:
            return now
        return self._retry_at

    def dispatch(self, perform: Callable[[Sequence[Effect]], None], now: float) -> None:
        """Asks for leases for some of the queued clients."""
        if self._retry_at is not None and now >= self._retry_at:
            self._retry_at = None
            self.wake()
        if not self._state.run.granting:
            self._tell_all_idle()
            return
        if self._idle and self._state.scheduler.pending:
            self.wake()
        for _ in range(min(ASKED, len(self._queue))):
            client = next(iter(self._queue))
            del self._queue[client]
            while self._ask(client, perform, now):
                pass

    def _ask(self, client: ClientId, perform: Callable[[Sequence[Effect]], None], now: float) -> bool:
        """Whether the client got a lease."""
        effects = self._state.scheduler.ask(
            client, self._state.model.base, self._chance(), now, fresh=self._may_begin()
        )
        perform([one for one in effects if not isinstance(one, Wait)])
        for wait in (one for one in effects if isinstance(one, Wait)):
            self._wait(wait)
        return any(isinstance(one, GrantLease) for one in effects)

    def _may_begin(self) -> bool:
        """Whether a unit that nobody began may be given: while the model warms up, one after the other."""
        if self._state.model.base >= self._state.units.assimilation.warm_start:
            return True
        tally = self._state.scheduler.progress.tally()
        return not (tally.leased or tally.compared or self._state.model.assimilating)

    def _wait(self, wait: Wait) -> None:
        if wait.reason == "slots":
            return
        self._idle[wait.client] = None
        if wait.again is not None:
            self._retry_at = wait.again if self._retry_at is None else min(self._retry_at, wait.again)
        causes: dict[str, Cause] = {"quota": "quota", "reliable": "reliable", "bound": "bound"}
        self._tell_idle(wait.client, causes.get(wait.reason, "nothing"))

    def _tell_all_idle(self) -> None:
        if not self._queue:
            return
        run = self._state.run
        cause: Cause = "over" if run.finished else "paused" if run.paused else "nothing"
        for client in self._queue:
            self._tell_idle(client, cause)
        self._idle.update(self._queue)
        self._queue.clear()

    def _tell_idle(self, client: ClientId, cause: Cause) -> None:
        member = self._state.clients.members.get(client)
        if member is not None and member.idle_cause != cause and not self._open.get(client):
            member.idle_cause = cause
            self._state.connected.tell(client, unit_messages.Idle(cause=cause))

    # Open leases.

    def open_of(self, client: ClientId) -> Iterator[tuple[LeaseId, LeasedUnit]]:
        """Leases of a client whose results may still arrive."""
        for lease in sorted(self._open.get(client, ())):
            if (work := self._state.leases.get(lease)) is not None:
                yield lease, work

    def is_busy(self, client: ClientId) -> bool:
        """Whether a client has an open lease."""
        return client in self._open

    def all_open(self) -> list[tuple[LeaseId, LeasedUnit]]:
        """The open leases of all clients."""
        return [one for client in list(self._open) for one in self.open_of(client)]

    @property
    def busy(self) -> bool:
        """Whether any client has an open lease."""
        return bool(self._open)

    def granted(self, grant: GrantLease, now: float) -> None:
        """A client got a lease: its unit is sent when the weights that it starts from are written."""
        state, client = self._state, self._state.clients.members[grant.client]
        start, elasticity = start_of(state.units, client.results, client.own)
        work = LeasedUnit(
            grant, state.run.epoch.number, now, client.client.kind, client.client.backend, start, elasticity
        )
        if start == "own":
            work.own = state.clients.own_weights.get(grant.client)
        state.leases.add(work)
        self._open.setdefault(grant.client, set()).add(grant.lease)
        state.snapshots.hold(grant.unit, grant.base, state.model.weights)
        if state.run.epoch.began is None:
            state.run.epoch.began = now
        state.run.epoch.took(grant.client, work.kind, work.backend)
        client.idle_cause = None
        state.notice(task_events.UnitLeased(grant.client, grant.lease, grant.unit, work.epoch, grant.shard))
        state.background.spawn(self._send_unit(grant.lease))

    def repeat(self, client: ClientId) -> None:
        """A client reconnected: its open units are sent again."""
        for lease, work in self.open_of(client):
            if work.result is None and not work.over:
                self._state.background.spawn(self._send_unit(lease))

    async def _send_unit(self, lease: LeaseId) -> None:
        work = self._state.leases[lease]
        try:
            address = await self._state.background.stored(
                lambda: self._state.snapshots.address(work.grant.base)
            )
        except KeyError:
            return  # The unit is over meanwhile; its client knows that.
        if not work.over:
            self._state.connected.tell(work.grant.client, self._frame(work, address))

    def _frame(self, work: LeasedUnit, weights: str) -> unit_messages.Unit:
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
        """A result of a client arrived."""
        member = self._state.clients.members.get(client)
        if member is not None:
            member.results += 1
            member.own = self._state.units.keeps_own
        self.ended(lease)

    def ended(self, lease: LeaseId) -> None:
        """No result of this lease is expected any more."""
        work = self._state.leases[lease]
        opened = self._open.get(work.grant.client)
        if opened is not None:
            opened.discard(lease)
            if not opened:
                del self._open[work.grant.client]

    def forget(self, epoch: int) -> None:
        """Forgets leases of epochs before this one: their results are too late."""
        for lease in self._state.leases.before(epoch):
            self.ended(lease)
            self._state.leases.remove(lease)

    def tell_standing(self, client: ClientId) -> None:
        """Sends a client its credit and trust."""
        known = self._state.scheduler.clients().get(client)
        if known is None or client not in self._state.clients.members:
            return
        given = self._state.clients.credited(client, self._state.run.epoch.given.get(client))
        rules = self._state.units.trust
        self._state.connected.tell(
            client,
            unit_messages.Standing(
                credited=given.examples,
                units=given.units,
                checked=known.trust.streak,
                trusted=known.trusted or known.trust.streak >= rules.checked,
                quota=max(0, known.trust.quota - known.trust.today),
            ),
        )
