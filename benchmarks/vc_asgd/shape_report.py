"""Tables and pictures of the experiments of VC-ASGD at the paper's shape."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from backend.lab.svg_curves import Line, draw
from benchmarks.vc_asgd.cells import ALPHA_CELLS, ALPHA_PLACE, PLACES, SERIAL, CellRun
from benchmarks.vc_asgd.report import RIGHT_ANSWERS, alpha_label
from benchmarks.vc_asgd.verdicts import BESIDE_SERIAL, hours, mean_curve, with_shared_seeds
from benchmarks.vc_asgd.virtual import VirtualReport, VirtualRun

VIRTUAL_HEAD = (
    "| simulated | servers evaluate | hours | servers busy | waiting | overwritten | staleness |",
    "|---|---|---|---|---|---|---|",
)
PAPER_HEAD = ("| cell | seeds | seconds | last accuracy |", "|---|---|---|---|")
HOURS = "hours of 40 epochs"


def virtual_rows(report: VirtualReport) -> list[str]:
    """Returns the table of all simulated trainings, in Markdown; each of them once."""
    runs = [*report.cells, *report.by_servers, *report.by_servers_alone, *report.by_clients]
    unique = {(run.name, run.evaluated): run for run in runs}
    return [*VIRTUAL_HEAD, *(_virtual_row(run, report) for run in unique.values())]


def _virtual_row(run: VirtualRun, report: VirtualReport) -> str:
    evaluated = f"{run.evaluated} images" if run.evaluated else "no"
    return (
        f"| {run.name} | {evaluated} | {hours(run, report):.1f} | {100 * run.busy:.0f} % | "
        f"{run.waiting:.0f} | {100 * run.lost:.0f} % | {run.staleness:.0f} |"
    )


def paper_rows(runs: Sequence[CellRun]) -> list[str]:
    """Returns the table of real trainings, in Markdown: means over the seeds."""
    rows = []
    for cell in dict.fromkeys(run.cell for run in runs):
        same = [run for run in runs if run.cell == cell]
        seconds = statistics.mean(run.curve[-1].seconds for run in same)
        lasts = [run.curve[-1].mean for run in same]
        spread = f" ({min(lasts):.1f} to {max(lasts):.1f})" if len(lasts) > 1 else ""
        rows.append(f"| {cell} | {len(same)} | {seconds:.0f} | {statistics.mean(lasts):.1f} %{spread} |")
    return [*PAPER_HEAD, *rows]


def with_rows(page: str, tables: Mapping[str, Sequence[str]]) -> str:
    """Replaces the rows of the page's tables that have these first lines; leaves out tables it lacks."""
    lines = page.splitlines()
    for head, rows in tables.items():
        if head not in lines:
            continue
        begin = lines.index(head) + 2
        ends = (number for number in range(begin, len(lines)) if not lines[number].startswith("|"))
        lines[begin : next(ends, len(lines))] = rows
    return "\n".join(lines) + "\n"


def shape_pictures(runs: Sequence[CellRun], report: VirtualReport | None) -> dict[str, str]:
    """Returns the pictures by file name; those without runs are left out."""
    return {**_paper_pictures(runs), **({} if report is None else _virtual_pictures(report))}


def _paper_pictures(runs: Sequence[CellRun]) -> dict[str, str]:
    found = {}
    for place in ("P1C3", "P3C3", "P5C5"):
        lines = _curves(runs, {cell: cell for cell in PLACES if cell.startswith(place)})
        # One cell alone compares nothing.
        if sum(line is not None for line in lines) > 1:
            found[f"paper-{place.lower()}"] = _drawn(f"Units at once on {place}", "epoch", lines)
    alphas = {ALPHA_PLACE: PLACES[ALPHA_PLACE], **ALPHA_CELLS}
    lines = _curves(runs, {cell: alpha_label(one.alpha) for cell, one in alphas.items()})
    found["paper-alpha"] = _drawn(f"Alpha on {ALPHA_PLACE}", "epoch", lines)
    lines = _curves(runs, {cell: cell for cell in (SERIAL, BESIDE_SERIAL)})
    found["paper-serial"] = _drawn("Beside one process", "epoch", lines)
    return {name: picture for name, picture in found.items() if picture}


def _drawn(title: str, x_label: str, lines: Sequence[Line | None]) -> str:
    """Draws the lines that there are; returns "" without any."""
    drawn = [line for line in lines if line is not None]
    return draw(title, x_label, RIGHT_ANSWERS, drawn, short=True) if drawn else ""


def _curves(runs: Sequence[CellRun], labels: Mapping[str, str]) -> list[Line | None]:
    """Returns a curve for each cell, of the seeds that all of them have that have any."""
    shared = with_shared_seeds(runs, labels.keys())
    return [_by_epoch(shared, cell, label) for cell, label in labels.items()]


def _by_epoch(runs: Sequence[CellRun], cell: str, label: str) -> Line | None:
    """Returns the mean of the seeds by epoch, with the lowest and the highest seed; None without runs."""
    curve = mean_curve(runs, cell)
    if not curve:
        return None
    seeds = [{one.number: one.mean for one in run.curve} for run in runs if run.cell == cell]
    low = [min(seed[number] for seed in seeds) for number in curve]
    high = [max(seed[number] for seed in seeds) for number in curve]
    return Line(label, list(curve), list(curve.values()), low, high)


def _virtual_pictures(report: VirtualReport) -> dict[str, str]:
    servers = [run.servers for run in report.by_servers]
    by_servers = [
        _hours("evaluate", servers, report.by_servers, report),
        _hours(
            "only blend", [run.servers for run in report.by_servers_alone], report.by_servers_alone, report
        ),
    ]
    clients = [_hours("T2", [run.clients for run in report.by_clients], report.by_clients, report)]
    places = [
        _hours(place, [run.slots for run in same], same, report)
        for place in ("P1C3", "P3C3", "P5C5")
        if (same := [run for run in report.cells if run.name.startswith(place)])
    ]
    return {
        "virtual-servers": draw("Parameter servers", "servers", HOURS, by_servers, short=True),
        "virtual-clients": draw("Clients", "clients", HOURS, clients, short=True),
        "virtual-slots": draw("Units at once", "units at once", HOURS, places, short=True),
    }


def _hours(label: str, x: Sequence[int], runs: Sequence[VirtualRun], report: VirtualReport) -> Line:
    y = [hours(run, report) for run in runs]
    return Line(label, x, y, y, y)
