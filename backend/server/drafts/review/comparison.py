"""Drafts and tasks as they are compared."""

from __future__ import annotations

from pathlib import Path

from backend.formats.file_hash import file_sha256
from backend.server.drafts.record import Draft
from backend.server.drafts.review.differences import Side
from backend.server.drafts.task_tables import WHERE, fixed, read_tables
from backend.stores.error_translation import translated

README = "README.md"
_LONGEST = 1 << 18


def side_of_draft(draft: Draft) -> Side:
    """A draft, as its owner left it."""
    return Side(draft.task, draft.readme, {kind: stored.sha256 for kind, stored in draft.files.items()})


def side_of_task(folder: Path) -> Side:
    """A task, as it lies in its folder. The file of its data was not kept. Raises TaskFileError."""
    said = read_tables(folder / WHERE)
    model = folder / str(said["model"]["bundle"]) / "model.keras"
    # Paths are the server's, and commands its operator's: no owner's difference.
    said.pop("hooks", None)
    with translated(f"The task in {folder} cannot be read"):
        files = {"model": file_sha256(model)} if model.is_file() else {}
        return Side(fixed(said), read_text(folder), files)


def read_text(folder: Path) -> str:
    """The README of a task's folder; empty where there is none."""
    path = folder / README
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(_LONGEST).decode("utf-8", "replace")
