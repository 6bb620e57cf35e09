"""What a peer tells of its training under [privacy]."""

from __future__ import annotations

import numpy as np
import pytest

from backend.peer.training.noise import fresh_words
from backend.peer.training.protection import protected
from backend.peer.training.trainer import TrainingResult
from backend.wire.messages import Privacy


def result(values: list[float]) -> TrainingResult:
    update = np.array(values, np.float32)
    return TrainingResult(update, None, 10, 3, 3, 0.5, [(1.0, 2.0)], 1.0)


def asked(clip: float, noise: float) -> Privacy:
    return Privacy(clip=clip, noise=noise, example_clip=0.0, example_noise=0.0, microbatch=0)


def test_without_a_wish_for_privacy_nothing_changes() -> None:
    whole = result([3.0, 4.0])
    assert protected(whole, None, fresh_words()) is whole


def test_losses_and_sums_stay_at_home_even_where_the_server_noises() -> None:
    told = protected(result([3.0, 4.0]), asked(0.0, 0.0), fresh_words())
    assert (told.loss, told.sums, told.examples, told.steps) == (0.0, [], 10, 3)
    np.testing.assert_array_equal(told.update, [3.0, 4.0])


def test_a_long_update_is_clipped_before_it_is_noised() -> None:
    np.testing.assert_allclose(
        protected(result([3.0, 4.0]), asked(1.0, 0.0), fresh_words()).update, [0.6, 0.8], rtol=1e-6
    )
    noised = protected(result([0.0] * 400_000), asked(2.0, 1.5), fresh_words()).update
    assert noised.dtype == np.float32
    assert noised.std() == pytest.approx(3.0, rel=0.01)
