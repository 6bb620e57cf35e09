"""Encodes the checkpoint of a work unit: the state of its training, and the unit that it belongs to.

A file is a line that names its format, the SHA-256 of all that follows, the length of a JSON header (4 bytes,
little-endian), the header, the weights and slots (float32), and the totals (float64).
"""

from __future__ import annotations

import hashlib
import struct
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace

from backend.errors import PeerError
from backend.peer.training.training_state import TrainingState
from backend.wire.fields import Count, Hash
from backend.wire.unit_messages import MOST_CHECKPOINTS, Unit

FORMAT = b"minga unit checkpoint 1\n"
_DIGEST = 32


class UnitOwner(Struct, frozen=True, forbid_unknown_fields=True):
    """Who trains a unit, and by what: `client` at the task's `address`, with `bundle` on `backend`.

    `program` is the hash of an exact client's program. Nobody else may continue the training.
    """

    address: str
    client: str
    bundle: str
    backend: str
    program: str | None


class CheckpointHeader(Struct, frozen=True, forbid_unknown_fields=True):
    """What a checkpoint is of, and the number of its values."""

    owner: UnitOwner
    unit: Unit
    steps: Annotated[int, Meta(ge=1)]
    weights: Count
    slots: Count
    totals: Count
    hashes: Annotated[list[Hash], Meta(max_length=MOST_CHECKPOINTS)]


def without_lease(unit: Unit) -> Unit:
    """Returns what the result of a unit depends on: all but the lease and its times."""
    return replace(unit, lease=0, seconds=0.0, heartbeat=0.0)


def checkpoint_name(owner: UnitOwner, unit: Unit) -> str:
    """Returns the name of the file for this unit."""
    return f"{hashlib.sha256(msgspec.json.encode((owner, without_lease(unit)))).hexdigest()[:32]}.checkpoint"


def encode_checkpoint(owner: UnitOwner, unit: Unit, state: TrainingState) -> bytes:
    """Returns the bytes of a checkpoint."""
    header = msgspec.json.encode(
        CheckpointHeader(
            owner,
            without_lease(unit),
            state.steps,
            state.weights.size,
            state.slots.size,
            state.totals.size,
            list(state.hashes),
        )
    )
    parts = (
        struct.pack("<I", len(header)),
        header,
        np.ascontiguousarray(state.weights, "<f4").data,
        np.ascontiguousarray(state.slots, "<f4").data,
        np.ascontiguousarray(state.totals, "<f8").data,
    )
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return b"".join((FORMAT, digest.digest(), *parts))


def decode_checkpoint(content: bytes, owner: UnitOwner, unit: Unit) -> TrainingState:
    """Returns the state in a checkpoint of this unit.

    Raises PeerError for a torn or changed file, or a checkpoint of another unit, version or bundle.
    """
    begin = len(FORMAT) + _DIGEST
    body = memoryview(content)[begin:]
    if not content.startswith(FORMAT) or hashlib.sha256(body).digest() != content[len(FORMAT) : begin]:
        raise PeerError("The checkpoint is damaged.")
    try:
        (length,) = struct.unpack_from("<I", body)
        header = msgspec.json.decode(body[4 : 4 + length], type=CheckpointHeader)
    except (struct.error, msgspec.DecodeError) as error:
        raise PeerError("The checkpoint has another format.") from error
    if (header.owner, header.unit) != (owner, without_lease(unit)):
        raise PeerError("The checkpoint is of another unit.")
    values = body[4 + length :]
    slots = 4 * header.weights
    totals = slots + 4 * header.slots
    if len(values) != totals + 8 * header.totals:
        raise PeerError("The checkpoint has another format.")
    return TrainingState(
        header.steps,
        np.frombuffer(values[:slots], "<f4"),
        np.frombuffer(values[slots:totals], "<f4"),
        np.frombuffer(values[totals:], "<f8"),
        tuple(header.hashes),
    )
