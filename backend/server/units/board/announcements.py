"""The announcer: sends the public board of work units to all clients when it changes."""

from __future__ import annotations

import math

from backend.server.hosting.clients.client_link import Presence
from backend.server.units.state import UnitMember, UnitsState
from backend.stores.contracts import EvaluationRecord
from backend.wire import messages, unit_messages
from backend.wire.codec import encode

BOARD_SECONDS = 0.25
# Bound on the traffic of boards: with many clients they are sent less often.
BOARD_BYTES_PER_SECOND = 1 << 20


class Announcer:
    """Sends the board to all clients, at most once per BOARD_SECONDS; a new client gets it on joining."""

    def __init__(self, state: UnitsState) -> None:
        self._state = state
        self._sent: unit_messages.Board | None = None
        self._due: float | None = None
        self._next_allowed = -math.inf
        self._measured: tuple[int, int, EvaluationRecord] | None = None

    def measured(self, base: int, results: int, evaluation: EvaluationRecord) -> None:
        """Stores the evaluation of model `base`, with `results` in it, unless a newer one is stored."""
        if self._measured is None or base >= self._measured[0]:
            self._measured = base, results, evaluation

    def changed(self, now: float) -> None:
        """Schedules the board, because something that it may show changed."""
        if self._due is None:
            self._due = max(now, self._next_allowed)

    def timer(self) -> float | None:
        """Returns when the board is due; None if nothing changed."""
        return self._due

    def tell(self, now: float) -> None:
        """Sends the board to all clients, if it is due and differs from the last."""
        if self._due is None or now < self._due:
            return
        self._due = None
        board = self.board()
        if board == self._sent:
            return
        self._sent = board
        self._state.connected.tell_all(board)
        cost = len(encode(board)) * len(self._state.clients.members) / BOARD_BYTES_PER_SECOND
        self._next_allowed = now + max(BOARD_SECONDS, cost)

    def greet(self, client: str) -> None:
        """Sends the board to a new client."""
        self._state.connected.tell(client, self._sent or self.board())

    def board(self) -> unit_messages.Board:
        """Makes the current board."""
        state, tally = self._state, self._state.scheduler.progress.tally()
        kinds = [member.client.kind for member in state.clients.members.values()]
        _, results, evaluation = self._measured or (0, 0, None)
        return unit_messages.Board(
            phase="paused" if state.run.finished and state.run.wait_at_end else phase_of(state),
            epoch=state.run.epoch.number,
            epochs=state.units.epochs,
            tally=unit_messages.Tally(
                units=tally.units, done=tally.done, leased=tally.leased, compared=tally.compared
            ),
            base=state.model.base,
            backlog=len(state.model.assimilating),
            browsers=kinds.count("browser"),
            peers=kinds.count("peer"),
            measured=results,
            loss=evaluation.loss if evaluation else None,
            metrics=evaluation.metrics if evaluation else {},
        )


def phase_of(state: UnitsState) -> unit_messages.UnitPhase:
    """Returns the phase of the task, in the wire's word."""
    if state.run.finished:
        return "finished"
    if state.run.paused:
        return "paused"
    return "training" if any(member.slots for member in state.clients.members.values()) else "waiting"


def presence_of(member: UnitMember, busy: bool) -> Presence:
    """Returns a client as the task's owner sees it; `busy` while it has open leases."""
    client = member.client
    status: messages.Status = "training" if busy else "ready"
    return Presence(
        client=client.id,
        kind=client.kind,
        backend=client.backend,
        status=status if member.ready else "loading",
        step_ms=member.step_ms,
    )
