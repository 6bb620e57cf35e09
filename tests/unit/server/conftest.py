"""The processes that services start are forked: the accountant, conversions, looks at data."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _forked(forked_python: None) -> None:
    """For all tests here."""
