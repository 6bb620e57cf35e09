"""Fork conversions from a process that has imported TensorFlow: limits and sandbox are the real ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

import pytest

from backend.services import limited
from tests.support.processes import Preload, Process, prepare


@pytest.fixture
def forked_conversions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has `run_limited` fork what it runs; everything after the start is as always."""
    prepare(Preload.CONVERTER)

    def start(work: limited.Work, said: IO[bytes], log: IO[bytes]) -> Process:
        return Process(
            Preload.CONVERTER,
            work.module,
            *work.arguments,
            log=Path(log.name),
            output=Path(said.name),
            environment=limited.environment(work.folder, work.root, os.environ),
            folder=work.folder,
        )

    monkeypatch.setattr(limited, "start", start)
