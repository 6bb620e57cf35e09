"""Runs `minga` and records which files of the backend it runs through between two signals.

`python -m scripts.roads.traced_server serve ...`: SIGUSR1 begins the recording, SIGUSR2 ends it and prints it
as one line of JSON. SIGUSR1 is answered by a line, too, so that its sender knows when it holds.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
BACKEND = f"{ROOT / 'backend'}/"
# By this function of a module `observer`, dashboards, logs and metrics hear of events; no flow needs them.
NOTICE = ("notice", "observer.py")
# Where the constructors of data classes come from.
GENERATED = "<string>"


class Recording:
    """Which files' functions were called, in all threads, while it is on."""

    def __init__(self) -> None:
        self.is_on = False
        self._codes: set[CodeType] = set()
        self._modules: set[str] = set()

    def heard(self, frame: FrameType, event: str, _argument: Any) -> None:
        """See sys.setprofile."""
        if not self.is_on or event != "call":
            return
        code = frame.f_code
        if not code.co_filename.startswith((BACKEND, GENERATED)) or _is_onlooker(frame):
            return
        if code.co_filename == GENERATED:
            # A constructor of a data class, which counts for the file of its class.
            self._modules.add(type(frame.f_locals.get("self")).__module__)
        else:
            self._codes.add(code)

    def begin(self, *_: object) -> None:
        """Forgets what was recorded, and records from now on."""
        self._codes.clear()
        self._modules.clear()
        self.is_on = True
        print("recording", flush=True)

    def end(self, *_: object) -> None:
        """Prints the files, as paths below the repository."""
        self.is_on = False
        names = {code.co_filename for code in self._codes}
        names |= {getattr(sys.modules.get(name), "__file__", None) or "" for name in self._modules}
        files = sorted(name for name in names if name.startswith(BACKEND))
        print(json.dumps([str(Path(name).relative_to(ROOT)) for name in files]), flush=True)


def _is_onlooker(frame: FrameType) -> bool:
    """Whether a function runs because an observer was told something."""
    above: FrameType | None = frame.f_back
    while above is not None:
        code = above.f_code
        if (code.co_name, Path(code.co_filename).name) == NOTICE:
            return True
        above = above.f_back
    return False


def run(words: Sequence[str]) -> int:
    """Runs `minga` with `words` under the recording."""
    recording = Recording()
    signal.signal(signal.SIGUSR1, recording.begin)
    signal.signal(signal.SIGUSR2, recording.end)
    threading.setprofile(recording.heard)
    sys.setprofile(recording.heard)
    from backend.__main__ import main

    return main(words)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
