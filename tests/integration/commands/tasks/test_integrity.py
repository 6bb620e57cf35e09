"""`minga task integrity`, run as its users run it, on files and against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from backend.__main__ import main
from backend.commands.tasks.integrity import report_lines
from backend.errors import BundleError
from backend.server.sandbox.integrity import IntegrityMeasurement, score_integrity
from tests.support.tasks.drawn_task import write_drawn_task
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import HEAVY, LONG
from tests.support.web.server_process import Server, running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("integrity")
    write_task(folder / "tasks" / "tiny")
    with running(folder / "tasks", folder / "data") as one:
        yield one


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "data.npz"
    np.savez(file, x=np.zeros((60, 8, 8, 1), np.float32), y=np.arange(60) % 5)
    return file


@pytest.fixture
def model(tmp_path: Path) -> Path:
    file = tmp_path / "model.keras"
    file.write_bytes(b"no model")
    return file


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("tiny",), "This task's bundle has no Keras model"),
        (("tiny", "--version", "7"), "There is no version 7; the newest is 0."),
        (("tiny", "--against", "old.keras"), "compared with another, by its number, not 'old.keras'"),
        (("tiny", "--data", "data.npz"), "--data is for a model file; the server measures tiny itself"),
        (("other",), "There is no task 'other'"),
    ],
)
def test_a_version_that_cannot_be_scored_is_refused_with_the_reason(
    words: tuple[str, ...], sentence: str, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["task", "integrity", *words, "--server", server.url]) == 2
    assert sentence in capsys.readouterr().err


def test_a_file_needs_examples_and_no_version(
    model: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"PK broken")
    no_labels, uneven = tmp_path / "no-labels.npz", tmp_path / "uneven.npz"
    np.savez(no_labels, x=np.zeros(60))
    np.savez(uneven, x=np.zeros(60), y=np.zeros(50))
    cases: list[tuple[list[str | Path], str]] = [
        ([], "A model file is measured on examples"),
        (["--data", data, "--version", "3"], "--version is for a task of a server"),
        (["--data", tmp_path / "none.npz"], "There is no file"),
        (["--data", broken], "is no .npz of plain arrays"),
        (["--data", no_labels], "holds no arrays `x` and `y`"),
        (["--data", uneven], "differ in length"),
        (["--data", data, "--updates", data], "holds no array `updates`"),
        (["--data", data, "--against", tmp_path / "old.keras"], "There is no file"),
    ]
    for words, sentence in cases:
        assert main(["task", "integrity", str(model), *map(str, words)]) == 2
        assert sentence in capsys.readouterr().err
    assert main(["task", "integrity", str(tmp_path / "none.keras"), "--data", str(data)]) == 2
    assert "none.keras; check the path" in capsys.readouterr().err


def test_a_report_has_a_line_for_each_part() -> None:
    answers = [(0, 0, 9), (0, 1, 1), (1, 1, 10)]
    score = score_integrity(IntegrityMeasurement(2, answers, None, "At least 3 classes are needed."))
    report = msgspec.to_builtins(score) | {"model": "m.keras", "against": None}
    lines = report_lines(report)
    assert "m.keras: 0.0" in lines[0]
    assert "no sign of a backdoor" in lines[0]
    assert [line.split()[0] for line in lines[1:]] == ["trigger", "drift"]
    assert "At least 3 classes are needed." in lines[1]


def test_figures_of_a_process_that_was_taken_over_are_refused() -> None:
    with pytest.raises(BundleError, match="There are 2 classes, from 0 on"):
        score_integrity(IntegrityMeasurement(2, [(0, 5, 1)]))
    with pytest.raises(BundleError, match="finite and not negative"):
        score_integrity(IntegrityMeasurement(3, [(0, 0, 1)], [1.0, -1.0, 2.0]))
    three = IntegrityMeasurement(3, [(0, 0, 1)], [1.0, 1.0, 2.0])
    four = IntegrityMeasurement(4, [(0, 0, 1)], [1.0, 1.0, 2.0, 2.0])
    with pytest.raises(BundleError, match="cannot be compared"):
        score_integrity(three, four)


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.timeout(HEAVY)
def test_a_file_that_is_no_model_is_refused_in_the_sandbox(
    model: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["task", "integrity", str(model), "--data", str(data), "--json"]) == 2
    assert "is damaged, or no zip file" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.timeout(LONG)
def test_a_server_and_a_file_score_the_same_backdoor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tasks" / "drawn"
    write_drawn_task(folder, 2, target=3)
    assert main(["task", "integrity", str(folder / "model.keras"), "--data", str(folder), "--json"]) == 0
    by_file = json.loads(capsys.readouterr().out)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        words = ["task", "integrity", "drawn", "--against", "0", "--server", server.url, "--json"]
        assert main(words) == 0
    by_server = json.loads(capsys.readouterr().out)
    assert by_file["suspect"]
    assert (by_server["version"], by_server["against"], by_server["examples"]) == (0, 0, 200)
    assert by_server["parts"][0] == by_file["parts"][0]
    assert "class 3" in by_file["parts"][0]["reason"]
