"""Runs the command `minga`; reports in JSON also have each step of a training, and the time.

Usage: python -m benchmarks.fleet.stepping_peer peer join URL --json ...

Where its home has a file `standby`, it loads TensorFlow and waits until the file is deleted.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path

from backend.__main__ import main
from backend.peer.session import progress
from backend.peer.session.progress import Value

STANDBY = "standby"


class _Steps(progress.JsonLines):
    """Writes events with their time `at` in Unix seconds, and an event `step` for each step."""

    def tell(self, event: str, sentence: str, **values: Value) -> None:
        super().tell(event, sentence, at=time.time(), **values)

    def step(self, of: str, step: int, steps: int, loss: float) -> None:
        del of, steps, loss
        print(json.dumps({"event": "step", "at": time.time(), "step": step}), file=self._stream, flush=True)


def _stand_by(file: Path) -> None:
    if file.exists():
        importlib.import_module("tensorflow")
    while file.exists():
        time.sleep(0.02)


if __name__ == "__main__":
    progress.JsonLines = _Steps  # type: ignore[misc]  # Where the command finds it.
    _stand_by(Path.home() / STANDBY)
    sys.exit(main(sys.argv[1:]))
