"""Tests whose needs are left out, as people see it at the end of a run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCE = """
import pytest
from tests.support.plugins.requirements import program

@pytest.mark.requires("networks")
def test_wire():
    raise AssertionError("left out")

@pytest.mark.browser
def test_page():
    raise AssertionError("left out")

def test_store():
    program("no-such-server", "redis")

def test_sum():
    assert 1 + 1 == 2
"""


def run(folder: Path, without: str, processes: str = "0", **environment: str) -> tuple[int, str]:
    (folder / "test_needs.py").write_text(SOURCE)
    variables = {name: value for name, value in os.environ.items() if name != "CI"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.support.plugins.requirements",
        "-o",
        "markers=browser",
    ]
    command += ["-p", "xdist", "-n", processes, "test_needs.py", f"--rootdir={folder}"]
    needs = {"MINGA_TEST_WITHOUT": without, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, cwd=folder, env=variables | needs | environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_what_is_left_out_is_told_at_the_end(tmp_path: Path) -> None:
    code, said = run(tmp_path, "networks chromium redis", processes="1")
    assert code == 0, said
    assert "left out" in said
    for need in ("networks", "chromium", "redis"):
        assert f"1 test: without {need}, as MINGA_TEST_WITHOUT asks" in said
    assert "1 passed, 3 skipped" in said


def test_what_is_not_installed_and_not_left_out_fails(tmp_path: Path) -> None:
    code, said = run(tmp_path, "networks chromium")
    assert code == 1
    assert "no-such-server is not installed; `make setup` installs it" in said


def test_a_run_in_ci_leaves_nothing_out(tmp_path: Path) -> None:
    code, said = run(tmp_path, "redis", CI="true")
    assert code == 4
    assert "In CI nothing is left out" in said
