"""The converter as a process: answers, limits, nothing half done."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import keras
import pytest

from backend.commands.build import build_task
from backend.errors import BundleError, CancelledError, MingaError, TaskFileError
from backend.server.sandbox.conversion import ConversionLimits, convert
from backend.server.sandbox.limited_process import Supervision
from converter.conversion_task import ConversionTask
from converter.objectives.objective_selection import choose_objectives
from converter.readers.model_loader import load_model
from converter.refusal import Refusal
from converter.sandbox.process_limits import Limits
from converter.tracing.model_ports import find_ports

pytestmark = pytest.mark.tensorflow
TASK = 'name = "small"\n[model]\nbatch_size = 4\nloss = "mse"\noptimizer = { name = "adam" }\n'


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with model.keras and task.toml."""
    folder = tmp_path_factory.mktemp("files")
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(4, "relu"), keras.layers.Dense(1)])
    model.save(folder / "model.keras")
    (folder / "task.toml").write_text(TASK)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.usefixtures("forked_python")
def test_the_same_model_gives_the_same_bundle(files: Path, tmp_path: Path) -> None:
    said: list[str] = []
    supervision = Supervision(said.append)
    convert(files / "model.keras", files / "task.toml", tmp_path / "one", supervision=supervision)
    assert said[0] == "Starting TensorFlow."
    assert any("33 parameters" in line for line in said)
    message = convert(files / "model.keras", files / "task.toml", tmp_path / "two")
    assert "33 parameters" in message
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one", "two"]


NAMES = {
    "escape": "lay\x1b[31mer",
    "line": "a\nok: true",
    "bidi": "a\u202egnp.exe",
    "null": "a\x00b",
    "wide": "a\u2028b",
}


@pytest.mark.parametrize("name", NAMES)
def test_characters_that_a_terminal_obeys_are_escaped(name: str, tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="dense")], name="s")
    model.save(tmp_path / "model.keras")
    hostile = Refusal(f"The layer {NAMES[name]!s} is custom.")
    assert all(one.isprintable() for one in str(hostile))
    with zipfile.ZipFile(tmp_path / "model.keras") as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    text = parts["config.json"].decode().replace('"dense"', json.dumps(NAMES[name]))
    parts["config.json"] = text.encode()
    with zipfile.ZipFile(tmp_path / "model.keras", "w") as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
    with pytest.raises(Refusal) as caught:
        load_model(tmp_path / "model.keras", Limits())
    assert all(one.isprintable() for one in str(caught.value))


@pytest.mark.parametrize("name", NAMES)
def test_a_metrics_name_that_a_terminal_obeys_is_refused(name: str, tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=[keras.metrics.MeanAbsoluteError(name=NAMES[name])])
    ports = find_ports(model)
    with pytest.raises(Refusal, match="characters that cannot be shown") as caught:
        choose_objectives(model, ConversionTask("test", 4), ports)
    assert str(caught.value).isprintable()


def test_letters_of_all_languages_stay_as_they_are() -> None:
    assert str(Refusal("Die Schicht größe (層, طبقة) 🙂 is custom.")).startswith(
        "Die Schicht größe (層, طبقة) 🙂"
    )


def test_the_process_answers_in_json_on_its_last_line(files: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "converter", str(files / "model.h5"), "--task", str(files / "task.toml")]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "out")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["ok"] is False
    assert answer["code"] == "bad-bundle"
    assert "model.h5 cannot be read" in answer["message"]
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("forked_python")
@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (ConversionLimits(memory_bytes=1 << 30), "memory"),
        (ConversionLimits(file_bytes=1 << 12), "over the limit"),
        (ConversionLimits(parameters=10), "at most 10"),
    ],
)
def test_a_limit_ends_the_conversion_with_a_sentence(
    files: Path, tmp_path: Path, limits: ConversionLimits, text: str
) -> None:
    with pytest.raises(BundleError, match=text):
        convert(files / "model.keras", files / "task.toml", tmp_path / "out", limits)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (ConversionLimits(wall_seconds=0.5), "longer than 0.5 seconds"),
        (ConversionLimits(cpu_seconds=1), "1 seconds of CPU"),
    ],
)
def test_a_limit_on_time_ends_the_conversion_with_a_sentence(
    files: Path, tmp_path: Path, limits: ConversionLimits, text: str
) -> None:
    # Not forked: importing TensorFlow alone takes longer.
    with pytest.raises(BundleError, match=text):
        convert(files / "model.keras", files / "task.toml", tmp_path / "out", limits)
    assert list(tmp_path.iterdir()) == []


