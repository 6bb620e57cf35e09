"""Which digits a volunteer has, from one update of one step: in the open, in a masked sum, and under noise.

Usage: python -m benchmarks.privacy.label_leakage [--trials N] [--json]

A first step of Adam moves the last layer's bias of each class up where the volunteer has more examples of it
than the model expected, else down, by the learning rate (Zhao et al. 2020 found it for plain gradients): the
attack names the classes that went up. It sees the update alone (open), the sum of eight volunteers'
(masked), an update of clipped and noised gradients (examples), or a clipped and noised update (local). Of a
sum it names the classes that somebody's update moved up; the question is still what the first volunteer has.
Precision is the share of named classes that this one has, recall the share of its classes that are named.
Everything is trained by the peer's own trainer.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmarks.privacy.membership_attack import Estimate, estimate
from benchmarks.support.training_run import ONE_CORE

if TYPE_CHECKING:
    from benchmarks.privacy.trained_volunteer import Digits, Volunteer

SEED, CLASSES, POOL = 7, 10, 1000
SIZES = (1, 4, 16)
COHORT = 8
CLIP, NOISE, RATE = 1.0, 1.0, 0.005

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class Row:
    """The attack's success where volunteers have `examples` each, as means over trials.

    `guessed` is the precision of naming classes without looking.
    """

    seen: str
    examples: int
    precision: Estimate
    recall: Estimate
    guessed: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.privacy.label_leakage", description=__doc__)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    # TensorFlow reads these variables at import.
    os.environ |= ONE_CORE
    with TemporaryDirectory() as folder:
        results = measure(Path(folder), options.trials)
    print(json.dumps([asdict(row) for row in results]) if options.json else "\n".join(rows(results)))


def measure(folder: Path, trials: int) -> list[Row]:
    """Trains and attacks; `folder` is for the bundle."""
    from benchmarks.privacy.trained_volunteer import Digits, Volunteer

    digits = Digits.load(POOL, SEED)
    volunteer = Volunteer(folder / "bundle", digits, 32, True)
    generator = np.random.default_rng(SEED)
    return [row for size in SIZES for row in _rows(volunteer, digits, size, trials, generator)]


def _rows(
    volunteer: Volunteer, digits: Digits, size: int, trials: int, generator: np.random.Generator
) -> list[Row]:
    scores_by_form: dict[str, list[tuple[float, float]]] = {}
    class_shares: list[float] = []
    for trial in range(trials):
        members = [_random_members(generator, size) for _ in range(COHORT)]
        own_classes = np.unique(digits.labels[digits.pool[members[0]]])
        class_shares.append(len(own_classes) / CLASSES)
        for form, update in _seen(volunteer, members, trial).items():
            volunteers = COHORT if form == "masked" else 1
            scores_by_form.setdefault(form, []).append(score(named(update, volunteers), own_classes))
    return [
        Row(
            form,
            size,
            estimate([precision for precision, _ in scores]),
            estimate([recall for _, recall in scores]),
            round(float(np.mean(class_shares)), 3),
        )
        for form, scores in scores_by_form.items()
    ]


def _seen(volunteer: Volunteer, members: list[NDArray[np.bool_]], seed: int) -> dict[str, Vector]:
    """Returns what the server sees of the first member, by the form of protection."""
    from backend.peer.training.noise import fresh_words
    from backend.peer.training.private_step import ExampleClip
    from backend.peer.training.protection import protected
    from backend.peer.training.trainer import TrainingPlan
    from backend.wire.messages import Privacy

    size = int(members[0].sum())
    plan = TrainingPlan(1, RATE, seed, batch_size=size)
    private = TrainingPlan(1, RATE, seed, batch_size=size, privacy=ExampleClip(CLIP, NOISE))
    results = [volunteer.result(member, plan) for member in members]
    local = protected(results[0], Privacy(CLIP, NOISE, 0.0, 0.0, 0), fresh_words())
    return {
        "open": results[0].update,
        "masked": np.sum([result.update for result in results], axis=0),
        "examples": volunteer.result(members[0], private).update,
        "local": local.update,
    }


def _random_members(generator: np.random.Generator, size: int) -> NDArray[np.bool_]:
    members = np.zeros(POOL, np.bool_)
    members[generator.choice(POOL, size, replace=False)] = True
    return members


def named(update: Vector, volunteers: int = 1) -> NDArray[np.int64]:
    """Returns the classes that went up for at least one of `volunteers`, whose updates are summed.

    The last values of the model's vector are the biases of its ten classes. All down is -RATE for each.
    """
    return np.flatnonzero(update[-CLASSES:] > -RATE * (volunteers - 1))


def score(named: NDArray[np.int64], has: NDArray[np.int64]) -> tuple[float, float]:
    """Returns precision and recall; naming no class counts as wrong."""
    right = len(np.intersect1d(named, has))
    return right / max(len(named), 1), right / len(has)


def rows(results: list[Row]) -> list[str]:
    """Returns rows of a table in Markdown."""
    return [
        f"| {row.examples} | {row.seen} | {_percent(row.precision)} | {_percent(row.recall)} | "
        f"{100 * row.guessed:.0f} % |"
        for row in results
    ]


def _percent(value: Estimate) -> str:
    return f"{100 * value.mean:.0f} ± {100 * value.error:.0f} %"


if __name__ == "__main__":
    main()
