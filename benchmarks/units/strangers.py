"""Simulates work units among thousands of strangers on virtual time: cheats caught, and the cost.

Usage: python -m benchmarks.units.strangers [--clients N] [--units N] [--epochs N] [--peers N] [--checks
SHARE] [--quick] [--json]

Clients differ in speed (one in twenty takes at least 3.7 times the usual time), vanish in the middle of a
unit (10 %), return after their deadline (10 %) or give up half-way (2 %). Five in a hundred cheat: they work
honestly until they are trusted, and then lie in every third result; a lie is not conspicuous by itself. The
scheduler is the real one; time and work are simulated. `expected` is the sum, over all lies, of the
probability that another client did the same unit: so many lies should be compared.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass

from backend.protocols.units.rules import PaceRules, Rules, SizeRules, TrustRules
from backend.server.units.work_generator import GUARDED_CAUTION
from tests.support.protocols.units_world import BATCH, Crowd, World

CHEATS, PATIENCE, LIES = 0.05, 12, 0.3


@dataclass(frozen=True)
class Report:
    """The results; `leases_per_unit` is the price of comparison, churn and lateness.

    `found` counts the lies that a trusted peer refuted.
    """

    clients: int
    peers: int
    units: int
    split: int
    epochs: int
    hours: float
    leases: int
    leases_per_unit: float
    given_up: int
    cheats: int
    liars: int
    caught: int
    lies: int
    found: int
    expected: float
    lies_blended: int
    honest_distrusted: int
    cpu_seconds: float


def measure(clients: int, units: int, epochs: int, peers: int, checks: float) -> Report:
    """Simulates so many epochs."""
    crowd = Crowd(clients, peers=peers, pause=60.0, cheats=CHEATS, patience=PATIENCE, lies=LIES, odd=0.0)
    rules = Rules(
        pace=PaceRules(usual=60.0, least=5.0, most=600.0),
        sizes=SizeRules(seconds=24.0, grain=BATCH),
        trust=TrustRules(spot_checks=checks, guarded=peers > 0, caution=GUARDED_CAUTION if peers else 1.0),
    )
    began = time.process_time()
    world = World(1, crowd, rules, units, epochs)
    events = world.play()
    cpu = time.process_time() - began
    finished_units = len(events.blended) + len(events.given_up)
    liars = {world.grants[lease].client for lease in events.lied}
    return Report(
        clients=clients,
        peers=peers,
        units=units * epochs,
        split=finished_units - units * epochs,
        epochs=epochs,
        hours=world.now / 3600,
        leases=events.grants,
        leases_per_unit=events.grants / finished_units,
        given_up=len(events.given_up),
        cheats=len(world.cheats),
        liars=len(liars),
        caught=len(events.distrusted.keys() & liars),
        lies=len(events.lied),
        found=sum(events.distrusted.values()),
        expected=events.hazard,
        lies_blended=events.lies_blended,
        honest_distrusted=len(events.distrusted.keys() - world.cheats),
        cpu_seconds=cpu,
    )


def main() -> None:
    """Prints one report."""
    parser = argparse.ArgumentParser(description="Work units among thousands of strangers, on virtual time.")
    parser.add_argument("--clients", type=int, default=10_000, help="default 10000")
    parser.add_argument("--units", type=int, default=20_000, help="of an epoch; default 20000")
    parser.add_argument("--epochs", type=int, default=5, help="default 5")
    parser.add_argument("--peers", type=int, default=20, help="trusted ones; default 20")
    parser.add_argument("--checks", type=float, default=0.02, help="part that peers check; default 0.02")
    parser.add_argument("--quick", action="store_true", help="a hundred clients and 500 units")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    clients, units = (100, 500) if args.quick else (args.clients, args.units)
    report = measure(clients, units, args.epochs, args.peers, args.checks)
    if args.json:
        print(json.dumps(asdict(report)))
        return
    print(
        f"{report.units:,} units and {report.split:,} by halving, {report.leases_per_unit:.2f} leases for "
        f"each, {report.given_up} given up, in {report.hours:.1f} h of virtual time "
        f"({report.cpu_seconds:.0f} s)."
    )
    print(
        f"{report.liars} of {report.cheats} cheats lied {report.lies:,} times: {report.found:,} lies were "
        f"refuted ({report.expected:,.0f} compared, by chance), {report.caught} liars caught, "
        f"{report.lies_blended:,} lies are in the model; {report.honest_distrusted} honest clients were "
        "distrusted."
    )


if __name__ == "__main__":
    main()
