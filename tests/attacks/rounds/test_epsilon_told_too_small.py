"""Who sees the versions and the clips of a task tells apart neighbouring runs better than epsilon allows."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from backend.formats.task_file.privacy import Adaptive, PrivacyTable
from backend.numerics.privacy.summing import PrivateMean
from backend.server.privacy.central import CentralNoise

ROUNDS = 4_000
OTHERS = 3
TABLE = PrivacyTable("central", 1.0, 1.0, adaptive=Adaptive(1.2))


def seen(central: CentralNoise, victim: float) -> tuple[float, float]:
    """Returns what a round shows of its sum and of its count of short updates."""
    mean = central.mean(1)
    for update in (*[0.5] * OTHERS, victim):
        mean.add(np.array([update], np.float32))
    assert TABLE.adaptive is not None
    share = TABLE.adaptive.quantile - math.log(central.next_clip(mean) / central.clip) / (
        TABLE.adaptive.learning_rate
    )
    return float(mean.mean()[0]) * mean.count, share * mean.count


def test_sum_and_clip_together_tell_no_more_than_the_noise_multiplier_allows() -> None:
    central = CentralNoise(TABLE, None, random.Random(7).randbytes)
    present, absent = (np.array([seen(central, victim) for _ in range(ROUNDS)]) for victim in (9.0, 0.0))
    # Fisher's linear discriminant is the best test between two Gaussians of one covariance.
    moved = present.mean(axis=0) - absent.mean(axis=0)
    covariance = (np.cov(present.T) + np.cov(absent.T)) / 2
    distance = math.sqrt(moved @ np.linalg.solve(covariance, moved))
    assert distance < 1.1 / TABLE.noise_multiplier


@pytest.mark.parametrize("noise_multiplier", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("more_on_count", [1.01, 1.5, 20.0])
def test_no_update_moves_sum_and_count_further_than_is_accounted_for(
    noise_multiplier: float, more_on_count: float
) -> None:
    adaptive = Adaptive(noise_multiplier * more_on_count)
    on_sum = adaptive.clip().multiplier_of_sum(noise_multiplier)
    clip, furthest = 0.7, 0.0
    for norm, others in itertools.product((0.0, 1e-6, 0.35, 0.699, 0.7, 0.701, 70.0), range(4)):
        sums, counts = [], []
        for victim in (norm, 0.0):
            mean = PrivateMean(2, clip, lambda _sum: None)
            for update in (*[(0.3, -0.2)] * others, (0.0, victim)):
                mean.add(np.array(update, np.float32))
            sums.append(mean.mean() * mean.count)
            counts.append(mean.within)
        of_sum = float(np.linalg.norm(sums[0] - sums[1])) / (on_sum * clip)
        furthest = max(furthest, math.hypot(of_sum, (counts[0] - counts[1]) / adaptive.count_noise))
    assert furthest == pytest.approx(1.0 / noise_multiplier)
