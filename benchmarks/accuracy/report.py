"""Reports benchmarks.accuracy.federated: runs, summary, table rows and the plot of the curves."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from backend.lab.svg_curves import Line, draw

CENTRAL = "central"
TITLES = {"cifar": "CIFAR-10, 2,000 images", "titanic": "Titanic", "shakespeare": "Shakespeare"}
CURVES = {
    "central": "Keras, all data in one place",
    "iid": "4 peers, alike",
    "dirichlet": "4 peers, Dirichlet 0.3",
}


@dataclass(frozen=True)
class Point:
    """Accuracy and mean loss on the held-out examples after `samples` samples."""

    samples: int
    accuracy: float
    loss: float


@dataclass(frozen=True)
class Run:
    """The curve of one training; `parts` counts each client's examples, or those of Keras alone."""

    partition: str
    seed: int
    parts: list[int]
    seconds: float
    points: list[Point]


@dataclass(frozen=True)
class Compared:
    """The trainings of one seed and their shared numbers; `central` has a point for each federated one."""

    parameters: int
    examples: int
    held_out: int
    rounds: int
    central: Run
    federated: list[Run]


@dataclass(frozen=True)
class Summary:
    """Means over the seeds at the end of training in per cent; the difference in points.

    The difference is federated minus central. `samples` counts each visit to an example on either side;
    `spread` is the standard deviation of the seeds' differences, 0 with one seed.
    """

    partition: str
    samples: int
    federated: float
    central: float
    difference: float
    spread: float
    federated_loss: float
    central_loss: float


@dataclass(frozen=True)
class Report:
    """The results of one call."""

    task: str
    parameters: int
    examples: int
    held_out: int
    rounds: int
    summary: list[Summary]
    central: list[Run]
    federated: list[Run]


def report(task: str, compared: Sequence[Compared]) -> Report:
    """Summarizes the comparisons of several seeds."""
    first, central = compared[0], [one.central for one in compared]
    federated = [run for one in compared for run in one.federated]
    summary = [
        _summary([run for run in federated if run.partition == partition], central)
        for partition in dict.fromkeys(run.partition for run in federated)
    ]
    return Report(
        task=task,
        parameters=first.parameters,
        examples=first.examples,
        held_out=first.held_out,
        rounds=first.rounds,
        summary=summary,
        central=central,
        federated=federated,
    )


def _summary(runs: Sequence[Run], central: Sequence[Run]) -> Summary:
    ends = [run.points[-1] for run in runs]
    central_ends = [
        next(point for point in yardstick.points if point.samples == end.samples)
        for yardstick, end in zip(central, ends, strict=True)
    ]
    differences = [
        100 * (end.accuracy - central_end.accuracy)
        for end, central_end in zip(ends, central_ends, strict=True)
    ]
    return Summary(
        partition=runs[0].partition,
        samples=round(statistics.mean(end.samples for end in ends)),
        federated=round(100 * statistics.mean(end.accuracy for end in ends), 2),
        central=round(100 * statistics.mean(central_end.accuracy for central_end in central_ends), 2),
        difference=round(statistics.mean(differences), 2),
        spread=round(statistics.stdev(differences), 2) if len(differences) > 1 else 0.0,
        federated_loss=round(statistics.mean(end.loss for end in ends), 4),
        central_loss=round(statistics.mean(central_end.loss for central_end in central_ends), 4),
    )


def rows(results: dict[str, Any]) -> list[str]:
    """Returns a report's rows for a table in Markdown; one seed has no spread."""
    title, seeds = TITLES[results["task"]], len(results["central"])
    return [
        f"| {title} | {one['partition']} | {one['samples']:,} | {one['central']:.1f} % | "
        f"{one['federated']:.1f} % | {_difference(one, seeds)} | "
        f"{one['central_loss']:.3f} | {one['federated_loss']:.3f} | {seeds} |"
        for one in results["summary"]
    ]


def _difference(summary: dict[str, Any], seeds: int) -> str:
    return f"{summary['difference']:+.1f}" + (f" ± {summary['spread']:.1f}" if seeds > 1 else "")


def picture(results: Report) -> str:
    """Draws the curves of all runs: the mean with the lowest and highest seed."""
    runs = {"central": results.central}
    for run in results.federated:
        runs.setdefault(run.partition, []).append(run)
    lines = [_line(CURVES[name], of_one) for name, of_one in runs.items()]
    return draw(TITLES[results.task], "samples trained on", "right on held-out examples, %", lines)


def _line(name: str, runs: Sequence[Run]) -> Line:
    """Averages the runs of several seeds; linear interpolation joins points at different samples."""
    x = sorted({point.samples for run in runs for point in run.points})
    x = [one for one in x if all(run.points[0].samples <= one <= run.points[-1].samples for run in runs)]
    values = [
        np.interp(x, [point.samples for point in run.points], [100 * point.accuracy for point in run.points])
        for run in runs
    ]
    return Line(name, x, *(at(values, axis=0).tolist() for at in (np.mean, np.min, np.max)))


def with_rows(page: str, new: Sequence[str]) -> str:
    """Replaces a task's rows in the page's table of results, or appends them."""
    lines = page.splitlines()
    [head] = [number for number, line in enumerate(lines) if line.startswith("| task |")]
    title = new[0].split("|")[1]
    old = [number for number in range(head + 2, len(lines)) if lines[number].startswith(f"|{title}|")]
    end = next(number for number in range(head, len(lines)) if not lines[number].startswith("|"))
    first = old[0] if old else end
    other_lines = [line for number, line in enumerate(lines) if number not in old]
    return "\n".join([*other_lines[:first], *new, *other_lines[first:]]) + "\n"
