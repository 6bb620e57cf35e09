"""Records each test's outcome for the summary of a lane.

Used by `pytest -p tests.support.ci.outcome_records --record FILE`. FILE is JSON lines, a `Record` each; a
test that was retried has one record per try.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec
import pytest

Outcome = Literal["passed", "failed", "skipped", "rerun"]


class Record(msgspec.Struct, frozen=True):
    """One try of a test: its outcome, its seconds with fixtures, and the reason of a failure or skip."""

    test: str
    outcome: Outcome
    seconds: float
    reason: str = ""

    @property
    def suite(self) -> str:
        """Returns the test's folder in the summary, such as integration/peer."""
        folders = self.test.partition("::")[0].removeprefix("tests/").split("/")[:-1]
        return "/".join(folders[:2])


def read_records(files: Iterable[Path]) -> list[Record]:
    """Reads the records of those `files` that exist."""
    return [
        msgspec.json.decode(line, type=Record)
        for file in files
        if file.is_file()
        for line in file.read_bytes().splitlines()
    ]


def encode(record: Record) -> bytes:
    """Returns one line."""
    return msgspec.json.encode(record) + b"\n"


class Recorder:
    """Collects the reports of set-up, body and teardown of each try, and writes a record at its end."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._reports: dict[str, list[pytest.TestReport]] = {}
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collects a report; runs in the process that receives the results of all workers."""
        reports = self._reports.setdefault(report.nodeid, [])
        reports.append(report)
        if report.when == "teardown":
            del self._reports[report.nodeid]
            with self._file.open("ab") as file:
                file.write(encode(_record(reports)))


def _record(reports: list[pytest.TestReport]) -> Record:
    outcomes = {str(report.outcome) for report in reports}
    worst: Outcome = "passed"
    for outcome in ("skipped", "failed", "rerun"):
        if outcome in outcomes:
            worst = outcome
    lines = [line for report in reports if not report.passed for line in _reason(report)]
    seconds = round(sum(report.duration for report in reports), 3)
    return Record(reports[0].nodeid, worst, seconds, lines[0] if lines else "")


def _reason(report: pytest.TestReport) -> list[str]:
    """Returns the reason of a failure or skip, in one line."""
    if isinstance(report.longrepr, tuple):
        return [str(report.longrepr[2]).removeprefix("Skipped: ")]
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else report.longreprtext
    return text.splitlines()[:1] or [""]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", type=Path, metavar="FILE", help="write down how each test ended")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("record")
    if file is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(file))
