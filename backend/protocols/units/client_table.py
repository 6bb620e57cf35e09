"""The clients that the scheduler knows: who is connected, their pace, and how far they are trusted."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from backend.numerics.aggregation.asynchronous import may_begin
from backend.protocols.units import trust
from backend.protocols.units.rules import PaceRules, TrustRules
from backend.protocols.units.scheduler_effects import ClientId, LeaseId
from backend.protocols.units.trust import TrustLevel

# So many paces of a client are remembered; fewer than FEW say nothing of its slow ones yet.
REMEMBERED, FEW = 32, 3


def allowed_seconds(examples: int, paces: Sequence[float], rules: PaceRules) -> float:
    """How long a lease of so many examples holds; `paces` are its client's seconds for one, newest last."""
    if len(paces) < FEW:
        return rules.usual
    ordered = sorted(paces)
    # The smallest value that nine of ten do not exceed.
    slow = examples * ordered[math.ceil(0.9 * len(ordered)) - 1]
    return min(rules.most, max(rules.least, rules.factor * slow))


def seconds_for(examples: int, paces: Sequence[float], said: float | None) -> float | None:
    """What so many examples usually take: by the median of `paces`, or by what the client `said` itself."""
    if paces:
        return examples * sorted(paces)[len(paces) // 2]
    return None if said is None else examples * said


# Shards of a client that are looked through for a unit; it may have more of them in its cache.
SHARDS = 8


@dataclass(slots=True)
class TableClient:
    """Somebody who trains; `slots` units at once. `here` is whether it is connected.

    `kind` is with what it computes: trust is in a client with that kind, and `elsewhere` what there was with
    others. `paces` are seconds for an example, the newest last; `pace` is what it said itself before any.
    `clock` counts its results. Since `held_back` it waits for reliable clients to take the last units.
    `tardy`: the last time that was due of it went by in silence.
    """

    slots: int
    trust: TrustLevel
    kind: str = ""
    trusted: bool = False
    here: bool = True
    pace: float | None = None
    held_back: float | None = None
    tardy: bool = False
    clock: int = 0
    leases: set[LeaseId] = field(default_factory=set)
    paces: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    shards: OrderedDict[int, None] = field(default_factory=OrderedDict)
    elsewhere: dict[str, TrustLevel] = field(default_factory=dict)

    def has_shard(self, shard: int) -> None:
        """It has this shard in its cache now; those that it had longest ago are not looked for."""
        self.shards[shard] = None
        self.shards.move_to_end(shard)
        if len(self.shards) > SHARDS:
            self.shards.popitem(last=False)

    def seconds(self, examples: int) -> float | None:
        """What so many examples take it, usually; None where nothing is known of it."""
        return seconds_for(examples, self.paces, self.pace)


class ClientTable:
    """Owns clients: who is here, who of them is reliable or trusted, and how far each is."""

    def __init__(self, rules: TrustRules) -> None:
        self._rules = rules
        self.clients: dict[ClientId, TableClient] = {}
        self.reliable = self.punctual = 0
        self.trusted: set[ClientId] = set()
        self._clocks: Counter[int] = Counter()

    def client_connected(
        self, name: ClientId, slots: int, kind: str, pace: float | None, trusted: bool
    ) -> TableClient:
        """A client connected, for the first time or again."""
        client = self.clients.get(name)
        if client is None:
            client = self.clients[name] = TableClient(slots, trust.newcomer(self._rules), kind, here=False)
        self._leave(name, client)
        if client.kind != kind:
            client.elsewhere[client.kind] = client.trust
            known = client.elsewhere.pop(kind, trust.newcomer(self._rules))
            client.trust, client.kind = trust.with_kind(client.trust, known), kind
            client.paces.clear()
        client.slots, client.trusted, client.pace, client.here = slots, trusted, pace, True
        self._enter(name, client)
        return client

    def wants(self, name: ClientId, slots: int) -> None:
        """A client takes so many units at once from now on."""
        if (client := self.clients.get(name)) is not None and client.here:
            self._leave(name, client)
            client.slots, client.here = slots, True
            self._enter(name, client)

    def client_disconnected(self, name: ClientId) -> None:
        """A client disconnected."""
        if (client := self.clients.get(name)) is not None:
            self._leave(name, client)

    def set_trust(self, client: TableClient, now: TrustLevel) -> None:
        """What is thought of it from now on."""
        before = self.is_reliable(client)
        client.trust = now
        if client.here:
            self.reliable += self.is_reliable(client) - before

    def set_late(self, client: TableClient, late: bool) -> None:
        """Whether its last lease ended in silence, be it that a result came later, or with a result."""
        self.set_trust(client, trust.after_return(client.trust, not late))
        before = _is_punctual(client)
        client.tardy = late
        if client.here:
            self.punctual += _is_punctual(client) - before

    def is_reliable(self, client: TableClient) -> bool:
        """Whether the last units of an epoch go to it first."""
        return client.trusted or trust.is_reliable(client.trust, self._rules)

    def may_begin(self, client: TableClient, bound: int) -> bool:
        """Whether it may get one unit further: at most `bound` ahead of the slowest who is at work."""
        return may_begin(client.clock + len(client.leases), self._clocks.keys(), bound)

    def lease_started(self, client: TableClient, lease: LeaseId) -> None:
        """It is at work on this lease now. Whoever joins goes on from where the slowest is."""
        if not client.leases:
            client.clock = max(client.clock, min(self._clocks, default=0))
            self._clocks[client.clock] += 1
        client.leases.add(lease)

    def lease_ended(self, client: TableClient, lease: LeaseId) -> None:
        """It is not at work on this lease any more."""
        client.leases.discard(lease)
        if not client.leases:
            self._drop_clock(client.clock)

    def unit_returned(self, client: TableClient) -> None:
        """It returned a unit."""
        if client.leases:
            self._drop_clock(client.clock)
            self._clocks[client.clock + 1] += 1
        client.clock += 1

    def remember(self, clients: Iterable[tuple[ClientId, TableClient]]) -> None:
        """Those that were known before a restart; none of them is here."""
        self.clients.update(clients)

    def _enter(self, name: ClientId, client: TableClient) -> None:
        self.reliable += self.is_reliable(client)
        self.punctual += _is_punctual(client)
        if client.trusted and client.slots:
            self.trusted.add(name)

    def _leave(self, name: ClientId, client: TableClient) -> None:
        if client.here:
            self.reliable -= self.is_reliable(client)
            self.punctual -= _is_punctual(client)
            self.trusted.discard(name)
            client.here = False

    def _drop_clock(self, clock: int) -> None:
        self._clocks[clock] -= 1
        if not self._clocks[clock]:
            del self._clocks[clock]


def _is_punctual(client: TableClient) -> bool:
    """Whether it takes units, and was not late last."""
    return client.slots > 0 and not client.tardy
