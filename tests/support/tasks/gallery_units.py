"""Writes a task of the gallery as work units that are all done twice."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

# Nobody is ever proven, so that every unit is compared with another device's. There is no target in the file:
# the quick ones would reach it before the slow ones sent anything, and all are to have a part in it.
UNITS = """[coordination]
scheme = "volunteer"

[coordination.units]
epochs = {epochs}
rows = {rows}
evaluate_every = 1000

[coordination.units.trust]
replicas = 2
networks = ["127.0.0.0/8"]
checked = 100000
spot_checks = 0.0
trusted = {trusted}

"""


def write_gallery_units(source: Path, folder: Path, rows: int, epochs: int, *trusted: str) -> Path:
    """Writes the built task `source` into the new `folder`, as it is but for [coordination]."""
    shutil.copytree(source, folder)
    file = folder / "task.toml"
    table = UNITS.format(epochs=epochs, rows=rows, trusted=json.dumps(trusted))
    text = re.sub(
        r"\[coordination\]\n.*?\n(?=\[(?!coordination))", table, file.read_text("utf-8"), flags=re.DOTALL
    )
    file.write_text(text.replace("shards_per_client = 4\n", ""), "utf-8")
    return folder
