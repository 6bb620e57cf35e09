"""What drives a browser may fail once, and the end of the run says so; nothing else may."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path, PurePath

import pytest

from tests.second_try import HERE, is_driven

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

@pytest.mark.browser
def test_shaky(server):
    assert tried("shaky", server) == 2, "nothing was drawn"

@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page(server):
    # Belongs to the loop that runs, as pages of Chromium do.
    yield asyncio.get_running_loop()

@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="module")
async def test_shaky_with_a_page(page, server):
    assert page is asyncio.get_running_loop()
    assert tried("page", server) == 2, "the page was gone"

@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="module")
async def test_shaky_and_last_in_its_file(page, server):
    assert page is asyncio.get_running_loop()
    assert tried("last", server) == 2, "no round was seen"
"""
BROKEN = """
import pytest

@pytest.mark.browser
def test_broken():
    assert False, "never works"

def test_pure():
    assert False, "has one try"
"""
SETTINGS = """
[pytest]
asyncio_mode = auto
filterwarnings = error
markers = browser: needs Chromium
"""


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text(SETTINGS, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.second_try", "--rootdir", str(folder)]
    command += ["-c", str(folder / "pytest.ini"), *options, str(folder)]
    return subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False)


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


def test_only_folders_that_drive_browsers_links_or_processes_have_a_second_try() -> None:
    tried_twice = ("browser", "pages", "mesh", "peer", "peer/mesh", "demo", "browser/ops", "crash", "web")
    assert all(is_driven(PurePath(folder)) for folder in tried_twice)
    assert not any(is_driven(PurePath(folder)) for folder in (".", "services", "numerics", "meshes"))
    folders = {path.parent.relative_to(HERE) for path in HERE.rglob("test_*.py")}
    assert all((HERE / folder).is_dir() for folder in tried_twice), folders
