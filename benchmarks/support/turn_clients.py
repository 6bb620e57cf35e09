"""Clients of several tasks that take part in one round of one task at a time, on command.

Usage: python -m benchmarks.support.turn_clients ADDRESS VALUES VERSIONS FIRST CLIENTS TASK..., started by
benchmarks.robust_rounds. Each task has the clients FIRST to FIRST + CLIENTS - 1, and each client an update of
its own, the same in all tasks. A line with a task's name on standard input starts its next round: its clients
fetch the version and upload. When all have learnt of the next version, a line of JSON says when the last of
them had written its update, and when the first one learnt, by the system's monotonic clock.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from threading import Barrier, Lock, Semaphore
from time import monotonic

import numpy as np

from benchmarks.support.update_clients import Volunteer

# Of a client's update, the deviation of what all have in common, and of its own.
COMMON, OWN = 1e-4, 1e-4


class TurnVolunteer(Volunteer):
    """A client that waits for `turn` before it fetches a version, and notes its times in `clock`."""

    def __init__(
        self, address: tuple[str, int], update: memoryview, versions: int, clock: RoundClock
    ) -> None:
        super().__init__(address, clock.task, update, versions, leads=False)
        self.turn = Semaphore(0)
        self._clock = clock

    def begin_round(self) -> None:
        """Waits for its turn."""
        self.turn.acquire()

    def end_upload(self) -> None:
        """Notes the time."""
        self._clock.uploaded()

    def end_round(self, version: int) -> None:
        """Notes the time, and waits for the task's other clients."""
        del version
        self._clock.announced()


class RoundClock:
    """The times of the open round of one task, noted by its clients in their threads."""

    def __init__(self, task: str, clients: int) -> None:
        self.task = task
        self._lock = Lock()
        self._uploaded = self._announced = 0.0
        self._barrier = Barrier(clients, self._print)

    def uploaded(self) -> None:
        """Notes that one more client has written its update."""
        with self._lock:
            self._uploaded = monotonic()

    def announced(self) -> None:
        """Notes that a client learnt of the next version; returns when all did, and their line is printed."""
        with self._lock:
            self._announced = self._announced or monotonic()
        self._barrier.wait()

    def _print(self) -> None:
        line = {"task": self.task, "uploaded": self._uploaded, "announced": self._announced}
        self._announced = 0.0
        print(json.dumps(line), flush=True)


def update_of(client: int, values: int) -> memoryview:
    """Returns the bytes of a client's update: half of its squared norm is common to all."""
    common, own = (
        np.random.default_rng(seed).standard_normal(values, np.float32) for seed in (0, client + 1)
    )
    return memoryview((COMMON * common + OWN * own).tobytes())


def _end_process(failure: threading.ExceptHookArgs) -> None:
    """Ends the process when one of its clients fails: the others would wait for it."""
    print(f"A client failed: {failure.exc_value!r}", file=sys.stderr, flush=True)
    os._exit(1)


def main() -> None:
    threading.excepthook = _end_process
    host, _, port = sys.argv[1].rpartition(":")
    values, versions, first, clients = map(int, sys.argv[2:6])
    updates = [update_of(client, values) for client in range(first, first + clients)]
    address, teams = (host, int(port)), dict[str, list[TurnVolunteer]]()
    for task in sys.argv[6:]:
        clock = RoundClock(task, clients)
        teams[task] = [TurnVolunteer(address, update, versions, clock) for update in updates]
    for volunteer in (each for team in teams.values() for each in team):
        volunteer.start()
    for line in sys.stdin:
        for volunteer in teams[line.strip()]:
            volunteer.turn.release()


if __name__ == "__main__":
    main()
