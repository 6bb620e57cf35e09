"""Commands of `minga`, run as their users run them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.support.programs.program_process import Preload, run
from tests.support.timeouts import PATIENCE


def minga(*words: str | Path, seconds: float = PATIENCE) -> subprocess.CompletedProcess[str]:
    """`minga <words>` in a process of its own, at its end, which comes within `seconds`."""
    return run(Preload.SERVER, "backend", *words, seconds=seconds)


def facts(*words: str | Path) -> dict[str, Any]:
    """What `minga <words> --json` prints."""
    done = minga(*words, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
