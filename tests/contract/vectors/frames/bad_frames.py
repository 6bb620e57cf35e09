"""Frames of minga.1 that must be refused, by name: of clients, of the server, and what is no frame at all."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from backend.wire.codec import encode
from tests.contract.vectors.frames.good_frames import CLIENT, KEY, SERVER, TOKEN

HELLO: dict[str, Any] = {
    "type": "hello",
    "token": TOKEN,
    "kind": "peer",
    "backend": "tensorflow",
    "agent": "x",
}
HELLO |= {"aggregation": ["open"], "min_masked": 0}
KEYS = {
    "type": "keys",
    "round": 1,
    "mask_key": KEY,
    "share_key": KEY,
    "identity": KEY,
    "signature": KEY + KEY,
}
OFFER = {
    "type": "offer",
    "round": 1,
    "version": 0,
    "examples": 1,
    "steps": 1,
    "loss": 1.0,
    "sums": [],
    "size": 4,
}
BAD_CLIENT: dict[str, Any] = {
    "a list": [1, 2, 3],
    "a number": 7,
    "nothing": None,
    "no tag": {"round": 1},
    "a tag that is a number": {"type": 1},
    "an unknown tag": {"type": "shout"},
    "a frame of the other side": {"type": "credit", "round": 1, "until": 4},
    "a missing field": {"type": "hello", "token": TOKEN, "kind": "peer", "backend": "tensorflow"},
    "an unknown field": {"type": "leave", "why": "tired"},
    "a short token": {**HELLO, "token": "short"},
    "a token with a space": {**HELLO, "token": "AbCdEfGhIjKlMnOpQrSt uv"},
    "no way to add up": {**HELLO, "aggregation": []},
    "an unknown way to add up": {**HELLO, "aggregation": ["rot13"]},
    "a demand for too many": {**HELLO, "min_masked": 4097},
    "a short key": {**KEYS, "mask_key": KEY[:31]},
    "a long key": {**KEYS, "share_key": KEY + b"x"},
    "a key of text": {**KEYS, "identity": "k" * 32},
    "a short signature": {**KEYS, "signature": KEY},
    "shares that are too long": {"type": "shares", "round": 1, "sealed": [bytes(257)]},
    "a decline of no round": {"type": "decline"},
    "a decline with a reason": {"type": "decline", "round": 1, "reason": "The roster is too small."},
    "4097 shares": {"type": "reveal", "round": 1, "shares": [KEY] * 4097},
    "a share of 33 bytes": {"type": "reveal", "round": 1, "shares": [KEY + b"x"]},
    "an unknown kind": {**HELLO, "kind": "toaster"},
    "a long backend": {**HELLO, "backend": "x" * 33},
    "a long agent": {**HELLO, "agent": "x" * 65},
    "a backend with a line's end": {**HELLO, "backend": "cpu\n"},
    "a token with a line's end": {**HELLO, "token": TOKEN + "\n"},
    "a backend with capitals": {**HELLO, "backend": "WebGL"},
    "a negative round": {**OFFER, "round": -1},
    "a round that is a float": {**OFFER, "round": 1.5},
    "a round beyond 2**53": {**OFFER, "round": 2**53},
    "a round that is true": {**OFFER, "round": True},
    "a loss that is a text": {**OFFER, "loss": "low"},
    "2049 sums": {**OFFER, "sums": [[0, 1]] * 2049},
    "sums that are no pairs": {**OFFER, "sums": [1.0, 2.0]},
    "sums of three": {**OFFER, "sums": [[1.0, 2.0, 3.0]]},
    "sums of texts": {**OFFER, "sums": [["a", "b"]]},
    "sums by name": {**OFFER, "sums": {"accuracy": [1.0, 2.0]}},
    "ready with minus one example": {
        "type": "ready",
        "backend": "wasm",
        "step_ms": 1.0,
        "examples": -1,
        "program": None,
    },
    "an evaluation of half an example": {
        "type": "evaluation",
        "round": 1,
        "version": 1,
        "examples": 0.5,
        "loss": 1.0,
        "sums": [],
    },
    "a chunk of text": {"type": "chunk", "round": 1, "offset": 0, "data": "text"},
    "a chunk of numbers": {"type": "chunk", "round": 1, "offset": 0, "data": [0, 1]},
    "a negative offset": {"type": "chunk", "round": 1, "offset": -4, "data": b"1234"},
    "an extension type": {"type": "leave", "more": msgspec.msgpack.Ext(1, b"x")},
}
MASKING = {
    "bits": 32,
    "clip": 1.0,
    "examples": 1,
    "noise": 0.0,
    "share": 1.0,
    "min_clients": 3,
    "server": "honest",
}


def _changed(name: str, **fields: Any) -> dict[str, Any]:
    """A frame of the server with other fields."""
    return {**json.loads(msgspec.json.encode(SERVER[name])), **fields}


BAD_SERVER: dict[str, Any] = {
    "an unknown tag": {"type": "shout"},
    "a frame of the other side": {"type": "leave"},
    "a short hash": _changed("welcome", bundle="abc"),
    "a mechanism that nobody knows": _changed(
        "welcome to a private task",
        privacy={"mechanism": "hope", "clip": 1.0, "noise": 1.0, "delta": 1e-5, "microbatch": 0},
    ),
    "a missing field": {"type": "credit", "round": 1},
    "an unknown field": {"type": "credit", "round": 1, "until": 2, "from": 1},
    "a hash with a line's end": _changed("welcome", bundle="0" * 63 + "\n"),
    "a sum modulo 2^8": _changed("train masked, with noise", masking={**MASKING, "bits": 8}),
    "a crowd of two": _changed("train masked, with noise", masking={**MASKING, "min_clients": 2}),
    "a share of nothing": _changed("train masked, with noise", masking={**MASKING, "share": 0.0}),
    "a share of more than all": _changed("train masked, with noise", masking={**MASKING, "share": 1.5}),
    "a survivor before the first": {"type": "survivors", "round": 1, "alive": [-1]},
    "a survivor beyond the last": {"type": "survivors", "round": 1, "alive": [2048]},
    "a member without keys": {"type": "roster", "round": 1, "members": [{"client": "c"}]},
    "a negative credit": {"type": "credit", "round": 1, "until": -1},
    "an unknown phase": _changed("state while waiting", phase="dreaming"),
    "shards without addresses": _changed("train", shards=[{"examples": 1}]),
    "minus one step": _changed("train", steps=-1),
    "a control variate that is no address": _changed("train", control="zeros"),
    "an unknown source": _changed("evaluated", source="rumour"),
    "17 metrics": _changed("evaluated", metrics={f"m{n}": 0.0 for n in range(17)}),
    "metrics in metrics": _changed("evaluated", metrics={"a": {"b": 1.0}}),
}
BAD_BYTES = {
    "an empty frame": b"",
    "garbage": b"\xde\xad\xbe\xef",
    "a frame cut off": encode(CLIENT["ready"])[:-3],
    "two frames in one": encode(CLIENT["leave"]) * 2,
    "a map that promises four billion entries": b"\xdf\xff\xff\xff\xff",
    "a text that is not UTF-8": b"\x81\xa4type\xa2\xff\xfe",
    "a thousand lists in one another": b"\x91" * 1000,
}
