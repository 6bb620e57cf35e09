"""The gallery's digits: its data, its build script, and that the model learns."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.support.programs import fork_server_pool

pytestmark = pytest.mark.tensorflow
SCRIPT = Path(__file__).parents[3] / "models" / "digits" / "build.py"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What build.py writes."""
    folder = tmp_path_factory.mktemp("digits") / "built"
    quiet = os.environ | {"CUDA_VISIBLE_DEVICES": "-1"}
    command = [fork_server_pool.executable(), str(SCRIPT), str(folder)]
    subprocess.run(command, env=quiet, check=True, capture_output=True)
    return folder


def shards(folder: Path, part: str) -> list[dict[str, Any]]:
    index = json.loads((folder / "shards" / "shards.json").read_text("utf-8"))[part]
    contents = []
    for entry in index:
        content = (folder / "shards" / entry["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry["sha256"]
        assert entry["file"] == entry["sha256"] + ".shard"
        assert len(content) == entry["bytes"]
        contents.append(msgspec.msgpack.decode(content))
        assert contents[-1]["examples"] == entry["examples"]
    return contents


def arrays(parts: list[dict[str, Any]]) -> tuple[Any, Any]:
    sides = []
    for side in ("x", "y"):
        stored = [part[side][0] for part in parts]
        each = [np.frombuffer(a["data"], a["dtype"]).reshape(a["shape"]) for a in stored]
        sides.append(np.concatenate(each))
    return sides[0], sides[1]


def test_shards_hold_every_digit_once(built: Path) -> None:
    train, holdout = shards(built, "train"), shards(built, "holdout")
    assert [s["examples"] for s in train] == [100] * 15
    x, y = arrays(train)
    held_x, held_y = arrays(holdout)
    assert (x.shape, x.dtype, y.dtype) == ((1500, 8, 8, 1), np.uint8, np.int32)
    assert held_x.shape == (297, 8, 8, 1)
    assert x.max() == 16
    # Each digit has its tenth of the held-out part, give or take two.
    assert all(28 <= count <= 32 for count in np.bincount(held_y))
    assert np.bincount(np.concatenate([y, held_y])).tolist() == [
        178,
        182,
        177,
        183,
        181,
        182,
        181,
        179,
        174,
        180,
    ]
    assert not {row.tobytes() for row in x} & {row.tobytes() for row in held_x}


def test_the_split_is_always_the_same(built: Path, tmp_path: Path) -> None:
    command = [fork_server_pool.executable(), str(SCRIPT), str(tmp_path / "again")]
    subprocess.run(command, check=True, capture_output=True)
    text = (built / "shards" / "shards.json").read_text("utf-8")
    assert (tmp_path / "again" / "shards" / "shards.json").read_text("utf-8") == text


@pytest.mark.long
def test_training_in_one_place_reads_97_of_100_held_out_digits(built: Path) -> None:
    import keras

    keras.utils.set_random_seed(5)
    model = keras.saving.load_model(built / "model.keras")
    model.compile(keras.optimizers.Adam(0.005), "sparse_categorical_crossentropy", metrics=["accuracy"])
    x, y = arrays(shards(built, "train"))
    held_x, held_y = arrays(shards(built, "holdout"))
    scale = np.float32(0.0625)
    model.fit(x * scale, y, batch_size=32, epochs=12, verbose=0)
    _, accuracy = model.evaluate(held_x * scale, held_y, verbose=0)
    assert accuracy >= 0.97
