"""A model that all clients of the lab train with, one after the other: it is loaded once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from backend.formats.manifest import Manifest
from backend.peer.training.engine import PlanData, ShardRows
from backend.peer.training.step import Halt, Totals, Vector
from backend.peer.training.tensorflow_engine import TensorFlowEngine
from backend.peer.training.trainer import TrainingPlan, TrainingProgress, TrainingResult
from backend.peer.training.training_state import StateSaver


class SharedEngine:
    """A TrainingEngine (engine.py) for the sessions of several clients. `shut_down` ends it, not `close`."""

    def __init__(self, engine: TensorFlowEngine) -> None:
        self._engine = engine
        self._loading = asyncio.Lock()
        self._loaded: dict[str, tuple[str, float]] = {}

    @property
    def manifest(self) -> Manifest:
        return self._engine.manifest

    @property
    def program(self) -> None:
        return None

    @property
    def busy(self) -> bool:
        return self._engine.busy

    async def load(self, address: str) -> tuple[str, float]:
        async with self._loading:
            if address not in self._loaded:
                self._loaded = {address: await self._engine.load(address)}
            return self._loaded[address]

    async def fetch(self, rows: ShardRows) -> PlanData:
        return await self._engine.fetch(rows)

    async def train(
        self,
        weights: Vector,
        plan: TrainingPlan,
        data: PlanData,
        halt: Halt,
        report: Callable[[TrainingProgress], None],
        saver: StateSaver | None = None,
    ) -> TrainingResult:
        return await self._engine.train(weights, plan, data, halt, report, saver)

    async def totals(self, weights: Vector, data: PlanData, halt: Halt) -> Totals:
        return await self._engine.totals(weights, data, halt)

    async def close(self) -> None:
        """Does nothing: other clients train on."""

    async def shut_down(self) -> None:
        """Ends the threads once their work is done."""
        await self._engine.close()
