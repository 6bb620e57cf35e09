"""One peer's stay at a task, from the first connection to the goodbye; its session fills it with effects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from backend.errors import MingaError, ReplacedError, UnfitError
from backend.peer.session.background_tasks import SessionTasks
from backend.peer.session.progress import Teller
from backend.protocols.client.connection import Contact
from backend.protocols.client.participant_events import Connected, Disconnected, StopParticipant
from backend.wire.messages import Closing

# A peer that is told to stop ends within 25 s: this for what is in hand, the rest for a long step.
WIND_DOWN_SECONDS = 8.0
GOODBYE_SECONDS = 3.0

Event = TypeVar("Event")
Event_contra = TypeVar("Event_contra", contravariant=True)
Heard = TypeVar("Heard")
Heard_co = TypeVar("Heard_co", covariant=True)


class ClientMachine(Protocol):
    """What a stay reads of the machine of its client."""

    contact: Contact
    reason: str | None

    @property
    def phase(self) -> StrEnum:
        """What the client does."""


class Guest(Protocol[Event_contra]):
    """The session of a stay."""

    @property
    def machine(self) -> ClientMachine:
        """The client's."""

    def handle(self, event: Event_contra | Connected | Disconnected | StopParticipant) -> None:
        """Has the machine hear `event`, and performs what it decides."""

    def wind_down(self) -> None:
        """Ends what is in hand after the current step."""


class SessionConnections(Protocol[Heard_co]):
    """What a stay asks of its session's line to the server; server_connection.py has the words."""

    @property
    def is_open(self) -> bool:
        """Whether there is a connection now."""

    async def talk(self, opened: Callable[[], None], said: Callable[[Heard_co], None]) -> str:
        """Holds one connection until it ends, and returns why."""

    def hang_up(self) -> None:
        """Ends it after all that was queued."""


class SessionLoop(Generic[Event, Heard]):
    """Owns the events to come, what goes on beside each other, and when the line opens.

    `frame` makes an event of what the server said; `meanwhile` ends the sentence about a server that is away.
    """

    def __init__(
        self,
        line: SessionConnections[Heard],
        frame: Callable[[Heard], Event],
        reporter: Teller,
        random: Callable[[], float],
        meanwhile: str = "",
    ) -> None:
        self._line = line
        self._frame = frame
        self._reporter = reporter
        self._random = random
        self._meanwhile = meanwhile
        # Each event with the frame that it is of.
        self._inbox: asyncio.Queue[
            tuple[Event | Connected | Disconnected | StopParticipant | BaseException, Heard | None]
        ] = asyncio.Queue()
        self._background = SessionTasks(lambda error: self._inbox.put_nowait((error, None)))
        self.spawn = self._background.spawn
        self._connection: asyncio.Task[None] | None = None
        # Why the last connection ended, as the end of a sentence.
        self.reason = ""
        self._there = 0.0
        self._hastened = asyncio.Event()
        self._rests = asyncio.Event()

    def tell(self, event: Event) -> None:
        """The session is to handle `event`."""
        self._inbox.put_nowait((event, None))

    def rests(self, rests: bool) -> None:
        """Whether nothing is in hand now; who is told to stop leaves then."""
        if rests:
            self._rests.set()
        else:
            self._rests.clear()

    async def run(self, session: Guest[Event], start: Event, stop: asyncio.Event) -> None:
        """Begins with `start` and goes on until `stop` is set, the task is finished, or the server says so.

        Raises what ends a chore, ReplacedError when the server talks to another peer with the same token, and
        UnfitError when the task does not take this one.
        """
        self._there = asyncio.get_running_loop().time()
        self.spawn(self._stop_when(stop, session))
        self.tell(start)
        while True:
            event, said = await self._inbox.get()
            if isinstance(event, BaseException):
                raise event
            session.handle(event)
            match session.machine.phase:
                case "finished":
                    self._reporter.tell("finished", "The task is finished; thank you.")
                    session.handle(StopParticipant())
                    return
                case "stopped":
                    if said is not None:
                        raise _final(said, session.machine.reason)
                    return

    def connect(self, delay: float, dismissal: str | None) -> None:
        """Opens the line after `delay` seconds; `dismissal` is why the server closed it, if it did."""
        if delay:
            cause = dismissal or f"The server is away ({self.reason})."
            sentence = f"{cause} Next attempt in {delay:.1f} s{self._meanwhile}."
            self._reporter.tell("offline", sentence, seconds=round(delay, 3))
        self._connection = self.spawn(self._talk(delay))

    def away(self, delay: float) -> float:
        """For how many seconds the server will have been away in `delay` seconds."""
        return asyncio.get_running_loop().time() + delay - self._there

    def hasten(self) -> None:
        """The next attempt is made at once."""
        self._hastened.set()

    async def end(self) -> None:
        """Lets the goodbye go out, then ends what is left."""
        if self._connection and self._line.is_open:
            self._line.hang_up()
            await asyncio.wait([self._connection], timeout=GOODBYE_SECONDS)
        await self._background.end()

    async def _talk(self, delay: float) -> None:
        self._hastened.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(delay):
                await self._hastened.wait()
        was_there = False

        def opened() -> None:
            nonlocal was_there
            was_there = True
            self._inbox.put_nowait((Connected(), None))

        self.reason = await self._line.talk(
            opened, lambda frame: self._inbox.put_nowait((self._frame(frame), frame))
        )
        if was_there:
            self._there = asyncio.get_running_loop().time()
        self._inbox.put_nowait((Disconnected(self._random()), None))

    async def _stop_when(self, stop: asyncio.Event, session: Guest[Event]) -> None:
        """Ends what is in hand after the current step, gives it a few seconds, and leaves."""
        await stop.wait()
        self._reporter.tell("stopping", "Stopping after the current step.")
        session.wind_down()
        with suppress(TimeoutError):
            async with asyncio.timeout(WIND_DOWN_SECONDS):
                await self._rests.wait()
        self._inbox.put_nowait((StopParticipant(), None))


def _final(said: object, reason: str | None) -> MingaError:
    """Why this peer is not to come back."""
    if isinstance(said, Closing) and said.code == ReplacedError.code:
        return ReplacedError(reason or "Another peer took this one's place.")
    return UnfitError(reason or "The task does not take this peer.")
