"""Writes units_frames.json: golden frames of work units, by `python -m
tests.contract.vectors.frames.make_units_frames`.

As frames.json, with the directions `units_to_server` and `to_units`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from backend.wire import messages, unit_messages
from backend.wire.codec import encode
from backend.wire.fields import WireFrame
from tests.contract.vectors import write
from tests.contract.vectors.frames.bad_frames import BAD_BYTES
from tests.contract.vectors.frames.make_frames import plain

PLACE = Path(__file__).parents[1] / "units_frames.json"
HASH, OTHER = "0123456789abcdef" * 4, "f" * 64
TOKEN = "AbCdEfGhIjKlMnOpQrStUv-_"  # noqa: S105 - an example.
PLAN: dict[str, Any] = {
    "epoch": 3,
    "shard": messages.Shard(sha256=OTHER, examples=1024),
    "weights": HASH,
    "batch_size": 32,
    "learning_rate": 0.0625,
    "proximal_mu": 0.0,
    "seconds": 600.0,
    "heartbeat": 30.0,
}

TO_SERVER: dict[str, unit_messages.UnitsToServer] = {
    "enlist from a browser": unit_messages.Enlist(
        token=TOKEN, kind="browser", backend="webgl", agent="minga-web/0.1.0", shards=[]
    ),
    "enlist from a peer that has shards": unit_messages.Enlist(
        token=TOKEN, kind="peer", backend="tensorflow", agent="minga-peer/0.1.0", shards=[OTHER, HASH]
    ),
    "ready": messages.Ready(backend="wasm", step_ms=163.25, examples=0),
    "want": unit_messages.Want(slots=2),
    "want nothing": unit_messages.Want(slots=0),
    "want for an hour offline": unit_messages.Want(slots=31, offline=3600),
    "beat": unit_messages.Beat(lease=7, steps=12),
    "result": unit_messages.Result(
        lease=7, examples=512, steps=16, loss=0.625, sums=[(96.5, 128.25)], size=20520
    ),
    "result of a model without metrics": unit_messages.Result(
        lease=2**53 - 1, examples=1, steps=1, loss=-1.5, sums=[], size=4
    ),
    "result with a commitment": unit_messages.Result(
        lease=7, examples=512, steps=16, loss=0.625, sums=[], size=20520, commitment=OTHER
    ),
    "salt": unit_messages.Salt(lease=7, salt=HASH),
    "chunk": messages.Chunk(round=7, offset=262144, data=memoryview(bytes(range(256)))),
    "release": unit_messages.Release(lease=7, cause="preempted"),
    "leave": messages.Leave(),
}
TO_CLIENT: dict[str, unit_messages.ServerToUnits] = {
    "enlisted": unit_messages.Enlisted(
        task="digits", client="0123456789abcdef", bundle=HASH, chunk_bytes=262144
    ),
    "unit": unit_messages.Unit(
        lease=7,
        unit=12,
        first=0,
        examples=1024,
        base=40,
        epochs=1,
        steps=0,
        past_steps=0,
        seed=2**53 - 1,
        start="given",
        elasticity=0.0,
        **PLAN,
    ),
    "half a shard from the client's own weights": unit_messages.Unit(
        lease=2**33,
        unit=13,
        first=512,
        examples=512,
        base=41,
        epochs=0,
        steps=5,
        past_steps=205,
        seed=0,
        start="elastic",
        elasticity=0.125,
        **PLAN,
    ),
    "the rest of a unit whose first steps another client took": unit_messages.Unit(
        lease=9,
        unit=51,
        first=0,
        examples=1024,
        base=43,
        epochs=0,
        steps=12,
        past_steps=20,
        seed=2**53 - 1,
        start="given",
        elasticity=0.0,
        first_step=20,
        **PLAN,
    ),
    "renewed": unit_messages.Renewed(lease=7, seconds=90.5),
    "drop": unit_messages.Drop(lease=7, reason="Another result of this unit was enough."),
    "credit": messages.Credit(round=7, until=20520),
    "open": unit_messages.OpenCommitment(lease=7),
    "taken": unit_messages.Taken(lease=7, waits=True),
    "counted": unit_messages.Counted(lease=7, examples=512, blended=False),
    "rejected": unit_messages.Rejected(
        lease=7, code="not-finite", reason="A value of the update is no number."
    ),
    "idle": unit_messages.Idle(cause="quota"),
    "standing": unit_messages.Standing(credited=5120, units=10, checked=4, trusted=False, quota=90),
    "board before a measurement": unit_messages.Board(
        phase="waiting",
        epoch=1,
        epochs=40,
        tally=unit_messages.Tally(units=50, done=0, leased=0, compared=0),
        base=0,
        backlog=0,
        browsers=0,
        peers=0,
        measured=0,
        loss=None,
        metrics={},
    ),
    "board": unit_messages.Board(
        phase="training",
        epoch=3,
        epochs=40,
        tally=unit_messages.Tally(units=50, done=12, leased=8, compared=2),
        base=112,
        backlog=1,
        browsers=5,
        peers=3,
        measured=111,
        loss=0.75,
        metrics={"accuracy": 0.8125},
    ),
    "closing": messages.Closing(code="idle", reason="No enlist came within 10 seconds."),
}


def _changed(message: WireFrame, **fields: Any) -> dict[str, Any]:
    return {**msgspec.to_builtins(message, builtin_types=(bytes,)), **fields}


BAD_TO_SERVER: dict[str, Any] = {
    "hello of another protocol": {"type": "hello"},
    "a short token": _changed(TO_SERVER["enlist from a browser"], token="short"),  # noqa: S106 - an example.
    "a short salt": _changed(TO_SERVER["salt"], salt="5a"),
    "a commitment of one byte": _changed(TO_SERVER["result"], commitment="5a"),
    "65 shards": _changed(TO_SERVER["enlist from a browser"], shards=[HASH] * 65),
    "a shard that is no hash": _changed(TO_SERVER["enlist from a browser"], shards=["digits"]),
    "65 slots": {"type": "want", "slots": 65},
    "two days offline": {"type": "want", "slots": 1, "offline": 172_800},
    "half a slot": {"type": "want", "slots": 0.5},
    "a negative lease": {"type": "beat", "lease": -1, "steps": 0},
    "a beat without steps": {"type": "beat", "lease": 1},
    "a loss in words": _changed(TO_SERVER["result"], loss="small"),
    "a result with a field too many": _changed(TO_SERVER["result"], version=1),
    "an unknown cause": {"type": "release", "lease": 7, "cause": "bored"},
    "a server's frame": {"type": "idle", "cause": "nothing"},
}
BAD_TO_CLIENT: dict[str, Any] = {
    "a client's frame": {"type": "want", "slots": 1},
    "a unit without rows": {
        key: value for key, value in _changed(TO_CLIENT["unit"]).items() if key != "examples"
    },
    "an unknown start": _changed(TO_CLIENT["unit"], start="anywhere"),
    "a shard in words": _changed(TO_CLIENT["unit"], shard="the third"),
    "taken for a number": {"type": "taken", "lease": 7, "waits": 1},
    "an unknown reason to be idle": {"type": "idle", "cause": "lunch"},
    "a tally with a field too many": _changed(
        TO_CLIENT["board"], tally={"units": 1, "done": 0, "leased": 0, "compared": 0, "lost": 0}
    ),
    "a board without a loss": {
        key: value for key, value in _changed(TO_CLIENT["board"]).items() if key != "loss"
    },
    "a negative quota": _changed(TO_CLIENT["standing"], quota=-1),
}


def frames() -> dict[str, list[dict[str, Any]]]:
    """The content of units_frames.json."""
    return {
        "units_to_server": [_good(name, message) for name, message in TO_SERVER.items()],
        "to_units": [_good(name, message) for name, message in TO_CLIENT.items()],
        "bad_units_to_server": [*_bad(BAD_BYTES), *_bad(BAD_TO_SERVER)],
        "bad_to_units": [*_bad(BAD_BYTES), *_bad(BAD_TO_CLIENT)],
    }


def _good(name: str, message: unit_messages.UnitsToServer | unit_messages.ServerToUnits) -> dict[str, Any]:
    frame = encode(message)
    return {"name": name, "hex": frame.hex(), "value": plain(msgspec.msgpack.decode(frame))}


def _bad(entries: dict[str, Any]) -> list[dict[str, str]]:
    return [
        {"name": name, "hex": (value if isinstance(value, bytes) else msgspec.msgpack.encode(value)).hex()}
        for name, value in entries.items()
    ]


def files() -> dict[str, str]:
    """The content of each file."""
    return {PLACE.name: json.dumps(frames(), indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
