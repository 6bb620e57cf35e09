"""How well the integrity score tells backdoored models from clean ones.

Usage: python -m benchmarks.integrity [--task digits|cifar10] [--models N] [--json]

Trains N clean models and N with a trigger of a few pixels, each with another seed, target and place of the
trigger, and prints the area under the ROC curve (AUC) of their scores. Blended triggers and edge cases are
reported beside them, with the AUC against the same clean models, and clusters of the updates of single
rounds with and without attackers. The threshold of the shares of models that are called suspect is chosen on
models of other seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import convert

from backend.lab.attacks.picture_backdoors import BLENDED, EDGE, PATCHES
from backend.numerics.integrity.integrity_score import CLUSTER_LIMIT, SUSPECT
from backend.server.sandbox.integrity import IntegrityMeasurement, score_integrity
from benchmarks.support.training_run import ONE_CORE

if TYPE_CHECKING:
    from benchmarks.integrity.models import Pool, Trained
    from benchmarks.integrity.rounds import ClusteredRound

# First seeds of the reported models and of those that choose the threshold.
REPORTED, CALIBRATION = 1000, 5000


@dataclass(frozen=True)
class Scored:
    """A model and its score. `found` is whether the class of its smallest trigger is the target."""

    kind: str
    seed: int
    target: int | None
    accuracy: float
    attack_success: float | None
    score: float
    found: bool | None
    score_against_before: float | None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.integrity", description=__doc__)
    parser.add_argument("--task", choices=("digits", "cifar10"), default="digits")
    parser.add_argument("--models", type=int, default=20, help="clean ones, and as many with triggers")
    parser.add_argument("--calibration", type=int, default=6, help="of each kind, to choose the threshold")
    parser.add_argument("--others", type=int, default=6, help="blended ones, and edge cases")
    parser.add_argument("--rounds", type=int, default=3, help="of which the updates are clustered")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    # TensorFlow reads these variables at import.
    os.environ |= ONE_CORE
    from benchmarks.integrity.models import load_pool
    from benchmarks.integrity.rounds import clustered_rounds

    pool = load_pool(options.task)
    calibration = scored_models(pool, _plan(options.calibration, CALIBRATION))
    models = scored_models(pool, _plan(options.models, REPORTED))
    others = [(kind, REPORTED + 500 + one) for kind in (BLENDED, EDGE) for one in range(options.others)]
    models += scored_models(pool, others)
    rounds = [one for seed in range(options.rounds) for one in clustered_rounds(pool, REPORTED + seed)]
    result = summary(models, calibration) | {"task": options.task, "updates": rounds_summary(rounds)}
    if options.json:
        details = {"models": [asdict(one) for one in models], "rounds": [asdict(one) for one in rounds]}
        print(json.dumps(result | details))
    else:
        print("\n".join(f"{name}: {value}" for name, value in result.items()))


def _plan(count: int, seed: int) -> list[tuple[str, int]]:
    """Returns kinds and seeds of `count` clean models and `count` with triggers."""
    clean = [("clean", seed + one) for one in range(count)]
    return clean + [(PATCHES[one % len(PATCHES)], seed + 200 + one) for one in range(count)]


def scored_models(pool: Pool, plan: list[tuple[str, int]]) -> list[Scored]:
    """Trains and scores the models of the plan, one after another; reports each on standard error."""
    from benchmarks.integrity.models import train_model

    results = []
    for kind, seed in plan:
        results.append(_scored(train_model(pool, kind, seed)))
        print(json.dumps(asdict(results[-1])), file=sys.stderr, flush=True)
    return results


def _scored(model: Trained) -> Scored:
    measured = convert(model.report, IntegrityMeasurement)
    alone = score_integrity(measured).score
    before = None
    if model.before is not None:
        before = score_integrity(measured, convert(model.before, IntegrityMeasurement)).score
    assert alone is not None
    found = None if model.target is None else int(np.argmin(model.report["norms"])) == model.target
    return Scored(
        model.kind,
        model.seed,
        model.target,
        round(model.accuracy, 4),
        None if model.attack_success is None else round(model.attack_success, 4),
        round(alone, 4),
        found,
        None if before is None else round(before, 4),
    )


def summary(models: list[Scored], calibration: list[Scored]) -> dict[str, Any]:
    """Returns the figures: AUC by kind, and shares that are called suspect."""
    clean, triggers = of_kinds(models, "clean"), of_kinds(models, *PATCHES)
    threshold = chosen_threshold(
        [one.score for one in of_kinds(calibration, "clean")],
        [one.score for one in of_kinds(calibration, *PATCHES)],
    )
    result: dict[str, Any] = {
        "clean": len(clean),
        "backdoored": len(triggers),
        "auc": auc(clean, triggers),
        "threshold": threshold,
        "detected": share(triggers, threshold),
        "false_alarms": share(clean, threshold),
        "built_in_threshold": SUSPECT,
        "detected_built_in": share(triggers, SUSPECT),
        "false_alarms_built_in": share(clean, SUSPECT),
        "target_found": mean([one.found for one in triggers]),
        "accuracy_clean": mean([one.accuracy for one in clean]),
        "accuracy_backdoored": mean([one.accuracy for one in triggers]),
        "attack_success_least": min((one.attack_success or 0.0 for one in triggers), default=None),
    }
    for kind in (BLENDED, EDGE):
        some = of_kinds(models, kind)
        if not some:
            continue
        result[kind] = {
            "models": len(some),
            "auc": auc(clean, some),
            "detected": share(some, threshold),
            "attack_success": mean([one.attack_success for one in some]),
        }
        against = [one.score_against_before for one in some if one.score_against_before is not None]
        if against:
            result[kind]["detected_against_before"] = mean([score >= SUSPECT for score in against])
    return result


def rounds_summary(rounds: list[ClusteredRound]) -> list[dict[str, Any]]:
    """Returns for each kind of round the range of separations and the shares that are apart or right."""
    rows = []
    for skewed, attackers in sorted({(one.skewed, one.attackers) for one in rounds}):
        some = [one for one in rounds if (one.skewed, one.attackers) == (skewed, attackers)]
        row: dict[str, Any] = {"skewed": skewed, "attackers": attackers, "rounds": len(some)}
        separations = [one.separation for one in some]
        row |= {"least": min(separations), "most": max(separations)}
        rows.append(row | {"apart": mean([one.separation >= CLUSTER_LIMIT for one in some])})
        if attackers:
            rows[-1]["attackers_found"] = mean([one.right for one in some])
    return rows


def of_kinds(models: list[Scored], *kinds: str) -> list[Scored]:
    """Returns the models of these kinds."""
    return [one for one in models if one.kind in kinds]


def auc(clean: list[Scored], backdoored: list[Scored]) -> float | None:
    """Returns how often a backdoored model scores above a clean one; equal scores count half."""
    pairs = [
        1.0 if bad.score > good.score else 0.5 if bad.score == good.score else 0.0
        for bad in backdoored
        for good in clean
    ]
    return mean(pairs)


def chosen_threshold(clean: list[float], backdoored: list[float]) -> float:
    """Returns the middle of the cut with the fewest errors; of equal ones, of the widest."""
    values = sorted({*clean, *backdoored})
    cuts = [
        (sum(one >= high for one in clean) + sum(one < high for one in backdoored), low - high, low, high)
        for low, high in pairwise(values)
    ]
    if not cuts:
        return SUSPECT
    _, _, low, high = min(cuts)
    return round((low + high) / 2.0, 4)


def share(models: list[Scored], threshold: float) -> float | None:
    """Returns the share of models with that score or more."""
    return mean([one.score >= threshold for one in models])


def mean(values: Any) -> float | None:
    """Returns the mean of the values that are not None, to 4 digits; None without any."""
    given = [float(value) for value in values if value is not None]
    return round(sum(given) / len(given), 4) if given else None


if __name__ == "__main__":
    main()
