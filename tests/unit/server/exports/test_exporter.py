from __future__ import annotations

import asyncio
import hashlib
import json
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from backend.errors import BundleError, BusyError, NotFoundError
from backend.formats.manifest import Variable, parse_manifest
from backend.server.exports.export_formats import FORMATS, format_of
from backend.server.exports.exporter import MAX_JOBS, Exporter, ExportSource
from tests.support.timeouts import PATIENCE

NPZ, KERAS = FORMATS["npz"], FORMATS["keras"]


def source_of(folder: Path, number: int = 0) -> ExportSource:
    values = folder / f"weights-{number}"
    np.full(1000, number, "<f4").tofile(values)
    sha256 = hashlib.sha256(values.read_bytes()).hexdigest()
    return ExportSource("b" * 64, sha256, [Variable("w", [1000], 0, True)], values, None, {})


@pytest_asyncio.fixture
async def exporter(tmp_path: Path) -> AsyncIterator[Exporter]:
    one = Exporter(tmp_path / "exports", 10_000)
    await one.start()
    yield one
    await one.stop()


async def test_a_file_is_made_once_and_has_the_hash_that_it_is_told_with(
    exporter: Exporter, tmp_path: Path
) -> None:
    source = source_of(tmp_path)
    assert exporter.cached(source, NPZ) is None
    made = await exporter.get(source, NPZ, PATIENCE)
    assert made is not None
    assert hashlib.sha256(made.path.read_bytes()).hexdigest() == made.sha256
    assert made.bytes == made.path.stat().st_size
    source.values.unlink()
    assert await exporter.get(source, NPZ, PATIENCE) == made


async def test_what_was_wanted_longest_ago_goes_first_when_the_folder_is_full(
    exporter: Exporter, tmp_path: Path
) -> None:
    first, second, third = (source_of(tmp_path, number) for number in range(3))
    for source in (first, second, first, third):
        assert await exporter.get(source, NPZ, PATIENCE)
    assert [exporter.cached(one, NPZ) is None for one in (first, second, third)] == [False, True, False]


async def test_a_file_larger_than_the_folder_may_be_is_kept_alone(tmp_path: Path) -> None:
    exporter = Exporter(tmp_path / "exports", 10)
    await exporter.start()
    first, second = source_of(tmp_path, 1), source_of(tmp_path, 2)
    for source in (first, second):
        assert await exporter.get(source, NPZ, PATIENCE)
    assert exporter.cached(first, NPZ) is None
    assert exporter.cached(second, NPZ) is not None


async def test_what_a_killed_server_left_half_made_is_swept_and_whole_files_stay(tmp_path: Path) -> None:
    exporter = Exporter(tmp_path / "exports", 10_000)
    await exporter.start()
    made = await exporter.get(source_of(tmp_path), NPZ, PATIENCE)
    left = tmp_path / "exports" / "making-abc"
    left.mkdir()
    (left / "file").write_bytes(b"half")
    again = Exporter(tmp_path / "exports", 10_000)
    await again.start()
    assert not left.exists()
    assert again.cached(source_of(tmp_path), NPZ) == made


async def test_a_bundle_without_a_keras_model_says_what_can_be_had(
    exporter: Exporter, tmp_path: Path
) -> None:
    with pytest.raises(BundleError, match="Take npz or safetensors instead"):
        await exporter.get(source_of(tmp_path), KERAS, PATIENCE)


async def test_a_crowd_is_told_to_come_back(exporter: Exporter, tmp_path: Path) -> None:
    async with exporter._one_at_a_time:
        for number in range(MAX_JOBS):
            assert await exporter.get(source_of(tmp_path, number), NPZ, 0) is None
        with pytest.raises(BusyError):
            await exporter.get(source_of(tmp_path, MAX_JOBS), NPZ, 0)
        # Who waits already may ask again.
        assert await exporter.get(source_of(tmp_path, 0), NPZ, 0) is None
    assert await exporter.get(source_of(tmp_path, 0), NPZ, PATIENCE)


async def test_an_end_in_the_middle_leaves_nothing_behind(tmp_path: Path) -> None:
    exporter = Exporter(tmp_path / "exports", 10_000)
    await exporter.start()
    waiting = [exporter.get(source_of(tmp_path, number), NPZ, 0) for number in range(3)]
    await asyncio.gather(*waiting)
    await exporter.stop()
    assert not list((tmp_path / "exports").glob("making-*"))


def test_a_format_that_there_is_not_names_those_that_there_are() -> None:
    with pytest.raises(NotFoundError, match="keras, saved-model, onnx"):
        format_of("h5")


@pytest.mark.tensorflow
async def test_digits_come_as_onnx_from_a_process_of_their_own(exporter: Exporter, tmp_path: Path) -> None:
    import onnxruntime

    bundle = Path(__file__).parents[4] / "models" / "digits" / "built" / "bundle"
    assert bundle.is_dir(), "The gallery is not built; run `make build` first."
    layout = parse_manifest((bundle / "bundle.json").read_bytes()).layout
    blob = tmp_path / ("c" * 64)
    blob.write_bytes((bundle / "model.keras").read_bytes())
    source = replace(source_of(tmp_path), values=bundle / "weights.bin", model=blob, layout=layout)
    made = await exporter.get(source, FORMATS["onnx"], PATIENCE)
    assert made is not None
    session = onnxruntime.InferenceSession(made.path.read_bytes())
    (chances,) = session.run(None, {"pixels": np.zeros((3, 8, 8, 1), np.float32)})
    assert chances.shape == (3, 10)


@pytest.mark.tensorflow
async def test_a_keras_file_is_compiled_as_its_task_says_also_from_a_relative_folder(
    exporter: Exporter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = Path(__file__).parents[4] / "models" / "digits" / "built" / "bundle"
    layout = parse_manifest((bundle / "bundle.json").read_bytes()).layout
    (tmp_path / "weights").write_bytes((bundle / "weights.bin").read_bytes())
    monkeypatch.chdir(tmp_path)
    training = (bundle.parents[1] / "task.toml").read_text("utf-8")
    source = replace(
        source_of(tmp_path),
        values=Path("weights"),
        model=bundle / "model.keras",
        layout=layout,
        training=training,
    )
    one = Exporter(Path("exports"), 10**7)
    await one.start()
    made = await one.get(source, KERAS, PATIENCE)
    await one.stop()
    assert made is not None
    with zipfile.ZipFile(made.path) as archive:
        compiled = json.loads(archive.read("config.json"))["compile_config"]
    assert compiled["optimizer"]["config"]["learning_rate"] == pytest.approx(0.005)
    assert compiled["metrics"] == ["accuracy"]
    assert one.cached(replace(source, training=training.replace("0.005", "0.5")), KERAS) is None


@pytest.mark.tensorflow
async def test_why_a_model_cannot_be_had_is_remembered_for_a_while(
    exporter: Exporter, tmp_path: Path
) -> None:
    (tmp_path / "model.keras").write_bytes(b"no zip")
    source = replace(source_of(tmp_path), model=tmp_path / "model.keras")
    with pytest.raises(BundleError, match="npz or safetensors") as first:
        await exporter.get(source, KERAS, PATIENCE)
    with pytest.raises(BundleError) as second:
        await exporter.get(source, KERAS, PATIENCE)
    assert first.value is second.value
