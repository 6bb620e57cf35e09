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
from backend.server.hosting.client_link import Presence
from backend.server.units.board.scores import scores
from backend.server.units.host import UnitsHost

# Cells of the map of shards; where there are more shards, neighbours share one.
MOST_CELLS = 400
# Rows of a table that people read.
MOST_ROWS = 200
PHASES = ("open", "leased", "compared", "done")


class Servers(Protocol):
    """What is read off parameter servers."""

    @property
    def count(self) -> int: ...
    @property
    def backlog(self) -> int: ...
    @property
    def lost(self) -> float: ...


def picture(
    machine: Scheduler,
    servers: Servers,
    here: Sequence[Presence],
    base: int,
    epochs: int,
    rules: TrustTable,
    now: float,
) -> dict[str, Any]:
    """Units, shards, clients and parameter servers. `now` is the machine's time, `base` counts results."""
    tally, clients = machine.progress.tally(), machine.clients()
    present = [clients[one.client] for one in here if one.client in clients]
    units = list(machine.units())
    return {
        "epoch": machine.epoch,
        "epochs": epochs,
        "base": base,
        "tally": {**asdict(tally), "open": tally.open},
        "leases": Counter(lease.state.value for unit in units for lease in unit.leases),
        "shards": _shards(units),
        "servers": {"count": servers.count, "backlog": servers.backlog, "lost": servers.lost},
        "clients": {
            "here": len(here),
            "at_work": sum(bool(one.leases) for one in present),
            "slots": sum(one.slots for one in present),
            "proven": sum(one.trust.streak >= rules.checked for one in present),
            "trusted": sum(one.trusted for one in present),
        },
        "trust": _trust(clients, here, rules, now),
    }


def _shards(units: Sequence[UnitRecord]) -> dict[str, Any]:
    """Cells of `each` shards: how many of their units are in each of PHASES, and otherwise over; leases."""
    count = 1 + max((unit.work.shard for unit in units), default=-1)
    each = max(1, math.ceil(count / MOST_CELLS))
    cells = [[0] * (len(PHASES) + 2) for _ in range(math.ceil(count / each))]
    for unit in units:
        cell = cells[unit.work.shard // each]
        cell[PHASES.index(unit.phase) if unit.phase in PHASES else len(PHASES)] += 1
        cell[-1] += len(unit.leases)
    return {"count": count, "each": each, "cells": cells}


def _trust(
    clients: Mapping[str, TableClient], here: Sequence[Presence], rules: TrustTable, now: float
) -> list[dict[str, Any]]:
    """Those who are here, then those who are trusted most."""
    present = {one.client: one for one in here}
    away = sorted(clients.keys() - present.keys(), key=lambda name: (-clients[name].trust.streak, name))
    names = [name for name in [*present, *away] if name in clients][:MOST_ROWS]
    return [_row(name, clients[name], present.get(name), rules, now) for name in names]


def _row(
    name: str, client: TableClient, here: Presence | None, rules: TrustTable, now: float
) -> dict[str, Any]:
    known = client.trust
    return {
        "client": name,
        "kind": client.kind,
        "here": here is not None,
        "trusted": client.trusted,
        "proven": known.streak >= rules.checked,
        "held": known.streak,
        "on_time": known.on_time,
        "quota": known.quota,
        "left_today": trust.left_today(known, now),
        "slots": client.slots,
        "leases": len(client.leases),
        "seconds": client.seconds(1),
    }


# Cache lifetime in seconds; a slow overview may not take more than this part of the server's time.
LEAST_SECONDS, LARGEST_PART = 1.0, 0.05
# Results that an epoch's figures are made of: the newest of a long run.
MOST_RESULTS = 20_000


class UnitsBoard:
    """Reads one host."""

    def __init__(self, host: UnitsHost) -> None:
        self._host = host
        self._cached: dict[str, Any] = {}
        self._until = -1.0
        self._lock = asyncio.Lock()

    async def overview(self) -> dict[str, Any]:
        """Units, shards, clients, servers and epochs (docs/reference/http.md). Raises StoreError.

        `newer_in` is the number of seconds until a newer answer exists.
        """
        async with self._lock:
            if time.monotonic() >= self._until:
                began = time.monotonic()
                self._cached = await self._read()
                now = time.monotonic()
                self._until = now + max(LEAST_SECONDS, (now - began) / LARGEST_PART)
            return {**self._cached, "newer_in": max(0.0, self._until - time.monotonic())}

    async def _read(self) -> dict[str, Any]:
        host, state = self._host, self._host.state
        results = await host.assimilations(0, MOST_RESULTS)
        now = asyncio.get_running_loop().time()
        return {
            **picture(
                state.scheduler,
                state.servers,
                host.presences,
                state.model.base,
                state.units.epochs,
                state.units.trust,
                now,
            ),
            "scores": await asyncio.to_thread(scores, results),
        }
