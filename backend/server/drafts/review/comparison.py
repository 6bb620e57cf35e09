"""Reads drafts and tasks into the form in which they are compared."""

from __future__ import annotations

from pathlib import Path

from backend.formats.file_hash import file_sha256
from backend.server.drafts.record import Draft
from backend.server.drafts.review.differences import Side
from backend.server.drafts.task_tables import WHERE, fixed, read_tables
from backend.stores.error_translation import translated

README = "README.md"
_MAX_README = 1 << 18


def side_of_draft(draft: Draft) -> Side:
    """Returns the side of a draft in a comparison."""
    return Side(draft.task, draft.readme, {kind: stored.sha256 for kind, stored in draft.files.items()})


def side_of_task(folder: Path) -> Side:
    """Returns the side of a task in its folder, which has no data file any more. Raises TaskFileError."""
    tables = read_tables(folder / WHERE)
    model = folder / str(tables["model"]["bundle"]) / "model.keras"
    # The server sets paths and its operator sets commands, so they are no differences between owners' tasks.
    tables.pop("hooks", None)
    with translated(f"The task in {folder} cannot be read"):
        files = {"model": file_sha256(model)} if model.is_file() else {}
        return Side(fixed(tables), read_text(folder), files)


def read_text(folder: Path) -> str:
    """Returns the README of a task's folder; empty if there is none."""
    path = folder / README
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(_MAX_README).decode("utf-8", "replace")
