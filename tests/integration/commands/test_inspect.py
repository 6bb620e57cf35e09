"""`minga inspect`, run as its users run it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from tests.integration.commands import command_runner
from tests.support.tasks.tiny_task import WORK, write_task, write_units

DIGITS = Path(__file__).parents[3] / "models" / "digits"

minga = partial(command_runner.minga, "inspect")
facts = partial(command_runner.facts, "inspect")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_task(tmp_path / "tiny")


def test_a_task_folder_its_file_and_its_bundle_say_the_same_of_the_model(tiny: Path) -> None:
    folder, file, bundle = facts(tiny), facts(tiny / "task.toml"), facts(tiny / "bundle")
    assert folder == file
    assert folder["layers"] == WORK["layers"]
    # Five examples of two float32 and a label in each shard, and two shards in each round.
    assert folder["wire"].pop("data") > 2 * 5 * 3 * 4
    assert bundle["wire"].pop("data") is None
    assert folder == bundle


def test_the_report_fits_a_terminal_of_80_columns(tiny: Path) -> None:
    done = minga(tiny)
    assert done.returncode == 0, done.stderr
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert max(len(line) for line in lines) <= 80
    for heading in ("Layers", "One training step", "On the wire", "Time of one step, estimated"):
        assert f"  {heading}" in lines
    assert any("norm" in line and "2 fixed" in line for line in lines)
    assert any("WebAssembly" in line and "everywhere" in line and "ms" in line for line in lines)


def test_what_moves_is_told_by_the_words_of_the_task(tiny: Path, tmp_path: Path) -> None:
    units = write_units(tmp_path / "units")
    for path, each, examples in (
        (tiny, "Each round ", "of examples down"),
        (units, "Each unit ", "of examples of a new shard"),
        (tiny / "bundle", "Each round or unit ", "up"),
    ):
        text = " ".join(minga(path).stdout.split())
        _, found, after = text.partition(each)
        assert found
        assert after.partition(" Time of one step")[0].endswith(examples)


def test_what_is_in_the_way_is_told_with_the_reason(tiny: Path) -> None:
    path = tiny / "bundle" / "bundle.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest["step"]["deepest_tensor"] = {"name": "windows[0]", "shape": [1] * 7}
    path.write_text(json.dumps(manifest), "utf-8")
    text = " ".join(minga(tiny).stdout.split())
    assert "WebGPU nowhere no no no" in text.replace("–", "")
    assert (
        "WebGPU, WebGL: It knows tensors of up to 6 dimensions, and windows[0] [1, 1, 1, 1, 1, 1, 1]" in text
    )


def test_a_damaged_bundle_is_refused(tiny: Path) -> None:
    (tiny / "bundle" / "weights.bin").write_bytes(bytes(40))
    done = minga(tiny / "bundle")
    assert done.returncode == 2
    assert "weights.bin differs from what bundle.json says" in done.stderr


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    done = minga(tmp_path / "nothing")
    assert done.returncode == 2
    assert f"There is no {tmp_path / 'nothing'}; give a bundle" in done.stderr


@pytest.mark.long
@pytest.mark.tensorflow
def test_a_compiled_model_needs_no_task_file_and_leaves_nothing_behind(tmp_path: Path) -> None:
    from tests.integration.converter.conftest import (
        keras,  # Imported here, so that collecting tests does not wait for it.
    )

    model = tmp_path / "My First.keras"
    network = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="head")])
    network.compile(optimizer="adam", loss="mse")
    network.save(model)
    found = facts(model)
    assert (found["name"], found["batch_size"]) == ("my-first", 32)
    assert [(layer["name"], layer["parameters"]) for layer in found["layers"]] == [("head", 15)]
    assert facts(model, "--batch-size", "8")["memory"]["inputs"] == found["memory"]["inputs"] // 4
    assert list(tmp_path.iterdir()) == [model]


@pytest.mark.tensorflow
def test_a_model_that_is_not_compiled_gets_the_loss_and_optimizer_that_a_draft_proposes(
    tmp_path: Path,
) -> None:
    from tests.integration.converter.conftest import keras

    model = tmp_path / "plain.keras"
    keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")]).save(model)
    done = minga(model)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert 'loss = "sparse_categorical_crossentropy"' in done.stdout
    assert 'name = "adam"' in done.stdout


@pytest.mark.tensorflow
def test_a_model_with_a_task_file_says_what_its_bundle_will_say() -> None:
    model = facts(DIGITS / "built" / "model.keras", "--task", DIGITS / "task.toml")
    bundle = facts(DIGITS / "built" / "bundle")
    assert model["name"] == "digits"
    assert {**model, "wire": None} == {**bundle, "wire": None}


@pytest.mark.long
@pytest.mark.tensorflow
def test_a_model_that_cannot_be_converted_is_refused_with_its_sentence(tmp_path: Path) -> None:
    model = tmp_path / "broken.keras"
    model.write_bytes(b"this is no model")
    done = minga(model)
    assert done.returncode == 1
    assert done.stdout == ""
    refusal = done.stderr.splitlines()[-1]
    assert refusal.startswith("minga: ")
    as_json = minga(model, "--json")
    assert as_json.returncode == 1
    refused = json.loads(as_json.stdout)["refused"]
    assert f"minga: {refused['message']}" == refusal
    assert refused["code"] == "bad-bundle"
