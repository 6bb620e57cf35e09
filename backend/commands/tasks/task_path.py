"""Finds the task that a command names: a path, or the name of a task of the gallery."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from backend.errors import TaskFileError
from backend.server.tasks.task import TASK_FILE
from backend.settings import assets_folder


def gallery() -> dict[str, Path]:
    """Returns the folders of the gallery's tasks by name."""
    return {file.parent.name: file.parent for file in sorted(assets_folder().glob(f"models/*/{TASK_FILE}"))}


def gallery_or_path(path: Path) -> Path:
    """Returns `path`, or the gallery's folder of that name if there is no such path."""
    if path.exists() or len(path.parts) != 1:
        return path
    return gallery().get(str(path), path)


def task_file_at(path: Path) -> Path:
    """Returns the task file that `path` is, holds, or names in the gallery. Raises TaskFileError."""
    found = gallery_or_path(path)
    file = found / TASK_FILE if found.is_dir() else found
    if not file.is_file():
        raise TaskFileError(
            f"There is no task file at {file}. Give a task file, the folder that holds {TASK_FILE}, or a "
            f"task of the gallery: {', '.join(gallery())}."
        )
    return file


def build_command(folders: Sequence[Path]) -> str:
    """Returns the command that builds the tasks in `folders`: those of the gallery need not be named."""
    models = (assets_folder() / "models").resolve()
    others = [shlex.quote(str(folder)) for folder in folders if folder.resolve().parent != models]
    inside = [folder.name for folder in folders if folder.resolve().parent == models]
    return " ".join(["minga build", *(inside if others else []), *others])
