"""Builds tasks for tests with the command that owners use."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.programs import fork_server_pool


def built(folder: Path) -> Path:
    """Runs `minga build`, forked from a process that has imported Keras; returns `folder`."""
    subprocess.run([fork_server_pool.executable(), "-m", "backend", "build", str(folder)], check=True)
    return folder
