"""Runs one client's session at a task: delivers its events and reconnects, from start to goodbye."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Generic, Literal, Protocol, TypeVar

from backend.errors import MingaError, ReplacedError, UnfitError
from backend.peer.session.background_tasks import SessionTasks
from backend.peer.session.progress import Teller
from backend.peer.session.work_clock import WorkClock
from backend.protocols.client.connection import TaskConnection
from backend.protocols.client.participant_events import Connected, Disconnected, StopParticipant
from backend.wire.messages import Closing

# A peer that has to stop ends within 25 s: this many for the current work, the rest for a long step.
WIND_DOWN_SECONDS = 8.0
GOODBYE_SECONDS = 3.0
# A unit that the server sent before it knew that this peer wants no more arrives within this time.
CROSSING_SECONDS = 1.0

# How a session ended without an error: the task is finished, a person stopped it, or it left between two
# units or rounds.
SessionEnd = Literal["finished", "stopped", "left"]

Event = TypeVar("Event")
Event_contra = TypeVar("Event_contra", contravariant=True)
Inbound = TypeVar("Inbound")
Inbound_co = TypeVar("Inbound_co", covariant=True)


class ClientMachine(Protocol):
    """The part of a client's machine that the session loop reads."""

    connection: TaskConnection
    reason: str | None

    @property
    def phase(self) -> StrEnum:
        """The client's current phase."""


class ClientSession(Protocol[Event_contra]):
    """One client of one task, to which the loop delivers events."""

    @property
    def machine(self) -> ClientMachine:
        """The client's machine."""

    def handle(self, event: Event_contra | Connected | Disconnected | StopParticipant) -> None:
        """Passes `event` to the machine, and performs the effects that it returns."""

    @property
    def is_between_work(self) -> bool:
        """Whether this client can leave without losing a unit, or its part of a round."""

    def take_no_more(self) -> None:
        """Asks for no further work, and completes the current."""

    def wind_down(self) -> None:
        """Ends the current work after its current step."""


class Connections(Protocol[Inbound_co]):
    """The successive connections to the server; `ServerConnection` implements them."""

    @property
    def is_open(self) -> bool:
        """Whether a connection is open now."""

    async def run_once(self, on_open: Callable[[], None], on_frame: Callable[[Inbound_co], None]) -> str:
        """Holds one connection until it ends; returns the reason."""

    def finish(self) -> None:
        """Closes the connection after all queued frames are sent."""


