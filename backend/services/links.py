"""A task host's view of one connection."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

from backend.errors import MingaError
from backend.wire.messages import Kind


class Link(Protocol):
    """Somebody's connection; whoever accepted it owns it."""

    def send(self, frame: bytes) -> None:
        """Queues a frame. Never waits: a reader that is too slow loses the connection instead."""
        ...

    def close(self, error: MingaError) -> None:
        """Says why, then closes."""
        ...


@dataclass
class Client:
    """A connected client. Owned by the task host."""

    id: str
    kind: Kind
    backend: str
    link: Link


def client_id(token: str) -> str:
    """Public id of the holder of a secret token: 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(token.encode()).hexdigest()[:16]
