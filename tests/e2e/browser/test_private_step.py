"""Private steps in the browser: gradients clipped as the TensorFlow peer does it, and noise of its size."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.commands.build import build_task
from backend.settings import assets_folder
from tests.e2e.browser.test_training_worker import PLAN, Task, ask_peer, fresh, load, put_into, task, tell
from tests.support.browser.chromium import Tab
from tests.support.keras.comparison import relative_error
from tests.support.programs.program_process import Preload, run

__all__ = ["fresh", "task"]

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]

CLIP = 0.05
# Shaders' gradients differ from TensorFlow's a little more, and clipped ones partly cancel.
NEAR = {"wasm": 1e-5, "webgl": 3e-5}
# One pass over the examples. The clip is below the norm of every gradient, so that each is cut; with larger
# steps the update is not lost in the rounding of the weights.
RATE, ROWS = 0.5, 8
CLIPPED = {"clip": CLIP, "noise": 0.0, "microbatch": 1}
STILL = {**PLAN, "epochs": 1, "learningRate": RATE, "privacy": CLIPPED}


@pytest.fixture(scope="module")
def sliced(blobs: Path, tmp_path_factory: pytest.TempPathFactory) -> Task:
    """The gallery's digits in slices of one row."""
    digits, folder = assets_folder() / "models" / "digits", tmp_path_factory.mktemp("sliced")
    build_task(digits)
    file = folder / "task.toml"
    text = (digits / "task.toml").read_text("utf-8")
    file.write_text(text.replace("batch_size = 32", "batch_size = 32\nslice = 1"), "utf-8")
    bundle = folder / "bundle"
    words: list[str | Path] = [digits / "built" / "model.keras", "--task", file, "-o", bundle]
    done = run(Preload.CONVERTER, "converter", *words)
    assert done.returncode == 0, done.stdout
    put = partial(put_into, blobs)
    for path in bundle.rglob("*"):
        if path.is_file():
            put(path.read_bytes())
    shards = digits / "built" / "shards"
    first = json.loads((shards / "shards.json").read_text("utf-8"))["train"][0]["file"]
    return Task(
        bundle,
        bundle=put((bundle / "bundle.json").read_bytes()),
        weights=put((bundle / "weights.bin").read_bytes()),
        shards=[put((shards / first).read_bytes())],
    )


def train(tab: Tab, task: Task, plan: dict[str, Any]) -> dict[str, Any]:
    told = {**plan, "shards": task.shards}
    trained = tell(tab, type="train", id=2, weights=task.weights, plan=told)[-1]
    assert trained["type"] == "trained", trained
    return trained


@pytest.mark.parametrize("backend", ["wasm", pytest.param("webgl", marks=pytest.mark.long)])
@pytest.mark.parametrize("microbatch", [pytest.param(1, marks=pytest.mark.long), 3])
def test_whole_batches_are_clipped_as_the_peer_clips_them(
    backend: str, microbatch: int, fresh: Tab, origin: str, task: Task, blobs: Path, tmp_path: Path
) -> None:
    plan = {**STILL, "privacy": {**CLIPPED, "microbatch": microbatch}}
    peers = ask_peer(task, blobs, tmp_path, plan)
    load(fresh, origin, task, backend)
    trained = train(fresh, task, plan)
    assert trained["examples"] == peers["examples"] == 35
    assert trained["loss"] == pytest.approx(peers["loss"], rel=1e-5)
    assert relative_error(trained["update"], peers["update"]) < NEAR[backend]


@pytest.mark.parametrize("backend", ["wasm", pytest.param("webgl", marks=pytest.mark.long)])
def test_slices_of_one_row_are_clipped_as_the_peer_clips_them(
    backend: str, fresh: Tab, origin: str, sliced: Task, blobs: Path, tmp_path: Path
) -> None:
    plan = {**STILL, "batchSize": 32, "learningRate": 0.005}
    peers = ask_peer(sliced, blobs, tmp_path, plan)
    load(fresh, origin, sliced, backend)
    trained = train(fresh, sliced, plan)
    assert trained["examples"] == peers["examples"] == 100
    # Adam divides by the size of the gradient, and so magnifies differences where that is near zero.
    assert relative_error(trained["update"], peers["update"]) < 1e-4


def test_the_noise_of_a_step_has_its_standard_deviation_and_is_new_every_time(
    fresh: Tab, origin: str, task: Task
) -> None:
    """The model of `task` is trained by plain gradient descent, so that the noise comes through as it is."""
    load(fresh, origin, task, "wasm")
    plan = {**STILL, "epochs": 0, "steps": 1, "batchSize": ROWS}
    still = np.array(train(fresh, task, plan)["update"])
    noisy = {**plan, "privacy": {**CLIPPED, "noise": 3.0}}
    scale = ROWS / RATE / CLIP
    noises = [(np.array(train(fresh, task, noisy)["update"]) - still) * scale for _ in range(12)]
    every = np.concatenate(noises)
    assert abs(every.std() / 3.0 - 1.0) < 5 / (2 * every.size) ** 0.5
    assert abs(np.corrcoef(noises)[np.triu_indices(12, 1)]).max() < 5 / still.size**0.5


def test_a_plan_without_a_clip_fails_with_a_sentence(fresh: Tab, origin: str, task: Task) -> None:
    load(fresh, origin, task, "wasm")
    plan = {**STILL, "privacy": {**CLIPPED, "clip": 0.0}, "shards": task.shards}
    failed = tell(fresh, type="train", id=2, weights=task.weights, plan=plan)[-1]
    assert failed["type"] == "failed"
    assert "clip above 0" in failed["problem"]


def test_a_whole_update_is_clipped_and_noised_before_it_leaves_the_worker(
    fresh: Tab, origin: str, task: Task
) -> None:
    load(fresh, origin, task, "wasm")
    plain = {**PLAN, "epochs": 1}
    whole = np.array(train(fresh, task, plain)["update"])
    clip = float(np.linalg.norm(whole)) / 2
    clipped = np.array(train(fresh, task, {**plain, "protection": {"clip": clip, "noise": 0.0}})["update"])
    np.testing.assert_allclose(clipped, whole / 2, atol=1e-4 * clip)
    noised = np.array(train(fresh, task, {**plain, "protection": {"clip": clip, "noise": 2.0}})["update"])
    deviation = float((noised - clipped).std())
    assert abs(deviation / (2.0 * clip) - 1.0) < 6 / (2 * noised.size) ** 0.5
