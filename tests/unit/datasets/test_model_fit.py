"""What does not fit the model is told before anything is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from backend.datasets.sharding.cut import CutPlan, cut
from backend.errors import DataError
from backend.server.tasks.bundle_store import check_bundle
from tests.support.tasks import tiny_task
from tests.support.tasks.small_datasets import declared, refuse

TABLE = "a,b,class\n" + "1,2,x\n3,4,y\n5,6,z\n" * 4
COLUMNS = [{"name": "a", "kind": "number"}, {"name": "b", "kind": "number"}]
LABEL = {"name": "class", "kind": "class"}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"columns": COLUMNS, "labels": [LABEL]}, "3 classes for 'class' where the model has 2"),
        ({"columns": COLUMNS[:1], "labels": [LABEL]}, r"\[1\] for 'x' where the model takes \[2\]"),
        ({"columns": COLUMNS}, r"0 labels where the model takes 1 \(class\)"),
        ({"columns": COLUMNS, "labels": [{**LABEL, "encoding": "one-hot"}]}, r"\[3\] for 'class'.*one-hot"),
    ],
)
def test_a_table_that_does_not_fit_the_model_is_refused(
    tmp_path: Path, table: dict[str, Any], words: str
) -> None:
    manifest = check_bundle(tiny_task.write_task(tmp_path / "tiny") / "bundle", frozenset(tiny_task.OPS))
    (tmp_path / "in.csv").write_text(TABLE)
    (tmp_path / "out").mkdir()
    plan = CutPlan(declared(kind="table", **table))
    with pytest.raises(DataError, match=words):
        cut(tmp_path / "in.csv", plan, tmp_path / "out", manifest, refuse, lambda _: None)
    assert not any((tmp_path / "out").iterdir())


def test_labels_of_a_model_that_takes_none_are_refused_with_what_to_declare(tmp_path: Path) -> None:
    manifest = check_bundle(tiny_task.write_task(tmp_path / "tiny") / "bundle", frozenset(tiny_task.OPS))
    manifest = msgspec.structs.replace(manifest, labels=[])
    (tmp_path / "in.csv").write_text(TABLE)
    np.savez(tmp_path / "in.npz", x=np.zeros((4, 2), np.float32))
    (tmp_path / "out").mkdir()
    table = CutPlan(declared(kind="table", columns=COLUMNS, labels=[LABEL]))
    with pytest.raises(DataError, match=r'the model takes none.*kind = "array", x = \["image"\], y = \[\]'):
        cut(tmp_path / "in.csv", table, tmp_path / "out", manifest, refuse, lambda _: None)
    arrays = CutPlan(declared(kind="array", y=[]), holdout=0)
    index = cut(tmp_path / "in.npz", arrays, tmp_path / "out", manifest, refuse, lambda _: None)
    assert [shard.examples for shard in index.index.train] == [1] * 4


def test_a_class_number_beyond_the_model_is_refused(tmp_path: Path) -> None:
    manifest = check_bundle(tiny_task.write_task(tmp_path / "tiny") / "bundle", frozenset(tiny_task.OPS))
    np.savez(tmp_path / "in.npz", x=np.zeros((4, 2), np.float32), y=np.array([0, 1, 2, 1]))
    (tmp_path / "out").mkdir()
    plan = CutPlan(declared(kind="array"), holdout=0)
    with pytest.raises(DataError, match="class 2; the model knows 0 to 1"):
        cut(tmp_path / "in.npz", plan, tmp_path / "out", manifest, refuse, lambda _: None)
