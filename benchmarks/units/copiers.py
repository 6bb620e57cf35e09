"""Lets copiers loose on a real server: they send the commitments of others, and what fits to them.

A copier overhears a commitment, and perhaps its salt, and has no vector that it could commit to by itself. It
is found if the server refuses its result; its lease stays open, and honest work in it counts all the same.
"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from pathlib import Path

import numpy as np

from backend.numerics.vectors import Vector
from backend.wire.unit_messages import Counted, Rejected, Unit, Want
from tests.support.tasks.tiny_task import SIZE, write_units
from tests.support.web.exact_unit_client import Committed, ExactUnitClient
from tests.support.web.server_process import running

# What is refused where a commitment does not belong to its vector.
FOUND = frozenset({"wrong-commitment", "wrong-salt"})


async def copies_found(copies: int) -> tuple[int, int]:
    """Returns how many copies were sent, and how many of those the server refused."""
    with tempfile.TemporaryDirectory() as folder:
        tasks = Path(folder) / "tasks"
        trust = {"replicas": 2, "spot_checks": 0.0, "checked": 10**6}
        write_units(tasks / "tiny", epochs=copies, rows=1, trust=trust)
        with running(tasks, Path(folder) / "data") as server:
            async with ExactUnitClient(server.url) as worker:
                await worker.ready_with()
                found = [await _is_found(server.url, worker, number) for number in range(copies)]
                return copies, sum(found)


async def _is_found(url: str, worker: ExactUnitClient, number: int) -> bool:
    """Whether a copier that does the unit of `worker` again is refused; then it sends the true result."""
    unit = await worker.next(Unit)
    vector = np.full(SIZE, 1.0 + number % 7, np.float32)
    vector[0] += number / 10
    real = worker.commit(unit, vector)
    await worker.send(unit, real)
    async with ExactUnitClient(url) as copier:
        await copier.ready_with()
        copied = await copier.next(Unit)
        await copier.say(Want(0))
        if copied.unit != unit.unit:
            raise RuntimeError("the copier was given other work than what waits for a second result")
        sent = await copier.send(copied, _copy(real, vector, number))
        await copier.send(copied, copier.commit(copied, vector))
        for client in (worker, copier):
            await client.next(Counted)
    return isinstance(sent.answer, Rejected) and sent.answer.code in FOUND


def _copy(real: Committed, vector: Vector, number: int) -> Committed:
    """Returns a copied commitment: with its salt, with another one, or with a vector that is nearly right."""
    made_up = np.zeros(SIZE, "<f4").tobytes()
    near = np.nextafter(vector, np.float32(np.inf)).tobytes()
    salts = (real.salt, secrets.token_hex(32), real.salt)
    vectors = (made_up, made_up, near)
    return Committed(vectors[number % 3], salts[number % 3], real.commitment)


if __name__ == "__main__":
    print(asyncio.run(copies_found(9)))
