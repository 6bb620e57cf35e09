"""Signatures that were verified are remembered, and only these."""

from __future__ import annotations

from backend.crypto.client_keys import identity_key, sign
from backend.crypto.verified_signatures import VerifiedSignatures

KEY, OTHER = bytes([1]) * 32, bytes([2]) * 32
IDENTITY = identity_key(KEY)


def test_a_signature_holds_for_its_key_and_statement_each_time() -> None:
    signatures, signature = VerifiedSignatures(), sign(KEY, b"one")
    for _ in range(2):
        assert signatures.verify(IDENTITY, signature, b"one")
        assert not signatures.verify(IDENTITY, signature, b"two")
        assert not signatures.verify(identity_key(OTHER), signature, b"one")
        assert not signatures.verify(IDENTITY, sign(OTHER, b"one"), b"one")


def test_the_oldest_are_forgotten_and_verified_again() -> None:
    signatures = VerifiedSignatures(most=2)
    statements = [b"one", b"two", b"three"]
    for _ in range(2):
        for statement in statements:
            assert signatures.verify(IDENTITY, sign(KEY, statement), statement)
    assert not signatures.verify(IDENTITY, sign(KEY, b"one"), b"three")
