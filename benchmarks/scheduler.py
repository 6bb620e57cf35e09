"""How many leases and results of work units the scheduler handles in a second, on one core.

Usage: python -m benchmarks.scheduler [--units N] [--clients N] [--seconds S] [--json]

One cycle is a client that asks, gets a unit, says once that it is still at work, and returns a result that is
judged and blended. Every tenth lease is never heard of again, until its deadline gives the unit to somebody
else, and newcomers are replicated, as in a real epoch. Epoch follows epoch until the time is over. No socket
and no arithmetic takes part: this is what the decisions cost.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import time
from dataclasses import asdict, dataclass

from backend.protocols.units.rules import PaceRules, Rules, Verdict
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import Effect, GrantLease, Judge, WorkUnit

SILENT = 0.1
RULES = Rules(pace=PaceRules(usual=20.0, least=5.0))


@dataclass(frozen=True)
class Report:
    """A cycle is a lease that was given and whose result came back. `leases` are those given.

    `longest_ms` is the processor time of the longest answer to one client, with all that came due before it.
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


def measure(units: int, clients: int, seconds: float, least: int = 1) -> Report:
    """Lets `clients` work through epochs of `units` for so many seconds of processor time.

    It makes at `least` so many cycles, however long they take.
    """
    dice, scheduler = random.Random(1), Scheduler(RULES)
    for number in range(clients):
        scheduler.client_connected(f"c{number}", slots=8)
    epoch = cycles = leases = assimilated = 0
    now = longest = 0.0
    began = time.process_time()
    while cycles < least or time.process_time() - began < seconds:
        if not scheduler.left:
            scheduler.begin_epoch(_works(epoch, units))
            epoch += 1
            continue
        # A thousand clients' questions a second, as a busy server has them.
        now += 0.001
        started = time.process_time()
        scheduler.time_passed(now)
        client = f"c{dice.randrange(clients)}"
        for effect in scheduler.ask(client, epoch, dice.random(), now):
            if isinstance(effect, GrantLease):
                leases += 1
                if dice.random() >= SILENT:
                    assimilated += _returned(scheduler, effect, now)
                    cycles += 1
        longest = max(longest, time.process_time() - started)
    spent = time.process_time() - began
    return Report(
        units=units,
        clients=clients,
        cycles=cycles,
        leases=leases,
        assimilated=assimilated,
        cpu_seconds=spent,
        cycles_per_second=cycles / spent,
        longest_ms=1000 * longest,
        rss_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def _works(epoch: int, units: int) -> list[WorkUnit]:
    return [WorkUnit(epoch * units + number, number, 100, number) for number in range(units)]


def _returned(scheduler: Scheduler, grant: GrantLease, now: float) -> int:
    """The rest of a cycle; how many units it finished."""
    scheduler.heartbeat(grant.client, grant.lease, now)
    return sum(_judged(scheduler, one) for one in scheduler.returned(grant.client, grant.lease, now + 1.0))


def _judged(scheduler: Scheduler, effect: Effect) -> int:
    if not isinstance(effect, Judge):
        return 0
    scheduler.judged(effect.unit, dict.fromkeys(effect.leases, Verdict.VALID))
    return effect.valid is None


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
