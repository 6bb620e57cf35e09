"""The demo as people and scripts start it."""

from __future__ import annotations

import io
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import urlopen

import psutil
import pytest
from rich.console import Console

from backend.commands.demo.demo import announce, reachable, welcome
from tests.support.timeouts import LONG, PATIENCE
from tests.support.web.server_process import free_port

pytestmark = pytest.mark.tensorflow


@contextmanager
def demo(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A running demo; whatever it leaves behind is found in the test, and killed here by its id."""
    command = [sys.executable, "-m", "backend", "demo", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=PATIENCE)


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return list(psutil.Process(process.pid).children(recursive=True))


def survivors(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that stay alive; a zombie is dead, only its parent has not noticed."""
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    return [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.browser
@pytest.mark.timeout(LONG)
def test_two_headless_browsers_and_a_peer_train_together() -> None:
    with demo("--headless", "--rounds", "2", "--json") as process:
        output, complaints = process.communicate(timeout=LONG)
    assert process.returncode == 0, complaints
    *rounds, summary = [json.loads(line) for line in output.splitlines()]
    counted = [(row["round"], row["version"], row["accepted"]) for row in rounds]
    assert counted == [(1, 1, 3), (2, 2, 3)], f"{summary}\n{complaints}"
    assert summary["rounds"] == 2
    assert summary["accepted_by_participant"] == {"browser-wasm": 2, "browser-webgl": 2, "peer": 2}
    assert summary["test_accuracy"] == rounds[-1]["accuracy"] > 0.8
    assert summary["seconds"] > 0


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_a_signal_ends_the_demo_for_people_and_everything_it_started(number: signal.Signals) -> None:
    port = free_port()
    with demo("--port", str(port)) as process:
        assert process.stdout is not None
        shown = ""
        while "Ctrl-C ends everything" not in shown.partition("is open at")[2]:
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            shown += line
        assert f"http://127.0.0.1:{port}/tasks/digits/train" in shown.replace("\n", "")
        with urlopen(f"http://127.0.0.1:{port}/api/tasks/digits", timeout=PATIENCE) as answer:
            assert json.load(answer)["participants"] == 1
        started = family(process)
        assert len(started) >= 2
        process.send_signal(number)
        output, complaints = process.communicate(timeout=PATIENCE)
        assert (process.returncode, complaints) == (0, "")
        assert "The demo has ended." in output
        assert survivors(started) == []


@pytest.mark.long
@pytest.mark.browser
def test_a_signal_ends_the_browsers_too() -> None:
    with demo("--headless", "--rounds", "1000", "--json") as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["round"] == 1
        started = family(process)
        assert any("chrom" in one.name() for one in started)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        assert survivors(started) == []


def test_a_taken_port_is_told_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with demo("--port", port) as process:
            _, complaints = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert complaints.startswith("minga: ")
    assert "--port" in complaints
    assert "Traceback" not in complaints


def test_others_are_shown_this_machines_address_only_where_they_can_use_it() -> None:
    assert reachable("127.0.0.1", "http://127.0.0.1:8000") == "http://127.0.0.1:8000"
    assert reachable("::", "http://127.0.0.1:8000").endswith(":8000")


def test_what_to_do_and_how_to_stop_is_said_before_the_server_is_up() -> None:
    shown = io.StringIO()
    announce(Console(file=shown, highlight=False, width=80), "http://127.0.0.1:8000")
    text = shown.getvalue()
    assert "http://127.0.0.1:8000/tasks/digits/train" in text
    assert "Start training" in text
    assert "Ctrl-C ends everything" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(("host", "coded"), [("127.0.0.1", False), ("192.0.2.7", True)])
def test_phones_get_a_code_only_for_an_address_that_they_can_open(host: str, coded: bool) -> None:
    shown = io.StringIO()
    welcome(Console(file=shown, highlight=False, width=200), f"http://{host}:8000")
    assert f"http://{host}:8000/tasks/digits/train" in shown.getvalue()
    assert ("█" in shown.getvalue()) == coded
    assert ("--host 0.0.0.0" in shown.getvalue()) != coded
