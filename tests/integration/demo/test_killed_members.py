"""One participant of each kind is killed, with no chance to say goodbye, in the middle of a round."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from backend.settings import assets_folder
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server, running

pytestmark = [pytest.mark.tensorflow, pytest.mark.browser, pytest.mark.long]

DEADLINE = 40
FLAGS = (
    f"digits.coordination.deadline={DEADLINE}",
    "digits.coordination.min_available_clients=4",
    # Long enough for everybody to be in the middle when the three die.
    "digits.training.epochs=60",
)


@contextmanager
def participant(home: Path, module: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A participant in a process group of its own, which is killed at the end."""
    environment = {**os.environ, "XDG_STATE_HOME": str(home / "state"), "XDG_CACHE_HOME": str(home / "cache")}
    process = subprocess.Popen(
        [sys.executable, "-m", module, *words],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        kill(process)
        process.communicate(timeout=PATIENCE)


def kill(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def wait_for_phase(server: Server, phase: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if server.get("/api/tasks/digits")["phase"] == phase:
            return
        time.sleep(0.05)
    raise AssertionError(f"the task did not become {phase}")


def test_a_round_ends_by_its_deadline_when_a_peer_and_two_browsers_die_in_it(tmp_path: Path) -> None:
    flags = [word for flag in FLAGS for word in ("--set", flag)]
    with running(assets_folder() / "models", tmp_path / "data", *flags) as server, ExitStack() as stack:
        page = f"{server.url}/tasks/digits/train"

        def start(name: str, module: str, *words: str) -> subprocess.Popen[str]:
            return stack.enter_context(participant(tmp_path / name, module, *words))

        wasm = start("wasm", "backend.commands.demo.volunteer", f"{page}?backend=wasm")
        webgl = start("webgl", "backend.commands.demo.volunteer", f"{page}?backend=webgl")
        peer = start("peer", "backend", "peer", "join", server.url, "--task", "digits", "--json")
        start("survivor", "backend", "peer", "join", server.url, "--task", "digits", "--json")

        wait_for_phase(server, "training")
        for victim in (peer, wasm, webgl):
            kill(victim)
        wait_for_phase(server, "waiting")

        version = server.get("/api/tasks/digits/versions")["versions"][-1]
        assert (version["version"], version["accepted"]) == (1, 1), json.dumps(version)
        assert server.get("/api/tasks/digits")["participants"] == 1
