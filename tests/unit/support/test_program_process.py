"""Forked processes behave as those that `subprocess` starts."""

from __future__ import annotations

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.programs.program_process import Preload, Process, run

PROGRAM = "tests.unit.support.small_program"


def do(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run(Preload.SERVER, PROGRAM, *words, environment=variables)


def waiting(log: Path) -> Process:
    process = Process(Preload.SERVER, PROGRAM, "wait", log=log)
    assert process.stdout is not None
    with process.stdout as output:
        assert output.readline() == b"waiting\n"
    return process


def test_it_has_a_folder_variables_and_streams_of_its_own(tmp_path: Path) -> None:
    variables = {"GREETING": "hello", "AAA": ""}
    done = run(Preload.SERVER, PROGRAM, "tell", folder=tmp_path, environment=variables)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path} hello ['AAA']\n")
    assert done.stderr == "an error\n"


@pytest.mark.parametrize(
    ("words", "code", "errors"),
    [(["exit", "0"], 0, ""), (["exit", "7"], 7, ""), (["complain"], 1, "a sentence\n"), ([], 0, "")],
)
def test_its_exit_code_is_the_programs(words: list[str], code: int, errors: str) -> None:
    done = do(*words)
    assert (done.returncode, done.stderr) == (code, errors)


def test_a_fault_is_told_with_its_stack() -> None:
    done = do("raise")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("ValueError: a fault\n")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_is_a_real_process_that_signals_end(tmp_path: Path, number: signal.Signals) -> None:
    process = waiting(tmp_path / "log")
    assert process.poll() is None
    os.kill(process.pid, number)
    assert process.wait(60) == -number
    assert process.poll() == -number
    assert not Path(f"/proc/{process.pid}").exists()


def test_waiting_for_it_has_an_end(tmp_path: Path) -> None:
    process = waiting(tmp_path / "log")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    process.kill()
    assert process.wait(60) == -signal.SIGKILL


def test_a_process_that_has_ended_is_signalled_no_more(tmp_path: Path) -> None:
    process = Process(Preload.SERVER, PROGRAM, "exit", "3", log=tmp_path / "log", output=tmp_path / "output")
    assert process.wait(60) == 3
    process.kill()
    assert process.returncode == 3


def test_many_are_forked_at_once() -> None:
    codes = range(20)
    with ThreadPoolExecutor(len(codes)) as pool:
        ended = pool.map(lambda code: do("exit", str(code)).returncode, codes)
        assert list(ended) == list(codes)