class SessionLoop(Generic[Event, Inbound]):
    """Delivers events to a session one at a time, and opens its connections.

    Owns the inbox of events, the session's background tasks, and the task of the current connection.
    `to_event` makes an event of a frame; `offline_note` ends the sentence about an unreachable server.
    """

    def __init__(
        self,
        connections: Connections[Inbound],
        to_event: Callable[[Inbound], Event],
        reporter: Teller,
        random: Callable[[], float],
        offline_note: str = "",
    ) -> None:
        self._connections = connections
        self._to_event = to_event
        self._reporter = reporter
        self._random = random
        self._offline_note = offline_note
        # Each event with the frame that it was made of, if any. None says that the session may leave now.
        self._inbox: asyncio.Queue[
            tuple[Event | Connected | Disconnected | StopParticipant | BaseException | None, Inbound | None]
        ] = asyncio.Queue()
        self._background = SessionTasks(lambda error: self._inbox.put_nowait((error, None)))
        self.spawn = self._background.spawn
        self._connecting: asyncio.Task[None] | None = None
        # The reason why the last connection ended, as the end of a sentence.
        self.reason = ""
        self._last_connected = 0.0
        self._reconnect = asyncio.Event()
        self._idle = asyncio.Event()
        self._may_leave = False
        self.clock = WorkClock(time.monotonic)

    def post(self, event: Event) -> None:
        """Queues `event` for the session."""
        self._inbox.put_nowait((event, None))

    def set_idle(self, is_idle: bool) -> None:
        """Sets whether the session has no work; a peer that is stopping leaves as soon as it is idle."""
        if is_idle:
            self._idle.set()
        else:
            self._idle.clear()

    async def run(
        self,
        session: ClientSession[Event],
        start: Event,
        stop: asyncio.Event,
        leave: asyncio.Event | None = None,
    ) -> SessionEnd:
        """Runs from `start` until `stop` is set, the task is finished, or the server ends the session.

        Once `leave` is set, it ends as soon as the current unit or round is done.

        Raises the error that ended a background task, ReplacedError when the server serves another peer with
        the same token, and UnfitError when the task does not admit this one.
        """
        self._last_connected = asyncio.get_running_loop().time()
        self.spawn(self._wind_down_when(stop, session))
        if leave is not None:
            self.spawn(self._leave_when(leave, session))
        self.post(start)
        while True:
            event, frame = await self._inbox.get()
            if isinstance(event, BaseException):
                raise event
            if event is not None:
                session.handle(event)
            self.clock.enter(session.machine.phase)
            match session.machine.phase:
                case "finished":
                    self._reporter.tell("finished", "The task is finished; thank you.")
                    session.handle(StopParticipant())
                    return "finished"
                case "stopped":
                    if frame is not None:
                        raise _final_error(frame, session.machine.reason)
                    return "stopped"
            if self._may_leave and session.is_between_work:
                session.handle(StopParticipant())
                return "left"

    def connect(self, delay: float, dismissal: str | None) -> None:
        """Opens a connection after `delay` seconds; `dismissal` is why the server closed the last one."""
        if delay:
            cause = dismissal or f"The server is away ({self.reason})."
            sentence = f"{cause} Next attempt in {delay:.1f} s{self._offline_note}."
            self._reporter.tell("offline", sentence, seconds=round(delay, 3))
        self._connecting = self.spawn(self._connect_after(delay))

    def seconds_away(self, delay: float) -> float:
        """Returns for how many seconds the server will have been unreachable in `delay` seconds."""
        return asyncio.get_running_loop().time() + delay - self._last_connected

    def reconnect_now(self) -> None:
        """Makes the next attempt to connect immediately."""
        self._reconnect.set()

    async def end(self) -> None:
        """Lets the goodbye be sent, then ends all background tasks."""
        if self._connecting and self._connections.is_open:
            self._connections.finish()
            await asyncio.wait([self._connecting], timeout=GOODBYE_SECONDS)
        await self._background.end()

    async def _connect_after(self, delay: float) -> None:
        self._reconnect.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(delay):
                await self._reconnect.wait()
        was_connected = False

        def on_open() -> None:
            nonlocal was_connected
            was_connected = True
            self._inbox.put_nowait((Connected(), None))

        self.reason = await self._connections.run_once(
            on_open, lambda frame: self._inbox.put_nowait((self._to_event(frame), frame))
        )
        if was_connected:
            self._last_connected = asyncio.get_running_loop().time()
        self._inbox.put_nowait((Disconnected(self._random()), None))

    async def _wind_down_when(self, stop: asyncio.Event, session: ClientSession[Event]) -> None:
        """Waits for `stop`, then ends the current work after its step, within a few seconds, and leaves."""
        await stop.wait()
        self._reporter.tell("stopping", "Stopping after the current step.")
        session.wind_down()
        with suppress(TimeoutError):
            async with asyncio.timeout(WIND_DOWN_SECONDS):
                await self._idle.wait()
        self._inbox.put_nowait((StopParticipant(), None))

    async def _leave_when(self, leave: asyncio.Event, session: ClientSession[Event]) -> None:
        """Waits for `leave`, then lets the session end between two units or rounds."""
        await leave.wait()
        session.take_no_more()
        await asyncio.sleep(CROSSING_SECONDS)
        self._may_leave = True
        self._inbox.put_nowait((None, None))


def _final_error(frame: object, reason: str | None) -> MingaError:
    """Returns the error that explains why this peer must not rejoin."""
    if isinstance(frame, Closing) and frame.code == ReplacedError.code:
        return ReplacedError(reason or "Another peer replaced this one.")
    return UnfitError(reason or "The task refuses this peer.")
