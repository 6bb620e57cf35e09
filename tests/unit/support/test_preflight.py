"""What people read before the first test when their machine lacks what tests need."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.environment import preflight
from tests.support.environment.preflight import (
    LONG_ONLY,
    OPTIONAL,
    REAL_DATA,
    Problem,
    check_folders,
    left_out,
    report,
)
from tests.support.environment.small_disk import read_only, small_disk

ROOT = Path(__file__).parents[3]


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that has none of the programs."""
    monkeypatch.setattr(preflight, "find_program", {}.get)


def check(words: tuple[str, ...] = (), **environment: str) -> tuple[int, str]:
    """Exit code and errors of the check, run as `make test` runs it."""
    command = [*words, sys.executable, "-m", "tests.support.environment.preflight"]
    variables = {name: value for name, value in os.environ.items() if name not in ("CI", preflight.WITHOUT)}
    done = subprocess.run(
        command, cwd=ROOT, env=variables | environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.requires(*(OPTIONAL.keys() - set(LONG_ONLY)))
def test_a_machine_with_everything_passes_and_says_nothing() -> None:
    assert check() == (0, "")


def test_real_data_that_are_not_there_are_told_before_the_first_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in REAL_DATA[1:]:
        (tmp_path / name).touch()
    monkeypatch.setenv(preflight.DATA, str(tmp_path))
    notice = f"Tests of cifar10_test.zip are left out: not in {tmp_path}."
    assert preflight.missing_data() == f"{notice} Set MINGA_DATA to a folder that has them."
    (tmp_path / REAL_DATA[0]).touch()
    assert preflight.missing_data() == ""


def test_all_that_is_not_installed_is_told_at_once_with_one_command(
    nothing_installed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    said = report(preflight.find_problems(frozenset({"mounts"})))
    for name in ("chromium", "redis-server", "postgresql", "iproute2 and coturn", "sqlite3", "firefox-esr"):
        assert name in said
    assert "webkit2gtk-driver and xvfb are not installed" in said
    packages = "chromium redis-server postgresql iproute2 coturn sqlite3 firefox-esr webkit2gtk-driver xvfb"
    assert f"install -y --no-install-recommends {packages}" in said
    assert 'make test WITHOUT="chromium redis postgresql networks sqlite3 firefox webkit"' in said


def test_a_missing_program_ends_the_check_with_status_2(tmp_path: Path) -> None:
    code, said = check(PATH=str(tmp_path), MINGA_TEST_WITHOUT=" ".join(OPTIONAL.keys() - {"redis"}))
    assert code == 2
    assert "Redis is not installed; tests of stores need its redis-server." in said
    assert 'make test WITHOUT="redis"' in said


def test_what_is_left_out_is_not_looked_for(nothing_installed: None) -> None:
    assert preflight.find_problems(frozenset(OPTIONAL), long=True) == {}


def test_an_emulated_processor_is_a_need_of_long_tests_alone(
    nothing_installed: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(preflight, "ARM64_LIBRARIES", tmp_path)
    others = frozenset(OPTIONAL.keys() - {"arm64"})
    assert preflight.find_problems(others) == {}
    packages = ("qemu-user-static", "libstdc++6-arm64-cross", "libatomic1-arm64-cross")
    assert preflight.find_problems(others, long=True)["arm64"].packages == packages


@pytest.mark.parametrize("check_rights", [preflight.check_networks, preflight.check_mounts])
def test_what_takes_root_is_told_to_others(
    monkeypatch: pytest.MonkeyPatch, check_rights: Callable[[], Problem | None]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(preflight, "find_program", lambda name: f"/usr/bin/{name}")
    problem = check_rights()
    assert problem is not None
    assert "which takes root, and you are not: run `make test` as root" in problem.sentence


def test_packages_that_take_an_administrator_are_told_as_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    said = report({"redis": Problem("Redis is not installed.", ("redis-server",))})
    assert "Ask your administrator for it" in said


@pytest.mark.requires("mounts")
def test_a_full_disk_is_told_with_what_is_free_and_what_is_needed(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "8m") as disk:
        code, said = check(TMPDIR=str(disk))
    assert code == 2
    assert f"temporary files ({disk}) has 8 MiB free, and tests need 1.0 GiB: delete what you can." in said


@pytest.mark.requires("mounts")
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with read_only(tmp_path / "data"):
        code, said = check(TMPDIR=str(tmp_path / "data"))
    assert code == 2
    assert f"Nothing can be written to {tmp_path / 'data'}, the folder of temporary files" in said


def test_folders_on_one_disk_need_room_for_both(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    assert check_folders([("one", tmp_path, free // 4), ("two", tmp_path, free // 4)]) == []
    (problem,) = check_folders([("one", tmp_path, free), ("two", tmp_path, free)])
    assert "one" in problem.sentence
    assert "two" in problem.sentence


def test_an_unknown_name_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="names wifi; tests can do without: chromium, redis"):
        left_out({"MINGA_TEST_WITHOUT": "wifi, redis"})


def test_in_ci_nothing_is_left_out() -> None:
    with pytest.raises(ValueError, match="In CI nothing is left out"):
        left_out({"MINGA_TEST_WITHOUT": "redis", "CI": "true"})
