"""The evaluator as the process that the server talks to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.timeouts import PATIENCE

pytestmark = pytest.mark.tensorflow


def converse(*lines: object) -> tuple[int, list[dict[str, Any]], str]:
    """Exit code, answers and standard error of one evaluator."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    command = [sys.executable, "-m", "backend.peer.training.evaluator"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def setup(digits: Path, part: str = "holdout") -> dict[str, Any]:
    folder = digits / "built" / "shards"
    files = [str(folder / entry["file"]) for entry in json.loads((folder / "shards.json").read_bytes())[part]]
    return {"bundle": str(digits / "built" / "bundle"), "shards": files}


def test_a_version_is_measured_exactly_as_keras_does(digits: Path) -> None:
    """297 examples in batches of 32: the last one is padded, and must not count."""
    import keras

    from backend.peer.data.shards import read_shard
    from backend.peer.training.graphs import open_bundle

    bundle = digits / "built" / "bundle"
    code, answers, _ = converse(setup(digits), {"version": 3, "weights": str(bundle / "weights.bin")})
    assert code == 0
    examples = read_shard(Path(setup(digits)["shards"][0]).read_bytes(), open_bundle(bundle, []).manifest)
    model = keras.models.load_model(digits / "built" / "model.keras", compile=False)
    model.compile(loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    loss, accuracy = model.evaluate(examples.x[0], examples.y[0], verbose=0)
    assert answers[0]["version"] == 3
    assert answers[0]["loss"] == pytest.approx(loss, rel=1e-5)
    assert answers[0]["metrics"] == {"accuracy": pytest.approx(accuracy, abs=1e-6)}


def test_an_unusable_version_is_answered_and_the_next_one_measured(digits: Path, tmp_path: Path) -> None:
    good = digits / "built" / "bundle" / "weights.bin"
    short, bad = tmp_path / "short.bin", tmp_path / "nan.bin"
    short.write_bytes(good.read_bytes()[:-4])
    np.full(7490, np.nan, "<f4").tofile(bad)
    code, answers, _ = converse(
        setup(digits),
        {"version": 1, "weights": str(short)},
        {"version": 2, "weights": str(bad)},
        {"version": 3, "weights": str(tmp_path / "missing.bin")},
        {"what": "is this"},
        {"version": 4, "weights": str(good)},
    )
    assert code == 0
    assert [answer["version"] for answer in answers] == [1, 2, 3, None, 4]
    assert "7489 values" in answers[0]["error"]
    assert "not a finite number" in answers[1]["error"]
    assert "cannot be read" in answers[2]["error"]
    assert "loss" in answers[4]


def test_an_unusable_setup_ends_it_with_a_sentence(digits: Path, tmp_path: Path) -> None:
    code, answers, words = converse({"bundle": str(tmp_path), "shards": []})
    assert (code, answers) == (1, [])
    assert "The bundle has no file" in words
    code, answers, words = converse({**setup(digits), "shards": []})
    assert (code, answers) == (1, [])
    assert "no held-out examples" in words
