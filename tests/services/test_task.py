"""What a task file asks for must go together with its bundle."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from backend.errors import TaskFileError
from backend.services.task import load_task
from backend.stores.embedded import Stores, open_stores
from tests.tiny import OPS, write_task


@pytest_asyncio.fixture
async def stores(tmp_path: Path) -> AsyncIterator[Stores]:
    opened = open_stores(tmp_path / "data")
    yield opened
    await opened.close()


@pytest.mark.parametrize(
    "optimizer",
    [
        {"name": "adam", "slots": 2},
        {"schedule": "cosine_decay"},
        {"hyperparameters": {"momentum": 0.9, "nesterov": False}},
        {"hyperparameters": {"clipnorm": 1.0}},
    ],
)
async def test_control_variates_are_refused_where_an_update_is_not_the_sum_of_gradients(
    tmp_path: Path, stores: Stores, optimizer: dict[str, Any]
) -> None:
    folder = write_task(tmp_path / "tiny")
    bundle = folder / "bundle" / "bundle.json"
    manifest = json.loads(bundle.read_text())
    manifest["optimizer"] |= optimizer
    bundle.write_text(json.dumps(manifest))
    on = ["training.control_variates=true"]
    with pytest.raises(TaskFileError, match=r"needs plain gradient descent.*or take proximal_mu"):
        await load_task(folder / "task.toml", on, frozenset(OPS), stores.blobs)


async def test_control_variates_go_with_plain_gradient_descent(tmp_path: Path, stores: Stores) -> None:
    folder = write_task(tmp_path / "tiny")
    bundle = folder / "bundle" / "bundle.json"
    manifest = json.loads(bundle.read_text())
    manifest["optimizer"]["hyperparameters"] = {"momentum": 0.0, "nesterov": False}
    bundle.write_text(json.dumps(manifest))
    for on in ("true", "false"):
        task = await load_task(
            folder / "task.toml", [f"training.control_variates={on}"], frozenset(OPS), stores.blobs
        )
        assert (task.zero_control is not None) == (on == "true")
