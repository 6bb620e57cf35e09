"""Checkpoints from which a task of work units resumes after a restart of its server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import numpy as np

from backend.numerics.aggregation.asynchronous import Memory
from backend.numerics.aggregation.server_optimizers import no_state
from backend.numerics.vectors import Vector, from_bytes, to_bytes
from backend.stores.contracts import AssimilationRecord, CheckpointRecord, CheckpointWrite, Writing


@dataclass(frozen=True)
class Checkpoint:
    """The state of a task of work units, recorded with the `assimilations` since the last checkpoint.

    `content` is the host's state beside weights [parameters] and memory.
    """

    at: float
    epoch: int
    base: int
    weights: Vector
    memory: Memory
    content: bytes
    assimilations: list[AssimilationRecord]


async def checkpoint_write(writing: Writing, checkpoint: Checkpoint) -> CheckpointWrite:
    """Stores the vectors of a checkpoint and returns the record to write. Raises StoreError."""
    weights = await writing.put(await asyncio.to_thread(to_bytes, checkpoint.weights))
    slot = checkpoint.memory.slot
    slot_at = await writing.put(await asyncio.to_thread(to_bytes, slot)) if len(slot) else None
    record = CheckpointRecord(
        checkpoint.at,
        checkpoint.epoch,
        checkpoint.base,
        weights,
        slot_at,
        checkpoint.memory.count,
        checkpoint.content,
    )
    return CheckpointWrite(record, checkpoint.assimilations)


async def read_checkpoint(
    record: CheckpointRecord, read: Callable[[str, str], Awaitable[bytes]]
) -> Checkpoint:
    """Reads a recorded checkpoint. `read` returns the bytes of an address; its second argument names them."""
    data = await read(record.weights, "checkpoint")
    slot = no_state()
    if record.slot is not None:
        slot = np.frombuffer(await read(record.slot, "checkpoint's memory"), "<f4").astype(np.float32)
    memory = Memory(slot, record.count)
    weights = from_bytes(data, len(data) // 4)
    return Checkpoint(record.at, record.epoch, record.base, weights, memory, record.content, [])
