"""Builds the circles-and-squares task of docs/how-to/volunteers-own-data.md, its pictures, and tasks alike.

`python -m tests.support.tasks.shapes_task` builds it unless it is up to date.
"""

from __future__ import annotations

import fcntl
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from backend.commands.build import source_hash
from tests.support.tasks.task_build import built

ROOT = Path(__file__).parents[3]
HOW_TO = ROOT / "docs/how-to/volunteers-own-data.md"
CACHE = ROOT / ".cache" / "shapes"


def write_shapes(folder: Path, how_to: Path = HOW_TO) -> Path:
    """Writes the task's files from the how-to; returns `folder`."""
    folder.mkdir()
    text = how_to.read_text("utf-8")
    for language, name in (("toml", "task.toml"), ("python", "build.py")):
        [block, *_] = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        (folder / name).write_text(block, "utf-8")
    return folder


def build_words(folder: Path) -> Path:
    """Builds the task of recordings likewise."""
    return build_shapes(folder, ROOT / "docs/how-to/train-on-recordings.md", CACHE.with_name("words"))


def build_shapes(folder: Path, how_to: Path = HOW_TO, cache: Path = CACHE) -> Path:
    """Builds the task with real Keras by the how-to's command, once per version of its sources."""
    write_shapes(folder, how_to)
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = cache / source_hash(folder) / cache.name
        if not (kept / "built").exists():
            for outdated in cache.glob("*/"):
                shutil.rmtree(outdated)
            shutil.copytree(folder, kept)
            built(kept)
    shutil.copytree(kept, folder, dirs_exist_ok=True)
    return folder


def draw_shapes(folder: Path, seed: int, counts: Mapping[str, int]) -> Path:
    """Draws so many pictures of each class into folders of their names; returns `folder`."""
    random = np.random.default_rng(seed)
    for name, count in counts.items():
        (folder / name).mkdir(parents=True)
        for number in range(count):
            _draw(name, random).save(folder / name / f"mine-{number}.png")
    return folder


def _draw(name: str, random: np.random.Generator) -> Image.Image:
    """Draws a dark shape on a light ground, 40 by 30 pixels."""
    light, dark = (tuple(int(v) for v in random.integers(*bounds, 3)) for bounds in ((170, 255), (0, 120)))
    picture = Image.new("RGB", (40, 30), light)
    x, y = (int(v) for v in random.integers(1, 9, 2))
    pen = ImageDraw.Draw(picture)
    (pen.rectangle if name == "square" else pen.ellipse)((x + 5, y, x + 23, y + 18), fill=dark)
    return picture


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        build_shapes(Path(temporary) / "shapes")
