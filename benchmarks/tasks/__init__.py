"""Real training tasks for benchmarks: a Keras model, its data and its task file in a folder each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

NAMES = ("cifar", "titanic", "shakespeare")
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Sources:
    """The input of `minga shard`: the data, and either a test set or the share to hold out."""

    train: Path
    test: Path | None = None
    holdout: float = 0.0


@dataclass(frozen=True)
class Task:
    """A task and its yardstick.

    `prepare(data, folder, seed, examples)` takes the sources from the folder `data` (MINGA_DATA) and writes
    the seed's files into `folder`; `examples` None takes the benchmark's own number. `build` makes the model,
    `optimizer` the optimizer of the central training with batches of `batch_size`. `every` is the number of
    rounds between two points of the curves.
    """

    prepare: Callable[[Path, Path, int, int | None], Sources]
    build: Callable[[], Any]
    optimizer: Callable[[], Any]
    batch_size: int
    every: int


def task_file(name: str) -> Path:
    """Returns the path of a task's task file."""
    return HERE / name / "task.toml"


def load_task(name: str) -> Task:
    """Returns the task in the folder `name`. Imports Keras."""
    task: Task = import_module(f"benchmarks.tasks.{name}.task").TASK
    return task
