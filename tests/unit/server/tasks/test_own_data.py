"""What a task's volunteers are told to bring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from backend.errors import DataError
from backend.formats.manifest import Manifest, parse_manifest
from backend.numerics.preprocess.declared import Preprocess
from backend.server.tasks.task_data import own_data
from tests.support.tasks.tiny_task import write_task

TABLE = {
    "kind": "table",
    "columns": [{"kind": "number", "name": "a"}, {"kind": "number", "name": "b"}],
    "labels": [{"kind": "class", "name": "c", "classes": ["no", "yes"]}],
}


@pytest.fixture
def tiny(tmp_path: Path) -> Manifest:
    """A model of two numbers that tells two classes apart."""
    return parse_manifest((write_task(tmp_path / "tiny") / "bundle/bundle.json").read_bytes())


def declared(preprocess: dict[str, Any]) -> Preprocess:
    kinds: Any = Preprocess
    made: Preprocess = msgspec.convert(preprocess, kinds)
    return made


def test_what_is_all_declared_needs_no_data(tiny: Manifest) -> None:
    fitted = msgspec.to_builtins(own_data(declared(TABLE), tiny))
    assert [column["column"] for column in fitted["columns"]] == ["a", "b"]
    assert fitted["label"][0]["classes"] == ["no", "yes"]


def test_arrays_are_as_the_model_takes_them(tiny: Manifest) -> None:
    fitted = msgspec.to_builtins(own_data(declared({"kind": "array"}), tiny))
    assert fitted["inputs"] == [{"shape": [2], "dtype": "float32"}]
    assert fitted["labels"] == [{"shape": [], "dtype": "int32"}]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"labels": [{"kind": "class", "name": "c"}]}, "Declare them: classes"),
        ({"columns": [{"kind": "number", "name": "a"}]}, "the model takes"),
        ({"labels": [{"kind": "class", "name": "c", "classes": ["x", "y", "z"]}]}, "3 outputs"),
    ],
)
def test_what_is_left_open_or_does_not_fit_is_refused(
    tiny: Manifest, changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(DataError, match=told):
        own_data(declared(TABLE | changes), tiny)


def test_as_many_arrays_are_named_as_the_model_takes(tiny: Manifest) -> None:
    with pytest.raises(DataError, match="names the arrays none as labels, and the model takes class"):
        own_data(declared({"kind": "array", "y": []}), tiny)
    unlabelled = msgspec.structs.replace(tiny, labels=[])
    fitted = msgspec.to_builtins(own_data(declared({"kind": "array", "y": []}), unlabelled))
    assert fitted["labels"] == []
    with pytest.raises(DataError, match="names the arrays y as labels, and the model takes none"):
        own_data(declared({"kind": "array"}), unlabelled)
