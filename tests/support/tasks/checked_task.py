"""Writes a tiny task whose versions are checked for backdoors, and cannot be measured."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.support.tasks.tiny_task import write_task


def write_checked(folder: Path, table: str = "every = 2", **task: Any) -> Path:
    """Writes a task whose second version is checked, and cannot be measured: its model file is none.

    `task` are arguments of `write_task`.
    """
    write_task(folder, **({"min_available_clients": 1} | task))
    (folder / "bundle" / "model.keras").write_bytes(b"no model")
    bundle = folder / "bundle" / "bundle.json"
    manifest = json.loads(bundle.read_text("utf-8"))
    manifest["files"]["model.keras"] = {"sha256": hashlib.sha256(b"no model").hexdigest(), "bytes": 8}
    bundle.write_text(json.dumps(manifest), "utf-8")
    with (folder / "task.toml").open("a") as file:
        file.write(f"\n[security.integrity]\n{table}\n")
    return folder
