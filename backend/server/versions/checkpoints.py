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
    """Where a task of work units stands, to be kept with the `assimilations` since the last one.

    `content` is what its host keeps beside weights [parameters] and memory.
    """

    at: float
    epoch: int
    base: int
    weights: Vector
    memory: Memory
    content: bytes
    assimilations: list[AssimilationRecord]


async def passage(writing: Writing, point: Checkpoint) -> CheckpointWrite:
    """Stores the vectors of a checkpoint and returns its record. Raises StoreError."""
    weights = await writing.put(await asyncio.to_thread(to_bytes, point.weights))
    slot = point.memory.slot
    slot_at = await writing.put(await asyncio.to_thread(to_bytes, slot)) if len(slot) else None
    checkpoint = CheckpointRecord(
        point.at, point.epoch, point.base, weights, slot_at, point.memory.count, point.content
    )
    return CheckpointWrite(checkpoint, point.assimilations)


async def read_point(kept: CheckpointRecord, read: Callable[[str, str], Awaitable[bytes]]) -> Checkpoint:
    """Reads a recorded checkpoint. `read` returns the bytes of an address; its second argument names them."""
    data = await read(kept.weights, "checkpoint")
    slot = no_state()
    if kept.slot is not None:
        slot = np.frombuffer(await read(kept.slot, "checkpoint's memory"), "<f4").astype(np.float32)
    memory = Memory(slot, kept.count)
    weights = from_bytes(data, len(data) // 4)
    return Checkpoint(kept.at, kept.epoch, kept.base, weights, memory, kept.content, [])
