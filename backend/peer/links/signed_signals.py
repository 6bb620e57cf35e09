"""Signs this peer's signals, and checks those of others."""

from __future__ import annotations

from backend.crypto.client_keys import sign, verify
from backend.crypto.sealed_link import Signalled, signal_statement
from backend.errors import LinkError
from backend.peer.links.interfaces import LocalPeer
from backend.wire.mesh_messages import Neighbour
from backend.wire.signals import (
    KINDS,
    SignalBody,
    SignedSignal,
    decode_signal,
    encode_body,
    encode_signal,
)


def signed_note(local: LocalPeer, client: str, session: bytes, content: SignalBody) -> bytes:
    """Returns a signed and encoded signal of this peer for `client`."""
    kind, body = KINDS[type(content)], encode_body(content)
    statement = signal_statement(
        Signalled(
            task=local.task, sender=local.client, receiver=client, session=session, kind=kind, body=body
        )
    )
    return encode_signal(SignedSignal(session, kind, body, sign(local.key, statement)))


def checked_signal(local: LocalPeer, sender: Neighbour, note: bytes) -> SignedSignal:
    """Returns the signal in a note that `sender` signed for this peer.

    Raises FrameError for an invalid signal, LinkError for one that `sender` did not sign.
    """
    signal = decode_signal(note)
    statement = signal_statement(
        Signalled(
            task=local.task,
            sender=sender.client,
            receiver=local.client,
            session=signal.session,
            kind=signal.kind,
            body=signal.body,
        )
    )
    if not verify(sender.identity, signal.signature, statement):
        raise LinkError(f"The signal was not signed by peer {sender.client}; it is ignored.")
    return signal
