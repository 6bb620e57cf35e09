"""Masks: the keystream of AES-256-CTR from counter 0 (NIST SP 800-38A) as little-endian 32-bit words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

Words = NDArray[np.uint32]
Sign = Literal[1, -1]

WORD_BYTES = 4
# A cipher block; parts of a keystream begin at multiples of it.
BLOCK_WORDS = 4
# 1 MiB: source, keystream and sum stay in the processor's cache.
PIECE_WORDS = 256 * 1024
_ZEROS = bytes(PIECE_WORDS * WORD_BYTES)


def keystream(key: bytes, count: int, start: int = 0) -> Words:
    """Returns `count` words of the keystream of `key` (32 bytes), from word `start` on."""
    before = start % BLOCK_WORDS
    words = np.zeros(before + count, np.uint32)
    add_keystream(words, key, 1, start - before)
    return words[before:]


def add_keystream(words: Words, key: bytes, sign: Sign, start: int = 0) -> None:
    """Adds the keystream of `key` to `words` (uint32 [n], in place, modulo 2**32), or subtracts it.

    `start` is the number in the keystream of the first of `words`, a multiple of 4.
    """
    add_keystreams(words, [(key, sign)], start)


def add_keystreams(words: Words, keys: Sequence[tuple[bytes, Sign]], start: int = 0) -> None:
    """Adds several keystreams as `add_keystream` does, but reads `words` from memory only once.

    Needs 1 MiB of scratch, however long `words` are. Raises ValueError for another dtype or shape.
    """
    if words.dtype != np.uint32 or words.ndim != 1:
        raise ValueError("Keystreams are added to flat arrays of uint32.")
    streams = [(_stream(key, start), sign) for key, sign in keys]
    scratch = np.empty(min(PIECE_WORDS, _padded(words.size)), np.uint32)
    for first in range(0, words.size, PIECE_WORDS):
        piece = words[first : first + PIECE_WORDS]
        for stream, sign in streams:
            _next(stream, scratch[: _padded(piece.size)])
            mask = scratch[: piece.size]
            (np.add if sign > 0 else np.subtract)(piece, mask, out=piece)


def _stream(key: bytes, start: int) -> CipherContext:
    if start < 0 or start % BLOCK_WORDS:
        raise ValueError("A part of a keystream begins at a multiple of 4 words.")
    return Cipher(AES256(key), CTR((start // BLOCK_WORDS).to_bytes(16, "big"))).encryptor()


def _next(stream: CipherContext, words: Words) -> None:
    """Fills `words`, whole cipher blocks, with the next words of the keystream."""
    stream.update_into(memoryview(_ZEROS)[: words.nbytes], words.view(np.uint8).data)
    if not _LITTLE:
        words.byteswap(inplace=True)


def _padded(count: int) -> int:
    return -(-count // BLOCK_WORDS) * BLOCK_WORDS


_LITTLE = np.dtype("<u4") == np.dtype(np.uint32)
