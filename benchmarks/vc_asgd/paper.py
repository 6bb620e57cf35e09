"""Trains the cells of the paper on VC-ASGD by real processes, one after the other, resumable by a folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.vc_asgd.cells import CELLS, CellRun, RunFolder
from benchmarks.vc_asgd.report import summarize
from benchmarks.vc_asgd.run import Store, train

if TYPE_CHECKING:
    from benchmarks.vc_asgd.task import Prepared

# The paper's number of work units of an epoch.
UNITS = 50
# Filters of the first block, for 582,526 parameters.
FILTERS = 44
# The model is measured so often in an epoch.
MEASURED = 5


@dataclass(frozen=True)
class PaperPlan:
    """The runs that are wanted: `cells` with each of `seeds`, of `examples` images for `epochs`."""

    cells: Sequence[str]
    seeds: Sequence[int]
    epochs: int
    examples: int
    filters: int = FILTERS


def check_plan(plan: PaperPlan) -> None:
    """Raises RuntimeError for numbers with which nothing can be trained."""
    if plan.epochs < 1:
        raise RuntimeError("--epochs is at least 1.")
    if plan.examples < 10 * UNITS or plan.examples % (10 * UNITS):
        raise RuntimeError(
            f"--examples is a multiple of {10 * UNITS}: {UNITS} units, and ten classes of equal size."
        )
    if len(set(plan.seeds)) != len(plan.seeds) or min(plan.seeds, default=0) < 1:
        raise RuntimeError("--seeds are different numbers from 1.")


def train_cells(
    plan: PaperPlan,
    data: Path,
    folder: RunFolder,
    store: Store,
    note: Callable[[str], None],
    estimate_only: bool = False,
) -> list[CellRun]:
    """Does the runs that `folder` lacks, and returns all that are wanted and there.

    `note` hears how long the rest takes, and of each run. Raises RuntimeError when a process fails; the runs
    before it are kept.
    """
    check_plan(plan)
    missing = folder.missing(plan.cells, plan.seeds)
    total = len(plan.cells) * len(plan.seeds)
    note(f"{total - len(missing)} of {total} runs are there.")
    is_estimated = False
    for seed, rest in groupby(missing, key=lambda one: one[1]):
        with tempfile.TemporaryDirectory(prefix="minga-vc-asgd-") as home:
            # Imports Keras, which is not needed where nothing is missing.
            from benchmarks.vc_asgd.task import prepare

            prepared = prepare(data, Path(home), seed, plan.examples, plan.examples // UNITS, plan.filters)
            if not is_estimated:
                is_estimated = True
                note(expected(len(missing), plan.epochs, prepared.unit_seconds(), prepared.parameters))
                if estimate_only:
                    break
            for cell, _ in rest:
                run = _train(cell, prepared, plan, store)
                folder.write(run)
                last = run.curve[-1]
                note(f"{cell}, seed {seed}: {last.mean:.1f} % after {last.seconds:.0f} s")
    return folder.all(plan.cells, plan.seeds)


def expected(runs: int, epochs: int, unit_seconds: float, parameters: int) -> str:
    """Returns a sentence about the time that so many runs take, from the core seconds of one unit.

    It leaves out starting processes, and assumes that volunteers have all cores.
    """
    cores = len(os.sched_getaffinity(0))
    hours = runs * epochs * UNITS * unit_seconds / cores / 3600
    return (
        f"A unit of the model of {parameters:,} parameters takes {unit_seconds:.2f} s of a core: {runs} runs "
        f"of {epochs} epochs take {hours:.1f} hours or more on {cores} cores."
    )


def _train(cell: str, prepared: Prepared, plan: PaperPlan, store: Store) -> CellRun:
    experiment = CELLS[cell]
    run, serial = None, []
    if experiment is None:
        serial = prepared.serial(plan.epochs)
    else:
        overrides = [
            f"coordination.units.epochs={plan.epochs}",
            f"coordination.units.evaluate_every={max(1, prepared.units // MEASURED)}",
        ]
        with tempfile.TemporaryDirectory(prefix="minga-vc-asgd-") as home:
            trained = train(prepared.tasks, experiment, overrides, Path(home), prepared.seed, store)
        run = summarize(experiment, trained)
    return CellRun(cell, prepared.seed, prepared.parameters, prepared.examples, plan.epochs, run, serial)
