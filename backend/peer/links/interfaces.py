"""Defines the base classes of links and link makers, and the interfaces that these use."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from backend.crypto.sealed_link import TAG_BYTES
from backend.protocols.mesh.keepalive import Keepalive
from backend.wire.fields import CHUNK_BYTES
from backend.wire.mesh_codec import MAX_PEER_FRAME, encode_mesh
from backend.wire.mesh_fields import MOST_RELAYED, Way
from backend.wire.mesh_messages import Neighbour
from backend.wire.peer_messages import PeerFrame
from backend.wire.signals import SignalBody, SignedSignal

# The largest frame of each way, and the bytes of data that a chunk in it may have.
FRAME_BYTES: dict[Way, int] = {
    "websocket": MAX_PEER_FRAME,
    "webrtc": 16 * 1024,
    "relay": MOST_RELAYED - TAG_BYTES,
}
_ENVELOPE = 256
ROOM: dict[Way, int] = {way: min(CHUNK_BYTES, largest - _ENVELOPE) for way, largest in FRAME_BYTES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPeer:
    """This peer: its public id, its private Ed25519 key, and the ways it supports, best first.

    `address` is where other peers reach its WebSocket listener.
    """

    task: str
    client: str
    key: bytes = field(repr=False)
    ways: tuple[Way, ...] = ("websocket", "webrtc", "relay")
    address: str | None = None


class SignallingServer(Protocol):
    """The connection to the task's server, as links use it."""

    def signal(self, client: str, data: bytes) -> bool:
        """Sends a signal for `client`; returns False while the server is away."""

    async def relay(self, client: str, data: bytes) -> bool:
        """Sends a sealed frame for `client` as soon as there is room; returns False if the server is away."""


class Listener(Protocol):
    """Receives events of links: the peer's session implements it. No method may block."""

    def up(self, client: str, way: Way) -> None:
        """Reports a link to `client`, a change of its way, or the end of its silence."""

    def down(self, client: str, reason: str) -> None:
        """Reports that the last link to `client` and its unsent frames are lost; `reason` ends a sentence."""

    def received(self, client: str, frame: PeerFrame) -> None:
        """Takes a frame; the listener owns its bytes."""

    def silent(self, client: str) -> None:
        """Reports that nothing came from `client` for the group's patience; once for each silence."""

    def refused(self, client: str, reason: str) -> None:
        """Reports that `client` gets no link; `reason` is a sentence."""


class TrustedIdentities(Protocol):
    """The trusted identities of peers; backend.peer.session.trust_store.TrustStore implements it."""

    def is_untrusted(self, client: str, identity: str) -> bool: ...
    def remember(self, identities: dict[str, str]) -> None: ...


class LinkEvents(Protocol):
    """Receives reports and requests of the ways; LinkManager implements it."""

    local: LocalPeer

    def neighbour(self, client: str) -> Neighbour | None:
        """Returns the peer `client`; None if it is unknown or not trusted."""

    def sign_signal(self, client: str, session: bytes, body: SignalBody) -> bytes:
        """Returns a signed signal for `client`."""

    def check_signal(self, client: str, note: bytes) -> SignedSignal:
        """Returns the signal in a note that `client` signed; raises LinkError or FrameError for any other."""

    def signal(self, client: str, session: bytes, body: SignalBody) -> None:
        """Sends a signed signal to `client`."""

    def attempt_received(self, client: str, way: Way) -> None:
        """Reports that `client` began an attempt of this way."""

    def link_opened(self, link: PeerLink) -> None:
        """Reports an open link."""

    def frame_received(self, link: PeerLink, frame: bytes) -> None:
        """Takes a frame of `link`."""

    def bytes_sent(self, link: PeerLink, size: int) -> None:
        """Reports that the way took `size` bytes of the queue."""

    def link_ended(self, client: str, way: Way, link: PeerLink | None, reason: str) -> None:
        """Reports that `link` ended or, if it is None, that an attempt failed."""


class PeerLink(ABC):
    """One link to a peer by one way: owns its tasks, and ends once."""

    way: ClassVar[Way]

    def __init__(self, client: str, is_initiator: bool) -> None:
        self.client = client
        # Whether this peer began it; else the other did.
        self.is_initiator = is_initiator
        self.opened_at = time.monotonic()
        self.keepalive = Keepalive(self.opened_at)

    def beat(self) -> None:
        """Sends a heartbeat."""
        self.send(encode_mesh(self.keepalive.beat(time.monotonic())), False)

    @property
    @abstractmethod
    def buffered(self) -> int:
        """The bytes that wait to be sent."""

    @property
    def unsent(self) -> int:
        """The bytes that would be lost if the link ended now."""
        return self.buffered

    @abstractmethod
    def send(self, frame: bytes, bulk: bool) -> None:
        """Queues a frame; control frames go before bulk."""

    @abstractmethod
    def close(self) -> None:
        """Ends the link from this side, without a report to `LinkEvents`."""


class Maker(ABC):
    """Makes links of one way, and owns its attempts."""

    way: ClassVar[Way]

    @abstractmethod
    def begin(self, other: Neighbour) -> None:
        """Begins an attempt."""

    @abstractmethod
    def give_up(self, client: str) -> None:
        """Drops the attempt to `client`, if there is one, without a report to `LinkEvents`."""

    @abstractmethod
    def signalled(self, client: str, session: bytes, body: SignalBody) -> None:
        """Takes a signal; ignores one that is for another way or of an older link."""

    @abstractmethod
    async def close(self) -> None:
        """Ends all attempts."""
