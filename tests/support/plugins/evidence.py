"""Keeps evidence of a failed test: logs of its processes, and content and logs of its pages.

A process writes to `log_file(label)`. When a test fails, the part of each log written since the test began is
copied to the test's folder below `.make/failures/`, beside the report itself, which names that path. Fixtures
add more to `failure_folder(item)` during teardown, if `has_failed(item)`.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import io
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FAILURES = ROOT / ".make" / "failures"
LONGEST_NAME = 120

_failed = pytest.StashKey[bool]()


@dataclass
class _Logs:
    """Logs of this process' tests, and the length of each when the current test began."""

    folder: Path | None = None
    lengths: dict[Path, int] = field(default_factory=dict)

    def add(self, label: str) -> Path:
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="minga-test-logs-"))
        path = self.folder / f"{len(self.lengths):03d}-{label}.log"
        path.touch()
        self.lengths[path] = 0
        return path

    def mark(self) -> None:
        for path in self.lengths:
            self.lengths[path] = path.stat().st_size

    def copy_news(self, folder: Path) -> None:
        for path, length in self.lengths.items():
            with path.open("rb") as log:
                log.seek(length)
                if news := log.read():
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / path.name).write_bytes(news)

    def remove(self) -> None:
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder, self.lengths = None, {}


_logs = _Logs()


def log_file(label: str) -> Path:
    """Returns a new, empty log file of one process; `label` names the process in a word or two."""
    return _logs.add(re.sub(r"[^\w.-]+", "-", label))


def failure_folder(item: pytest.Item) -> Path:
    """Returns the folder for evidence of a failure of `item`; it is made with the report."""
    return FAILURES / folder_name(item.nodeid)


def folder_name(nodeid: str) -> str:
    """Returns a test's name as a folder name: readable, unique, short enough for file systems."""
    name = re.sub(r"[^\w.-]+", "-", nodeid.removeprefix("tests/")).strip("-")
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}"


def has_failed(item: pytest.Item) -> bool:
    """Returns whether set-up or body of `item` failed; for fixtures during teardown."""
    return item.stash.get(_failed, False)


def _stacks_of_tasks() -> str:
    """Returns the stacks of waiting asyncio tasks; the thread's stack shows only the loop."""
    stacks = io.StringIO()
    tasks = [one for one in gc.get_objects() if issubclass(type(one), asyncio.Task) and not one.done()]
    for task in tasks:
        task.print_stack(file=stacks)
    return stacks.getvalue()


def _output_of_command(raised: pytest.ExceptionInfo[BaseException] | None) -> str:
    """Returns the output of a failed or late command, which the error's text leaves out."""
    error = raised.value if raised else None
    if not isinstance(error, subprocess.CalledProcessError | subprocess.TimeoutExpired):
        return ""
    streams = (error.stdout, error.stderr)
    return "\n".join(s.decode(errors="replace") if isinstance(s, bytes) else s for s in streams if s)


def _write_report(folder: Path, report: pytest.TestReport) -> None:
    """Writes the error and the test's output; body and teardown have a file each."""
    folder.mkdir(parents=True, exist_ok=True)
    sections = [("Error", report.longreprtext), *report.sections]
    text = "\n".join(f"== {title}\n{content}\n" for title, content in sections)
    (folder / f"{report.when}.txt").write_text(text, "utf-8")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    shutil.rmtree(failure_folder(item), ignore_errors=True)
    item.stash[_failed] = False
    _logs.mark()
    result = yield
    if has_failed(item):
        _logs.copy_news(failure_folder(item))
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if report.failed:
        item.stash[_failed] = True
        kept = failure_folder(item).relative_to(ROOT)
        if "pytest-timeout" in report.longreprtext:
            report.sections.append(("Stacks of tasks that wait", _stacks_of_tasks()))
        if output := _output_of_command(call.excinfo):
            report.sections.append(("Output of the command", output))
        _write_report(failure_folder(item), report)
        report.sections.append(("Logs, screenshots and frames", f"kept in {kept}/"))
    return report  # type: ignore[return-value]


def pytest_sessionfinish() -> None:
    _logs.remove()
