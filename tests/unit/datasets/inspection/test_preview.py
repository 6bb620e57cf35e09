"""Examples before and after their preprocessing: what is shown is what a cut would store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from PIL import Image

from backend.datasets.inspection.inspect_file import inspect_file
from backend.datasets.inspection.model_input import ModelInput
from backend.datasets.inspection.preview import preview
from backend.datasets.inspection.preview_result import PreviewResult, read_shown
from backend.errors import DataError
from backend.formats.manifest import parse_manifest
from backend.numerics.preprocess.declared import Preprocess
from backend.server.sandbox.data_inspection import preview_data
from backend.server.sandbox.limited_process import Supervision
from tests.support.tasks.owner_files import pictures, zipped
from tests.support.tasks.tiny_task import SIGNATURES, SIZE, manifest


def declared(said: dict[str, Any]) -> Any:
    return msgspec.convert(said, Preprocess)


def shown(data: Path, folder: Path, **changes: Any) -> PreviewResult:
    """By what a look proposes, with some values changed."""
    folder.mkdir()
    said = inspect_file(data, ModelInput(), folder).preprocess | changes
    return preview(data, declared(said), 0.1, folder, None)


def test_pictures_are_shown_as_the_model_sees_them(tmp_path: Path) -> None:
    data, folder = pictures(tmp_path / "d.zip", cats=8, dogs=8), tmp_path / "made"
    made = shown(data, folder, size=[6, 5], channels=1)
    assert (made.inputs[0].shape, made.inputs[0].dtype) == ([6, 5, 1], "uint8")
    assert {one.label for one in made.pictures} == {"cat", "dog"}
    first = made.pictures[0]
    assert (first.width, first.height) == (15, 12)
    with Image.open(folder / first.after) as after, Image.open(folder / (first.before or "")) as before:
        assert (after.size, after.mode, before.size) == ((5, 6), "L", (15, 12))
    assert made.spread is not None
    assert 0.0 <= made.spread.least < made.spread.mean < made.spread.most <= 1.0


def test_rows_are_shown_with_the_numbers_that_go_in(tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text(
        "age,town,class\n" + "".join(f"{n * n},{'ab'[n % 2]},{'xyz'[n % 3]}\n" for n in range(40))
    )
    made = shown(data, tmp_path / "made")
    assert [(one.name, one.role) for one in made.columns] == [
        ("age", "input"),
        ("town", "input"),
        ("class", "label"),
    ]
    assert made.columns[1].became == "one of 2: a, b"
    assert [cell.raw for cell in made.rows[1]] == ["1", "b", "y"]
    assert made.rows[1][1].values == [0.0, 1.0]
    assert made.rows[0][0].values[0] < 0.0


def test_a_row_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text("age,class\n" + "1,x\n,y\n" * 20)
    said = {
        "kind": "table",
        "columns": [{"name": "age", "kind": "number"}],
        "labels": [{"name": "class", "kind": "class"}],
    }
    folder = tmp_path / "made"
    folder.mkdir()
    made = preview(data, declared(said), 0.0, folder, None)
    assert "row 2, column 'age': the value is missing" in made.broken[0]
    assert len(made.rows) == 6


def test_texts_are_shown_as_tokens(tmp_path: Path) -> None:
    plain = tmp_path / "d.txt"
    plain.write_text("to be or not to be " * 40)
    made = shown(plain, tmp_path / "plain", length=8)
    assert "".join(one.text for one in made.tokens) == "to be or"
    assert made.label == " "
    classes = zipped(
        tmp_path / "d.zip", {f"{k}/{n}.txt": f"{k} {n}".encode() for k in "ab" for n in range(9)}
    )
    made = shown(classes, tmp_path / "classes")
    assert ("".join(one.text for one in made.tokens)[:3], made.label) == ("a 0", "a")
    assert not any(one.unknown for one in made.tokens)


def test_arrays_that_are_pictures_are_shown_as_such(tmp_path: Path) -> None:
    data = tmp_path / "d.npz"
    np.savez(data, x=np.arange(10 * 4 * 4, dtype=np.float32).reshape(10, 4, 4), y=np.arange(10) % 2)
    folder = tmp_path / "made"
    made = shown(data, folder)
    assert made.inputs[0].shape == [4, 4]
    assert [one.label for one in made.pictures[:2]] == ["0", "1"]
    with Image.open(folder / made.pictures[0].after) as picture:
        assert picture.size == (4, 4)


def test_what_does_not_fit_the_model_is_said_and_all_is_done_behind_walls(tmp_path: Path) -> None:
    data = pictures(tmp_path / "d.zip")
    files = {f"native/{name}.pb": b"" for name in SIGNATURES}
    files |= {f"{name}/model.json": b"" for name in SIGNATURES} | {"weights.bin": bytes(4 * SIZE)}
    model = tmp_path / "bundle.json"
    model.write_text(json.dumps(manifest(files, 0)))
    parse_manifest(model.read_bytes())
    said = declared({"kind": "image", "size": [8, 8]})
    told: list[str] = []
    made = preview_data(data, "cats.zip", said, 0.1, model, tmp_path / "shown", Supervision(told.append))
    assert "[8, 8, 3]" in (made.misfit or "")
    assert told == ["Preparing some examples."]
    assert (tmp_path / "shown" / "0-in.png").is_file()


def test_answers_of_a_process_that_was_taken_over_are_not_taken() -> None:
    honest = json.loads(msgspec.json.encode(PreviewResult("image", [], [])))
    for lie in (
        {"pictures": [{"before": "../x.png", "after": "0-in.png", "label": "", "width": 1, "height": 1}]},
        {"kind": "program"},
        {"columns": [{"name": "a", "became": "b", "role": "admin"}]},
        {"tokens": [{"text": "a", "id": 1, "unknown": False}] * 200},
    ):
        with pytest.raises(DataError):
            read_shown(json.dumps(honest | lie).encode())
    assert read_shown(json.dumps(honest).encode()).kind == "image"
