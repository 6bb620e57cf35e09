"""Says from the measurements of a task's versions whether it learns, and what its owner can do. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

# Measured versions after which something is said at the earliest; for slow plans it is a share of the rounds.
MIN_VERSIONS, SHARE_OF_ROUNDS = 5, 0.25
# The newest measurements that all must be at chance.
NEWEST = 3
# Nothing is learned: an accuracy at most so much above chance, or a loss of at least this share of the first.
MARGIN, SAME_LOSS = 0.05, 0.95
# A held-out loss so much above the smallest one, while the training loss fell: overfitting.
WORSE = 1.1
# A loss that is smaller by less than this share is no progress.
BETTER = 0.99
# Measured versions without progress, at the earliest.
MIN_FLAT = 10


class LearningTrouble(StrEnum):
    """A way in which a training fails to learn."""

    CHANCE = "at-chance"
    OVERFITTING = "overfitting"
    FLAT = "no-better"


@dataclass(frozen=True)
class MeasuredVersion:
    """The held-out loss and accuracy of a version, and the loss of its clients; None where unknown."""

    version: int
    loss: float
    accuracy: float | None = None
    training_loss: float | None = None


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong with the training; `text` says so with numbers, and names remedies."""

    trouble: LearningTrouble
    text: str


def diagnose(curve: Sequence[MeasuredVersion], rounds: int, chance: float | None) -> Diagnosis | None:
    """Returns what is wrong after the measured versions `curve`, oldest first; None if it learns.

    `rounds` are those of the plan; `chance` is the share of the most frequent class, None where answers are
    no classes.
    """
    finite = [one for one in curve if math.isfinite(one.loss)]
    enough = max(MIN_VERSIONS, math.ceil(SHARE_OF_ROUNDS * rounds))
    if len(finite) < 2 or finite[-1].version - finite[0].version < enough or len(finite) <= MIN_VERSIONS:
        return None
    return _at_chance(finite, chance) or _overfitting(finite) or _flat(finite, enough)


def _at_chance(curve: Sequence[MeasuredVersion], chance: float | None) -> Diagnosis | None:
    first, last, newest = curve[0], curve[-1], curve[-NEWEST:]
    remedy = (
        "Stop it and start over with a smaller or larger learning rate or another model, and see whether the "
        "labels are right."
    )
    accuracies = [one.accuracy for one in newest]
    if chance is not None and last.accuracy is not None:
        if any(one is None or one > chance + MARGIN for one in accuracies):
            return None
        text = (
            f"After {last.version} versions {last.accuracy:.0%} of the held-out examples are right, and "
            f"guessing the most frequent class gives {chance:.0%}. {remedy}"
        )
        return Diagnosis(LearningTrouble.CHANCE, text)
    if any(one.loss < SAME_LOSS * first.loss for one in newest):
        return None
    text = (
        f"After {last.version} versions the held-out loss is {last.loss:.3g}, and it was {first.loss:.3g} "
        f"before the training. {remedy}"
    )
    return Diagnosis(LearningTrouble.CHANCE, text)


def _overfitting(curve: Sequence[MeasuredVersion]) -> Diagnosis | None:
    best, last = min(curve, key=lambda one: one.loss), curve[-1]
    since = [one for one in curve if one.version > best.version]
    if len(since) < MIN_VERSIONS or any(one.loss <= WORSE * best.loss for one in since[-NEWEST:]):
        return None
    if best.training_loss is None or last.training_loss is None or last.training_loss >= best.training_loss:
        return None
    text = (
        f"The model learns its examples by heart: since version {best.version} the held-out loss has risen "
        f"from {best.loss:.3g} to {last.loss:.3g}, while the training loss fell to {last.training_loss:.3g}. "
        f"Finish the training and use version {best.version}, or continue from it with fewer passes, a "
        "smaller learning rate or more examples."
    )
    return Diagnosis(LearningTrouble.OVERFITTING, text)


def _flat(curve: Sequence[MeasuredVersion], enough: int) -> Diagnosis | None:
    best = curve[0]
    for one in curve:
        best = one if one.loss < BETTER * best.loss else best
    since = [one for one in curve if one.version > best.version]
    if len(since) < max(MIN_FLAT, enough):
        return None
    text = (
        f"No version since {best.version} is better: its held-out loss was {best.loss:.3g}, and that of "
        f"version {curve[-1].version} is {curve[-1].loss:.3g}. Finish the training, or extend it with a "
        "smaller learning rate."
    )
    return Diagnosis(LearningTrouble.FLAT, text)
