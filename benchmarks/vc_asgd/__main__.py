"""The experiments of VC-ASGD (Atre, Jha, Rao 2021) by real processes: accuracy and time by P, C, T, alpha.

Usage: python -m benchmarks.vc_asgd [--quick] [--store memory|redis|postgresql] [--seed N] [--save
FOLDER] [--runs FOLDER] [--json]
       python -m benchmarks.vc_asgd --paper --runs FOLDER [--cells NAME ...] [--epochs N] [--seeds N
...] [--examples N] [--estimate] [--json]
       python -m benchmarks.vc_asgd --virtual [--epochs N] [--save FOLDER] [--json]

A small ResNetV2 (benchmarks/tasks/resnet/) learns 4,000 images of CIFAR-10 (from MINGA_DATA, default
../shared/data) in units of 100, by a real server with P parameter servers over a real parameter store
(default redis, as in the paper) and C processes of `minga peer join`, each of which trains T units at once.
The model is measured on 500 other images after every fourth result. Keras trains the same weights on as many
samples in one process. Every process computes in one thread. --quick is small and says nothing about
accuracy. --save writes vc-asgd.json and the pictures into a folder, and the tables into FOLDER.md; with
--runs each run is kept in a folder, and not done again where it is there.

--paper has the paper's shape: 50 units an epoch, nine cells of P, C and T, four alphas, Keras alone, three
seeds, 40 epochs and a wider network (benchmarks.vc_asgd.cells). It says how long that takes, and can be
divided by --cells and --seeds, and continued by --runs. --virtual simulates the cells on virtual time with 5
million parameters. Both, with --save, write the claims of the paper with what was found into verdicts.json,
the pictures, and the tables of FOLDER.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import msgspec

from benchmarks.support.dense_task import ROOT
from benchmarks.support.training_run import ONE_CORE
from benchmarks.vc_asgd.report import Report, Run, pictures, rows, speed_rows, summarize, with_tables
from benchmarks.vc_asgd.run import Experiment, Store, train
from benchmarks.vc_asgd.shape import add_shape_flags, misplaced_flags, run_shape

if TYPE_CHECKING:
    from benchmarks.vc_asgd.task import Prepared

PLACES = [
    Experiment(1, 3, 2),
    Experiment(1, 3, 4),
    Experiment(1, 3, 8),
    Experiment(3, 3, 8),
    Experiment(5, 5, 2),
]
ALPHAS = [replace(PLACES[-1], alpha=alpha) for alpha in (0.7, 0.999, None)]
VOLUNTEERS = (1, 2, 4, 8)
# Each volunteer's share of a core where more volunteers shall be faster on a machine with few cores.
SHARE = 0.15


@dataclass(frozen=True)
class Size:
    """The number of images, in units of `rows`, and of epochs.

    Speed is measured over `speed_epochs`.
    """

    examples: int | None = None
    rows: int = 100
    epochs: int = 6
    speed_epochs: int = 4
    experiments: Sequence[Experiment] = (*PLACES, *ALPHAS)
    volunteers: Sequence[int] = VOLUNTEERS


QUICK = Size(
    examples=200,
    rows=20,
    epochs=2,
    speed_epochs=1,
    experiments=(Experiment(2, 2, 2, alpha=None),),
    volunteers=(2,),
)


def measure(prepared: Prepared, size: Size, store: Store, runs: Path, note: Callable[[str], None]) -> Report:
    """Does all runs whose results are not in the folder `runs`; `note` is called for each.

    Raises RuntimeError when a process fails.
    """

    def run(experiment: Experiment, *overrides: str) -> Run:
        cached_file = (
            runs / f"{experiment.name} {experiment.alpha} {experiment.share} {' '.join(overrides)}.json"
        )
        if cached_file.is_file():
            return msgspec.json.decode(cached_file.read_bytes(), type=Run)
        with tempfile.TemporaryDirectory(prefix="minga-vc-asgd-") as home:
            trained = train(prepared.tasks, experiment, overrides, Path(home), prepared.seed, store)
        result = summarize(experiment, trained)
        note(
            f"{result.name}, alpha {result.alpha}: {result.seconds:.0f} s, {result.rate:.2f} results a "
            f"second by {result.cores:.2f} cores, {result.epochs[-1].mean:.1f} %"
        )
        cached_file.write_bytes(msgspec.json.encode(result))
        return result

    def speed(clients: int) -> Run:
        epochs = f"coordination.units.epochs={size.speed_epochs}"
        last_only = f"coordination.units.evaluate_every={prepared.units * size.speed_epochs}"
        return run(Experiment(1, clients, 1, share=SHARE), epochs, last_only)

    serial = prepared.serial(size.epochs)
    note(f"serial: {serial[-1].seconds:.0f} s, {serial[-1].mean:.1f} %")
    return Report(
        cores=len(os.sched_getaffinity(0)),
        store=store,
        parameters=prepared.parameters,
        examples=prepared.examples,
        held_out=prepared.held_out,
        units=prepared.units,
        passes=prepared.passes,
        serial=serial,
        runs=[run(one, f"coordination.units.epochs={size.epochs}") for one in size.experiments],
        speed=[speed(count) for count in size.volunteers],
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.vc_asgd",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="two small runs")
    parser.add_argument("--store", choices=get_args(Store), default="redis")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, metavar="FOLDER")
    parser.add_argument("--runs", type=Path, metavar="FOLDER", help="where runs are kept, to go on later")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    add_shape_flags(parser)
    options = parser.parse_args()
    # TensorFlow reads these variables at import.
    os.environ |= ONE_CORE | {"KERAS_BACKEND": "tensorflow"}
    if options.paper or options.virtual:
        run_shape(options, _data, _note)
        return
    if message := misplaced_flags(options):
        sys.exit(message)
    data = _data()
    from benchmarks.vc_asgd.task import prepare

    size = QUICK if options.quick else Size()
    with tempfile.TemporaryDirectory(prefix="minga-vc-asgd-") as folder:
        try:
            prepared = prepare(data, Path(folder), options.seed, size.examples, size.rows)
            runs = options.runs or Path(folder)
            runs.mkdir(parents=True, exist_ok=True)
            report = measure(prepared, size, options.store, runs, _note)
        except RuntimeError as error:
            sys.exit(str(error))
    if options.save:
        save(report, options.save)
    print(json.dumps(asdict(report)) if options.json else "\n".join([*rows(report), *speed_rows(report)]))


def _data() -> Path:
    """Returns the folder with the real data; ends the program if there is none."""
    data = Path(os.environ.get("MINGA_DATA", ROOT.parent / "shared" / "data"))
    if not data.is_dir():
        sys.exit(f"There are no data at {data}; set MINGA_DATA to the folder with the real data.")
    return data


def save(report: Report, folder: Path) -> None:
    """Writes results and pictures, and the tables of the page named like the folder, if any."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vc-asgd.json").write_text(json.dumps(asdict(report)) + "\n", "utf-8")
    for name, picture in pictures(report).items():
        (folder / f"{name}.svg").write_text(picture, "utf-8")
    page = folder.with_suffix(".md")
    if page.is_file():
        page.write_text(with_tables(page.read_text("utf-8"), report), "utf-8")


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
