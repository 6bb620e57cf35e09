"""The dispatcher: requests leases for clients with free slots, and sends them the units."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from backend.protocols.units import trust
from backend.protocols.units.client_table import TableClient
from backend.protocols.units.rules import TrustRules
from backend.protocols.units.scheduler_effects import ClientId, Effect, GrantLease, LeaseId, Wait
from backend.server.observers import task_events
from backend.server.units.state import ClientCredit, LeasedUnit, UnitsState
from backend.server.units.work_generator import past_steps, planned_work, rules_of, start_of
from backend.wire import messages, unit_messages

# Clients served per event: a bound, so that one event does not delay the others.
CLIENTS_PER_DISPATCH = 64
# Draws from [0, 1) what no client can predict: who repeats a unit depends on it.
secret_chance = random.SystemRandom().random
Cause = Literal["nothing", "quota", "reliable", "bound", "released", "over", "paused"]

# Causes of `Wait` that clients receive unchanged.
_CAUSES: dict[str, Cause] = {
    "quota": "quota",
    "reliable": "reliable",
    "bound": "bound",
    "released": "released",
}


class Dispatcher:
    """Owns the queue of clients that want units, and their open leases. `chance` draws from [0, 1).

    New clients, and those whose state changed, are served after the event; idle ones when a unit is pending.
    """

    def __init__(self, state: UnitsState, chance: Callable[[], float] = secret_chance) -> None:
        self._state = state
        self._chance = chance
        # Dictionaries serve as ordered sets.
        self._queue: dict[ClientId, None] = {}
        self._idle: dict[ClientId, None] = {}
        self._open: dict[ClientId, set[LeaseId]] = {}
        self._retry_at: float | None = None
        # When one more unit may begin during the warm start.
        self._next_unit_at = 0.0

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
        """Queues the idle clients: there may be units for them now."""
        self._queue.update(self._idle)
        self._idle.clear()

    def timer(self, now: float) -> float | None:
        """Returns the time at which `dispatch` is due without an event; None if it is not."""
        if self._queue and self._state.run.granting:
            return now
        return self._retry_at

    def dispatch(
        self, perform: Callable[[Sequence[Effect]], None], now: float, has_news: bool = True
    ) -> None:
        """Requests leases for up to CLIENTS_PER_DISPATCH queued clients.

        Without news it only continues the queue: what idle clients were refused before, they would be now.
        """
        if self._retry_at is not None and now >= self._retry_at:
            self._retry_at = None
            self.wake()
        if not self._state.run.granting:
            self._tell_all_idle()
            return
        if has_news and self._idle and self._state.scheduler.pending:
            self.wake()
        for _ in range(min(CLIENTS_PER_DISPATCH, len(self._queue))):
            client = next(iter(self._queue))
            del self._queue[client]
            while self._ask(client, perform, now):
                pass

    def _ask(self, client: ClientId, perform: Callable[[Sequence[Effect]], None], now: float) -> bool:
        """Requests one lease. Returns whether the client got it."""
        fresh = self._may_begin_unit(now)
        if not fresh:
            self._retry(self._next_unit_at)
        effects = self._state.scheduler.ask(client, self._state.model.base, self._chance(), now, fresh=fresh)
        perform([effect for effect in effects if not isinstance(effect, Wait)])
        for wait in (effect for effect in effects if isinstance(effect, Wait)):
            self._wait(wait)
        return any(isinstance(effect, GrantLease) for effect in effects)

    def _may_begin_unit(self, now: float) -> bool:
        """Whether a unit without a lease may be granted: during the warm start, one unit at a time.

        After the usual time of a lease one more may begin: its client could hold it by heartbeats for longer.
        """
        if self._state.model.base >= self._state.units.assimilation.warm_start:
            return True
        tally = self._state.scheduler.progress.tally()
        is_busy = tally.leased or tally.compared or self._state.model.assimilating
        return not is_busy or now >= self._next_unit_at

    def _retry(self, at: float) -> None:
        self._retry_at = at if self._retry_at is None else min(self._retry_at, at)

    def _wait(self, wait: Wait) -> None:
        if wait.reason == "slots":
            return
        self._idle[wait.client] = None
        if wait.retry_at is not None:
            self._retry(wait.retry_at)
        self._tell_idle(wait.client, _CAUSES.get(wait.reason, "nothing"))

    def _tell_all_idle(self) -> None:
        if not self._queue:
            return
        run = self._state.run
        over = run.finished and not run.wait_at_end
        cause: Cause = "over" if over else "paused" if run.finished or run.paused else "nothing"
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
        """Yields the leases of a client whose results may still arrive."""
        for lease in sorted(self._open.get(client, ())):
            if (work := self._state.leases.get(lease)) is not None:
                yield lease, work

    def is_busy(self, client: ClientId) -> bool:
        """Whether a client has an open lease."""
        return client in self._open

    def all_open(self) -> list[tuple[LeaseId, LeasedUnit]]:
        """Returns the open leases of all clients."""
        return [open_lease for client in list(self._open) for open_lease in self.open_of(client)]

    @property
    def busy(self) -> bool:
        """Whether any client has an open lease."""
        return bool(self._open)

    def granted(self, grant: GrantLease, now: float) -> None:
        """Adds a granted lease, and sends its unit when the weights that it starts from are written."""
        state, member = self._state, self._state.clients.members[grant.client]
        start, elasticity = start_of(state.units, member.results, member.own)
        work = LeasedUnit(
            grant, state.run.epoch.number, now, member.client.kind, member.client.backend, start, elasticity
        )
        if start == "given":
            work.program = member.program
        if start == "own":
            work.own = state.clients.own_weights.get(grant.client)
        if len(state.scheduler.unit(grant.unit).leases) == 1:
            self._next_unit_at = now + state.units.lease
        state.leases.add(work)
        self._open.setdefault(grant.client, set()).add(grant.lease)
        state.snapshots.hold(grant.unit, grant.base, state.model.weights)
        if state.run.epoch.began is None:
            state.run.epoch.began = now
        state.run.epoch.took(grant.client, work.kind, work.backend)
        member.idle_cause = None
        state.notice(task_events.UnitLeased(grant.client, grant.lease, grant.unit, work.epoch, grant.shard))
        state.background.spawn(self._send_unit(grant.lease))

    def resumed(self, lease: LeaseId) -> None:
        """Adds a lease that its client got again, and sends its unit once more."""
        work = self._state.leases[lease]
        work.over = False
        self._open.setdefault(work.grant.client, set()).add(lease)
        grant = work.grant
        leased = task_events.UnitLeased(grant.client, lease, grant.unit, work.epoch, grant.shard, again=True)
        self._state.notice(leased)
        self._state.background.spawn(self._send_unit(lease))

    def repeat(self, client: ClientId) -> None:
        """Sends the open units of a client that reconnected again."""
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
            return  # The unit is over; its client has been sent the reason.
        if not work.over:
            self._state.connected.tell(work.grant.client, self._frame(work, address))

    def _frame(self, work: LeasedUnit, weights: str) -> unit_messages.Unit:
        task, grant = self._state.task, work.grant
        shard = task.shards.train[grant.shard]
        in_part = grant.steps or grant.first_step
        fixed = planned_work(task, grant).steps if in_part else task.file.training.steps or 0
        return unit_messages.Unit(
            lease=grant.lease,
            unit=grant.unit,
            epoch=grant.epoch,
            shard=messages.Shard(sha256=shard.sha256, examples=shard.examples),
            first=grant.first,
            examples=grant.examples,
            base=grant.base,
            weights=weights,
            epochs=0 if fixed else task.epochs,
            steps=fixed,
            batch_size=task.batch_size,
            learning_rate=task.learning_rate,
            past_steps=past_steps(task, grant),
            seed=grant.seed,
            proximal_mu=task.file.training.proximal_mu,
            start=work.start,
            elasticity=work.elasticity,
            seconds=max(0.0, grant.deadline - self._state.clock()),
            heartbeat=grant.heartbeat,
            first_step=grant.first_step,
        )

    def returned(self, client: ClientId, lease: LeaseId) -> None:
        """Counts a result that arrived, and ends its lease."""
        member = self._state.clients.members.get(client)
        if member is not None:
            member.results += 1
            member.own = self._state.units.keeps_own
        self.ended(lease)

    def ended(self, lease: LeaseId) -> None:
        """Removes a lease from the open ones: no result of it is expected any more."""
        work = self._state.leases[lease]
        open_leases = self._open.get(work.grant.client)
        if open_leases is not None:
            open_leases.discard(lease)
            if not open_leases:
                del self._open[work.grant.client]

    def forget(self, epoch: int) -> None:
        """Removes the leases of epochs before `epoch`: their results are too late."""
        for lease in self._state.leases.before(epoch):
            self.ended(lease)
            self._state.leases.remove(lease)

    def tell_standing(self, client: ClientId) -> None:
        """Sends a client its credit and trust."""
        entry = self._state.scheduler.clients().get(client)
        if entry is None or client not in self._state.clients.members:
            return
        credit = self._state.clients.credited(client, self._state.run.epoch.given.get(client))
        standing = standing_of(entry, credit, rules_of(self._state.task).trust, self._state.clock())
        self._state.connected.tell(client, standing)


def standing_of(
    entry: TableClient, credit: ClientCredit, rules: TrustRules, now: float
) -> unit_messages.Standing:
    """Returns the client's own standing; its quota is that of the day of `now`."""
    return unit_messages.Standing(
        credited=credit.examples,
        units=credit.units,
        checked=entry.trust.streak,
        trusted=entry.trusted or trust.is_proven(entry.trust, rules),
        quota=trust.left_today(entry.trust, now),
    )
