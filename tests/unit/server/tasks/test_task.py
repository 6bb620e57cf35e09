"""What a task file asks for goes together with its bundle and its shards."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from backend.errors import TaskFileError
from backend.server.tasks.task import load_task
from backend.stores.embedded import Stores, open_stores
from tests.support.tasks.tiny_task import EXAMPLES, OPS, SHARDS, STATE, write_task


@pytest_asyncio.fixture
async def stores(tmp_path: Path) -> AsyncIterator[Stores]:
    opened = open_stores(tmp_path / "data")
    yield opened
    await opened.close()


@pytest.mark.parametrize(
    "optimizer",
    [
        {"name": "adam", "slots": 2},
        {"name": "sgd+sgd"},
        {"schedule": "cosine_decay"},
        {"hyperparameters": {"momentum": 0.9, "nesterov": False}},
        {"hyperparameters": {"clipnorm": 1.0}},
        {"hyperparameters": {"constrained": True}},
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


@pytest.mark.parametrize(
    ("per_client", "parts", "shards"), [(2, 0, 2), (100, 0, SHARDS), (100, 3, SHARDS // 3), (1, 3, 1)]
)
async def test_a_schedule_stands_where_the_mean_client_would(
    tmp_path: Path, stores: Stores, per_client: int, parts: int, shards: int
) -> None:
    folder = write_task(tmp_path / "tiny")
    bundle, listed = folder / "bundle" / "bundle.json", folder / "shards" / "shards.json"
    manifest, index = json.loads(bundle.read_text()), json.loads(listed.read_text())
    manifest["optimizer"]["schedule"] = "cosine_decay"
    for number, shard in enumerate(index["train"]):
        shard["part"] = number % parts if parts else None
    bundle.write_text(json.dumps(manifest))
    listed.write_text(json.dumps(index))
    on = [f"data.shards_per_client={per_client}"]
    task = await load_task(folder / "task.toml", on, frozenset(OPS), stores.blobs)
    steps = -(-shards * EXAMPLES // task.batch_size)
    assert [task.past_steps(version) for version in (0, 1, 7)] == [0, steps, 7 * steps]


async def test_models_that_keep_statistics_cannot_be_noised(tmp_path: Path, stores: Stores) -> None:
    folder = write_task(tmp_path / "tiny")
    private = ['privacy.mechanism="central"', "privacy.clip=1.0", "privacy.noise_multiplier=1.0"]
    with pytest.raises(TaskFileError, match="noise would make variances negative"):
        await load_task(folder / "task.toml", private, frozenset(OPS), stores.blobs)


async def test_a_norm_bound_under_which_no_noised_update_comes_is_refused(
    tmp_path: Path, stores: Stores
) -> None:
    folder = write_task(tmp_path / "tiny", more=-STATE)
    private = ['privacy.mechanism="local"', "privacy.clip=4.0", "privacy.noise_multiplier=6.0"]
    with pytest.raises(TaskFileError, match="Raise it to 87"):
        await load_task(folder / "task.toml", private, frozenset(OPS), stores.blobs)
    raised = [*private, "security.max_update_norm=87.0"]
    task = await load_task(folder / "task.toml", raised, frozenset(OPS), stores.blobs)
    assert task.privacy is not None
    assert (task.privacy.clip, task.privacy.noise) == (4.0, 6.0)


async def test_volunteers_are_shown_the_readme_up_to_what_is_for_operators(
    tmp_path: Path, stores: Stores
) -> None:
    folder = write_task(tmp_path / "tiny")
    (folder / "README.md").write_text("Bring *pictures*.\n\n## For operators\n\nDeal out others.\n")
    task = await load_task(folder / "task.toml", [], frozenset(OPS), stores.blobs)
    assert task.readme_html == "<p>Bring <em>pictures</em>.</p>\n"


async def test_the_rate_of_the_first_objective_is_the_bundles(tmp_path: Path, stores: Stores) -> None:
    folder = write_task(tmp_path / "tiny")
    text = (folder / "task.toml").read_text()
    objective = '\n[[model.objectives]]\nlosses = [{ output = "class", name = "mse" }]\n'
    plain, joint = text.replace("[model]", "[model]\noptimizer = { name = 'sgd', learning_rate = 7.0 }"), None
    joint = plain.replace("\n[data]", f"{objective}\n[data]")
    rates = []
    for content in (plain, joint):
        (folder / "task.toml").write_text(content)
        task = await load_task(folder / "task.toml", [], frozenset(OPS), stores.blobs)
        rates.append(task.learning_rate)
    assert rates == [7.0, task.bundle.manifest.optimizer.learning_rate]


async def test_flame_is_refused_where_what_it_clusters_with_is_not_installed(
    tmp_path: Path, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_task(tmp_path / "tiny", min_available_clients=3, quorum=3)
    flame = ['security.robust.rule="flame"', "security.robust.attackers=1"]
    await load_task(folder / "task.toml", flame, frozenset(OPS), stores.blobs)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(TaskFileError, match=r"needs scikit-learn.*pip install 'minga.robust.'"):
        await load_task(folder / "task.toml", flame, frozenset(OPS), stores.blobs)
