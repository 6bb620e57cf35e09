"""Gives benchmarks.units.tolerance the data of each model: real ones, or noise."""

from __future__ import annotations

import io
import itertools
import tomllib
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.pages.owner_walk import DATA

# Other source files than the gallery's own data; noise is made here.
SOURCES = {
    "titanic": "titanic.csv",
    "shakespeare": "tinyshakespeare.txt",
    "cifar10": "cifar10_train.zip",
    "noise": None,
}
# Models of other names in the gallery. Training on pictures that show nothing is the least stable.
NETWORKS = {"noise": "cifar10"}
PICTURES_OF_A_CLASS = 20


def source_file(folder: Path, model: str) -> Path:
    """Returns the file to cut into shards, made in `folder` if need be; its task.toml lies there."""
    name = SOURCES[model]
    if name is None:
        return _noise(folder)
    return _sample(folder, DATA / name) if name.endswith(".zip") else DATA / name


def _sample(folder: Path, pictures: Path) -> Path:
    """Returns some pictures of each class."""
    sample = folder / "pictures.zip"
    with zipfile.ZipFile(pictures) as source, zipfile.ZipFile(sample, "w") as target:
        by_class = itertools.groupby(sorted(source.namelist()), lambda name: name.partition("/")[0])
        for _, names in by_class:
            for name in itertools.islice(names, PICTURES_OF_A_CLASS):
                target.writestr(name, source.read(name))
    return sample


def _noise(folder: Path) -> Path:
    """Returns as many pictures of random pixels."""
    sample, generator = folder / "pictures.zip", np.random.default_rng(0)
    classes = tomllib.loads((folder / "task.toml").read_text("utf-8"))["data"]["preprocess"]["classes"]
    with zipfile.ZipFile(sample, "w") as target:
        for kind, number in itertools.product(classes, range(PICTURES_OF_A_CLASS)):
            picture = io.BytesIO()
            pixels = generator.integers(0, 256, (32, 32, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(picture, "png")
            target.writestr(f"{kind}/{number}.png", picture.getvalue())
    return sample
