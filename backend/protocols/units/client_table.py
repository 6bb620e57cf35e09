"""The scheduler's clients: their connection, pace and trust."""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from backend.protocols.client.household import ABSENT, Household, by_itself
from backend.protocols.units import trust
from backend.protocols.units.clocks import Clocks
from backend.protocols.units.household_records import HouseholdRecords
from backend.protocols.units.households import HouseholdLottery
from backend.protocols.units.records import Lease
from backend.protocols.units.rules import PaceRules, TrustRules
from backend.protocols.units.scheduler_effects import ClientId, LeaseId
from backend.protocols.units.trust import TrustLevel

# Paces stored for a client; fewer than MIN_PACES are not enough for a percentile.
MAX_PACES, MIN_PACES = 32, 3


def allowed_seconds(examples: int, paces: Sequence[float], rules: PaceRules) -> float:
    """Returns the seconds of a lease of `examples`; `paces` are seconds per example, the newest last."""
    if len(paces) < MIN_PACES:
        return rules.usual
    ordered = sorted(paces)
    # The 90th percentile.
    slow = examples * ordered[math.ceil(0.9 * len(ordered)) - 1]
    return min(rules.most, max(rules.least, rules.factor * slow))


def seconds_for(examples: int, paces: Sequence[float], said: float | None) -> float | None:
    """Returns the expected seconds for `examples`: by the median of `paces`, else by the pace it `said`."""
    if paces:
        return examples * sorted(paces)[len(paces) // 2]
    return None if said is None else examples * said


# Paces of the newest results of all clients, from which a client without results is expected to have one.
MAX_NEWEST_PACES = 64
# Shards of a client that are searched for a unit; its cache may have more.
MAX_SHARDS = 8
# Other compute backends by which a client is remembered: it names them itself. Its quota is the same by all.
MAX_KINDS = 8


@dataclass(slots=True)
class TableClient:
    """A client with `slots` units at a time.

    `kind` names its compute backend: `trust` belongs to the client with that kind, and `trust_of_other_kinds`
    has its trust with other kinds. `paces` are seconds per example, the newest last; `pace` is its own
    estimate. Since `waiting_since` it waits for reliable clients to take the last units. `was_late`: its last
    lease expired without a heartbeat. `counts`: its last judged result did. `advanced_at` is when it last
    got a unit, took a step, or sent a result; its last result came at `returned_at`. It may be without a
    connection for `offline` seconds. Clients of one `household` never compare one another's results.
    `unproved` are leases of units that it began and that wait for a comparison, `disputed` those whose
    results differ from others' and wait for one more, `held` those whose results wait for a verdict on an
    unproved one.
    """

    slots: int
    trust: TrustLevel
    kind: str = ""
    household: Household = ABSENT
    trusted: bool = False
    is_connected: bool = True
    pace: float | None = None
    waiting_since: float | None = None
    was_late: bool = False
    counts: bool = False
    advanced_at: float = -math.inf
    offline: float = 0.0
    returned_at: float = -math.inf
    leases: set[LeaseId] = field(default_factory=set)
    unproved: set[LeaseId] = field(default_factory=set)
    disputed: set[LeaseId] = field(default_factory=set)
    held: set[LeaseId] = field(default_factory=set)
    paces: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_PACES))
    shards: OrderedDict[int, None] = field(default_factory=OrderedDict)
    trust_of_other_kinds: dict[str, TrustLevel] = field(default_factory=dict)

    def has_shard(self, shard: int) -> None:
        """Takes that it has this shard in its cache; the least recent shards are dropped."""
        self.shards[shard] = None
        self.shards.move_to_end(shard)
        if len(self.shards) > MAX_SHARDS:
            self.shards.popitem(last=False)

    def seconds(self, examples: int) -> float | None:
        """Returns its expected seconds for `examples`; None if its pace is unknown."""
        return seconds_for(examples, self.paces, self.pace)


