"""A second try, told plainly, for tests that drive browsers, networks or several processes; others have one.

Such tests share processors, timers and sockets with whatever else the machine does. One that needed its
second try is still a fault to be found: the end of the run says which ones did, and how they failed.
"""

from __future__ import annotations

from pathlib import Path, PurePath

import pytest

HERE = Path(__file__).parent
# Folders below tests/ whose tests drive browsers, peers on real links, servers, or several processes at once.
DRIVEN = ("browser", "pages", "mesh", "peer", "web", "stores", "commands", "demo", "crash", "benchmarks")


def is_driven(folder: PurePath) -> bool:
    """Whether tests in this folder, named from tests/, may be tried twice."""
    return any(folder.is_relative_to(driven) for driven in DRIVEN)


def _may_try_twice(item: pytest.Item) -> bool:
    within = item.path.parent.relative_to(HERE) if item.path.is_relative_to(HERE) else PurePath()
    return is_driven(within) or item.get_closest_marker("browser") is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.pluginmanager.hasplugin("rerunfailures"):
        return
    for item in filter(_may_try_twice, items):
        item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Makes a module's fixtures anew for a second try: the first one may have changed what they hold."""
    if getattr(item, "execution_count", 1) == 1 or not isinstance(item, pytest.Function):
        return
    for name, definitions in item._fixtureinfo.name2fixturedefs.items():
        # Loops of asyncio, whose names begin so, stay: other fixtures live in them.
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
