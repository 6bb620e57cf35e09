"""`minga task new`: from a starter to a task that the server offers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from backend.__main__ import main
from backend.commands.tasks.new import new_task, sources
from backend.errors import TaskFileError
from backend.formats.task_file import read_task_file
from backend.numerics.preprocess.fitting import resolve
from backend.peer.data.local_data import read_local_data
from tests.support.web.server_process import running

STARTERS = ("image", "series", "table", "text")


def test_every_task_of_the_gallery_and_four_starters_can_be_begun_from(tmp_path: Path) -> None:
    assert set(sources()) == {*STARTERS, "cifar10", "digits", "shakespeare", "text-lstm", "titanic"}
    for source in sources():
        folder = new_task(f"my-{source}", source, tmp_path / source)
        assert read_task_file(folder / "task.toml").name == f"my-{source}"
        assert {"task.toml", "build.py", "README.md"} <= {path.name for path in folder.iterdir()}
        assert not (folder / "built").exists()


@pytest.mark.parametrize(
    ("name", "source", "words"),
    [
        ("birds", "pictures", "use one of image"),
        ("My Birds", "image", "is not a valid task name"),
        ('a"b', "image", "is not a valid task name"),
        ("taken", "image", "is there already"),
    ],
)
def test_what_cannot_be_begun_is_a_sentence_and_leaves_nothing(
    tmp_path: Path, name: str, source: str, words: str
) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(TaskFileError, match=words):
        new_task(name, source, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_the_command_says_what_comes_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["task", "new", "birds", "--from", "image"]) == 0
    assert "minga build birds" in capsys.readouterr().out
    assert (tmp_path / "birds/build.py").is_file()


@pytest.mark.long
@pytest.mark.tensorflow
def test_every_starter_is_built_and_offered(tmp_path: Path) -> None:
    folders = [new_task(name, name, tmp_path / "tasks" / name) for name in STARTERS]
    subprocess.run([sys.executable, "-m", "backend", "build", *map(str, folders)], check=True)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        assert server.report["problems"] == {}
        offered = {task["name"]: task["brings"] for task in server.report["tasks"]}
    assert offered == {"image": "image", "series": "array", "table": "table", "text": "text"}


def test_programs_are_told_where_the_new_task_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "cats"
    assert main(["task", "new", "cats", "--from", "image", "--json", "-o", str(folder)]) == 0
    assert json.loads(capsys.readouterr().out) == {"task": "cats", "folder": str(folder), "from": "image"}


def test_windows_of_a_series_are_what_its_starter_takes(tmp_path: Path) -> None:
    folder = new_task("tides", "series", tmp_path / "tides")
    heights = "".join(f"{hour},{np.sin(hour / 4):.4f}\n" for hour in range(100))
    (tmp_path / "tides.csv").write_text(f"hour,height\n{heights}", "utf-8")
    source, target = (str(tmp_path / name) for name in ("tides.csv", "tides.npz"))
    command = [sys.executable, str(folder / "windows.py"), source, "height", target]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert said.startswith("52 windows")
    with np.load(tmp_path / "tides.npz") as made:
        x, y = made["x"], made["y"]
    assert (x.shape, y.shape) == ((52, 48, 1), (52, 1))
    # What follows a window is the last value of the next one.
    assert np.array_equal(y[:-1, 0], x[1:, -1, 0])
    assert abs(float(x.mean())) < 0.5


def test_a_table_as_its_starter_describes_it_can_be_read(tmp_path: Path) -> None:
    data = read_task_file(new_task("towns", "table", tmp_path / "towns") / "task.toml").data
    rows = "".join(
        f"{20 + n},{'' if n % 5 else 1500},{'small' if n % 2 else 'large'},{'yes' if n % 3 else 'no'}\n"
        for n in range(30)
    )
    (tmp_path / "people.csv").write_text(f"age,income,town,answer\n{rows}", "utf-8")
    assert data.preprocess is not None
    assert data.own is not None
    fitted = resolve(data.preprocess)
    assert fitted is not None
    own = read_local_data(tmp_path / "people.csv", fitted, data.own)
    assert (own.x[0].shape, own.classes, own.broken) == ((30, 6), {"no": 10, "yes": 20}, [])
