"""How long tests wait for what must come before they give up."""

from __future__ import annotations

import time
from collections.abc import Callable

# Seconds. Far more than anything takes on a slow machine that does other things as well: a test that passes
# waits for the event, never for this. Below the limit of a test that hangs, so that a wait in vain is what it
# reports.
PATIENCE = 100.0
# Seconds, for a test of the short lane that works for long by itself, or whose module's fixtures do: on a
# slow machine that does other things as well it takes minutes without hanging.
HEAVY = 360.0
# For what is long by itself: several clients that train many rounds.
LONG = 900.0


def eventually(look: Callable[[], bool], what: str) -> None:
    """Waits until `look` is true; `what` is wrong where it never is."""
    deadline = time.monotonic() + PATIENCE
    while not look():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)
