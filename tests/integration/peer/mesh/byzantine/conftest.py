"""Fixtures of Byzantine meshes of real peers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.peer.byzantine_company import ByzantineCompany


@pytest.fixture
def company(digits: Path, tmp_path: Path) -> Iterator[ByzantineCompany]:
    with ExitStack() as stack:
        yield ByzantineCompany(stack, tmp_path, digits)
