"""Recordings in folders by class become spectrograms; bad files are named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from backend.datasets.readers.dataset import chunks, fit
from backend.datasets.readers.source import NO_HOLDOUT, stop
from backend.errors import DataError
from backend.numerics.preprocess.declared import DeclaredAudio
from tests.contract.vectors.data.make_audio import declared, sound, wav


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for label, rate in (("no", 4000), ("yes", 8000)):
        (tmp_path / label).mkdir()
        for number in range(3):
            (tmp_path / label / f"{number}.wav").write_bytes(wav(sound(300 + number, rate), rate))
    return tmp_path


def test_each_file_is_an_example_whose_class_is_its_folder(folder: Path) -> None:
    fitted = fit(declared(classes=None), folder, NO_HOLDOUT)
    (chunk,) = chunks(fitted, folder, NO_HOLDOUT, stop)
    assert chunk.x[0].shape == (6, *fitted.inputs[0].shape)
    assert chunk.x[0].dtype == np.float32
    assert chunk.y[0].tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("name", "content", "remedy"),
    [
        ("broken.wav", wav(sound(30, 4000), 4000)[:-10], "copy it again"),
        ("empty.wav", b"", "record it again"),
        ("song.mp3", b"ID3", "ffmpeg"),
    ],
)
def test_a_bad_file_is_left_out_with_its_name_and_what_to_do(
    folder: Path, name: str, content: bytes, remedy: str
) -> None:
    (folder / "yes" / name).write_bytes(content)
    problems: list[DataError] = []
    fitted = fit(declared(), folder, NO_HOLDOUT)
    assert sum(len(chunk.held_out) for chunk in chunks(fitted, folder, NO_HOLDOUT, problems.append)) == 6
    (problem,) = map(str, problems)
    assert f"yes/{name}" in problem
    assert remedy in problem


def test_a_folder_of_another_format_alone_says_how_to_convert_it(tmp_path: Path) -> None:
    (tmp_path / "yes").mkdir()
    (tmp_path / "yes" / "a.mp3").write_bytes(b"ID3")
    with pytest.raises(DataError, match=r"yes/a\.mp3 is not WAV.*ffmpeg"):
        fit(DeclaredAudio(), tmp_path, NO_HOLDOUT)
