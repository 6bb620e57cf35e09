"""The browsers' training worker in Node.js, as a peer's engine."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from backend.errors import PeerError
from backend.peer.data.shards import zero_examples
from backend.peer.exact.exact_engine import ExactEngine
from backend.peer.training.engine import ShardRows
from backend.peer.training.step import Vector, never
from backend.peer.training.trainer import Control, TrainingPlan, TrainingProgress
from backend.peer.training.training_state import StateSaver, TrainingState
from backend.wire.messages import Shard

PLAN = TrainingPlan(epochs=1, learning_rate=0.01, seed=7, batch_size=32)


class Folder:
    """A task's files by their hash."""

    def __init__(self, task: Path) -> None:
        built = task / "built"
        self.bundle = built / "bundle" / "bundle.json"
        self.files = {_hash(path): path for path in built.rglob("*") if path.is_file()}
        self.weights: Vector = np.fromfile(built / "bundle" / "weights.bin", "<f4")
        index = json.loads((built / "shards" / "shards.json").read_bytes())
        path = built / "shards" / index["train"][0]["file"]
        self.shard = Shard(sha256=_hash(path), examples=100)

    async def get(self, sha256: str, at_most: int = 0) -> bytes:
        del at_most
        if sha256 not in self.files:
            raise PeerError("The server does not have it.")
        return self.files[sha256].read_bytes()


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def folder(digits: Path) -> Folder:
    return Folder(digits)


@pytest.fixture
async def engine(folder: Folder) -> AsyncIterator[ExactEngine]:
    one = ExactEngine(folder, at_once=2)
    backend, step_ms = await one.load(_hash(folder.bundle))
    assert backend == "exact"
    assert step_ms > 0.0
    yield one
    await one.close()


async def test_two_workers_come_to_the_same_bits(engine: ExactEngine, folder: Folder) -> None:
    rows = await engine.fetch(ShardRows((folder.shard,), 32, 64))
    reports: list[TrainingProgress] = []
    one, other = await asyncio.gather(
        *(engine.train(folder.weights, PLAN, rows, never, reports.append) for _ in range(2))
    )
    assert one.end is not None
    assert other.end is not None
    assert one.end.tobytes() == other.end.tobytes()
    assert np.array_equal(one.end - folder.weights, one.update)
    assert (one.examples, one.steps, one.planned) == (64, 2, 2)
    assert [progress.step for progress in reports] == [1, 1, 2, 2] or len(reports) == 4


async def test_a_training_is_halted_between_its_steps(engine: ExactEngine, folder: Folder) -> None:
    rows = ShardRows((folder.shard,))
    result = await engine.train(
        folder.weights,
        TrainingPlan(epochs=100_000, learning_rate=0.01, seed=7),
        rows,
        lambda done, _: done > 2,
        lambda _: None,
    )
    assert 2 < result.steps < result.planned
    before = await engine.train(folder.weights, PLAN, rows, lambda *_: True, lambda _: None)
    assert before.steps == 0
    assert not before.update.any()


async def test_a_continued_training_has_the_bits_and_checkpoints_of_an_uninterrupted_one(
    engine: ExactEngine, folder: Folder
) -> None:
    rows = ShardRows((folder.shard,), 32, 64)
    plan = TrainingPlan(epochs=5, learning_rate=0.01, seed=7, batch_size=8, first_step=3, proximal_mu=0.1)
    alone = await engine.train(folder.weights, plan, rows, never, lambda _: None)
    states: list[TrainingState] = []
    saver = StateSaver(0.0, states.append)
    saved = await engine.train(folder.weights, plan, rows, never, lambda _: None, saver)
    assert saved.update.tobytes() == alone.update.tobytes()
    for state in (states[0], states[-1]):
        assert 0 < state.steps < alone.planned
        assert state.fits(engine.manifest)
        saver = StateSaver(1000.0, states.append, state)
        again = await engine.train(folder.weights, plan, rows, never, lambda _: None, saver)
        assert again.update.tobytes() == alone.update.tobytes()
        for name in ("examples", "steps", "planned", "loss", "sums", "checkpoints"):
            assert getattr(again, name) == getattr(alone, name)


