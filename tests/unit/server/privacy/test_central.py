"""The noise that a trusted server adds, and its clip."""

from __future__ import annotations

import math

import numpy as np
import pytest

from backend.formats.task_file.privacy import Adaptive, PrivacyTable
from backend.server.privacy.central import CentralNoise

SIZE = 400_000


def noise_of(central: CentralNoise) -> float:
    """Standard deviation of what a round without any change adds to the model."""
    mean = central.mean(SIZE)
    for _ in range(4):
        mean.add(np.zeros(SIZE, np.float32))
    return float(mean.mean().std())


def test_the_noise_of_the_sum_has_the_claimed_scale_and_the_mean_s_is_a_share_of_it() -> None:
    central = CentralNoise(PrivacyTable("central", 2.0, 1.5), None)
    assert noise_of(central) == pytest.approx(2.0 * 1.5 / 4, rel=0.01)


def test_every_round_has_noise_of_its_own() -> None:
    central = CentralNoise(PrivacyTable("central", 1.0, 1.0), None)
    rounds = []
    for _ in range(2):
        mean = central.mean(SIZE)
        mean.add(np.zeros(SIZE, np.float32))
        rounds.append(mean.mean())
    assert abs(np.corrcoef(rounds)[0, 1]) < 6 / math.sqrt(SIZE)


def test_a_tree_keeps_the_noise_of_running_sums_low() -> None:
    central, running = CentralNoise(PrivacyTable("central", 1.0, 1.0, tree=True), None), np.zeros(SIZE)
    for number in range(1, 9):
        mean = central.mean(SIZE)
        mean.add(np.zeros(SIZE, np.float32))
        running += mean.mean()
        central.version_recorded(1.0)
        assert running.std() == pytest.approx(math.sqrt(number.bit_count()), rel=0.02)


def test_a_round_that_made_no_version_leaves_the_tree_as_it_was() -> None:
    central = CentralNoise(PrivacyTable("central", 1.0, 1.0, tree=True), None)
    tries = []
    for _ in range(2):
        mean = central.mean(1000)
        mean.add(np.zeros(1000, np.float32))
        tries.append(mean.mean())
    np.testing.assert_array_equal(tries[0], tries[1])


def test_another_start_of_the_server_plants_another_tree() -> None:
    privacy = PrivacyTable("central", 1.0, 1.0, tree=True)
    starts = []
    for _ in range(2):
        mean = CentralNoise(privacy, None).mean(1000)
        mean.add(np.zeros(1000, np.float32))
        starts.append(mean.mean())
    assert (starts[0] != starts[1]).all()


def test_an_adaptive_clip_goes_down_while_nobody_reaches_it_and_is_taken_up_again() -> None:
    privacy = PrivacyTable("central", 1.0, 0.0, adaptive=Adaptive(1.0))
    central = CentralNoise(privacy, None)
    mean = central.mean(4)
    for _ in range(5):
        mean.add(np.zeros(4, np.float32))
    clip = central.next_clip(mean)
    assert clip == pytest.approx(math.exp(-0.2 * 0.5))
    central.version_recorded(clip)
    assert central.clip == clip
    assert CentralNoise(privacy, clip).clip == clip


def test_an_adaptive_clip_takes_more_noise_on_the_sum_and_counts_with_noise() -> None:
    privacy = PrivacyTable("central", 1.0, 1.0, adaptive=Adaptive(2.0))
    central = CentralNoise(privacy, None)
    assert noise_of(central) * 4 == pytest.approx((1.0 - 0.25) ** -0.5, rel=0.01)
    mean = central.mean(4)
    mean.add(np.zeros(4, np.float32))
    assert len({central.next_clip(mean) for _ in range(5)}) == 5


def test_a_clip_that_is_not_adaptive_is_the_task_file_s() -> None:
    assert CentralNoise(PrivacyTable("central", 3.0, 1.0), 7.0).clip == 3.0
