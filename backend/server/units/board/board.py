"""The owner's board of work units: units, shards, clients and servers (docs/reference/http.md)."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from backend.formats.task_file.units import TrustTable
from backend.protocols.units import trust
from backend.protocols.units.client_table import TableClient
from backend.protocols.units.records import UnitRecord
from backend.protocols.units.scheduler import Scheduler
from backend.server.hosting.clients.client_link import Presence
from backend.server.units.board.scores import scores
from backend.server.units.host import UnitsHost

# Cells of the map of shards; with more shards, neighbours share a cell.
MAX_CELLS = 400
# Rows of the table of clients.
MAX_ROWS = 200
PHASES = ("open", "leased", "compared", "done", "failed", "dropped")


class Servers(Protocol):
    """The figures that the board reads of the parameter servers."""

    @property
    def count(self) -> int: ...
    @property
    def backlog(self) -> int: ...


class Model(Protocol):
    """The figures that the board reads of the model; see ModelState."""

    @property
    def base(self) -> int: ...
    @property
    def contained(self) -> float: ...
    @property
    def lost(self) -> float: ...


def overview_json(
    scheduler: Scheduler,
    servers: Servers,
    presences: Sequence[Presence],
    model: Model,
    epochs: int,
    rules: TrustTable,
    now: float,
) -> dict[str, Any]:
    """Returns units, shards, clients and parameter servers as JSON values.

    `now` is the scheduler's time in seconds.
    """
    tally, clients = scheduler.progress.tally(), scheduler.clients()
    connected = [clients[presence.client] for presence in presences if presence.client in clients]
    units = list(scheduler.units())
    return {
        "epoch": scheduler.epoch,
        "epochs": epochs,
        "base": model.base,
        "in_model": model.contained,
        "tally": {**asdict(tally), "open": tally.open},
        "leases": Counter(lease.state.value for unit in units for lease in unit.leases),
        "shards": _shards(units),
        "servers": {"count": servers.count, "backlog": servers.backlog, "lost": model.lost},
        "clients": {
            "here": len(presences),
            "at_work": sum(bool(client.leases) for client in connected),
            "slots": sum(client.slots for client in connected),
            "proven": sum(_is_proven(client.trust, rules) for client in connected),
            "trusted": sum(client.trusted for client in connected),
        },
        "comparison": rules.comparison,
        "trust": _trust(clients, presences, rules, now),
    }


def _shards(units: Sequence[UnitRecord]) -> dict[str, Any]:
    """Returns cells of `each` shards: their units by phase, and the leases of these."""
    count = 1 + max((unit.work.shard for unit in units), default=-1)
    each = max(1, math.ceil(count / MAX_CELLS))
    cells = [[0] * (len(PHASES) + 1) for _ in range(math.ceil(count / each))]
    for unit in units:
        cell = cells[unit.work.shard // each]
        cell[PHASES.index(unit.phase)] += 1
        cell[-1] += len(unit.leases)
    return {"count": count, "each": each, "cells": cells}


def _trust(
    clients: Mapping[str, TableClient], presences: Sequence[Presence], rules: TrustTable, now: float
) -> list[dict[str, Any]]:
    """Returns rows of the connected clients, then of the most trusted others, at most MAX_ROWS."""
    connected = {presence.client: presence for presence in presences}
    disconnected = sorted(
        clients.keys() - connected.keys(), key=lambda name: (-clients[name].trust.streak, name)
    )
    names = [name for name in [*connected, *disconnected] if name in clients][:MAX_ROWS]
    return [_row(name, clients[name], connected.get(name), rules, now) for name in names]


def _row(
    name: str, client: TableClient, presence: Presence | None, rules: TrustTable, now: float
) -> dict[str, Any]:
    trust_level = client.trust
    return {
        "client": name,
        "kind": client.kind,
        "here": presence is not None,
        "trusted": client.trusted,
        "proven": _is_proven(trust_level, rules),
        "doubted": _is_doubted(trust_level, rules),
        "held": trust_level.streak,
        "on_time": trust_level.on_time,
        "quota": trust_level.quota,
        "left_today": trust.left_today(trust_level, now),
        "slots": client.slots,
        "leases": len(client.leases),
        "seconds": client.seconds(1),
    }


# Minimum cache lifetime in seconds, and the maximum share of time that making the overview takes.
MIN_CACHE_SECONDS, MAX_SHARE = 1.0, 0.05
# Newest results that the scores of epochs are computed from.
MAX_RESULTS = 20_000


class UnitsBoard:
    """Makes the overview of one host, and caches it."""

    def __init__(self, host: UnitsHost) -> None:
        self._host = host
        self._cached: dict[str, Any] = {}
        self._until = -1.0
        self._lock = asyncio.Lock()

    async def overview(self) -> dict[str, Any]:
        """Returns units, shards, clients, servers and epochs (docs/reference/http.md). Raises StoreError.

        `newer_in` is the number of seconds until a newer answer exists.
        """
        async with self._lock:
            if time.monotonic() >= self._until:
                began = time.monotonic()
                self._cached = await self._read()
                now = time.monotonic()
                self._until = now + max(MIN_CACHE_SECONDS, (now - began) / MAX_SHARE)
            return {**self._cached, "newer_in": max(0.0, self._until - time.monotonic())}

    async def _read(self) -> dict[str, Any]:
        host, state = self._host, self._host.state
        results = await host.assimilations(0, MAX_RESULTS)
        now = asyncio.get_running_loop().time()
        return {
            **overview_json(
                state.scheduler,
                state.servers,
                host.presences,
                state.model,
                state.units.epochs,
                state.units.trust,
                now,
            ),
            "scores": await asyncio.to_thread(scores, results),
        }


def _is_proven(level: trust.TrustLevel, rules: TrustTable) -> bool:
    """Whether results of a client may count without a comparison."""
    return level.streak >= rules.checked and not level.faults and not level.doubts


def _is_doubted(level: trust.TrustLevel, rules: TrustTable) -> bool:
    """Whether a result of a client was refuted, outvoted or no update, and too few others held since."""
    return bool(level.faults or level.doubts or level.quota < rules.quota)
