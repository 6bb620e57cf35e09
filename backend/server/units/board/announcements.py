"""The announcer: sends the public board of work units to all clients when it changes."""

from __future__ import annotations

import math

from backend.server.hosting.client_link import Presence
from backend.server.units.state import UnitMember, UnitsState
from backend.stores.contracts import EvaluationRecord
from backend.wire import messages, unit_messages
from backend.wire.codec import encode

BOARD_SECONDS = 0.25
# Bytes a second for all boards together: with many clients they are sent less often.
BOARD_BYTES_PER_SECOND = 1 << 20


class Announcer:
    """Sends the board to all clients, at most once in BOARD_SECONDS; new clients get it at once."""

    def __init__(self, state: UnitsState) -> None:
        self._state = state
        self._sent: unit_messages.Board | None = None
        self._due: float | None = None
        self._rested = -math.inf
        self._measured: tuple[int, EvaluationRecord] | None = None

    def measured(self, base: int, found: EvaluationRecord) -> None:
        """The model with so many results in it was measured."""
        if self._measured is None or base >= self._measured[0]:
            self._measured = base, found

    def changed(self, now: float) -> None:
        """Something happened that the board may show."""
        if self._due is None:
            self._due = max(now, self._rested)

    def timer(self) -> float | None:
        """When the board is due."""
        return self._due

    def tell(self, now: float) -> None:
        """Sends it, if that is due."""
        if self._due is None or now < self._due:
            return
        self._due = None
        board = self.board()
        if board == self._sent:
            return
        self._sent = board
        self._state.connected.tell_all(board)
        cost = len(encode(board)) * len(self._state.clients.members) / BOARD_BYTES_PER_SECOND
        self._rested = now + max(BOARD_SECONDS, cost)

    def greet(self, client: str) -> None:
        """Sends it to a new client."""
        self._state.connected.tell(client, self._sent or self.board())

    def board(self) -> unit_messages.Board:
        """The board as it is now."""
        state, tally = self._state, self._state.scheduler.progress.tally()
        kinds = [one.client.kind for one in state.clients.members.values()]
        base, found = self._measured or (0, None)
        return unit_messages.Board(
            phase=phase_of(state),
            epoch=state.run.epoch.number,
            epochs=state.units.epochs,
            tally=unit_messages.Tally(
                units=tally.units, done=tally.done, leased=tally.leased, compared=tally.compared
            ),
            base=state.model.base,
            backlog=len(state.model.assimilating),
            browsers=kinds.count("browser"),
            peers=kinds.count("peer"),
            measured=base,
            loss=found.loss if found else None,
            metrics=found.metrics if found else {},
        )


def phase_of(state: UnitsState) -> unit_messages.UnitPhase:
    """What happens now, in one word."""
    if state.run.finished:
        return "finished"
    if state.run.paused:
        return "paused"
    return "training" if any(one.slots for one in state.clients.members.values()) else "waiting"


def presence_of(member: UnitMember, busy: bool) -> Presence:
    """A client as the task's owner sees it; `busy` while it has units."""
    client = member.client
    status: messages.Status = "training" if busy else "ready"
    return Presence(
        client=client.id,
        kind=client.kind,
        backend=client.backend,
        status=status if member.ready else "loading",
        step_ms=member.step_ms,
        sent=client.sent,
        received=client.received,
    )
