"""A failed test names a folder with its processes' logs; one that hangs is cut, with all stacks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.plugins.evidence import FAILURES, LONGEST_NAME, ROOT, folder_name
from tests.support.timeouts import HEAVY

SOURCE = """
import asyncio
import subprocess
import sys
import threading
import pytest
from tests.support.plugins.evidence import log_file

@pytest.fixture(scope="module")
def log():
    yield log_file("the server")

def write(log, text):
    with log.open("a") as file:
        file.write(text)

def test_passes(log):
    write(log, "of a test that passed")

def test_fails(log):
    write(log, "of a test that failed")
    assert False

def test_command():
    command = [sys.executable, "-c", "import sys; print(6 * 7); sys.exit('beyond ' + 'repair')"]
    subprocess.run(command, check=True, capture_output=True)

def test_hangs():
    threading.Event().wait()

async def wait_in_vain():
    await asyncio.Event().wait()

async def test_hangs_in_a_task():
    await asyncio.create_task(wait_in_vain())
"""
SETTINGS = "[pytest]\nasyncio_mode = auto\ntimeout = 2\ntimeout_method = signal\n"


@pytest.fixture(autouse=True)
def _nothing_of_them_stays() -> Iterator[None]:
    yield
    for folder in FAILURES.glob("test_inner_evidence.py*"):
        shutil.rmtree(folder)


def run(folder: Path, *words: str) -> str:
    """What pytest prints of SOURCE."""
    (folder / "test_inner_evidence.py").write_text(SOURCE, "utf-8")
    (folder / "pytest.ini").write_text(SETTINGS, "utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.support.plugins.evidence",
        "--rootdir",
        str(folder),
    ]
    command += ["-c", str(folder / "pytest.ini"), *words, str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def test_a_failed_test_keeps_what_was_logged_since_it_began(tmp_path: Path) -> None:
    said = run(tmp_path, "-k", "passes or fails")
    name = folder_name("test_inner_evidence.py::test_fails")
    assert f"kept in .make/failures/{name}/" in said
    kept = {file.name: file.read_text("utf-8") for file in (FAILURES / name).iterdir()}
    assert sorted(kept) == ["000-the-server.log", "call.txt"]
    assert kept["000-the-server.log"] == "of a test that failed"
    assert "assert False" in kept["call.txt"]
    assert not (FAILURES / folder_name("test_inner_evidence.py::test_passes")).exists()


def test_a_failed_command_shows_what_it_printed(tmp_path: Path) -> None:
    said = run(tmp_path, "-k", "command")
    folder = FAILURES / folder_name("test_inner_evidence.py::test_command")
    for text in (said, (folder / "call.txt").read_text("utf-8")):
        assert "Output of the command" in text
        assert "\n42\n" in text
        assert "\nbeyond repair\n" in text


@pytest.mark.timeout(HEAVY)
@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["alone", "in a worker"])
def test_a_test_that_hangs_is_cut_with_the_stacks_of_threads_and_tasks(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    said = run(tmp_path, "-k", "hangs", *options)
    assert "2 failed" in said
    assert said.count("Timeout (>2.0s) from pytest-timeout") >= 2
    assert "in test_hangs" in said
    assert "in wait_in_vain" in said


def test_folders_have_names_that_every_file_system_takes() -> None:
    long = folder_name("tests/e2e/test_x.py::test_" + "y" * 300 + "[a/b c]")
    assert len(long) == LONGEST_NAME
    assert long != folder_name("tests/e2e/test_x.py::test_" + "y" * 300 + "[a/b d]")
    assert folder_name("tests/e2e/test_x.py::test_y[a/b c]") == "e2e-test_x.py-test_y-a-b-c"
