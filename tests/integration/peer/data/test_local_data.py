"""A volunteer's own files, read as the task says, and what is told of them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from backend.errors import DataError, PeerError
from backend.formats.manifest import Manifest
from backend.formats.task_file import VolunteerData
from backend.numerics.preprocess.fitted import Arrays, Fitted, StoredSpec
from backend.numerics.preprocess.fitting import resolve
from backend.peer.data.data_requirements import (
    describe_requirements,
    load_local_data,
    report_local_data,
)
from backend.peer.data.local_data import read_local_data
from backend.peer.session.progress import PlainLines
from backend.peer.session.server_address import TaskData
from backend.server.tasks.bundle_store import check_bundle
from tests.contract.vectors.data.make_audio import sound, wav
from tests.support.tasks import tiny_task
from tests.support.tasks.small_datasets import declared

WANTED = VolunteerData(minimum=1, maximum=100, holdout=0.2)


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    return check_bundle(tiny_task.write_task(tmp_path / "tiny") / "bundle", frozenset(tiny_task.OPS))


def made(**preprocess: Any) -> Fitted:
    fitted = resolve(declared(**preprocess))
    assert fitted is not None
    return fitted


def table(*classes: str) -> Fitted:
    columns = [{"name": "a", "kind": "number"}, {"name": "b", "kind": "number"}]
    label = {"name": "class", "kind": "class", "classes": classes or ["no", "yes"]}
    return made(kind="table", columns=columns, labels=[label])


def told(path: Path, fitted: Fitted) -> list[str]:
    """What a person reads about the data at `path`."""
    lines = io.StringIO()
    report_local_data(read_local_data(path, fitted, WANTED), path, PlainLines(lines))
    return lines.getvalue().replace(f"{path}", "HERE").splitlines()


def test_own_rows_are_read_and_the_same_ones_held_out_each_time(tmp_path: Path, manifest: Manifest) -> None:
    rows = "".join(f"{n},{n},{('no', 'yes')[n % 2]}\n" for n in range(20))
    (tmp_path / "own.csv").write_text(f"a,b,class\n{rows}x,1,no\n")
    data = read_local_data(tmp_path / "own.csv", table(), WANTED)
    assert data.classes == {"no": 10, "yes": 10}
    assert len(data.broken) == 1
    own = data.for_bundle(manifest)
    assert (len(own.train), len(own.holdout)) == (16, 4)
    again = read_local_data(tmp_path / "own.csv", table(), WANTED)
    assert (again.held_out == data.held_out).all()
    assert not set(own.train.x[0][:, 0].tolist()) & set(own.holdout.x[0][:, 0].tolist())


@pytest.mark.parametrize(("minimum", "maximum", "words"), [(3, 9, "at least 3"), (1, 1, "at most 1")])
def test_too_few_or_too_many_are_refused(tmp_path: Path, minimum: int, maximum: int, words: str) -> None:
    (tmp_path / "own.csv").write_text("a,b,class\n1,2,no\n3,4,yes\n")
    with pytest.raises(DataError, match=words):
        read_local_data(tmp_path / "own.csv", table(), VolunteerData(minimum, maximum))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "own.csv is no file"),
        ("a,class\n1,no\n", "column 'b' is missing"),
        ("a,b,class\n1,2,perhaps\n", "1 were left out, the first because: .*row 1.*perhaps"),
    ],
)
def test_data_that_cannot_be_used_are_refused_with_their_place(
    tmp_path: Path, content: str | None, words: str
) -> None:
    if content is not None:
        (tmp_path / "own.csv").write_text(content)
    with pytest.raises(DataError, match=words):
        read_local_data(tmp_path / "own.csv", table(), WANTED)


def test_data_of_another_model_are_refused(tmp_path: Path, manifest: Manifest) -> None:
    (tmp_path / "own.csv").write_text("a,b,class\n1,2,x\n3,4,z\n")
    data = read_local_data(tmp_path / "own.csv", table("x", "y", "z"), WANTED)
    with pytest.raises(DataError, match="3 outputs"):
        data.for_bundle(manifest)


def test_reading_ends_when_nobody_waits_any_more(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("a,b,class\n1,2,no\n3,4,yes\n")
    with pytest.raises(DataError, match="not read to its end"):
        read_local_data(tmp_path / "own.csv", table(), WANTED, lambda: True)


def test_rows_are_shown_as_the_numbers_that_they_become(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("note,a,class,b\n-,1,no,0.5\n-,2,yes,7\n-,x,yes,1\n")
    lines = told(tmp_path / "own.csv", table())
    assert lines[0].startswith("2 examples at HERE: 1 to train on, 1 kept aside to measure on.")
    assert lines[1] == "  Of each class: no 1, yes 1."
    assert lines[2] == "  1 were left out:"
    assert "row 3" in lines[3]
    assert lines[-2:] == ["    a 1, b 0.5 -> no", "    a 2, b 7 -> yes"]


def test_pictures_are_shown_by_class_and_the_broken_ones_named(tmp_path: Path) -> None:
    for name, grey in (("dark", 10), ("light", 200), ("other", 0)):
        (tmp_path / name).mkdir()
        for number in range(4):
            Pillow.new("RGB", (4, 4), (grey, grey, grey)).save(tmp_path / name / f"{number}.png")
    (tmp_path / "dark/broken.png").write_bytes(b"nothing")
    lines = told(tmp_path, made(kind="image", size=[2, 2], classes=["dark", "light"]))
    assert lines[1] == "  Of each class: dark 4, light 4."
    assert lines[2] == "  5 were left out:"
    assert "HERE/dark/broken.png: the image cannot be read" in lines[3]
    assert "HERE/other/0.png" in lines[4]
    assert lines[-1] == "    uint8 [2, 2, 3]: 10 10 10 10 10 10 10 10 10 10 10 10 -> dark"


def test_texts_are_shown_as_their_tokens(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("abcabcabcabc")
    fitted = made(kind="text", tokenizer="characters", tokens=["a", "b", "c"], length=3)
    assert told(tmp_path / "own.txt", fitted)[-1] == "    'abc' -> 'bca'"


def test_arrays_are_shown_with_their_shape(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", x=np.arange(8, dtype=np.float32).reshape(4, 2), y=np.arange(4))
    inputs, labels = [StoredSpec([2], "float32")], [StoredSpec([], "int32")]
    lines = told(tmp_path / "own.npz", Arrays(inputs=inputs, labels=labels, x=["x"], y=["y"]))
    assert lines[1] == "  Of each class: 0 1, 1 1, 2 1, 3 1."
    assert lines[2] == "  As the model gets them, the first ones:"
    assert lines[3] == "    float32 [2]: 0 1 -> 0"


@pytest.mark.parametrize(
    ("fitted", "words"),
    [
        (table(), "with the columns a, b, class"),
        (made(kind="image", size=[2, 2], classes=["dark", "light"]), "pictures in folders named dark, light"),
        (made(kind="text", tokenizer="bytes", length=3), "text files"),
        (Arrays(inputs=[], labels=[], x=["x"], y=["y"]), "npz file with the arrays x, y"),
    ],
)
async def test_a_task_that_needs_data_says_what_to_bring(fitted: Fitted, words: str) -> None:
    task = TaskData("volunteer", fitted, WANTED)
    with pytest.raises(PeerError, match=f"1 to 100, from .*{words}.*--data PATH"):
        await load_local_data(task, None, PlainLines(io.StringIO()), lambda: False)


async def test_a_task_that_deals_out_its_examples_takes_no_others() -> None:
    with pytest.raises(PeerError, match="leave --data out"):
        await load_local_data(
            TaskData("shards", None, None), Path("own"), PlainLines(io.StringIO()), lambda: False
        )
    assert (
        await load_local_data(TaskData("shards", None, None), None, PlainLines(io.StringIO()), lambda: False)
        is None
    )


def test_recordings_are_read_and_those_that_are_not_wav_named(tmp_path: Path) -> None:
    for label in ("no", "yes"):
        (tmp_path / label).mkdir()
        for number in range(5):
            (tmp_path / label / f"{number}.wav").write_bytes(wav(sound(4000 + number, 8000), 8000))
    (tmp_path / "no" / "song.mp3").write_bytes(b"ID3")
    recordings = made(kind="audio", rate=8000, seconds=0.5, classes=["no", "yes"])
    assert (
        describe_requirements(recordings, WANTED)
        == "1 to 100, from recordings (.wav) in folders named no, yes"
    )
    lines = told(tmp_path, recordings)
    assert "10 examples at HERE" in lines[0]
    assert "Of each class: no 5, yes 5." in lines[1]
    assert any("no/song.mp3: it is not WAV" in line and "ffmpeg" in line for line in lines)
    assert any("float32 [23, 40, 1]" in line for line in lines)
