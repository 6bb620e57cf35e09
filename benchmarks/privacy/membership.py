"""Membership inference against one update of `digits`, without privacy of examples and with epsilon 8 and 2.

Usage: python -m benchmarks.privacy.membership [--epsilon inf 8 2] [--models N] [--examples N] [--save FOLDER]
[--json]

The setting is a bad one for a volunteer: it trains the gallery's model alone, for many epochs, on a few
examples of its own, and the attacker, a server of open rounds, sees its update. Each of --models trainings
has a random half of twice --examples; the peer's own trainer runs them in this process, with the privacy of
examples that a plan asks for. Attacks know all other trainings (LiRA's shadow models). Accuracy is on digits
that no training saw. --save writes membership.json and membership.svg.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from backend.lab.svg_curves import Line, draw
from backend.server.privacy.epsilon import gaussian_epsilon
from benchmarks.privacy.membership_attack import (
    RATES,
    Estimate,
    Members,
    Success,
    by_likelihood,
    by_threshold,
    confidence,
    estimate,
)
from benchmarks.support.training_run import ONE_CORE

if TYPE_CHECKING:
    from benchmarks.privacy.trained_volunteer import Digits

SEED = 5
DELTA = 1e-5
# Without privacy, small batches train until nothing is left to learn. With privacy each visit to an example
# costs the same whatever the batch, so one batch holds all examples; visits are few, so that each needs
# little noise.
PLAIN_EPOCHS, PLAIN_BATCH, PLAIN_RATE = 60, 32, 0.005
PRIVATE_EPOCHS, PRIVATE_RATE, CLIP = 40, 0.03, 1.0


@dataclass(frozen=True)
class EpsilonResult:
    """The results at one epsilon (None: no privacy); accuracies are shares of right answers.

    `noise` is the multiplier of each visit to an example, `visits` the number of visits.
    """

    epsilon: float | None
    noise: float
    visits: int
    trained: Estimate
    held_out: Estimate
    threshold: Success
    likelihood: Success
    cpu_seconds: float


@dataclass(frozen=True)
class Report:
    """The results of one call."""

    models: int
    examples: int
    held_out: int
    delta: float
    found: list[EpsilonResult]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.privacy.membership", description=__doc__)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[math.inf, 8.0, 2.0])
    parser.add_argument("--models", type=int, default=24)
    parser.add_argument("--examples", type=int, default=400)
    parser.add_argument("--save", type=Path, metavar="FOLDER")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    if options.models < 6 or options.models % 2:
        sys.exit("--models has to be even, and 6 or more: every example is in half of them.")
    # TensorFlow reads these variables at import.
    os.environ |= ONE_CORE
    with TemporaryDirectory() as folder:
        results = measure(Path(folder), options.epsilon, options.models, options.examples)
    if options.save:
        options.save.mkdir(parents=True, exist_ok=True)
        (options.save / "membership.json").write_text(json.dumps(asdict(results)) + "\n", "utf-8")
        (options.save / "membership.svg").write_text(picture(results), "utf-8")
    print(json.dumps(asdict(results)) if options.json else "\n".join(rows(results)))


def measure(folder: Path, epsilons: Sequence[float], models: int, examples: int) -> Report:
    """Trains and attacks at each epsilon; `folder` is for the bundles."""
    from benchmarks.privacy.trained_volunteer import Digits

    digits = Digits.load(2 * examples, SEED)
    members = halves(models, 2 * examples)
    results = [_measure_epsilon(epsilon, folder, digits, members) for epsilon in epsilons]
    return Report(models, examples, len(digits.rest), DELTA, results)


def _measure_epsilon(epsilon: float, folder: Path, digits: Digits, members: Members) -> EpsilonResult:
    from benchmarks.privacy.trained_volunteer import Volunteer, plain_plan, private_plan

    private = math.isfinite(epsilon)
    noise = noise_for(epsilon, PRIVATE_EPOCHS) if private else 0.0
    batch = int(members[0].sum()) if private else PLAIN_BATCH
    volunteer = Volunteer(folder / f"{epsilon:g}", digits, batch, private)
    began = time.process_time()
    scores, trained, held_out = np.empty(members.shape), [], []
    for model, mask in enumerate(members):
        plan = (
            private_plan(PRIVATE_EPOCHS, PRIVATE_RATE, model, CLIP, noise)
            if private
            else plain_plan(PLAIN_EPOCHS, PLAIN_RATE, model)
        )
        probabilities = volunteer.probabilities(volunteer.train(mask, plan))
        scores[model] = confidence(probabilities[digits.pool], digits.labels[digits.pool])
        correct = probabilities.argmax(axis=1) == digits.labels
        trained.append(float(correct[digits.pool][mask].mean()))
        held_out.append(float(correct[digits.rest].mean()))
        print(f"epsilon {epsilon:g}: {model + 1} of {len(members)} trained", file=sys.stderr, flush=True)
    return EpsilonResult(
        epsilon=epsilon if private else None,
        noise=noise,
        visits=PRIVATE_EPOCHS if private else PLAIN_EPOCHS,
        trained=estimate(trained),
        held_out=estimate(held_out),
        threshold=by_threshold(scores, members),
        likelihood=by_likelihood(scores, members),
        cpu_seconds=round(time.process_time() - began, 1),
    )


def halves(models: int, examples: int) -> Members:
    """Returns the members [models, examples]: each pair of models splits the examples at random."""
    generator = np.random.default_rng(SEED)
    members = np.zeros((models, examples), np.bool_)
    for pair in range(0, models, 2):
        order = generator.permutation(examples)
        members[pair, order[: examples // 2]] = True
        members[pair + 1] = ~members[pair]
    return members


def noise_for(epsilon: float, visits: int) -> float:
    """Returns the smallest multiplier, to three digits, for `visits` visits at `epsilon` and DELTA.

    Visits are Gaussian mechanisms without sampling: together they equal one mechanism whose noise is smaller
    by the square root of their number.
    """
    low, high = 0.1, 1000.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        is_enough = gaussian_epsilon(middle / math.sqrt(visits), DELTA) <= epsilon
        low, high = (low, middle) if is_enough else (middle, high)
    return math.ceil(1000 * high) / 1000


def rows(report: Report) -> list[str]:
    """Returns rows of a table in Markdown."""
    return [
        f"| {_name(one)} | {_percent(one.trained)} | {_percent(one.held_out)} | "
        f"{_share(one.threshold.auc)} | {_share(one.likelihood.auc)} | {_percent(one.likelihood.caught)} |"
        for one in report.found
    ]


def picture(report: Report) -> str:
    """Draws LiRA's curves: members found by false accusations, with one standard error around."""
    x = [100 * rate for rate in RATES]
    lines = [Line("guessing", x, x, x, x)]
    for one in report.found:
        curve = one.likelihood.curve
        low, high = ([100 * (at.mean + side * at.error) for at in curve] for side in (-1, 1))
        lines.append(Line(_name(one), x, [100 * at.mean for at in curve], low, high))
    return draw("Who was in the training data?", "others wrongly accused, %", "members found, %", lines)


def _name(result: EpsilonResult) -> str:
    return "no privacy" if result.epsilon is None else f"epsilon {result.epsilon:g}"


def _percent(value: Estimate) -> str:
    return f"{100 * value.mean:.1f} ± {100 * value.error:.1f} %"


def _share(value: Estimate) -> str:
    return f"{value.mean:.3f} ± {value.error:.3f}"


if __name__ == "__main__":
    main()
