"""Measures how many leases and results of work units the scheduler handles a second on one core.

Usage: python -m benchmarks.scheduler [--units N] [--clients N] [--seconds S] [--json]

In one cycle a client asks for a unit, gets it, sends one heartbeat, and returns a result that is judged and
blended. Every tenth lease stays unanswered until its deadline gives the unit to another client, and new
clients are replicated, as in a real epoch. Epochs follow one another until the time is over. No sockets or
arithmetic are involved: this is the cost of the decisions.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from backend.protocols.units.rules import PaceRules, Rules, Verdict
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import Effect, GrantLease, Judge, WorkUnit
from benchmarks.support.server_process import MIB, usage

SILENT_SHARE = 0.1
RULES = Rules(pace=PaceRules(usual=20.0, least=5.0))


@dataclass(frozen=True)
class Report:
    """The measurements; a cycle is a lease whose result came back, `leases` counts all granted ones.

    `longest_ms` is the processor time of the longest answer to one client, with all timers due before it.
    """

    units: int
    clients: int
    cycles: int
    leases: int
    assimilated: int
    cpu_seconds: float
    cycles_per_second: float
    longest_ms: float
    rss_mib: float


def measure(units: int, clients: int, seconds: float, min_cycles: int = 1) -> Report:
    """Lets `clients` process epochs of `units` for so many seconds of processor time.

    At least `min_cycles` cycles run, however long they take.
    """
    generator, scheduler = random.Random(1), Scheduler(RULES)
    for number in range(clients):
        scheduler.client_connected(f"c{number}", slots=8)
    epoch = cycles = leases = assimilated = 0
    now = longest = 0.0
    began = time.process_time()
    while cycles < min_cycles or time.process_time() - began < seconds:
        if not scheduler.remaining:
            scheduler.begin_epoch(_work_units(epoch, units))
            epoch += 1
            continue
        # A busy server gets a thousand requests a second.
        now += 0.001
        started = time.process_time()
        assimilated += _perform(scheduler, scheduler.time_passed(now))
        client = f"c{generator.randrange(clients)}"
        for effect in scheduler.ask(client, epoch, generator.random(), now):
            if isinstance(effect, GrantLease):
                leases += 1
                if generator.random() >= SILENT_SHARE:
                    assimilated += _complete_cycle(scheduler, effect, now)
                    cycles += 1
        longest = max(longest, time.process_time() - started)
    cpu_seconds = time.process_time() - began
    return Report(
        units=units,
        clients=clients,
        cycles=cycles,
        leases=leases,
        assimilated=assimilated,
        cpu_seconds=cpu_seconds,
        cycles_per_second=cycles / cpu_seconds,
        longest_ms=1000 * longest,
        rss_mib=usage(os.getpid()).peak / MIB,
    )


def _work_units(epoch: int, units: int) -> list[WorkUnit]:
    return [WorkUnit(epoch * units + number, number, 100, number) for number in range(units)]


def _complete_cycle(scheduler: Scheduler, grant: GrantLease, now: float) -> int:
    """Completes a cycle; returns how many units it finished."""
    scheduler.heartbeat(grant.client, grant.lease, now, steps=1)
    return _perform(scheduler, scheduler.returned(grant.client, grant.lease, now))


def _perform(scheduler: Scheduler, effects: Iterable[Effect]) -> int:
    """Finds all results true that are to be compared; returns how many units that finished."""
    finished = 0
    for effect in effects:
        if isinstance(effect, Judge):
            verdicts = dict.fromkeys(effect.leases, Verdict.VALID)
            finished += _perform(scheduler, scheduler.judged(effect.unit, verdicts))
            finished += effect.valid is None
    return finished


def main() -> None:
    """Prints one report."""
    parser = argparse.ArgumentParser(description="Cycles of the work units' scheduler.")
    parser.add_argument("--units", type=int, default=100_000, help="of an epoch; default 100000")
    parser.add_argument("--clients", type=int, default=10_000, help="default 10000")
    parser.add_argument("--seconds", type=float, default=20.0, help="of processor time; default 20")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    report = measure(args.units, args.clients, args.seconds)
    if args.json:
        print(json.dumps(asdict(report)))
    else:
        print(
            f"{report.cycles_per_second:,.0f} leases and results a second on one core, with {args.units:,} "
            f"units and {args.clients:,} clients; the longest took {report.longest_ms:.1f} ms, memory "
            f"{report.rss_mib:.0f} MiB."
        )


if __name__ == "__main__":
    main()
