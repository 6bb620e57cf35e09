"""The secret token by which a server knows this machine again."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

STATE = Path("~/.local/state/minga")
_TOKEN = re.compile("[A-Za-z0-9_-]{22,64}")


@contextmanager
def machine_token(state: Path) -> Iterator[str]:
    """This machine's token while no other peer uses it; otherwise, or if `state` is read-only, a new one."""
    temporary = secrets.token_urlsafe(32)
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(state / "token.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        yield temporary
        return
    try:
        yield _kept_token(state / "token", temporary) if _locked(lock) else temporary
    finally:
        os.close(lock)


def _locked(lock: int) -> bool:
    """Takes the lock, which the system releases with the process; Windows has none and makes new tokens."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _kept_token(path: Path, otherwise: str) -> str:
    with suppress(OSError, UnicodeDecodeError):
        kept = path.read_text("ascii").strip()
        if _TOKEN.fullmatch(kept):
            return kept
    with suppress(OSError):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(file, "w") as writer:
            writer.write(otherwise + "\n")
    return otherwise
