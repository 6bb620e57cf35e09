"""Limits a process to a share of a core, to simulate slower machines on one with few cores."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# The period of a process' running and resting together, seconds.
PERIOD = 0.2


@contextmanager
def throttled(process: subprocess.Popen[str], share: float, offset: float = 0.0) -> Iterator[None]:
    """Lets the process run for its `share` of every period, whose begin is `offset` of a period later.

    Processes with different offsets run in turns.
    """
    ended = threading.Event()

    def throttle() -> None:
        ended.wait(PERIOD * offset)
        while not ended.wait(PERIOD * share):
            process.send_signal(signal.SIGSTOP)
            ended.wait(PERIOD * (1.0 - share))
            process.send_signal(signal.SIGCONT)

    thread = threading.Thread(target=throttle, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
