"""`minga shard`: cuts images, tables, texts or arrays into shards."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from backend.commands.data.shard_report import as_json, print_cut
from backend.commands.data.shard_url import describe, register_url, unfinished
from backend.commands.terminal.progress import TerminalProgress
from backend.datasets.sharding.cut import Cut, CutPlan, cut
from backend.errors import DataError, TaskFileError
from backend.formats.manifest import Manifest, parse_manifest
from backend.formats.task_file import Partition, TaskFile, read_task_file
from backend.formats.task_file.reading.hints import explain
from backend.formats.task_file.reading.reader import set_value
from backend.numerics.preprocess.declared import Preprocess

KINDS = (
    "a folder or zip of images, WAV recordings or texts by class, a CSV, Parquet or Feather file, a text, or "
    "an .npz file"
)

# Shown at the end of the help.
EXAMPLES = (
    "minga shard photos.zip --task task.toml",
    "minga shard houses.csv --set kind=table --set label=price -o shards",
)


def register(subparsers: Any) -> None:
    """Adds the command and its flags."""
    parser: argparse.ArgumentParser = subparsers.add_parser("shard", examples=EXAMPLES)
    parser.add_argument("data", type=Path, metavar="DATA", help=KINDS)
    parser.add_argument("--task", type=Path, metavar="FILE", help="the task file with [data.preprocess]")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="KEY=VALUE",
        help="set a key of [data.preprocess], such as kind=image or size=[32,32]",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="folder for the shards, default: the task file's"
    )
    holdout_group = parser.add_mutually_exclusive_group()
    holdout_group.add_argument(
        "--holdout", type=float, metavar="SHARE", help="held-out share of the data, default 0.1"
    )
    holdout_group.add_argument("--test", type=Path, metavar="DATA", help="hold out all of these data instead")
    register_url(parser)
    parser.add_argument("--clients", type=int, metavar="N", help="split the data among this many clients")
    parser.add_argument(
        "--alpha",
        type=float,
        help="split unevenly, by a Dirichlet distribution; small values give each client few classes",
    )
    parser.add_argument("--shard-examples", type=int, metavar="N", help="maximum of examples in a shard")
    parser.add_argument("--seed", type=int, default=0, help="the same seed makes the same shards, default 0")
    parser.add_argument("--skip-broken", action="store_true", help="skip broken files and rows")
    parser.add_argument("--force", action="store_true", help="replace existing shards")
    parser.add_argument("--json", action="store_true", help="report in JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Cuts the data and prints a summary."""
    task = read_task_file(args.task, unfinished(args.url)) if args.task else None
    if args.url:
        plan, manifest = _plan(args, task), _manifest(args, task)
        return describe(args, plan.declared, plan.holdout, manifest)
    folder = _output(args, task)
    if folder.exists() and not args.force:
        raise DataError(f"{folder} is there already; choose another folder, or --force to replace it.")
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    broken: list[str] = []

    def note(error: DataError) -> None:
        if not args.skip_broken:
            raise DataError(f"{error} Repair it, or skip it with --skip-broken.")
        broken.append(str(error))
        console.print(f"left out: {error}", markup=False)

    with TerminalProgress("Learning from the data.", quiet=True) as progress:
        result = _in_place(
            folder,
            lambda draft: cut(
                args.data,
                _plan(args, task),
                draft,
                _manifest(args, task),
                note,
                lambda count: progress.amount(count, None, f"{count:,} examples read"),
            ),
        )
    if args.json:
        print(json.dumps(as_json(result, folder, broken), ensure_ascii=False))
    else:
        print_cut(result, folder, len(broken), Console(highlight=False, soft_wrap=True))
    return 0


def _plan(args: argparse.Namespace, task: TaskFile | None) -> CutPlan:
    data = task.data if task else None
    holdout = args.holdout if args.holdout is not None else (data.holdout if data else 0.1)
    if not 0 <= holdout < 1:
        raise DataError("--holdout must be at least 0 and below 1; for example 0.1.")
    if args.shard_examples is not None and args.shard_examples < 1:
        raise DataError("--shard-examples has to be at least 1.")
    return CutPlan(
        declared=_declared(args.settings, data.preprocess if data else None),
        holdout=holdout,
        test=args.test,
        seed=args.seed,
        shard_examples=args.shard_examples,
        partition=_partition(args, data.partition if data else None),
    )


def _declared(settings: Sequence[str], declared: Preprocess | None) -> Preprocess:
    table: dict[str, Any] = msgspec.to_builtins(declared) if declared is not None else {}
    for setting in settings:
        set_value(table, setting)
    if "kind" not in table:
        raise DataError(
            "Declare the kind of data: [data.preprocess] in the task file (--task), or --set "
            "kind=image (or table, text, array). See docs/reference/preprocessing.md."
        )
    try:
        result: Preprocess = msgspec.convert(table, Preprocess)
    except msgspec.ValidationError as error:
        text = explain(error, "preprocess")
        raise DataError(f"The preprocessing: {text} See docs/reference/preprocessing.md.") from error
    return result


def _partition(args: argparse.Namespace, declared: Partition | None) -> Partition | None:
    if args.clients is None:
        if args.alpha is not None:
            raise DataError("--alpha needs --clients, the number of clients to split the data among.")
        return declared
    if args.clients < 1 or (args.alpha is not None and args.alpha <= 0):
        raise DataError("--clients has to be at least 1, and --alpha above 0.")
    return Partition("iid" if args.alpha is None else "dirichlet", args.clients, args.alpha)


def _output(args: argparse.Namespace, task: TaskFile | None) -> Path:
    output: Path | None = args.output
    if output is not None:
        return output
    if task is None:
        raise TaskFileError(
            "Name the folder for the shards: -o DIR, or --task, whose [data] names the folder."
        )
    if task.data.shards is None:
        what = "data that clients fetch (see --url)" if task.data.url else "volunteers' own data"
        raise TaskFileError(f"This task learns from {what}; name the folder for the shards: -o DIR.")
    folder: Path = args.task.parent / task.data.shards
    return folder


def _manifest(args: argparse.Namespace, task: TaskFile | None) -> Manifest | None:
    """Reads the manifest of the task's bundle; None if the model is not converted yet."""
    if task is None:
        return None
    path: Path = args.task.parent / task.model.bundle / "bundle.json"
    return parse_manifest(path.read_bytes()) if path.is_file() else None


def _in_place(folder: Path, make: Callable[[Path], Cut]) -> Cut:
    """Runs `make` on a temporary folder beside `folder`, then replaces `folder` with it as a whole."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".shards-", dir=folder.parent) as temporary:
            draft = Path(temporary) / "draft"
            draft.mkdir()
            result = make(draft)
            if folder.exists():
                folder.rename(Path(temporary) / "old")
            draft.rename(folder)
            return result
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror}.") from error
