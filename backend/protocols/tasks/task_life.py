"""The life cycle of a task: a table of states and the owner's orders, without I/O.

    test ──launch──> live ──pause──> paused ──resume──> the state before
      └───────────────┴── finish ──> finishing ──the open round ended──> finished ─┐
                      └── stop ────────────────────────────────────────> stopped ──┴─ archive ──> archived

Rounds that end by their rules also lead to `finished`. An owner may revoke an order: `resume` revokes a
pause, a finish and a stop, `restore` an archive. A task that its rules ended cannot be resumed: its owner
extends its plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from backend.errors import OrderError


class LifeState(StrEnum):
    """A state in the life cycle of a task."""

    TEST = "test"
    LIVE = "live"
    PAUSED = "paused"
    FINISHING = "finishing"
    FINISHED = "finished"
    STOPPED = "stopped"
    ARCHIVED = "archived"


class Order(StrEnum):
    """An order of the task's owner."""

    LAUNCH = "launch"
    PAUSE = "pause"
    RESUME = "resume"
    FINISH = "finish"
    STOP = "stop"
    ARCHIVE = "archive"
    RESTORE = "restore"


# State -> order -> next state; None stands for the state before.
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
# RUNNING: rounds may open. UNDER_WAY: the rules can end the task.
RUNNING = frozenset({LifeState.TEST, LifeState.LIVE})
UNDER_WAY = RUNNING | {LifeState.PAUSED, LifeState.FINISHING}
ENDED = frozenset({LifeState.FINISHED, LifeState.STOPPED})
RULES = "All rounds are done, or a rule of the task file ended them."


@dataclass(frozen=True)
class Life:
    """The state of a task, since when (Unix seconds), and the `reason` as a text for people.

    `resume` leads to the state `running`, `restore` to the state `ended`. `by_owner` says whether the owner
    ended the task; otherwise its rules did.
    """

    state: LifeState = LifeState.LIVE
    running: LifeState = LifeState.LIVE
    ended: LifeState = LifeState.FINISHED
    by_owner: bool = False
    reason: str = ""
    since: float = 0.0

    @property
    def orders(self) -> tuple[Order, ...]:
        """The orders that the owner may give now."""
        return tuple(order for order in ORDERS[self.state] if not self._is_over(order))

    def obey(self, order: Order, reason: str, now: float) -> Life:
        """Returns the life after an order. Raises OrderError, whose text lists the possible orders."""
        if order not in ORDERS[self.state]:
            raise OrderError(f"A task that is {self.state} has no '{order}'. {self._choice()}")
        if self._is_over(order):
            raise OrderError(f"The task file's rules ended this training: {self.reason} {self._choice()}")
        next_state = ORDERS[self.state][order]
        if next_state is None:
            next_state = self.ended if order is Order.RESTORE else self.running
        changed = replace(self, state=next_state, reason=reason, since=now)
        if next_state in RUNNING:
            return replace(changed, running=next_state, by_owner=False)
        if next_state in (LifeState.FINISHING, LifeState.STOPPED):
            return replace(changed, by_owner=True, ended=_end(next_state))
        return changed

    def rounds_ended(self, reason: str, now: float) -> Life:
        """Returns the life after the last round; unchanged if the owner ended the task before."""
        if self.state not in UNDER_WAY:
            return self
        if self.state is LifeState.FINISHING:
            return replace(self, state=LifeState.FINISHED, since=now)
        return replace(
            self, state=LifeState.FINISHED, ended=LifeState.FINISHED, by_owner=False, reason=reason, since=now
        )

    def opened(self, done: bool, now: float) -> Life:
        """Returns the life when a server opens the task; `done` says whether its rules allow no more rounds.

        A last round that was open was lost with the previous server process, so a finishing task is
        finished. The rules may have changed: a task that they ended before runs again if they allow it.
        """
        if self.state is LifeState.FINISHING or done:
            return self.rounds_ended(RULES, now)
        if self.state is LifeState.FINISHED and not self.by_owner:
            return replace(self, state=self.running, reason="", since=now)
        return self

    def extended(self, now: float) -> Life:
        """Returns the life after the owner extended the plan: an ended task continues as before its end.

        A pause stays. Raises OrderError for an archived task.
        """
        if self.state is LifeState.ARCHIVED:
            raise OrderError("This task is archived. Restore it first, then extend it.")
        if self.state in ENDED or self.state is LifeState.FINISHING:
            return replace(self, state=self.running, by_owner=False, reason="", since=now)
        return self

    def _is_over(self, order: Order) -> bool:
        return order is Order.RESUME and self.state is LifeState.FINISHED and not self.by_owner

    def _choice(self) -> str:
        words = [str(order) for order in self.orders]
        return f"It may be asked to {' or to '.join(words)}." if words else "It accepts no further commands."


def _end(state: LifeState) -> LifeState:
    return LifeState.STOPPED if state is LifeState.STOPPED else LifeState.FINISHED
