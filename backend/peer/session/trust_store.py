"""Stores the identities that this peer trusts: those met in a task before, and those in its roster."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from backend.errors import PeerError
from backend.peer.data.shared_files import write_whole

_IDENTITY = re.compile("[0-9a-f]{64}")
# The oldest identities beyond this number are dropped; the file stays at some megabytes.
MOST_IDENTITIES = 50_000


class TrustStore:
    """The identity of each client of one task (trust on first use), in a file of `folder`.

    With a `roster` only the identities in it are trusted. Several peers of a machine may share the folder:
    the last write wins, and lost entries are learnt again.
    """

    def __init__(self, folder: Path, roster: Collection[str] | None = None) -> None:
        self._folder = folder
        self.roster = None if roster is None else frozenset(roster)
        self._path: Path | None = None
        self._identities: dict[str, str] = {}

    def enter(self, task: str) -> None:
        """Switches to the identities of `task`, given by its whole address."""
        self._path = self._folder / f"{hashlib.sha256(task.encode()).hexdigest()[:32]}.json"
        self._identities = _read(self._path)

    def is_untrusted(self, client: str, identity: str) -> bool:
        """Whether `client` had another identity before, or `identity` is not in the roster."""
        if self.roster is not None and identity not in self.roster:
            return True
        return self._identities.get(client, identity) != identity

    def remember(self, identities: Mapping[str, str]) -> None:
        """Stores the identities of clients whose signatures were valid. A full disk loses only this write."""
        new = identities.items() - self._identities.items()
        if not new or self._path is None:
            return
        self._identities |= dict(new)
        stored = dict(list(self._identities.items())[-MOST_IDENTITIES:])
        with suppress(OSError):
            write_whole(self._path, json.dumps(stored).encode())


def read_roster(path: Path) -> frozenset[str]:
    """Reads the identities in a file: one a line, 64 hexadecimal digits, then an optional name.

    # begins a comment. Raises PeerError with the line that cannot be read.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PeerError(f"{path} cannot be read: {error}.") from error
    identities = set()
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if words and not _IDENTITY.fullmatch(words[0]):
            raise PeerError(
                f"Line {number} of {path} begins with '{words[0][:70]}', which is not an identity: an "
                f"identity has 64 digits 0-9 and a-f. Each client prints its own with `minga peer identity`."
            )
        identities.update(words[:1])
    return frozenset(identities)


def _read(path: Path) -> dict[str, str]:
    with suppress(OSError, ValueError):
        stored = json.loads(path.read_bytes())
        if isinstance(stored, dict) and all(
            isinstance(word, str) for pair in stored.items() for word in pair
        ):
            return stored
    return {}
