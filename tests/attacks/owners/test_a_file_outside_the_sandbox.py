"""Code that a bug of a parser lets into the sandbox changes files and the machine outside its job."""

from __future__ import annotations

import json
import os
from pathlib import Path

import backend
from backend.server.sandbox.limited_process import ProcessLimits, ProcessWork, run_limited

LIMITS = ProcessLimits(wall_seconds=60.0, cpu_seconds=30, memory_bytes=4 << 30, file_bytes=1 << 20)
# The answers of a filter: the call is forbidden, or does not exist.
REFUSED = {os.strerror(1), os.strerror(38)}


def test_code_in_the_sandbox_changes_nothing_outside_its_job(tmp_path: Path) -> None:
    readable, home = tmp_path / "owners.csv", tmp_path / "home"
    readable.write_text("a,b\n1,2\n")
    readable.chmod(0o600)
    os.utime(readable, (1000, 1000))
    home.mkdir()
    root = Path(str(backend.__file__)).resolve().parents[1]
    words = [*LIMITS.flags(), "--read", str(root), "--read", str(readable), "--write", str(home)]
    words += ["tests.support.attacks.sandboxed_code", str(readable), str(home)]
    work = ProcessWork("The attack", "stop", "converter.sandbox.confined_process", words, home, root)
    tried = json.loads(run_limited(work, LIMITS))
    status = readable.stat()
    assert (status.st_mode & 0o777, status.st_mtime) == (0o600, 1000), tried
    assert {path.name for path in home.iterdir()} == {"inside", "said", "log"}, tried
    assert {name: error for name, error in tried.items() if error not in REFUSED} == {}
