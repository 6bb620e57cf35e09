"""Cases with TensorFlow's results, computed once in a process of its own for each state of these files.

`python -m tests.conformance.ops.expected` computes all that are missing.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.conformance.ops.families import FAMILIES

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
CACHE = ROOT / ".cache" / "ops"


def expected(families: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """The cases of each family as the harness and `compare.judge` read them. Raises RuntimeError."""
    folder = CACHE / _state()
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for outdated in CACHE.glob("*/"):
            if outdated != folder:
                shutil.rmtree(outdated)
        if missing := [family for family in families if not (folder / f"{family}.json").exists()]:
            _make(missing, folder)
    return {family: json.loads((folder / f"{family}.json").read_text("utf-8")) for family in families}


def _state() -> str:
    sources = b"".join(source.read_bytes() for source in sorted(HERE.rglob("*.py")))
    return hashlib.sha256(sources).hexdigest()[:16]


def _make(families: Sequence[str], folder: Path) -> None:
    """Writes the files of these families into `folder`, each as a whole."""
    with tempfile.TemporaryDirectory(dir=CACHE) as making:
        command = [sys.executable, "-m", "tests.conformance.ops.graphs", making, *families]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"The cases of {', '.join(families)} were not made:\n{done.stderr[-4000:]}")
        folder.mkdir(exist_ok=True)
        for made in Path(making).iterdir():
            made.rename(folder / made.name)


if __name__ == "__main__":
    expected(tuple(FAMILIES))
