"""Shares are sealed by AES-256-GCM and opened only by whom they are for, in their round."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from backend.crypto.keystream import keystream
from backend.crypto.sealing import seal, unseal
from backend.errors import UnsealError
from tests.contract.vectors.secagg.make_masked import made

KEY, CONTEXT, ONE, OTHER = made("key"), made("context"), made("seed's share"), made("mask key's share")


def test_the_library_seals_as_the_gcm_specification_does() -> None:
    # McGrew and Viega 2005, test case 14 (among NIST's): key, nonce and plaintext of zeros.
    sealed = AESGCM(bytes(32)).encrypt(bytes(12), bytes(16), None)
    assert sealed.hex() == "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"


def test_both_shares_are_covered_by_the_keystream_and_a_tag_of_16_bytes() -> None:
    sealed = seal(KEY, CONTEXT, 1, 2, ONE, OTHER)
    # With a nonce of zeros, GCM's keystream is CTR's from its third block on.
    cover = keystream(KEY, 16, start=8).astype("<u4").tobytes()
    assert sealed[:64] == bytes(a ^ b for a, b in zip(ONE + OTHER, cover, strict=True))
    assert len(sealed) == 80


def test_shares_come_out_as_they_went_in() -> None:
    assert unseal(KEY, CONTEXT, 1, 2, seal(KEY, CONTEXT, 1, 2, ONE, OTHER)) == (ONE, OTHER)


@pytest.mark.parametrize(
    ("key", "context", "sender", "receiver"),
    [
        (made("another"), CONTEXT, 1, 2),
        (KEY, made("another"), 1, 2),
        (KEY, CONTEXT, 3, 2),
        (KEY, CONTEXT, 1, 3),
        (KEY, CONTEXT, 2, 1),
    ],
)
def test_nobody_else_opens_them(key: bytes, context: bytes, sender: int, receiver: int) -> None:
    with pytest.raises(UnsealError, match="not sealed for this client"):
        unseal(key, context, sender, receiver, seal(KEY, CONTEXT, 1, 2, ONE, OTHER))


def test_damaged_or_short_ones_are_refused() -> None:
    sealed = seal(KEY, CONTEXT, 1, 2, ONE, OTHER)
    for bad in (sealed[:-1], b"", bytes([sealed[0] ^ 1]) + sealed[1:], seal(KEY, CONTEXT, 1, 2, ONE, b"")):
        with pytest.raises(UnsealError):
            unseal(KEY, CONTEXT, 1, 2, bad)
