"""Translates errors of the system into StoreError, with advice in the text.

`database` translates those of databases: commands without one need not import SQLAlchemy.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError

from backend.errors import StoreError

# What to do about an error of the system, by its number.
BY_ERRNO = {
    errno.ENOSPC: "the disk is full. Free some space",
    errno.EDQUOT: "your disk quota is used up. Free some space",
    errno.EFBIG: "files may not become that large. Raise the limit (`ulimit -f`)",
    errno.EIO: "the disk reports an error. Check its health",
    errno.EROFS: "the disk is read-only. Make it writable or choose another folder with --data-dir",
    errno.EACCES: "permission is missing. Change the folder's owner or choose another with --data-dir",
    errno.EPERM: "permission is missing. Change the folder's owner or choose another with --data-dir",
}
DAMAGED = "the database is damaged. Restore the data folder or choose another with --data-dir"


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raises StoreError(`doing`: reason) for errors of the operating system and damaged JSON."""
    try:
        yield
    except OSError as error:
        reason = BY_ERRNO.get(error.errno or 0, error.strerror or type(error).__name__)
        raise StoreError(f"{doing}: {reason}.") from error
    except JSONDecodeError as error:
        raise StoreError(f"{doing}: {DAMAGED}.") from error
