"""How long a task still takes at the pace of its newest rounds."""

from __future__ import annotations

from collections.abc import Sequence

from backend.stores.contracts import RoundRecord

# The rounds that the pace is taken from; fewer than two have none.
ROUNDS = 10
# A training that made no version for this many times its usual seconds has no pace.
STALLED = 5


def seconds_to_finish(rounds: Sequence[RoundRecord], left: int, now: float) -> float | None:
    """Returns the seconds until `left` more versions are made; None if nothing can be said.

    `rounds` are the newest ones, oldest first, and `now` is in Unix seconds. Waiting for participants and
    abandoned rounds are part of the pace. Stop rules may end the task earlier.
    """
    versions = [record.ended for record in rounds if record.outcome == "version"]
    if left < 1 or len(versions) < 2:
        return None
    each = (versions[-1] - versions[0]) / (len(versions) - 1)
    since = now - versions[-1]
    if each <= 0 or since > STALLED * each:
        return None
    return max(0.0, each * left - since)
