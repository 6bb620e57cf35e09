"""The peer's real session, whose training is drawn by the seed of the plan instead of TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TextIO, cast

import numpy as np

from backend.peer.rounds.masking_host import MaskedModel
from backend.peer.rounds.session import RoundsSession
from backend.peer.rounds.spent_versions import SpentVersions
from backend.peer.session.progress import JsonLines
from backend.peer.session.trust_store import TrustStore
from backend.peer.training.noise import fresh_words
from backend.peer.training.protection import protected
from backend.peer.training.step import Vector
from backend.peer.training.trainer import TrainingProgress, TrainingResult
from backend.peer.training.training_jobs import TrainingJob, TrainingJobs
from backend.wire.messages import Aggregation, Hello, Train, Welcome


class SeededJobs:
    """Stands in for TensorFlow's thread: the same weights and seed make the same update, as on a device.

    `updates` has what was trained, in order.
    """

    def __init__(self, token: str, parameters: int) -> None:
        self._token = token
        self._parameters = parameters
        self.updates: list[Vector] = []
        self.busy = False
        self.program = None

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
        random = np.random.default_rng([*self._token.encode(), int(plan.weights[:8], 16), plan.seed])
        values = random.normal(size=self._parameters)
        update = (values / np.linalg.norm(values)).astype(np.float32)
        self.updates.append(update)
        result = TrainingResult(update, None, 8, 1, 1, 0.5, [(4.0, 8.0)], 1.0)
        return protected(result, plan.privacy, fresh_words())

    async def close(self) -> None:
        """Nothing to close."""


def training_peer(
    address: str,
    token: str,
    parameters: int,
    state: Path,
    said: TextIO,
    aggregation: Sequence[Aggregation] = ("masked",),
    min_noise: float = 0.0,
    promises: dict[str, Welcome] | None = None,
) -> RoundsSession:
    """A session at `address` whose state lies in the folder `state`; it says all as JSON lines."""
    hello = Hello(
        token=token,
        kind="peer",
        backend="numpy",
        agent="test",
        aggregation=list(aggregation),
        min_masked=0,
    )
    return RoundsSession(
        address,
        hello,
        cast("TrainingJobs", SeededJobs(token, parameters)),
        JsonLines(said),
        lambda: 0.0,
        sha256(token.encode()).digest(),
        TrustStore(state / "met"),
        SpentVersions(state / "spent"),
        min_noise=min_noise,
        promises=promises,
    )
