"""Ten models with data, each trained by the plan that is proposed for it.

Each pair goes through a draft's jobs as its owner's files would: conversion, inspection, cut, dry run, and
the forecast, which trains the proposed plan with simulated volunteers for at most a minute. The figures are
the accuracy on the held-out examples by chance and by guessing the most frequent class.
"""

from __future__ import annotations

import asyncio
import csv
import io
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from backend.formats.file_hash import file_sha256
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.jobs.job_queue import DraftJobQueue
from backend.server.drafts.limits import DraftLimits
from backend.server.drafts.record import FileKind, JobKind, StoredFile
from backend.server.drafts.task_tables import begin

SEED = 7
# Points above chance that a proposed plan has to reach.
GOAL = 20.0
_JOBS: tuple[JobKind, ...] = ("convert", "look", "cut", "rehearse", "forecast")


@dataclass(frozen=True)
class Pair:
    """A model and data, written to a folder by name; both functions get the folder of real data, too."""

    name: str
    model: Callable[[], Any]
    data: Callable[[Path, Path], Path]


@dataclass(frozen=True)
class PlanResult:
    """The accuracy at the end of a proposed plan, in percent, and the rounds trained of its rounds.

    `chance` is one over the number of classes, `frequent` the share of the most frequent class.
    """

    name: str
    accuracy: float
    chance: float
    frequent: float
    rounds: int
    of: int
    epochs: int | None
    seconds: float

    @property
    def reached(self) -> bool:
        """Whether the plan ends far enough above chance."""
        return self.accuracy - self.chance >= GOAL


def write_pictures(archive: Path, path: Path, each: int, classes: int = 10) -> Path:
    """Writes the first pictures of each class of the CIFAR-10 `archive` as a zip of folders by class."""
    counts: Counter[str] = Counter()
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(path, "w") as target:
        for name in sorted(source.namelist()):
            kind = name.split("/")[0]
            known = kind in counts or len(counts) < classes
            if name.endswith(".jpg") and known and counts[kind] < each:
                counts[kind] += 1
                target.writestr(name, source.read(name))
    return path


def write_table(source: Path, path: Path, encoding: str = "cp1252") -> Path:
    """Writes the Titanic's table as German spreadsheets do: semicolons, decimal commas, Windows-1252."""
    with source.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    fare, age = rows[0].index("Fare"), rows[0].index("Age")
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=";")
    for row in rows:
        writer.writerow(
            [cell.replace(".", ",") if place in (fare, age) else cell for place, cell in enumerate(row)]
        )
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def pairs() -> list[Pair]:
    """Returns the set."""
    return [
        Pair("cnn, 600 pictures of ten kinds", lambda: _cnn(10), _pictures(60, 10)),
        Pair("cnn, 2,000 pictures of ten kinds", lambda: _cnn(10), _pictures(200, 10)),
        Pair("cnn, 600 pictures of two kinds", lambda: _cnn(2), _pictures(300, 2)),
        Pair("cnn with batch norm, 1,500 pictures of three kinds", lambda: _cnn(3, True), _pictures(500, 3)),
        Pair("perceptron, 2,000 pictures of four kinds", lambda: _dense_pictures(4), _pictures(500, 4)),
        Pair("perceptron, the Titanic's table", titanic_model, _table),
        Pair("perceptron, two moons", lambda: _dense((2,), 2), _arrays(_moons)),
        Pair("perceptron, five clouds", lambda: _dense((8,), 5), _arrays(_clouds)),
        Pair("convolution, waves of three kinds", lambda: _waves(3), _arrays(_wave_rows)),
        Pair("embedding, texts of two kinds", _texts_model, _texts),
    ]


async def measure_plans(
    real: Path, folder: Path, chosen: Sequence[Pair], tell: Callable[[str], None] = lambda _: None
) -> list[PlanResult]:
    """Trains the proposed plan of each pair; `folder` is for drafts and files."""
    drafts = Drafts(folder / "drafts", DraftLimits(min_free_mib=1), time.time)
    await drafts.start()
    queue = DraftJobQueue(drafts)
    await queue.start()
    results = []
    try:
        for number, pair in enumerate(chosen):
            home = folder / str(number)
            home.mkdir()
            results.append(await _measure(pair, real, home, drafts, queue))
            tell(f"{results[-1]}")
    finally:
        await queue.stop()
    return results


async def _measure(pair: Pair, real: Path, home: Path, drafts: Drafts, queue: DraftJobQueue) -> PlanResult:
    began = time.perf_counter()
    files: dict[FileKind, Path] = {
        "model": save_model(pair.model, home / "model.keras"),
        "data": pair.data(real, home),
    }
    draft = await drafts.create("ann", begin("plan", pair.name), "", owned=[])
    for kind, file in files.items():
        stored = StoredFile(file.name, file.suffix, file.stat().st_size, file_sha256(file), time.time())
        draft.files[kind] = stored
        drafts.file(draft, kind).write_bytes(file.read_bytes())
    for job in _JOBS:
        done = await queue.ask(draft, job)
        while done.live:
            done = await queue.watch(draft, job, len(done.log), 60.0)
        if done.state != "done":
            raise RuntimeError(f"{pair.name}: {job}: {done.log[-1].text}")
    result = draft.jobs["forecast"].result or {}
    rounds, _, accuracy = result["curve"][-1]
    epochs = draft.task.get("training", {}).get("epochs")
    seconds = round(time.perf_counter() - began, 1)
    percent = [round(100.0 * (value or 0.0), 1) for value in (accuracy, result["chance"])]
    chance = round(100.0 / len((draft.jobs["look"].result or {})["classes"]), 1)
    await drafts.delete(draft)
    return PlanResult(pair.name, percent[0], chance, percent[1], rounds, result["of"], epochs, seconds)


