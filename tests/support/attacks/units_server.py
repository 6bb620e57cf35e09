"""Runs a server of a task of work units that is to be attacked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.tasks.tiny_task import write_units
from tests.support.web.server_process import Server, running

# A task whose results count without a comparison.
ALONE: dict[str, Any] = {"replicas": 1, "spot_checks": 0.0}
# Steps of a unit of the tiny task: five rows in batches of four.
STEPS = 2


@contextmanager
def units_server(folder: Path, *flags: str, **units: Any) -> Iterator[Server]:
    """Yields a server of the task `tiny`; keyword arguments change its table of units."""
    write_units(folder / "tasks" / "tiny", **units)
    with running(folder / "tasks", folder / "data", *flags) as server:
        yield server
