"""Finds the classes that a version answers worse than before, or one worse than its other classes.

Two versions answer the same held-out examples. Of each class two shares are compared: that of its own
examples which are missed, and that of the other classes' examples which are taken for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.numerics.integrity.trigger_norms import MAD_SCALE
from backend.numerics.vectors import Vector64

Counts: TypeAlias = NDArray[np.int64]
Kind: TypeAlias = Literal["fall", "rise"]

# Two versions that differ by nothing but chance raise an alarm in this share of checks, at most.
FALSE_ALARMS = 0.01
# A class is known to a version that recognises this share of its examples, and whose answers with this class
# are right as often.
KNOWN = 0.5
# Differences of recall below this are usual between classes.
_USUAL_SPREAD = 0.05
# With fewer classes, the spread of their changes is not known.
_MIN_CLASSES = 5
# Of the spread of all classes' changes that chance does not explain, so much is usual.
_SPREADS = 3.0


@dataclass(frozen=True)
class ClassDrift:
    """The class with the lowest recall; `loss` is what it lacks, `deviations` the size of that.

    `answered` is the class that takes most of its examples instead.
    """

    worst: int
    loss: float
    deviations: float
    answered: int


@dataclass(frozen=True)
class ClassChange:
    """A class that is missed more often than before (`fall`), or answered more often for others (`rise`).

    Of `examples` there were `before` and `after` such answers. `chance` bounds the share of checks in which
    chance alone makes such a change of any class. `other` is the class that takes most of the examples of one
    that fell, or loses most to one that rose. `precision` is the share of right ones among the answers with
    this class, before and after; None without such an answer.
    """

    kind: Kind
    number: int
    before: int
    after: int
    examples: int
    chance: float
    other: int
    precision: tuple[float | None, float | None]


def changes_between(before: Counts, after: Counts) -> list[ClassChange]:
    """Compares two versions by their confusion matrices [true class, answer]; the least likely change first.

    Fisher's exact test of each of the two shares of each class (Fisher 1934, section 21.02), corrected for
    the number of tests by Bonferroni's inequality. It is exact for other examples for each version; that
    both answer the same ones only makes differences by chance smaller. Before the test, what all classes have
    in common is taken off: the median change, and _SPREADS times that part of their spread (scaled median
    absolute deviation, from _MIN_CLASSES classes on) which chance does not explain. The fall of a class is
    tested only if the earlier version knew it (KNOWN): one that answers it always recognises it, too.

    Raises ValueError for matrices of different shapes or examples, or without examples.
    """
    sizes = _checked(before, after)
    others = sizes.sum() - sizes
    missed = (before.sum(axis=1) - before.diagonal(), after.sum(axis=1) - after.diagonal())
    taken = (before.sum(axis=0) - before.diagonal(), after.sum(axis=0) - after.diagonal())
    falls = _chances(missed[0], missed[1], sizes, known_classes(before))
    rises = _chances(taken[0], taken[1], others, others > 0)
    tests = len(falls) + len(rises)
    moved = after - before
    np.fill_diagonal(moved, np.iinfo(np.int64).min)

    def change(kind: Kind, number: int, chance: float) -> ClassChange:
        shares, of, gains = (missed, sizes, moved) if kind == "fall" else (taken, others, moved.T)
        figures = int(shares[0][number]), int(shares[1][number]), int(of[number])
        precision = _precision(before, number), _precision(after, number)
        other = int(gains[number].argmax())
        return ClassChange(kind, number, *figures, min(1.0, chance * tests), other, precision)

    changes = [change("fall", *one) for one in falls.items()]
    changes += [change("rise", *one) for one in rises.items()]
    return sorted(changes, key=lambda one: one.chance)


def drift_among(confusion: Counts) -> ClassDrift:
    """Compares the classes of one version with each other by its confusion matrix [true class, answer].

    The loss of a class is the median recall less its own, in scaled median absolute deviations (at least
    _USUAL_SPREAD and the standard error of its recall). Raises ValueError without examples.
    """
    _check(confusion)
    counts = confusion.sum(axis=1)
    recalls = confusion.diagonal() / np.maximum(counts, 1)
    middle = float(np.median(recalls[counts > 0]))
    spread = MAD_SCALE * float(np.median(np.abs(recalls[counts > 0] - middle)))
    errors = np.sqrt(np.maximum(middle * (1.0 - middle), 0.0) / np.maximum(counts, 1))
    sizes = np.where(counts > 0, (middle - recalls) / np.maximum(errors, max(spread, _USUAL_SPREAD)), -np.inf)
    worst = int(sizes.argmax())
    others = confusion[worst].copy()
    others[worst] = -1
    return ClassDrift(worst, middle - float(recalls[worst]), float(sizes[worst]), int(others.argmax()))


def known_classes(confusion: Counts) -> NDArray[np.bool_]:
    """Returns which classes a version knows [classes] (see KNOWN), of those with examples."""
    right, sizes, answers = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
    known: NDArray[np.bool_] = (sizes > 0) & (right >= KNOWN * sizes) & (right >= KNOWN * answers)
    return known


def chance_of(before: int, after: int, examples: int) -> float:
    """Returns the probability of `after` events or more among `examples`, by Fisher's exact test.

    Given are as many examples with `before` events, and that events are equally likely in both.
    """
    total = before + after
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 2 * examples + 1)))])

    def ways(of: int, some: NDArray[np.int64]) -> Vector64:
        chosen: Vector64 = logs[of] - logs[some] - logs[of - some]
        return chosen

    later = np.arange(after, min(total, examples) + 1)
    terms = ways(examples, later) + ways(examples, total - later)
    return float(min(1.0, np.exp(terms - ways(2 * examples, np.array(total))).sum()))


def _chances(before: Counts, after: Counts, examples: Counts, tested: NDArray[np.bool_]) -> dict[int, float]:
    """Returns the chance of each tested class's change [classes] beyond what classes have in common."""
    of = np.maximum(examples, 1)
    known = examples > 0
    changes = (after - before) / of
    usual = max(0.0, float(np.median(changes[known]))) if known.any() else 0.0
    if np.count_nonzero(known) >= _MIN_CLASSES:
        middles = (after + before) / (2.0 * of)
        spread = MAD_SCALE * float(np.median(np.abs(changes - np.median(changes[known]))[known]))
        by_chance = float(np.mean((2.0 * middles * (1.0 - middles) / of)[known]))
        usual += _SPREADS * max(0.0, spread**2 - by_chance) ** 0.5
    beyond = np.maximum(after - np.floor(usual * of).astype(np.int64), 0)
    return {
        int(number): chance_of(int(before[number]), int(beyond[number]), int(examples[number]))
        for number in np.flatnonzero(tested)
    }


def _precision(confusion: Counts, number: int) -> float | None:
    answers = int(confusion[:, number].sum())
    return float(confusion[number, number] / answers) if answers else None


def _checked(before: Counts, after: Counts) -> Counts:
    """Returns the number of examples of each class."""
    _check(before)
    _check(after)
    sizes: Counts = after.sum(axis=1)
    if before.shape != after.shape or not np.array_equal(before.sum(axis=1), sizes):
        raise ValueError("Both versions are measured on the same examples.")
    return sizes


def _check(confusion: Counts) -> None:
    if confusion.ndim != 2 or confusion.shape[0] != confusion.shape[1] or not confusion.sum():
        raise ValueError("A confusion matrix is square and counts examples.")
