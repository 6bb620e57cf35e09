"""The life of a task, as its owner leads it: one table of what may follow what, without I/O.

    test ──launch──> live ──pause──> paused ──resume──> where it was
      └───────────────┴── finish ──> finishing ──the open round ended──> finished ─┐
                      └── stop ────────────────────────────────────────> stopped ──┴─ archive ──> archived

Rounds that end by their rules lead to `finished`, too. An owner may change their mind: `resume` takes back a
pause, a finish and a stop, `restore` an archive. What the rules of the task ended stays ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from backend.errors import OrderError


class LifeState(StrEnum):
    """Where a task is in its life."""

    TEST = "test"
    LIVE = "live"
    PAUSED = "paused"
    FINISHING = "finishing"
    FINISHED = "finished"
    STOPPED = "stopped"
    ARCHIVED = "archived"


class Order(StrEnum):
    """What an owner may ask for."""

    LAUNCH = "launch"
    PAUSE = "pause"
    RESUME = "resume"
    FINISH = "finish"
    STOP = "stop"
    ARCHIVE = "archive"
    RESTORE = "restore"


# What each order makes of a task; None is the state from before.
ORDERS: dict[LifeState, dict[Order, LifeState | None]] = {
    LifeState.TEST: {
        Order.LAUNCH: LifeState.LIVE,
        Order.PAUSE: LifeState.PAUSED,
        Order.FINISH: LifeState.FINISHING,
        Order.STOP: LifeState.STOPPED,
    },
    LifeState.LIVE: {
        Order.PAUSE: LifeState.PAUSED,
        Order.FINISH: LifeState.FINISHING,
        Order.STOP: LifeState.STOPPED,
    },
    LifeState.PAUSED: {Order.RESUME: None, Order.FINISH: LifeState.FINISHING, Order.STOP: LifeState.STOPPED},
    LifeState.FINISHING: {Order.RESUME: None, Order.STOP: LifeState.STOPPED},
    LifeState.FINISHED: {Order.RESUME: None, Order.ARCHIVE: LifeState.ARCHIVED},
    LifeState.STOPPED: {Order.RESUME: None, Order.ARCHIVE: LifeState.ARCHIVED},
    LifeState.ARCHIVED: {Order.RESTORE: None},
}
# States in which rounds may open, and those that may end by themselves.
RUNNING = frozenset({LifeState.TEST, LifeState.LIVE})
UNDER_WAY = RUNNING | {LifeState.PAUSED, LifeState.FINISHING}
ENDED = frozenset({LifeState.FINISHED, LifeState.STOPPED})
RULES = "All rounds are done, or a rule of the task file ended them."


@dataclass(frozen=True)
class Life:
    """Where a task is, and since when (Unix seconds); `reason` says why, for people.

    `running` is the state to which `resume` leads, `ended` that to which `restore` does. `by_owner` says
    whether its owner ended it, and not its rules.
    """

    state: LifeState = LifeState.LIVE
    running: LifeState = LifeState.LIVE
    ended: LifeState = LifeState.FINISHED
    by_owner: bool = False
    reason: str = ""
    since: float = 0.0

    @property
    def orders(self) -> tuple[Order, ...]:
        """What its owner may ask for now."""
        return tuple(order for order in ORDERS[self.state] if not self._is_over(order))

    def obey(self, order: Order, reason: str, now: float) -> Life:
        """Its life after an order. Raises OrderError, with what may be asked for instead."""
        if order not in ORDERS[self.state]:
            raise OrderError(f"A task that is {self.state} has no '{order}'. {self._choice()}")
        if self._is_over(order):
            raise OrderError(f"The task file's rules ended this training: {self.reason} {self._choice()}")
        following = ORDERS[self.state][order]
        if following is None:
            following = self.ended if order is Order.RESTORE else self.running
        changed = replace(self, state=following, reason=reason, since=now)
        if following in RUNNING:
            return replace(changed, running=following, by_owner=False)
        if following in (LifeState.FINISHING, LifeState.STOPPED):
            return replace(changed, by_owner=True, ended=_end(following))
        return changed

    def rounds_ended(self, reason: str, now: float) -> Life:
        """Its life once no more rounds follow; the same where its owner ended it before."""
        if self.state not in UNDER_WAY:
            return self
        if self.state is LifeState.FINISHING:
            return replace(self, state=LifeState.FINISHED, since=now)
        return replace(
            self, state=LifeState.FINISHED, ended=LifeState.FINISHED, by_owner=False, reason=reason, since=now
        )

    def opened(self, done: bool, now: float) -> Life:
        """Its life when a server takes it up; `done` says whether its rules let no more rounds follow.

        The round that was to be its last went with the server before. Rules may have been changed.
        """
        if self.state is LifeState.FINISHING or done:
            return self.rounds_ended(RULES, now)
        if self.state is LifeState.FINISHED and not self.by_owner:
            return replace(self, state=self.running, reason="", since=now)
        return self

    def _is_over(self, order: Order) -> bool:
        return order is Order.RESUME and self.state is LifeState.FINISHED and not self.by_owner

    def _choice(self) -> str:
        words = [str(order) for order in self.orders]
        return f"It may be asked to {' or to '.join(words)}." if words else "Nothing more can be asked of it."


def _end(state: LifeState) -> LifeState:
    return LifeState.STOPPED if state is LifeState.STOPPED else LifeState.FINISHED
