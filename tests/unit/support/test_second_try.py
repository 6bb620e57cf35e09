"""A test that is marked for it may fail once, and the end of the run says so; no other may."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
MOST_MARKS = 30

SOURCE = """
import asyncio

import pytest
import pytest_asyncio

TRIES = {}

@pytest.fixture(scope="session")
def browser():
    yield "open"

@pytest.fixture(scope="session")
def machine():
    return {"servers": 0}

@pytest.fixture(scope="module")
def server(browser, machine):
    state = {"open": True, "used": set()}
    machine["servers"] += 1
    yield state
    state["open"] = False
    machine["servers"] -= 1

@pytest.fixture(autouse=True)
def alone(machine):
    yield
    assert machine["servers"] <= 1

def tried(name, server):
    assert server["open"]
    assert name not in server["used"], "the first try was here"
    server["used"].add(name)
    TRIES[name] = TRIES.get(name, 0) + 1
    return TRIES[name]

@pytest.mark.second_try(reason="it counts its tries")
def test_shaky(server):
    assert tried("shaky", server) == 2, "nothing was drawn"

@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page(server):
    # Belongs to the loop that runs, as pages of Chromium do.
    yield asyncio.get_running_loop()

@pytest.mark.second_try(reason="it counts its tries")
@pytest.mark.asyncio(loop_scope="module")
async def test_shaky_with_a_page(page, server):
    assert page is asyncio.get_running_loop()
    assert tried("page", server) == 2, "the page was gone"

@pytest.mark.second_try(reason="it counts its tries")
@pytest.mark.asyncio(loop_scope="module")
async def test_shaky_and_last_in_its_file(page, server):
    assert page is asyncio.get_running_loop()
    assert tried("last", server) == 2, "no round was seen"
"""
BROKEN = """
import pytest

@pytest.mark.second_try(reason="it counts its tries")
def test_broken():
    assert False, "never works"

def test_pure():
    assert False, "has one try"
"""
SETTINGS = """
[pytest]
asyncio_mode = auto
filterwarnings = error
"""


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text(SETTINGS, "utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.support.plugins.second_try",
        "--rootdir",
        str(folder),
    ]
    command += ["-c", str(folder / "pytest.ini"), *options, str(folder)]
    return subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("options", [(), ("-n", "2", "--dist", "loadfile")], ids=["alone", "side by side"])
def test_a_second_try_has_fixtures_of_its_own_and_is_told_at_the_end(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    (tmp_path / "test_shaky.py").write_text(SOURCE, "utf-8")
    done = run(tmp_path, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout.split("needed a second try")[1]
    reasons = {"shaky": "nothing was drawn", "with_a_page": "was gone", "its_file": "no round was seen"}
    for name, reason in reasons.items():
        assert re.search(rf"{name} \(call\).*{reason}", told, re.DOTALL), told


def test_what_fails_twice_fails_and_everything_else_has_one_try(tmp_path: Path) -> None:
    (tmp_path / "test_broken.py").write_text(BROKEN, "utf-8")
    done = run(tmp_path)
    assert done.returncode == 1
    assert "2 failed, 1 rerun" in done.stdout
    assert "test_pure" not in done.stdout.split("needed a second try")[1].split("short test summary")[0]


@pytest.mark.parametrize("arguments", ["", "(reason='')"])
def test_a_mark_without_a_reason_is_refused(tmp_path: Path, arguments: str) -> None:
    source = f"import pytest\n\n@pytest.mark.second_try{arguments}\ndef test_shaky(): pass\n"
    (tmp_path / "test_shaky.py").write_text(source, "utf-8")
    done = run(tmp_path)
    assert done.returncode == 4
    assert "needs a reason" in done.stdout + done.stderr


def test_a_mark_is_no_mark_of_a_whole_file(tmp_path: Path) -> None:
    source = "import pytest\n\npytestmark = pytest.mark.second_try(reason='all')\ndef test_shaky(): pass\n"
    (tmp_path / "test_shaky.py").write_text(source, "utf-8")
    done = run(tmp_path)
    assert done.returncode == 4
    assert "is for single tests" in done.stdout + done.stderr


def test_few_tests_are_marked() -> None:
    sources = [path.read_text("utf-8") for path in TESTS.rglob("test_*.py") if path != Path(__file__)]
    assert sum(source.count("mark.second_try(") for source in sources) <= MOST_MARKS
