"""Shares are sealed by AES-256-GCM and opened only by whom they are for, in their round."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from backend.crypto.keystream import keystream
from backend.crypto.sealing import ShareKind, seal, unseal
from backend.errors import UnsealError
from tests.contract.vectors.secagg.make_masked import made

KEYS = made("key"), made("other key")
CONTEXT, ONE, OTHER = made("context"), made("seed's share"), made("mask key's share")


def test_the_library_seals_as_the_gcm_specification_does() -> None:
    # McGrew and Viega 2005, test case 14 (among NIST's): key, nonce and plaintext of zeros.
    sealed = AESGCM(bytes(32)).encrypt(bytes(12), bytes(16), None)
    assert sealed.hex() == "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"


def test_each_share_is_covered_by_a_keystream_of_its_own_and_a_tag_of_16_bytes() -> None:
    sealed = seal(KEYS, CONTEXT, 1, 2, ONE, OTHER)
    for kind, share in enumerate((ONE, OTHER)):
        # With a nonce of zeros, GCM's keystream is CTR's from its third block on.
        cover = keystream(KEYS[kind], 8, start=8).astype("<u4").tobytes()
        assert sealed[48 * kind :][:32] == bytes(a ^ b for a, b in zip(share, cover, strict=True))
    assert len(sealed) == 96


def test_shares_come_out_as_they_went_in_each_by_its_own_key() -> None:
    sealed = seal(KEYS, CONTEXT, 1, 2, ONE, OTHER)
    assert unseal(KEYS[0], CONTEXT, 1, 2, sealed, ShareKind.SEED) == ONE
    assert unseal(KEYS[1], CONTEXT, 1, 2, sealed, ShareKind.MASK_KEY) == OTHER
    for kind in ShareKind:
        with pytest.raises(UnsealError):
            unseal(KEYS[1 - kind], CONTEXT, 1, 2, sealed, kind)


@pytest.mark.parametrize(
    ("key", "context", "sender", "receiver"),
    [
        (made("another"), CONTEXT, 1, 2),
        (KEYS[0], made("another"), 1, 2),
        (KEYS[0], CONTEXT, 3, 2),
        (KEYS[0], CONTEXT, 1, 3),
        (KEYS[0], CONTEXT, 2, 1),
    ],
)
def test_nobody_else_opens_them(key: bytes, context: bytes, sender: int, receiver: int) -> None:
    with pytest.raises(UnsealError, match="not sealed for this client"):
        unseal(key, context, sender, receiver, seal(KEYS, CONTEXT, 1, 2, ONE, OTHER), ShareKind.SEED)


def test_damaged_or_short_ones_are_refused() -> None:
    sealed = seal(KEYS, CONTEXT, 1, 2, ONE, OTHER)
    short = seal(KEYS, CONTEXT, 1, 2, ONE, b"")
    for bad in (sealed[:-1], b"", bytes([sealed[0] ^ 1]) + sealed[1:], short):
        with pytest.raises(UnsealError):
            unseal(KEYS[0], CONTEXT, 1, 2, bad, ShareKind.SEED)
