"""Derived keys are HKDF's of RFC 5869, and each is for one purpose, direction and round."""

from __future__ import annotations

from backend.crypto.derive import choice_key, hkdf, own_key, pair_key, rotation_key, sealing_keys
from tests.contract.vectors.secagg.make_masked import made

SECRET, CONTEXT = made("a secret"), made("a context")


def test_derivation_is_that_of_rfc_5869() -> None:
    first = hkdf(b"\x0b" * 22, bytes(range(13)), bytes(range(0xF0, 0xFA)), 42)
    assert first.hex() == (
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    )
    third = hkdf(b"\x0b" * 22, b"", b"", 42)
    assert third.hex() == (
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
    )


def test_a_pair_derives_one_mask_and_two_sealing_keys() -> None:
    assert pair_key(SECRET, CONTEXT, 2, 9) == pair_key(SECRET, CONTEXT, 9, 2)
    assert sealing_keys(SECRET, CONTEXT, 2, 9) != sealing_keys(SECRET, CONTEXT, 9, 2)


def test_purposes_places_and_rounds_are_kept_apart() -> None:
    derived = [
        derive(SECRET, context, *places)
        for context in (CONTEXT, made("another"))
        for derive, places in (
            (pair_key, (0, 1)),
            (pair_key, (0, 2)),
            (sealing_keys, (0, 1)),
            (sealing_keys, (0, 2)),
            (own_key, (0,)),
            (own_key, (1,)),
        )
    ]
    assert len(set(derived)) == len(derived)
    seed_key, mask_key = sealing_keys(SECRET, CONTEXT, 0, 1)
    assert seed_key != mask_key


def test_the_key_of_the_rotation_is_public_and_the_same_in_both_languages() -> None:
    assert rotation_key(bytes([9]) * 32).hex() == (
        "7a0b669ff1c8f49e9892266f72553cd57ea05f379b9a3660e097b0caafde1256"
    )


def test_values_are_chosen_by_another_public_key_than_they_are_rotated_by() -> None:
    # Its value is held to the browser's by tests/contract/vectors/sparse.json.
    assert choice_key(bytes([9]) * 32) != rotation_key(bytes([9]) * 32)
    assert choice_key(bytes([9]) * 32) != choice_key(bytes([8]) * 32)
