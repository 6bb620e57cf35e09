"""The keepalive of one link: sends beats, detects silence, measures round-trip time and rate.

Times are seconds of any steady clock.
"""

from __future__ import annotations

from backend.wire.peer_messages import Beat

# Weight of a new measurement in the smoothed value.
_NEW_SHARE = 0.25
# Minimum for a rate: smaller amounts fit into the system's buffers and measure nothing.
_MIN_RATE_BYTES = 256 * 1024
_MIN_RATE_SECONDS = 0.05


class Keepalive:
    """The keepalive of a link that was opened at `now`."""

    def __init__(self, now: float) -> None:
        # Round-trip seconds, and bytes per second; 0 before the first measurement.
        self.seconds = 0.0
        self.rate = 0.0
        self.heard_at = now
        self._beat_at = now
        self._their_sent = 0.0
        self._their_sent_at = now
        self._busy_since: float | None = None
        self._busy_bytes = 0

    def heard(self, now: float) -> None:
        """Takes that a frame arrived."""
        self.heard_at = now

    def beat_heard(self, beat: Beat, now: float) -> None:
        """Takes a beat; its echo gives the round-trip time of the last beat sent."""
        self.heard(now)
        self._their_sent, self._their_sent_at = beat.sent, now
        if not beat.echo:
            return
        seconds = now - beat.echo - beat.since
        if 0.0 <= seconds < 3600.0:
            self.seconds = _smoothed(self.seconds, max(seconds, 1e-6))

    def is_due(self, now: float, every: float) -> bool:
        """Whether the next beat is due."""
        return now - self._beat_at >= every

    def beat(self, now: float) -> Beat:
        """Returns the beat to send now."""
        self._beat_at = now
        return Beat(sent=now, echo=self._their_sent, since=now - self._their_sent_at)

    def silence(self, now: float) -> float:
        """Returns the seconds since the last frame arrived."""
        return now - self.heard_at

    def sent(self, size: int, waiting: int, now: float) -> None:
        """Takes that the link accepted `size` bytes and `waiting` remain; only a busy link has a rate."""
        if self._busy_since is None:
            # The start of this busy time is unknown, so it is measured from now on.
            self._busy_since, self._busy_bytes = now, 0
        else:
            self._busy_bytes += size
        seconds = now - self._busy_since
        if self._busy_bytes >= _MIN_RATE_BYTES and seconds >= _MIN_RATE_SECONDS:
            self.rate = _smoothed(self.rate, self._busy_bytes / seconds)
            self._busy_since, self._busy_bytes = now, 0
        if not waiting:
            self._busy_since = None


def _smoothed(before: float, new: float) -> float:
    return before + _NEW_SHARE * (new - before) if before else new
