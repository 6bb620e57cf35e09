"""Random words for noise: the keystream of AES-256-CTR under a key."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

KEY_BYTES = 32
Words = Callable[[int], NDArray[np.uint32]]


def keyed_words(key: bytes, stream: int = 0) -> Words:
    """Returns the keystream number `stream` (below 2^64) of a key: 2^68 bytes, where the next one begins."""
    counter = stream.to_bytes(8, "big") + bytes(8)
    encryptor = Cipher(algorithms.AES256(key), modes.CTR(counter)).encryptor()

    def words(count: int) -> NDArray[np.uint32]:
        return np.frombuffer(encryptor.update(bytes(4 * count)), "<u4").astype(np.uint32, copy=False)

    return words
