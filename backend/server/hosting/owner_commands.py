"""The owner's orders to a task in rounds, brought before its machine in a turn of the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from backend.server.hosting.mailbox import Mailbox

Effect = TypeVar("Effect")
Effect_co = TypeVar("Effect_co", covariant=True)


class CommandedMachine(Protocol[Effect_co]):
    """What obeys: the machine of a task in rounds, whatever its scheme."""

    def pause_requested(self) -> Sequence[Effect_co]:
        """No round is to open from now on."""

    def resume_requested(self, now: float) -> Sequence[Effect_co]:
        """Rounds may open again."""

    def stop_requested(self, reason: str) -> Sequence[Effect_co]:
        """No round is to follow the open one."""

    def cut_short(self, reason: str, now: float) -> Sequence[Effect_co]:
        """An open round is to end at once."""


class OwnerCommands(Generic[Effect]):
    """Owned by a task's host; `mailbox` are its own."""

    def __init__(
        self, machine: CommandedMachine[Effect], mailbox: Mailbox[Callable[[float], Sequence[Effect]]]
    ) -> None:
        self._machine = machine
        self._mailbox = mailbox

    async def pause(self, cut: str | None) -> None:
        """See Host."""
        await self._decide(self._machine.pause_requested, cut)

    async def resume(self) -> None:
        """See Host."""
        await self._mailbox.put(self._machine.resume_requested)

    async def finish(self, reason: str, cut: bool) -> None:
        """See Host."""
        await self._decide(lambda: self._machine.stop_requested(reason), reason if cut else None)

    async def _decide(self, decide: Callable[[], Sequence[Effect]], cut: str | None) -> None:
        def turn(now: float) -> Sequence[Effect]:
            effects = decide()
            return [*effects, *self._machine.cut_short(cut, now)] if cut is not None else effects

        await self._mailbox.put(turn)
