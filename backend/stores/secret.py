"""The secret of a data folder: random bytes from which the server derives secret values."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from backend.errors import StoreError
from backend.stores.error_translation import translated

FILE = "secret.key"
SECRET_BYTES = 32


def read_secret(folder: Path) -> bytes:
    """Returns the secret in `folder`, which only the server's user may read; makes it at the first start.

    Its user must own the folder's lock. Raises StoreError for a file that cannot be read or is not a secret.
    """
    path = folder / FILE
    with translated(f"The secret {path} cannot be read or written"):
        if not path.exists():
            _write(path, secrets.token_bytes(SECRET_BYTES))
        secret = path.read_bytes()
    if len(secret) != SECRET_BYTES:
        raise StoreError(
            f"The file {path} has {len(secret)} bytes and should have {SECRET_BYTES}. Restore it from a "
            "backup, or delete it: the server makes another one, and a round that was open begins again."
        )
    return secret


def _write(path: Path, secret: bytes) -> None:
    """Writes a whole file or none: a server that dies here makes another secret at its next start."""
    partial = path.with_suffix(".part")
    partial.unlink(missing_ok=True)
    file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, secret)
        os.fsync(file)
    finally:
        os.close(file)
    partial.replace(path)
