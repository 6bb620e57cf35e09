"""`minga build`: builds the gallery's tasks and the documentation if their sources changed."""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from backend.commands.docs.site import build_site
from backend.commands.tasks.task_path import gallery, gallery_or_path
from backend.commands.terminal.progress import TerminalProgress
from backend.errors import TaskFileError
from backend.formats.exact_program import read_exact_program
from backend.formats.pins import pin_bundle
from backend.formats.task_file import TaskFile, read_task_file
from backend.server.sandbox.conversion import convert
from backend.server.sandbox.converter_process import converter_folder
from backend.server.sandbox.limited_process import Supervision, Tell, silent
from backend.settings import assets_folder, dist_folder, site_folder

BUILT = "built"
_STAMP = "sources.sha256"

# Shown at the end of the help.
EXAMPLES = ("minga build", "minga build digits --force")


def register(subparsers: Any) -> None:
    """Adds the command and its flags."""
    parser: argparse.ArgumentParser = subparsers.add_parser("build", examples=EXAMPLES)
    parser.add_argument(
        "tasks",
        type=Path,
        nargs="*",
        metavar="TASK_DIR",
        help="only these folders, or names of the gallery; default: the whole gallery and the documentation",
    )
    parser.add_argument("--docs", action="store_true", help="with TASK_DIR: build the documentation, too")
    parser.add_argument("--force", action="store_true", help="rebuild what is up to date, too")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Builds each task and the documentation unless they are up to date."""
    folders = [gallery_or_path(task) for task in args.tasks] or [
        folder for folder in gallery().values() if (folder / "build.py").is_file()
    ]
    for folder in folders:
        with TerminalProgress(f"{folder.name}: comparing its sources") as progress:
            message = build_task(folder.resolve(), args.force, progress.step)
        print(f"{folder.name}: {message}", flush=True)
    if args.docs or not args.tasks:
        with TerminalProgress("documentation: building its pages"):
            message = build_site(assets_folder(), site_folder(), args.force)
        print(f"documentation: {message}", flush=True)
    return 0


def build_task(folder: Path, force: bool = False, tell: Tell = silent) -> str:
    """Runs the task's build.py, converts its model into `folder`/built, and returns a message.

    The folder `built` is replaced as a whole; its bundle is pinned to the built web app. `tell` is called
    with each step, but not if the task is up to date. Raises MingaError.
    """
    task = read_task_file(folder / "task.toml")
    model, bundle = (_inside_built(folder, task, path) for path in (task.model.file, task.model.bundle))
    digest = source_hash(folder)
    stamp, program = folder / BUILT / _STAMP, read_exact_program(dist_folder())
    if not force and stamp.is_file() and stamp.read_text("utf-8") == digest:
        if program is not None and pin_bundle(folder / BUILT / bundle, program):
            return "up to date, and pinned to the web app as it is now."
        return "up to date."
    tell(f"{folder.name}: making its model and data, a minute or more")
    with tempfile.TemporaryDirectory(prefix=".build-", dir=folder) as temporary:
        draft = Path(temporary) / BUILT
        _run_script(folder / "build.py", draft)
        message = convert(
            draft / model,
            folder / "task.toml",
            draft / bundle,
            supervision=Supervision(lambda step: tell(f"{folder.name}: {step}")),
            program=program,
        )
        (draft / _STAMP).write_text(digest, "utf-8")
        if (folder / BUILT).exists():
            (folder / BUILT).rename(Path(temporary) / "old")
        draft.rename(folder / BUILT)
    return message


def source_hash(folder: Path) -> str:
    """Returns the SHA-256 of all sources with their names.

    These are the task file, the build script, other code and texts in its folder that it may read (without
    the README), and the converter.
    """
    converter = converter_folder()
    sources = [folder / "task.toml", folder / "build.py"]
    sources += sorted({*folder.glob("*.py"), *folder.glob("*.txt")} - set(sources))
    sources += sorted(path for path in converter.rglob("*") if path.suffix in (".py", ".json"))
    total = hashlib.sha256()
    for path in sources:
        total.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def _inside_built(folder: Path, task: TaskFile, path: str) -> Path:
    """Returns a path of the task file relative to the folder `built`. Raises TaskFileError if outside."""
    full = Path(os.path.normpath(folder / path))
    if full.parent == folder or not full.is_relative_to(folder / BUILT):
        raise TaskFileError(f"{task.name}: '{path}' must lie in {BUILT}/, which minga build recreates.")
    return full.relative_to(folder / BUILT)


def _run_script(script: Path, output: Path) -> None:
    """Runs the build script without limits: it is the gallery's own code, trusted like this file."""
    if not script.is_file():
        raise TaskFileError(
            f"{script.parent} has no build.py; write one that makes the model and the shards."
        )
    environment = os.environ | {
        "KERAS_BACKEND": "tensorflow",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
    }
    done = subprocess.run(  # noqa: S603 - the gallery's script, no shell
        [sys.executable, script, output], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode or not output.is_dir():
        last = done.stderr.strip().rpartition("\n")[2]
        shutil.rmtree(output, ignore_errors=True)
        raise TaskFileError(
            f"{script} failed: {last}. Run it alone to see everything: python {script} FOLDER"
        )
