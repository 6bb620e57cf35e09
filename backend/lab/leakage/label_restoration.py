"""Restores the labels of a batch from the gradient of the last layer's bias.

With a softmax and cross-entropy the derivative by the bias of class c is the mean over the batch of p_c -
y_c: the only negative value of one example's is that of its label (iDLG; Zhao, Mopuri and Bilen 2020, eq. 3).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]
Floats = NDArray[np.float32] | NDArray[np.float64]


def label_of_one(bias_gradient: Floats) -> int:
    """Returns the label of a single example: the class of the lowest derivative [classes]."""
    return int(np.argmin(bias_gradient))


def labels_of_batch(bias_gradient: Floats, probabilities: Floats, examples: int) -> Labels:
    """Returns the labels [examples], ascending, that explain the derivatives [classes] best.

    `probabilities` [classes] are the model's mean ones on such examples, as far as the attacker knows: the
    count of class c is examples * (p_c - g_c) (Geng et al. 2021, eq. 7). Counts are rounded so that they sum
    to `examples`; of an update that is a direction only, the most negative classes come first.
    """
    if examples == 1:
        return np.array([label_of_one(bias_gradient)])
    expected = np.maximum(examples * (probabilities.astype(np.float64) - bias_gradient), 0.0)
    if expected.sum() == 0.0:
        expected = np.ones_like(expected)
    expected *= examples / expected.sum()
    counts = np.floor(expected).astype(np.int64)
    for place in np.argsort(counts - expected, kind="stable")[: examples - int(counts.sum())]:
        counts[place] += 1
    return np.repeat(np.arange(len(counts)), counts)


def restored_share(restored: Labels, labels: Labels) -> float:
    """Returns the share of `labels` that are restored, each counted as often as it occurs in both."""
    size = int(max(restored.max(initial=0), labels.max(initial=0))) + 1
    common = np.minimum(np.bincount(restored, minlength=size), np.bincount(labels, minlength=size))
    return float(common.sum() / len(labels))