def test_a_cancelled_conversion_leaves_nothing(files: Path, tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(CancelledError, match="The conversion was cancelled"):
        convert(
            files / "model.keras",
            files / "task.toml",
            tmp_path / "out",
            supervision=Supervision(said.append, lambda: bool(said)),
        )
    assert list(tmp_path.iterdir()) == []


def test_the_kernel_enforces_the_limit_on_files(tmp_path: Path) -> None:
    script = (
        "from converter.sandbox.process_limits import Limits, apply_limits\n"
        "apply_limits(Limits(file_bytes=1000))\n"
        "from pathlib import Path\n"
        f"Path({str(tmp_path / 'big')!r}).write_bytes(bytes(2000))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert (tmp_path / "big").stat().st_size <= 1000


def test_an_existing_folder_is_left_alone(files: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("keep")
    with pytest.raises(BundleError, match="exists already"):
        convert(files / "model.keras", files / "task.toml", tmp_path / "out")
    assert contents(tmp_path) == {"out/mine": b"keep"}


@pytest.mark.usefixtures("forked_python")
def test_a_bad_task_file_is_told_apart_from_a_bad_model(files: Path, tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text(TASK.replace("adam", "muon"))
    with pytest.raises(TaskFileError, match="muon"):
        convert(files / "model.keras", tmp_path / "task.toml", tmp_path / "out")
    with pytest.raises(BundleError, match="cannot be read"):
        convert(files / "none.keras", files / "task.toml", tmp_path / "out")


TASK_FOLDER = """
name = "small"
title = "Small"
[model]
file = "built/model.keras"
bundle = "built/bundle"
batch_size = 4
loss = "mse"
optimizer = { name = "sgd" }
[data]
source = "shards"
shards = "built/shards"
[coordination]
scheme = "federated"
rounds = 1
"""
BUILD = """
import sys
from pathlib import Path
import keras
Path(sys.argv[1]).mkdir()
keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]).save(Path(sys.argv[1], "model.keras"))
"""


@pytest.mark.long
def test_a_task_is_built_once_and_again_when_its_sources_change(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text(TASK_FOLDER)
    (tmp_path / "build.py").write_text(BUILD)
    begun: list[str] = []
    assert "3 parameters" in build_task(tmp_path, tell=begun.append)
    assert build_task(tmp_path, tell=begun.append) == "up to date."
    assert begun[0].startswith(f"{tmp_path.name}: making its model")
    assert begun.count(begun[0]) == 1
    first = contents(tmp_path / "built")
    assert "bundle/bundle.json" in first

    (tmp_path / "build.py").write_text("raise SystemExit('out of paper')")
    with pytest.raises(MingaError, match="out of paper"):
        build_task(tmp_path)
    assert contents(tmp_path / "built") == first

    (tmp_path / "build.py").write_text(BUILD.replace("Dense(1)", "Dense(2)"))
    assert "6 parameters" in build_task(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["build.py", "built", "task.toml"]


def test_a_bundle_outside_of_built_is_refused(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text(TASK_FOLDER.replace("built/bundle", "../bundle"))
    with pytest.raises(TaskFileError, match=r"must lie in built/"):
        build_task(tmp_path)
