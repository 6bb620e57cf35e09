"""What stands for the interpreter is like it: streams, exit codes, signals, and nothing that outlives it."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.programs import fork_server_pool
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE

# It reads all of its input before it answers.
ACCOUNTANT = ("-m", "backend.server.privacy.epsilon")


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    command = [fork_server_pool.executable(), *words]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        yield process


def test_a_fault_is_told_and_the_exit_code_is_the_programs() -> None:
    with started(*ACCOUNTANT) as process:
        output, errors = process.communicate(b"nonsense", PATIENCE)
    assert (process.returncode, output) == (1, b"")
    assert b"DecodeError" in errors


def test_an_answer_comes_back() -> None:
    asked = b'{"type": "sampled", "noise_multiplier": 1.0, "rounds": 1, "sampling": 1.0, "delta": 1e-5}'
    with started(*ACCOUNTANT) as process:
        output, _ = process.communicate(asked, PATIENCE)
    assert process.returncode == 0
    assert b'"rdp"' in output


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 0), (signal.SIGINT, 130)]
)
def test_a_signal_reaches_a_server_that_was_forked(tmp_path: Path, number: signal.Signals, code: int) -> None:
    tasks = write_task(tmp_path / "tasks" / "tiny").parent
    words = ("--port", "0", "--json", "--tasks", str(tasks), "--data-dir", str(tmp_path / "data"))
    with started("-m", "backend", "serve", *words) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"{")
        process.send_signal(number)
        # The server holds the other end.
        assert process.stdout.read() == b""
        assert process.wait(PATIENCE) == code


def test_what_no_fork_server_knows_the_interpreter_runs() -> None:
    with started("-c", "import sys; print(sys.stdin.read()); sys.exit(7)") as process:
        output, errors = process.communicate(b"hello", PATIENCE)
    assert (process.returncode, output, errors) == (7, b"hello\n", b"")
