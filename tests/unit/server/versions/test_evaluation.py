"""The evaluator's owner, with programs of the same protocol in its place: real processes, real pipes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from backend.server.versions import evaluation
from backend.server.versions.evaluation import EvaluatorProcess
from backend.stores.contracts import EvaluationRecord
from tests.support.timeouts import PATIENCE

READ = "import json, os, sys\nsetup = json.loads(sys.stdin.readline())\n"
GOOD = """
for line in sys.stdin:
    asked = json.loads(line)
    size = os.path.getsize(asked['weights'])
    answer = {'version': asked['version'], 'loss': float(size), 'metrics': {'pid': float(os.getpid())}}
    print(json.dumps(answer), flush=True)
"""
DIES_ONCE = """
mark = setup['bundle'] + '/died'
if not os.path.exists(mark):
    open(mark, 'w').close()
    sys.exit('I died.')
"""


def use(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Lets the evaluator start `program` instead of the TensorFlow one."""
    start = asyncio.create_subprocess_exec

    async def other(*_command: str, stdin: int, stdout: int, stderr: int) -> asyncio.subprocess.Process:
        return await start(sys.executable, "-c", READ + program, stdin=stdin, stdout=stdout, stderr=stderr)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", other)
    monkeypatch.setattr(evaluation, "FIRST_PAUSE", 0.01)


async def evaluate(folder: Path, sizes: Sequence[int], wanted: int) -> list[EvaluationRecord]:
    """Submits a version for each size, and waits for so many answers."""
    found: list[EvaluationRecord] = []
    enough = asyncio.Event()

    async def report(one: EvaluationRecord) -> None:
        found.append(one)
        if len(found) == wanted:
            enough.set()

    evaluator = EvaluatorProcess(folder, [], report, "digits")
    running = asyncio.create_task(evaluator.run())
    for version, size in enumerate(sizes):
        (folder / str(version)).write_bytes(bytes(size))
        evaluator.submit(version, folder / str(version))
    try:
        async with asyncio.timeout(PATIENCE):
            await enough.wait()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return found


async def test_versions_are_evaluated_in_order_by_one_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(monkeypatch, GOOD)
    found = await evaluate(tmp_path, [4, 8, 12], wanted=3)
    assert [(one.version, one.loss) for one in found] == [(0, 4.0), (1, 8.0), (2, 12.0)]
    assert len({one.metrics["pid"] for one in found}) == 1


async def test_a_process_that_dies_is_started_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, DIES_ONCE + GOOD)
    assert [one.version for one in await evaluate(tmp_path, [4, 8], wanted=2)] == [0, 1]


@pytest.mark.parametrize(
    "answer",
    [
        "nonsense",
        "[]",
        '{"version": 0}',
        '{"version": 0, "loss": NaN, "metrics": {}}',
        '{"version": 9, "loss": 1, "metrics": {}}',
        '{"version": 0, "error": "It does not fit."}',
    ],
)
async def test_a_version_that_cannot_be_evaluated_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: str
) -> None:
    bad = f"""
line = sys.stdin.readline()
if json.loads(line)['version'] == 0:
    print({answer!r}, flush=True)
    sys.stdin.read()
else:
    asked = json.loads(line)
    print(json.dumps({{'version': asked['version'], 'loss': 1.0, 'metrics': {{}}}}), flush=True)
"""
    use(monkeypatch, bad)
    assert [one.version for one in await evaluate(tmp_path, [4, 8], wanted=1)] == [1]
