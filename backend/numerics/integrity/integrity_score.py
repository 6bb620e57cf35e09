"""Scores a model version from 0, no sign of a backdoor, to 1, strong signs, with reasons in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.numerics.integrity.class_drift import (
    FALSE_ALARMS,
    ClassChange,
    changes_between,
    drift_among,
    known_classes,
)
from backend.numerics.integrity.trigger_norms import TriggerOutlier, trigger_change, trigger_outlier
from backend.numerics.integrity.update_clusters import MIN_UPDATES, update_clusters
from backend.numerics.integrity.update_trend import UpdateTrend

# A version with this score or more is suspect. Each part is scaled so that its own limit is there.
SUSPECT = 0.5
# Strength of the smallest trigger at the limit, chosen on models of other seeds than the reported ones
# (benchmarks/integrity), and how steeply the score rises around it: in logarithms.
TRIGGER_LIMIT, TRIGGER_WIDTH = 1.45, 0.12
# How steeply the score of a change of a class rises around FALSE_ALARMS, in decimal logarithms of its chance.
DRIFT_WIDTH = 0.5
# So many changes of classes are named in a reason, and so much of a class's name.
MOST_CHANGES, MOST_LETTERS = 3, 40
# A class that is hard by nature looks like one that was attacked, so this alone never makes a suspect.
AMONG_LIMIT, AMONG_WIDTH, AMONG_MOST = 5.0, 1.0, 0.4
# How far a minority of the updates stands apart at the limit: in one round, and in several, where it also has
# to point in one direction. Volunteers with different classes form clusters, too, so this alone never makes a
# suspect.
CLUSTER_LIMIT, CLUSTER_WIDTH, CLUSTER_MOST = 0.5, 0.08, 0.4
TREND_LIMIT, TREND_WIDTH = 0.36, 0.05


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


def trigger_part(
    norms: Sequence[float], before: Sequence[float] | None = None, names: Sequence[str] = ()
) -> IntegrityPart:
    """Scores the smallest triggers [classes], and their change since the norms `before`, if given.

    `names` are those of the classes, for the reason. Raises ValueError as `trigger_outlier`.
    """
    found = trigger_outlier(norms)
    score = _rising(math.log(found.strength), math.log(TRIGGER_LIMIT), TRIGGER_WIDTH)
    part = IntegrityPart("trigger", score, _trigger_words(found, score, names))
    if before is None:
        return part
    change = trigger_change(before, norms)
    changed = _rising(math.log(change.strength), math.log(TRIGGER_LIMIT), TRIGGER_WIDTH)
    if changed <= score:
        return part
    words = (
        f"Since the other version, the smallest trigger of {class_words(change.target, names)} shrank "
        f"{change.ratio:.2g} times as much as that of the median class. {_judged(changed)}"
    )
    return IntegrityPart("trigger", changed, words)


def drift_part(
    confusion: NDArray[np.int64],
    before: NDArray[np.int64] | None = None,
    names: Sequence[str] = (),
    is_cleared: bool = False,
) -> IntegrityPart:
    """Scores the confusion matrix [true class, answer] on held-out examples.

    With the matrix `before` of another version on the same examples it scores the changes of classes,
    otherwise the difference of a class from the others, which is weak evidence. So it does where no check
    cleared the other version (`is_cleared`) and that does not know all classes: it may be untrained. `names`
    are those of the classes, for the reason. Raises ValueError as `changes_between`.
    """
    changes = [] if before is None else changes_between(before, confusion)
    if before is None or not (is_cleared or _knows_all(before)):
        among = drift_among(confusion)
        score = AMONG_MOST * _rising(among.deviations, AMONG_LIMIT, AMONG_WIDTH)
        words = (
            f"Least recognised is {class_words(among.worst, names)}: {100 * among.loss:.1f} points below the "
            f"median class, most often taken for {class_words(among.answered, names)}. Without another "
            "version that is good enough to compare with, this is weak evidence."
        )
        return IntegrityPart("drift", score, words)
    score = _rising(-math.log10(max(changes[0].chance, 1e-300)), -math.log10(FALSE_ALARMS), DRIFT_WIDTH)
    shown = [change for change in changes[:MOST_CHANGES] if change.chance <= FALSE_ALARMS] or changes[:1]
    words = " ".join(_change_words(change, names) for change in shown)
    return IntegrityPart("drift", score, f"Since the other version: {words} {_judged(score)}")


def class_words(number: int, names: Sequence[str]) -> str:
    """Returns a class in words, with its name if it has one: `class 3 (cat)`."""
    name = names[number].strip() if number < len(names) else ""
    return f"class {number}" + (f" ({name[:MOST_LETTERS]})" if name not in ("", str(number)) else "")


def updates_part(updates: NDArray[np.float32]) -> IntegrityPart:
    """Scores the updates [n, parameters] that went into a version. Raises ValueError for NaN or infinity."""
    if len(updates) < MIN_UPDATES:
        return IntegrityPart(
            "updates", None, f"{len(updates)} updates are too few: {MIN_UPDATES} are needed."
        )
    found = update_clusters(updates)
    if not found.members:
        return IntegrityPart("updates", 0.0, f"No minority of the {len(updates)} updates points elsewhere.")
    members = ", ".join(str(one) for one in found.members[:20])
    words = (
        f"{len(found.members)} of {len(updates)} updates point elsewhere than the others: numbers {members} "
        f"(silhouette {found.separation:.2f}). {_weighed(found.separation >= CLUSTER_LIMIT)}"
    )
    score = CLUSTER_MOST * _rising(found.separation, CLUSTER_LIMIT, CLUSTER_WIDTH)
    return IntegrityPart("updates", score, words)


def trend_part(trend: UpdateTrend) -> IntegrityPart:
    """Scores what the updates of the last rounds have in common; below SUSPECT, whatever it is."""
    words = (
        f"In the last {trend.rounds} rounds, {trend.members} of {trend.updates} updates were in a minority "
        f"that points elsewhere than the others (silhouette {trend.separation:.2f}), in one direction to "
        f"{trend.consistency:.2f} (cosine between rounds). {_weighed(is_pushing(trend))}"
    )
    return IntegrityPart("updates", CLUSTER_MOST * _rising(trend.strength, TREND_LIMIT, TREND_WIDTH), words)


def is_pushing(trend: UpdateTrend) -> bool:
    """Whether a minority of the updates pushes in a direction of its own, round after round."""
    return trend.strength >= TREND_LIMIT


def _trigger_words(found: TriggerOutlier, score: float, names: Sequence[str]) -> str:
    return (
        f"The smallest trigger that turns all examples into {class_words(found.target, names)} is "
        f"{found.ratio:.2g} times smaller than that of the median class, and {found.lead:.2g} times smaller "
        f"than the next (anomaly index {found.anomaly_index:.1f}). {_judged(score)}"
    )


def _change_words(change: ClassChange, names: Sequence[str]) -> str:
    own, other = class_words(change.number, names), class_words(change.other, names)
    if change.kind == "fall":
        first, last = (_percent(change.examples - n, change.examples) for n in (change.before, change.after))
        what = (
            f"{own} is recognised in {last} of its {change.examples} held-out examples, before in {first}; "
            f"most of those lost are taken for {other}."
        )
    else:
        first, last = (_percent(one, change.examples) for one in (change.before, change.after))
        right = " and ".join("none" if one is None else f"{100 * one:.0f} %" for one in change.precision)
        what = (
            f"{last} of the {change.examples} held-out examples of other classes are taken for {own}, before "
            f"{first}, most of them of {other}; of its answers {right} were right before and now."
        )
    if change.chance > FALSE_ALARMS:
        return f"{what} Chance explains it."
    return f"{what} Chance alone does so in at most {100 * change.chance:.1g} % of checks."


def _percent(count: int, of: int) -> str:
    return f"{100 * count / max(of, 1):.1f} %"


def _judged(score: float) -> str:
    return "This is a sign of a backdoor." if score >= SUSPECT else "This is usual."


def _knows_all(confusion: NDArray[np.int64]) -> bool:
    return bool(known_classes(confusion)[confusion.sum(axis=1) > 0].all())


def _weighed(is_found: bool) -> str:
    if not is_found:
        return "This is usual."
    return "Attackers do so, and honest clients with rare classes: a reason to look at the other parts."


def _rising(value: float, limit: float, width: float) -> float:
    """Returns a number in (0, 1) that rises with `value` and is SUSPECT at `limit`."""
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, (value - limit) / width))))
