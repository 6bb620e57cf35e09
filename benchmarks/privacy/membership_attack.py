"""Infers membership in the training data from a model's confidence about examples.

Both attacks use the confidence in the right label, phi = log(p / (1 - p)): a threshold on it (Yeom et al.
2018), and the likelihood ratio of LiRA (Carlini et al. 2022), which knows the confidences of models trained
with and without an example.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Members = NDArray[np.bool_]
# Probabilities are clipped to this distance from 0 and 1.
_MIN_PROBABILITY = 1e-7
FALSE_POSITIVE_RATE = 0.01
# False positive rates: shares of non-members that are wrongly accused.
RATES = tuple(number / 50 for number in range(51))


@dataclass(frozen=True)
class Estimate:
    """A mean over models and its standard error."""

    mean: float
    error: float


@dataclass(frozen=True)
class Success:
    """How well an attack separates members from others.

    `auc` is the probability that a member has the higher score, 0.5 for guessing; `caught` is the share of
    members found at a false positive rate of one in a hundred, 0.01 for guessing; `curve` is that share for
    each of RATES.
    """

    auc: Estimate
    caught: Estimate
    curve: list[Estimate]


def confidence(probabilities: Array, labels: NDArray[np.int64]) -> Array:
    """Returns phi [n] of probabilities [n, classes]; float64."""
    right = probabilities.astype(np.float64)[np.arange(len(labels)), labels].clip(
        _MIN_PROBABILITY, 1.0 - _MIN_PROBABILITY
    )
    phi: Array = np.log(right) - np.log1p(-right)
    return phi


def by_threshold(scores: Array, members: Members) -> Success:
    """Attacks by a threshold on the confidence; scores and members are [models, examples]."""
    return _success(scores, members)


def by_likelihood(scores: Array, members: Members) -> Success:
    """Attacks by LiRA, each model with all others as shadows, and one variance for all examples.

    `scores` and `members` are [models, examples]; each example must be in at least two models and out of at
    least two.
    """
    ratios = [_ratio(scores, members, model) for model in range(len(scores))]
    return _success(np.stack(ratios), members)


def _ratio(scores: Array, members: Members, attacked: int) -> Array:
    """Returns the log of the likelihood ratio of each example for one model."""
    shadow = np.arange(len(scores)) != attacked
    mean_in, variance_in = _normal(scores, members & shadow[:, None])
    mean_out, variance_out = _normal(scores, ~members & shadow[:, None])
    log_ratio: Array = (scores[attacked] - mean_out) ** 2 / (2 * variance_out) - (
        scores[attacked] - mean_in
    ) ** 2 / (2 * variance_in)
    return log_ratio


def _normal(scores: Array, chosen: Members) -> tuple[Array, float]:
    """Returns the mean of each example's chosen scores, and their variance over all examples."""
    mean = (scores * chosen).sum(axis=0) / chosen.sum(axis=0)
    variance = (((scores - mean) ** 2) * chosen).sum() / (chosen.sum() - chosen.shape[1])
    return mean, float(variance)


def _success(scores: Array, members: Members) -> Success:
    pairs = [
        (model_scores[mask], model_scores[~mask]) for model_scores, mask in zip(scores, members, strict=True)
    ]
    return Success(
        auc=estimate([auc(*pair) for pair in pairs]),
        caught=estimate([caught(*pair, FALSE_POSITIVE_RATE) for pair in pairs]),
        curve=[estimate([caught(*pair, rate) for pair in pairs]) for rate in RATES],
    )


def auc(inside: Array, outside: Array) -> float:
    """Returns the probability that a member's score is the higher one; ties count half."""
    order = np.sort(outside)
    below = np.searchsorted(order, inside, "left") + np.searchsorted(order, inside, "right")
    return float(below.mean() / 2 / len(outside))


def caught(inside: Array, outside: Array, rate: float) -> float:
    """Returns the share of members above all non-members except a share `rate` of them."""
    accused = int(rate * len(outside))
    if accused == len(outside):
        return 1.0
    return float((inside > np.sort(outside)[::-1][accused]).mean())


def estimate(values: Sequence[float]) -> Estimate:
    """Returns the values' mean and its standard error, as if they were independent."""
    return Estimate(statistics.mean(values), statistics.stdev(values) / len(values) ** 0.5)
