"""Draws unpredictable Gaussian noise."""

from __future__ import annotations

import secrets

import numpy as np
from numpy.typing import NDArray

from backend.crypto.random_words import KEY_BYTES, keyed_words
from backend.numerics.privacy import Words
from backend.numerics.privacy.gaussian import gaussian, uniform_words


def fresh_words() -> Words:
    """Returns a stream of random words, keyed by the platform's generator, that no one can predict."""
    return keyed_words(secrets.token_bytes(KEY_BYTES))


class Noise:
    """Gaussian noise from a secret stream of random words that it owns. No part of it is used twice."""

    def __init__(self) -> None:
        self._words = fresh_words()

    def gaussian(self, values: int, deviation: float) -> NDArray[np.float32]:
        """Returns independent Gaussian values [n] with this standard deviation; draws nothing for 0."""
        if deviation == 0.0:
            return np.zeros(values, np.float32)
        samples = gaussian(self._words(uniform_words(values)))[:values]
        return (deviation * samples).astype(np.float32)
