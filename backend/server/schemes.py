"""The table of all schemes of training that the server hosts, by their names in task files."""

from __future__ import annotations

from typing import Any

from backend.formats.task_file import TaskFile
from backend.server.hosting.scheme import Scheme
from backend.server.mesh.scheme import MESH
from backend.server.rounds.scheme import ROUNDS
from backend.server.units.scheme import UNITS

# What concerns pages and metrics is in backend/web/schemes.py.
SCHEMES: dict[str, Scheme[Any]] = {one.name: one for one in (ROUNDS, MESH, UNITS)}


def scheme_of(file: TaskFile) -> Scheme[Any]:
    """The scheme of a task file."""
    return SCHEMES[file.coordination.scheme]
