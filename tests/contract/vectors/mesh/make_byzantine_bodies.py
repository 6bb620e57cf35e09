"""Writes byzantine_bodies.json: what members of a Byzantine mesh sign, and bytes that are no body.

Run `python -m tests.contract.vectors.mesh.make_byzantine_bodies`. Digests are hexadecimal.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from backend.wire.byzantine_bodies import (
    Body,
    CallBody,
    CheckBody,
    CommitBody,
    MadeBody,
    PartFinding,
    RevealBody,
    SeenWork,
    ShownBody,
    VerdictBody,
    WorkFinding,
    encode_body,
)
from tests.contract.vectors import write

ONE, DIGEST, OTHER = "0123456789abcdef", bytes(range(32)), bytes([255] * 32)
GOOD: list[Body] = [
    CommitBody(
        [DIGEST, OTHER], DIGEST, [WorkFinding(ONE, 3, "doubtful"), WorkFinding(ONE, 2**53 - 1, "same")]
    ),
    CommitBody([], DIGEST, [WorkFinding(ONE, 3, "unable")]),
    CommitBody([], DIGEST),
    MadeBody(b"", [SeenWork(ONE, DIGEST, OTHER)]),
    MadeBody(DIGEST),
    RevealBody(DIGEST, OTHER),
    CheckBody([-0.0, 1.0, 1e-300], [2.0**53, 0.1]),
    CheckBody([], []),
    VerdictBody(DIGEST),
    CallBody("made", [DIGEST], [0, 31]),
    ShownBody([DIGEST], [PartFinding(3, None), PartFinding(4, [1], wrong_mean=True)]),
    ShownBody([DIGEST] * 40, []),
]
COMMIT: dict[str, Any] = {"type": "commit", "pieces": [DIGEST], "coin": DIGEST, "judgements": []}
CHECK: dict[str, Any] = {"type": "check", "products": [0.0], "lengths": [1.0]}
FOUND: dict[str, Any] = {"target": ONE, "round": 3, "found": "same"}


def packed(value: dict[str, Any]) -> bytes:
    """Returns a map as bytes."""
    return msgspec.msgpack.encode(value)


BAD: dict[str, bytes] = {
    "nothing": b"",
    "no value": b"\xc1",
    "an unknown kind": packed({"type": "song"}),
    "a short digest": packed({"type": "verdict", "state": DIGEST[:31]}),
    "a text in place of bytes": packed({"type": "verdict", "state": "a" * 32}),
    "an unknown field": packed({"type": "verdict", "state": DIGEST, "more": 1}),
    "fields in another order": packed({"state": DIGEST, "type": "verdict"}),
    "a field twice": b"\x83" + packed({"type": "verdict", "state": DIGEST})[1:] + b"\xa4type\xa7verdict",
    "a default left out": packed({"type": "commit", "pieces": [], "coin": DIGEST}),
    "33 pieces": packed(COMMIT | {"pieces": [DIGEST] * 33}),
    "a round as a float": packed(COMMIT | {"judgements": [FOUND | {"round": 3.0}]}),
    "a negative round": packed(COMMIT | {"judgements": [FOUND | {"round": -1}]}),
    "a round over 2^53": packed(COMMIT | {"judgements": [FOUND | {"round": 2**53}]}),
    "a client of 17 digits": packed(COMMIT | {"judgements": [FOUND | {"target": ONE + "0"}]}),
    "a client and a line feed": packed(COMMIT | {"judgements": [FOUND | {"target": ONE[:15] + "\n"}]}),
    "a longer encoding of bytes": packed(COMMIT).replace(b"\xc4\x20", b"\xc5\x00\x20"),
    "a longer encoding of a list": packed(COMMIT)[:-1] + b"\xdc\x00\x00",
    "a kind that is no UTF-8": packed(COMMIT).replace(b"commit", b"comm\xfft"),
    "a whole number": packed(CHECK | {"products": [0]}),
    "a float of 4 bytes": packed(CHECK).replace(b"\xcb" + bytes(8), b"\xca" + bytes(4)),
    "not a number": packed(CHECK | {"products": [float("nan")]}),
    "an infinite number": packed(CHECK | {"lengths": [float("inf")]}),
    "truth as a number": packed(CHECK | {"lengths": [True]}),
    "more than a body": packed(CHECK) + b"\0",
    "place 32": packed({"type": "call", "phase": "made", "lacks": [], "disputed": [32]}),
    "no phase": packed({"type": "call", "phase": "call", "lacks": [], "disputed": []}),
}


def files() -> dict[str, str]:
    """The golden file and its content."""
    golden = {
        "good": [
            {"hex": encode_body(body).hex(), "value": msgspec.to_builtins(body, builtin_types=(bytes,))}
            for body in GOOD
        ],
        "bad": [{"name": name, "hex": data.hex()} for name, data in BAD.items()],
    }
    return {"byzantine_bodies.json": json.dumps(golden, indent=1, default=bytes.hex) + "\n"}


if __name__ == "__main__":
    write(files())
