"""Membership inference: who was in the training data, from what a model says about examples.

Two attacks on the confidence in the right label, as phi = log(p / (1 - p)): a threshold on it (Yeom et al.
2018), and the likelihood ratio of LiRA (Carlini et al. 2022), which knows how models with and without an
example speak of it.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Members = NDArray[np.bool_]
# A probability this near to 0 or 1 is as good as there.
_LEAST = 1e-7
FEW = 0.01
# Shares of others that are wrongly accused.
RATES = tuple(number / 50 for number in range(51))


@dataclass(frozen=True)
class Estimate:
    """A mean over models and its standard error."""

    mean: float
    error: float


@dataclass(frozen=True)
class Success:
    """How well an attack tells members from others.

    `auc` is the chance that a member has the higher score, 0.5 for guessing; `caught` is the share of members
    that are found where one other in a hundred is wrongly accused, 0.01 for guessing; `curve` is that share
    for each of RATES.
    """

    auc: Estimate
    caught: Estimate
    curve: list[Estimate]


def confidence(probabilities: Array, labels: NDArray[np.int64]) -> Array:
    """phi [n] of probabilities [n, classes]; float64."""
    right = probabilities.astype(np.float64)[np.arange(len(labels)), labels].clip(_LEAST, 1.0 - _LEAST)
    phi: Array = np.log(right) - np.log1p(-right)
    return phi


def by_threshold(scores: Array, members: Members) -> Success:
    """The attack that says "member" where a model is sure; scores and members are [models, examples]."""
    return _success(scores, members)


def by_likelihood(scores: Array, members: Members) -> Success:
    """LiRA, each model attacked with all others as its shadows, and one variance for all examples.

    `scores` and `members` are [models, examples]; each example has to be in and out of two models at least.
    """
    ratios = [_ratio(scores, members, model) for model in range(len(scores))]
    return _success(np.stack(ratios), members)


def _ratio(scores: Array, members: Members, attacked: int) -> Array:
    """Log of the likelihood ratio of each example for one model."""
    shadow = np.arange(len(scores)) != attacked
    mean_in, variance_in = _normal(scores, members & shadow[:, None])
    mean_out, variance_out = _normal(scores, ~members & shadow[:, None])
    found: Array = (scores[attacked] - mean_out) ** 2 / (2 * variance_out) - (
        scores[attacked] - mean_in
    ) ** 2 / (2 * variance_in)
    return found


def _normal(scores: Array, chosen: Members) -> tuple[Array, float]:
    """Mean of each example's chosen scores, and their variance around it over all examples."""
    mean = (scores * chosen).sum(axis=0) / chosen.sum(axis=0)
    variance = (((scores - mean) ** 2) * chosen).sum() / (chosen.sum() - chosen.shape[1])
    return mean, float(variance)


def _success(scores: Array, members: Members) -> Success:
    pairs = [(one[who], one[~who]) for one, who in zip(scores, members, strict=True)]
    return Success(
        auc=estimate([auc(*pair) for pair in pairs]),
        caught=estimate([caught(*pair, FEW) for pair in pairs]),
        curve=[estimate([caught(*pair, rate) for pair in pairs]) for rate in RATES],
    )


def auc(inside: Array, outside: Array) -> float:
    """The chance that a member's score is the higher one; ties count half."""
    order = np.sort(outside)
    below = np.searchsorted(order, inside, "left") + np.searchsorted(order, inside, "right")
    return float(below.mean() / 2 / len(outside))


def caught(inside: Array, outside: Array, rate: float) -> float:
    """The share of members whose score is above those of all others but `rate` of them."""
    accused = int(rate * len(outside))
    if accused == len(outside):
        return 1.0
    return float((inside > np.sort(outside)[::-1][accused]).mean())


def estimate(values: Sequence[float]) -> Estimate:
    """Their mean and its standard error, as if they were independent."""
    return Estimate(statistics.mean(values), statistics.stdev(values) / len(values) ** 0.5)
