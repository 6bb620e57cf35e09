"""A zip of recordings by class is recognized, and a spectrogram of sensible size is proposed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from PIL import Image

from backend.datasets.inspection.example_shape import measure
from backend.datasets.inspection.findings import DataFindings, read_findings
from backend.datasets.inspection.inspect_file import inspect_file
from backend.datasets.inspection.model_input import ModelInput
from backend.datasets.inspection.preview import preview
from backend.errors import DataError
from backend.formats.manifest import InputSpec, LabelSpec
from backend.numerics.preprocess.declared import DeclaredAudio, Preprocess
from tests.contract.vectors.data.make_audio import sound, wav
from tests.support.tasks.owner_files import zipped

NOTHING = ModelInput()


def clips(path: Path, seconds: float = 1, rate: int = 16_000) -> Path:
    files = {
        f"{label}/{number}.wav": wav(sound(round(seconds * rate) + number, rate), rate)
        for label in ("no", "yes")
        for number in range(2)
    }
    return zipped(path, files)


def proposed(findings: DataFindings) -> DeclaredAudio:
    one: Any = msgspec.convert(findings.preprocess, Preprocess)
    assert isinstance(one, DeclaredAudio)
    return one


def test_folders_of_recordings_are_drawn(tmp_path: Path) -> None:
    findings = inspect_file(clips(tmp_path / "d.zip"), NOTHING, tmp_path)
    assert (findings.kind, findings.classes) == ("audio", {"no": 2, "yes": 2})
    assert {one.label for one in findings.pictures} == {"no", "yes"}
    with Image.open(tmp_path / findings.pictures[0].file) as drawn:
        assert (drawn.size, drawn.mode) == ((98, 40), "L")
    assert read_findings(msgspec.json.encode(findings)) == findings


@pytest.mark.parametrize(
    ("seconds", "rate", "declared"),
    [
        (1, 44_100, (16_000, 1.0, 400, 160)),
        (0.4, 8000, (8000, 0.5, 200, 80)),
        (3.2, 16_000, (16_000, 5.0, 960, 480)),
        (15, 11_025, (8000, 10.0, 800, 400)),
    ],
)
def test_the_proposal_follows_length_and_rate_and_stays_small(
    tmp_path: Path, seconds: float, rate: int, declared: tuple[int, float, int, int]
) -> None:
    one = proposed(inspect_file(clips(tmp_path / "d.zip", seconds, rate), NOTHING, tmp_path))
    assert (one.rate, one.seconds, one.window, one.hop) == declared
    assert one.frames <= 200


@pytest.mark.parametrize("shape", [[98, 40, 1], [62, 32, 1], [120, 20, 1]])
def test_the_proposal_has_the_shape_that_the_model_takes(tmp_path: Path, shape: list[int]) -> None:
    model = ModelInput([InputSpec("x", shape, "float32")], [LabelSpec("y", [], "int32", 2)])
    one = proposed(inspect_file(clips(tmp_path / "d.zip"), model, tmp_path))
    assert [one.frames, one.bins, 1] == shape


def test_an_example_is_measured_and_previewed_as_proposed(tmp_path: Path) -> None:
    data = clips(tmp_path / "d.zip")
    declared = proposed(inspect_file(data, NOTHING, tmp_path))
    shape = measure(data, declared, 0.1)
    assert (shape.kind, shape.input, shape.classes) == ("audio", [98, 40, 1], 2)
    made = preview(data, declared, 0.1, tmp_path, None)
    assert (made.inputs[0].shape, made.inputs[0].dtype) == ([98, 40, 1], "float32")
    assert (len(made.pictures), made.broken) == (4, [])
    assert all((tmp_path / one.after).exists() for one in made.pictures)
    assert made.spread is not None
    assert made.spread.mean == pytest.approx(0, abs=1e-4)


def test_files_that_are_not_read_are_named(tmp_path: Path) -> None:
    data = zipped(
        tmp_path / "d.zip",
        {
            **{f"{label}/a.wav": wav(sound(4000, 8000), 8000) for label in ("no", "yes")},
            "no/b.wav": b"RIFF",
            "yes/c.mp3": b"ID3",
        },
    )
    notes = " ".join(inspect_file(data, NOTHING, tmp_path).notes)
    assert "no/b.wav: it is no WAV file" in notes
    assert "yes/c.mp3 is not WAV" in notes


@pytest.mark.parametrize(
    ("files", "remedy"),
    [
        ({"a.wav": b"", "b.wav": b""}, "not sorted"),
        ({"a/a.mp3": b"ID3", "b/b.mp3": b"ID3"}, "ffmpeg"),
        ({"a/a.wav": b"", "b/b.wav": b""}, "None of these recordings can be read.*record it again"),
    ],
)
def test_a_zip_without_readable_recordings_says_what_to_do(
    tmp_path: Path, files: dict[str, bytes], remedy: str
) -> None:
    with pytest.raises(DataError, match=remedy):
        inspect_file(zipped(tmp_path / "d.zip", files), NOTHING, tmp_path)
