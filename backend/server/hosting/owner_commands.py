"""Passes the owner's commands to the machine of a task in rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from backend.server.hosting.clients.connected_clients import ConnectedClients
from backend.server.hosting.host_events import FinishRequested, OwnerRequest, PauseRequested, ResumeRequested

Effect = TypeVar("Effect")
Effect_co = TypeVar("Effect_co", covariant=True)


class CommandedMachine(Protocol[Effect_co]):
    """The machine of a task in rounds, in which the server or the peers average."""

    def pause_requested(self) -> Sequence[Effect_co]:
        """Opens no further round until resumed."""

    def resume_requested(self, now: float) -> Sequence[Effect_co]:
        """Allows rounds to open again."""

    def stop_requested(self, reason: str) -> Sequence[Effect_co]:
        """Opens no round after the open one."""

    def cut_short(self, reason: str, now: float) -> Sequence[Effect_co]:
        """Ends an open round immediately."""


def command(
    machine: CommandedMachine[Effect], clients: ConnectedClients, request: OwnerRequest, now: float
) -> Sequence[Effect]:
    """Passes the owner's request to the machine; returns the effects to perform.

    Sets whether a training that ended may go on, for which its clients wait.
    """
    clients.wait_at_end = isinstance(request, FinishRequested) and request.cut
    match request:
        case PauseRequested(cut):
            effects = machine.pause_requested()
            return effects if cut is None else [*effects, *machine.cut_short(cut, now)]
        case ResumeRequested():
            return machine.resume_requested(now)
        case FinishRequested(reason, cut):
            effects = machine.stop_requested(reason)
            return [*effects, *machine.cut_short(reason, now)] if cut else effects
