"""Fixtures that several parts of the tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import second_try
from tests.browser.references import references as made_references

# The same examples every time, however long a busy machine takes for one. `make explore` and `make fuzz` look
# for new ones.
settings.register_profile(
    "minga", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("minga")


@pytest.fixture(scope="session")
def references() -> Path:
    """Folder with a bundle and Keras' own results for each case of tests/conformance/zoo."""
    return made_references()


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(second_try)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kills", default=16, type=int, help="how often tests/crash kills its servers")