class ClientTable:
    """Owns the clients: which are connected, reliable or trusted, and their clocks.

    `strangers` are the connected clients that take units, `vouched` those whose agreement raises trust. No
    client waits for a slow one longer than `longest_wait` seconds (see Clocks).
    """

    def __init__(self, rules: TrustRules, longest_wait: float) -> None:
        self._rules = rules
        self.clocks = Clocks(longest_wait)
        self.clients: dict[ClientId, TableClient] = {}
        self.reliable = self.punctual = 0
        self.trusted: set[ClientId] = set()
        self.strangers, self.vouched = HouseholdLottery(), HouseholdLottery()
        self.households = HouseholdRecords()
        self._newest_paces: deque[float] = deque(maxlen=MAX_NEWEST_PACES)
        self._usual_pace: float | None = None

    def client_connected(
        self,
        name: ClientId,
        slots: int,
        kind: str,
        pace: float | None,
        trusted: bool,
        household: Household | None = None,
    ) -> TableClient:
        """Takes a client's connection, the first or a later one."""
        client = self.clients.get(name)
        if client is None:
            client = self.clients[name] = TableClient(
                slots, trust.newcomer(self._rules), kind, is_connected=False
            )
        self._leave(name, client)
        if client.kind != kind:
            client.trust_of_other_kinds[client.kind] = client.trust
            earlier = client.trust_of_other_kinds.pop(kind, trust.newcomer(self._rules))
            if len(client.trust_of_other_kinds) > MAX_KINDS:
                del client.trust_of_other_kinds[next(iter(client.trust_of_other_kinds))]
            client.trust, client.kind = trust.with_kind(client.trust, earlier), kind
            client.paces.clear()
        client.slots, client.trusted, client.pace, client.is_connected = slots, trusted, pace, True
        client.offline = 0.0
        client.household = household or by_itself(name)
        self._enter(name, client)
        return client

    def set_slots(self, name: ClientId, slots: int, offline: float = 0.0) -> None:
        """Takes the number of units that a client processes at a time, without a connection for `offline`."""
        if (client := self.clients.get(name)) is not None and client.is_connected:
            self._leave(name, client)
            client.slots, client.offline, client.is_connected = slots, offline, True
            self._enter(name, client)

    def client_disconnected(self, name: ClientId) -> Collection[LeaseId]:
        """Takes a client's disconnection; returns the leases that it works on."""
        if (client := self.clients.get(name)) is None:
            return ()
        self._leave(name, client)
        return client.leases

    def set_trust(self, name: ClientId, level: TrustLevel) -> None:
        """Sets the client's trust level."""
        client = self.clients[name]
        before = self.is_reliable(client)
        client.trust = level
        if client.is_connected:
            self.reliable += self.is_reliable(client) - before
            self._enter_lotteries(name, client)

    def set_late(self, name: ClientId, late: bool) -> None:
        """Sets whether its last lease expired, even if a result came later."""
        client = self.clients[name]
        self.set_trust(name, trust.after_return(client.trust, not late))
        before = _is_punctual(client)
        client.was_late = late
        if late:
            self.clocks.stopped(name)
        if client.is_connected:
            self.punctual += _is_punctual(client) - before

    def is_reliable(self, client: TableClient) -> bool:
        """Whether it gets the last units of an epoch first."""
        return client.trusted or trust.is_reliable(client.trust, self._rules)

    def is_alone(self, name: ClientId) -> bool:
        """Whether no other connected client takes units."""
        return self.trusted <= {name} and self.strangers.is_only(name)

    def comparison_awaited(self, client: TableClient, lease: LeaseId, now: float) -> None:
        """Takes a unit that the client began and that waits for a comparison."""
        client.unproved.add(lease)
        if not client.trust.streak:
            self.households.begin(client.household, lease)
        if self.is_suspect(client, now):
            self.households.suspect_began(lease)

    def comparison_ended(self, client: TableClient, lease: LeaseId, household: Household) -> None:
        """Takes that a lease of a client, then in `household`, waits for no comparison and no decision."""
        client.unproved.discard(lease)
        client.disputed.discard(lease)
        client.held.discard(lease)
        self.households.end(household, lease)

    def is_suspect(self, client: TableClient, now: float) -> bool:
        """Whether only a trusted peer may repeat its units: accomplices would confirm new names."""
        suspended = self._rules.guarded and self.households.is_suspended(client.household, now)
        return suspended and not client.trusted and not trust.is_proven(client.trust, self._rules)

    def may_be_compared(self, client: TableClient, now: float) -> bool:
        """Whether one unit more that it begins may wait for a comparison.

        Newcomers of a household share the number of one: else new names would bring more before the first
        of them is compared. Suspects wait for a trusted peer, which has other work first. Whether a result of
        a proven client is compared shows when it arrives, so that all of its units under way count.
        """
        most = trust.most_unproved(client.trust, self._rules)
        under_way = client.unproved | client.held
        if trust.is_proven(client.trust, self._rules):
            under_way = under_way | client.leases
        if client.trusted or len(under_way) >= most:
            return client.trusted
        if self.is_suspect(client, now):
            return bool(self.trusted) and self.households.may_suspects_begin()
        return bool(client.trust.streak) or self.households.waiting(client.household) < most

    def lease_started(self, name: ClientId, lease: LeaseId, now: float) -> None:
        """Takes the start of a lease."""
        client = self.clients[name]
        client.advanced_at = now
        if not client.leases and _is_in_step(client):
            self.clocks.started(name, now)
        client.leases.add(lease)

    def lease_ended(self, name: ClientId, lease: LeaseId) -> None:
        """Takes the end of a lease."""
        client = self.clients[name]
        client.leases.discard(lease)
        if not client.leases:
            self.clocks.stopped(name)

    def unit_returned(self, name: ClientId, now: float) -> None:
        """Takes the result of a unit: advances the client's clock."""
        client = self.clients[name]
        client.advanced_at = client.returned_at = now
        self.clocks.stopped(name)
        self.clocks.returned(name)
        if client.leases and _is_in_step(client):
            self.clocks.started(name, now)

    def result_judged(self, name: ClientId, counts: bool) -> None:
        """Takes whether a result of the client counts."""
        self.clients[name].counts = counts
        if not counts:
            self.clocks.stopped(name)

    def measure_pace(self, lease: Lease, examples: int, now: float) -> None:
        """Measures the seconds per example that a client needed from a lease to its result.

        A unit of a buffer is trained after the one before; the times of results that waited for a connection
        say nothing.
        """
        if lease.buffered and lease.interrupted:
            return
        client = self.clients[lease.client]
        began = max(lease.began, client.returned_at) if lease.buffered else lease.began
        pace = (now - began) / max(1, examples)
        client.paces.append(pace)
        self._take_newest([pace])

    def expected_seconds(self, name: ClientId, examples: int) -> float | None:
        """Returns the expected seconds of a client from a lease of `examples` to its result.

        A client without results is not expected to be faster than others. None while too few are measured.
        """
        client, usual = self.clients[name], self.usual_seconds(examples)
        if client.paces or usual is None:
            return client.seconds(examples) if client.paces else None
        # It may hold as many units at a time as it has slots.
        return max(usual, max(1, client.slots) * (client.seconds(examples) or 0.0))

    def seconds_in_queue(self, lease: Lease, own: float) -> float:
        """Returns the expected seconds from a lease's begin to its result; it alone takes `own` seconds.

        A client trains the units of its buffer one after the other, in the order in which it got them.
        """
        if not lease.buffered:
            return own
        client = self.clients[lease.client]
        before = sum(other < lease.id for other in client.leases)
        return max(0.0, client.returned_at - lease.began) + (before + 1) * own

    def usual_seconds(self, examples: int) -> float | None:
        """Returns the median client's seconds for `examples`; None while too few are measured."""
        return None if self._usual_pace is None else examples * self._usual_pace

    def add_restored(self, clients: Iterable[tuple[ClientId, TableClient]]) -> None:
        """Restores clients known before a restart; none of them is connected."""
        self.clients.update(clients)
        paces = [pace for client in self.clients.values() for pace in list(client.paces)[-1:]]
        self._take_newest(paces)

    def _take_newest(self, paces: list[float]) -> None:
        self._newest_paces.extend(paces)
        if len(self._newest_paces) >= MIN_PACES:
            self._usual_pace = seconds_for(1, self._newest_paces, None)

    def _enter(self, name: ClientId, client: TableClient) -> None:
        self.reliable += self.is_reliable(client)
        self.punctual += _is_punctual(client)
        if client.trusted and client.slots:
            self.trusted.add(name)
        self._enter_lotteries(name, client)

    def _leave(self, name: ClientId, client: TableClient) -> None:
        if client.is_connected:
            self.reliable -= self.is_reliable(client)
            self.punctual -= _is_punctual(client)
            self.trusted.discard(name)
            self.strangers.discard(client.household.key, name)
            self.vouched.discard(client.household.key, name)
            client.is_connected = False

    def _enter_lotteries(self, name: ClientId, client: TableClient) -> None:
        if not client.slots or client.trusted:
            return
        self.strangers.add(client.household.key, name)
        if trust.is_vouched(client.trust):
            self.vouched.add(client.household.key, name)
        else:
            self.vouched.discard(client.household.key, name)


def _is_punctual(client: TableClient) -> bool:
    """Whether it takes units, and its last lease did not expire."""
    return client.slots > 0 and not client.was_late


def _is_in_step(client: TableClient) -> bool:
    """Whether others wait for it where the task has a bound: its last results came in time, and count.

    Else any name could hold them up by heartbeats, without work.
    """
    return client.counts and client.trust.on_time > 0
