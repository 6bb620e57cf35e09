"""What computes for a peer: TensorFlow, or the browsers' worker (backend/peer/exact)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from backend.errors import PeerError
from backend.formats.manifest import Manifest
from backend.peer.data.shards import Examples
from backend.peer.training.step import Halt, Totals, Vector
from backend.peer.training.trainer import TrainingPlan, TrainingProgress, TrainingResult
from backend.peer.training.training_state import StateSaver
from backend.wire.messages import Shard


@dataclass(frozen=True)
class ShardRows:
    """Examples of data shards, in order; of one shard perhaps only `count` of them, from `first` on."""

    shards: tuple[Shard, ...]
    first: int = 0
    count: int | None = None

    def check(self, available: int) -> None:
        """Raises PeerError if the shards have fewer examples."""
        if self.count is not None and not 0 < self.count <= available - self.first:
            raise PeerError(
                f"A plan names rows {self.first} to {self.first + self.count} of a shard that has "
                f"{available}; tell the task's owner."
            )


# Examples in memory, or what an engine reads by itself.
PlanData = Examples | ShardRows


class TrainingEngine(Protocol):
    """Loads a bundle and computes with it. Owned by one session."""

    @property
    def manifest(self) -> Manifest:
        """The manifest of the loaded bundle. Raises PeerError before one is loaded."""

    @property
    def program(self) -> str | None:
        """The hash of the program by which it computes the same bits everywhere; None if it does not."""

    @property
    def busy(self) -> bool:
        """Whether it computes; a step cannot be interrupted."""

    async def load(self, address: str) -> tuple[str, float]:
        """Loads the bundle; returns the backend's name and the milliseconds of a step.

        Raises BundleError for a bundle that is refused, PeerError when it cannot be fetched or run here.
        """

    async def fetch(self, rows: ShardRows) -> PlanData:
        """Fetches examples before they are needed. Raises PeerError and BundleError."""

    async def train(
        self,
        weights: Vector,
        plan: TrainingPlan,
        data: PlanData,
        halt: Halt,
        report: Callable[[TrainingProgress], None],
        saver: StateSaver | None = None,
    ) -> TrainingResult:
        """Trains from `weights` [P]. `halt` may end it before any step; `report` may come from a thread.

        With a `saver` it continues from a saved state, and saves its own. A continued training has the
        result of one that was never interrupted.

        Raises PeerError.
        """

    async def totals(self, weights: Vector, data: PlanData, halt: Halt) -> Totals:
        """Returns the sums over held-out examples (`step.read_totals`). Raises PeerError."""

    async def close(self) -> None:
        """Ends it once its work is done."""
