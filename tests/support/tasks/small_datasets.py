"""Makes small data sets during a test."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from PIL import Image

from backend.errors import DataError
from backend.formats.shard_index import INDEX, ShardIndex
from backend.numerics.preprocess.declared import Preprocess

COLOURS = {"blue": (0, 0, 255), "red": (255, 0, 0)}


def png(colour: tuple[int, ...] = (0, 0, 0), size: tuple[int, int] = (4, 4), mode: str = "RGB") -> bytes:
    """Returns a picture of one colour."""
    file = io.BytesIO()
    Image.new(mode, size, colour).save(file, "PNG")
    return file.getvalue()


def image_folder(path: Path, each: int = 10) -> Path:
    """Writes pictures into the folders blue and red."""
    for name, colour in COLOURS.items():
        (path / name).mkdir(parents=True)
        for number in range(each):
            (path / name / f"{number:03}.png").write_bytes(png(colour))
    return path


def zipped(folder: Path, target: Path, **more: bytes) -> Path:
    """Zips the files of `folder`, and `more` by name."""
    with zipfile.ZipFile(target, "w") as archive:
        for file in sorted(folder.rglob("*.png")):
            archive.write(file, f"photos/{file.relative_to(folder).as_posix()}")
        for name, content in more.items():
            archive.writestr(name, content)
    return target


def declared(**table: Any) -> Preprocess:
    """Returns a declared preprocessing."""
    made: Preprocess = msgspec.convert(table, Preprocess)
    return made


def index_of(folder: Path) -> ShardIndex:
    """Returns shards.json of `folder`."""
    return msgspec.json.decode((folder / INDEX).read_bytes(), type=ShardIndex)


def arrays_of(folder: Path, part: str = "train") -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Returns the first input and the first label of all shards."""
    x: list[np.ndarray[Any, Any]] = []
    y: list[np.ndarray[Any, Any]] = []
    for shard in getattr(index_of(folder), part):
        content = msgspec.msgpack.decode((folder / shard.file).read_bytes())
        for into, stored in ((x, content["x"][0]), (y, content["y"][0])):
            into.append(np.frombuffer(stored["data"], stored["dtype"]).reshape(stored["shape"]))
    return np.concatenate(x), np.concatenate(y)


def refuse(error: DataError) -> None:
    """Accepts no damaged data: raises the error."""
    raise error
