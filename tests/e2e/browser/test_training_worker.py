"""The training worker as pages use it: messages in, messages out, files by their hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.support.browser.chromium import Chromium, Tab
from tests.support.keras.comparison import relative_error
from tests.support.programs.program_process import Preload, run
from tests.support.timeouts import HEAVY

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]

# Dropout, noise and a convolution: every number that a participant must share with the others takes part.
MODEL = "dropout"
PLAN = {
    "epochs": 2,
    "steps": 0,
    "batchSize": 8,
    "learningRate": 0.05,
    "pastSteps": 0,
    "seed": 12345678901,
    "proximalMu": 0.0,
    "control": None,
    "privacy": None,
    "protection": None,
    "until": None,
    "unit": None,
}
# Everything else that a plan may ask for: 9 steps of 5 rows are one pass over 35 examples and two batches.
CORRECTED = {**PLAN, "epochs": 0, "steps": 9, "batchSize": 5, "proximalMu": 0.5}


@dataclass(frozen=True)
class Task:
    """Addresses of a task's files."""

    folder: Path
    bundle: str
    weights: str
    shards: list[str]


def _array(values: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {"dtype": values.dtype.name, "shape": list(values.shape), "data": values.tobytes()}


def _shard(examples: int, seed: int) -> bytes:
    generator = np.random.default_rng(seed)
    x = generator.integers(0, 4, (examples, 8, 8, 2)).astype(np.uint8)
    y = generator.integers(0, 4, examples).astype(np.int32)
    shard = {"format": "minga-shard/2", "examples": examples, "x": [_array(x)], "y": [_array(y)]}
    return msgspec.msgpack.encode(shard)


def put_into(blobs: Path, content: bytes) -> str:
    """The address of a blob that is there now."""
    address = hashlib.sha256(content).hexdigest()
    (blobs / address).write_bytes(content)
    return address


@pytest.fixture(scope="module")
def task(bundles: Path, blobs: Path) -> Task:
    """The task's files in the blob store. Batches of 8 from 20 and 15 examples leave a short one."""
    put = partial(put_into, blobs)
    folder = bundles / MODEL
    for path in folder.rglob("*"):
        if path.is_file():
            put(path.read_bytes())
    return Task(
        folder,
        bundle=put((folder / "bundle.json").read_bytes()),
        weights=put((folder / "weights.bin").read_bytes()),
        shards=[put(_shard(20, 1)), put(_shard(15, 2))],
    )


@pytest.fixture
def fresh(harness: Chromium, origin: str) -> Iterator[Tab]:
    """A page whose worker has heard nothing yet."""
    tab = harness.open(f"{origin}/harness/index.html")
    yield tab
    tab.close()


def tell(tab: Tab, **message: Any) -> list[dict[str, Any]]:
    """All answers to one message."""
    answers: list[dict[str, Any]] = tab.evaluate("message => window.tell(message)", message)
    return answers


def load(tab: Tab, origin: str, task: Task, backend: str | None, **more: Any) -> dict[str, Any]:
    return tell(
        tab,
        type="load",
        id=1,
        origin=origin,
        bundle=task.bundle,
        setup={"backend": backend, "avoid": [], "sliced": None, **more},
    )[-1]


def ask_peer(task: Task, blobs: Path, folder: Path, plan: dict[str, Any]) -> dict[str, Any]:
    """What the TensorFlow peer makes of a plan."""
    update = folder / "update.bin"
    shards = [str(blobs / shard) for shard in task.shards]
    words = [str(task.folder), json.dumps(plan), str(update), *shards]
    done = run(Preload.PEER, "tests.e2e.browser.peer_plan", *words)
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout), "update": np.fromfile(update, "<f4")}


