"""Scores a model version from 0, no sign of a backdoor, to 1, strong signs, with reasons in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.numerics.integrity.class_drift import drift_among, drift_between
from backend.numerics.integrity.trigger_norms import TriggerOutlier, trigger_change, trigger_outlier
from backend.numerics.integrity.update_clusters import MIN_UPDATES, update_clusters

# A version with this score or more is suspect. Each part is scaled so that its own limit is there.
SUSPECT = 0.5
# Strength of the smallest trigger at the limit, chosen on models of other seeds than the reported ones
# (benchmarks/integrity), and how steeply the score rises around it: in logarithms.
TRIGGER_LIMIT, TRIGGER_WIDTH = 1.45, 0.12
# Standard deviations of a fall of recall at the limit: 1 of 10,000 classes falls so far by chance.
DRIFT_LIMIT, DRIFT_WIDTH = 4.0, 0.75
# A class that is hard by nature looks like one that was attacked, so this alone never makes a suspect.
AMONG_LIMIT, AMONG_WIDTH, AMONG_MOST = 5.0, 1.0, 0.4
# Mean silhouette of the smaller cluster of updates at the limit. Volunteers with different classes form
# clusters, too, but looser ones.
CLUSTER_LIMIT, CLUSTER_WIDTH = 0.5, 0.08


@dataclass(frozen=True)
class IntegrityPart:
    """A part of the score. `score` is None where it could not be measured; `reason` says what was seen."""

    name: str
    score: float | None
    reason: str


@dataclass(frozen=True)
class IntegrityScore:
    """The largest score of the parts, and whether it reaches SUSPECT; None without a measured part."""

    score: float | None
    suspect: bool
    parts: tuple[IntegrityPart, ...]


def combined_score(parts: Sequence[IntegrityPart]) -> IntegrityScore:
    """Combines the parts: one strong sign is enough, and parts that see nothing do not outvote it."""
    measured = [part.score for part in parts if part.score is not None]
    score = max(measured, default=None)
    return IntegrityScore(score, score is not None and score >= SUSPECT, tuple(parts))


def trigger_part(norms: Sequence[float], before: Sequence[float] | None = None) -> IntegrityPart:
    """Scores the smallest triggers [classes], and their change since the norms `before`, if given.

    Raises ValueError as `trigger_outlier`.
    """
    found = trigger_outlier(norms)
    score = _rising(math.log(found.strength), math.log(TRIGGER_LIMIT), TRIGGER_WIDTH)
    part = IntegrityPart("trigger", score, _trigger_words(found, score))
    if before is None:
        return part
    change = trigger_change(before, norms)
    changed = _rising(math.log(change.strength), math.log(TRIGGER_LIMIT), TRIGGER_WIDTH)
    if changed <= score:
        return part
    words = (
        f"Since the other version, the smallest trigger of class {change.target} shrank {change.ratio:.2g} "
        f"times as much as that of the median class. {_judged(changed)}"
    )
    return IntegrityPart("trigger", changed, words)


def drift_part(confusion: NDArray[np.int64], before: NDArray[np.int64] | None = None) -> IntegrityPart:
    """Scores the confusion matrix [true class, answer] on held-out examples.

    With the matrix `before` of another version on the same examples it scores the fall of a class, otherwise
    the difference of a class from the others, which is weak evidence. Raises ValueError as `drift_between`.
    """
    if before is None:
        among = drift_among(confusion)
        score = AMONG_MOST * _rising(among.deviations, AMONG_LIMIT, AMONG_WIDTH)
        words = (
            f"Class {among.worst} is recognised least: {100 * among.loss:.1f} points below the median class, "
            f"most often taken for class {among.answered}. Without another version to compare with, this is "
            "weak evidence."
        )
        return IntegrityPart("drift", score, words)
    drift = drift_between(before, confusion)
    score = _rising(drift.deviations, DRIFT_LIMIT, DRIFT_WIDTH)
    words = (
        f"Since the other version, class {drift.worst} changed most: {100 * drift.loss:.1f} points of recall "
        f"lost beyond the median class ({drift.deviations:.1f} standard deviations), mostly to class "
        f"{drift.answered}. {_judged(score)}"
    )
    return IntegrityPart("drift", score, words)


def updates_part(updates: NDArray[np.float32]) -> IntegrityPart:
    """Scores the updates [n, parameters] that went into a version. Raises ValueError for NaN or infinity."""
    if len(updates) < MIN_UPDATES:
        return IntegrityPart(
            "updates", None, f"{len(updates)} updates are too few: {MIN_UPDATES} are needed."
        )
    found = update_clusters(updates)
    score = _rising(found.separation, CLUSTER_LIMIT, CLUSTER_WIDTH)
    members = ", ".join(str(one) for one in found.members[:20])
    words = (
        f"{len(found.members)} of {len(updates)} updates point elsewhere than the others: numbers {members} "
        f"(silhouette {found.separation:.2f}). {_judged(score)}"
    )
    return IntegrityPart("updates", score, words)


def _trigger_words(found: TriggerOutlier, score: float) -> str:
    return (
        f"The smallest trigger that turns all examples into class {found.target} is {found.ratio:.2g} times "
        f"smaller than that of the median class, and {found.lead:.2g} times smaller than the next (anomaly "
        f"index {found.anomaly_index:.1f}). {_judged(score)}"
    )


def _judged(score: float) -> str:
    return "This is a sign of a backdoor." if score >= SUSPECT else "This is usual."


def _rising(value: float, limit: float, width: float) -> float:
    """Returns a number in (0, 1) that rises with `value` and is SUSPECT at `limit`."""
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, (value - limit) / width))))
