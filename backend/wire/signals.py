"""Signals set up a link of two peers, through the server or a peer (docs/reference/mesh.md, "Links")."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from backend.errors import FrameError
from backend.wire.mesh_fields import Key, Signature

SignalKind = Literal["description", "candidate", "seal", "bye"]
T = TypeVar("T")


class SignedSignal(Struct, frozen=True, forbid_unknown_fields=True):
    """A signal of the link `session`; `body` is the msgpack of a `kind`, signed with the other fields."""

    session: Annotated[bytes, Meta(min_length=16, max_length=16)]
    kind: SignalKind
    body: Annotated[bytes, Meta(max_length=15 * 1024)]
    signature: Signature


class Description(Struct, frozen=True, forbid_unknown_fields=True):
    """A WebRTC offer or answer."""

    type: Literal["offer", "answer"]
    sdp: str


class Candidate(Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True):
    """An ICE candidate of the sender, in SDP; empty after the last one."""

    candidate: str = ""
    sdp_mid: str | None = None
    sdp_m_line_index: int | None = None


class SealKey(Struct, frozen=True, forbid_unknown_fields=True):
    """The sender's X25519 key of this link."""

    key: Key


class Bye(Struct, frozen=True, forbid_unknown_fields=True):
    """The sender ended this link."""


SignalBody = Description | Candidate | SealKey | Bye
KINDS: dict[type[SignalBody], SignalKind] = {
    Description: "description",
    Candidate: "candidate",
    SealKey: "seal",
    Bye: "bye",
}

_encoder = msgspec.msgpack.Encoder()
_signal = msgspec.msgpack.Decoder(SignedSignal)
_bodies: dict[SignalKind, msgspec.msgpack.Decoder[Any]] = {
    kind: msgspec.msgpack.Decoder(body) for body, kind in KINDS.items()
}


def encode_signal(signal: SignedSignal) -> bytes:
    """Returns the note that carries `signal`."""
    return _encoder.encode(signal)


def encode_body(body: SignalBody) -> bytes:
    """Returns the bytes of `body` that the signature covers."""
    return _encoder.encode(body)


def decode_signal(note: bytes | memoryview) -> SignedSignal:
    """Returns the signal in a note. Raises FrameError for anything else."""
    return _decode(_signal, note)


def decode_body(signal: SignedSignal) -> SignalBody:
    """Returns the body of `signal`. Raises FrameError if it is not of the signal's kind."""
    body: SignalBody = _decode(_bodies[signal.kind], signal.body)
    return body


def _decode(decoder: msgspec.msgpack.Decoder[T], data: bytes | memoryview) -> T:
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FrameError(f"The signal is not one of this protocol: {error}.") from error
