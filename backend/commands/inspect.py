"""`minga inspect`: reports what a model requires of the devices that train it."""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from backend.commands.converter_flags import FORMATS, add_flags, limits_of
from backend.commands.inspect_report import InspectionReport, print_report
from backend.commands.tasks.task_path import gallery_or_path
from backend.commands.terminal.progress import TerminalProgress
from backend.errors import BundleError, TaskFileError
from backend.formats.exact_program import read_exact_program
from backend.formats.op_allowlist import read_allow_list
from backend.formats.shard_index import check_shards
from backend.formats.task_file import TaskFile, read_task_file
from backend.server.estimates.data_supply import cut_supply
from backend.server.estimates.traffic import program_bytes, traffic
from backend.server.sandbox.conversion import Proposed, convert
from backend.server.sandbox.limited_process import Supervision
from backend.server.schemes import scheme_of
from backend.server.tasks.bundle_store import check_bundle
from backend.server.tasks.model_inspection import Inspection, inspect
from backend.server.tasks.task import TASK_FILE
from backend.settings import dist_folder, ops_file

NOT_CONVERTIBLE = 1
MANIFEST = "bundle.json"
# Volunteers among whom the leases of work units are estimated, as on the plan page of a draft.
VOLUNTEERS = 10
# For a model without a task file; its loss and optimizer are then those it was compiled with, or proposed.
BATCH_SIZE = 32

# Shown at the end of the help.
EXAMPLES = ("minga inspect model.keras", "minga inspect digits")


def register(subparsers: Any) -> None:
    """Adds the command and its flags."""
    parser: argparse.ArgumentParser = subparsers.add_parser("inspect", examples=EXAMPLES)
    targets = f"a bundle, a task's folder, file or name in the gallery, or a model: {FORMATS}"
    parser.add_argument("target", type=Path, metavar="PATH", help=targets)
    settings = parser.add_mutually_exclusive_group()
    settings.add_argument("--task", type=Path, metavar="FILE", help="the task file of a model")
    settings.add_argument(
        "--batch-size",
        type=int,
        default=BATCH_SIZE,
        metavar="N",
        help=f"of a model without task file; default {BATCH_SIZE}",
    )
    parser.add_argument("--json", action="store_true", help="report in JSON")
    add_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Inspects the target and reports; the exit code is 1 if a model cannot be converted."""
    target = gallery_or_path(args.target)
    if not target.exists():
        raise BundleError(f"There is no {target}; give a bundle, a task folder or a Keras model.")
    if (target / MANIFEST).is_file():
        _print(InspectionReport(_inspect_bundle(target)), args.json)
    elif target.suffix == ".toml" or (target / TASK_FILE).is_file():
        file = target if target.is_file() else target / TASK_FILE
        task = read_task_file(file)
        inspection, exactness = _inspect_task(file, task)
        _print(InspectionReport(inspection, task.coordination.volunteer, exactness), args.json)
    else:
        return _inspect_model(target, args)
    return 0


def _inspect_bundle(folder: Path) -> Inspection:
    manifest = check_bundle(folder, read_allow_list(ops_file()))
    size = (folder / MANIFEST).stat().st_size
    return inspect(manifest, traffic(manifest, size, program=_program()))


def _inspect_task(path: Path, task: TaskFile) -> tuple[Inspection, list[str]]:
    """Returns the facts of the task's bundle, and what exactness costs and buys."""
    folder = path.parent / task.model.bundle
    manifest = check_bundle(folder, read_allow_list(ops_file()))
    size = (folder / MANIFEST).stat().st_size
    folder_of_shards = task.data.shards
    index = check_shards(path.parent / folder_of_shards, manifest) if folder_of_shards else None
    wire = traffic(manifest, size, index.train if index else (), task.data.shards_per_client, _program())
    inspection = inspect(manifest, wire)
    if index is None:
        return inspection, []
    estimate = scheme_of(task).estimate(
        task, manifest, wire, inspection.step_times, cut_supply(index), VOLUNTEERS
    )
    return inspection, estimate.exactness


def _inspect_model(model: Path, args: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="minga-inspect-") as folder:
        task, bundle = args.task, Path(folder) / "bundle"
        # As for a draft: what the model is not compiled with is proposed.
        proposals: list[Proposed] = []
        if task is None:
            task = Path(folder) / TASK_FILE
            task.write_text(_default_task(model, args.batch_size), "utf-8")
        try:
            program = read_exact_program(dist_folder())
            with TerminalProgress("Starting the conversion.", quiet=args.json) as progress:
                convert(
                    model,
                    task,
                    bundle,
                    limits_of(args),
                    args.custom,
                    Supervision(progress.step),
                    propose=proposals.append if args.task is None else None,
                    program=program,
                )
        except (BundleError, TaskFileError) as error:
            if args.json:
                print(json.dumps({"refused": {"code": error.code, "message": str(error)}}))
            else:
                print(f"minga: {error}", file=sys.stderr)
            return NOT_CONVERTIBLE
        proposed = proposals[0].tables() if proposals else {}
        _print(InspectionReport(_inspect_bundle(bundle), proposed=proposed), args.json)
    return 0


def _default_task(model: Path, batch_size: int) -> str:
    """Returns the smallest task file for a model."""
    name = re.sub("[^a-z0-9]+", "-", model.stem.lower()).strip("-")[:64] or "model"
    return f'name = "{name}"\n\n[model]\nbatch_size = {batch_size}\n'


def _program() -> int | None:
    return program_bytes(dist_folder())


def _print(report: InspectionReport, as_json: bool) -> None:
    if as_json:
        facts = report.inspection.to_json() | {
            "exactness": list(report.exactness),
            "proposed": report.proposed,
        }
        print(json.dumps(facts, indent=1, ensure_ascii=False))
    else:
        print_report(report, Console(highlight=False))