@pytest.fixture(scope="module")
def peers_own(task: Task, blobs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the TensorFlow peer reports for the same plan."""
    return ask_peer(task, blobs, tmp_path_factory.mktemp("peer"), PLAN)


@dataclass(frozen=True)
class Rounds:
    """Two rounds of SCAFFOLD with FedProx: addresses of what the server gives, and the peer's results."""

    weights: list[str]
    variates: list[str]
    peers: list[dict[str, Any]]


@pytest.fixture(scope="module")
def rounds(task: Task, blobs: Path, tmp_path_factory: pytest.TempPathFactory) -> Rounds:
    """The server's variate is zero, then anything; the second version is the first with the peer's update."""
    folder = tmp_path_factory.mktemp("rounds")
    sizes = json.loads((task.folder / "bundle.json").read_text("utf-8"))["parameters"]
    total, trainable = sizes["trainable"] + sizes["state"], sizes["trainable"]
    weights = np.fromfile(task.folder / "weights.bin", "<f4")
    servers = [np.zeros(trainable, "<f4"), np.random.default_rng(5).normal(0, 0.3, trainable).astype("<f4")]
    own = np.zeros(trainable, "<f4")
    made = Rounds([], [], [])
    for server in servers:
        for name, vector in (("weights", weights), ("server", server), ("own", own)):
            vector.tofile(folder / name)
        control = [str(folder / "server"), str(folder / "own")]
        plan = {**CORRECTED, "weights": str(folder / "weights"), "control": control}
        made.weights.append(put_into(blobs, weights.tobytes()))
        made.variates.append(put_into(blobs, server.tobytes()))
        made.peers.append(ask_peer(task, blobs, folder, plan))
        update = made.peers[-1]["update"]
        weights, own = weights + update[:total], own + update[total:]
    return made


@pytest.mark.parametrize("backend", ["wasm", "webgl"])
def test_a_plan_ends_in_the_update_of_the_tensorflow_peer(
    backend: str, fresh: Tab, origin: str, task: Task, peers_own: dict[str, Any]
) -> None:
    loaded = load(fresh, origin, task, backend)
    assert loaded["type"] == "loaded", loaded
    assert loaded["backend"] == backend
    plan = {**PLAN, "shards": task.shards}
    *progress, trained = tell(fresh, type="train", id=2, weights=task.weights, plan=plan)
    assert trained["type"] == "trained", trained
    assert [p["step"] for p in progress] == list(range(1, 11))
    assert {p["steps"] for p in progress} == {10}
    assert trained["steps"] == 10
    assert trained["examples"] == peers_own["examples"] == 70
    assert trained["loss"] == pytest.approx(peers_own["loss"], rel=1e-4)
    assert np.array(trained["sums"]) == pytest.approx(np.array(peers_own["sums"]), rel=1e-4)
    assert relative_error(trained["update"], peers_own["update"]) < 1e-3


@pytest.mark.parametrize("backend", ["wasm", pytest.param("webgl", marks=pytest.mark.long)])
def test_steps_small_batches_fedprox_and_scaffold_give_the_peers_updates_over_two_rounds_and_a_reload(
    backend: str, fresh: Tab, origin: str, task: Task, rounds: Rounds
) -> None:
    for version, peers in enumerate(rounds.peers):
        load(fresh, origin, task, backend)
        control = {"server": rounds.variates[version], "storedAs": f"test {backend}", "version": version}
        plan = {**CORRECTED, "shards": task.shards, "control": control}
        trained = tell(fresh, type="train", id=2, weights=rounds.weights[version], plan=plan)[-1]
        assert trained["type"] == "trained", trained
        assert (trained["steps"], trained["planned"], trained["examples"]) == (9, 9, peers["examples"])
        update, change = np.array(trained["update"]), np.array(trained["change"])
        assert relative_error(update, peers["update"][: len(update)]) < 1e-3
        assert relative_error(change, peers["update"][len(update) :]) < 1e-3
        kept = tell(fresh, type="keep", id=3, control=control, change=change.tolist(), undo=False)
        assert kept[-1]["type"] == "kept"
        fresh.reload()


KEPT = """name => new Promise((resolve, reject) => {
  const opening = indexedDB.open("minga", 1);
  opening.onerror = () => reject(opening.error);
  opening.onsuccess = () => {
    const reading = opening.result.transaction("control-variates").objectStore("control-variates").get(name);
    reading.onsuccess = () => {
      opening.result.close();
      const kept = reading.result;
      resolve(kept ? [kept.version, Array.from(kept.values)] : null);
    };
  };
})"""


def test_a_browser_keeps_changes_over_reloads_takes_the_last_back_and_knows_another_run(fresh: Tab) -> None:
    def keep(name: str, version: int, change: list[float], undo: bool = False) -> Any:
        control = {"server": "0" * 64, "storedAs": name, "version": version}
        answer = tell(fresh, type="keep", id=1, control=control, change=change, undo=undo)[-1]
        assert answer["type"] == "kept", answer
        return fresh.evaluate(KEPT, name)

    assert keep("run", 0, [1.0, 2.0]) == [0, [1.0, 2.0]]
    fresh.reload()
    assert keep("run", 3, [0.5, 0.5]) == [3, [1.5, 2.5]]
    assert keep("other", 3, [9.0, 9.0]) == [3, [9.0, 9.0]]
    # An older change is not the last one; the last one is taken back once.
    assert keep("run", 0, [1.0, 2.0], undo=True) == [3, [1.5, 2.5]]
    for _ in range(2):
        assert keep("run", 3, [0.5, 0.5], undo=True) == [2, [1.0, 2.0]]
    # A run that begins again, and a model of another size, begin at zero.
    assert keep("run", 2, [7.0, 7.0]) == [2, [7.0, 7.0]]
    assert keep("run", 3, [1.0, 1.0, 1.0]) == [3, [1.0, 1.0, 1.0]]
    assert keep("nothing", 3, [1.0], undo=True) is None


@pytest.mark.parametrize("backend", ["wasm", pytest.param("webgl", marks=pytest.mark.long)])
def test_measuring_gives_the_peers_sums(
    backend: str, fresh: Tab, origin: str, task: Task, peers_own: dict[str, Any]
) -> None:
    load(fresh, origin, task, backend)
    plan = {"shards": task.shards, "until": None}
    measured = tell(fresh, type="measure", id=2, weights=task.weights, plan=plan)[-1]
    assert measured["type"] == "measured", measured
    examples, loss, sums = peers_own["measured"]
    assert measured["examples"] == examples == 35
    assert measured["loss"] == pytest.approx(loss, rel=1e-4)
    assert np.array(measured["sums"]) == pytest.approx(np.array(sums), rel=1e-4)
    nothing = tell(fresh, type="measure", id=3, weights=task.weights, plan={"shards": [], "until": None})[-1]
    assert (nothing["type"], nothing["examples"]) == ("measured", 0)


def test_a_training_whose_time_is_over_sends_the_steps_it_did_but_one_at_least(
    fresh: Tab, origin: str, task: Task
) -> None:
    load(fresh, origin, task, "wasm")
    plan = {**PLAN, "shards": task.shards, "until": 0}
    trained = tell(fresh, type="train", id=2, weights=task.weights, plan=plan)[-1]
    assert (trained["steps"], trained["planned"], trained["examples"]) == (1, 10, 8)
    assert np.linalg.norm(trained["update"]) > 0


def test_whoever_tries_a_model_gets_keras_output(fresh: Tab, origin: str, task: Task) -> None:
    reference = task.folder / "reference"
    first = json.loads((reference / "inputs.json").read_text("utf-8"))["batches"][0]["x_0"]
    width = int(np.prod(first["shape"][1:]))
    x = np.frombuffer((reference / "inputs.bin").read_bytes(), "<f4", width, first["offset"])
    version = {"weights": task.weights, "update": None}
    weights = np.fromfile(task.folder / "weights.bin", "<f4")
    # With an update that takes all weights away, the answer is that of zeros.
    emptied = {"weights": task.weights, "update": (-weights).tolist()}
    asked = {
        "subject": {"origin": origin, "bundle": task.bundle, "preprocess": None},
        "versions": [version, emptied],
        "question": {"kind": "values", "values": x.tolist()},
    }
    first_answer, without = fresh.evaluate("asked => window.ask(asked)", asked)
    expected = np.fromfile(reference / "output_0.bin", "<f4")[: len(first_answer)]
    assert relative_error(first_answer, expected) < 1e-5
    assert len(set(without)) == 1


def test_stop_ends_training_after_the_current_step(fresh: Tab, origin: str, task: Task) -> None:
    load(fresh, origin, task, "wasm")
    plan = {**PLAN, "epochs": 2000, "shards": task.shards}
    message = {"type": "train", "id": 2, "weights": task.weights, "plan": plan}
    script = "message => window.tell(message, window.stop)"
    *progress, trained = fresh.evaluate(script, message)
    assert trained["type"] == "trained", trained
    assert 0 < trained["steps"] < 10_000
    assert trained["steps"] == len(progress)
    assert np.linalg.norm(trained["update"]) > 0
    again = tell(fresh, type="train", id=3, weights=task.weights, plan={**PLAN, "shards": task.shards})
    assert again[-1]["steps"] == 10


def test_without_a_wish_the_emulated_gpu_is_not_chosen(fresh: Tab, origin: str, task: Task) -> None:
    loaded = load(fresh, origin, task, None)
    assert loaded["backend"] == "wasm"
    assert loaded["stepMs"] > 0


@pytest.mark.parametrize(("options", "chosen"), [({}, "exact"), ({"simd": False}, "wasm")])
def test_a_worker_that_prefers_the_same_bits_chooses_them_where_simd_is(
    fresh: Tab, origin: str, task: Task, options: dict[str, Any], chosen: str
) -> None:
    fresh.evaluate("([options, backend]) => window.chooseKernels(options, backend)", [options, "wasm"])
    loaded = load(fresh, origin, task, None, preferExact=True)
    assert (loaded["type"], loaded["backend"]) == ("loaded", chosen)
    # If it failed before, the relaxed kernels are left.
    loaded = load(fresh, origin, task, None, preferExact=True, avoid=["exact"])
    assert loaded["backend"] == "wasm"


def _bad_address(task: Task, blobs: Path) -> str:
    """An address whose file is another one."""
    address = hashlib.sha256(b"what was meant").hexdigest()
    (blobs / address).write_bytes((blobs / task.weights).read_bytes())
    return address


def _short_weights(task: Task, blobs: Path) -> str:
    content = (blobs / task.weights).read_bytes()[:-4]
    address = hashlib.sha256(content).hexdigest()
    (blobs / address).write_bytes(content)
    return address


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        (_bad_address, "damaged on its way"),
        (_short_weights, "the model needs"),
        (lambda *_: "0" * 64, "does not have a file"),
    ],
)
def test_wrong_files_fail_with_a_sentence_and_the_worker_goes_on(
    weights: Callable[[Task, Path], str], reason: str, fresh: Tab, origin: str, task: Task, blobs: Path
) -> None:
    load(fresh, origin, task, "wasm")
    plan = {**PLAN, "shards": task.shards}
    failed = tell(fresh, type="train", id=2, weights=weights(task, blobs), plan=plan)[-1]
    assert failed["type"] == "failed"
    assert reason in failed["problem"]
    assert tell(fresh, type="train", id=3, weights=task.weights, plan=plan)[-1]["type"] == "trained"


