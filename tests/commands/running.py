"""Commands of `minga`, run as their users run them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE


def minga(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """`minga <words>` in a process of its own, at its end."""
    command = [sys.executable, "-m", "backend", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


def facts(*words: str | Path) -> dict[str, Any]:
    """What `minga <words> --json` prints."""
    done = minga(*words, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
