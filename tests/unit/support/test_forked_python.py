"""What stands for the interpreter is like it: streams, exit codes, signals, and nothing that outlives it."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support import fork_servers
from tests.support.waiting import PATIENCE

# It reads all of its input before it answers.
ACCOUNTANT = ("-m", "backend.services.privacy.accounting")


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    command = [fork_servers.executable(), *words]
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


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_what_was_forked_too(number: signal.Signals) -> None:
    with started(*ACCOUNTANT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"{")
        process.stdin.flush()
        process.send_signal(number)
        # Its output ends with it only: the input is still open.
        assert process.stdout.read() == b""
        assert process.wait(PATIENCE) == -number


def test_what_no_fork_server_knows_the_interpreter_runs() -> None:
    with started("-c", "import sys; print(sys.stdin.read()); sys.exit(7)") as process:
        output, errors = process.communicate(b"hello", PATIENCE)
    assert (process.returncode, output, errors) == (7, b"hello\n", b"")
