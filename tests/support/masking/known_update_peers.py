"""The peer's real session over real sockets, with updates that are known beforehand instead of training.

As a program (`python -m tests.support.masking.known_update_peers`) it may be killed by itself at a
chosen moment.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from backend.peer.rounds import session
from backend.peer.rounds.masking_host import MaskedModel
from backend.peer.rounds.spent_versions import SpentVersions
from backend.peer.session import server_connection
from backend.peer.session.progress import JsonLines
from backend.peer.session.transport import WireProtocol, converse
from backend.peer.session.trust_store import TrustStore
from backend.peer.training.trainer import TrainingProgress, TrainingResult
from backend.peer.training.training_jobs import TrainingJob, TrainingJobs
from backend.wire.messages import Aggregation, ClientFrame, Evaluate, Hello, ServerFrame, Train

Update = NDArray[np.float32]


def known_update(token: str, number: int, parameters: int, norm: float) -> Update:
    """What the client with this token makes of round `number`."""
    random = np.random.default_rng([int.from_bytes(token.encode()[:16]), number])
    values = random.normal(size=parameters)
    return (norm * values / np.linalg.norm(values)).astype(np.float32)


class KnownJobs:
    """Stands in for TensorFlow's thread: trains on `examples`, and its update is known, or given.

    One that is `endless` trains until it is cancelled.
    """

    def __init__(
        self,
        token: str,
        parameters: int,
        norm: float,
        examples: int,
        given: Update | None = None,
        endless: bool = False,
    ) -> None:
        self._token = token
        self._given = given
        self._parameters = parameters
        self._norm = norm
        self.examples = examples
        self.busy = False
        self.program = None
        self._endless = endless

    async def load(self, _address: str) -> tuple[str, float, int]:
        return "numpy", 1.0, 0

    def update_bytes(self) -> int:
        return 4 * self._parameters

    def model(self) -> MaskedModel:
        return MaskedModel(self._parameters, 1)

    async def train(
        self, job: TrainingJob[Train], _name: str, _report: Callable[[TrainingProgress], None]
    ) -> TrainingResult:
        plan = job.order
        if self._endless:
            await asyncio.Event().wait()
        update = self._given
        if update is None:
            update = known_update(self._token, plan.round, self._parameters, self._norm)
        examples = self.examples if plan.masking else sum(shard.examples for shard in plan.shards)
        sums = [(examples / 2, float(examples))]
        return TrainingResult(update, None, examples, 1, 1, 0.5, sums, 1.0)

    async def measure(self, _job: TrainingJob[Evaluate]) -> tuple[int, float, list[tuple[float, float]]]:
        return 0, 0.0, []

    async def close(self) -> None:
        """Nothing to close."""


def address_of(url: str) -> str:
    """The socket of the task `tiny` at `url`."""
    return f"{url.replace('http', 'ws', 1)}/api/tasks/tiny/socket"


def volunteer(
    url: str,
    token: str,
    parameters: int,
    *,
    norm: float = 1.0,
    examples: int = 10,
    aggregation: Aggregation = "masked",
    identity: bytes = b"",
    met: Path = Path("/nonexistent"),
    listed: frozenset[str] | None = None,
    min_masked: int = 0,
    spent: Path | None = None,
    update: Update | None = None,
    endless: bool = False,
) -> session.RoundsSession:
    """A session of the task `tiny` at `url`, to be run."""
    hello = Hello(
        token=token,
        kind="peer",
        backend="numpy",
        agent="test",
        aggregation=[aggregation],
        min_masked=min_masked,
    )
    jobs = cast("TrainingJobs", KnownJobs(token, parameters, norm, examples, update, endless))
    known = TrustStore(met, listed)
    key = identity or secrets.token_bytes(32)
    return session.RoundsSession(
        address_of(url), hello, jobs, JsonLines(sys.stdout), lambda: 0.5, key, known, SpentVersions(spent)
    )


def dying(moment: str) -> None:
    """Has this process killed `before:` or `after:` a kind of frame goes out, such as `before:shares`."""
    when, _, kind = moment.partition(":")

    class Watched(asyncio.Queue[ClientFrame | None]):
        sent = ""

        async def get(self) -> ClientFrame | None:
            # Who asks for another frame has sent the one before.
            if self.sent == kind and when == "after":
                await asyncio.sleep(0.2)
                os.kill(os.getpid(), signal.SIGKILL)
            frame = await super().get()
            self.sent = type(frame).__name__.lower()
            if self.sent == kind and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            return frame

    async def converse_until_death(
        language: WireProtocol[ClientFrame, ServerFrame],
        address: str,
        outbox: asyncio.Queue[ClientFrame | None],
        *others: Any,
    ) -> str:
        watched = Watched()

        async def pass_on() -> None:
            while True:
                watched.put_nowait(await outbox.get())

        passing = asyncio.create_task(pass_on())
        try:
            return await converse(language, address, watched, *others)
        finally:
            passing.cancel()

    server_connection.converse = converse_until_death  # type: ignore[attr-defined,assignment]  # Imported there.


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("token")
    parser.add_argument("parameters", type=int)
    parser.add_argument("--die", default="")
    args = parser.parse_args()
    if args.die:
        dying(args.die)
    asyncio.run(volunteer(args.url, args.token, args.parameters).run(asyncio.Event()))


if __name__ == "__main__":
    main()
