"""Fixtures that several parts of the tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.references import references as made_references


@pytest.fixture(scope="session")
def references() -> Path:
    """Folder with a bundle and Keras' own results for each case of tests/conformance/zoo."""
    return made_references()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kills", default=16, type=int, help="how often tests/crash kills its servers")
