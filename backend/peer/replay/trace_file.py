"""Reads and writes the trace of a unit's training: hashes after all of its steps, and of all of their ops.

A file is a map in msgpack with the trace and its SHA-256, so that a damaged one is not taken for a lie.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from backend.errors import PeerError
from backend.peer.data.shared_files import write_whole
from backend.peer.replay.unit_facts import Work
from backend.protocols.replay.traces import StateHashes

HASH_BYTES = 32
LARGEST_FILE = 2 << 30


class UnitTrace(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A trace of `work`. Hashes are raw: `states` by part for each step, `ops` joined for each step.

    A trace that its own machine answers for may lack the `ops`.
    """

    work: Work
    update: bytes
    states: list[dict[str, bytes]]
    ops: list[bytes]

    def state(self, step: int) -> StateHashes:
        """Returns the hashes of the values after a step."""
        return self.states[step - 1]

    def step_ops(self, step: int) -> Sequence[bytes]:
        """Returns the hashes of a step's tensors."""
        return split(self.ops[step - 1])


class _TraceFile(Struct, frozen=True, forbid_unknown_fields=True):
    format: Literal["minga-trace/1"]
    sha256: str
    trace: bytes


def split(joined: bytes) -> list[bytes]:
    """Returns the hashes of joined ones."""
    return [joined[at : at + HASH_BYTES] for at in range(0, len(joined), HASH_BYTES)]


def from_answer(work: Work, answer: Mapping[str, object]) -> UnitTrace:
    """Returns the trace that the worker answered with. Raises PeerError if it is of another form."""
    try:
        trained = msgspec.convert(answer, _Trained)
        states, ops = trained.trace.states, trained.trace.ops
        return UnitTrace(
            work=work,
            update=hashlib.sha256(trained.update).digest(),
            states=[{part: bytes.fromhex(value) for part, value in one.hashes.items()} for one in states],
            ops=[bytes.fromhex(one.hashes) for one in ops],
        )
    except (msgspec.ValidationError, ValueError) as error:
        raise PeerError(f"The worker's trace cannot be read ({error}).") from error


class _State(Struct, frozen=True):
    hashes: dict[str, str]


class _Ops(Struct, frozen=True):
    hashes: str


class _Trace(Struct, frozen=True):
    states: list[_State]
    ops: list[_Ops]


class _Trained(Struct, frozen=True):
    update: bytes
    trace: _Trace


def write_trace(path: Path, trace: UnitTrace) -> int:
    """Writes a trace and returns the file's length. Raises PeerError."""
    content = msgspec.msgpack.encode(trace)
    file = msgspec.msgpack.encode(_TraceFile("minga-trace/1", hashlib.sha256(content).hexdigest(), content))
    try:
        write_whole(path.absolute(), file)
    except OSError as error:
        raise PeerError(f"The trace cannot be written to {path} ({error.strerror}).") from error
    return len(file)


def read_trace(path: Path) -> UnitTrace:
    """Reads a trace. Raises PeerError with the reason if it is none, or damaged."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise PeerError(f"{path} is larger than any trace.")
        file = msgspec.msgpack.decode(path.read_bytes(), type=_TraceFile)
    except OSError as error:
        raise PeerError(f"{path} cannot be read ({error.strerror}).") from error
    except msgspec.DecodeError as error:
        raise PeerError(f"{path} is no trace, or it is damaged; have it saved and sent again.") from error
    if hashlib.sha256(file.trace).hexdigest() != file.sha256:
        raise PeerError(f"{path} is damaged; have it saved and sent again.")
    try:
        return _checked(msgspec.msgpack.decode(file.trace, type=UnitTrace))
    except (msgspec.DecodeError, ValueError) as error:
        raise PeerError(f"{path} is no complete trace ({error}).") from error


def _checked(trace: UnitTrace) -> UnitTrace:
    """Returns the trace if it has all answers that a bisection may ask for. Raises ValueError."""
    if len(trace.states) != trace.work.steps or len(trace.ops) != trace.work.steps:
        raise ValueError(f"it has {len(trace.states)} of {trace.work.steps} steps")
    if len(trace.update) != HASH_BYTES or any(len(joined) % HASH_BYTES for joined in trace.ops):
        raise ValueError("it has hashes of another length")
    return trace
