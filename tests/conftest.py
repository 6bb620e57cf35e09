"""Fixtures that several parts of the tests share."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.support.keras.reference_cache import SHORT
from tests.support.keras.reference_cache import references as made_references
from tests.support.plugins import evidence, page_evidence, requirements, second_try, shared_browser
from tests.support.programs import fork_server_pool
from tests.support.timeouts import LONG

# The same examples every time, however long a busy machine takes for one. `make explore` and `make fuzz` look
# for new ones.
settings.register_profile(
    "minga", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("minga")
# Hypothesis also draws constants from the sources of what is imported, which depends on the tests before.
providers._get_local_constants = Constants


@pytest.fixture(scope="session")
def references(request: pytest.FixtureRequest) -> Path:
    """Folder with a bundle and Keras' own results for each case of the zoo that the run needs."""
    long = any(item.get_closest_marker("long") for item in request.session.items)
    return made_references() if long else made_references(*SHORT)


@pytest.fixture
def forked_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has processes that this one starts with the interpreter forked, as those of servers are."""
    monkeypatch.setattr(sys, "executable", fork_server_pool.executable())


def pytest_configure(config: pytest.Config) -> None:
    fork_server_pool.folder()
    for plugin in (second_try, evidence, page_evidence, requirements, shared_browser):
        config.pluginmanager.register(plugin)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes part in the long lane may take longer than what hangs elsewhere."""
    for item in items:
        limit = item.get_closest_marker("timeout")
        if item.get_closest_marker("long") and (limit is None or limit.args[0] < LONG):
            item.add_marker(pytest.mark.timeout(LONG), append=False)


def pytest_collection_finish() -> None:
    """Freezes imported objects: with Keras, each full collection would scan them for 0.2 s."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kills", default=16, type=int, help="how often tests/integration/crash kills its servers"
    )
