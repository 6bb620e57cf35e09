"""Signs of life on one link: when to beat, who is silent, how long a frame takes there and back.

Time is that of any steady clock, in seconds.
"""

from __future__ import annotations

from backend.wire.peer_messages import Beat

# Of each new measurement in what is told.
_NEW_SHARE = 0.25
# The least bytes that a rate is told from: what the system's buffers swallow at once says nothing.
_TELLING_BYTES = 256 * 1024
_TELLING_SECONDS = 0.05


class Keepalive:
    """One link's, from the moment `now` at which it came about."""

    def __init__(self, now: float) -> None:
        # Seconds there and back; 0 as long as nothing is known. Bytes a second; 0 likewise.
        self.seconds = 0.0
        self.rate = 0.0
        self.heard_at = now
        self._beat_at = now
        self._their_sent = 0.0
        self._their_sent_at = now
        self._busy_since: float | None = None
        self._busy_bytes = 0

    def heard(self, now: float) -> None:
        """Something came."""
        self.heard_at = now

    def beat_heard(self, beat: Beat, now: float) -> None:
        """A beat came: its echo tells how long the last one took."""
        self.heard(now)
        self._their_sent, self._their_sent_at = beat.sent, now
        if not beat.echo:
            return
        seconds = now - beat.echo - beat.since
        if 0.0 <= seconds < 3600.0:
            self.seconds = _smoothed(self.seconds, max(seconds, 1e-6))

    def is_due(self, now: float, every: float) -> bool:
        """Whether the other should hear a beat."""
        return now - self._beat_at >= every

    def beat(self, now: float) -> Beat:
        """The beat to send now."""
        self._beat_at = now
        return Beat(sent=now, echo=self._their_sent, since=now - self._their_sent_at)

    def silence(self, now: float) -> float:
        """For how many seconds nothing came."""
        return now - self.heard_at

    def sent(self, size: int, waiting: int, now: float) -> None:
        """The link took `size` bytes, and `waiting` are left: a rate is that of a link that has work."""
        if self._busy_since is None:
            # When the work began is not known; from here on it is.
            self._busy_since, self._busy_bytes = now, 0
        else:
            self._busy_bytes += size
        seconds = now - self._busy_since
        if self._busy_bytes >= _TELLING_BYTES and seconds >= _TELLING_SECONDS:
            self.rate = _smoothed(self.rate, self._busy_bytes / seconds)
            self._busy_since, self._busy_bytes = now, 0
        if not waiting:
            self._busy_since = None


def _smoothed(before: float, new: float) -> float:
    return before + _NEW_SHARE * (new - before) if before else new
