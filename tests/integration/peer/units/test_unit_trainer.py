"""One unit in TensorFlow: its rows alone, from where its plan says, and what is sent is from its weights."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from msgspec.structs import replace

from backend.errors import PeerError
from backend.numerics.aggregation.asynchronous import elastic
from backend.numerics.walk import Walk
from backend.peer.data.blob_cache import BlobCache
from backend.peer.data.shards import read_shard
from backend.peer.training.control_variates import Variates
from backend.peer.training.graphs import import_graphs, open_bundle
from backend.peer.training.step import Vector, never
from backend.peer.training.tensorflow_engine import TensorFlowEngine
from backend.peer.training.trainer import Trainer, TrainingPlan
from backend.peer.training.training_jobs import TrainingJobs
from backend.peer.units.unit_trainer import UnitTrainer, UnitWork
from backend.wire.messages import Shard
from backend.wire.unit_messages import Unit
from tests.integration.peer.conftest import BlobServer

pytestmark = pytest.mark.tensorflow


class Site:
    """The digits on a server of blobs."""

    def __init__(self, digits: Path, server: BlobServer) -> None:
        bundle = digits / "built" / "bundle"
        self.bundle = put(server, (bundle / "bundle.json").read_bytes())
        for file in bundle.rglob("*"):
            if file.is_file():
                put(server, file.read_bytes())
        index = json.loads((digits / "built" / "shards" / "shards.json").read_bytes())
        entry = index["train"][0]
        content = (digits / "built" / "shards" / entry["file"]).read_bytes()
        checked = open_bundle(bundle, ["train", "apply"])
        self.examples = read_shard(content, checked.manifest)
        self.shard = Shard(sha256=put(server, content), examples=len(self.examples))
        self.weights: Vector = np.fromfile(bundle / "weights.bin", "<f4")
        self.address = put(server, (bundle / "weights.bin").read_bytes())
        self.trainer = Trainer(import_graphs(checked, "cpu"))

    def unit(self, lease: int = 1) -> Unit:
        return Unit(
            lease=lease,
            unit=lease,
            epoch=1,
            shard=self.shard,
            first=32,
            examples=64,
            base=0,
            weights=self.address,
            epochs=1,
            steps=0,
            batch_size=32,
            learning_rate=0.01,
            past_steps=0,
            seed=7,
            proximal_mu=0.0,
            start="given",
            elasticity=0.25,
            seconds=60.0,
            heartbeat=30.0,
        )

    def expected(self, start: Vector) -> Vector:
        """The weights that such a unit leads to from `start`."""
        rows = self.examples.picked(slice(32, 96))
        plan = TrainingPlan(epochs=1, learning_rate=0.01, seed=7, batch_size=32)
        end = self.trainer.train(start, plan, rows, never, lambda _: None).end
        assert end is not None
        return end


def put(server: BlobServer, content: bytes) -> str:
    name = hashlib.sha256(content).hexdigest()
    server.blobs[name] = content
    return name


@pytest.fixture
def site(digits: Path, blob_server: BlobServer) -> Site:
    return Site(digits, blob_server)


@pytest.fixture
async def labour(site: Site, blob_server: BlobServer, tmp_path: Path) -> AsyncIterator[UnitTrainer]:
    async with httpx.AsyncClient() as client:
        blobs = BlobCache(client, blob_server.url, tmp_path / "cache")
        jobs = TrainingJobs(TensorFlowEngine(blobs, "cpu", 2), blobs, Variates(tmp_path / "variates"))
        await jobs.load(site.bundle)
        yield UnitTrainer(blobs, jobs)
        await jobs.close()


async def done(labour: UnitTrainer, unit: Unit) -> Vector:
    """What is sent of `unit`."""
    work = UnitWork(unit)
    await labour.fetch(work)
    result = await labour.train(work, lambda _: None)
    assert (result.examples, work.steps) == (64, 2)
    assert work.content is not None
    labour.release(unit.lease)
    return np.frombuffer(work.content, "<f4")


async def test_a_unit_is_trained_on_its_rows_alone(labour: UnitTrainer, site: Site) -> None:
    assert np.array_equal(await done(labour, site.unit()), site.expected(site.weights) - site.weights)


async def test_the_rest_of_a_unit_is_trained_from_its_first_step_on(labour: UnitTrainer, site: Site) -> None:
    work = UnitWork(replace(site.unit(), epochs=0, steps=1, first_step=1))
    await labour.fetch(work)
    result = await labour.train(work, lambda _: None)
    assert (result.examples, result.steps, result.planned) == (32, 1, 1)
    *_, second = Walk(7, 1, 0, 32).batches(64)
    (order,) = Walk(7, 1, 0, 32).batches(32)
    # The rows of the second step alone, so numbered that a training on them takes them in the same order.
    rows = np.empty(32, np.int64)
    rows[order] = second
    alone = TrainingPlan(epochs=1, learning_rate=0.01, seed=7, batch_size=32)
    examples = site.examples.picked(slice(32, 96)).picked(rows)
    expected = site.trainer.train(site.weights, alone, examples, never, lambda _: None).update
    assert np.array_equal(result.update, expected)


async def test_two_at_once_come_to_the_same_as_one_after_the_other(labour: UnitTrainer, site: Site) -> None:
    one, other = await asyncio.gather(done(labour, site.unit(1)), done(labour, site.unit(2)))
    assert np.array_equal(one, other)
    assert np.array_equal(one, await done(labour, site.unit(3)))


async def test_shards_are_kept_in_the_cache_and_weights_are_not(
    labour: UnitTrainer, site: Site, tmp_path: Path, blob_server: BlobServer
) -> None:
    await done(labour, site.unit(1))
    await done(labour, site.unit(2))
    assert (tmp_path / "cache" / site.shard.sha256).exists()
    assert not (tmp_path / "cache" / site.address).exists()
    assert blob_server.asked.count(site.shard.sha256) == 1
    assert blob_server.asked.count(site.address) == 2


async def test_an_own_start_goes_on_from_the_last_weights_until_they_were_rejected(
    labour: UnitTrainer, site: Site
) -> None:
    first = site.expected(site.weights)
    second = site.expected(first)
    assert np.array_equal(await done(labour, replace(site.unit(1), start="own")), first - site.weights)
    assert np.array_equal(await done(labour, replace(site.unit(2), start="own")), second - site.weights)
    labour.rejected(1)
    third = site.expected(second)
    assert np.array_equal(await done(labour, replace(site.unit(3), start="own")), third - site.weights)
    labour.rejected(3)
    assert np.array_equal(await done(labour, replace(site.unit(4), start="own")), first - site.weights)


async def test_an_elastic_start_is_drawn_to_the_given_weights(labour: UnitTrainer, site: Site) -> None:
    first = site.expected(site.weights)
    await done(labour, replace(site.unit(1), start="elastic"))
    second = site.expected(elastic(first, site.weights, 0.25))
    sent = await done(labour, replace(site.unit(2), start="elastic"))
    assert np.array_equal(sent, second - site.weights)


async def test_work_that_is_stopped_sends_the_steps_that_were_done(labour: UnitTrainer, site: Site) -> None:
    unit = replace(site.unit(), epochs=100_000)
    work = UnitWork(unit)
    await labour.fetch(work)
    result = await labour.train(work, lambda _: work.stop.set())
    assert 0 < result.steps == work.steps < result.planned
    assert work.content is not None
    assert len(work.content) == 4 * site.weights.size


async def test_work_that_is_stopped_before_its_first_step_has_nothing_to_send(
    labour: UnitTrainer, site: Site
) -> None:
    work = UnitWork(site.unit())
    await labour.fetch(work)
    work.stop.set()
    assert (await labour.train(work, lambda _: None)).steps == 0
    assert work.content is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [({"first": 1000}, "names rows 1000 to 1064"), ({"examples": 0}, "names rows 32 to 32")],
)
async def test_rows_that_a_shard_does_not_have_are_refused(
    labour: UnitTrainer, site: Site, change: dict[str, int], sentence: str
) -> None:
    with pytest.raises(PeerError, match=sentence):
        await labour.fetch(UnitWork(replace(site.unit(), **change)))


async def test_weights_of_another_model_are_refused(
    labour: UnitTrainer, site: Site, blob_server: BlobServer
) -> None:
    other = put(blob_server, bytes(8))
    with pytest.raises(PeerError, match="Weights of 2 values"):
        await labour.fetch(UnitWork(replace(site.unit(), weights=other)))
