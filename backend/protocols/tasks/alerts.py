"""Raises and clears the alarms of a task for its owner, without I/O.

The host reports events with `now` (seconds of any steady clock), performs the effects, and calls
`time_passed` at `timer()`. An alarm is raised once and cleared once; if the same trouble returns after
that, it is raised again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from backend.protocols.tasks.learning import Diagnosis, LearningTrouble

# Refusals in the last rounds raise an alarm from this number and this share of all updates.
LAST_ROUNDS, MIN_REFUSED, MIN_SHARE_REFUSED = 3, 5, 0.5
NOT_FINITE = "not-finite"


class Trouble(StrEnum):
    """A kind of trouble that a task can have."""

    NUMBERS = "not-a-number"
    STUCK = "no-progress"
    FEW = "too-few"
    REFUSALS = "refusals"
    STORE = "store"
    INTEGRITY = "integrity"
    CHANCE = LearningTrouble.CHANCE.value
    OVERFITTING = LearningTrouble.OVERFITTING.value
    FLAT = LearningTrouble.FLAT.value


@dataclass(frozen=True)
class Raised:
    """Alert the owner; `text` names the trouble and a possible remedy."""

    trouble: Trouble
    text: str


@dataclass(frozen=True)
class Cleared:
    """The trouble is over."""

    trouble: Trouble


Effect: TypeAlias = Raised | Cleared


@dataclass
class Alarms:
    """The alarms of one task; a lasting condition raises one after `patience` seconds.

    `raised` holds the active alarms with their texts. A task that does not run raises none for having too
    few clients or no progress.
    """

    patience: float
    raised: dict[Trouble, str] = field(default_factory=dict)
    _running: bool = False
    _needed: int = 0
    # When clients became too few, and when they became enough without a new version since; None if not so.
    _few_since: float | None = None
    _idle_since: float | None = None
    _rounds: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=LAST_ROUNDS))

    def timer(self) -> float | None:
        """Returns when `time_passed` is due; None while only an event can raise an alarm."""
        since = {Trouble.FEW: self._few_since, Trouble.STUCK: self._idle_since}
        deadlines = [
            at + self.patience for name, at in since.items() if at is not None and name not in self.raised
        ]
        return min(deadlines, default=None)

    def looked(self, running: bool, needed: int, now: float) -> list[Effect]:
        """Takes whether rounds may open (`running`), and how many more clients a round needs to open."""
        self._running, self._needed = running, needed
        few = running and needed > 0
        enough = running and needed == 0
        self._few_since = (now if self._few_since is None else self._few_since) if few else None
        self._idle_since = (now if self._idle_since is None else self._idle_since) if enough else None
        effects = [] if few else self._clear(Trouble.FEW)
        return [*effects, *([] if running else self._clear(Trouble.STUCK)), *self.time_passed(now)]

    def round_ended(self, made: bool, accepted: int, refusals: Mapping[str, int], now: float) -> list[Effect]:
        """Takes the end of a round: whether it made a version, accepted updates and refusals by code."""
        effects: list[Effect] = []
        if made:
            self._idle_since = now if self._running and not self._needed else None
            effects += self._clear(Trouble.STUCK)
        effects += self._look_at_numbers(made, refusals.get(NOT_FINITE, 0))
        self._rounds.append((accepted, sum(refusals.values())))
        return [*effects, *self._look_at_refusals(refusals)]

    def measured(self, finite: bool, diagnosis: Diagnosis | None = None) -> list[Effect]:
        """Takes the evaluation of a version: whether its loss is a number, and what else is wrong."""
        if finite:
            return self._look_at_learning(diagnosis)
        return self._raise(
            Trouble.NUMBERS,
            "The newest version's loss is not a number. Roll back to an older one and lower the learning "
            "rate.",
        )

    def doubted(self, text: str | None) -> list[Effect]:
        """Takes the question about a version that failed its integrity check; None if there is none."""
        if text == self.raised.get(Trouble.INTEGRITY):
            return []
        cleared = self._clear(Trouble.INTEGRITY)
        return cleared if text is None else [*cleared, *self._raise(Trouble.INTEGRITY, text)]

    def store_failed(self, reason: str) -> list[Effect]:
        """Takes a failed write to the store; the task waits until it succeeds."""
        return self._raise(Trouble.STORE, f"The task waits for its server's disk: {reason}")

    def store_mended(self) -> list[Effect]:
        """Takes the success of the write that had failed."""
        return self._clear(Trouble.STORE)

    def time_passed(self, now: float) -> list[Effect]:
        """Takes the time: `timer()` or any other."""
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
        if refused < MIN_REFUSED or refused < MIN_SHARE_REFUSED * (accepted + refused):
            return self._clear(Trouble.REFUSALS)
        if Trouble.REFUSALS not in self.raised and not newest:
            return []
        most = max(newest, key=lambda code: newest[code], default="")
        mainly = f", mainly as {most}" if most else ""
        return self._raise(
            Trouble.REFUSALS,
            f"{refused} of the {accepted + refused} newest updates were refused{mainly}.",
        )

    def _look_at_learning(self, diagnosis: Diagnosis | None) -> list[Effect]:
        found = None if diagnosis is None else Trouble(diagnosis.trouble.value)
        over = [Trouble(trouble.value) for trouble in LearningTrouble if trouble.value != found]
        effects = [effect for trouble in over for effect in self._clear(trouble)]
        return (
            effects if found is None or diagnosis is None else [*effects, *self._raise(found, diagnosis.text)]
        )

    def _raise(self, trouble: Trouble, text: str) -> list[Effect]:
        if trouble in self.raised:
            return []
        self.raised[trouble] = text
        return [Raised(trouble, text)]

    def _clear(self, trouble: Trouble) -> list[Effect]:
        return [Cleared(trouble)] if self.raised.pop(trouble, None) is not None else []
