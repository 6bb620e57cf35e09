"""Keeps pieces and means of the last rounds by their SHA-256, for validators and for who lacks them."""

from __future__ import annotations

from collections import OrderedDict

# A case may come before the court two rounds after it was doubted.
ROUNDS_KEPT = 5


class RoundContents:
    """Bytes by their SHA-256, each until ROUNDS_KEPT rounds after it was added."""

    def __init__(self) -> None:
        self._contents: OrderedDict[bytes, tuple[int, bytes]] = OrderedDict()

    def add(self, number: int, digest: bytes, content: bytes) -> None:
        """Keeps `content`, whose digest is known to be `digest`, of round `number`."""
        self._contents[digest] = (number, content)

    def get(self, digest: bytes) -> bytes:
        """Returns the bytes. Raises KeyError where they are not kept."""
        return self._contents[digest][1]

    def find(self, sha256: str) -> bytes | None:
        """Returns the bytes of this hash in hexadecimal; None where they are not kept."""
        kept = self._contents.get(bytes.fromhex(sha256))
        return kept[1] if kept else None

    def find_digest(self, digest: bytes) -> bytes | None:
        """Returns the bytes of this hash; None where they are not kept."""
        return self.find(digest.hex())

    def forget_before(self, number: int) -> None:
        """Drops what was added in rounds before `number`."""
        for digest in [one for one, (added, _) in self._contents.items() if added < number]:
            del self._contents[digest]
