"""The connected clients of one task: sends them frames and the task's state."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Protocol

from msgspec.structs import replace

from backend.protocols.rounds.phases import RoundPhase
from backend.server.hosting.clients.client_link import ConnectedClient, Presence
from backend.wire import messages
from backend.wire.codec import encode
from backend.wire.fields import WireFrame

STATE_SECONDS = 0.25
# Limit on the traffic of state frames: with many clients they are sent less often.
STATE_BYTES_PER_SECOND = 4 << 20
# Clients that left whose traffic is kept: a limit, so that strangers cannot fill the memory.
MAX_DEPARTED = 4096
# A state frame lists all participants up to MAX_LISTED; of more clients it lists SOME.
MAX_LISTED, SOME = 256, 32


class ShownMachine(Protocol):
    """The figures of a task's machine that a state frame shows; Round is one."""

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
    """Owns the clients of one task and sends them its state.

    A changed state is sent to all clients, at most once in STATE_SECONDS and less often to many clients. New
    clients get the state within STATE_SECONDS in a frame of their own, so that clients that join one after
    the other do not cause a frame to all each time.
    """

    def __init__(self) -> None:
        self.clients: dict[str, ConnectedClient] = {}
        # Whether clients wait after the training ended, since its owner may resume it.
        self.wait_at_end = False
        # Kind and backend of each client since the last `forget_absent`, for the records.
        self.devices: dict[str, tuple[str, str]] = {}
        self._newcomers: list[str] = []
        # When the state is due to the newcomers, and to all clients; None while nothing is due.
        self._greeting_due: float | None = None
        self._state_due: float | None = None
        # Bytes sent to and received from clients that left, over all their connections.
        self._departed: dict[str, tuple[int, int]] = {}
        # Bytes of all frames sent since the start.
        self.sent = 0
        self._last_greeting = self._quiet_until = -math.inf
        self._last_state: messages.State | None = None

    def add(self, client: ConnectedClient) -> None:
        """Adds a client, or replaces its entry. Its traffic over earlier connections is added to it."""
        sent, received = self.traffic(client.id)
        client.sent, client.received = client.sent + sent, client.received + received
        self._departed.pop(client.id, None)
        self.clients[client.id] = client
        self.devices[client.id] = (client.kind, client.backend)

    def remove(self, client: str) -> None:
        """Removes a client whose connection ended; what it sent and received stays known."""
        self._departed[client] = self.traffic(client)
        del self.clients[client]
        if len(self._departed) > MAX_DEPARTED:
            del self._departed[next(iter(self._departed))]

    def traffic(self, client: str) -> tuple[int, int]:
        """Returns the bytes sent to and received from a client, over all its connections."""
        if client in self.clients:
            return self.clients[client].sent, self.clients[client].received
        return self._departed.get(client, (0, 0))

    def forget_absent(self, keep: Collection[str]) -> None:
        """Forgets kind and backend of clients that left, except those in `keep`: a record of them is due."""
        self.devices = {
            client: device
            for client, device in self.devices.items()
            if client in self.clients or client in keep
        }

    def tell(self, client: str, message: WireFrame) -> None:
        """Sends a message to one client, if it is still connected."""
        if client in self.clients:
            self._send(encode(message), [client])

    def tell_all(self, message: WireFrame) -> None:
        """Sends a message to all clients; encoded once."""
        self._send(encode(message), self.clients)

    def tell_some(self, clients: Iterable[str], message: WireFrame) -> None:
        """Sends a message to those of `clients` that are still connected; encoded once."""
        self._send(encode(message), clients)

    def tell_credits(self, credits: Iterable[tuple[str, messages.Credit]]) -> None:
        """Sends each client the credit that its upload slot grants."""
        for client, credit in credits:
            self.tell(client, credit)

    def welcome(self, client: str, now: float) -> None:
        """Schedules the first state frame of a client that joined."""
        self._newcomers.append(client)
        if self._greeting_due is None:
            self._greeting_due = max(now, self._last_greeting + STATE_SECONDS)

    def state_changed(self, now: float) -> None:
        """Schedules a state frame to all clients after an event."""
        if self._state_due is None:
            self._state_due = max(now, self._quiet_until)

    def timer(self) -> float | None:
        """Returns when the next state frame is due; None if none is."""
        return min((at for at in (self._greeting_due, self._state_due) if at is not None), default=None)

    def tell_state(self, machine: ShownMachine, accepted: dict[str, int], now: float) -> None:
        """Sends the state frames that are due at `now`."""
        if self._state_due is not None and now >= self._state_due:
            self._state_due = None
            self._send_changed_state(machine, accepted, now)
        if self._greeting_due is not None and now >= self._greeting_due:
            frame = encode(self._state(machine, accepted, now))
            self._send(frame, self._newcomers)
            self._newcomers, self._greeting_due, self._last_greeting = [], None, now

    def _send_changed_state(self, machine: ShownMachine, accepted: dict[str, int], now: float) -> None:
        state = self._state(machine, accepted, now)
        if self._last_state is not None and _same(state, self._last_state):
            return
        frame = encode(state)
        self._send(frame, self.clients)
        self._last_state, self._newcomers, self._greeting_due = state, [], None
        self._quiet_until = now + max(STATE_SECONDS, len(frame) * len(self.clients) / STATE_BYTES_PER_SECOND)

    def _send(self, frame: bytes, clients: Iterable[str]) -> None:
        for client in [self.clients[name] for name in clients if name in self.clients]:
            self.sent += len(frame)
            client.sent += len(frame)
            client.link.send(frame)

    def _state(self, machine: ShownMachine, accepted: dict[str, int], now: float) -> messages.State:
        deadline = machine.deadline()
        cohort, reported = machine.reports()
        return messages.State(
            phase=wire_phase(machine.phase, self.wait_at_end),
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


def presence_of(client: ConnectedClient, machine: ShownMachine) -> Presence:
    """Returns a connected client as the task's owner sees it."""
    return Presence(
        client=client.id,
        kind=client.kind,
        backend=client.backend,
        status=machine.status(client.id),
        step_ms=machine.step_ms(client.id),
    )


def _same(state: messages.State, previous: messages.State) -> bool:
    """Whether two states differ at most in their remaining seconds."""
    if (state.seconds is None) is not (previous.seconds is None):
        return False
    return replace(state, seconds=previous.seconds) == previous


def wire_phase(phase: RoundPhase, wait_at_end: bool = False) -> messages.Phase:
    """Returns the wire's word for a machine's phase; gathering counts as waiting.

    With `wait_at_end`, a training that ended counts as paused.
    """
    if wait_at_end and phase is RoundPhase.FINISHED:
        return "paused"
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
