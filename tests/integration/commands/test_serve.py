"""The command `minga serve` as its users meet it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from backend.commands.logs import rounded
from tests.support.programs.program_process import Preload, run
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server, running


def minga(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run(Preload.SERVER, "backend", *words, environment=environment)


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    write_task(tmp_path / "tasks" / "tiny")
    return tmp_path / "tasks"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_ends_cleanly(tasks: Path, tmp_path: Path, number: signal.Signals, code: int) -> None:
    server = Server(tasks, tmp_path / "data")
    server.start()
    assert server.stop(number) == code


def test_overrides_change_the_task(tasks: Path, tmp_path: Path) -> None:
    flags = ("--set", "tiny.coordination.rounds=7", "--set", "tiny.title=Other")
    with running(tasks, tmp_path / "data", *flags) as server:
        (task,) = server.report["tasks"]
        assert (task["rounds"], task["title"]) == (7, "Other")


def test_a_broken_task_is_told_and_the_others_are_served(tasks: Path, tmp_path: Path) -> None:
    write_task(tasks / "evil", ops=("Placeholder", "ReadFile"))
    (write_task(tasks / "torn") / "bundle" / "weights.bin").write_bytes(b"1234")
    (tasks / "odd").mkdir()
    (tasks / "odd" / "task.toml").write_text('name = "odd"\ncolour = "red"\n')
    with running(tasks, tmp_path / "data") as server:
        assert [task["name"] for task in server.report["tasks"]] == ["tiny"]
        problems = server.report["problems"]
        assert "ReadFile" in problems["evil"]
        assert "weights.bin differs" in problems["torn"]
        assert "colour" in problems["odd"]


def test_tasks_that_are_not_built_yet_are_no_error_and_are_served_once_they_are(
    tasks: Path, tmp_path: Path
) -> None:
    leave_unbuilt(tasks, tmp_path)
    with running(tasks, tmp_path / "data", log=tmp_path / "log") as server:
        assert server.report["problems"]["young"] == "Not built yet: run `minga build`."
        (tmp_path / "young").rename(tasks / "young" / "bundle")
        until = time.monotonic() + PATIENCE
        while "young" in server.get("/readyz")["left_out"]:
            assert time.monotonic() < until
            time.sleep(0.5)
        assert server.get("/api/tasks/young")["phase"] == "waiting"
    assert "not served" not in (tmp_path / "log").read_text()


def test_people_read_how_to_build_what_is_not_built(tasks: Path, tmp_path: Path) -> None:
    leave_unbuilt(tasks, tmp_path)
    lines = opening(tasks, tmp_path / "data")
    words = "".join(lines.split())
    assert "Notbuiltyet:young,younger." in words
    assert f"Tobuild:mingabuild{tasks / 'young'}{tasks / 'younger'}" in words
    assert "not served" not in lines


def leave_unbuilt(tasks: Path, elsewhere: Path) -> None:
    """Adds two tasks whose bundles build.py has yet to make; they lie `elsewhere`."""
    for name in ("young", "younger"):
        write_task(tasks / name)
        (tasks / name / "bundle").rename(elsewhere / name)
        (tasks / name / "build.py").write_text("")


def test_a_port_in_use_is_a_sentence(tasks: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = minga("serve", "--port", port, "--data-dir", str(tmp_path / "data"), "--tasks", str(tasks))
    assert ended.returncode == 2
    assert f"The address 127.0.0.1:{port} cannot be used" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_data_folder_in_use_is_a_sentence(tasks: Path, tmp_path: Path) -> None:
    with running(tasks, tmp_path / "data"):
        ended = minga("serve", "--port", "0", "--data-dir", str(tmp_path / "data"), "--tasks", str(tasks))
    assert ended.returncode == 2
    assert "used by another server" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--port", "many"), "'many' is not a port"),
        (("--tasks", "nowhere"), f"There is no task.toml in {Path.cwd() / 'nowhere'}"),
        (("--set", "other.title=x"), "there is no task 'other'"),
    ],
)
def test_a_wrong_flag_is_a_sentence(
    tasks: Path, tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    given = ("--data-dir", str(tmp_path / "data"), "--port", "0", "--tasks", str(tasks))
    ended = minga("serve", *given, *words)
    assert ended.returncode == 2
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_environment_sets_what_flags_do_not(tasks: Path, tmp_path: Path) -> None:
    ended = minga("serve", MINGA_PORT="77777", MINGA_DATA_DIR=str(tmp_path / "data"), MINGA_TASKS=str(tasks))
    assert ended.returncode == 2
    assert "'77777' is not a port" in ended.stderr


def opening(tasks: Path, data: Path) -> str:
    """Returns what a server says when it starts."""
    command = [sys.executable, "-m", "backend", "serve", "--port", "0", "--data-dir", str(data)]
    process = subprocess.Popen([*command, "--tasks", str(tasks)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = ""
    while "Ctrl-C" not in lines:
        lines += process.stdout.readline()
    process.terminate()
    process.wait(PATIENCE)
    process.stdout.close()
    return lines


def test_people_read_the_address_and_the_tasks(tasks: Path, tmp_path: Path) -> None:
    lines = opening(tasks, tmp_path / "data")
    assert "http://127.0.0.1:" in lines
    assert "tiny" in lines
    assert "waiting" in lines


def test_without_a_command_the_help_is_shown() -> None:
    ended = minga()
    assert ended.returncode == 0
    assert "serve" in ended.stdout


def test_the_version_is_told() -> None:
    assert minga("--version").stdout.startswith("minga ")


def test_numbers_in_the_log_for_people_have_four_digits() -> None:
    line = rounded(
        None, "info", {"event": "evaluated", "loss": 2.2878757, "metrics": {"accuracy": 0.1178451}}
    )
    assert line == {"event": "evaluated", "loss": 2.288, "metrics": {"accuracy": 0.1178}}
