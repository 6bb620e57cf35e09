"""Tasks of the gallery for volunteers' own data: what their files promise, and that real data fit them."""

from __future__ import annotations

import json
import re
import shlex
import zipfile
from pathlib import Path

import pytest

from backend.__main__ import _parser, main
from backend.formats.task_file import TaskFile, read_task_file
from backend.numerics.preprocess.fitting import resolve
from backend.peer.data.local_data import LocalDataset, read_local_data
from backend.server.tasks.ethics_statement import publication
from tests.support.plugins.requirements import real_data

ROOT = Path(__file__).parents[3]
TASKS = ("cifar10", "shakespeare", "titanic")


def task_file(name: str) -> TaskFile:
    return read_task_file(ROOT / "models" / name / "task.toml")


def read(name: str, path: Path) -> LocalDataset:
    """The data at `path` as a volunteer of the task reads them."""
    data = task_file(name).data
    assert data.preprocess is not None
    assert data.own is not None
    fitted = resolve(data.preprocess)
    assert fitted is not None
    return read_local_data(path, fitted, data.own)


@pytest.mark.parametrize("name", TASKS)
def test_a_task_says_what_to_bring_what_to_expect_and_under_which_licence(name: str) -> None:
    text = (ROOT / "models" / name / "README.md").read_text("utf-8")
    for heading in ("## What to bring", "## Model", "## What to expect"):
        assert heading in text
    manifest = json.loads((ROOT / "models" / name / "built/bundle/bundle.json").read_text("utf-8"))
    assert f"{manifest['parameters']['trainable']:,} parameters" in text
    licence = task_file(name).licence
    assert licence.model
    assert licence.data
    told = publication(task_file(name))
    assert told.consent
    assert told.people
    assert told.misuse
    assert told.benefit


def commands(name: str) -> list[list[str]]:
    """The commands of a README, without `minga`."""
    text = (ROOT / "models" / name / "README.md").read_text("utf-8")
    lines = "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)).splitlines()
    return [shlex.split(line)[1:] for line in lines]


@pytest.mark.parametrize("name", ["cifar10", "shakespeare"])
def test_public_data_are_dealt_out_as_the_readme_says(name: str) -> None:
    shard, serve = commands(name)
    assert _parser(shard).parse_args(shard).task == Path("models") / name / "task.toml"
    overrides = [word.partition(".")[2] for word in _parser(serve).parse_args(serve).overrides]
    data = read_task_file(ROOT / "models" / name / "task.toml", overrides).data
    # Where the first command puts them, as the task file sees it.
    assert (data.own, f"models/{name}/{data.shards}") == (None, shard[shard.index("-o") + 1])


def test_the_plays_are_cut_by_the_command_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tinyshakespeare.txt").symlink_to(real_data("tinyshakespeare.txt").resolve())
    (tmp_path / "models/shakespeare").mkdir(parents=True)
    (tmp_path / "models/shakespeare/task.toml").symlink_to(ROOT / "models/shakespeare/task.toml")
    monkeypatch.chdir(tmp_path)
    assert main(commands("shakespeare")[0]) == 0
    assert "65 token ids" in capsys.readouterr().out
    index = json.loads((tmp_path / "models/shakespeare/shards/shards.json").read_text("utf-8"))
    assert sum(one["examples"] for one in index["train"] + index["holdout"]) == pytest.approx(17427, abs=2)


def test_the_usual_passenger_list_fits_the_titanic_task() -> None:
    own = read("titanic", real_data("titanic.csv"))
    assert own.broken == []
    assert own.classes == {"0": 549, "1": 342}
    assert [one.shape for one in own.x] == [(891, 10)]
    # 177 passengers whose age nobody knows.
    assert own.x[0][:, 6].sum() == 177


def test_tiny_shakespeare_has_no_character_that_the_task_leaves_out() -> None:
    path = real_data("tinyshakespeare.txt")
    own = read("shakespeare", path)
    windows, length = own.x[0].shape
    assert length == 64
    assert windows == pytest.approx((len(path.read_text("utf-8")) - 1) // 64, abs=2)


def test_pictures_of_cifar10_fit_the_task_and_bring_all_its_classes(tmp_path: Path) -> None:
    with zipfile.ZipFile(real_data("cifar10_test.zip")) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".jpg"))[::100]
        archive.extractall(tmp_path, names)
    own = read("cifar10", tmp_path)
    assert own.broken == []
    assert own.classes == dict.fromkeys(
        ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"), 10
    )
    assert own.x[0].shape == (100, 32, 32, 3)
