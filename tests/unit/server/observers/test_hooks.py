"""A hook is a real process, and nothing that it does holds anybody up."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from backend.formats.task_file.hooks import Hooks
from backend.server.observers.hooks import MAX_WAITING, OUTPUT_BYTES, RoundEndHook
from backend.server.observers.task_events import Pass, RoundEnded, VersionEvaluated
from backend.stores.contracts import EvaluationRecord
from tests.support.store_contracts.records import FIRST, ROUND

ENDED = RoundEnded(replace(ROUND, refusals={"not-finite": 2}), FIRST)


@asynccontextmanager
async def running(
    folder: Path, script: str, seconds: float = 60.0
) -> AsyncIterator[tuple[RoundEndHook, list[str]]]:
    """A hook with the Python `script` and, as they come, the reasons for which it ended the task."""
    reasons: list[str] = []

    async def stop(reason: str) -> None:
        reasons.append(reason)

    (folder / "hook.py").write_text(script)
    hook = RoundEndHook(Hooks([sys.executable, "hook.py", "a word"], seconds), folder, stop)
    task = asyncio.create_task(hook.run())
    try:
        yield hook, reasons
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(true: Callable[[], object]) -> None:
    for _ in range(15_000):
        if true():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("It did not happen.")


SAVE = """
import json, os, sys, pathlib
record = json.loads(sys.stdin.read())
with open(f"round-{record['round']}", "w") as file:
    json.dump([sys.argv[1:], os.getcwd(), record], file)
os.rename(f"round-{record['round']}", f"done-{record['round']}")
"""


async def test_it_gets_the_round_with_its_version_and_the_newest_evaluation(tmp_path: Path) -> None:
    async with running(tmp_path, SAVE) as (hook, reasons):
        hook.notice("tiny", ENDED)
        await until((tmp_path / "done-1").exists)
        hook.notice("tiny", VersionEvaluated(EvaluationRecord(1, 0.25, {"accuracy": 0.5})))
        abandoned = replace(ROUND, round=2, outcome="abandoned", reason="Nobody came.")
        hook.notice("tiny", RoundEnded(abandoned, None))
        await until((tmp_path / "done-2").exists)
    words, folder, first = json.loads((tmp_path / "done-1").read_text())
    assert (words, folder) == (["a word"], str(tmp_path))
    assert first["task"] == "tiny"
    assert first["refusals"] == {"not-finite": 2}
    assert (first["made"]["version"], first["made"]["weights"]) == (FIRST.version, FIRST.weights)
    assert first["evaluation"] is None
    _, _, second = json.loads((tmp_path / "done-2").read_text())
    assert (second["made"], second["outcome"], second["reason"]) == (None, "abandoned", "Nobody came.")
    assert second["evaluation"]["metrics"] == {"accuracy": 0.5}
    assert reasons == []


async def test_exit_code_3_ends_the_task_and_the_last_line_says_why(tmp_path: Path) -> None:
    script = "print('thinking'); print('It is good enough.'); raise SystemExit(3)"
    async with running(tmp_path, script) as (hook, reasons):
        hook.notice("tiny", ENDED)
        await until(lambda: reasons)
    assert reasons == ["It is good enough."]


async def test_one_that_hangs_is_ended_with_all_that_it_started_and_the_next_round_is_told(
    tmp_path: Path,
) -> None:
    script = """
import json, pathlib, subprocess, sys, time
number = json.loads(sys.stdin.read())["round"]
pathlib.Path(f"begun-{number}").touch()
if number == 1:
    child = subprocess.Popen(["sleep", "300"])
    pathlib.Path("child").write_text(str(child.pid))
    time.sleep(300)
"""
    with capture_logs() as lines:
        async with running(tmp_path, script, seconds=6.0) as (hook, _):
            hook.notice("tiny", ENDED)
            hook.notice("tiny", RoundEnded(replace(ROUND, round=2), FIRST))
            await until((tmp_path / "begun-2").exists)
            child = int((tmp_path / "child").read_text())
            await until(lambda: not _runs(child))
    assert lines[0]["event"] == "the hook was ended: it took too long"


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("raise ValueError('no such column')", "ValueError: no such column"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", ""),
        ("import sys; sys.stdin.close(); sys.exit('I read nothing')", "I read nothing"),
        ("import sys; sys.stdout.buffer.write(bytes(range(256)) * 40_000); sys.exit(1)", "\ufffd"),
    ],
)
async def test_a_crash_and_garbage_are_logged_and_nothing_else_happens(
    tmp_path: Path, script: str, said: str
) -> None:
    with capture_logs() as lines:
        async with running(tmp_path, script) as (hook, reasons):
            hook.notice("tiny", ENDED)
            await until(lambda: lines)
    (line,) = lines
    assert (line["event"], line["log_level"], line["task"]) == ("the hook failed", "warning", "tiny")
    assert said in line["output"]
    assert len(line["output"]) <= OUTPUT_BYTES
    assert reasons == []


async def test_a_command_that_is_not_there_is_logged(tmp_path: Path) -> None:
    async def stop(reason: str) -> None:
        raise AssertionError(reason)

    hook = RoundEndHook(Hooks(["./missing"]), tmp_path, stop)
    task = asyncio.create_task(hook.run())
    with capture_logs() as lines:
        hook.notice("tiny", ENDED)
        await until(lambda: lines)
    task.cancel()
    assert (lines[0]["event"], lines[0]["command"]) == ("the hook cannot be run", "./missing")


async def test_of_more_rounds_than_may_wait_the_newest_are_told(tmp_path: Path) -> None:
    script = """
import json, pathlib, sys, time
number = json.loads(sys.stdin.read())["round"]
pathlib.Path(f"begun-{number}").touch()
while number == 1 and not pathlib.Path("go").exists():
    time.sleep(0.02)
"""
    async with running(tmp_path, script) as (hook, _):
        hook.notice("tiny", ENDED)
        await until((tmp_path / "begun-1").exists)
        with capture_logs() as lines:
            for number in range(2, MAX_WAITING + 4):
                word: Pass = "epoch" if number == MAX_WAITING + 3 else "round"
                hook.notice("tiny", RoundEnded(replace(ROUND, round=number), FIRST, word))
        assert [line["event"] for line in lines] == [
            f"the hook is too slow: one {left} is left out" for left in ("round", "epoch")
        ]
        (tmp_path / "go").touch()
        await until((tmp_path / f"begun-{MAX_WAITING + 3}").exists)
    told = [number for number in range(1, MAX_WAITING + 9) if (tmp_path / f"begun-{number}").exists()]
    assert told == [1, *range(4, MAX_WAITING + 4)]


async def test_it_ends_with_its_server(tmp_path: Path) -> None:
    script = "import os, pathlib, time; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(300)"
    async with running(tmp_path, script) as (hook, _):
        hook.notice("tiny", ENDED)
        await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        process = int((tmp_path / "pid").read_text())
        assert _runs(process)
    assert not _runs(process)
    assert process != os.getpid()
