"""Everybody who is connected to one task."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from backend.protocols.phases import Phase
from backend.protocols.round import Round
from backend.services.links import Client
from backend.wire import messages as say
from backend.wire.codec import encode

STATE_SECONDS = 0.25
MAX_LISTED = 256


class Audience:
    """Owns the clients of one task, and tells them its state, at most once in STATE_SECONDS."""

    def __init__(self) -> None:
        self.clients: dict[str, Client] = {}
        # Kind and backend of everybody who was here, for the records.
        self.known: dict[str, tuple[str, str]] = {}
        self._due: float | None = None
        self._sent = -math.inf

    def add(self, client: Client) -> None:
        """Takes a client in."""
        self.clients[client.id] = client
        self.known[client.id] = (client.kind, client.backend)

    def forget_absent(self, but: Collection[str]) -> None:
        """Forgets those who left, but for those of whom something is to be recorded still."""
        self.known = {
            client: about for client, about in self.known.items() if client in self.clients or client in but
        }

    def tell(self, client: str, message: say.ServerFrame) -> None:
        """Sends to one client, if it is still here."""
        if client in self.clients:
            self.clients[client].link.send(encode(message))

    def tell_all(self, message: say.ServerFrame) -> None:
        """Sends to everybody; encoded once."""
        frame = encode(message)
        for client in list(self.clients.values()):
            client.link.send(frame)

    def tell_credits(self, credits: Iterable[tuple[str, say.Credit]]) -> None:
        """Sends each client the credit that an upload slot gave it."""
        for client, credit in credits:
            self.tell(client, credit)

    def state_changed(self, now: float) -> None:
        """Something happened that a state frame would show."""
        if self._due is None:
            self._due = max(now, self._sent + STATE_SECONDS)

    def timer(self) -> float | None:
        """When the next state frame is due."""
        return self._due

    def tell_state(self, machine: Round, accepted: dict[str, int], now: float) -> None:
        """Sends the state if it is due."""
        if self._due is None or now < self._due:
            return
        self._due, self._sent = None, now
        self.tell_all(self._state(machine, accepted, now))

    def _state(self, machine: Round, accepted: dict[str, int], now: float) -> say.State:
        deadline = machine.deadline()
        cohort, reported = machine.reports()
        return say.State(
            phase=wire_phase(machine.phase),
            round=machine.round,
            version=machine.version,
            needed=machine.needed(),
            cohort=cohort,
            reported=reported,
            quorum=machine.plan.quorum,
            seconds=None if deadline is None else max(0.0, deadline - now),
            participants=list(self._participants(machine, accepted)),
        )

    def _participants(self, machine: Round, accepted: dict[str, int]) -> Iterable[say.Participant]:
        for client in list(self.clients.values())[:MAX_LISTED]:
            yield say.Participant(
                client=client.id,
                kind=client.kind,
                backend=client.backend,
                status=machine.status(client.id),
                accepted=accepted.get(client.id, 0),
            )


def wire_phase(phase: Phase) -> say.Phase:
    """The machine's phase in the wire's word: who gathers, waits."""
    words: dict[Phase, say.Phase] = {
        Phase.WAITING: "waiting",
        Phase.GATHERING: "waiting",
        Phase.TRAINING: "training",
        Phase.AGGREGATING: "aggregating",
        Phase.EVALUATING: "evaluating",
        Phase.FINISHED: "finished",
    }
    return words[phase]
