"""Gaussian noise that nobody can foretell."""

from __future__ import annotations

import secrets

import numpy as np
from numpy.typing import NDArray

from backend.crypto.random_words import KEY_BYTES, keyed_words
from backend.numerics.privacy import Words
from backend.numerics.privacy.gaussian import gaussian, uniform_words


def fresh_words() -> Words:
    """A stream that nobody can guess or repeat: its key is of the platform's generator."""
    return keyed_words(secrets.token_bytes(KEY_BYTES))


class Noise:
    """Owns its stream of random words, which nobody else has. No part of it is used twice."""

    def __init__(self) -> None:
        self._words = fresh_words()

    def gaussian(self, values: int, deviation: float) -> NDArray[np.float32]:
        """Independent Gaussian values [n] with this standard deviation; nothing is drawn for 0."""
        if deviation == 0.0:
            return np.zeros(values, np.float32)
        drawn = gaussian(self._words(uniform_words(values)))[:values]
        return (deviation * drawn).astype(np.float32)
