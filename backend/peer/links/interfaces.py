"""The base of links and of what makes them, and the interfaces that they need."""

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

# The largest frame of each way, and how many bytes of data a chunk in it may have.
FRAME_BYTES: dict[Way, int] = {
    "websocket": MAX_PEER_FRAME,
    "webrtc": 16 * 1024,
    "relay": MOST_RELAYED - TAG_BYTES,
}
_ENVELOPE = 256
ROOM: dict[Way, int] = {way: min(CHUNK_BYTES, largest - _ENVELOPE) for way, largest in FRAME_BYTES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPeer:
    """This peer: its public id, its private Ed25519 key, and the ways it takes, best first.

    `address` is where it takes WebSockets, as others may reach it.
    """

    task: str
    client: str
    key: bytes = field(repr=False)
    ways: tuple[Way, ...] = ("websocket", "webrtc", "relay")
    address: str | None = None


class SignallingServer(Protocol):
    """What links ask of the connection to the task's server."""

    def signal(self, client: str, data: bytes) -> bool:
        """Sends a signal for `client`. False while the server is away."""

    async def relay(self, client: str, data: bytes) -> bool:
        """Sends a sealed frame for `client` as soon as there is room. False if the server is away."""


class Listener(Protocol):
    """Receives news of links: the peer's session. Nothing here may wait."""

    def up(self, client: str, way: Way) -> None:
        """There is a link to `client`, or it goes another way now, or is no longer silent."""

    def down(self, client: str, reason: str) -> None:
        """The last link to `client` is gone, with all that was not sent; `reason` ends a sentence."""

    def received(self, client: str, frame: PeerFrame) -> None:
        """A frame came; its bytes are the listener's to keep."""

    def silent(self, client: str) -> None:
        """For the patience of the group nothing came from `client`. Reported once each time."""

    def refused(self, client: str, reason: str) -> None:
        """There will be no link to `client`; `reason` is a sentence."""


class TrustedIdentities(Protocol):
    """Whose identities are trusted: backend.peer.session.trust_store.TrustStore is one."""

    def is_untrusted(self, client: str, identity: str) -> bool: ...
    def remember(self, identities: dict[str, str]) -> None: ...


class LinkEvents(Protocol):
    """What ways report and ask: LinkManager is one."""

    local: LocalPeer

    def neighbour(self, client: str) -> Neighbour | None:
        """The peer `client`, if it is known and trusted."""

    def sign_signal(self, client: str, session: bytes, body: SignalBody) -> bytes:
        """A signed signal for `client`."""

    def check_signal(self, client: str, note: bytes) -> SignedSignal:
        """The signal in a note of `client`. Raises LinkError or FrameError if it did not sign it."""

    def signal(self, client: str, session: bytes, body: SignalBody) -> None:
        """Sends a signed signal to `client`."""

    def attempt_received(self, client: str, way: Way) -> None:
        """`client` began an attempt of this way."""

    def link_opened(self, link: PeerLink) -> None:
        """A link came about."""

    def frame_received(self, link: PeerLink, frame: bytes) -> None:
        """A frame came."""

    def bytes_sent(self, link: PeerLink, size: int) -> None:
        """The way took `size` bytes of what waited."""

    def link_ended(self, client: str, way: Way, link: PeerLink | None, reason: str) -> None:
        """A link is gone, or, without one, an attempt failed."""


class PeerLink(ABC):
    """One link by one way. It owns its tasks, and ends once."""

    way: ClassVar[Way]

    def __init__(self, client: str, is_initiator: bool) -> None:
        self.client = client
        # Whether this peer began it; else the other did.
        self.is_initiator = is_initiator
        self.opened_at = time.monotonic()
        self.keepalive = Keepalive(self.opened_at)

    def beat(self) -> None:
        """Sends a sign of life."""
        self.send(encode_mesh(self.keepalive.beat(time.monotonic())), False)

    @property
    @abstractmethod
    def buffered(self) -> int:
        """Bytes that wait to be sent."""

    @property
    def unsent(self) -> int:
        """Bytes that would be lost if the link ended now."""
        return self.buffered

    @abstractmethod
    def send(self, frame: bytes, bulk: bool) -> None:
        """Queues a frame; what is not bulk goes before bulk."""

    @abstractmethod
    def close(self) -> None:
        """Ends it from this side, without telling `LinkEvents`."""


class Maker(ABC):
    """Makes links of one way, and owns its attempts."""

    way: ClassVar[Way]

    @abstractmethod
    def begin(self, other: Neighbour) -> None:
        """Begins an attempt."""

    @abstractmethod
    def give_up(self, client: str) -> None:
        """Drops the attempt to `client`, if there is one, without telling `LinkEvents`."""

    @abstractmethod
    def signalled(self, client: str, session: bytes, body: SignalBody) -> None:
        """A signal came. One that is not for this way, or of an older link, is passed over."""

    @abstractmethod
    async def close(self) -> None:
        """Ends all attempts."""
