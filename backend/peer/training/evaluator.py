"""Measures versions on held-out shards in a process: `python -m backend.peer.training.evaluator`.

The process reads and writes JSON lines. The first input is `{"bundle": FOLDER, "shards": [PATH, ...]}`; if
that is unusable, the process writes the reason to standard error and exits with code 1. Each further input
`{"version": n, "weights": PATH}` is answered by `{"version": n, "loss": x, "metrics": {...}}` or `{"version":
n, "error": sentence}`. The process ends with its input.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import TextIO

import msgspec
import numpy as np
from msgspec import Struct

from backend.errors import MingaError, PeerError
from backend.numerics.metrics import metric_values
from backend.peer.data.shards import Examples, join_shards, read_shard
from backend.peer.training.graphs import Graphs, import_graphs, open_bundle
from backend.peer.training.measurer import VersionMeasurer
from backend.peer.training.step import Vector, never, read_totals


class Setup(Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of the input: the bundle's folder and the files of the held-out shards."""

    bundle: str
    shards: list[str]


class Request(Struct, frozen=True, forbid_unknown_fields=True):
    """A version to measure; `weights` is a file of float32, little-endian."""

    version: int
    weights: str


class EvaluationMeans(Struct, frozen=True):
    """The exact means over the held-out examples."""

    version: int
    loss: float
    metrics: dict[str, float]


class EvaluationFailed(Struct, frozen=True):
    """The reason why a version was not measured."""

    version: int | None
    error: str


class HoldoutEvaluator:
    """Runs the evaluate graph on the held-out examples."""

    def __init__(self, graphs: Graphs, examples: Examples) -> None:
        self._metrics = graphs.manifest.metrics
        self._measurer = VersionMeasurer(graphs)
        self._examples = examples

    def evaluate(self, version: int, weights: Vector) -> EvaluationMeans:
        """Returns loss and metrics of `weights` [P].

        Raises PeerError for a wrong number of weights or a loss that is not finite.
        """
        _, loss, sums = read_totals(self._measurer.totals(weights, self._examples, never))
        if not math.isfinite(loss):
            raise PeerError(f"The loss of version {version} is not a finite number.")
        return EvaluationMeans(version, loss, metric_values(self._metrics, [sums]))


def open_evaluator(setup: Setup) -> HoldoutEvaluator:
    """Returns the evaluator for a setup. Raises MingaError, with a sentence."""
    bundle = open_bundle(Path(setup.bundle), ["evaluate"])
    try:
        shards = [read_shard(Path(path).read_bytes(), bundle.manifest) for path in setup.shards]
    except OSError as error:
        raise PeerError(f"The held-out shard {error.filename} cannot be read: {error.strerror}.") from error
    if not shards or not (examples := join_shards(shards)):
        raise PeerError("There are no held-out examples; cut the data with a held-out shard.")
    return HoldoutEvaluator(import_graphs(bundle, "cpu"), examples)


def serve(lines: TextIO, answers: TextIO) -> None:
    """Answers line by line until the input ends. Raises MingaError or DecodeError for a bad first line."""
    evaluator = open_evaluator(msgspec.json.decode(lines.readline(), type=Setup))
    for line in lines:
        answers.write(msgspec.json.encode(_answer(evaluator, line)).decode() + "\n")
        answers.flush()


def _answer(evaluator: HoldoutEvaluator, line: str) -> EvaluationMeans | EvaluationFailed:
    version = None
    try:
        request = msgspec.json.decode(line, type=Request)
        version = request.version
        return evaluator.evaluate(version, np.fromfile(request.weights, "<f4"))
    except OSError as error:
        return EvaluationFailed(version, f"The weights {error.filename} cannot be read: {error.strerror}.")
    except (MingaError, msgspec.DecodeError) as error:
        return EvaluationFailed(version, str(error))


def main() -> int:
    """Serves standard input. Standard output has answers only; TensorFlow's notices go to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        serve(sys.stdin, answers)
    except (MingaError, msgspec.DecodeError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
