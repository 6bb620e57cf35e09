"""The flags of benchmarks.vc_asgd for experiments at the paper's shape, real and on virtual time."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.vc_asgd.cells import CELLS, RunFolder, chosen_cells
from benchmarks.vc_asgd.paper import PaperPlan, train_cells
from benchmarks.vc_asgd.shape_report import paper_rows, shape_pictures, virtual_rows, with_rows
from benchmarks.vc_asgd.verdicts import VERDICT_HEAD, verdict_rows, verdicts
from benchmarks.vc_asgd.virtual import Machines, VirtualReport, simulate

# Simulated epochs are alike, so that few of them say how long 40 take.
EPOCHS, VIRTUAL_EPOCHS, SEEDS, EXAMPLES = 40, 5, (1, 2, 3), 5000
ONLY_SHAPE = ("cells", "epochs", "seeds", "examples")
ONLY_PAPER = ("cells", "seeds", "examples", "estimate")
# The files in the folder of --save.
VIRTUAL_FILE, VERDICTS_FILE, PAPER_FOLDER = "virtual.json", "verdicts.json", "paper"


def add_shape_flags(parser: argparse.ArgumentParser) -> None:
    """Adds --paper and --virtual and the flags that only these have."""
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--paper", action="store_true", help="real training at the paper's shape, for hours")
    kinds.add_argument("--virtual", action="store_true", help="all cells on virtual time")
    parser.add_argument("--cells", nargs="+", default=[], metavar="NAME", help=f"of {', '.join(CELLS)}")
    parser.add_argument("--epochs", type=int, metavar="N", help="default 40; of virtual ones 5")
    parser.add_argument("--seeds", type=int, nargs="+", metavar="N", help="default 1 2 3")
    parser.add_argument("--examples", type=int, metavar="N", help="training images; default 5000")
    parser.add_argument("--estimate", action="store_true", help="only say how long the rest takes")


def misplaced_flags(options: argparse.Namespace) -> str:
    """Returns a sentence about a flag that goes with another kind of experiment; "" if there is none."""
    if options.virtual:
        names = [name for name in ONLY_PAPER if getattr(options, name)]
        return f"--{names[0]} goes with --paper; leave it out." if names else ""
    if options.paper:
        if options.quick:
            return "--quick goes without --paper; take few --cells and --epochs instead."
        return "" if options.runs or options.estimate else "--paper takes hours; give --runs FOLDER."
    names = [name for name in (*ONLY_SHAPE, "estimate") if getattr(options, name)]
    return f"--{names[0]} goes with --paper or --virtual; leave it out." if names else ""


def run_shape(options: argparse.Namespace, data: Callable[[], Path], note: Callable[[str], None]) -> None:
    """Runs --paper or --virtual, saves and prints; ends the program with a sentence about bad flags."""
    if message := misplaced_flags(options):
        sys.exit(message)
    try:
        printed, lines = _paper(options, data(), note) if options.paper else _virtual(options, note)
    except RuntimeError as error:
        sys.exit(str(error))
    print(json.dumps(printed) if options.json else "\n".join(lines))


def _paper(options: argparse.Namespace, data: Path, note: Callable[[str], None]) -> tuple[Any, list[str]]:
    cells, seeds = chosen_cells(options.cells), options.seeds or SEEDS
    epochs = EPOCHS if options.epochs is None else options.epochs
    plan = PaperPlan(cells, seeds, epochs, options.examples or EXAMPLES)
    folder = RunFolder(options.runs or Path(), plan.examples, plan.epochs)
    runs = train_cells(plan, data, folder, options.store, note, options.estimate)
    if options.save:
        kept = RunFolder(options.save / PAPER_FOLDER, plan.examples, plan.epochs)
        for run in runs:
            kept.write(run)
        save_shape(options.save)
    found = verdicts(runs, None)
    printed = {"runs": [asdict(run) for run in runs], "verdicts": [asdict(one) for one in found]}
    return printed, [*paper_rows(runs), "", *VERDICT_HEAD, *verdict_rows(found)]


def _virtual(options: argparse.Namespace, note: Callable[[str], None]) -> tuple[Any, list[str]]:
    epochs = VIRTUAL_EPOCHS if options.epochs is None else options.epochs
    report = simulate(Machines(store=options.store), epochs, options.seed, note)
    if options.save:
        options.save.mkdir(parents=True, exist_ok=True)
        (options.save / VIRTUAL_FILE).write_text(json.dumps(asdict(report)) + "\n", "utf-8")
        save_shape(options.save)
    found = verdicts([], report)
    printed = {**asdict(report), "verdicts": [asdict(one) for one in found]}
    return printed, [*virtual_rows(report), "", *VERDICT_HEAD, *verdict_rows(found)]


def save_shape(folder: Path) -> None:
    """Writes verdicts, pictures and tables of all that --save has put into the folder so far."""
    file = folder / VIRTUAL_FILE
    report = msgspec.json.decode(file.read_bytes(), type=VirtualReport) if file.is_file() else None
    paper = folder / PAPER_FOLDER
    runs = RunFolder(paper, EXAMPLES, EPOCHS).all(list(CELLS), SEEDS) if paper.is_dir() else []
    found = verdicts(runs, report)
    (folder / VERDICTS_FILE).write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", "utf-8")
    for name, picture in shape_pictures(runs, report).items():
        (folder / f"{name}.svg").write_text(picture, "utf-8")
    page = folder.with_suffix(".md")
    if page.is_file():
        tables = {VERDICT_HEAD[0]: verdict_rows(found)}
        if report is not None:
            tables |= virtual_rows_by_head(report)
        page.write_text(with_rows(page.read_text("utf-8"), tables), "utf-8")


def virtual_rows_by_head(report: VirtualReport) -> dict[str, list[str]]:
    """Returns the rows of the page's tables of virtual runs, by the first line of each table."""
    head, _, *rows = virtual_rows(report)
    return {head: rows}
