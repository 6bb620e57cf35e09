"""The keepalive of one link: sends beats, detects silence, measures round-trip time and rate.

Times are seconds of any steady clock.
"""

from __future__ import annotations

from collections.abc import Iterator

from backend.wire.peer_messages import Beat, Weights

# Each end of a new link measures it once by so many bytes: chunks of weights that nobody asked for.
PROBE_BYTES = 128 * 1024
PROBE_WEIGHTS = "0" * 64
# An answer that comes sooner is not told from jitter.
_MIN_PROBE_SECONDS = 1e-3
_MAX_PROBES = 3

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
        self._probes = 0
        # When the beat behind a probe was sent, until its echo comes.
        self._probe_at: float | None = None

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
        if beat.echo == self._probe_at:
            self._probe_at = None
            if not self.rate and 0.0 <= seconds < 3600.0:
                self.rate = PROBE_BYTES / max(seconds - self.seconds, _MIN_PROBE_SECONDS)
            return
        if self._probe_at is not None and beat.echo > self._probe_at:
            self._probe_at = None
        if 0.0 <= seconds < 3600.0:
            self.seconds = _smoothed(self.seconds, max(seconds, 1e-6))

    def is_due(self, now: float, every: float) -> bool:
        """Whether the next beat is due."""
        return now - self._beat_at >= every

    def beat(self, now: float) -> Beat:
        """Returns the beat to send now."""
        self._beat_at = now
        return Beat(sent=now, echo=self._their_sent, since=now - self._their_sent_at)

    def wants_probe(self) -> bool:
        """Whether to measure the rate: the round-trip time is known, no transfer measured it, nor a probe."""
        return not self.rate and self.seconds > 0 and self._probe_at is None and self._probes < _MAX_PROBES

    def probe(self, now: float) -> Beat:
        """Returns the beat to send behind `probe_chunks`, in order; its echo gives the rate."""
        self._probes += 1
        self._probe_at = now
        return self.beat(now)

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


def probe_chunks(room: int) -> Iterator[Weights]:
    """Returns the frames of a probe, with at most `room` bytes of data each."""
    for offset in range(0, PROBE_BYTES, room):
        data = memoryview(bytes(min(room, PROBE_BYTES - offset)))
        yield Weights(weights=PROBE_WEIGHTS, size=0, offset=offset, data=data)


def _smoothed(before: float, new: float) -> float:
    return before + _NEW_SHARE * (new - before) if before else new
