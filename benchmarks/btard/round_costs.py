"""What a round costs a member: bytes of statements; core seconds for signatures, sums and checks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.crypto import client_keys
from backend.crypto.statements import Statement
from backend.numerics.vectors import Vector
from backend.wire.byzantine_messages import Said, Say
from backend.wire.mesh_codec import encode_mesh
from benchmarks.btard.local_mesh import LocalMesh
from benchmarks.btard.mesh_peer import MeshPeer
from benchmarks.btard.picture_task import CLASSES, SHARD, Pictures, PictureTask
from benchmarks.btard.round_arithmetic import RoundArithmetic
from benchmarks.btard.trial import Trial

_INPUTS, _ROUNDS, _SIGNATURES = 64, 6, 200
_SIGNATURE_BYTES = 64


class TimedArithmetic(RoundArithmetic):
    """Computes for every member by itself, and adds up the seconds of sums and of checks."""

    sums = 0.0
    checks = 0.0

    def __init__(self) -> None:
        super().__init__(shared=False)

    def mean(self, pieces: tuple[bytes, ...], radius: float) -> bytes:
        began = time.process_time()
        found = super().mean(pieces, radius)
        TimedArithmetic.sums += time.process_time() - began
        return found

    def numbers(
        self, piece: bytes, mean: bytes, radius: float, coin: bytes, part: int
    ) -> tuple[float, float]:
        began = time.process_time()
        found = super().numbers(piece, mean, radius, coin, part)
        TimedArithmetic.checks += time.process_time() - began
        return found


def cost_rows(peers: Sequence[int], parameters: Sequence[int]) -> list[dict[str, Any]]:
    """Returns a row for each number of peers and parameters: what one member does and sends in one round."""
    return [_row(one, size) for one in peers for size in parameters]


def _row(peers: int, parameters: int) -> dict[str, Any]:
    task = NoiseTask(parameters)
    mesh = LocalMesh(Trial(task, _ROUNDS + 1, 0, peers=peers, byzantine=0), arithmetic=TimedArithmetic)
    # The first round has no work to validate, and no radius.
    mesh.play_round()
    sent = list[int]()

    def count(_peer: MeshPeer, statement: Statement, turn: int) -> None:
        sent.append(frame_bytes(statement, mesh.state.round + 1, turn))

    mesh.on_statement = count
    mesh.worked = mesh.judged = 0
    TimedArithmetic.sums = TimedArithmetic.checks = 0.0
    for _ in range(_ROUNDS):
        mesh.play_round()
    members = peers * _ROUNDS
    sign, verify = _signature_seconds()
    statements = len(sent) / members
    return {
        "peers": peers,
        "parameters": task.parameters,
        "control_bytes": round(sum(sent) * (peers - 1) / members),
        "statements": statements,
        "seconds_sums": round(TimedArithmetic.sums / members, 5),
        "seconds_checks": round(TimedArithmetic.checks / members, 5),
        "seconds_signatures": round(statements * (sign + (peers - 1) * verify), 5),
        "work_share": round(mesh.judged / (mesh.worked + mesh.judged), 4),
        "validators_share": round(mesh.terms.validators / peers, 4),
        "exchanges": mesh.exchanges,
        "rounds": _ROUNDS,
    }


def frame_bytes(statement: Statement, number: int, turn: int) -> int:
    """Returns the size of the frame that tells one other member a statement, with its signature."""
    said = Said(
        statement.identity, statement.phase, statement.before, statement.body, bytes(_SIGNATURE_BYTES)
    )
    return len(encode_mesh(Say(number, 1, turn, said, [])))


class NoiseTask(PictureTask):
    """A task of about so many parameters whose updates are noise: parts as long as each other."""

    def __init__(self, parameters: int) -> None:
        examples = Pictures(np.zeros((SHARD, _INPUTS), np.float32), np.zeros(SHARD, np.int64))
        super().__init__("noise", examples, examples, max(1, parameters // (_INPUTS + CLASSES + 1)))

    def update(self, weights: Vector, rows: NDArray[np.int64], labels: NDArray[np.int64]) -> Vector:
        """Returns normal values that the examples `rows` draw."""
        del labels
        return np.random.default_rng(rows).standard_normal(len(weights), np.float32)


def _signature_seconds() -> tuple[float, float]:
    """Returns the seconds that signing, and checking a signature, takes."""
    private, message = bytes(range(32)), bytes(200)
    began = time.process_time()
    for _ in range(_SIGNATURES):
        signature = client_keys.sign(private, message)
    sign = (time.process_time() - began) / _SIGNATURES
    identity = client_keys.identity_key(private)
    began = time.process_time()
    for _ in range(_SIGNATURES):
        client_keys.verify(identity, signature, message)
    return sign, (time.process_time() - began) / _SIGNATURES
