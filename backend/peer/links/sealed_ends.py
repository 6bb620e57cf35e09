"""Agrees on the keys of a sealed link, by a signed signal of each end."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from backend.crypto.client_keys import KEY_BYTES, agreement_key
from backend.crypto.sealed_link import SESSION_BYTES, FrameOpener, Sealer, link_keys
from backend.wire.signals import SealKey


@dataclass(frozen=True, slots=True)
class Handshake:
    """This peer's new private key for the link `session`: makes its signal and derives the seals."""

    session: bytes = field(default_factory=lambda: secrets.token_bytes(SESSION_BYTES))
    _private: bytes = field(default_factory=lambda: secrets.token_bytes(KEY_BYTES), repr=False)

    @property
    def signal(self) -> SealKey:
        """The public key as a signal, which is sent signed."""
        return SealKey(key=agreement_key(self._private))

    def seals(self, local: str, other: str, peer_key: SealKey) -> tuple[Sealer, FrameOpener]:
        """Returns the sealer of frames to `other` and the opener of its frames. Raises BadKeyError."""
        keys = link_keys(local, other, self._private, peer_key.key)
        return Sealer(keys.outward), FrameOpener(keys.inward)
