"""Bodies of statements have one encoding, and all other bytes are no body."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

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
    decode_body,
    encode_body,
)

ONE, DIGEST = "0123456789abcdef", bytes(range(32))
COMMIT = {"type": "commit", "pieces": [DIGEST], "coin": DIGEST, "judgements": []}
CHECK = {"type": "check", "products": [0.0], "lengths": [1.0]}


@pytest.mark.parametrize(
    "body",
    [
        CommitBody([DIGEST], DIGEST, [WorkFinding(ONE, 3, "doubtful")]),
        MadeBody(b"", [SeenWork(ONE, DIGEST, DIGEST)]),
        RevealBody(DIGEST, DIGEST),
        CheckBody([-0.0, 1.0, 1e-300], [2.0**53]),
        VerdictBody(DIGEST),
        CallBody("made", [DIGEST], [0, 31]),
        ShownBody([DIGEST], [PartFinding(3, None), PartFinding(4, [1], wrong_mean=True)]),
    ],
)
def test_every_body_comes_back(body: Body) -> None:
    assert decode_body(encode_body(body)) == body


def packed(value: dict[str, Any]) -> bytes:
    return msgspec.msgpack.encode(value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        packed({"type": "song"}),
        packed({"type": "verdict", "state": DIGEST[:31]}),
        packed({"type": "verdict", "state": DIGEST, "more": 1}),
        packed({"state": DIGEST, "type": "verdict"}),
        packed({"type": "commit", "pieces": [], "coin": DIGEST}),
        packed(COMMIT | {"pieces": [DIGEST] * 33}),
        packed(COMMIT | {"judgements": [{"target": ONE, "round": 3.0, "found": "same"}]}),
        packed(COMMIT | {"judgements": [{"target": ONE + "0", "round": 3, "found": "same"}]}),
        packed(COMMIT).replace(b"\xc4\x20", b"\xc5\x00\x20"),
        packed(COMMIT).replace(b"commit", b"comm\xfft"),
        packed(CHECK | {"products": [0]}),
        packed(CHECK | {"products": [float("nan")]}),
        packed(CHECK | {"lengths": [float("inf")]}),
        packed(CHECK) + b"\0",
    ],
    ids=lambda data: data.hex()[:40],
)
def test_anything_else_is_none(data: bytes) -> None:
    assert decode_body(data) is None
