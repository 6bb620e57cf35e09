"""Writes frames.json: golden frames of minga.1 for both languages. Run `python -m
tests.contract.vectors.frames.make_frames`.

Each entry of `client` and `server` has a `name`, the frame in `hex` and what it decodes to in `value`, where
bytes are written as {"bytes": hex}. Entries of `bad_client` and `bad_server` must be refused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from backend.wire import messages
from backend.wire.codec import encode
from tests.contract.vectors import write
from tests.contract.vectors.frames.bad_frames import BAD_BYTES, BAD_CLIENT, BAD_SERVER
from tests.contract.vectors.frames.good_frames import CLIENT, SERVER

PLACE = Path(__file__).parents[1] / "frames.json"


def frames() -> dict[str, list[dict[str, Any]]]:
    """The content of frames.json."""
    whole_number = {"type": "ready", "backend": "wasm", "step_ms": 163, "examples": 0, "program": None}
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


def _good(name: str, message: messages.ClientFrame | messages.ServerFrame) -> dict[str, Any]:
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
