"""Measures the time to assimilate a result in each parameter store, and the gain of more servers.

Usage: python -m benchmarks.units.parameter_store [--values N] [--times N] [--servers P ...] [--seconds S]
[--json]

Redis and PostgreSQL are started on this machine with empty databases. The first part measures one store in
one process: read, VC-ASGD, write, beside reading and writing the same bytes without arithmetic, and a bare
copy in memory. The second part measures P servers, run as by `minga serve`, with results always waiting:
results a second, and how many of them were overwritten.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import psycopg
import structlog
from redis import Redis

from backend.numerics.aggregation.asynchronous import ClientResult, no_memory, vc_asgd
from backend.numerics.vectors import Vector, to_bytes
from backend.protocols.units.server_pool import PoolRules
from backend.server.units.parameters.server_pool import ParameterServers
from backend.stores.parameters.place import MEMORY, ParameterAddress
from tests.support.environment.databases import serving_postgres, serving_redis

PAPER = {"redis": 0.87, "postgresql": 1.29}
SHARDS = 16
WAITING = 4


@dataclass(frozen=True)
class Update:
    """Seconds of one assimilation: the median and the 90th percentile; `floor` is without arithmetic."""

    store: str
    seconds: float
    slow: float
    floor: float


@dataclass(frozen=True)
class Together:
    """`servers` parameter servers at work at the same time; `lost` of `results` were overwritten.

    `mib` is the largest memory of one of their processes, including shared memory; 0 without processes.
    """

    store: str
    servers: int
    results: int
    per_second: float
    lost: float
    mib: float


@dataclass(frozen=True)
class Report:
    """The measurements in seconds; `copy` is one copy of the vector in memory."""

    values: int
    times: int
    copy: float
    updates: list[Update]
    together: list[Together]


def measure(values: int, times: int, servers: list[int], seconds: float) -> Report:
    """Measures all stores with a model of so many float32."""
    generator = np.random.default_rng(1)
    weights, client = (generator.standard_normal(values, np.float32) for _ in range(2))
    buffer = np.empty_like(weights)
    updates, together = [], []
    with _stores() as stores:
        for name, (address, floor) in stores.items():
            with floor(weights) as baseline:
                updates.append(_update(name, address, weights, client, times, baseline))
            together += [
                asyncio.run(_together(name, address, weights, client, count, seconds)) for count in servers
            ]
    copy = _median(times, lambda: np.copyto(buffer, weights))[0]
    return Report(values, times, copy, updates, together)


# Opens a function that reads and writes a vector in a store, and does nothing else.
Baseline: TypeAlias = Callable[[Vector], AbstractContextManager[Callable[[], None]]]


@contextmanager
def _stores() -> Iterator[dict[str, tuple[str, Baseline]]]:
    """Yields the stores' addresses by name, each with its minimal read and write."""
    with serving_redis() as redis, serving_postgres() as postgres:
        yield {
            "memory": (MEMORY, _in_memory),
            "redis": (redis.address, partial(_in_redis, redis.port)),
            f"redis in {SHARDS} shards": (f"{redis.address}?shards={SHARDS}", partial(_in_redis, redis.port)),
            "postgresql": (postgres.address, partial(_in_postgres, postgres.address)),
        }


def _update(
    name: str, address: str, weights: Vector, client: Vector, times: int, baseline: Callable[[], None]
) -> Update:
    store = ParameterAddress(address, "benchmark", "run").open()
    store.begin(weights, no_memory(), 0)
    recipe, result, numbers = vc_asgd(0.95), ClientResult(client, weights), iter(range(10**9))
    median, slow = _median(times, lambda: store.assimilate(recipe, result, 0, str(next(numbers))))
    store.clear()
    store.close()
    return Update(name, median, slow, _median(times, baseline)[0])


