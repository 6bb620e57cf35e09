"""The owner's commands to a task in rounds, brought before its machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from backend.server.hosting.host_events import FinishRequested, OwnerRequest, PauseRequested, ResumeRequested

Effect = TypeVar("Effect")
Effect_co = TypeVar("Effect_co", covariant=True)


class CommandedMachine(Protocol[Effect_co]):
    """The machine of a task in rounds, whether the server averages or peers do."""

    def pause_requested(self) -> Sequence[Effect_co]:
        """No round is to open from now on."""

    def resume_requested(self, now: float) -> Sequence[Effect_co]:
        """Rounds may open again."""

    def stop_requested(self, reason: str) -> Sequence[Effect_co]:
        """No round is to follow the open one."""

    def cut_short(self, reason: str, now: float) -> Sequence[Effect_co]:
        """An open round is to end at once."""


def command(machine: CommandedMachine[Effect], request: OwnerRequest, now: float) -> Sequence[Effect]:
    """Brings the owner's request before the machine; the effects to be performed."""
    match request:
        case PauseRequested(cut):
            effects = machine.pause_requested()
            return effects if cut is None else [*effects, *machine.cut_short(cut, now)]
        case ResumeRequested():
            return machine.resume_requested(now)
        case FinishRequested(reason, cut):
            effects = machine.stop_requested(reason)
            return [*effects, *machine.cut_short(reason, now)] if cut else effects
