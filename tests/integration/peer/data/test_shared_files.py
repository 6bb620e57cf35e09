"""Files are written whole, and what killed processes left does not stay."""

from __future__ import annotations

import os
import time
from pathlib import Path

from backend.peer.data.shared_files import STALE_SECONDS, write_durably, write_whole


def names(folder: Path) -> set[str]:
    """The names in a folder."""
    return {path.name for path in folder.iterdir()}


def test_what_a_killed_process_left_is_removed_and_what_another_one_writes_stays(tmp_path: Path) -> None:
    old = time.time() - STALE_SECONDS - 1.0
    for name in (".weights.left", ".other.left"):
        (tmp_path / name).write_bytes(b"half")
        os.utime(tmp_path / name, (old, old))
    (tmp_path / ".weights.open").write_bytes(b"half")
    write_whole(tmp_path / "weights", b"whole")
    assert names(tmp_path) == {"weights", ".weights.open", ".other.left"}
    write_durably(tmp_path / "other", b"whole")
    assert names(tmp_path) == {"weights", "other", ".weights.open"}
    assert (tmp_path / "weights").read_bytes() == (tmp_path / "other").read_bytes() == b"whole"
