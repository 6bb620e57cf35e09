"""Tasks that tests build."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from backend.commands.build import build_task
from tests.support import fork_servers


def built(folder: Path) -> Path:
    """Builds the task by processes that have imported Keras already; returns `folder`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", fork_servers.executable())
        build_task(folder)
    return folder
