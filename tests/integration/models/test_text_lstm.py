"""The gallery's text-lstm: its play, its build script, what its README says, and that the model learns."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from backend.formats.task_file import read_task_file
from backend.formats.task_file.units import VcAsgd
from tests.support.programs import fork_server_pool

pytestmark = [pytest.mark.tensorflow, pytest.mark.long]
ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "models" / "text-lstm"
LENGTH = 40


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What build.py writes."""
    folder = tmp_path_factory.mktemp("text-lstm") / "built"
    quiet = os.environ | {"CUDA_VISIBLE_DEVICES": "-1"}
    command = [fork_server_pool.executable(), str(FOLDER / "build.py"), str(folder)]
    subprocess.run(command, env=quiet, cwd=ROOT, check=True, capture_output=True)
    return folder


def windows(folder: Path, part: str) -> np.ndarray[Any, Any]:
    """[n, 41]: the ids of each window, and the one after it."""
    index = json.loads((folder / "shards/shards.json").read_text("utf-8"))[part]
    rows = []
    for entry in index:
        shard = msgspec.msgpack.decode((folder / "shards" / entry["file"]).read_bytes())
        x, y = (
            np.frombuffer(shard[side][0]["data"], np.uint8).reshape(entry["examples"], LENGTH)
            for side in ("x", "y")
        )
        assert (x[:, 1:] == y[:, :-1]).all()
        rows.append(np.concatenate([x, y[:, -1:]], 1))
    return np.concatenate(rows)


def test_shards_hold_the_play_once_and_its_end_is_held_out(built: Path) -> None:
    train, held = windows(built, "train"), windows(built, "holdout")
    tokens = msgspec.to_builtins(read_task_file(FOLDER / "task.toml").data.preprocess)["tokens"]
    play = (FOLDER / "play.txt").read_text("utf-8")
    ids = np.array([tokens.index(character) for character in play], np.uint8)
    parts = {ids[at : at + LENGTH + 1].tobytes() for at in range(0, len(ids) - LENGTH, LENGTH)}
    assert (len(train), len(held)) == (3002, 333)
    seen = [row.tobytes() for row in np.concatenate([train, held])]
    # All but one, which would overlap what is held out.
    assert set(seen) < parts
    assert len(parts) - len(set(seen)) <= 1
    end = ids[-LENGTH * (len(held) + 1) :].tobytes()
    assert all(row[:-1].tobytes() in end for row in held)


def test_the_task_is_what_its_readme_says(built: Path) -> None:
    import keras

    task, text = read_task_file(FOLDER / "task.toml"), (FOLDER / "README.md").read_text("utf-8")
    model = keras.saving.load_model(built / "model.keras")
    lstms = [layer.units for layer in model.layers if isinstance(layer, keras.layers.LSTM)]
    units = task.coordination.units
    assert lstms == [50, 50]
    assert f"{model.count_params():,} parameters" in text
    assert f"{len((FOLDER / 'play.txt').read_text('utf-8')):,} characters" in text
    assert task.model.batch_size == 8
    assert units is not None
    assert (task.coordination.scheme, units.assimilation) == ("volunteer", VcAsgd())


def test_training_in_one_place_gets_35_of_100_characters_right(built: Path) -> None:
    import keras

    keras.utils.set_random_seed(5)
    model = keras.saving.load_model(built / "model.keras")
    optimizer = keras.optimizers.Adam(0.01, global_clipnorm=1.0)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    train, held = windows(built, "train"), windows(built, "holdout")
    model.fit(train[:, :-1], train[:, 1:], batch_size=32, epochs=5, verbose=0)
    _, accuracy = model.evaluate(held[:, :-1], held[:, 1:], verbose=0)
    assert accuracy >= 0.35
