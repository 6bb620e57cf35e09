"""Summarizes a lane on one screen: its steps, its suites, the failures and their evidence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.support.ci.lane_steps import ROOT, RUN
from tests.support.ci.outcome_records import Record, read_records
from tests.support.plugins.evidence import FAILURES, folder_name

if TYPE_CHECKING:
    from tests.support.ci.lanes import Ending

WIDTH = 110
MOST_LISTED = 8


def summary(lane: str, endings: Sequence[Ending], seconds: float) -> str:
    """Returns lines for a terminal; the last ones name the failed steps and count Python's tests."""
    records = read_records(sorted((ROOT / RUN).glob("*.jsonl")))
    failed = [record for record in records if record.outcome == "failed"]
    passed = sum(record.outcome == "passed" for record in records)
    lines = [f"\n== The lane {lane} took {seconds:.0f} s", *_steps(endings), *_suites(records)]
    lines += _tried_again([record for record in records if record.outcome == "rerun"])
    lines += _left_out([record for record in records if record.outcome == "skipped"])
    lines += _failures(failed)
    lines += _failed_steps(endings)
    lines += [f"{passed} passed, {len(failed)} failed"] if records else []
    return "\n".join(lines)


def _steps(endings: Sequence[Ending]) -> list[str]:
    words = []
    for ending in endings:
        state = "ok" if ending.passed else "not run" if ending.code is None else "FAILED"
        words.append(
            f"  {ending.step.name:12} {state:8} {ending.seconds:6.0f} s {ending.cpu_seconds:6.0f} CPU s"
        )
    return words


def _failed_steps(endings: Sequence[Ending]) -> list[str]:
    """Returns a line for each failed step, because the table of steps has left the screen by then."""
    names = [ending.step.name for ending in endings if ending.code and not ending.passed]
    return [f"  the step {name} failed: see {RUN / name}.log" for name in names]


def _suites(records: Sequence[Record]) -> list[str]:
    """Returns tests and seconds of each suite, two suites per line to save space."""
    seconds: dict[str, float] = defaultdict(float)
    for record in records:
        seconds[record.suite] += record.seconds
    counts = Counter(record.suite for record in records if record.outcome != "rerun")
    cells = [f"{suite:28} {counts[suite]:5} {seconds[suite]:6.0f} s" for suite in sorted(seconds)]
    return [f"  {'   '.join(cells[n : n + 2])}" for n in range(0, len(cells), 2)]


def _tried_again(records: Sequence[Record]) -> list[str]:
    if not records:
        return []
    lines = [f"  {record.test}: {record.reason}"[:WIDTH] for record in records[:MOST_LISTED]]
    return ["Needed a second try, each a fault to be found:", *lines]


def _left_out(skipped: Sequence[Record]) -> list[str]:
    reasons = Counter(record.reason for record in skipped).most_common(MOST_LISTED)
    return ["Left out:", *(f"  {count} {reason}"[:WIDTH] for reason, count in reasons)] if skipped else []


def _failures(failed: Sequence[Record]) -> list[str]:
    lines = []
    for record in failed[:MOST_LISTED]:
        lines += [f"  FAILED {record.test}"[:WIDTH], f"         {record.reason}"[:WIDTH]]
        folder = FAILURES / folder_name(record.test)
        if folder.is_dir():
            lines.append(f"         see {folder.relative_to(ROOT)}/")
    if len(failed) > MOST_LISTED:
        lines.append(f"  and {len(failed) - MOST_LISTED} more")
    if failed:
        lines.append('  once more, only these: make test ARGS="--last-failed"')
    return lines
