"""`minga task pin` and `minga task check`: a task that requires the same bits needs a pinned bundle."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.__main__ import main
from backend.commands.tasks import pin
from backend.formats.manifest import parse_manifest
from tests.integration.commands.tasks.test_check import about, check
from tests.support.tasks.pinned_task import MADE_UP, built_program, require_exact
from tests.support.tasks.tiny_task import write_task
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task whose bundle has no pins."""
    return require_exact(write_task(tmp_path / "tasks" / "tiny", min_available_clients=1), None)


def test_a_task_that_requires_exactness_without_pins_is_refused_with_the_command_that_mends_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = check(capsys, folder)
    assert (code, about(found, "pins")["state"]) == (2, "failed")
    assert "Run `minga task pin FOLDER`" in about(found, "pins")["text"]
    assert main(["task", "pin", str(folder)]) == 0
    program = built_program().program[:12]
    assert f"is pinned to the program {program}: " in capsys.readouterr().out
    _, found = check(capsys, folder)
    assert all(one["key"] != "pins" for one in found)


def test_the_folder_of_a_bundle_will_do_and_a_second_time_changes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["task", "pin", str(folder / "bundle")]) == 0
    assert main(["task", "pin", str(folder)]) == 0
    assert "was pinned already" in capsys.readouterr().out
    pins = parse_manifest((folder / "bundle" / "bundle.json").read_bytes()).exact
    assert pins == built_program()


def test_without_a_built_web_app_there_is_nothing_to_pin_to(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pin, "dist_folder", lambda: folder)
    assert main(["task", "pin", str(folder)]) != 0
    assert "run `make build`" in capsys.readouterr().err


async def test_a_task_that_is_pinned_to_another_program_goes_on_from_its_last_version(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "tasks" / "tiny", min_available_clients=1)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with Client(server.url) as client:
            await client.ready()
            await client.deliver(await client.selected(), [0.5] * 10)
            await client.selected()
    require_exact(folder, MADE_UP)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        assert "minga task pin" in server.report["problems"]["tiny"]
    assert main(["task", "pin", str(folder)]) == 0
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        assert server.get("/api/tasks/tiny")["version"] == 1
