"""Checks versions of federated trainings as a server does: clean ones, and ones with a backdoor.

Usage: python -m benchmarks.integrity.trainings TASK [--clean N] [--attacked N] [--attack NAME] [--even]
                                                     [--rounds R] [--clients C] [--attackers F] [--first N]

TASK is a built task file, such as models/digits/task.toml. C clients train R rounds on examples that are
skewed by Dirichlet's alpha, or even. Every fifth version is checked, and the first; those that a minority of
the updates brings forward, too. NAME is `model-replacement`, by one client in the last round, or
`trigger-backdoor` or `edge-case-backdoor`, by F clients in the second half of the rounds. Seeds count from
--first. Prints a line of JSON for each checked version, then the counts.
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
from backend.formats.task_file import IntegrityTable
from backend.numerics.integrity.update_trend import WIDTH
from backend.server.sandbox.integrity import IntegrityMeasurement
from benchmarks.integrity.checked_history import CheckedHistory
from benchmarks.support.training_run import ONE_CORE

if TYPE_CHECKING:
    from backend.lab.robustness.attack_plan import AttackPlan
    from backend.lab.robustness.attacked_training import AttackedTraining, RobustnessLab
    from backend.numerics.vectors import Vector

PLAN = IntegrityTable(every=5)
REPLACEMENT = "model-replacement"
ATTACKS = (REPLACEMENT, "trigger-backdoor", "edge-case-backdoor")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.integrity.trainings", description=__doc__)
    parser.add_argument("task", type=Path, help="the task file, which is built")
    parser.add_argument("--clean", type=int, default=4, help="trainings that nobody attacks")
    parser.add_argument("--attacked", type=int, default=2, help="trainings with a backdoor")
    parser.add_argument("--attack", choices=ATTACKS, default=REPLACEMENT)
    parser.add_argument("--alpha", type=float, default=0.3, help="skew of the classes (Dirichlet)")
    parser.add_argument("--even", action="store_true", help="an even split in place of the skewed one")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--attackers", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    # TensorFlow reads these variables at import.
    os.environ |= ONE_CORE
    from backend.lab.robustness.attacked_training import RobustnessLab
    from backend.lab.robustness.robustness_task import open_robustness_task

    lab = RobustnessLab(open_robustness_task(options.task))
    counts: Counter[str] = Counter()
    trainings = [(False, one) for one in range(options.clean)] + [
        (True, one) for one in range(options.attacked)
    ]
    for attacked, number in trainings:
        seed = options.first + number
        for row in checked_training(lab, options, seed, options.attack if attacked else "none"):
            counts[f"{row['attack']} {row['version']} {row['outcome']}"] += 1
            print(json.dumps({"training": seed, **row}), flush=True)
    print(json.dumps(counts))


def checked_training(
    lab: RobustnessLab, options: argparse.Namespace, seed: int, attack: str
) -> list[dict[str, Any]]:
    """Trains, with the attack in the second half of the rounds, or the last; returns the verdicts."""
    from backend.lab.robustness.attack_plan import AttackPlan, plan_attack
    from backend.numerics.reputation.update_sketch import UpdateSketcher

    plan = AttackPlan("none") if attack in ("none", REPLACEMENT) else plan_attack(attack, lab.task, seed)
    before = AttackPlan("none", rare=plan.rare)
    first = {"none": options.rounds, REPLACEMENT: options.rounds - 1}.get(attack, options.rounds // 2)
    sketcher = UpdateSketcher(len(lab.task.weights), seed, WIDTH)
    history = CheckedHistory(PLAN, sketcher.sketch, lambda weights: _measured(lab, options, weights))
    training = _training(lab, options, seed, before, 0)
    rows: list[dict[str, Any]] = []
    for number in range(options.rounds):
        if number == first:
            weights = training.weights
            training = (
                _replacement(lab, options, seed)
                if attack == REPLACEMENT
                else _training(lab, options, seed, plan, options.attackers)
            )
            training.weights = weights
        training.received = history.sent
        outcome = training.round(number)
        version, under = number + 1, attack if number >= first else "none"
        is_due = version == 1 or version % PLAN.every == 0
        if (verdict := history.checked(version, training.weights, is_due)) is not None:
            figures = {"accuracy": outcome.accuracy, "backdoor": outcome.backdoor}
            rows.append({"attack": under, "version": version, **figures, **asdict(verdict)})
            rows[-1] |= {"pushed": history.is_pushed, "strength": history.strength}
    return rows


def _training(
    lab: RobustnessLab, options: argparse.Namespace, seed: int, plan: AttackPlan, attackers: int
) -> AttackedTraining:
    from backend.lab.robustness.attacked_training import AttackedTraining

    parts = lab.task.split(options.clients, None if options.even else options.alpha, seed)
    return AttackedTraining(lab, parts, attackers, plan, None, seed)


def _replacement(lab: RobustnessLab, options: argparse.Namespace, seed: int) -> AttackedTraining:
    """Returns a training in which one client replaces the model."""
    from backend.lab.attacks.blind_attacks import scaled
    from backend.lab.attacks.data_attacks import trigger_backdoor
    from backend.lab.robustness.attack_plan import AttackPlan

    parts = lab.task.split(options.clients, None if options.even else options.alpha, seed)
    # Each update weighs as its client's examples, so that the mean becomes the attacker's model.
    boost = scaled(sum(len(part) for part in parts) / len(parts[0]))
    return _training(
        lab, options, seed, AttackPlan(REPLACEMENT, trigger_backdoor(lab.task.classes, seed=seed), boost), 1
    )


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


if __name__ == "__main__":
    main()
