"""Creates secrets that the server issues once and stores only as hashes."""

from __future__ import annotations

import hashlib
import secrets

# Digits of a secret's hash that identify it in lists; they give no access.
ID_DIGITS = 16


def new_code() -> str:
    """Returns a random secret of 256 bits, for URLs and cookies: 43 characters A-Za-z0-9_-."""
    return secrets.token_urlsafe(32)


def hashed(code: str) -> str:
    """Returns a secret's SHA-256, 64 hexadecimal digits. Random secrets need no salt and no slow hash."""
    return hashlib.sha256(code.encode("utf-8", "surrogateescape")).hexdigest()


def id_of(hash: str) -> str:
    """Returns the id of a secret in lists."""
    return hash[:ID_DIGITS]


def new_id() -> str:
    """Returns a random account id: 16 hexadecimal digits."""
    return secrets.token_hex(ID_DIGITS // 2)
