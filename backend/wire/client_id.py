"""Derives the public id of a client from its secret token."""

from __future__ import annotations

import hashlib


def client_id(token: str) -> str:
    """Returns the public id of a secret token's holder: the first 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(token.encode()).hexdigest()[:16]
