"""Examples for tasks whose own stay with volunteers: a sample of CIFAR-10, cut as a volunteer's files are."""

from __future__ import annotations

import os
from pathlib import Path

from backend.commands.attack.task_attacks import shards_of_own_data
from backend.errors import DataError
from benchmarks.support.dense_task import ROOT
from benchmarks.tasks.cifar.task import CLASSES, choose

ARCHIVE = "cifar10_train.zip"
PICTURES, HELD_OUT = 4000, 0.5


def cut_pictures(task_path: Path, folder: Path) -> Path:
    """Writes shards of 4,000 pictures, half of them held out, into `folder`; returns their folder.

    Raises DataError without the data, in the folder MINGA_DATA.
    """
    data = Path(os.environ.get("MINGA_DATA", ROOT.parent / "shared" / "data"))
    if not (data / ARCHIVE).is_file():
        raise DataError(f"There is no {ARCHIVE} in {data}; set MINGA_DATA to the folder with the real data.")
    chosen = folder / "pictures.zip"
    choose(data / ARCHIVE, chosen, PICTURES // CLASSES, seed=0)
    return shards_of_own_data(task_path, (), chosen, folder, HELD_OUT)
