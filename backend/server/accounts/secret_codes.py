"""Secrets that the server gives away once and knows by their hash."""

from __future__ import annotations

import hashlib
import secrets

# Digits of a secret's hash that name it in lists: they open nothing.
ID_DIGITS = 16


def new_code() -> str:
    """A random secret of 256 bits, for addresses and cookies: 43 characters A-Za-z0-9_-."""
    return secrets.token_urlsafe(32)


def hashed(code: str) -> str:
    """What is kept of a secret: 64 hexadecimal digits. A random one needs no salt and no slow hash."""
    return hashlib.sha256(code.encode("utf-8", "surrogateescape")).hexdigest()


def id_of(hash: str) -> str:
    """By which a secret is called in lists."""
    return hash[:ID_DIGITS]


def new_id() -> str:
    """A random id of an account: 16 hexadecimal digits."""
    return secrets.token_hex(ID_DIGITS // 2)
