"""Says of each claim of the paper on VC-ASGD whether it was found, with the number beside the paper's."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from backend.simulation.units.store_costs import STORE_COSTS
from benchmarks.vc_asgd.cells import ALPHA_PLACE, PLACES, SERIAL, CellRun
from benchmarks.vc_asgd.virtual import VirtualReport, VirtualRun

# The paper's number of epochs, and fewer than which say nothing about alphas.
PAPER_EPOCHS, ENOUGH_EPOCHS = 40, 20
# Points by which accuracies may differ and be called the same; the share by which times must differ.
SAME_POINTS, LONGER = 3.0, 1.05
VERDICT_HEAD = ("| claim of the paper | its number | ours | found |", "|---|---|---|---|")
# The paper's numbers of clients.
CLIENTS_COMPARED = (3, 5)
NOT_RUN = "-"
# The cell that is compared with one process alone.
BESIDE_SERIAL = "P5C5T2"


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim, the paper's number for it, ours, and whether it was found."""

    claim: str
    paper: str
    ours: str
    found: Literal["yes", "no", "not run"]


def verdicts(runs: Sequence[CellRun], virtual: VirtualReport | None) -> list[ClaimVerdict]:
    """Returns all claims; those for which `runs` or `virtual` have nothing are not run."""
    return [
        *_alphas(runs),
        _same_accuracy(runs),
        _serial(runs),
        *_virtual(virtual),
        _stores(),
    ]


def verdict_rows(found: Sequence[ClaimVerdict]) -> list[str]:
    """Returns the rows of the table, in Markdown."""
    return [f"| {one.claim} | {one.paper} | {one.ours} | {one.found} |" for one in found]


def with_shared_seeds(runs: Sequence[CellRun], cells: Collection[str]) -> list[CellRun]:
    """Returns the runs of these cells with the seeds that all of them have that have any.

    A seed draws other images, which changes accuracies by more than what the cells differ in.
    """
    seeds: dict[str, set[int]] = {}
    for run in runs:
        if run.cell in cells:
            seeds.setdefault(run.cell, set()).add(run.seed)
    shared = set.intersection(*seeds.values()) if seeds else set()
    return [run for run in runs if run.cell in cells and run.seed in shared]


def mean_curve(runs: Sequence[CellRun], cell: str) -> dict[int, float]:
    """Returns the accuracy by epoch of a cell, the mean of its seeds, where all of them have the epoch."""
    curves = [{one.number: one.mean for one in run.curve} for run in runs if run.cell == cell]
    epochs = set.intersection(*(set(curve) for curve in curves)) if curves else set()
    return {number: statistics.mean(curve[number] for curve in curves) for number in sorted(epochs)}


def crossover(slow: dict[int, float], fast: dict[int, float]) -> int | None:
    """Returns the first epoch from which `slow` is above `fast` until the end; None if it ends below."""
    epochs = sorted(slow.keys() & fast.keys())
    above = None
    for number in epochs:
        if slow[number] <= fast[number]:
            above = None
        elif above is None:
            above = number
    return above


def is_u_shaped(values: Sequence[float]) -> bool:
    """Returns whether the lowest value lies between ends that are higher by more than 5 %."""
    lowest = min(values)
    return min(values[0], values[-1]) > LONGER * lowest


def _claim(claim: str, paper: str, ours: str | None, found: bool = False) -> ClaimVerdict:
    if ours is None:
        return ClaimVerdict(claim, paper, NOT_RUN, "not run")
    return ClaimVerdict(claim, paper, ours, "yes" if found else "no")


