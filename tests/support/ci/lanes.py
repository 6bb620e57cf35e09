"""Runs a lane of the tests and summarizes it.

Usage: `python -m tests.support.ci.lanes short [ARGUMENTS]`. The lanes are defined in `lane_steps`; the
arguments are for pytest. Steps run in parallel as far as cores are free. Their output is shown with the
step's name in front, and stored in `.make/lane/STEP.log`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Condition, Thread

from tests.support.ci import lane_steps, lane_summary
from tests.support.ci.lane_steps import CORES, ROOT, RUN, Step
from tests.support.plugins import evidence

NO_TESTS = 5


@dataclass(frozen=True)
class Ending:
    """The end of a step: its exit code (None if it never began), its seconds and processor seconds."""

    step: Step
    code: int | None
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Returns whether nothing failed; a pytest run that selects no test has its own exit code."""
        return self.code == 0 or (self.step.is_python_test and self.code == NO_TESTS)


class Lane:
    """Runs steps on `CORES` cores, each after the steps it needs."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._waiting = list(steps)
        self._running: list[Step] = []
        self._ended: dict[str, Ending] = {}
        self._changed = Condition()

    def run(self) -> list[Ending]:
        """Runs all steps; returns their endings in order."""
        with self._changed:
            while self._waiting or self._running:
                for step in [step for step in self._waiting if self._may_begin(step)]:
                    self._begin(step)
                self._changed.wait()
        return list(self._ended.values())

    def _may_begin(self, step: Step) -> bool:
        free = CORES - sum(running.cores for running in self._running)
        names = {other.name for other in [*self._waiting, *self._running]}
        return free >= min(step.cores, CORES) and not names & set(step.after) - {step.name}

    def _begin(self, step: Step) -> None:
        if not self._may_begin(step):
            return
        self._waiting.remove(step)
        self._running.append(step)
        Thread(target=self._run, args=[step]).start()

    def _run(self, step: Step) -> None:
        needed = [self._ended[name] for name in step.after if name in self._ended]
        ending = _run_step(step) if all(end.passed for end in needed) else Ending(step, None)
        with self._changed:
            self._running.remove(step)
            self._ended[step.name] = ending
            self._changed.notify()


def _run_step(step: Step) -> Ending:
    begun, cpu_seconds, code = time.monotonic(), 0.0, 0
    print(f"== {step.name}", flush=True)
    with (ROOT / RUN / f"{step.name}.log").open("w", encoding="utf-8") as log:
        for command in step.commands:
            pipe = subprocess.PIPE
            with subprocess.Popen(
                command, cwd=ROOT, stdout=pipe, stderr=subprocess.STDOUT, text=True
            ) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    log.write(line)
                    print(f"{step.name:10} | {line}", end="", flush=True)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = code = os.waitstatus_to_exitcode(status)
            cpu_seconds += usage.ru_utime + usage.ru_stime
            if code:
                break
    return Ending(step, code, time.monotonic() - begun, cpu_seconds)


def main(words: Sequence[str]) -> int:
    """Runs the lane that `words` names; returns 0 if all of it passed."""
    name, arguments = words[0], tuple(words[1:])
    steps = lane_steps.LANES[name](arguments)
    for folder in (ROOT / RUN, evidence.FAILURES):
        shutil.rmtree(folder, ignore_errors=True)
    (ROOT / RUN).mkdir(parents=True)
    begun = time.monotonic()
    endings = Lane(steps).run()
    print(lane_summary.summary(name, endings, time.monotonic() - begun), flush=True)
    return int(not all(ending.passed for ending in endings))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
