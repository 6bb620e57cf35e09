"""The snapshot of a scheduler that survives a restart: values that any codec can write."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass

from backend.protocols.units.client_table import REMEMBERED, TableClient
from backend.protocols.units.scheduler_effects import ClientId, WorkUnit
from backend.protocols.units.trust import TrustLevel

# Numbers of leases that were given since the snapshot are not given again: what comes of those is refused.
LEAP = 1 << 24


@dataclass(frozen=True)
class KnownClient:
    """One client, as `client_table.TableClient` has it."""

    name: ClientId
    kind: str
    trust: TrustLevel
    paces: tuple[float, ...]
    shards: tuple[int, ...]
    elsewhere: dict[str, TrustLevel]


@dataclass(frozen=True)
class OpenUnit:
    """A work unit that is still to be done, halved so many times."""

    work: WorkUnit
    halvings: int


@dataclass(frozen=True)
class Snapshot:
    """Where an epoch stands. Leases are not kept: they begin at weights that a restart loses."""

    epoch: int
    done: int
    failed: int
    dropped: int
    open: tuple[OpenUnit, ...]
    clients: tuple[KnownClient, ...]
    next_unit: int
    next_lease: int


def known(name: ClientId, client: TableClient) -> KnownClient:
    """What is kept of a client."""
    return KnownClient(
        name, client.kind, client.trust, tuple(client.paces), tuple(client.shards), dict(client.elsewhere)
    )


def remembered(one: KnownClient) -> TableClient:
    """The client, which is not here yet."""
    return TableClient(
        slots=0,
        trust=one.trust,
        kind=one.kind,
        here=False,
        paces=deque(one.paces, maxlen=REMEMBERED),
        shards=OrderedDict.fromkeys(one.shards),
        elsewhere=dict(one.elsewhere),
    )
