"""What is found in data of every kind, and that what is proposed for them works."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from backend.datasets.inspection.findings import DataFindings, read_findings
from backend.datasets.inspection.inspect_file import inspect_file
from backend.datasets.inspection.model_input import ModelInput
from backend.datasets.readers.source import stop
from backend.datasets.sharding.cut import CutPlan, cut
from backend.errors import CancelledError, DataError, MingaError
from backend.formats.manifest import InputSpec, LabelSpec
from backend.numerics.preprocess.declared import Preprocess
from backend.server.sandbox.data_inspection import inspect_data
from backend.server.sandbox.limited_process import ProcessLimits, Supervision
from tests.support.tasks.owner_files import pictures, zipped

NOTHING = ModelInput()


def model(shape: list[int], label: list[int], classes: int | None = None, scales: bool = False) -> ModelInput:
    inputs = [InputSpec("x", shape, "float32")]
    return ModelInput(inputs, [LabelSpec("y", label, "int32", classes)], scales)


def cut_as_proposed(data: Path, findings: DataFindings, folder: Path) -> dict[str, int]:
    """Cuts the data by the proposal; the classes of all examples."""
    declared: Any = msgspec.convert(findings.preprocess, Preprocess)
    folder.mkdir()
    done = cut(data, CutPlan(declared, holdout=0.0), folder, None, stop, lambda _: None)
    assert sum(one.examples for one in done.index.train) == findings.examples
    return done.train_classes


def test_folders_of_pictures(tmp_path: Path) -> None:
    data = pictures(tmp_path / "d.zip", cats=8, dogs=2)
    findings = inspect_file(data, NOTHING, tmp_path)
    assert (findings.kind, findings.classes) == ("image", {"cat": 8, "dog": 2})
    assert {one.label for one in findings.pictures} == {"cat", "dog"}
    assert all((tmp_path / one.file).read_bytes().startswith(b"\x89PNG") for one in findings.pictures)
    assert "guess the frequent class" in " ".join(findings.notes)
    assert cut_as_proposed(data, findings, tmp_path / "shards") == findings.classes


def test_pictures_are_proposed_as_the_model_takes_them(tmp_path: Path) -> None:
    data = pictures(tmp_path / "d.zip")
    proposed = inspect_file(data, model([16, 20, 1], [2], 2), tmp_path).preprocess
    assert (proposed["size"], proposed["channels"], proposed["encoding"]) == ([16, 20], 1, "one-hot")
    assert inspect_file(data, model([16, 16, 3], [], 5, scales=True), tmp_path).preprocess["scale"] == 1.0
    assert "has 1 classes" in " ".join(inspect_file(data, model([8, 8, 3], [], 1), tmp_path).notes)
    assert "which is not a picture" in " ".join(inspect_file(data, model([8], [], 2), tmp_path).notes)


TABLE = "id;name;age;town;height;class\n" + "".join(
    f"{n};Somebody with a rather long name, number {n};{20 + n % 7 if n % 5 else ''};"
    f"{'abc'[n % 3]};1,{n % 90 + 10};{'yes' if n % 2 else 'no'}\n"
    for n in range(60)
)


def test_a_table(tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text(TABLE)
    findings = inspect_file(data, NOTHING, tmp_path)
    assert (findings.kind, findings.examples, findings.classes) == ("table", 60, {"no": 30, "yes": 30})
    kinds = {one.name: one.kind for one in findings.columns}
    assert kinds == {
        "id": "id",
        "name": "text",
        "age": "number",
        "town": "category",
        "height": "number",
        "class": "category",
    }
    assert [one["name"] for one in findings.preprocess["columns"]] == ["age", "town", "height"]
    assert findings.preprocess["labels"][0]["encoding"] == "number"
    assert findings.columns[2].missing == 12
    assert len(findings.rows) == 8
    assert cut_as_proposed(data, findings, tmp_path / "shards") == findings.classes


def test_a_table_whose_label_is_a_number(tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text("a,price\n" + "".join(f"{n % 9},{n * 1.5}\n" for n in range(50)))
    findings = inspect_file(data, NOTHING, tmp_path)
    assert findings.preprocess["labels"] == [{"name": "price", "kind": "number"}]
    cut_as_proposed(data, findings, tmp_path / "shards")


def test_texts_in_a_table(tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    rows = "".join(
        f"This is what somebody wrote on day {n},{'good' if n % 3 else 'bad'}\n" for n in range(40)
    )
    data.write_text(f"review,label\n{rows}")
    findings = inspect_file(data, NOTHING, tmp_path)
    assert (findings.kind, findings.classes) == ("text", {"bad": 14, "good": 26})
    assert cut_as_proposed(data, findings, tmp_path / "shards") == findings.classes


def test_texts_in_folders(tmp_path: Path) -> None:
    data = zipped(tmp_path / "d.zip", {f"{name}/{n}.txt": b"words" for name in ("a", "b") for n in range(3)})
    findings = inspect_file(data, NOTHING, tmp_path)
    assert (findings.kind, findings.classes) == ("text", {"a": 3, "b": 3})
    assert cut_as_proposed(data, findings, tmp_path / "shards") == findings.classes


@pytest.mark.parametrize("told", [None, 256, 5])
def test_a_text_to_continue(tmp_path: Path, told: int | None) -> None:
    data = tmp_path / "d.txt"
    data.write_text("to be, or not to be: that is the question.\n" * 30)
    wanted = NOTHING if told is None else model([32], [32], told)
    findings = inspect_file(data, wanted, tmp_path)
    declared: Any = msgspec.convert(findings.preprocess, Preprocess)
    (tmp_path / "shards").mkdir()
    done = cut(data, CutPlan(declared, holdout=0.0), tmp_path / "shards", None, stop, lambda _: None)
    assert done.index.train
    assert findings.preprocess["length"] == (64 if told is None else 32)
    assert findings.texts[0].text.startswith("to be")


def test_arrays_of_a_model_without_labels_are_its_inputs(tmp_path: Path) -> None:
    specs = [InputSpec(name, [2], "float32") for name in ("left", "right")]
    rows = np.ones((3, 2), np.uint8)
    for names, expected in ((("right", "left", "y"), ["left", "right"]), (("a", "b"), ["a", "b"])):
        np.savez(tmp_path / "in.npz", **dict.fromkeys(names, rows))
        found = inspect_file(tmp_path / "in.npz", ModelInput(specs), tmp_path)
        assert found.preprocess == {"kind": "array", "x": expected, "y": [], "scale": 1 / 255}
        assert (found.examples, found.classes) == (3, {})
    np.savez(tmp_path / "in.npz", left=rows, right=rows[:2])
    with pytest.raises(DataError, match="different numbers of examples"):
        inspect_file(tmp_path / "in.npz", ModelInput(specs), tmp_path)
    np.savez(tmp_path / "in.npz", left=rows)
    with pytest.raises(DataError, match="has 1 arrays; the model has 2 inputs"):
        inspect_file(tmp_path / "in.npz", ModelInput(specs), tmp_path)


def test_one_array_has_no_labels_unless_the_model_takes_some(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", pictures=np.ones((3, 2), np.float32))
    found = inspect_file(tmp_path / "in.npz", NOTHING, tmp_path)
    assert found.preprocess == {"kind": "array", "x": ["pictures"], "y": [], "scale": 1.0}
    assert cut_as_proposed(tmp_path / "in.npz", found, tmp_path / "shards") == {}
    with pytest.raises(DataError, match="two are needed"):
        inspect_file(tmp_path / "in.npz", model([2], []), tmp_path)


def test_arrays(tmp_path: Path) -> None:
    data = tmp_path / "d.npz"
    pixels = np.zeros((10, 4, 4, 1), np.uint8)
    np.savez(data, y_train=np.arange(10) % 3, other=np.ones(3), x_train=pixels)
    findings = inspect_file(data, model([5, 5, 1], []), tmp_path)
    assert (findings.kind, findings.classes) == ("array", {"0": 4, "1": 3, "2": 3})
    assert (findings.preprocess["x"], findings.preprocess["y"]) == (["x_train"], ["y_train"])
    assert "the model takes [5, 5, 1]" in " ".join(findings.notes)
    assert cut_as_proposed(data, findings, tmp_path / "shards") == findings.classes


def test_data_are_looked_at_in_a_process_of_its_own(tmp_path: Path) -> None:
    data, said = pictures(tmp_path / "data.zip"), list[str]()
    findings = inspect_data(data, "cats.zip", NOTHING, tmp_path / "out", Supervision(said.append))
    assert said == ["Looking at cats.zip."]
    assert findings.classes == {"cat": 6, "dog": 3}
    assert (tmp_path / "out" / findings.pictures[0].file).is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.zip", "out"]


def test_an_owner_reads_the_name_of_their_file_and_never_a_path_of_the_server(tmp_path: Path) -> None:
    data = zipped(tmp_path / "data.zip", {"../../cat/1.png": b"x"})
    with pytest.raises(DataError, match=r"^my cats\.zip holds") as told:
        inspect_data(data, "my cats.zip", NOTHING, tmp_path / "out")
    assert str(tmp_path) not in str(told.value)
    assert not (tmp_path / "out").exists()


def test_too_much_work_is_ended_with_a_sentence(tmp_path: Path) -> None:
    # A pipe that nobody writes to: its reading never ends by itself.
    data = tmp_path / "d.csv"
    os.mkfifo(data)
    with pytest.raises(MingaError, match=r"took longer than 0\.01 seconds; bring fewer data"):
        inspect_data(data, "d.csv", NOTHING, tmp_path / "out", limits=ProcessLimits(wall_seconds=0.01))
    with pytest.raises(CancelledError):
        inspect_data(data, "d.csv", NOTHING, tmp_path / "out", Supervision(cancelled=lambda: True))
    assert [path.name for path in tmp_path.iterdir()] == ["d.csv"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b'{"kind": "image", "examples": 1, "pictures": '
        b'[{"file": "../../x", "label": "", "width": 1, "height": 1}]}',
        b'{"kind": "image", "examples": 1, "notes": ' + b"[" * 100_000,
    ],
)
def test_findings_of_a_process_that_was_taken_over_are_refused(content: bytes) -> None:
    with pytest.raises(DataError, match="upload the data again"):
        read_findings(content)
