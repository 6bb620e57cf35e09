"""Everybody who is connected to one task."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Protocol

from msgspec.structs import replace

from backend.protocols.rounds.phases import RoundPhase
from backend.server.hosting.client_link import ConnectedClient, Presence
from backend.wire import messages
from backend.wire.codec import encode
from backend.wire.fields import WireFrame

STATE_SECONDS = 0.25
# What all states together may cost: to many they are told less often.
STATE_BYTES_PER_SECOND = 4 << 20
# Of a crowd beyond MAX_LISTED only SOME are listed.
MAX_LISTED, SOME = 256, 32


class ShownMachine(Protocol):
    """What a state tells of a task's machine; Round is one."""

    @property
    def phase(self) -> RoundPhase: ...
    @property
    def round(self) -> int: ...
    @property
    def version(self) -> int: ...
    @property
    def quorum(self) -> int: ...
    def deadline(self) -> float | None: ...
    def needed(self) -> int: ...
    def reports(self) -> tuple[int, int]: ...
    def status(self, client: str, /) -> messages.Status: ...
    def step_ms(self, client: str, /) -> float: ...


class ConnectedClients:
    """Owns the clients of one task, and tells them its state.

    Everybody hears of changes, at most once in STATE_SECONDS and less often in a crowd; a newcomer is told
    within STATE_SECONDS, and by itself, so that many who come one after the other are not told of each other.
    """

    def __init__(self) -> None:
        self.clients: dict[str, ConnectedClient] = {}
        # Kind and backend of everybody who was here, for the records.
        self.known: dict[str, tuple[str, str]] = {}
        self._newcomers: list[str] = []
        # When the newcomers, and when all are to be told; None while there is nothing to tell.
        self._greeting: float | None = None
        self._due: float | None = None
        # Bytes of all frames since the start.
        self.sent = 0
        self._greeted = self._rested = -math.inf
        self._told: messages.State | None = None

    def add(self, client: ConnectedClient) -> None:
        """Takes a client in."""
        self.clients[client.id] = client
        self.known[client.id] = (client.kind, client.backend)

    def forget_absent(self, but: Collection[str]) -> None:
        """Forgets those who left, but for those of whom something is to be recorded still."""
        self.known = {
            client: about for client, about in self.known.items() if client in self.clients or client in but
        }

    def tell(self, client: str, message: WireFrame) -> None:
        """Sends to one client, if it is still here."""
        if client in self.clients:
            self._send(encode(message), [client])

    def tell_all(self, message: WireFrame) -> None:
        """Sends to everybody; encoded once."""
        self._send(encode(message), self.clients)

    def tell_some(self, clients: Iterable[str], message: WireFrame) -> None:
        """Sends to those of `clients` who are still here; encoded once."""
        self._send(encode(message), clients)

    def tell_credits(self, credits: Iterable[tuple[str, messages.Credit]]) -> None:
        """Sends each client the credit that an upload slot gave it."""
        for client, credit in credits:
            self.tell(client, credit)

    def welcome(self, client: str, now: float) -> None:
        """A client came, and is to be told the state."""
        self._newcomers.append(client)
        if self._greeting is None:
            self._greeting = max(now, self._greeted + STATE_SECONDS)

    def state_changed(self, now: float) -> None:
        """Something happened that a state frame may show."""
        if self._due is None:
            self._due = max(now, self._rested)

    def timer(self) -> float | None:
        """When the next state frame is due."""
        return min((at for at in (self._greeting, self._due) if at is not None), default=None)

    def tell_state(self, machine: ShownMachine, accepted: dict[str, int], now: float) -> None:
        """Sends the state to whom it is due."""
        if self._due is not None and now >= self._due:
            self._due = None
            self._tell_changes(machine, accepted, now)
        if self._greeting is not None and now >= self._greeting:
            frame = encode(self._state(machine, accepted, now))
            self._send(frame, self._newcomers)
            self._newcomers, self._greeting, self._greeted = [], None, now

    def _tell_changes(self, machine: ShownMachine, accepted: dict[str, int], now: float) -> None:
        state = self._state(machine, accepted, now)
        if self._told is not None and _same(state, self._told):
            return
        frame = encode(state)
        self._send(frame, self.clients)
        self._told, self._newcomers, self._greeting = state, [], None
        self._rested = now + max(STATE_SECONDS, len(frame) * len(self.clients) / STATE_BYTES_PER_SECOND)

    def _send(self, frame: bytes, clients: Iterable[str]) -> None:
        for client in [self.clients[one] for one in clients if one in self.clients]:
            self.sent += len(frame)
            client.sent += len(frame)
            client.link.send(frame)

    def _state(self, machine: ShownMachine, accepted: dict[str, int], now: float) -> messages.State:
        deadline = machine.deadline()
        cohort, reported = machine.reports()
        return messages.State(
            phase=wire_phase(machine.phase),
            round=machine.round,
            version=machine.version,
            needed=machine.needed(),
            cohort=cohort,
            reported=reported,
            quorum=machine.quorum,
            seconds=None if deadline is None else max(0.0, deadline - now),
            participants=list(self._participants(machine, accepted)),
        )

    def _participants(
        self, machine: ShownMachine, accepted: dict[str, int]
    ) -> Iterable[messages.Participant]:
        listed = MAX_LISTED if len(self.clients) <= MAX_LISTED else SOME
        for client in islice(self.clients.values(), listed):
            yield messages.Participant(
                client=client.id,
                kind=client.kind,
                backend=client.backend,
                status=machine.status(client.id),
                accepted=accepted.get(client.id, 0),
            )


def present(client: ConnectedClient, machine: ShownMachine) -> Presence:
    """What the task's owner is told of a connected client."""
    return Presence(
        client=client.id,
        kind=client.kind,
        backend=client.backend,
        status=machine.status(client.id),
        step_ms=machine.step_ms(client.id),
        sent=client.sent,
        received=client.received,
    )


def _same(state: messages.State, told: messages.State) -> bool:
    """Whether nothing changed but the time that is left."""
    if (state.seconds is None) is not (told.seconds is None):
        return False
    return replace(state, seconds=told.seconds) == told


def wire_phase(phase: RoundPhase) -> messages.Phase:
    """The machine's phase in the wire's word: who gathers, waits."""
    words: dict[RoundPhase, messages.Phase] = {
        RoundPhase.WAITING: "waiting",
        RoundPhase.GATHERING: "waiting",
        RoundPhase.TRAINING: "training",
        RoundPhase.AGGREGATING: "aggregating",
        RoundPhase.EVALUATING: "evaluating",
        RoundPhase.PAUSED: "paused",
        RoundPhase.FINISHED: "finished",
    }
    return words[phase]
