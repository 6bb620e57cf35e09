"""A running server with the task `tiny`, fresh for every test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.support.tasks.tiny_task import write_mesh, write_task, write_units
from tests.support.web.server_process import Server, running

Serve: TypeAlias = Callable[..., Server]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts a server; keyword arguments change the task's coordination table."""
    with ExitStack() as stack:

        def start(*flags: str, **coordination: Any) -> Server:
            write_task(tmp_path / "tasks" / "tiny", **coordination)
            return stack.enter_context(running(tmp_path / "tasks", tmp_path / "data", *flags))

        yield start


@pytest.fixture
def mesh(tmp_path: Path) -> Iterator[Serve]:
    """Starts a server of a decentralized task; keyword arguments change the task's coordination table."""
    with ExitStack() as stack:

        def start(*flags: str, **coordination: Any) -> Server:
            write_mesh(tmp_path / "tasks" / "tiny", **coordination)
            return stack.enter_context(running(tmp_path / "tasks", tmp_path / "data", *flags))

        yield start


@pytest.fixture
def units(tmp_path: Path) -> Iterator[Serve]:
    """Starts a server of a task of work units; keyword arguments change the task's table of them."""
    with ExitStack() as stack:

        def start(*flags: str, **units: Any) -> Server:
            write_units(tmp_path / "tasks" / "tiny", **units)
            return stack.enter_context(running(tmp_path / "tasks", tmp_path / "data", *flags))

        yield start