def _alphas(runs: Sequence[CellRun]) -> list[ClaimVerdict]:
    names = {"0.7": "/0.7", "0.95": "", "0.999": "/0.999", "e/(e+1)": "/e"}
    runs = with_shared_seeds(runs, [ALPHA_PLACE + suffix for suffix in names.values()])
    curves = {alpha: mean_curve(runs, ALPHA_PLACE + suffix) for alpha, suffix in names.items()}
    shared = set.intersection(*(set(curve) for curve in curves.values()))
    best = early = cross = None
    order, is_best, crossed = False, False, None
    if shared and max(shared) >= ENOUGH_EPOCHS:
        last, first = max(shared), min(shared)
        best = ", ".join(f"{alpha}: {curve[last]:.1f} %" for alpha, curve in curves.items())
        is_best = max(curves, key=lambda alpha: curves[alpha][last]) == "e/(e+1)"
        early = ", ".join(f"{alpha}: {curves[alpha][first]:.1f} %" for alpha in ("0.7", "0.95", "0.999"))
        order = curves["0.7"][first] > curves["0.95"][first] > curves["0.999"][first]
        crossed = crossover(curves["0.95"], curves["0.7"])
        cross = f"never in {last} epochs" if crossed is None else f"epoch {crossed}"
    return [
        _claim("`e/(e+1)` ends best of all alphas", "best", best, is_best),
        _claim("at first 0.7 leads 0.95, and that 0.999", "in this order", early, order),
        _claim("0.95 overtakes 0.7", "within 40 epochs", cross, crossed is not None),
    ]


def _same_accuracy(runs: Sequence[CellRun]) -> ClaimVerdict:
    runs = with_shared_seeds(runs, PLACES)
    lasts = [curve[max(curve)] for cell in PLACES if (curve := mean_curve(runs, cell))]
    ours = None
    if len(lasts) == len(PLACES):
        ours = f"{min(lasts):.1f} to {max(lasts):.1f} %"
    claim = "P, C and T change the time, not the final accuracy"
    return _claim(claim, "the same", ours, bool(lasts) and max(lasts) - min(lasts) <= SAME_POINTS)


def _serial(runs: Sequence[CellRun]) -> ClaimVerdict:
    runs = with_shared_seeds(runs, (SERIAL, BESIDE_SERIAL))
    serial, volunteers = mean_curve(runs, SERIAL), mean_curve(runs, BESIDE_SERIAL)
    ours, found = None, False
    if serial and volunteers:
        alone, together = serial[max(serial)], volunteers[max(volunteers)]
        ours, found = f"{alone:.1f} against {together:.1f} %", alone > together
    return _claim("one machine alone ends more accurate", "82 against 73 %", ours, found)


def hours(run: VirtualRun, report: VirtualReport) -> float:
    """Returns the virtual hours of the paper's number of epochs, in proportion."""
    return run.seconds * PAPER_EPOCHS / report.epochs / 3600


def _virtual(report: VirtualReport | None) -> list[ClaimVerdict]:
    servers = "more parameter servers are faster, and too many slower again (U-shape)"
    three, units = "P3C3T8 is faster than P1C3T8", "P1C3T8 is faster than P1C3T2"
    clients = "more clients need half the time"
    if report is None:
        papers = ((servers, "U-shape"), (three, "faster"), (units, "faster"), (clients, "-50 %"))
        return [_claim(claim, paper, None) for claim, paper in papers]
    cells = {run.name: hours(run, report) for run in report.cells}
    by_servers = [(run.servers, hours(run, report)) for run in report.by_servers]
    one, other, two = cells["P1C3T8"], cells["P3C3T8"], cells["P1C3T2"]
    by_clients = {run.clients: hours(run, report) for run in report.by_clients}
    few, many = CLIENTS_COMPARED
    change = by_clients[many] / by_clients[few] - 1.0
    halved = [count for count, time in by_clients.items() if time <= by_clients[few] / 2]
    ours = f"{few} to {many} clients: {100 * change:.0f} %, half with "
    ours += str(min(halved)) if halved else f"more than {max(by_clients)}"
    return [
        _claim(servers, "U-shape", _row(by_servers), is_u_shaped([time for _, time in by_servers])),
        _claim(three, "faster", f"{other:.1f} against {one:.1f} h", other * LONGER < one),
        _claim(units, "faster", f"{one:.1f} against {two:.1f} h", one * LONGER < two),
        _claim(clients, "-50 %", ours, change <= -0.5),
    ]


def _row(points: Sequence[tuple[int, float]]) -> str:
    return ", ".join(f"P{count}: {time:.1f} h" for count, time in points)


def _stores() -> ClaimVerdict:
    redis, strong = STORE_COSTS["redis"].alone, STORE_COSTS["postgresql"].alone
    return _claim(
        "a result takes less time in Redis than in a strongly consistent store",
        "870 against 1,290 ms (MySQL)",
        f"{redis:.0f} against {strong:.0f} ms (PostgreSQL)",
        redis < strong,
    )
