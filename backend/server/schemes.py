"""Lists the training schemes that the server hosts, by their names in task files."""

from __future__ import annotations

from typing import Any

from backend.formats.task_file import TaskFile
from backend.server.hosting.scheme import Scheme
from backend.server.mesh.scheme import MESH
from backend.server.rounds.scheme import ROUNDS
from backend.server.units.scheme import UNITS

# Their pages and metrics are registered in backend/web/schemes.py.
SCHEMES: dict[str, Scheme[Any]] = {scheme.name: scheme for scheme in (ROUNDS, MESH, UNITS)}


def scheme_of(file: TaskFile) -> Scheme[Any]:
    """Returns the scheme that a task file names."""
    return SCHEMES[file.coordination.scheme]
