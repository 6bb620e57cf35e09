"""Retries a test once if it carries `@pytest.mark.second_try(reason="...")`; others have one try.

The mark is for a single test whose failure lies outside this repository and is understood; the reason
explains it. The end of the run names each test that needed its second try, with the failure of the first.
"""

from __future__ import annotations

import pytest

MARK = "second_try"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}(reason): once more if it fails, for the reason given")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        marker = item.get_closest_marker(MARK)
        if marker is None:
            continue
        if not marker.kwargs.get("reason") or marker not in item.own_markers:
            raise pytest.UsageError(f"{item.nodeid}: {MARK} is for single tests, and needs a reason")
        if config.pluginmanager.hasplugin("rerunfailures"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Renews a module's fixtures for a second try, since the first may have changed their state."""
    if getattr(item, "execution_count", 1) == 1 or not isinstance(item, pytest.Function):
        return
    for name, definitions in item._fixtureinfo.name2fixturedefs.items():
        # asyncio's loops, whose names begin with an underscore, stay: other fixtures live in them.
        if definitions[-1].scope == "module" and not name.startswith("_"):
            definitions[-1].finish(item._request)  # type: ignore[arg-type]  # It only asks it for the test.


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    failed = terminalreporter.stats.get("rerun", [])
    if not failed:
        return
    terminalreporter.section("needed a second try", red=True, bold=True)
    terminalreporter.write_line("Each of these is a fault to be found. This is how the first try failed:")
    for report in failed:
        terminalreporter.section(f"{report.nodeid} ({report.when})", "-", yellow=True)
        terminalreporter.write_line(report.longreprtext)
