"""Reports benchmarks.vc_asgd: runs by their epochs, table rows, and the pictures."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from backend.lab.svg_curves import Line, draw
from benchmarks.vc_asgd.run import Blend, Experiment, Trained

VARIABLE = "e/(e+1)"
# The alpha of the experiments that do not vary it.
DEFAULT_ALPHA = 0.95
RIGHT_ANSWERS = "right on held-out images, %"
FROM_LOW_TO_HIGH = "lowest to highest of an epoch, points"


@dataclass(frozen=True)
class Epoch:
    """A pass over all shards, complete after `seconds`; the accuracies measured in it in per cent."""

    number: int
    seconds: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Run:
    """One training by volunteers who had `cores` in total; `rate` counts results a second.

    `staleness` is the results' mean.
    """

    name: str
    servers: int
    clients: int
    slots: int
    alpha: float | None
    share: float
    results: int
    seconds: float
    cores: float
    rate: float
    staleness: float
    lost: float
    epochs: list[Epoch]


@dataclass(frozen=True)
class Report:
    """The results of one call.

    `serial` has a point for each epoch of a run, after as many samples; its seconds are those of one core.
    `speed` is the same work by increasing numbers of volunteers.
    """

    cores: int
    store: str
    parameters: int
    examples: int
    held_out: int
    units: int
    passes: int
    serial: list[Epoch]
    runs: list[Run]
    speed: list[Run]


def summarize(experiment: Experiment, trained: Trained) -> Run:
    """Summarizes a run by its epochs; the rate excludes the time to each volunteer's first result."""
    blends = trained.blends
    first = min(experiment.clients, len(blends) - 1) - 1
    seconds = blends[-1].at - blends[max(first, 0)].at
    return Run(
        name=experiment.name,
        servers=experiment.servers,
        clients=experiment.clients,
        slots=experiment.slots,
        alpha=experiment.alpha,
        share=experiment.share,
        results=len(blends),
        seconds=blends[-1].at,
        cores=trained.cores,
        rate=round((len(blends) - 1 - max(first, 0)) / max(seconds, 1e-3), 3),
        staleness=round(statistics.mean(blend.staleness for blend in blends), 2),
        lost=round(blends[-1].lost, 2),
        epochs=[
            _epoch(number, blends) for number in sorted({blend.epoch for blend in blends if blend.measured})
        ],
    )


def _epoch(number: int, blends: Sequence[Blend]) -> Epoch:
    within = [one for one in blends if one.epoch == number]
    accuracies = [100 * one.accuracy for one in within if one.accuracy is not None]
    values = (statistics.mean(accuracies), min(accuracies), max(accuracies))
    return Epoch(number, max(one.at for one in within), *(round(value, 2) for value in values))


def alpha_label(alpha: float | None) -> str:
    """Returns the share that the model keeps of itself, as the paper writes it."""
    return VARIABLE if alpha is None else f"{alpha:g}"


def rows(report: Report) -> list[str]:
    """Returns the runs' table in Markdown, the serial one last."""
    run_rows = [
        f"| {one.name} | {alpha_label(one.alpha)} | {one.seconds:.0f} | {one.cores:.2f} | "
        f"{_accuracy(one.epochs[-1])} | {one.staleness:.1f} | {one.lost:.0f} |"
        for one in report.runs
    ]
    last = report.serial[-1]
    return [*run_rows, f"| Keras | - | {last.seconds:.0f} | - | {last.mean:.1f} % | - | - |"]


def _accuracy(epoch: Epoch) -> str:
    return f"{epoch.mean:.1f} % ({epoch.low:.1f} to {epoch.high:.1f})"


def speed_rows(report: Report) -> list[str]:
    """Returns results a second by the number of volunteers, in Markdown."""
    return [
        f"| {one.clients} | {one.rate:.2f} | {one.rate / report.speed[0].rate:.2f} | {one.cores:.2f} |"
        for one in report.speed
    ]


def pictures(report: Report) -> dict[str, str]:
    """Returns the paper's questions as curves, by file name."""
    usual = [run for run in report.runs if run.alpha == DEFAULT_ALPHA]
    slots = [run for run in usual if (run.servers, run.clients) == (1, 3)]
    servers = [run for run in usual if run.slots == 8 or run.servers == 5]
    last = report.runs[-1]
    alphas = sorted((run for run in report.runs if run.name == last.name), key=lambda run: run.alpha or 1.0)
    serial = _line("serial", [run.seconds for run in report.serial], report.serial)
    curves = {
        "slots": _timed("More units at once", [_by_time(run) for run in slots]),
        "servers": _timed("More servers", [_by_time(run) for run in servers]),
        "alpha": _by_epochs("Alpha", RIGHT_ANSWERS, [_by_epoch(run) for run in alphas]),
        "spread": _by_epochs("Spread", FROM_LOW_TO_HIGH, [_spread(run) for run in alphas]),
        "serial": _timed("Beside one process", [serial, _by_time(last)]),
        "speed-up": _speed(report),
    }
    return {name: picture for name, picture in curves.items() if picture}


def _timed(title: str, lines: Sequence[Line]) -> str:
    """Draws curves over time; returns "" without lines."""
    return draw(title, "seconds", RIGHT_ANSWERS, lines, short=True) if lines else ""


def _by_epochs(title: str, y_label: str, lines: Sequence[Line]) -> str:
    return draw(title, "epoch", y_label, lines, short=True)


def _by_time(run: Run) -> Line:
    return _line(run.name, [one.seconds for one in run.epochs], run.epochs)


def _by_epoch(run: Run) -> Line:
    return _line(alpha_label(run.alpha), [one.number for one in run.epochs], run.epochs)


def _line(name: str, x: Sequence[float], epochs: Sequence[Epoch]) -> Line:
    return Line(name, x, *([getattr(one, key) for one in epochs] for key in ("mean", "low", "high")))


def _spread(run: Run) -> Line:
    y = [one.high - one.low for one in run.epochs]
    return Line(alpha_label(run.alpha), [one.number for one in run.epochs], y, y, y)


def _speed(report: Report) -> str:
    x = [one.clients for one in report.speed]
    y = [one.rate / report.speed[0].rate for one in report.speed]
    lines = [Line("perfect", x, x, x, x), Line("measured", x, y, y, y)]
    return draw("Speed-up", "volunteers", "times as many results a second as one", lines, short=True)


def with_tables(page: str, report: Report) -> str:
    """Replaces the rows of the page's tables of runs and of volunteers by the report's."""
    lines = page.splitlines()
    for head, new in (("| run |", rows(report)), ("| volunteers |", speed_rows(report))):
        [header] = [number for number, line in enumerate(lines) if line.startswith(head)]
        table_ends = (number for number in range(header, len(lines)) if not lines[number].startswith("|"))
        lines[header + 2 : next(table_ends, len(lines))] = new
    return "\n".join(lines) + "\n"
