"""The gallery's digits as a task of work units."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

UNITS = """[coordination]
scheme = "volunteer"

[coordination.units]
epochs = {epochs}
rows = {rows}

[coordination.units.assimilation]
{assimilation}

[coordination.units.trust]
replicas = {replicas}
spot_checks = 0.0
networks = ["127.0.0.0/8"]
"""


def write_units(
    source: Path,
    folder: Path,
    *,
    epochs: int = 40,
    rows: int = 0,
    replicas: int = 2,
    assimilation: str = 'name = "vc-asgd"',
    passes: int = 2,
) -> Path:
    """`source` is the built gallery's folder; a unit goes `passes` times over its rows."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.py", "README.md"))
    file = folder / "task.toml"
    table = UNITS.format(epochs=epochs, rows=rows, replicas=replicas, assimilation=assimilation)
    text = re.sub(r"\[coordination\]\n.*?\n(?=\[)", table + "\n", file.read_text("utf-8"), flags=re.DOTALL)
    text = text.replace("shards_per_client = 4\n", "").replace("epochs = 2\n", f"epochs = {passes}\n", 1)
    file.write_text(text, "utf-8")
    return folder
