"""Frames that two peers seal for each other, whoever carries them: docs/reference/mesh.md, "Links".

Both send a fresh X25519 key, signed by their identity; AES-256-GCM with a key for each direction does the
rest. Each link has keys of its own, so that a counter is a good nonce.
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
    """What the signature of a signal covers; `sender` and `receiver` are public ids of peers of `task`."""

    task: str
    sender: str
    receiver: str
    session: bytes
    kind: str
    body: bytes


def signal_statement(signal: Signalled) -> bytes:
    """What the sender of a signal signs: who carries it can neither change it nor use it elsewhere."""
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
    """The keys of one link, 32 bytes each: of what this peer sends, and of what it hears."""

    outward: bytes = field(repr=False)
    inward: bytes = field(repr=False)


def link_keys(own: str, other: str, private: bytes, public: bytes) -> LinkKeys:
    """The keys of peer `own` for its link to `other`.

    `private` is its X25519 key of this link, `public` the other's. Raises BadKeyError for a key that one
    cannot agree with.
    """
    publics = {own: agreement_key(private), other: public}
    salt = b"".join(publics[client] for client in sorted(publics))
    secret = agree(private, public)
    outward, inward = (hkdf(secret, salt, b"minga/mesh/1/" + client.encode()) for client in (own, other))
    return LinkKeys(outward, inward)


class Sealer:
    """Seals the frames of one direction of a link, one after the other."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)
        self._sealed = 0

    def seal(self, frame: bytes | memoryview) -> bytes:
        """The sealed frame, longer by TAG_BYTES."""
        nonce = self._sealed.to_bytes(_NONCE_BYTES, "big")
        self._sealed += 1
        return self._cipher.encrypt(nonce, frame, None)


class FrameOpener:
    """Opens the frames of one direction of a link, in the order in which they were sealed."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)
        self._opened = 0

    def open(self, sealed: bytes | memoryview) -> bytes:
        """The frame. Raises LinkError if the other did not seal it next; the link is of no use then."""
        nonce = self._opened.to_bytes(_NONCE_BYTES, "big")
        try:
            frame = self._cipher.decrypt(nonce, sealed, None)
        except InvalidTag as error:
            raise LinkError(
                "What came over the link is not the next frame that the other peer sealed; link again."
            ) from error
        self._opened += 1
        return frame