async def test_a_training_ends_after_its_last_state_is_written(engine: ExactEngine, folder: Folder) -> None:
    """Else a state would be written after the unit is over and its file deleted."""
    may_write, trained, states = threading.Event(), asyncio.Event(), list[TrainingState]()

    def write(state: TrainingState) -> None:
        may_write.wait()
        states.append(state)

    def report(progress: TrainingProgress) -> None:
        if progress.step == 40:
            trained.set()

    plan = TrainingPlan(epochs=5, learning_rate=0.01, seed=7, batch_size=8)
    rows, saver = ShardRows((folder.shard,), 32, 64), StateSaver(0.0, write)
    training = asyncio.create_task(engine.train(folder.weights, plan, rows, never, report, saver))
    try:
        await trained.wait()
        done, _ = await asyncio.wait([training], timeout=1.0)
        assert not done
    finally:
        may_write.set()
    assert (await training).steps == 40
    assert states


async def test_a_training_ends_before_its_deadline(engine: ExactEngine, folder: Folder) -> None:
    ends = time.monotonic() + 1.0
    plan = TrainingPlan(epochs=100_000, learning_rate=0.01, seed=7, ends=ends)
    result = await engine.train(folder.weights, plan, ShardRows((folder.shard,)), never, lambda _: None)
    assert 1 < result.steps < result.planned
    late = TrainingPlan(epochs=100_000, learning_rate=0.01, seed=7, ends=time.monotonic() - 1.0)
    one = await engine.train(folder.weights, late, ShardRows((folder.shard,)), never, lambda _: None)
    assert one.steps == 1


async def test_a_measurement_gives_way_to_a_new_round(engine: ExactEngine, folder: Folder) -> None:
    looks = itertools.count()
    many = ShardRows((folder.shard,) * 20_000)
    totals = await engine.totals(folder.weights, many, lambda *_: next(looks) > 3)
    assert 0 <= totals[0] < 100 * 20_000
    at_once = await engine.totals(folder.weights, many, lambda *_: True)
    assert at_once.shape == totals.shape
    assert (await engine.totals(folder.weights, ShardRows((folder.shard,)), never))[0] == 100


async def test_a_version_is_measured(engine: ExactEngine, folder: Folder) -> None:
    totals = await engine.totals(folder.weights, ShardRows((folder.shard,)), never)
    assert totals[0] == 100
    assert 2.0 < totals[1] / 100 < 3.0
    assert 0 <= totals[2] <= totals[3] == 100


async def test_a_worker_that_was_killed_is_replaced(engine: ExactEngine, folder: Folder) -> None:
    plan = TrainingPlan(epochs=100_000, learning_rate=0.01, seed=7)

    def kill(_: TrainingProgress) -> None:
        for worker in engine._all:
            worker.kill()

    with pytest.raises(PeerError, match=r"worker in Node\.js has ended"):
        await engine.train(folder.weights, plan, ShardRows((folder.shard,)), never, kill)
    assert (await engine.train(folder.weights, PLAN, ShardRows((folder.shard,)), never, lambda _: None)).steps


async def test_what_an_exact_peer_cannot_do_is_refused(engine: ExactEngine, folder: Folder) -> None:
    own = zero_examples(engine.manifest, 32)
    with pytest.raises(PeerError, match="leave --exact out"):
        await engine.train(folder.weights, PLAN, own, never, lambda _: None)
    zeros = np.zeros(engine.manifest.parameters.trainable, np.float32)
    plan = TrainingPlan(epochs=1, learning_rate=0.01, seed=7, control=Control(zeros, zeros))
    with pytest.raises(PeerError, match="control variates"):
        await engine.train(folder.weights, plan, ShardRows((folder.shard,)), never, lambda _: None)


async def test_a_shard_that_is_gone_is_named(engine: ExactEngine, folder: Folder) -> None:
    del folder.files[folder.shard.sha256]
    with pytest.raises(PeerError, match="does not have it"):
        await engine.train(folder.weights, PLAN, ShardRows((folder.shard,)), never, lambda _: None)
