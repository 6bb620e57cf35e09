"""The timeouts of tests."""

from __future__ import annotations

import time
from collections.abc import Callable

# Seconds. Far more than any step takes on a slow, busy machine: a passing test waits for the event, never for
# this. It is below the limit of a hanging test, so that the failed wait is what the test reports.
PATIENCE = 100.0
# Seconds, for a test of the short lane that computes for long, or whose module's fixtures do: on a slow, busy
# machine it takes minutes without hanging.
HEAVY = 360.0
# For tests that are long by nature: several clients that train many rounds.
LONG = 900.0


def eventually(look: Callable[[], bool], what: str) -> None:
    """Waits until `look` is true; fails with the message `what` if it never is."""
    deadline = time.monotonic() + PATIENCE
    while not look():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)
