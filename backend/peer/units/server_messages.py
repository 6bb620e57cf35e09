"""Reports the work-unit server's messages as sentences for the person who started the peer."""

from __future__ import annotations

from backend.peer.session.progress import Teller
from backend.wire.unit_messages import (
    Board,
    Counted,
    Drop,
    Enlisted,
    Idle,
    Rejected,
    Release,
    ServerToUnits,
    Standing,
    Taken,
    Unit,
)

_IDLE = {
    "nothing": "the remaining units of this epoch are with others, or wait for another client's result",
    "quota": "this peer reached the daily limit of units",
    "reliable": "the last units of an epoch go to the fastest clients first",
    "bound": "this peer is further ahead of the slowest than the task allows",
    "released": "this peer gave work back, and waits longer each time until one of its results counts",
    "over": "the task is over",
    "paused": "the owner has paused the task",
}

MAX_COUNTED = 64


class UnitNews:
    """Reports what is news to a person, each thing once."""

    def __init__(self, reporter: Teller) -> None:
        self._reporter = reporter
        # The unit of each lease whose result is not decided yet.
        self._units: dict[int, int] = {}
        # The unit of each of the newest leases whose result counts: it may be overwritten in the model.
        self._counted: dict[int, int] = {}
        self._epoch = 0
        self._measured = 0
        self._trusted: bool | None = None

    def report(self, frame: ServerToUnits) -> None:
        """Reports a frame of the server."""
        tell = self._reporter.tell
        match frame:
            case Enlisted(client=client):
                tell("connected", f"Connected as {client}.", client=client)
            case Unit(lease=lease, unit=unit):
                self._units[lease] = unit
            case Drop(lease=lease, reason=reason):
                tell("dropped", f"{self._dropped(lease)} {reason}", lease=lease)
            case Taken(lease=lease, waits=waits):
                then = "it is compared with others' before it counts" if waits else "it is there"
                sentence = f"{self._name(lease)}: the result was sent; {then}."
                tell("taken", sentence, lease=lease, waits=waits)
            case Counted(lease=lease, examples=examples, blended=blended):
                outcome = "and is in the model" if blended else "and agrees with the one in the model"
                self._count(lease)
                sentence = f"{self._end(lease)}: your result counts, with {examples} examples, {outcome}."
                tell("counted", sentence, lease=lease, examples=examples, blended=blended)
            case Rejected(lease=lease, code=code, reason=reason):
                sentence = f"{self._end(lease)}: your result does not count. {reason}"
                tell("rejected", sentence, lease=lease, code=code)
            case Idle(cause=cause):
                tell("idle", f"There is no unit now: {_IDLE[cause]}.", cause=cause)
            case Standing():
                self._report_standing(frame)
            case Board():
                self._report_board(frame)

    def report_release(self, frame: Release) -> None:
        """Reports that this peer gave a unit back."""
        sentence = f"{self._end(frame.lease)}: given back, for others to train."
        self._reporter.tell("released", sentence, lease=frame.lease, cause=frame.cause)

    def _name(self, lease: int) -> str:
        """Returns the unit of `lease` for people; leases of an earlier session have no number here."""
        return f"Unit {self._units[lease]}" if lease in self._units else "A unit from before"

    def _dropped(self, lease: int) -> str:
        unit = self._counted.pop(lease, None)
        if unit is not None:
            return f"Unit {unit} counts, but is not in the model."
        return f"{self._end(lease)} is not needed any more."

    def _end(self, lease: int) -> str:
        name = self._name(lease)
        self._units.pop(lease, None)
        return name

    def _count(self, lease: int) -> None:
        if lease in self._units:
            self._counted[lease] = self._units[lease]
            if len(self._counted) > MAX_COUNTED:
                del self._counted[next(iter(self._counted))]

    def _report_standing(self, frame: Standing) -> None:
        if self._trusted in (None, frame.trusted):
            self._trusted = frame.trusted
            return
        self._trusted = frame.trusted
        sentence = (
            f"Trusted: {frame.checked} results in a row were right, so few are checked from now on."
            if frame.trusted
            else "Every result is compared with another client's again."
        )
        self._reporter.tell("standing", sentence, trusted=frame.trusted, checked=frame.checked)

    def _report_board(self, frame: Board) -> None:
        if frame.epoch > self._epoch:
            self._epoch = frame.epoch
            sentence = f"Epoch {frame.epoch} of at most {frame.epochs}: {frame.tally.units} units."
            self._reporter.tell("epoch", sentence, epoch=frame.epoch, units=frame.tally.units)
        if frame.loss is None or frame.measured <= self._measured:
            return
        self._measured = frame.measured
        metrics = "".join(f", {name} {value:.4f}" for name, value in frame.metrics.items())
        self._reporter.tell(
            "evaluated",
            f"With {frame.measured} results on held-out data: loss {frame.loss:.4f}{metrics}.",
            measured=frame.measured,
            epoch=frame.epoch,
            loss=frame.loss,
            metrics=frame.metrics,
        )
