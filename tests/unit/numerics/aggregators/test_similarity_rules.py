"""FLAME keeps the majority's direction; FoolsGold distrusts those that act alike."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from backend.numerics.aggregators.column_blocks import JOB_COLUMNS
from backend.numerics.aggregators.similarity_rules import cosines, flame, fools_gold, majority
from backend.numerics.aggregators.update_set import UpdateSet
from backend.numerics.vectors import Vector


def cohort(count: int, size: int = 600) -> Vector:
    """Updates around one direction."""
    random = np.random.default_rng(count)
    return (1.0 + 0.5 * random.standard_normal((count, size))).astype(np.float32)


def test_flame_drops_other_directions_and_cuts_long_updates() -> None:
    updates = cohort(10)
    updates[:3] *= -1.0
    updates[9] *= 50.0  # The right direction, too long.
    kept = majority(cosines(UpdateSet(updates).distances))
    assert not kept[:3].any()
    assert kept.sum() >= 6
    norms = np.linalg.norm(updates.astype(np.float64), axis=1)
    clipped = updates * np.minimum(1.0, np.median(norms) / norms)[:, None]
    np.testing.assert_allclose(flame(1, noise=0.0)(updates), clipped[kept].mean(axis=0), atol=1e-6)


def test_flames_noise_is_a_share_of_the_median_norm_and_hangs_on_the_seed() -> None:
    updates = np.ones((4, JOB_COLUMNS + 5000), np.float32)
    norm = np.sqrt(updates.shape[1])
    noise = flame(3, noise=0.01)(updates) - 1.0
    assert abs(noise.std() / (0.01 * norm) - 1.0) < 0.01
    assert abs(noise.mean()) < 0.01 * norm * 5 / norm
    assert not np.array_equal(noise[:5000], noise[JOB_COLUMNS:])
    np.testing.assert_array_equal(flame(3, noise=0.01)(updates) - 1.0, noise)
    assert not np.array_equal(flame(4, noise=0.01)(updates) - 1.0, noise)
    with pytest.raises(ValueError, match="from 0 up"):
        flame(3, noise=-1.0)


def test_without_a_majority_the_half_nearest_the_middle_is_kept() -> None:
    updates = np.eye(7, 50, dtype=np.float32)  # All at right angles.
    assert majority(cosines(UpdateSet(updates).distances)).sum() >= 4
    assert np.isfinite(flame(1)(updates)).all()


def test_updates_of_zeros_have_no_direction() -> None:
    updates = np.zeros((5, 8), np.float32)
    np.testing.assert_array_equal(flame(1)(updates), 0.0)
    np.testing.assert_array_equal(fools_gold()(updates), 0.0)
    updates[3:] = 1.0
    cosine = cosines(UpdateSet(updates).distances)
    np.testing.assert_array_equal(cosine[0], [1, 1, 1, 0, 0])


def test_flame_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(ValueError, match=r"minga\[robust\]"):
        flame(1)(cohort(5))


def test_fools_gold_ignores_a_swarm_of_one_mind_however_large() -> None:
    random = np.random.default_rng(2)
    updates = random.standard_normal((12, 900)).astype(np.float32)
    updates[4:] = random.standard_normal(900) + 0.01 * random.standard_normal((8, 900))
    result = fools_gold()(updates)
    np.testing.assert_allclose(result, updates[:4].mean(axis=0), atol=0.02)


def test_fools_gold_judges_by_history() -> None:
    random = np.random.default_rng(2)
    history, updates = random.standard_normal((6, 400)), random.standard_normal((6, 400))
    history[3:] = history[3] + 1e-3 * random.standard_normal((3, 400))
    np.testing.assert_allclose(fools_gold(history)(updates), updates[:3].mean(axis=0), atol=0.05)
    with pytest.raises(ValueError, match="has 6 clients; 5 sent"):
        fools_gold(history)(updates[:5])
    updates[1, 7] = np.inf
    with pytest.raises(ValueError, match="Update 1 of 6"):
        fools_gold(history)(updates)
    alone = updates[:1]
    np.testing.assert_array_equal(fools_gold()(alone), alone[0])
