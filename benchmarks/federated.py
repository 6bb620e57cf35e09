"""Federated training beside Keras' own `fit`: the same model, first weights, data and number of samples.

Usage: python -m benchmarks.federated --task cifar|titanic|shakespeare [--partition iid dirichlet]
[--seed 1 2 3] [--rounds N] [--examples N] [--save FOLDER] [--json]

For each seed, the model of benchmarks/tasks/<task>/ is built and converted, its data (from MINGA_DATA,
default ../shared/data) are dealt out to four clients by `minga shard`, and a real server and four real peers
on loopback train it by the plan of its task file. Keras trains the same weights on the same examples, as many
samples. Both are measured by Keras on the same held-out examples. --rounds and --examples make it smaller;
--save writes <task>.json and <task>.svg, the curves, into a folder, and the task's rows into FOLDER.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.cohort import ONE_CORE
from benchmarks.curves import Line, draw
from benchmarks.dense import ROOT
from benchmarks.tasks import NAMES

if TYPE_CHECKING:
    from benchmarks.comparison import Compared, Run

PARTITIONS = ("iid", "dirichlet")
TITLES = {"cifar": "CIFAR-10, 2,000 images", "titanic": "Titanic", "shakespeare": "Shakespeare"}
CURVES = {
    "central": "Keras, all data in one place",
    "iid": "4 peers, alike",
    "dirichlet": "4 peers, Dirichlet 0.3",
}


@dataclass(frozen=True)
class Summary:
    """At the end of the training, over the seeds: means in per cent, and federated minus central in points.

    `spread` is the standard deviation of the seeds' differences, 0 with one seed.
    """

    partition: str
    federated: float
    central: float
    difference: float
    spread: float
    federated_loss: float
    central_loss: float


@dataclass(frozen=True)
class Report:
    """What one call found; `samples` counts each visit to an example, on either side."""

    task: str
    parameters: int
    examples: int
    held_out: int
    rounds: int
    samples: int
    summary: list[Summary]
    central: list[Run]
    federated: list[Run]


def report(task: str, compared: Sequence[Compared]) -> Report:
    """What the comparisons of several seeds say together."""
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
        samples=central[0].points[-1].samples,
        summary=summary,
        central=central,
        federated=federated,
    )


def _summary(runs: Sequence[Run], central: Sequence[Run]) -> Summary:
    ends = [run.points[-1] for run in runs]
    others = [run.points[-1] for run in central]
    differences = [100 * (end.accuracy - other.accuracy) for end, other in zip(ends, others, strict=True)]
    return Summary(
        partition=runs[0].partition,
        federated=round(100 * statistics.mean(end.accuracy for end in ends), 2),
        central=round(100 * statistics.mean(other.accuracy for other in others), 2),
        difference=round(statistics.mean(differences), 2),
        spread=round(statistics.stdev(differences), 2) if len(differences) > 1 else 0.0,
        federated_loss=round(statistics.mean(end.loss for end in ends), 4),
        central_loss=round(statistics.mean(other.loss for other in others), 4),
    )


def rows(found: dict[str, Any]) -> list[str]:
    """A report's rows for a table in Markdown."""
    title, samples, seeds = TITLES[found["task"]], f"{found['samples']:,}", len(found["central"])
    return [
        f"| {title} | {one['partition']} | {samples} | {one['central']:.1f} % | {one['federated']:.1f} % | "
        f"{one['difference']:+.1f} ± {one['spread']:.1f} | {one['central_loss']:.3f} | "
        f"{one['federated_loss']:.3f} | {seeds} |"
        for one in found["summary"]
    ]


def picture(found: Report) -> str:
    """The curves of all runs, means with the lowest and highest seed."""
    runs = {"central": found.central}
    for run in found.federated:
        runs.setdefault(run.partition, []).append(run)
    lines = [_line(CURVES[name], of_one) for name, of_one in runs.items()]
    return draw(TITLES[found.task], "samples trained on", "right on held-out examples, %", lines)


def _line(name: str, runs: Sequence[Run]) -> Line:
    values = [[100 * point.accuracy for point in run.points] for run in runs]
    seeds = list(zip(*values, strict=True))
    x = [point.samples for point in runs[0].points]
    return Line(name, x, [*map(statistics.mean, seeds)], [*map(min, seeds)], [*map(max, seeds)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.federated", description=__doc__)
    parser.add_argument("--task", choices=NAMES, required=True)
    parser.add_argument("--partition", choices=PARTITIONS, nargs="+", default=["iid"])
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--examples", type=int)
    parser.add_argument("--save", type=Path, metavar="FOLDER")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    given = parser.parse_args()
    data = Path(os.environ.get("MINGA_DATA", ROOT.parent / "shared" / "data"))
    if not data.is_dir():
        sys.exit(f"There are no data at {data}; set MINGA_DATA to the folder with the real data.")
    # TensorFlow reads this when it is imported.
    os.environ |= ONE_CORE | {"KERAS_BACKEND": "tensorflow"}
    from benchmarks.comparison import Setting, compare

    setting = Setting(given.task, given.partition, data, given.rounds, given.examples)
    compared: list[Compared] = []
    for seed in given.seed:
        try:
            compared.append(compare(setting, seed, _note))
        except RuntimeError as error:
            sys.exit(str(error))
        found = report(given.task, compared)
        if given.save:
            _save(found, given.save)
    print(json.dumps(asdict(found)) if given.json else "\n".join(rows(asdict(found))))


def _save(found: Report, folder: Path) -> None:
    """Results, curves, and where there is a page called like the folder, the task's rows in its table."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{found.task}.json").write_text(json.dumps(asdict(found)) + "\n", "utf-8")
    (folder / f"{found.task}.svg").write_text(picture(found), "utf-8")
    page = folder.with_suffix(".md")
    if page.is_file():
        page.write_text(with_rows(page.read_text("utf-8"), rows(asdict(found))), "utf-8")


def with_rows(page: str, new: Sequence[str]) -> str:
    """The page with these rows of one task instead of those it has, or at the end of its table of results."""
    lines = page.splitlines()
    [head] = [number for number, line in enumerate(lines) if line.startswith("| task |")]
    title = new[0].split("|")[1]
    old = [number for number in range(head + 2, len(lines)) if lines[number].startswith(f"|{title}|")]
    end = next(number for number in range(head, len(lines)) if not lines[number].startswith("|"))
    first = old[0] if old else end
    kept = [line for number, line in enumerate(lines) if number not in old]
    return "\n".join([*kept[:first], *new, *kept[first:]]) + "\n"


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
