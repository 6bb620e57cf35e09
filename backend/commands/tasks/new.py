"""`minga task new`: creates a task from a starter or a task of the gallery."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
from pathlib import Path

from backend.errors import TaskFileError
from backend.formats.task_file import read_task_file
from backend.server.tasks.task import TASK_FILE
from backend.settings import assets_folder

# Files that are generated from a task's own files, and may be large.
_GENERATED = shutil.ignore_patterns("built", "shards", "__pycache__", ".*")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Adds `NAME`, `--from`, `--output` and `--json`."""
    parser.add_argument("name", metavar="NAME", help="of the new task: a to z, 0 to 9 and -")
    parser.add_argument(
        "--from", dest="source", required=True, metavar="TASK", help=f"one of {', '.join(sources())}"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="its folder; default: NAME")
    parser.add_argument("--json", action="store_true", help="report in JSON")


def run(args: argparse.Namespace) -> int:
    """Creates the task and prints the next steps."""
    folder = new_task(args.name, args.source, args.output or Path(args.name))
    if args.json:
        print(json.dumps({"task": args.name, "folder": str(folder), "from": args.source}))
        return 0
    print(f"{folder} is a new task: adapt its task.toml, build.py and README.md. Then:")
    print(f"  minga build {folder}")
    print(f"  minga serve --tasks {folder}")
    return 0


def sources() -> dict[str, Path]:
    """Returns the folders that a task can start from, by name: the starters first, then the gallery."""
    files = [*sorted(assets_folder().glob(f"starters/*/{TASK_FILE}"))]
    files += sorted(assets_folder().glob(f"models/*/{TASK_FILE}"))
    return {file.parent.name: file.parent for file in files}


def new_task(name: str, source: str, folder: Path) -> Path:
    """Copies the task `source` to the new `folder` under the name `name`. Raises TaskFileError."""
    known_sources = sources()
    if source not in known_sources:
        raise TaskFileError(
            f"There is no task '{source}' to start from; use one of {', '.join(known_sources)}."
        )
    if folder.exists():
        raise TaskFileError(f"{folder} is there already; choose another name, or another folder by --output.")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=folder.parent) as temporary:
            draft = Path(temporary) / "task"
            shutil.copytree(known_sources[source], draft, ignore=_GENERATED)
            _rename(draft / TASK_FILE, name)
            draft.rename(folder)
    except OSError as error:
        raise TaskFileError(f"{folder} cannot be written: {error.strerror}.") from error
    return folder


def _rename(file: Path, name: str) -> None:
    """Sets the task's name in its file. Raises TaskFileError if the name is not valid."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", name):
        raise TaskFileError(
            f"'{name}' is not a valid task name: use at most 64 of a to z, 0 to 9 and -, not starting with -."
        )
    text = file.read_text("utf-8")
    file.write_text(re.sub(r'(?m)^name = ".*"$', f'name = "{name}"', text, count=1), "utf-8")
    read_task_file(file)
