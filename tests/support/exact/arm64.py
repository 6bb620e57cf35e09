"""Node.js for ARM64 as a program of this machine, by the emulation of qemu."""

from __future__ import annotations

import shlex
from pathlib import Path

from tests.support.environment.preflight import arm64_command
from tests.support.plugins.requirements import require


def arm64_node(folder: Path) -> Path:
    """Writes the program `node` into `folder` and returns its path. Skips the test if arm64 is left out."""
    require("arm64")
    program = folder / "node"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(arm64_command())} "$@"\n', "utf-8")
    program.chmod(0o755)
    return program