def test_training_before_loading_fails_with_a_sentence(fresh: Tab, task: Task) -> None:
    plan = {**PLAN, "shards": task.shards}
    failed = tell(fresh, type="train", id=2, weights=task.weights, plan=plan)[-1]
    assert failed["type"] == "failed"
    assert "not loaded" in failed["problem"]


def test_feeders_prepare_the_same_batches_in_the_same_order(fresh: Tab) -> None:
    on_the_spot, one, three = fresh.call("feeds", {"feeders": [0, 1, 3]})
    assert on_the_spot == one == three
    assert len(json.loads(on_the_spot)) == 15


def test_feeders_begin_at_a_units_first_step_and_after_the_steps_of_a_checkpoint(fresh: Tab) -> None:
    batches = json.loads(fresh.call("feeds", {"feeders": [0]})[0])
    for count in (0, 1, 3):
        (rest,) = fresh.call("feeds", {"feeders": [count], "firstStep": 6})
        (left,) = fresh.call("feeds", {"feeders": [count], "firstStep": 6, "begun": 2})
        assert [one["x"] for one in json.loads(rest)] == [one["x"] for one in batches[6:]]
        assert json.loads(left) == json.loads(rest)[2:]


def train_fragile(tab: Tab, origin: str, task: Task, backend: str, lose_at: list[int], **plan: Any) -> Any:
    wanted = {
        "origin": origin,
        "bundle": task.bundle,
        "backend": backend,
        "weights": task.weights,
        "plan": {**PLAN, "shards": task.shards, **plan},
        "loseAt": lose_at,
    }
    return tab.evaluate("wanted => window.trainFragile(wanted)", wanted)


