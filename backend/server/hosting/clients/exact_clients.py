"""Decides whether a client computes the same bits as all others, where its task requires that."""

from __future__ import annotations

from backend.errors import NotExactError
from backend.formats.task_file import exactness
from backend.server.tasks.task import Task
from backend.wire.messages import Kind, Ready

BACKEND = "exact"
_WHY = "This task needs the same bits from every device"


def objection(task: Task, kind: Kind, ready: Ready) -> NotExactError | None:
    """Returns why a client that is ready may not take part; None if it may."""
    pins = task.bundle.manifest.exact
    if exactness(task.file) != "required" or pins is None:
        return None
    if ready.backend == BACKEND and ready.program == pins.program:
        return None
    if kind == "browser":
        return NotExactError(f"{_WHY}, and this page computes with a different program. Reload the page.")
    if ready.backend != BACKEND:
        return NotExactError(f"{_WHY}, and {ready.backend} rounds differently. Join with --exact.")
    return NotExactError(
        f"{_WHY}, and this peer computes with a different program than {pins.program[:12]}. Install the "
        "version of Minga that the server has."
    )


def compared_program(task: Task, ready: Ready) -> str | None:
    """Returns the program by whose bits a client's results are compared; None if there is none."""
    return ready.program if ready.backend == BACKEND and exactness(task.file) != "off" else None
