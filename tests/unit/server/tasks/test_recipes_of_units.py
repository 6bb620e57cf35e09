"""The recipe of work units goes together with the clients' optimizer, and gets their learning rate."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from backend.errors import TaskFileError
from backend.numerics.aggregation.asynchronous import ClientResult, no_memory
from backend.server.tasks.task import Task, load_task
from backend.server.units.work_generator import recipe_of, units_of_epoch
from backend.stores.embedded import Stores, open_stores
from tests.support.tasks.tiny_task import OPS, SHARDS, SIZE, TRAINABLE, write_units

RECIPE = "coordination.units.assimilation"
DELAYED = {"name": "dc-asgd", "strength": 0.5}


@pytest_asyncio.fixture
async def stores(tmp_path: Path) -> AsyncIterator[Stores]:
    opened = open_stores(tmp_path / "data")
    yield opened
    await opened.close()


async def loaded(folder: Path, stores: Stores, *on: str, **optimizer: Any) -> Task:
    """The task, whose bundle has another optimizer."""
    bundle = folder / "bundle" / "bundle.json"
    manifest = json.loads(bundle.read_text())
    manifest["optimizer"] |= optimizer
    bundle.write_text(json.dumps(manifest))
    return await load_task(folder / "task.toml", list(on), frozenset(OPS), stores.blobs)


@pytest.mark.parametrize(
    ("on", "optimizer"),
    [
        ([], {"name": "adam", "slots": 2}),
        ([], {"schedule": "cosine_decay"}),
        ([], {"hyperparameters": {"momentum": 0.9}}),
        (["training.proximal_mu=0.1"], {}),
    ],
)
async def test_dc_asgd_is_refused_where_a_result_does_not_show_the_gradient(
    tmp_path: Path, stores: Stores, on: list[str], optimizer: dict[str, Any]
) -> None:
    folder = write_units(tmp_path / "tiny", assimilation=DELAYED)
    with pytest.raises(TaskFileError, match=r"needs plain gradient descent.*client_rate"):
        await loaded(folder, stores, *on, **optimizer)
    assert await loaded(folder, stores, *on, f"{RECIPE}.client_rate=0.01", **optimizer)


@pytest.mark.parametrize(
    ("on", "optimizer", "rate"),
    [
        ([], {}, 0.5),
        (["training.learning_rate=0.25"], {}, 0.25),
        ([f"{RECIPE}.client_rate=0.125"], {"name": "adam"}, 0.125),
    ],
)
async def test_dc_asgd_divides_by_the_clients_learning_rate_and_leaves_statistics_uncorrected(
    tmp_path: Path, stores: Stores, on: list[str], optimizer: dict[str, Any], rate: float
) -> None:
    task = await loaded(write_units(tmp_path / "tiny", assimilation=DELAYED), stores, *on, **optimizer)
    params, base, weights = (np.full(SIZE, value, np.float32) for value in (2.0, 1.5, 1.0))
    moved, _ = recipe_of(task)()(params, ClientResult(weights, base), no_memory())
    gradient = 0.5 / rate
    np.testing.assert_allclose(moved[:TRAINABLE], 2.0 - rate * (gradient + 0.5 * gradient**2 * 0.5))
    np.testing.assert_allclose(moved[TRAINABLE:], 1.5)


@pytest.mark.parametrize(("rows", "units"), [(0, SHARDS), (4, 2 * SHARDS), (2, 3 * SHARDS)])
async def test_a_buffer_is_refused_that_an_epoch_does_not_fill(
    tmp_path: Path, stores: Stores, rows: int, units: int
) -> None:
    folder = write_units(tmp_path / "tiny", rows=rows, assimilation={"name": "fedbuff", "buffer": units})
    task = await loaded(folder, stores)
    assert len(units_of_epoch(task, 1, 0)) == units
    with pytest.raises(TaskFileError, match=rf"an epoch has {units} units.*Lower it to {units} or less"):
        await loaded(folder, stores, f"{RECIPE}.buffer={units + 1}")
