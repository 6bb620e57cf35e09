"""What a task's owner is alerted to, as a machine without I/O.

Its host reports what happens with `now` (seconds of any steady clock), performs the effects, and calls
`time_passed` at `timer()`. An alarm is raised once and cleared once; the same trouble later is raised anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

# Refusals in the last rounds, from so many on and of at least this share of all updates.
LAST_ROUNDS, LEAST_REFUSED, SHARE_REFUSED = 3, 5, 0.5
NOT_FINITE = "not-finite"


class Trouble(StrEnum):
    """What may be wrong with a task."""

    NUMBERS = "not-a-number"
    STUCK = "no-progress"
    FEW = "too-few"
    REFUSALS = "refusals"
    STORE = "store"


@dataclass(frozen=True)
class Raised:
    """Tell the owner; `text` says what is wrong and what may help."""

    trouble: Trouble
    text: str


@dataclass(frozen=True)
class Cleared:
    """What was wrong is over."""

    trouble: Trouble


Effect: TypeAlias = Raised | Cleared


@dataclass
class Alarms:
    """The alarms of one task; what lasts `patience` seconds is worth one.

    `raised` are those that are on, with their texts. Nothing is awaited of a task that does not run.
    """

    patience: float
    raised: dict[Trouble, str] = field(default_factory=dict)
    _running: bool = False
    _needed: int = 0
    # Since when too few are here, and since when enough are but no version was made; None where that is not.
    _few_since: float | None = None
    _idle_since: float | None = None
    _rounds: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=LAST_ROUNDS))

    def timer(self) -> float | None:
        """When `time_passed` is due; None while only an event can raise anything."""
        since = {Trouble.FEW: self._few_since, Trouble.STUCK: self._idle_since}
        dues = [
            at + self.patience for name, at in since.items() if at is not None and name not in self.raised
        ]
        return min(dues, default=None)

    def looked(self, running: bool, needed: int, now: float) -> list[Effect]:
        """Rounds may open (`running`) or not, and `needed` more clients must be ready before one does."""
        self._running, self._needed = running, needed
        few = running and needed > 0
        enough = running and needed == 0
        self._few_since = (now if self._few_since is None else self._few_since) if few else None
        self._idle_since = (now if self._idle_since is None else self._idle_since) if enough else None
        effects = [] if few else self._clear(Trouble.FEW)
        return [*effects, *([] if running else self._clear(Trouble.STUCK)), *self.time_passed(now)]

    def round_ended(self, made: bool, accepted: int, refusals: Mapping[str, int], now: float) -> list[Effect]:
        """A round is over; whether it made a version, and what counted in it."""
        effects: list[Effect] = []
        if made:
            self._idle_since = now if self._running and not self._needed else None
            effects += self._clear(Trouble.STUCK)
        effects += self._look_at_numbers(made, refusals.get(NOT_FINITE, 0))
        self._rounds.append((accepted, sum(refusals.values())))
        return [*effects, *self._look_at_refusals(refusals)]

    def measured(self, finite: bool) -> list[Effect]:
        """A version was measured; whether its loss is a number."""
        if finite:
            return []
        return self._raise(
            Trouble.NUMBERS,
            "The newest version's loss is not a number. Roll back to an older one; learn at a lower rate.",
        )

    def store_failed(self, reason: str) -> list[Effect]:
        """Something could not be recorded; the task waits for it."""
        return self._raise(Trouble.STORE, f"The task waits for its server's disk: {reason}")

    def store_mended(self) -> list[Effect]:
        """What had failed is recorded."""
        return self._clear(Trouble.STORE)

    def time_passed(self, now: float) -> list[Effect]:
        """The clock reached `timer()`, or any other time."""
        effects: list[Effect] = []
        minutes = f"{self.patience / 60:g} minutes"
        if self._few_since is not None and now >= self._few_since + self.patience:
            more = f"{self._needed} more {'is' if self._needed == 1 else 'are'}"
            text = f"For {minutes} too few participants were here: {more} needed."
            effects += self._raise(Trouble.FEW, text)
        if self._idle_since is not None and now >= self._idle_since + self.patience:
            text = f"Enough participants are here, but no version was made in {minutes}."
            text += " See what was refused or late."
            effects += self._raise(Trouble.STUCK, text)
        return effects

    def _look_at_numbers(self, made: bool, broken: int) -> list[Effect]:
        if not broken:
            return self._clear(Trouble.NUMBERS) if made else []
        updates = "1 update was" if broken == 1 else f"{broken} updates were"
        return self._raise(
            Trouble.NUMBERS,
            f"{updates} refused for values that are not numbers. A smaller learning rate may help.",
        )

    def _look_at_refusals(self, newest: Mapping[str, int]) -> list[Effect]:
        accepted, refused = (sum(column) for column in zip(*self._rounds, strict=True))
        if refused < LEAST_REFUSED or refused < SHARE_REFUSED * (accepted + refused):
            return self._clear(Trouble.REFUSALS)
        if Trouble.REFUSALS not in self.raised and not newest:
            return []
        most = max(newest, key=lambda code: newest[code], default="")
        mainly = f", mainly as {most}" if most else ""
        return self._raise(
            Trouble.REFUSALS,
            f"{refused} of the {accepted + refused} newest updates were refused{mainly}.",
        )

    def _raise(self, trouble: Trouble, text: str) -> list[Effect]:
        if trouble in self.raised:
            return []
        self.raised[trouble] = text
        return [Raised(trouble, text)]

    def _clear(self, trouble: Trouble) -> list[Effect]:
        return [Cleared(trouble)] if self.raised.pop(trouble, None) is not None else []
