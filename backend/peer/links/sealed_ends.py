"""The two ends of a sealed link: its keys, and the signals that bring them about."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from backend.crypto.client_keys import KEY_BYTES, agreement_key
from backend.crypto.sealed_link import SESSION_BYTES, FrameOpener, Sealer, link_keys
from backend.wire.signals import SealKey


@dataclass(frozen=True, slots=True)
class Handshake:
    """This peer's fresh key for the link `session`."""

    session: bytes = field(default_factory=lambda: secrets.token_bytes(SESSION_BYTES))
    _private: bytes = field(default_factory=lambda: secrets.token_bytes(KEY_BYTES), repr=False)

    @property
    def signal(self) -> SealKey:
        """What the other must hear, signed."""
        return SealKey(key=agreement_key(self._private))

    def seals(self, local: str, other: str, peer_key: SealKey) -> tuple[Sealer, FrameOpener]:
        """For what peer `local` sends to `other`, and for what it hears. Raises BadKeyError."""
        keys = link_keys(local, other, self._private, peer_key.key)
        return Sealer(keys.outward), FrameOpener(keys.inward)
