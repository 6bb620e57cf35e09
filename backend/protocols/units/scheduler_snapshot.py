"""The snapshot of a scheduler that survives a restart: values that any codec can write."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass

from backend.protocols.units.client_table import MAX_KINDS, MAX_PACES, TableClient
from backend.protocols.units.scheduler_effects import ClientId, WorkUnit
from backend.protocols.units.trust import TrustLevel

# Lease numbers given since the snapshot are not reused, so that results of those leases are refused.
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
    """A work unit that is not over, with the number of its halvings."""

    work: WorkUnit
    halvings: int


@dataclass(frozen=True)
class Snapshot:
    """The state of an epoch. It has no leases: their base weights are lost in a restart."""

    epoch: int
    done: int
    failed: int
    dropped: int
    open: tuple[OpenUnit, ...]
    clients: tuple[KnownClient, ...]
    next_unit: int
    next_lease: int


def client_record(name: ClientId, client: TableClient) -> KnownClient:
    """Returns the record of a client."""
    return KnownClient(
        name,
        client.kind,
        client.trust,
        tuple(client.paces),
        tuple(client.shards),
        dict(client.trust_of_other_kinds),
    )


def restored_client(record: KnownClient) -> TableClient:
    """Returns the client of a record, not connected."""
    return TableClient(
        slots=0,
        trust=record.trust,
        kind=record.kind,
        is_connected=False,
        paces=deque(record.paces, maxlen=MAX_PACES),
        shards=OrderedDict.fromkeys(record.shards),
        trust_of_other_kinds=dict(list(record.elsewhere.items())[-MAX_KINDS:]),
    )
