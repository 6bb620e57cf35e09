"""Agreements and signatures are those of RFC 7748 and RFC 8032; bad keys are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.crypto import client_keys
from backend.errors import BadKeyError
from tests.contract.vectors.secagg.make_masked import BAD_KEYS, made

# RFC 7748, sections 5.2 and 6.1.
SCALAR = bytes.fromhex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4")
POINT = bytes.fromhex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")
PRODUCT = bytes.fromhex("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552")
ALICE = bytes.fromhex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
BOB_PRIVATE = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
BOB = bytes.fromhex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
SHARED = bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
# RFC 8032, section 7.1, tests 1 and 2: private key, public key, statement, signature.
SIGNED = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
        "387b2eaeb4302aeeb00d291612bb0c00",
    ),
]


def test_agreements_are_those_of_rfc_7748() -> None:
    assert client_keys.agree(SCALAR, POINT) == PRODUCT
    assert client_keys.agreement_key(BOB_PRIVATE) == BOB
    assert client_keys.agree(BOB_PRIVATE, ALICE) == SHARED


def test_both_agree_on_the_same_secret() -> None:
    one, other = made("one"), made("other")
    assert client_keys.agree(one, client_keys.agreement_key(other)) == client_keys.agree(
        other, client_keys.agreement_key(one)
    )


@pytest.mark.parametrize("low", BAD_KEYS)
def test_a_point_of_low_order_is_refused_without_a_word_about_the_private_key(low: str) -> None:
    private = made("private")
    with pytest.raises(BadKeyError, match="new keys") as caught:
        client_keys.agree(private, bytes.fromhex(low))
    assert private.hex() not in str(caught.value)
    assert not client_keys.usable(bytes.fromhex(low))


@given(st.binary(min_size=32, max_size=32).filter(client_keys.usable))
def test_what_is_usable_can_be_agreed_with(public: bytes) -> None:
    assert len(client_keys.agree(made("private"), public)) == 32


def test_a_key_of_another_length_is_not_usable() -> None:
    assert not client_keys.usable(ALICE[:-1])


@pytest.mark.parametrize(("private", "public", "statement", "signature"), SIGNED)
def test_signatures_are_those_of_rfc_8032(private: str, public: str, statement: str, signature: str) -> None:
    secret, said = bytes.fromhex(private), bytes.fromhex(statement)
    assert client_keys.identity_key(secret).hex() == public
    assert client_keys.sign(secret, said).hex() == signature
    assert client_keys.verify(bytes.fromhex(public), bytes.fromhex(signature), said)


def test_nothing_else_verifies() -> None:
    private, said = made("identity"), b"what was said"
    public, signature = client_keys.identity_key(private), client_keys.sign(private, said)
    assert not client_keys.verify(public, signature, b"what was not")
    assert not client_keys.verify(client_keys.identity_key(made("another")), signature, said)
    assert not client_keys.verify(public, bytes(64), said)
    assert not client_keys.verify(public, signature[:-1], said)
    assert not client_keys.verify(b"\xff" * 32, signature, said)
