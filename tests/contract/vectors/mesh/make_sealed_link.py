"""Writes sealed_link.json: signals and sealed frames of links, to which Python and TypeScript are held.

Run `python -m tests.contract.vectors.mesh.make_sealed_link` after a change that is meant, and look at the
difference.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from backend.crypto.client_keys import agreement_key, identity_key, sign
from backend.crypto.sealed_link import Sealer, Signalled, link_keys, signal_statement
from backend.wire import signals
from tests.contract.vectors import write
from tests.contract.vectors.secagg.make_masked import made

PLACE = Path(__file__).parents[1] / "sealed_link.json"
TASK = "digits"
SMALLER, LARGER = "00d1c7e2a9b80f31", "f3a0c45b6e7d8192"
PEERS = {
    client: {"identity": made(f"identity of {client}"), "private": made(f"link key of {client}")}
    for client in (SMALLER, LARGER)
}
SESSION = made("session")[:16]
BODIES: dict[str, signals.SignalBody] = {
    "an offer": signals.Description(type="offer", sdp="v=0\r\no=- 1 2 IN IP4 0.0.0.0\r\ns=-\r\n"),
    "an answer": signals.Description(type="answer", sdp="v=0\r\ns=ä\r\n"),
    "a candidate": signals.Candidate(
        candidate="candidate:1 1 udp 2130706431 192.0.2.7 50000 typ host", sdp_mid="0", sdp_m_line_index=0
    ),
    "the last candidate": signals.Candidate(),
    "a key": signals.SealKey(key=agreement_key(PEERS[SMALLER]["private"])),
    "an end": signals.Bye(),
}
FRAMES = [b"", b"a", bytes(range(256)), bytes(range(7)) * 100]


def vectors() -> dict[str, Any]:
    """The content of sealed_link.json; bytes are in hexadecimal."""
    return {
        "task": TASK,
        "peers": [_peer(client) for client in PEERS],
        "signals": [_signal(name, body) for name, body in BODIES.items()],
        "links": [_link(SMALLER, LARGER), _link(LARGER, SMALLER)],
    }


def _peer(client: str) -> dict[str, str]:
    secrets = PEERS[client]
    return {
        "client": client,
        "identity_private": secrets["identity"].hex(),
        "identity": identity_key(secrets["identity"]).hex(),
        "private": secrets["private"].hex(),
        "public": agreement_key(secrets["private"]).hex(),
    }


def _signal(name: str, said: signals.SignalBody) -> dict[str, str]:
    """A signal of the smaller id for the larger one."""
    kind, body = signals.KINDS[type(said)], signals.encode_body(said)
    statement = signal_statement(
        Signalled(task=TASK, sender=SMALLER, receiver=LARGER, session=SESSION, kind=kind, body=body)
    )
    signature = sign(PEERS[SMALLER]["identity"], statement)
    note = signals.encode_signal(signals.SignedSignal(SESSION, kind, body, signature))
    return {
        "name": name,
        "session": SESSION.hex(),
        "kind": kind,
        "body": body.hex(),
        "statement": statement.hex(),
        "signature": signature.hex(),
        "note": note.hex(),
    }


def _link(own: str, other: str) -> dict[str, Any]:
    """The link as `own` sees it, and what it seals."""
    keys = link_keys(own, other, PEERS[own]["private"], agreement_key(PEERS[other]["private"]))
    sealer = Sealer(keys.outward)
    return {
        "own": own,
        "other": other,
        "outward": keys.outward.hex(),
        "inward": keys.inward.hex(),
        "frames": [{"frame": frame.hex(), "sealed": sealer.seal(frame).hex()} for frame in FRAMES],
    }


def files() -> dict[str, str]:
    """The content of each file."""
    return {PLACE.name: json.dumps(vectors(), indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
