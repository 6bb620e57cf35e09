"""Data of every kind become shards."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

from backend.datasets.sharding.cut import Cut, CutPlan, cut
from backend.errors import DataError
from backend.formats.shard_index import PREPROCESS, read_preprocess
from backend.formats.task_file import Partition
from backend.numerics.preprocess.fitted import FittedTable, FittedText, parse_fitted
from tests.support.tasks.small_datasets import (
    arrays_of,
    declared,
    image_folder,
    index_of,
    png,
    refuse,
    zipped,
)

IMAGE: dict[str, Any] = {"kind": "image", "size": [2, 2]}


def cut_into(folder: Path, data: Path, **plan: Any) -> Cut:
    folder.mkdir()
    return cut(data, CutPlan(**plan), folder, None, refuse, lambda _: None)


def test_a_folder_of_images_by_class_becomes_shards(tmp_path: Path) -> None:
    made = cut_into(tmp_path / "out", image_folder(tmp_path / "in"), declared=declared(**IMAGE), holdout=0.2)
    x, y = arrays_of(tmp_path / "out")
    assert (made.train_classes, made.holdout_classes) == (
        {"blue": Counter(y.tolist())[0], "red": Counter(y.tolist())[1]},
        {"blue": 10 - Counter(y.tolist())[0], "red": 10 - Counter(y.tolist())[1]},
    )
    assert len(x) == 16
    colours = np.array([[0, 0, 255], [255, 0, 0]], np.uint8)
    assert (x == colours[y][:, None, None]).all()


def test_a_zip_and_its_folder_give_the_same_shards(tmp_path: Path) -> None:
    folder = image_folder(tmp_path / "in")
    archive = zipped(folder, tmp_path / "in.zip", **{"__MACOSX/red/._000.png": b"?", ".hidden/x.png": b"?"})
    for name, data in (("a", folder), ("b", archive)):
        cut_into(tmp_path / name, data, declared=declared(**IMAGE))
    assert index_of(tmp_path / "a") == index_of(tmp_path / "b")


def test_another_seed_holds_out_other_examples(tmp_path: Path) -> None:
    folder = image_folder(tmp_path / "in")
    for seed in (1, 2):
        cut_into(tmp_path / str(seed), folder, declared=declared(**IMAGE), seed=seed)
    assert index_of(tmp_path / "1") != index_of(tmp_path / "2")


def test_a_test_set_is_held_out_as_a_whole(tmp_path: Path) -> None:
    train, test = image_folder(tmp_path / "in"), image_folder(tmp_path / "test", each=3)
    made = cut_into(tmp_path / "out", train, declared=declared(**IMAGE), test=test)
    assert (sum(made.train_classes.values()), made.holdout_classes) == (20, {"blue": 3, "red": 3})


def test_a_broken_image_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    folder = image_folder(tmp_path / "in")
    (folder / "red" / "003.png").write_bytes(png()[:40])
    with pytest.raises(DataError, match=r"red/003.png: the image cannot be read"):
        cut_into(tmp_path / "a", folder, declared=declared(**IMAGE))
    broken: list[str] = []
    (tmp_path / "b").mkdir()
    plan = CutPlan(declared(**IMAGE), holdout=0)
    made = cut(folder, plan, tmp_path / "b", None, lambda e: broken.append(str(e)), lambda _: None)
    assert made.train_classes == {"blue": 10, "red": 9}
    assert len(broken) == 1


def test_data_are_dealt_out_to_clients(tmp_path: Path) -> None:
    folder = image_folder(tmp_path / "in", each=40)
    for name, partition in (("a", Partition("iid", 4)), ("b", Partition("dirichlet", 4, 0.1))):
        made = cut_into(tmp_path / name, folder, declared=declared(**IMAGE), partition=partition, holdout=0)
        assert {shard.part for shard in made.index.train} == {0, 1, 2, 3}
        assert sum(sum(part.values()) for part in made.part_classes) == 80
        shares = [part["red"] / sum(part.values()) for part in made.part_classes]
        uneven = max(shares) - min(shares)
        assert uneven > 0.5 if name == "b" else uneven < 0.5


CSV = "age,sex,lived\n" + "".join(f"{10 + n % 50},{'fm'[n % 2]},{n % 2}\n" for n in range(100))
TABLE: dict[str, Any] = {
    "kind": "table",
    "columns": [
        {"name": "age", "kind": "number", "scaling": "standard"},
        {"name": "sex", "kind": "category"},
    ],
    "labels": [{"name": "lived", "kind": "class"}],
}


def test_a_table_is_scaled_by_its_training_part_alone(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(CSV)
    cut_into(tmp_path / "out", tmp_path / "in.csv", declared=declared(**TABLE), holdout=0.3)
    x, y = arrays_of(tmp_path / "out")
    assert x.shape == (70, 3)
    assert abs(float(x[:, 0].mean())) < 1e-6
    assert abs(float(x[:, 0].std()) - 1) < 1e-6
    assert (x[:, 2] == y).all()
    held, _ = arrays_of(tmp_path / "out", "holdout")
    assert abs(float(held[:, 0].mean())) > 1e-6


def test_parquet_and_feather_give_the_shards_of_their_csv(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(CSV)
    columns = {"age": [10 + n % 50 for n in range(100)], "sex": ["fm"[n % 2] for n in range(100)]}
    table = pyarrow.table({**columns, "lived": [n % 2 for n in range(100)]})
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet")
    pyarrow.feather.write_feather(table, str(tmp_path / "in.feather"))
    for ending in ("csv", "parquet", "feather"):
        cut_into(tmp_path / ending, tmp_path / f"in.{ending}", declared=declared(**TABLE))
    assert index_of(tmp_path / "csv") == index_of(tmp_path / "parquet") == index_of(tmp_path / "feather")


def test_a_broken_row_is_named_by_its_number(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(CSV + "old,f,1\n")
    plan = declared(**{**TABLE, "columns": [{"name": "age", "kind": "number"}]})
    with pytest.raises(DataError, match=r"in.csv: row 101, column 'age': 'old' is no number"):
        cut_into(tmp_path / "out", tmp_path / "in.csv", declared=plan)


def test_a_text_becomes_windows_and_its_end_is_held_out(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("abcdefghij" * 20)
    plan = declared(kind="text", tokenizer="characters", length=10, stride=5)
    made = cut_into(tmp_path / "out", tmp_path / "in.txt", declared=plan, holdout=0.25)
    x, y = arrays_of(tmp_path / "out")
    assert (x[:, 1:] == y[:, :-1]).all()
    # 38 windows, the last 9 held out; the two before them share tokens with those.
    held, _ = arrays_of(tmp_path / "out", "holdout")
    assert (len(x), len(held)) == (27, 9)
    assert isinstance(made.fitted, FittedText)
    assert made.fitted.tokens == list("abcdefghij")


def test_texts_in_folders_and_in_columns_have_classes(tmp_path: Path) -> None:
    for name, words in (("bad", "awful film"), ("good", "fine film")):
        (tmp_path / "in" / name).mkdir(parents=True)
        for number in range(5):
            (tmp_path / "in" / name / f"{number}.txt").write_text(words)
    rows = "".join(f"{words},{name}\n" for name, words in (("bad", "awful film"), ("good", "fine film")) * 5)
    (tmp_path / "in.csv").write_text("review,verdict\n" + rows)
    common = {"kind": "text", "tokenizer": "words", "length": 4, "unknown": "own"}
    for name, labels in (
        ("in", {"labels": "folders"}),
        ("in.csv", {"labels": "column", "text_column": "review", "label_column": "verdict"}),
    ):
        plan = declared(**common, **labels)
        made = cut_into(tmp_path / f"out-{name}", tmp_path / name, declared=plan, holdout=0)
        assert isinstance(made.fitted, FittedText)
        assert made.fitted.tokens[0] == "film"
        assert made.train_classes == {"bad": 5, "good": 5}
        x, y = arrays_of(tmp_path / f"out-{name}")
        film, fine = (2 + made.fitted.tokens.index(word) for word in ("film", "fine"))
        assert (x[y == 1] == [fine, film, 0, 0]).all()


def test_arrays_are_taken_as_they_are(tmp_path: Path) -> None:
    x, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 3
    np.savez(tmp_path / "in.npz", x=x, y=y)
    made = cut_into(tmp_path / "out", tmp_path / "in.npz", declared=declared(kind="array"), holdout=0)
    got_x, got_y = arrays_of(tmp_path / "out")
    assert sorted(map(tuple, got_x.tolist())) == sorted(map(tuple, x.tolist()))
    assert (got_x.dtype, got_y.dtype) == (np.float32, np.int32)
    assert made.train_classes == {"0": 7, "1": 7, "2": 6}


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": np.zeros((2, 2))}, "no array 'y'"),
        ({"x": np.zeros((2, 2)), "y": np.zeros(3)}, "equally many examples"),
        ({"x": np.full((2, 2), np.nan), "y": np.zeros(2)}, "not finite float32"),
        ({"x": np.zeros((2, 2)), "y": np.array([1, 2**40])}, "beyond int32"),
        ({"x": np.zeros((2, 2)), "y": np.array(["a", "b"])}, "no numbers"),
        ({"x": np.zeros((2, 2)), "y": np.array([{}, {}])}, "holds object, no numbers"),
        ({"x": np.zeros((2, 2)), "y": np.float32(1)}, "single number"),
    ],
)
def test_arrays_that_cannot_be_trained_on_are_refused(
    tmp_path: Path, arrays: dict[str, Any], words: str
) -> None:
    np.savez(tmp_path / "in.npz", **arrays)
    with pytest.raises(DataError, match=words):
        cut_into(tmp_path / "out", tmp_path / "in.npz", declared=declared(kind="array"))


def test_the_fitted_preprocessing_lies_beside_the_shards(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(CSV)
    made = cut_into(tmp_path / "out", tmp_path / "in.csv", declared=declared(**TABLE))
    assert isinstance(made.fitted, FittedTable)
    assert parse_fitted((tmp_path / "out" / PREPROCESS).read_bytes()) == made.fitted
    assert read_preprocess(tmp_path / "out", index_of(tmp_path / "out")) == made.fitted


def test_a_folder_without_examples_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file or folder"):
        cut_into(tmp_path / "a", tmp_path / "in", declared=declared(**IMAGE))
    (tmp_path / "in").mkdir()
    with pytest.raises(DataError, match="holds no file"):
        cut_into(tmp_path / "b", tmp_path / "in", declared=declared(**IMAGE))
    (tmp_path / "in" / "a.txt").write_text("a")
    with pytest.raises(DataError, match="what it holds ends in"):
        cut_into(tmp_path / "c", tmp_path / "in", declared=declared(**IMAGE))


def test_one_class_only_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in" / "red").mkdir(parents=True)
    (tmp_path / "in" / "red" / "a.png").write_bytes(png())
    with pytest.raises(DataError, match="only one class, 'red'"):
        cut_into(tmp_path / "out", tmp_path / "in", declared=declared(**IMAGE))
