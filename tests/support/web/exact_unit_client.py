"""A client of work units that tells a program, so that its results are compared by their bits."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from backend.crypto.result_commitments import result_commitment
from backend.wire.messages import Chunk, Credit, Ready
from backend.wire.unit_messages import OpenCommitment, Rejected, Result, Salt, Taken, Unit, Want
from tests.support.web.unit_client import CHUNK, UnitClient

PROGRAM = "5e" * 32


@dataclass
class Sent:
    """What happened to a result: the last answer, and how many bytes of its vector were sent."""

    answer: Taken | Rejected
    bytes: int


@dataclass
class Committed:
    """A vector with its salt and commitment; a liar changes one of them after the fact."""

    data: bytes
    salt: str
    commitment: str | None = field(default=None)


class ExactUnitClient(UnitClient):
    """Answers `open` with a salt, and sends a vector only if it is asked for."""

    async def ready_with(self, program: str | None = PROGRAM, slots: int = 1) -> None:
        """Gets ready for so many units at a time, and tells `program`."""
        await self.say(Ready(backend="exact", step_ms=1.0, examples=0, program=program))
        await self.say(Want(slots))

    def commit(self, unit: Unit, update: ArrayLike) -> Committed:
        """Commits to a vector as the result of `unit`."""
        data, salt = np.asarray(update, "<f4").tobytes(), secrets.token_bytes(32)
        return Committed(data, salt.hex(), result_commitment(salt, self.id, unit.lease, data).hex())

    async def offer(self, unit: Unit, committed: Committed, **changes: Any) -> None:
        """Offers a result without waiting for an answer."""
        said: dict[str, Any] = {
            "lease": unit.lease,
            "examples": unit.epochs * unit.examples,
            "steps": unit.steps or 1,
            "loss": 0.5,
            "sums": [(1.0, 4.0)],
            "size": len(committed.data),
            "commitment": committed.commitment,
        }
        await self.say(Result(**(said | changes)))

    async def send(self, unit: Unit, committed: Committed, **changes: Any) -> Sent:
        """Offers a result and does as it is told, until the result is taken or rejected."""
        await self.offer(unit, committed, **changes)
        return await self.go_on(unit, committed)

    async def go_on(self, unit: Unit, committed: Committed) -> Sent:
        """Does as it is told until the result is taken or rejected."""
        sent, kinds = 0, (Credit, OpenCommitment, Taken, Rejected)
        while True:
            answer: Credit | OpenCommitment | Taken | Rejected = await self.next(*kinds)
            if isinstance(answer, Credit):
                if answer.round == unit.lease:
                    sent = await self._send_until(unit, committed.data, sent, answer.until)
            elif answer.lease != unit.lease:
                continue
            elif isinstance(answer, OpenCommitment):
                await self.say(Salt(lease=unit.lease, salt=committed.salt))
            else:
                return Sent(answer, sent)

    async def _send_until(self, unit: Unit, data: bytes, sent: int, until: int) -> int:
        for start in range(sent, min(until, len(data)), CHUNK):
            part = data[start : min(until, start + CHUNK)]
            await self.say(Chunk(round=unit.lease, offset=start, data=memoryview(part)))
        return max(sent, min(until, len(data)))


def names(answers: Sequence[Sent]) -> list[str]:
    """Returns `taken`, or the code of a refusal, of each answer."""
    return [one.answer.code if isinstance(one.answer, Rejected) else "taken" for one in answers]
