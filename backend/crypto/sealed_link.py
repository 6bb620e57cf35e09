"""Sealed links: two peers encrypt frames end to end (docs/reference/mesh.md, "Links").

Both send a fresh X25519 key, signed by their identity; frames are sealed by AES-256-GCM with one key for each
direction. Each link has its own keys, so that a counter is a safe nonce.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from backend.crypto.client_keys import agree, agreement_key
from backend.crypto.derive import hkdf
from backend.crypto.round_context import fields
from backend.errors import LinkError

SESSION_BYTES = 16
TAG_BYTES = 16
_NONCE_BYTES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Signalled:
    """The fields that a signal's signature covers; `sender` and `receiver` are public ids of peers."""

    task: str
    sender: str
    receiver: str
    session: bytes
    kind: str
    body: bytes


def signal_statement(signal: Signalled) -> bytes:
    """Returns the bytes that a signal's sender signs, so that no relay can change or reuse the signal."""
    return fields(
        b"minga/mesh/1/signal",
        signal.task.encode(),
        signal.sender.encode(),
        signal.receiver.encode(),
        signal.session,
        signal.kind.encode(),
        signal.body,
    )


@dataclass(frozen=True, slots=True)
class LinkKeys:
    """The keys of one link, 32 bytes each: for frames that this peer sends, and for those it receives."""

    outward: bytes = field(repr=False)
    inward: bytes = field(repr=False)


def link_keys(own: str, other: str, private: bytes, public: bytes) -> LinkKeys:
    """Returns the keys of peer `own` for its link to `other`.

    `private` is its X25519 key of this link, `public` the other's. Raises BadKeyError for a key with which no
    agreement is possible.
    """
    publics = {own: agreement_key(private), other: public}
    salt = b"".join(publics[client] for client in sorted(publics))
    secret = agree(private, public)
    outward, inward = (hkdf(secret, salt, b"minga/mesh/1/" + client.encode()) for client in (own, other))
    return LinkKeys(outward, inward)


class Sealer:
    """Seals the frames of one direction of a link, in order."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)
        self._sealed = 0

    def seal(self, frame: bytes | memoryview) -> bytes:
        """Returns the sealed frame, longer by TAG_BYTES."""
        nonce = self._sealed.to_bytes(_NONCE_BYTES, "big")
        self._sealed += 1
        return self._cipher.encrypt(nonce, frame, None)


class FrameOpener:
    """Opens the frames of one direction of a link, in the order in which they were sealed."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)
        self._opened = 0

    def open(self, sealed: bytes | memoryview) -> bytes:
        """Returns the frame. Raises LinkError if it is not the next frame; the link is then unusable."""
        nonce = self._opened.to_bytes(_NONCE_BYTES, "big")
        try:
            frame = self._cipher.decrypt(nonce, sealed, None)
        except InvalidTag as error:
            raise LinkError(
                "The received frame is not the next one that the other peer sealed; link again."
            ) from error
        self._opened += 1
        return frame
