"""Writes frames.json: golden frames of minga.1 for both languages. Run `python -m
tests.contract.vectors.make_frames`.

Each entry of `client` and `server` has a `name`, the frame in `hex` and what it decodes to in `value`, where
bytes are written as {"bytes": hex}. Entries of `bad_client` and `bad_server` must be refused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from backend.wire import messages as say
from backend.wire.codec import encode
from backend.wire.masked import Member
from tests.contract.vectors import write

PLACE = Path(__file__).with_name("frames.json")
HASH, OTHER = "0123456789abcdef" * 4, "f" * 64
KEY = bytes(range(7, 39))
TOKEN = "AbCdEfGhIjKlMnOpQrStUv-_"  # noqa: S105 - an example.

CLIENT: dict[str, say.ClientFrame] = {
    "hello from a browser": say.Hello(
        token=TOKEN,
        kind="browser",
        backend="webgl",
        agent="minga-web/0.1.0",
        aggregation=["open"],
        min_masked=0,
    ),
    "hello from a peer": say.Hello(
        token=TOKEN,
        kind="peer",
        backend="tensorflow",
        agent="minga-peer/0.1.0",
        aggregation=["open"],
        min_masked=0,
    ),
    "ready": say.Ready(backend="wasm", step_ms=163.25, examples=0),
    "offer": say.Offer(
        round=7,
        version=6,
        examples=128,
        steps=4,
        loss=0.625,
        sums=[(96.5, 128.25), (-0.5, 1e-3)],
        size=20520,
    ),
    "offer of a model without metrics": say.Offer(
        round=2**33, version=2**53 - 1, examples=1, steps=1, loss=1.5, sums=[], size=4
    ),
    "chunk": say.Chunk(round=7, offset=262144, data=memoryview(bytes(range(256)))),
    "ready with own examples": say.Ready(backend="webgpu", step_ms=7.5, examples=2000),
    "evaluation": say.Evaluation(round=7, version=7, examples=40, loss=0.75, sums=[(31.0, 40.0)]),
    "evaluation without examples": say.Evaluation(round=7, version=7, examples=0, loss=0.0, sums=[]),
    "leave": say.Leave(),
    "hello of one who wants to be one of eight": say.Hello(
        token=TOKEN,
        kind="peer",
        backend="tensorflow",
        agent="x",
        aggregation=["masked", "open"],
        min_masked=8,
    ),
    "keys": say.Keys(
        round=7,
        mask_key=KEY,
        share_key=KEY[::-1],
        seed_hash=KEY,
        identity=bytes(32),
        signature=KEY + KEY[::-1],
    ),
    "shares": say.Shares(round=7, sealed=[bytes(range(80)), b"x"]),
    "vouch": say.Vouch(round=7, signature=KEY + KEY),
    "reveal": say.Reveal(round=7, shares=[KEY, KEY[::-1]]),
    "decline": say.Decline(round=7),
}

SERVER: dict[str, say.ServerFrame] = {
    "welcome": say.Welcome(
        task="digits", client="0123456789abcdef", bundle=HASH, chunk_bytes=262144, aggregation="open"
    ),
    "train": say.Train(
        round=7,
        version=6,
        weights=HASH,
        epochs=1,
        steps=0,
        batch_size=32,
        learning_rate=0.003,
        past_steps=96,
        seed=2147483647,
        proximal_mu=0.0,
        control=None,
        masking=None,
        privacy=None,
        shards=[say.Shard(sha256=HASH, examples=64), say.Shard(sha256=OTHER, examples=32)],
        seconds=59.5,
    ),
    "train by steps on own examples, with FedProx and SCAFFOLD": say.Train(
        round=8,
        version=7,
        weights=HASH,
        epochs=0,
        steps=50,
        batch_size=16,
        learning_rate=0.05,
        past_steps=0,
        seed=1,
        proximal_mu=0.01,
        control=OTHER,
        masking=None,
        privacy=None,
        shards=[],
        seconds=30.0,
    ),
    "evaluate on shards": say.Evaluate(
        round=7,
        version=7,
        weights=HASH,
        shards=[say.Shard(sha256=OTHER, examples=40)],
        seconds=20.0,
    ),
    "evaluate on own examples": say.Evaluate(round=7, version=7, weights=HASH, shards=[], seconds=20.5),
    "credit": say.Credit(round=7, until=1048576),
    "accepted": say.Accepted(round=7, examples=128),
    "refused": say.Refused(round=7, code="not-finite", reason="The update holds NaN or infinity."),
    "state while training": say.State(
        phase="training",
        round=7,
        version=6,
        needed=0,
        cohort=2,
        reported=1,
        quorum=1,
        seconds=12.5,
        participants=[
            say.Participant(
                client="0123456789abcdef", kind="browser", backend="webgpu", status="training", accepted=6
            ),
            say.Participant(
                client="fedcba9876543210", kind="peer", backend="tensorflow", status="reported", accepted=5
            ),
        ],
    ),
    "state while waiting": say.State(
        phase="waiting",
        round=0,
        version=0,
        needed=2,
        cohort=0,
        reported=0,
        quorum=1,
        seconds=None,
        participants=[],
    ),
    "state while paused": say.State(
        phase="paused",
        round=7,
        version=7,
        needed=0,
        cohort=0,
        reported=0,
        quorum=1,
        seconds=None,
        participants=[],
    ),
    "version": say.Version(
        version=7, round=7, weights=HASH, accepted=2, examples=256, loss=0.5, metrics={"accuracy": 0.875}
    ),
    "evaluated": say.Evaluated(version=7, source="server", loss=0.25, metrics={"accuracy": 0.9375}),
    "evaluated by clients": say.Evaluated(version=7, source="clients", loss=0.25, metrics={}),
    "state while evaluating": say.State(
        phase="evaluating",
        round=7,
        version=7,
        needed=0,
        cohort=1,
        reported=0,
        quorum=1,
        seconds=8.0,
        participants=[
            say.Participant(
                client="0123456789abcdef", kind="browser", backend="wasm", status="evaluating", accepted=7
            ),
        ],
    ),
    "train masked, with noise": say.Train(
        round=9,
        version=8,
        weights=HASH,
        epochs=1,
        steps=0,
        batch_size=32,
        learning_rate=0.5,
        past_steps=0,
        seed=3,
        proximal_mu=0.0,
        control=None,
        masking=say.Masking(
            bits=24, clip=1.5, examples=64, noise=0.75, share=0.25, min_clients=8, server="active"
        ),
        privacy=say.Privacy(clip=1.5, noise=0.0, example_clip=0.5, example_noise=1.25, microbatch=4),
        shards=[],
        seconds=30.0,
    ),
    "roster": say.Roster(
        round=7,
        members=[
            Member(
                client="0123456789abcdef",
                mask_key=KEY,
                share_key=KEY[::-1],
                seed_hash=KEY,
                identity=KEY,
                signature=KEY * 2,
            )
        ],
    ),
    "dealt": say.Dealt(round=7, senders=[0, 2], sealed=[bytes(range(80)), bytes(80)]),
    "survivors": say.Survivors(round=7, alive=[0, 1, 4]),
    "unmask": say.Unmask(round=7, alive=[0, 1], vouchers=[1], signatures=[KEY + KEY]),
    "abandoned": say.Abandoned(round=7, reason="0 of at least 1 updates arrived in time."),
    "closing": say.Closing(
        code="replaced", reason="You opened this task elsewhere; that connection goes on."
    ),
}

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
    "ready with minus one example": {"type": "ready", "backend": "wasm", "step_ms": 1.0, "examples": -1},
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
BAD_SERVER: dict[str, Any] = {
    "an unknown tag": {"type": "shout"},
    "a frame of the other side": {"type": "leave"},
    "a short hash": {**json.loads(msgspec.json.encode(SERVER["welcome"])), "bundle": "abc"},
    "a missing field": {"type": "credit", "round": 1},
    "an unknown field": {"type": "credit", "round": 1, "until": 2, "from": 1},
    "a hash with a line's end": {
        **json.loads(msgspec.json.encode(SERVER["welcome"])),
        "bundle": "0" * 63 + "\n",
    },
    "a sum modulo 2^8": {
        **json.loads(msgspec.json.encode(SERVER["train masked, with noise"])),
        "masking": {
            "bits": 8,
            "clip": 1.0,
            "examples": 1,
            "noise": 0.0,
            "share": 1.0,
            "min_clients": 3,
            "server": "honest",
        },
    },
    "a crowd of two": {
        **json.loads(msgspec.json.encode(SERVER["train masked, with noise"])),
        "masking": {
            "bits": 32,
            "clip": 1.0,
            "examples": 1,
            "noise": 0.0,
            "share": 1.0,
            "min_clients": 2,
            "server": "honest",
        },
    },
    "a share of nothing": {
        **json.loads(msgspec.json.encode(SERVER["train masked, with noise"])),
        "masking": {
            "bits": 32,
            "clip": 1.0,
            "examples": 1,
            "noise": 0.0,
            "share": 0.0,
            "min_clients": 3,
            "server": "honest",
        },
    },
    "a share of more than all": {
        **json.loads(msgspec.json.encode(SERVER["train masked, with noise"])),
        "masking": {
            "bits": 32,
            "clip": 1.0,
            "examples": 1,
            "noise": 0.0,
            "share": 1.5,
            "min_clients": 3,
            "server": "honest",
        },
    },
    "a survivor before the first": {"type": "survivors", "round": 1, "alive": [-1]},
    "a survivor beyond the last": {"type": "survivors", "round": 1, "alive": [2048]},
    "a member without keys": {"type": "roster", "round": 1, "members": [{"client": "c"}]},
    "a negative credit": {"type": "credit", "round": 1, "until": -1},
    "an unknown phase": {
        **json.loads(msgspec.json.encode(SERVER["state while waiting"])),
        "phase": "dreaming",
    },
    "shards without addresses": {
        **json.loads(msgspec.json.encode(SERVER["train"])),
        "shards": [{"examples": 1}],
    },
    "minus one step": {**json.loads(msgspec.json.encode(SERVER["train"])), "steps": -1},
    "a control variate that is no address": {
        **json.loads(msgspec.json.encode(SERVER["train"])),
        "control": "zeros",
    },
    "an unknown source": {**json.loads(msgspec.json.encode(SERVER["evaluated"])), "source": "rumour"},
    "17 metrics": {
        **json.loads(msgspec.json.encode(SERVER["evaluated"])),
        "metrics": {f"m{n}": 0.0 for n in range(17)},
    },
    "metrics in metrics": {
        **json.loads(msgspec.json.encode(SERVER["evaluated"])),
        "metrics": {"a": {"b": 1.0}},
    },
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


def frames() -> dict[str, list[dict[str, Any]]]:
    """The content of frames.json."""
    whole_number = {"type": "ready", "backend": "wasm", "step_ms": 163, "examples": 0}
    whole = {
        "name": "ready with a whole number, as JavaScript writes it",
        "hex": msgspec.msgpack.encode(whole_number).hex(),
        "value": whole_number,
    }
    return {
        "client": [*(_good(name, message) for name, message in CLIENT.items()), whole],
        "server": [_good(name, message) for name, message in SERVER.items()],
        "bad_client": [*_bad(BAD_BYTES), *_bad(BAD_CLIENT)],
        "bad_server": [*_bad(BAD_BYTES), *_bad(BAD_SERVER)],
    }


def _good(name: str, message: say.ClientFrame | say.ServerFrame) -> dict[str, Any]:
    frame = encode(message)
    return {"name": name, "hex": frame.hex(), "value": plain(msgspec.msgpack.decode(frame))}


def _bad(entries: dict[str, Any]) -> list[dict[str, str]]:
    return [
        {"name": name, "hex": (value if isinstance(value, bytes) else msgspec.msgpack.encode(value)).hex()}
        for name, value in entries.items()
    ]


def plain(value: Any) -> Any:
    """A decoded frame as JSON can hold it."""
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list) else value


def files() -> dict[str, str]:
    """The content of each file."""
    return {PLACE.name: json.dumps(frames(), indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