async def _together(
    name: str, address: str, weights: Vector, client: Vector, count: int, seconds: float
) -> Together:
    rules = PoolRules(least=count, most=count)
    servers = ParameterServers(ParameterAddress(address, "benchmark", "run"), partial(vc_asgd, 0.95), rules)
    await servers.begin(weights, no_memory(), 0)
    result, numbers = ClientResult(client, weights), iter(range(10**9))

    async def submit_results(until: float) -> None:
        while time.perf_counter() < until:
            await servers.assimilate(result, 0, str(next(numbers)))

    # Processes start with their first results, which do not count.
    await asyncio.gather(*(servers.assimilate(result, 0, str(next(numbers))) for _ in range(count)))
    before, lost, started = await servers.read(), servers.lost, time.perf_counter()
    await asyncio.gather(*(submit_results(started + seconds) for _ in range(count * WAITING)))
    seconds_used, results = time.perf_counter() - started, (await servers.read()).base - before.base
    lost, mib = servers.lost - lost, _peak_memory()
    await servers.stop()
    return Together(name, count, results, results / seconds_used, lost, mib)


def _peak_memory() -> float:
    """Returns the largest memory of this process' parameter servers, MiB."""
    peak = 0.0
    for child in multiprocessing.active_children():
        status = Path(f"/proc/{child.pid}/status").read_text(encoding="utf-8")
        peak = max(peak, *(int(line.split()[1]) / 1024 for line in status.splitlines() if "VmHWM" in line))
    return peak


@contextmanager
def _in_memory(weights: Vector) -> Iterator[Callable[[], None]]:
    buffer = np.empty_like(weights)
    yield lambda: np.copyto(buffer, weights)


@contextmanager
def _in_redis(port: int, weights: Vector) -> Iterator[Callable[[], None]]:
    def least() -> None:
        value: Any = client.get("least")
        client.set("least", value)

    with Redis(port=port) as client:
        client.set("least", to_bytes(weights))
        yield least
        client.delete("least")


@contextmanager
def _in_postgres(address: str, weights: Vector) -> Iterator[Callable[[], None]]:
    def least() -> None:
        row = client.cursor(binary=True).execute("SELECT weights FROM least").fetchone()
        client.execute("UPDATE least SET weights = %b", row)

    with psycopg.connect(address, autocommit=True) as client:
        client.execute("CREATE UNLOGGED TABLE least (weights bytea)")
        client.execute("ALTER TABLE least ALTER COLUMN weights SET STORAGE EXTERNAL")
        client.execute("INSERT INTO least VALUES (%b)", [to_bytes(weights)])
        yield least
        client.execute("DROP TABLE least")


def _median(times: int, work: Callable[[], object]) -> tuple[float, float]:
    """Returns median and 90th percentile of the seconds of `work`, after one warm-up."""
    work()
    durations = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        durations.append(time.perf_counter() - started)
    return statistics.median(durations), sorted(durations)[int(0.9 * (len(durations) - 1))]


def main() -> None:
    """Prints one report."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    parser = argparse.ArgumentParser(description="Assimilations in each parameter store.")
    parser.add_argument("--values", type=int, default=5_000_000, help="of the model; default 5000000")
    parser.add_argument("--times", type=int, default=30, help="assimilations of one store; default 30")
    parser.add_argument("--servers", type=int, nargs="*", default=[1, 2, 4], help="default 1 2 4")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each number of servers; default 10")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    report = measure(args.values, args.times, args.servers, args.seconds)
    if args.json:
        print(json.dumps(asdict(report)))
        return
    print(f"{report.values:,} values; a copy in memory takes {1000 * report.copy:.1f} ms.")
    for one in report.updates:
        paper = f" (paper: {PAPER[one.store]} s)" if one.store in PAPER else ""
        print(
            f"{one.store}: {1000 * one.seconds:.0f} ms, the slowest tenth {1000 * one.slow:.0f} ms, without "
            f"arithmetic {1000 * one.floor:.0f} ms{paper}"
        )
    for group in report.together:
        print(
            f"{group.store}, {group.servers} servers: {group.per_second:.1f} results a second, "
            f"{group.lost:.1f} of {group.results} lost, {group.mib:.0f} MiB a process"
        )


if __name__ == "__main__":
    main()
