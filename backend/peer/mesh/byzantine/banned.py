"""Stores evidence against banned members of a Byzantine mesh, in the peer's folder and between sessions."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from backend.errors import EvidenceError
from backend.peer.data.shared_files import write_whole
from backend.protocols.mesh.byzantine.evidence.conviction import Conviction, convict
from backend.wire.byzantine_messages import MOST_INLINE, TellEvidence

MOST_BANS = 1024
# Bytes of all evidence; single ones may contain the pieces of a part.
MOST_STORED = 1 << 30
SUFFIX = ".evidence"


@dataclass(frozen=True)
class StoredBan:
    """Why a key is banned, and the evidence by its SHA-256 in hexadecimal, of `size` bytes."""

    conviction: Conviction
    sha256: str
    size: int

    def frame(self, evidence: bytes = b"") -> TellEvidence:
        """Returns the frame about the ban; with the evidence if there is room for it in a frame."""
        return TellEvidence(
            identity=self.conviction.identity,
            digest=bytes.fromhex(self.sha256),
            size=self.size,
            data=memoryview(evidence if self.size <= MOST_INLINE else b""),
        )


class BanStore:
    """Stores one piece of evidence for each banned key of a `run` of a `task`, by the task's full `address`.

    Each is a file in a subfolder of `folder`. Only evidence that checks is taken, also from the disk:
    another program may have written there. Checking makes means again; call it in a thread. Owned by the
    session; several peers of a machine may share the folder.
    """

    def __init__(self, folder: Path, address: str, task: str, run: str) -> None:
        self._folder = folder / f"{hashlib.sha256(address.encode()).hexdigest()[:32]}.bans"
        self._task, self._run = task, run
        self._bans: dict[bytes, StoredBan] = {}

    def read(self) -> None:
        """Takes what is on the disk; damaged files, and those of other runs, are ignored."""
        with suppress(OSError):
            for path in sorted(self._folder.glob(f"*{SUFFIX}")):
                with suppress(OSError, EvidenceError):
                    self._take(path.read_bytes())

    def add(self, evidence: bytes) -> StoredBan | None:
        """Takes evidence that convicts a member who was not banned yet; None without room, too.

        Raises EvidenceError with the reason if it convicts nobody in this run: it is not to be passed on.
        """
        ban = self._take(evidence)
        if ban is not None:
            # A failure, such as a full disk, leaves the ban until the end of the session.
            with suppress(OSError):
                write_whole(self.path(ban.conviction.identity), evidence)
        return ban

    def bans(self) -> list[StoredBan]:
        """Returns all bans, in the order in which they came."""
        return list(self._bans.values())

    def is_banned(self, identity: bytes) -> bool:
        """Whether this Ed25519 key is banned."""
        return identity in self._bans

    def find(self, sha256: str) -> bytes | None:
        """Returns the evidence of this SHA-256 in hexadecimal, for who fetches it; None without it."""
        for identity, ban in self._bans.items():
            if ban.sha256 == sha256:
                with suppress(OSError):
                    content = self.path(identity).read_bytes()
                    return content if hashlib.sha256(content).hexdigest() == sha256 else None
        return None

    def path(self, identity: bytes) -> Path:
        """Returns the file of evidence against this key."""
        return self._folder / f"{identity.hex()}{SUFFIX}"

    def _take(self, evidence: bytes) -> StoredBan | None:
        conviction = convict(evidence, self._task, self._run)
        stored = sum(ban.size for ban in self._bans.values())
        full = len(self._bans) >= MOST_BANS or stored + len(evidence) > MOST_STORED
        if self.is_banned(conviction.identity) or full:
            return None
        ban = StoredBan(conviction, hashlib.sha256(evidence).hexdigest(), len(evidence))
        self._bans[conviction.identity] = ban
        return ban
