"""Protects a client's update before it is sent (local differential privacy)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from backend.numerics.privacy import Words, deviation
from backend.numerics.privacy.clipping import clip_factor, norm_of
from backend.numerics.privacy.gaussian import add_gaussian
from backend.numerics.vectors import Vector
from backend.peer.training.trainer import TrainingResult
from backend.wire.messages import Privacy


def protected(result: TrainingResult, privacy: Privacy | None, words: Words) -> TrainingResult:
    """Returns the part of a result that may be sent: all of it if the plan asks for no privacy.

    Else it has neither loss nor sums, and its update is clipped and noised as the plan specifies.
    """
    if privacy is None:
        return result
    update = result.update
    if privacy.clip > 0.0:
        update = clipped_and_noised(update, privacy.clip, privacy.noise, words)
    return replace(result, update=update, end=None, loss=0.0, sums=[])


def clipped_and_noised(update: Vector, clip: float, noise: float, words: Words) -> Vector:
    """Returns an update clipped to the L2 norm `clip`, with Gaussian noise of `noise` times that."""
    wide = update.astype(np.float64) * clip_factor(norm_of(update), clip)
    if noise:
        add_gaussian(wide, deviation(clip, noise), words)
    return wide.astype(np.float32)
