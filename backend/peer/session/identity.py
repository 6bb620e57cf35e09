"""Stores this machine's identity: a secret token, and the key that signs in masked rounds."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from backend.crypto.client_keys import KEY_BYTES, identity_key

if sys.platform != "win32":
    import fcntl

STATE = Path("~/.local/state/minga")
_TOKEN = re.compile("[A-Za-z0-9_-]{22,64}")
_KEY = re.compile(f"[0-9a-f]{{{2 * KEY_BYTES}}}")


@dataclass(frozen=True)
class ClientIdentity:
    """One client's secrets: its token, and the private Ed25519 key (32 bytes) of its identity.

    The next process of this machine has the same ones if they are `stored`.
    """

    token: str = field(repr=False)
    key: bytes = field(repr=False)
    stored: bool = False

    @property
    def public(self) -> str:
        """The public key in hexadecimal, by which other clients may know this one."""
        return identity_key(self.key).hex()


@contextmanager
def machine_identity(state: Path) -> Iterator[ClientIdentity]:
    """Yields this machine's identity, or a temporary one while another peer uses it.

    It is also temporary where the folder `state` cannot be written.
    """
    temporary = ClientIdentity(secrets.token_urlsafe(32), secrets.token_bytes(KEY_BYTES))
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(state / "token.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        yield temporary
        return
    try:
        yield _stored_identity(state, temporary) if _locked(lock) else temporary
    finally:
        os.close(lock)


def stored_identity(state: Path) -> ClientIdentity:
    """Returns this machine's identity, even while a peer uses it; makes it if there is none."""
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    return _stored_identity(state, ClientIdentity(secrets.token_urlsafe(32), secrets.token_bytes(KEY_BYTES)))


def _locked(lock: int) -> bool:
    """Whether the lock was taken. The system releases it when the process ends.

    Windows has no such lock, so a peer there always takes a temporary identity.
    """
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _stored_identity(state: Path, default: ClientIdentity) -> ClientIdentity:
    token = _read_or_write(state / "token", _TOKEN, default.token)
    key = bytes.fromhex(_read_or_write(state / "identity", _KEY, default.key.hex()))
    return ClientIdentity(token, key, stored=True)


def _read_or_write(path: Path, pattern: re.Pattern[str], default: str) -> str:
    with suppress(OSError, UnicodeDecodeError):
        stored = path.read_text("ascii").strip()
        if pattern.fullmatch(stored):
            return stored
    with suppress(OSError):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(file, "w") as writer:
            writer.write(default + "\n")
    return default
