"""Remembers Ed25519 signatures that were verified, so that repeating them costs no time."""

from __future__ import annotations

from hashlib import sha256

from backend.crypto.client_keys import verify

# About two of the longest chains of certificates.
MOST_REMEMBERED = 2048


class VerifiedSignatures:
    """The last valid signatures. Invalid ones are not kept, since senders can make new ones at no cost."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._valid: dict[tuple[bytes, bytes, bytes], None] = {}

    def verify(self, identity: bytes, signature: bytes, statement: bytes) -> bool:
        """Whether `signature` is by the private key of `identity`, for exactly this statement."""
        key = (identity, signature, sha256(statement).digest())
        is_valid = key in self._valid or verify(identity, signature, statement)
        if is_valid:
            self._valid.pop(key, None)
            self._valid[key] = None
            if len(self._valid) > self._most:
                del self._valid[next(iter(self._valid))]
        return is_valid
