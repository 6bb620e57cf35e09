"""Translates errors of the system and the database into StoreError, with advice in the text."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError

from sqlalchemy.exc import DBAPIError, IntegrityError

from backend.errors import RecordedBeforeError, StoreError

_BY_ERRNO = {
    errno.ENOSPC: "the disk is full. Free some space",
    errno.EDQUOT: "your disk quota is used up. Free some space",
    errno.EFBIG: "files may not become that large. Raise the limit (`ulimit -f`)",
    errno.EIO: "the disk reports an error. Check its health",
    errno.EROFS: "the disk is read-only. Make it writable or choose another folder with --data-dir",
    errno.EACCES: "permission is missing. Change the folder's owner or choose another with --data-dir",
    errno.EPERM: "permission is missing. Change the folder's owner or choose another with --data-dir",
}
_BY_WORDS = {
    "disk is full": _BY_ERRNO[errno.ENOSPC],
    "disk I/O error": "the disk reports an error, or files may not become that large. Check both",
    "readonly": _BY_ERRNO[errno.EROFS],
    "locked": "another program holds the database. Stop the other server on this data folder",
    "malformed": "the database is damaged. Restore the data folder or choose another with --data-dir",
    "not a database": "the database is damaged. Restore the data folder or choose another with --data-dir",
    "unable to open": "permission is missing. Change the folder's owner or choose another with --data-dir",
}


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raises StoreError(`doing`: reason) for errors of the operating system or the database."""
    try:
        yield
    except OSError as error:
        reason = _BY_ERRNO.get(error.errno or 0, error.strerror or type(error).__name__)
        raise StoreError(f"{doing}: {reason}.") from error
    except JSONDecodeError as error:
        raise StoreError(f"{doing}: {_BY_WORDS['malformed']}.") from error
    except IntegrityError as error:
        raise RecordedBeforeError(f"{doing}: that is recorded already ({error.orig}).") from error
    except DBAPIError as error:
        text = str(error.orig)
        reason = next((words for sign, words in _BY_WORDS.items() if sign in text), text)
        raise StoreError(f"{doing}: {reason}.") from error
