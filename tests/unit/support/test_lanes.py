"""A lane runs its steps in order, leaves out what needs a failed one, and sums up what failed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ci import lane_steps, lane_summary, outcome_records
from tests.support.ci.lane_steps import Step
from tests.support.ci.lanes import Ending, Lane
from tests.support.ci.outcome_records import Record, read_records

ROOT = Path(__file__).parents[3]
SOURCE = """
import pytest

TRIES = []

@pytest.fixture
def broken():
    yield
    assert False, "in its teardown"

def test_passes(): pass

def test_fails(): assert 1 == 2, "never equal"

def test_fails_at_its_end(broken): pass

@pytest.mark.skip(reason="not today")
def test_left_out(): pass

@pytest.mark.second_try(reason="it counts")
def test_shaky():
    TRIES.append(1)
    assert len(TRIES) == 2
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a lane of this test keeps its logs."""
    for module in (lane_steps, lane_summary):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr("tests.support.ci.lanes.ROOT", tmp_path)
    (tmp_path / lane_steps.RUN).mkdir(parents=True)
    return tmp_path


def program(source: str) -> tuple[str, ...]:
    return (sys.executable, "-c", source)


def codes(endings: list[Ending]) -> dict[str, int | None]:
    return {ending.step.name: ending.code for ending in endings}


def test_a_step_waits_for_those_it_needs_and_is_left_out_where_one_failed(folder: Path) -> None:
    made = folder / "made"
    steps = [
        Step("uses", (program(f"open({str(made)!r})"),), after=("makes",)),
        Step("makes", (program(f"open({str(made)!r}, 'w')"),), cores=2),
        Step("fails", (program("raise SystemExit(3)"), program(f"open({str(folder / 'never')!r}, 'w')"))),
        Step("hopes", (program("pass"),), after=("fails",)),
    ]
    endings = Lane(steps).run()
    assert codes(endings) == {"makes": 0, "uses": 0, "fails": 3, "hopes": None}
    assert not (folder / "never").exists()
    told = lane_summary.summary("short", endings, 1.0)
    assert "fails        FAILED" in told
    assert "hopes        not run" in told
    assert told.splitlines()[-1] == "  the step fails failed: see .make/lane/fails.log"


def imports_tensorflow(path: Path) -> bool:
    """Whether a module imports TensorFlow or Keras when it is imported itself."""
    names = [
        name
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module])
    ]
    return any(str(name).partition(".")[0] in ("keras", "tensorflow") for name in names)


def test_only_the_step_of_keras_imports_tensorflow_into_its_own_processes() -> None:
    files = [path for path in (ROOT / "tests").rglob("test_*.py") if imports_tensorflow(path)]
    assert files
    names = [str(path.relative_to(ROOT)) for path in files]
    assert [name for name in names if not name.startswith(lane_steps.KERAS)] == []


def test_what_a_step_prints_is_shown_with_its_name_and_kept(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Lane([Step("speaks", (program("print('one'); print('two')"),))]).run()
    assert "speaks     | one\nspeaks     | two\n" in capfd.readouterr().out
    assert (folder / lane_steps.RUN / "speaks.log").read_text() == "one\ntwo\n"


def test_a_run_of_pytest_that_selects_nothing_has_passed() -> None:
    nothing = Step("pure", (), is_python_test=True)
    assert Ending(nothing, 5).passed
    assert not Ending(nothing, 1).passed
    assert not Ending(Step("style", ()), 5).passed


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "side by side"])
def test_how_each_test_ended_is_written_down(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "test_some.py").write_text(SOURCE, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    file = tmp_path / "some.jsonl"
    plugins = (
        "-p",
        "tests.support.ci.outcome_records",
        "-p",
        "tests.support.plugins.second_try",
        "--record",
        str(file),
    )
    command = [sys.executable, "-m", "pytest", "-q", *plugins, *options, "--rootdir", str(tmp_path)]
    command += ["-c", str(tmp_path / "pytest.ini"), str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    told = {
        (record.test.partition("::")[2], record.outcome): record.reason for record in read_records([file])
    }
    assert told.keys() == {
        ("test_passes", "passed"),
        ("test_fails", "failed"),
        ("test_fails_at_its_end", "failed"),
        ("test_left_out", "skipped"),
        ("test_shaky", "rerun"),
        ("test_shaky", "passed"),
    }
    assert told["test_left_out", "skipped"] == "not today"
    assert "never equal" in told["test_fails", "failed"]
    assert "in its teardown" in told["test_fails_at_its_end", "failed"]


def test_the_summary_fits_a_screen_and_ends_with_the_count(folder: Path) -> None:
    suites = [f"integration/suite{number}" for number in range(20)]
    many = [
        Record(f"tests/{suite}/test_some.py::test_{number}", "failed", 1.0, "a reason")
        for suite in suites
        for number in range(3)
    ]
    recorder = folder / lane_steps.RUN / "driven.jsonl"
    recorder.write_bytes(b"".join(outcome_records.encode(record) for record in many))
    lines = lane_summary.summary("short", [Ending(Step("driven", ()), 1)], 700.0).splitlines()
    assert len(lines) < 50
    assert all(len(line) <= lane_summary.WIDTH for line in lines)
    assert "and 52 more" in "\n".join(lines)
    assert lines[-1] == "0 passed, 60 failed"