def test_a_lost_gpu_costs_the_round_nothing_but_time(
    fresh: Tab, origin: str, task: Task, peers_own: dict[str, Any]
) -> None:
    answer = train_fragile(fresh, origin, task, "webgl", [4])
    assert [notice["next"] for notice in answer["notices"]] == ["webgl"]
    assert "graphics card was taken away" in answer["notices"][0]["reason"]
    assert relative_error(answer["trained"]["update"], peers_own["update"]) < 1e-3


@pytest.mark.timeout(HEAVY)
def test_a_gpu_that_is_lost_again_and_again_is_left(
    fresh: Tab, origin: str, task: Task, peers_own: dict[str, Any]
) -> None:
    answer = train_fragile(fresh, origin, task, "webgl", [3, 2])
    assert [notice["next"] for notice in answer["notices"]] == ["webgl", "wasm"]
    assert answer["trained"]["examples"] == 70
    assert relative_error(answer["trained"]["update"], peers_own["update"]) < 1e-3


def test_a_loss_that_is_no_number_is_told_and_sends_no_update(fresh: Tab, origin: str, task: Task) -> None:
    answer = train_fragile(fresh, origin, task, "webgl", [], learningRate=1e30)
    assert [notice["next"] for notice in answer["notices"]] == ["wasm"]
    assert "no longer a number" in answer["problem"]
