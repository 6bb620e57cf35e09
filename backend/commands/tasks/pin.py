"""`minga task pin`: pins the bundle of a task to the program that computes the same bits everywhere."""

from __future__ import annotations

import argparse
from pathlib import Path

from backend.errors import SettingsError
from backend.formats.exact_program import read_exact_program
from backend.formats.pins import MANIFEST, pin_bundle
from backend.formats.task_file import read_task_file
from backend.server.tasks.task import TASK_FILE
from backend.settings import dist_folder


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Adds `FOLDER`."""
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="of a task, or of its bundle")


def run(args: argparse.Namespace) -> int:
    """Pins the bundle and says to what. Raises SettingsError, TaskFileError or BundleError."""
    program = read_exact_program(dist_folder())
    if program is None:
        raise SettingsError("The web app is not built here, and pins are hashes of it; run `make build`.")
    bundle = _bundle_of(args.folder)
    changed = pin_bundle(bundle, program)
    word = "is pinned" if changed else "was pinned already"
    print(f"{bundle} {word} to the program {program.program[:12]}: {len(program.files)} files.")
    return 0


def _bundle_of(folder: Path) -> Path:
    if (folder / MANIFEST).is_file():
        return folder
    return folder / read_task_file(folder / TASK_FILE).model.bundle
