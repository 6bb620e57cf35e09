"""Writes masked_pieces.json: `python -m tests.contract.vectors.secagg.make_masked_parts`. Bytes are in
hexadecimal.

A set of a group with all that its members need, and what each sends of a part: Python and TypeScript must
make the same of it (docs/decisions/0032-masks-in-a-group.md).
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from backend.crypto.client_keys import agreement_key
from backend.crypto.keystream import add_keystreams
from backend.crypto.pads import PadContext, common_key, pads
from backend.numerics.aggregation.part_mean import shares
from backend.numerics.masking.masked_parts import (
    MAX_VALUE,
    add_words,
    checked_mean,
    mean_into,
    piece_words,
    to_bytes,
)
from backend.numerics.precision import Bytes
from tests.contract.vectors import write
from tests.contract.vectors.mesh.make_averaging import KEPT, SPECIAL, drawn
from tests.contract.vectors.secagg.make_masked import made

PLACE = Path(__file__).parents[1] / "masked_pieces.json"
CONTEXT = PadContext(task="digits", bundle="0123456789abcdef" * 4, round=7, group=2)
# Places of the set, part, subject, and values of the part: two sets of one part, few values, many.
CASES: list[tuple[list[int], int, str, int]] = [
    ([0, 1, 2, 3], 1, "changes", 40),
    ([0, 2, 3], 1, "changes", 40),
    ([0, 1, 3], 3, "weights", 3),
    ([1, 2, 5, 31], 31, "changes", 70_000),
]
WEIGHTS = {0: 640.0, 1: 1.0, 2: 320.5, 3: 77.0, 5: 1e6, 31: 3.0}


def vectors() -> dict[str, Any]:
    """The content of masked_pieces.json."""
    return {
        "task": CONTEXT.task,
        "bundle": CONTEXT.bundle,
        "round": CONTEXT.round,
        "group": CONTEXT.group,
        "members": {str(place): _member(place) for place in WEIGHTS},
        "common": [_common(0, 1), _common(3, 0), _common(5, 31)],
        "words": [_words(subject) for subject in MAX_VALUE],
        "sums": [_sum(*case) for case in CASES],
    }


def _private(place: int) -> bytes:
    return made(f"key of the member at place {place}")


def _member(place: int) -> dict[str, Any]:
    private = _private(place)
    return {"private": private.hex(), "key": agreement_key(private).hex(), "weight": WEIGHTS[place]}


def _key(own: int, other: int) -> bytes:
    return common_key(_private(own), agreement_key(_private(other)), own, other, CONTEXT)


def _common(own: int, other: int) -> dict[str, Any]:
    return {"own": own, "other": other, "key": _key(own, other).hex()}


def _words(subject: str) -> dict[str, Any]:
    """Words without masks, of values that are rounded, set to the most, and neither."""
    values = np.array([*SPECIAL, 63.9999, -64.0, 64.5, 4096.0, -5000.0, 2.0**-25, 3 * 2.0**-25], np.float32)
    share = shares([1.0, 2.0])[0]
    words = to_bytes(piece_words(values, share, subject))
    return {
        "subject": subject,
        "values": values.tobytes().hex(),
        "share": float(share),
        "words": words.tobytes().hex(),
    }


def _sum(places: list[int], part: int, subject: str, values: int) -> dict[str, Any]:
    each = shares([WEIGHTS[place] for place in places])
    pieces = [
        _piece(place, share, places, part, subject, values) for place, share in zip(places, each, strict=True)
    ]
    total = np.zeros(values, np.uint32)
    add_words(pieces, total)
    mean, decoded = checked_mean(to_bytes(total), values), np.empty(values, np.float32)
    mean_into(mean, subject, decoded)
    return {
        "places": places,
        "part": part,
        "subject": subject,
        "values": values,
        "pads": {
            str(place): [
                {"key": key.hex(), "sign": sign}
                for key, sign in pads(
                    place, {one: _key(place, one) for one in places if one != place}, part, places
                )
            ]
            for place in places
        },
        "pieces": [_told(piece) for piece in pieces],
        "mean": _told(mean),
        "decoded": _told(decoded.view(np.uint8)),
    }


def _piece(place: int, share: np.float32, places: list[int], part: int, subject: str, values: int) -> Bytes:
    """The values are those of mesh/make_averaging.py `drawn`: case `part`, member `place`, up to 0.5."""
    words = piece_words(drawn(part, place, values, 0.5), share, subject)
    common = {one: _key(place, one) for one in places if one != place}
    add_keystreams(words, pads(place, common, part, places))
    return to_bytes(words)


def _told(data: Bytes) -> dict[str, Any]:
    raw = data.tobytes()
    return {"bytes": len(raw), "first": raw[:KEPT].hex(), "sha256": hashlib.sha256(raw).hexdigest()}


def files() -> dict[str, str]:
    """The content of each file."""
    return {PLACE.name: json.dumps(vectors(), indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
