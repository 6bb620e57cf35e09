"""Work units in the training worker: rows of a shard, from the given weights or the client's own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from backend.numerics.aggregation.asynchronous import elastic
from backend.numerics.aggregation.figure_agreement import Figures, figure_agreement
from backend.numerics.aggregation.result_agreement import Agreement, Tolerance
from tests.e2e.browser.test_training_worker import MODEL, PLAN, Task, ask_peer, load, put_into, tell
from tests.support.browser.chromium import Chromium, Tab
from tests.support.keras.comparison import relative_error

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]

EXAMPLES, FIRST, ROWS = 40, 11, 20
Arrays = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


@pytest.fixture(scope="module")
def arrays() -> Arrays:
    generator = np.random.default_rng(9)
    x = generator.integers(0, 4, (EXAMPLES, 8, 8, 2)).astype(np.uint8)
    return x, generator.integers(0, 4, EXAMPLES).astype(np.int32)


def packed(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> bytes:
    """A data shard of these examples."""
    both = [{"dtype": a.dtype.name, "shape": list(a.shape), "data": a.tobytes()} for a in (x, y)]
    return msgspec.msgpack.encode(
        {"format": "minga-shard/2", "examples": len(y), "x": both[:1], "y": both[1:]}
    )


@pytest.fixture(scope="module")
def task(bundles: Path, blobs: Path, arrays: Arrays) -> Task:
    """The model's files, and one shard of which units are a part."""
    folder = bundles / MODEL
    for path in folder.rglob("*"):
        if path.is_file():
            put_into(blobs, path.read_bytes())
    return Task(
        folder,
        bundle=put_into(blobs, (folder / "bundle.json").read_bytes()),
        weights=put_into(blobs, (folder / "weights.bin").read_bytes()),
        shards=[put_into(blobs, packed(*arrays))],
    )


@pytest.fixture
def fresh(harness: Chromium, origin: str, task: Task) -> Iterator[Tab]:
    tab = harness.open(f"{origin}/harness/index.html")
    loaded = load(tab, origin, task, "wasm")
    assert loaded["type"] == "loaded", loaded
    yield tab
    tab.close()


def train(tab: Tab, task: Task, first: int = FIRST, start: dict[str, Any] | None = None) -> dict[str, Any]:
    """What the worker makes of a unit of `ROWS` examples from `first` on."""
    unit = {"lease": 7, "rows": {"first": first, "count": ROWS}, "start": start}
    plan = {**PLAN, "shards": task.shards, "unit": unit}
    return tell(tab, type="train", id=2, weights=task.weights, plan=plan)[-1]


def fetch(tab: Tab, origin: str, task: Task) -> dict[str, Any]:
    """Has the worker fetch the unit's files."""
    (shard,) = task.shards
    return tell(tab, type="fetch", id=3, lease=7, origin=origin, weights=task.weights, shard=shard)[-1]


def peers(task: Task, arrays: Arrays, blobs: Path, folder: Path, start: Path | None = None) -> Any:
    """What the TensorFlow peer makes of a shard that is just these rows, from the weights in `start`."""
    shard = put_into(blobs, packed(*(values[FIRST : FIRST + ROWS] for values in arrays)))
    plan = PLAN if start is None else {**PLAN, "weights": str(start)}
    return ask_peer(Task(task.folder, task.bundle, task.weights, [shard]), blobs, folder, plan)


def test_a_unit_trains_on_its_rows_alone(
    fresh: Tab, task: Task, arrays: Arrays, blobs: Path, tmp_path: Path
) -> None:
    trained = train(fresh, task)
    assert trained["type"] == "trained", trained
    assert (trained["steps"], trained["planned"], trained["examples"]) == (6, 6, 2 * ROWS)
    expected = peers(task, arrays, blobs, tmp_path)
    assert trained["loss"] == pytest.approx(expected["loss"], rel=1e-4)
    assert relative_error(trained["update"], expected["update"]) < 1e-3
    figures = [Figures(each["loss"], tuple(map(tuple, each["sums"]))) for each in (trained, expected)]
    assert figure_agreement(figures[0], figures[1], Tolerance(0.001, 0.9999, 0.3)) is Agreement.SAME
    given = np.fromfile(task.folder / "weights.bin", "<f4")
    assert np.array(trained["local"]) == pytest.approx(given + np.array(trained["update"]), abs=1e-6)


def test_units_beyond_their_shard_fail_with_a_sentence(fresh: Tab, task: Task) -> None:
    failed = train(fresh, task, first=EXAMPLES - ROWS + 1)
    assert failed["type"] == "failed"
    assert failed["problem"] == "The work unit is 20 examples from number 21 on, of 40 in its shard."


@pytest.mark.parametrize("elasticity", [0.0, 0.25])
def test_a_unit_may_begin_at_the_clients_own_weights_drawn_towards_the_given(
    elasticity: float, fresh: Tab, task: Task, arrays: Arrays, blobs: Path, tmp_path: Path
) -> None:
    given = np.fromfile(task.folder / "weights.bin", "<f4")
    own = (given + np.random.default_rng(3).normal(0, 0.02, len(given))).astype("<f4")
    start = elastic(own, given, elasticity)
    start.astype("<f4").tofile(tmp_path / "start")
    trained = train(fresh, task, start={"own": own.tolist(), "elasticity": elasticity})
    assert trained["type"] == "trained", trained
    ended = start + peers(task, arrays, blobs, tmp_path, tmp_path / "start")["update"]
    assert relative_error(trained["local"], ended) < 1e-4
    # The server is told the way from the weights that it gave.
    assert relative_error(trained["update"], ended - given) < 1e-3


def test_own_weights_of_another_model_fail_with_a_sentence(fresh: Tab, task: Task) -> None:
    failed = train(fresh, task, start={"own": [0.5, 0.25], "elasticity": 0.5})
    assert (failed["type"], failed["kind"]) == ("failed", None)
    assert "another one by now" in failed["problem"]


def test_a_shard_is_kept_over_a_reload_and_fetched_once(
    fresh: Tab, origin: str, task: Task, arrays: Arrays, blobs: Path
) -> None:
    x, y = arrays
    content = packed(x, (y + 1) % 4)
    alone = Task(task.folder, task.bundle, task.weights, [put_into(blobs, content)])
    assert fetch(fresh, origin, alone)["type"] == "fetched"
    before = train(fresh, alone)
    assert before["type"] == "trained", before
    assert fresh.evaluate("() => window.held()") == alone.shards
    (blobs / hashlib.sha256(content).hexdigest()).unlink()
    fresh.reload()
    assert load(fresh, origin, task, "wasm")["type"] == "loaded"
    assert fetch(fresh, origin, alone)["type"] == "fetched"
    assert train(fresh, alone)["update"] == before["update"]
    missing = Task(task.folder, task.bundle, task.weights, ["0" * 64])
    assert "does not have a file" in fetch(fresh, origin, missing)["problem"]
    # A plan of rounds has nothing to do with what units keep.
    plan = {**PLAN, "shards": alone.shards}
    failed = tell(fresh, type="train", id=4, weights=task.weights, plan=plan)[-1]
    assert "does not have a file" in failed["problem"]
