"""Gaussian noise from uniform words: its law over ten million draws, and values that TypeScript gets too."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from backend.numerics.privacy.gaussian import gaussian, uniform_words

GOLDEN = Path(__file__).parents[3] / "contract" / "vectors" / "gaussian.json"


def keystream(words: int) -> NDArray[np.uint32]:
    """Of AES-256-CTR under a fixed key, so that every run sees the same."""
    stream = Cipher(AES256(bytes(range(32))), CTR(bytes(16))).encryptor()
    return np.frombuffer(stream.update(bytes(4 * words)), "<u4").astype(np.uint32)


def test_over_ten_million_draws_the_moments_are_those_of_a_standard_normal() -> None:
    drawn = gaussian(keystream(uniform_words(10**7)))
    # Five standard errors of each moment.
    assert abs(drawn.mean()) < 5 / 10**3.5
    assert abs(drawn.std() - 1.0) < 5 / (2 * 10**7) ** 0.5
    assert abs((drawn**4).mean() - 3.0) < 5 * (96 / 10**7) ** 0.5
    assert abs((drawn[::2] * drawn[1::2]).mean()) < 5 / (10**7 / 2) ** 0.5


def test_the_distribution_is_normal_by_kolmogorov_and_smirnov() -> None:
    drawn = np.sort(gaussian(keystream(uniform_words(200_000))))
    wanted = np.array([0.5 * (1.0 + math.erf(value / 2**0.5)) for value in drawn])
    distance = abs(wanted - (np.arange(len(drawn)) + 0.5) / len(drawn)).max()
    # Exceeded by one true sample in a thousand.
    assert distance < 1.95 / len(drawn) ** 0.5


@pytest.mark.parametrize("word", [0, 2**32 - 1])
def test_the_most_extreme_words_make_numbers(word: int) -> None:
    drawn = gaussian(np.full(4, word, np.uint32))
    assert np.isfinite(drawn).all()
    assert abs(drawn).max() < 8.7


@pytest.mark.parametrize(("values", "words"), [(0, 0), (1, 4), (2, 4), (7, 16)])
def test_values_come_in_pairs_of_four_words(values: int, words: int) -> None:
    assert uniform_words(values) == words
    assert gaussian(np.ones(words, np.uint32)).size >= values


def test_words_of_another_kind_are_refused() -> None:
    for wrong in (np.ones(6, np.uint32), np.ones((2, 4), np.uint32), np.ones(4, np.uint64)):
        with pytest.raises(ValueError, match="four at a time"):
            gaussian(wrong.view())  # type: ignore[arg-type]  # Wrong on purpose.


def test_the_golden_values_are_these() -> None:
    golden = json.loads(GOLDEN.read_bytes())
    found = gaussian(np.array(golden["words"], np.uint32))
    np.testing.assert_allclose(found, golden["values"], rtol=1e-12, atol=1e-14)
