"""Builds tasks for tests with the command that owners use."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support import fork_servers


def built(folder: Path) -> Path:
    """Runs `minga build`, forked from a process that has imported Keras; returns `folder`."""
    subprocess.run([fork_servers.executable(), "-m", "backend", "build", str(folder)], check=True)
    return folder
