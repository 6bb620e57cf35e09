"""Checks versions of federated trainings, clean and with a model-replacement backdoor.

Usage: python -m benchmarks.integrity.trainings TASK [--clean N] [--attacked N] [--alpha A] [--rounds R]
                                                     [--clients C]

TASK is a built task file, such as models/digits/task.toml. C clients train R rounds on examples that are
skewed by Dirichlet's A. Clean trainings are checked every fifth version. In the others, one client replaces
the model by one with a trigger in the last round. Prints a line of JSON for each checked version, then the
counts.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import convert

from backend.formats.manifest import KERAS_FILE
from backend.numerics.integrity.verdict import verdict_on
from backend.server.sandbox.integrity import IntegrityMeasurement, score_integrity
from benchmarks.support.training_run import ONE_CORE

if TYPE_CHECKING:
    from backend.lab.robustness.attacked_training import AttackedTraining, RobustnessLab
    from backend.numerics.vectors import Vector

EVERY, LIMIT = 5, 0.5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.integrity.trainings", description=__doc__)
    parser.add_argument("task", type=Path, help="the task file, which is built")
    parser.add_argument("--clean", type=int, default=4, help="trainings that nobody attacks")
    parser.add_argument("--attacked", type=int, default=2, help="trainings with a backdoor in the last round")
    parser.add_argument("--alpha", type=float, default=0.3, help="skew of the classes (Dirichlet)")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--clients", type=int, default=10)
    options = parser.parse_args()
    # TensorFlow reads these variables at import.
    os.environ |= ONE_CORE
    from backend.lab.robustness.attacked_training import RobustnessLab
    from backend.lab.robustness.robustness_task import open_robustness_task

    lab = RobustnessLab(open_robustness_task(options.task))
    counts: Counter[str] = Counter()
    for seed in range(options.clean):
        for row in clean_training(lab, options, seed):
            counts[f"clean {row['outcome']}"] += 1
            print(json.dumps({"training": seed, "attacked": False, **row}), flush=True)
    for seed in range(options.attacked):
        for row in attacked_training(lab, options, seed):
            counts[f"{row['version']} {row['outcome']}"] += 1
            print(json.dumps({"training": seed, "attacked": True, **row}), flush=True)
    print(json.dumps(counts))


def clean_training(lab: RobustnessLab, options: argparse.Namespace, seed: int) -> list[dict[str, Any]]:
    """Trains without attackers; returns the verdicts on every fifth version and the first."""
    training, before = _training(lab, options, seed), None
    rows: list[dict[str, Any]] = []
    for number, outcome in enumerate(training.run(options.rounds), 1):
        if number % EVERY == 0 or number == 1:
            measured = _measured(lab, options, training.weights)
            rows.append({"version": number, "accuracy": outcome.accuracy, **judged(measured, before)})
            # As a server does: the last version that passed is the one to compare with.
            before = measured if rows[-1]["outcome"] == "passed" else before
    return rows


def attacked_training(lab: RobustnessLab, options: argparse.Namespace, seed: int) -> list[dict[str, Any]]:
    """Trains without attackers up to the last round, in which one client replaces the model."""
    from backend.lab.attacks.blind_attacks import scaled
    from backend.lab.attacks.data_attacks import trigger_backdoor
    from backend.lab.robustness.attack_plan import AttackPlan
    from backend.lab.robustness.attacked_training import AttackedTraining

    clean = _training(lab, options, seed)
    for _ in clean.run(options.rounds - 1):
        pass
    parts = lab.task.split(options.clients, options.alpha, seed)
    # Each update weighs as its client's examples, so that the mean becomes the attacker's model.
    boost = scaled(sum(len(part) for part in parts) / len(parts[0]))
    plan = AttackPlan("replacement", trigger_backdoor(lab.task.classes, seed=seed), boost)
    attacked = AttackedTraining(lab, parts, 1, plan, None, seed)
    attacked.weights = clean.weights
    before = _measured(lab, options, clean.weights)
    outcome = attacked.round(options.rounds - 1)
    figures = {"accuracy": outcome.accuracy, "backdoor": outcome.backdoor}
    return [
        {"version": "before", **judged(before, None)},
        {"version": "replaced", **figures, **judged(_measured(lab, options, attacked.weights), before)},
    ]


def _training(lab: RobustnessLab, options: argparse.Namespace, seed: int) -> AttackedTraining:
    from backend.lab.robustness.attack_plan import AttackPlan
    from backend.lab.robustness.attacked_training import AttackedTraining

    parts = lab.task.split(options.clients, options.alpha, seed)
    return AttackedTraining(lab, parts, 0, AttackPlan("none"), None, seed)


def _measured(lab: RobustnessLab, options: argparse.Namespace, weights: Vector) -> IntegrityMeasurement:
    from converter.export.model_version import load_version
    from converter.integrity.__main__ import measure
    from converter.sandbox.process_limits import Limits

    model = options.task.parent / lab.task.file.model.bundle / KERAS_FILE
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        weights.astype("<f4").tofile(file.name)
        loaded = load_version(model, Path(file.name), Limits())
    held = lab.task.held_out
    return convert(measure(loaded, {"x_0": held.x[0], "y_0": held.y[0]}), IntegrityMeasurement)


def judged(measured: IntegrityMeasurement, before: IntegrityMeasurement | None) -> dict[str, Any]:
    """Judges by the trigger alone, and adds what the other ways would have said."""
    alone, against = score_integrity(measured), score_integrity(measured, before)
    first = (measured.norms, measured.counts) if before is None else ()
    verdict = verdict_on(alone.parts[:1], LIMIT, *first)
    return {
        "outcome": verdict.outcome,
        "trigger": alone.parts[0].score,
        "trigger_against": against.parts[0].score,
        "drift": against.parts[1].score if before else None,
        "norms": measured.norms,
        "parts": [asdict(part) for part in verdict.parts],
    }


if __name__ == "__main__":
    main()
