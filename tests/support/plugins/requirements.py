"""Skips tests whose needs `MINGA_TEST_WITHOUT` names, and reports that at the end of the run.

A test declares its needs by the marker `requires("networks")` (`browser` means `requires("chromium")`), or by
calling `require` in its helpers. The names are those of `tests.support.environment.preflight.OPTIONAL`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.environment.preflight import DATA, OPTIONAL, REAL_DATA, data_folder, find_program, left_out


def require(*names: str) -> None:
    """Skips the running test if MINGA_TEST_WITHOUT names one of these needs."""
    for name in names:
        if name not in OPTIONAL:
            raise ValueError(f"{name} is none of {', '.join(OPTIONAL)}")
        if name in left_out():
            pytest.skip(f"without {name}, as MINGA_TEST_WITHOUT asks")


def program(name: str, need: str) -> str:
    """Returns the path of a need's program; the test fails where it is not installed."""
    require(need)
    path = find_program(name)
    if path is None:
        pytest.fail(f"{name} is not installed; `make setup` installs it, WITHOUT={need} leaves its tests out")
    return path


def real_data(name: str) -> Path:
    """Returns a file of the folder MINGA_DATA; skips the test where it is missing.

    The end of the run reports the skipped tests.
    """
    assert name in REAL_DATA, "what tests need is told before the first one"
    path = data_folder() / name
    if not path.is_file():
        pytest.skip(f"{name} is missing; set {DATA} to the folder with the real data")
    return path


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "requires(*needs): what MINGA_TEST_WITHOUT may name, like networks")
    try:
        left_out()
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.requires("chromium"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips the test before fixtures start missing programs."""
    for marker in item.iter_markers("requires"):
        require(*marker.args)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Reports how many tests were skipped for which reason."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    if reasons:
        terminalreporter.section("left out", yellow=True, bold=True)
        for reason, count in reasons.most_common():
            terminalreporter.write_line(f"{count} test{'s' * (count > 1)}: {reason}")
