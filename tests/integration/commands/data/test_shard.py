"""`minga shard`, as an owner types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from backend.__main__ import REFUSED, main
from backend.formats.task_file import read_task_file
from tests.support.environment.data_server import elsewhere
from tests.support.plugins.requirements import real_data
from tests.support.tasks import tiny_task
from tests.support.tasks.small_datasets import image_folder, index_of

CSV = "a,b,class\n" + "1,2,x\n3,4,y\n" * 20
PREPROCESS = """
[data.preprocess]
kind = "table"
columns = [{ name = "a", kind = "number" }, { name = "b", kind = "number", scaling = "minmax" }]
labels = [{ name = "class", kind = "class" }]
"""


def owned_task(folder: Path) -> Path:
    """The tiny task, its data declared as a table."""
    task = tiny_task.write_task(folder) / "task.toml"
    text = task.read_text().replace("[coordination]", f"{PREPROCESS}\n[coordination]")
    task.write_text(text)
    (folder / "in.csv").write_text(CSV)
    return task


def test_the_task_file_says_how_its_shards_are_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = owned_task(tmp_path / "tiny")
    data = str(tmp_path / "tiny" / "in.csv")
    assert main(["shard", data, "--task", str(task)]) == REFUSED
    assert "--force" in capsys.readouterr().err
    assert main(["shard", data, "--task", str(task), "--force", "--clients", "2", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["train"]["examples"], made["holdout"]["examples"]) == (36, 4)
    assert [sum(part.values()) for part in made["parts"]] == [18, 18]
    assert {shard.part for shard in index_of(tmp_path / "tiny" / "shards").train} == {0, 1}
    assert not list(tmp_path.glob("tiny/.shards-*"))


def test_data_that_clients_fetch_are_counted_and_fitted_and_their_place_is_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = owned_task(tmp_path / "tiny")
    text = task.read_text().replace('source = "shards"\nshards = "shards"', 'source = "url"')
    task.write_text(text)
    data = str(tmp_path / "tiny/in.csv")
    with elsewhere({"/in.csv": CSV.encode()}) as place:
        assert main(["shard", data, "--task", str(task), "--url", f"{place.origin}/in.csv"]) == 0
        said = capsys.readouterr()
        assert "byte for byte" in said.err
        assert main(["shard", data, "--task", str(task), "--json", "--url", f"{place.origin}/no.csv"]) == 0
        assert "answers 404" in json.loads(capsys.readouterr().out)["trouble"]
    # What was printed makes the task file whole, and the fitted preprocessing lies where it says.
    task.write_text(f"{text}\n{said.out}")
    url = read_task_file(task).data.url
    assert url is not None
    assert (url.train, url.held_out) == (36, 4)
    fitted = json.loads((tmp_path / "tiny" / str(url.fitted)).read_text())
    assert [column["divide"] for column in fitted["columns"]] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("data", "url", "told"),
    [
        ("in.csv", "http://data.example.org/in.csv", "not encrypted"),
        ("in.csv", "https://data.example.org/in.parquet", "does not end in .csv"),
        (".", "https://data.example.org/in.csv", "zip a folder first"),
    ],
)
def test_what_clients_could_not_fetch_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: str, url: str, told: str
) -> None:
    task = owned_task(tmp_path / "tiny")
    task.write_text(task.read_text().replace('source = "shards"\nshards = "shards"', 'source = "url"'))
    assert main(["shard", str(tmp_path / "tiny" / data), "--task", str(task), "--url", url]) == REFUSED
    assert told in capsys.readouterr().err


def test_data_without_a_task_file_are_declared_by_flags(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = image_folder(tmp_path / "in")
    command = ["shard", str(data), "-o", str(tmp_path / "out"), "--set", "kind=image"]
    assert main([*command, "--set", "size=[2,2]", "--set", "channels=1"]) == 0
    told = capsys.readouterr().out
    assert "18 examples to train on" in told
    assert "uint8 [2, 2, 1]" in told
    assert "blue" in told


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ([], "Declare the kind of data"),
        (["--set", "kind=sound"], 'Write for example kind = "image", "audio", "table", "text" or "array".'),
        (["--set", "kind=image"], "The key is missing: `size`. Write for example size = [32, 32]"),
        (["--set", "kind=image", "--set", "size=32"], "Write for example size = [32, 32]"),
        (["--set", "kind=table"], "Write for example columns = [{ name ="),
        (["--set", "kind=table", "--set", "columns=[{name='a'}]"], 'kind = "number" or "category"'),
        (["--set", "kind=image", "--set", "size=[2,2]", "--set", "form=x"], "unknown field `form`. See docs"),
        (
            ["--set", "kind=text", "--set", "tokenizer=bytes", "--set", "length=8"],
            "what it holds ends in .png",
        ),
        (["--set", "kind=image", "--set", "size=[2,2]", "--holdout", "1"], "--holdout must be"),
        (["--set", "kind=image", "--set", "size=[2,2]", "--alpha", "1"], "--alpha needs --clients"),
        (["--set", "kind=image", "--set", "size=[2,2]", "--clients", "99"], "cannot be split"),
    ],
)
def test_flags_that_make_no_sense_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], words: str
) -> None:
    data = image_folder(tmp_path / "in")
    assert main(["shard", str(data), "-o", str(tmp_path / "out"), *flags]) == REFUSED
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("file", "kind", "words"),
    [
        ("people.csv", ["kind=image", "size=[2,2]"], "is of another kind: files that end in .jpg"),
        ("away.zip", ["kind=image", "size=[2,2]"], "There is no file or folder"),
        ("away.csv", ["kind=table", "columns=[{name='age',kind='number'}]"], "is no file; a table is one"),
        ("people.csv", ["kind=table", "columns=[{name='age',kind='number'}]"], 'example missing = "median"'),
        ("people.csv", ["kind=table", "columns=[{name='Age',kind='number'}]"], "the file has age, name"),
    ],
)
def test_data_of_another_kind_or_with_holes_are_refused_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, kind: list[str], words: str
) -> None:
    (tmp_path / "people.csv").write_text("age,name\n31,Anna\n,Berta\n")
    flags = [word for setting in kind for word in ("--set", setting)]
    assert main(["shard", str(tmp_path / file), "-o", str(tmp_path / "out"), *flags]) == REFUSED
    assert words in capsys.readouterr().err


REAL: dict[str, tuple[str, list[str], int]] = {
    "images": ("cifar10_test.zip", ["kind=image", "size=[32,32]"], 10_000),
    "table": (
        "titanic.csv",
        [
            "kind=table",
            "columns=[{name='Age',kind='number',missing='median'},{name='Sex',kind='category'},"
            "{name='Embarked',kind='category',missing='own'}]",
            "labels=[{name='Survived',kind='class'}]",
        ],
        891,
    ),
    "text": ("tinyshakespeare.txt", ["kind=text", "tokenizer=characters", "length=64"], 17_427),
}


@pytest.mark.parametrize("kind", [pytest.param("images", marks=pytest.mark.long), "table", "text"])
def test_real_data_are_cut_as_a_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    file, settings, examples = REAL[kind]
    flags = [word for setting in settings for word in ("--set", setting)]
    assert main(["shard", str(real_data(file)), "-o", str(tmp_path / "out"), "--json", *flags]) == 0
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert made["train"]["examples"] + made["holdout"]["examples"] == examples