def save_model(make: Callable[[], Any], path: Path) -> Path:
    """Builds a model and saves it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import keras

        keras.utils.set_random_seed(SEED)
        make().save(path)
    return path


def _compiled(layers: Sequence[Any], binary: bool = False) -> Any:
    import keras

    model = keras.Sequential(list(layers))
    loss = "binary_crossentropy" if binary else "sparse_categorical_crossentropy"
    model.compile(optimizer="adam", loss=loss, metrics=["accuracy"])
    return model


def _cnn(classes: int, normalized: bool = False) -> Any:
    from keras import Input, layers

    norm = [layers.BatchNormalization()] if normalized else []
    return _compiled(
        [
            Input((32, 32, 3)),
            layers.Conv2D(16, 3, activation="relu"),
            *norm,
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(classes, activation="softmax"),
        ]
    )


def picture_model() -> Any:
    """Returns a small convolutional network for ten kinds of pictures, as in Keras' own tutorials."""
    return _cnn(10)


def _dense_pictures(classes: int) -> Any:
    from keras import Input, layers

    hidden = [layers.Flatten(), layers.Dense(64, activation="relu")]
    return _compiled([Input((32, 32, 3)), *hidden, layers.Dense(classes, activation="softmax")])


def _dense(shape: tuple[int, ...], classes: int) -> Any:
    from keras import Input, layers

    hidden = [layers.Dense(32, activation="relu"), layers.Dense(32, activation="relu")]
    return _compiled([Input(shape), *hidden, layers.Dense(classes, activation="softmax")])


def titanic_model() -> Any:
    """A network for the columns that are proposed of the Titanic's table."""
    from keras import Input, layers

    hidden = [layers.Dense(16, activation="relu")]
    return _compiled([Input((TITANIC_VALUES,)), *hidden, layers.Dense(1, activation="sigmoid")], binary=True)


# Values of a row of the Titanic's table as it is read by proposal.
TITANIC_VALUES = 10


def _waves(classes: int) -> Any:
    from keras import Input, layers

    hidden = [layers.Conv1D(16, 5, activation="relu"), layers.GlobalAveragePooling1D()]
    return _compiled([Input((64, 1)), *hidden, layers.Dense(classes, activation="softmax")])


def _texts_model() -> Any:
    from keras import Input, layers

    hidden = [layers.Embedding(256, 16), layers.GlobalAveragePooling1D()]
    return _compiled([Input((64,), dtype="int32"), *hidden, layers.Dense(2, activation="softmax")])


def _pictures(each: int, classes: int) -> Callable[[Path, Path], Path]:
    return lambda real, home: write_pictures(real / "cifar10_train.zip", home / "things.zip", each, classes)


def _table(real: Path, home: Path) -> Path:
    return write_table(real / "titanic.csv", home / "people.csv")


def _arrays(make: Callable[[np.random.Generator], tuple[Any, Any]]) -> Callable[[Path, Path], Path]:
    def write(_real: Path, home: Path) -> Path:
        x, y = make(np.random.default_rng(SEED))
        np.savez(home / "rows.npz", x=x.astype(np.float32), y=y.astype(np.int32))
        return home / "rows.npz"

    return write


def _moons(random: np.random.Generator) -> tuple[Any, Any]:
    y = random.integers(0, 2, 600)
    angle = np.pi * random.random(600)
    x = np.stack([np.cos(angle) + y, np.where(y, 0.5, 0.0) + np.where(y, -1, 1) * np.sin(angle)], axis=1)
    return x + 0.1 * random.normal(size=x.shape), y


def _clouds(random: np.random.Generator) -> tuple[Any, Any]:
    centres, y = 2.0 * random.normal(size=(5, 8)), random.integers(0, 5, 800)
    return centres[y] + random.normal(size=(800, 8)), y


def _wave_rows(random: np.random.Generator) -> tuple[Any, Any]:
    y, time_steps = random.integers(0, 3, 900), np.linspace(0.0, 1.0, 64)
    frequency = 2.0 * np.pi * (2 + 4 * y)[:, None]
    x = np.sin(frequency * time_steps + 6.0 * random.random((900, 1))) + 0.2 * random.normal(size=(900, 64))
    return x[..., None], y


def _texts(real: Path, home: Path) -> Path:
    """Lines of Shakespeare, in folders by whether their letters are kept or replaced by the next one."""
    lines = [
        line for line in (real / "tinyshakespeare.txt").read_text("utf-8").splitlines() if len(line) > 30
    ]
    chosen = np.random.default_rng(SEED).choice(len(lines), 800, replace=False)
    with zipfile.ZipFile(home / "texts.zip", "w") as target:
        for number, place in enumerate(chosen.tolist()):
            kind = "shifted" if number % 2 else "plain"
            text = "".join(_next_letters(lines[place])) if number % 2 else lines[place]
            target.writestr(f"{kind}/{number}.txt", text)
    return home / "texts.zip"


def _next_letters(text: str) -> Iterator[str]:
    for letter in text:
        yield chr(ord(letter) + 1) if letter.isascii() and letter.isalpha() else letter


def run(real: Path, folder: Path, count: int = 10, tell: Callable[[str], None] = print) -> list[PlanResult]:
    """Measures the first `count` pairs."""
    return asyncio.run(measure_plans(real, folder, pairs()[:count], tell))
