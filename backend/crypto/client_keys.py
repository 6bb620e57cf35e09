"""Client keys: X25519 for key agreement (RFC 7748), Ed25519 for signatures (RFC 8032), as raw bytes."""

from __future__ import annotations

from collections.abc import Iterable

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from backend.errors import BadKeyError

KEY_BYTES = 32
# Points of low order, on the curve and on its twist, in all their encodings (Bernstein's page on Curve25519
# lists them): key agreement with them gives zeros for every private key.
_LOW_ORDER = frozenset(
    [
        bytes(32),
        bytes([1, *bytes(31)]),
        bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
        bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
        *(bytes([last, *[0xFF] * 30, 0x7F]) for last in (0xEC, 0xED, 0xEE)),
    ]
)


def agreement_key(private: bytes) -> bytes:
    """Returns the X25519 public key of `private`, any 32 random bytes."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def usable(public: bytes) -> bool:
    """Whether key agreement with `public` is possible: a lookup, a thousand times cheaper than trying."""
    return len(public) == KEY_BYTES and public[:-1] + bytes([public[-1] & 0x7F]) not in _LOW_ORDER


def agree(private: bytes, public: bytes) -> bytes:
    """Returns the 32-byte secret that both owners compute. Raises BadKeyError for a point of low order."""
    return agree_all(private, [public])[0]


def agree_all(private: bytes, publics: Iterable[bytes]) -> list[bytes]:
    """Returns the secret shared with each public key's owner, at half the cost of separate agreements."""
    key = X25519PrivateKey.from_private_bytes(private)
    try:
        return [key.exchange(X25519PublicKey.from_public_bytes(public)) for public in publics]
    except ValueError as error:
        raise BadKeyError(
            "A client's key is not a valid X25519 public key; it must send new keys."
        ) from error


def identity_key(private: bytes) -> bytes:
    """Returns the Ed25519 public key of `private`, any 32 random bytes."""
    return Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def sign(private: bytes, statement: bytes) -> bytes:
    """Returns the Ed25519 signature (64 bytes) of `statement`."""
    return Ed25519PrivateKey.from_private_bytes(private).sign(statement)


def verify(public: bytes, signature: bytes, statement: bytes) -> bool:
    """Whether the owner of the Ed25519 key `public` signed exactly `statement`."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, statement)
    except (InvalidSignature, ValueError):
        return False
    return True
