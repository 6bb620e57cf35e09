"""Simulates colluding tokens beside honest strangers and one trusted peer on virtual time.

Usage: python -m benchmarks.strangers [--exact] [--colluders N ...] [--units N] [--epochs N] [--seed N]
           [--all] [--json]

100 honest clients differ in speed, vanish in 5 % of units and are late in 5 %. The colluders know of one
another, tell the same lies, take as many units as they are given and return lies at once. For each number of
them the worst row of each kind of households is printed, over the tactics of
`tests/support/protocols/colluders_world.py`; `--all` prints every row. With new names the households bring
as many more tokens as they may: the colluders confirm what those make up. `lies_in_model` is a share of all
results in the model, `throughput` counts true results in an hour, over those of the run without colluders.

With `--exact` all tell the same bits: results count before they are proven, and all of a refuted client are
taken out of the model again (decision 0074). A useful unit is a result that stays in it. Two tactics more are
made for these rules, every row is printed, and a real server is sent copied commitments.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from backend.protocols.units.rules import PaceRules, Rules, TrustRules
from backend.server.units.work_generator import GUARDED_CAUTION, PROVISIONAL_CAUTION
from benchmarks.units.copiers import copies_found
from tests.support.protocols.colluders_world import ColludersWorld, Collusion
from tests.support.protocols.units_world import Crowd

HONEST, SPOT_CHECKS = 100, 0.02
# Clients that may have provisional results: more than there are here. Copies that are sent.
ROOM, COPIES = 10_000, 100
TACTICS = (
    Collusion(0, False, "blatant"),
    Collusion(0, False, "pairs"),
    Collusion(0, False, "framers"),
    Collusion(0, False, "sleepers"),
    Collusion(0, False, "sleepers", patience=60),
    Collusion(0, False, "sleepers", patience=130),
    Collusion(0, False, "names"),
)
EXACT_TACTICS = (*TACTICS, Collusion(0, False, "finale"), Collusion(0, False, "seldom"))


@dataclass(frozen=True)
class Row:
    """One run. `exposed` colluders were refuted by the trusted peer, `leases_per_useful_unit` is the cost.

    `taken_out` counts results of refuted colluders that were taken out of the model, though no lies.
    """

    colluders: int
    households: str
    tactic: str
    patience: int
    lies_in_model: float
    honest_distrusted: int
    throughput: float
    lies: int
    exposed: int
    results: int
    taken_out: int
    leases_per_useful_unit: float
    hours: float


def run(
    collusion: Collusion,
    units: int,
    epochs: int,
    seed: int,
    baseline: float | None = None,
    exact: bool = False,
) -> Row:
    """Plays one run; `baseline` is the true results in an hour without colluders."""
    crowd = Crowd(HONEST, peers=1, cheats=0.0, vanishing=0.05, late=0.05)
    trust = TrustRules(
        spot_checks=SPOT_CHECKS,
        caution=PROVISIONAL_CAUTION if exact else GUARDED_CAUTION,
        guarded=True,
        provisional=ROOM if exact else 0,
    )
    rules = Rules(pace=PaceRules(usual=60.0, least=5.0, most=600.0), trust=trust)
    world = ColludersWorld(seed, crowd, collusion, rules, units, epochs)
    seen = world.play()
    results, hours = len(seen.blended) - seen.taken_out - seen.lies_taken_out, world.now / 3600
    rate = (results - seen.lies_blended) / hours
    return Row(
        colluders=collusion.tokens,
        households=_households(collusion),
        tactic=collusion.tactic,
        patience=collusion.patience,
        lies_in_model=seen.lies_blended / results,
        honest_distrusted=len(seen.distrusted.keys() - world.colluders),
        throughput=1.0 if baseline is None else rate / baseline,
        lies=len(seen.lied),
        exposed=len(seen.distrusted.keys() & world.colluders),
        results=results,
        taken_out=seen.taken_out,
        leases_per_useful_unit=seen.grants / (results - seen.lies_blended),
        hours=hours,
    )


def _households(collusion: Collusion) -> str:
    if collusion.tactic == "names":
        return "one, with new names" if collusion.one_household else "many, with new names"
    return "one" if collusion.one_household else "many"


def rows(colluders: list[int], units: int, epochs: int, seed: int = 1, exact: bool = False) -> Iterator[Row]:
    """Yields a row for each number of colluders, kind of households and tactic."""
    alone = run(TACTICS[0], units, epochs, seed, exact=exact)
    baseline = alone.results / alone.hours
    if exact:
        yield alone
    for tokens in colluders:
        for one_household in (True, False):
            for tactic in EXACT_TACTICS if exact else TACTICS:
                collusion = Collusion(tokens, one_household, tactic.tactic, tactic.patience)
                yield run(collusion, units, epochs, seed, baseline, exact)


def worst(found: list[Row]) -> list[Row]:
    """Returns one row for each number of colluders and kind of households, with the worst of each figure."""
    kinds: dict[tuple[int, str], list[Row]] = {}
    for row in found:
        kinds.setdefault((row.colluders, row.households), []).append(row)
    return [
        Row(
            **asdict(max(group, key=lambda row: row.lies_in_model))
            | {
                "honest_distrusted": max(row.honest_distrusted for row in group),
                "throughput": min(row.throughput for row in group),
            }
        )
        for group in kinds.values()
    ]


def main() -> None:
    """Prints the rows."""
    parser = argparse.ArgumentParser(description="Colluding tokens among strangers, on virtual time.")
    parser.add_argument("--exact", action="store_true", help="in a task that requires exactness")
    parser.add_argument("--colluders", type=int, nargs="+", default=[2, 10, 40], help="default 2 10 40")
    parser.add_argument("--units", type=int, default=2500, help="of an epoch; default 2500")
    parser.add_argument("--epochs", type=int, default=4, help="default 4")
    parser.add_argument("--seed", type=int, default=1, help="of the draws; default 1")
    parser.add_argument("--all", action="store_true", help="every tactic, not only the worst")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    found = list(rows(args.colluders, args.units, args.epochs, args.seed, args.exact))
    shown = found if args.all or args.exact else worst(found)
    report: dict[str, Any] = {"rows": [asdict(row) for row in shown]}
    if args.exact:
        sent, refused = asyncio.run(copies_found(COPIES))
        report["copiers"] = {"sent": sent, "found": refused}
    if args.json:
        print(json.dumps(report))
        return
    for row in shown:
        print(
            f"{row.colluders} colluders in {row.households} household(s), {row.tactic} {row.patience}: "
            f"{row.lies_in_model:.2%} of the results in the model are lies, {row.honest_distrusted} honest "
            f"clients distrusted, throughput {row.throughput:.2f}, {row.leases_per_useful_unit:.2f} leases "
            "for each result that stays"
        )
    if args.exact:
        print("{found} of {sent} copied commitments found".format(**report["copiers"]))


if __name__ == "__main__":
    main()
