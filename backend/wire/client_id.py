"""The public id of a client, made of its secret token."""

from __future__ import annotations

import hashlib


def client_id(token: str) -> str:
    """Public id of the holder of a secret token: 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(token.encode()).hexdigest()[:16]
