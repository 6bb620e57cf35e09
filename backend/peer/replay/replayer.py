"""Trains a work unit again by the worker in Node.js, and answers a bisection's questions about it."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import numpy as np

from backend.errors import PeerError
from backend.formats.manifest import parse_manifest
from backend.numerics.vectors import Vector
from backend.peer.data.blob_cache import BlobSource
from backend.peer.exact.exact_engine import EXACT_BACKEND, MAX_MANIFEST, ORIGIN
from backend.peer.exact.worker_process import Message, WorkerProcess
from backend.peer.replay.trace_file import UnitTrace, from_answer, split
from backend.peer.replay.unit_facts import Work
from backend.protocols.replay.traces import GIVEN, StateHashes, StepLayout, TracedTensor, start_hashes


class TensorValue(msgspec.Struct, frozen=True):
    """A tensor's values as a trace gives them."""

    tensor: str
    dtype: str
    shape: list[int]
    content: bytes = msgspec.field(name="bytes")

    @property
    def hash(self) -> bytes:
        """The hash of the tensor in a trace."""
        shape = ",".join(map(str, self.shape))
        return hashlib.sha256(f"{self.dtype}[{shape}]\n".encode() + self.content).digest()


class UnitReplayer:
    """Replays one unit's `work`. Owns a worker, which it starts with `open_replayer`."""

    def __init__(self, work: Work, worker: WorkerProcess, weights: bytes, start: StateHashes) -> None:
        self._work = work
        self._worker = worker
        self._weights = weights
        self._checkpoints: Sequence[str] | None = None
        self.start = start

    async def update(self, steps: int) -> str:
        """Returns the SHA-256 of the update after so many steps, which may be fewer than the unit's."""
        answer = await self._train(steps)
        return hashlib.sha256(answer["update"]).hexdigest()

    async def checkpoints(self) -> Sequence[str]:
        """Returns the hashes of the unit's weights at its checkpoints; trains the unit if it did not yet."""
        if self._checkpoints is None:
            await self._train(self._work.steps)
        return self._checkpoints or []

    async def trace(self, *, ops: bool) -> UnitTrace:
        """Trains once and traces every step, with its `ops`, which takes longer, or without them."""
        steps = list(range(1, self._work.steps + 1))
        answer = await self._train(self._work.steps, states=steps, ops=steps if ops else [])
        return from_answer(self._work, answer)

    async def step_ops(self, step: int) -> Sequence[bytes]:
        """Trains up to a step and returns the hashes of its tensors."""
        answer = await self._train(step, ops=[step])
        return split(bytes.fromhex(answer["trace"]["ops"][0]["hashes"]))

    async def layout(self) -> StepLayout:
        """Returns the ops of a step, in their order."""
        trace = (await self._train(1, ops=[1]))["trace"]
        tensors = [msgspec.convert(one, TracedTensor) for one in trace["tensors"]]
        return StepLayout(tensors, trace["ends"])

    async def inputs(self, step: int, tensor: str) -> Sequence[TensorValue]:
        """Returns the values of an op's inputs in a step, or the value that the data gave."""
        answer = await self._train(step, inputs={"step": step, "tensor": tensor})
        return [msgspec.convert(one, TensorValue) for one in answer["trace"]["inputs"]]

    async def compute(self, tensor: str, inputs: Sequence[TensorValue]) -> bytes:
        """Returns the hash of what one op computes from its inputs."""
        values = [msgspec.to_builtins(value, builtin_types=(bytes,)) for value in inputs]
        answer = await self._worker.ask({"type": "compute", "tensor": tensor, "inputs": values})
        return bytes.fromhex(answer["hash"])

    async def _train(
        self,
        steps: int,
        states: Sequence[int] = (),
        ops: Sequence[int] = (),
        inputs: dict[str, Any] | None = None,
    ) -> Message:
        message: dict[str, Any] = {
            "type": "train",
            "weights": self._weights,
            "plan": self._work.plan(steps),
        }
        if states or ops or inputs:
            message["trace"] = {"states": states, "ops": ops, "inputs": inputs}
        answer = await self._worker.ask(message)
        if steps == self._work.steps:
            self._checkpoints = answer["checkpoints"]
        return answer


async def rule(replayer: UnitReplayer, step: int, traced: TracedTensor, agreed: Sequence[bytes]) -> bytes:
    """Returns the hash of an op's output, computed from the inputs on which both parties agree.

    The inputs come from a replay up to that step, and are taken only if they have the `agreed` hashes.
    """
    inputs = await replayer.inputs(step, traced.tensor)
    if traced.op == GIVEN:
        return inputs[0].hash
    if [value.hash for value in inputs] != list(agreed):
        raise PeerError(
            f"Neither trace is of this unit: the replay has other inputs of {traced.tensor} in step {step}."
        )
    return await replayer.compute(traced.tensor, inputs)


@asynccontextmanager
async def open_replayer(work: Work, blobs: BlobSource) -> AsyncIterator[UnitReplayer]:
    """Starts a worker with the unit's bundle and weights. Raises PeerError."""
    manifest = parse_manifest(await blobs.get(work.bundle, at_most=MAX_MANIFEST))
    content = await blobs.get(work.weights)
    weights: Vector = np.frombuffer(content, "<f4")
    if len(weights) != manifest.parameters.total:
        raise PeerError("The unit's weights are those of another model.")
    start = start_hashes(weights, manifest.parameters.trainable, manifest.optimizer.slots)
    worker = WorkerProcess(blobs)
    try:
        await worker.start()
        setup = {"backend": EXACT_BACKEND, "avoid": [], "sliced": False}
        await worker.ask({"type": "load", "origin": ORIGIN, "bundle": work.bundle, "setup": setup})
        yield UnitReplayer(work, worker, content, start)
    finally:
        await worker.close()
