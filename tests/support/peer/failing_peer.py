"""Runs the command `minga` as an honest member of a Byzantine mesh that fails in a named phase of a round.

Usage: `python -m tests.support.peer.failing_peer FILE peer join URL ... --json`. FILE has a phase and a
fault, such as `means kill`. The member fails when it enters that phase next: it reports `fault`, deletes the
file, and kills or stops itself, or holds its round up for two seconds. It reports `standing` after each
round: who has a seat, who took part, who is banned.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

from backend.__main__ import main
from backend.peer.mesh.averager import TrainedWork
from backend.peer.mesh.byzantine import averager, member
from backend.peer.mesh.byzantine.averager import ByzantineAverager
from backend.peer.mesh.byzantine.exchange import ByzantineExchange
from backend.peer.mesh.byzantine.learner import ByzantineLearner
from backend.peer.training.training_jobs import TrainingJob
from backend.protocols.mesh.byzantine import round_events as events
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.mesh_messages import Entered
from backend.wire.messages import Train

# For frames of earlier phases to leave this process.
FLUSH_SECONDS = 0.1
# At most, or until the file is there again.
HOLD_SECONDS = 2.0


class _Faults:
    """The fault that the file names, if it names one."""

    path = Path()

    def wanted(self, phase: str) -> str | None:
        """Returns the fault that is due in this phase, if there is one."""
        try:
            wanted, fault = self.path.read_text("utf-8").split()
        except (FileNotFoundError, ValueError):
            return None
        return fault if wanted == phase else None

    def enter(self, phase: str, number: int) -> None:
        """Fails, if this is the phase of round `number` in which the member has to."""
        fault = self.wanted(phase)
        if fault is None:
            return
        self.path.unlink()
        print(json.dumps({"event": "fault", "fault": fault, "phase": phase, "round": number}), flush=True)
        if fault == "hold":
            self._hold()
        else:
            os.kill(os.getpid(), signal.SIGKILL if fault == "kill" else signal.SIGSTOP)

    def _hold(self) -> None:
        until = time.monotonic() + HOLD_SECONDS
        while not self.path.exists() and time.monotonic() < until:
            time.sleep(0.01)
        self.path.unlink(missing_ok=True)


_FAULTS = _Faults()


class FailingLearner(ByzantineLearner):
    """May fail between two rounds."""

    async def train(self, job: TrainingJob[Train], entered: Entered) -> TrainedWork | None:
        _FAULTS.enter("between", job.order.round)
        return await super().train(job, entered)


class FailingExchange(ByzantineExchange):
    """May fail before it says what is due in a phase, before it sends a piece, or before it sends a mean."""

    _sent = 0

    def _perform(self, effect: events.RoundEffect) -> None:
        phase = self._phase(effect)
        if phase is None or _FAULTS.wanted(phase) is None:
            super()._perform(effect)
        else:
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._fail_in, phase, effect)

    def _fail_in(self, phase: str, effect: events.RoundEffect) -> None:
        _FAULTS.enter(phase, self._given.state.round + 1)
        super()._perform(effect)

    def _phase(self, effect: events.RoundEffect) -> str | None:
        match effect:
            case events.SayToAll(statement) if not statement.phase.startswith(("call", "shown")):
                return statement.phase
            case events.SendBytes(digest):
                self._sent += 1
                if digest == self._machine.turn.mean:
                    return "means"
                return "pieces" if self._sent > 1 else None
            case _:
                return None


class FrankAverager(ByzantineAverager):
    """Reports each state that it ends a round with."""

    def _tell_membership(self, before: AgreedState | None) -> None:
        super()._tell_membership(before)
        state, proof = self._states.newest, self._states.proof
        if state is None or proof is None:
            return
        membership = state.membership
        found = {
            "event": "standing",
            "client": self._links.local.client,
            "round": state.round,
            "state": state.digest().hex(),
            "seats": [seat.client for seat in membership.seats],
            "present": membership.present(state.round + 1),
            "active": proof.active,
            "banned": len(membership.banned),
        }
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    _FAULTS.path = Path(sys.argv[1])
    # The modules in which the session finds its classes.
    for module, name, kind in (
        (averager, "ByzantineExchange", FailingExchange),
        (member, "ByzantineLearner", FailingLearner),
        (member, "ByzantineAverager", FrankAverager),
    ):
        setattr(module, name, kind)
    sys.exit(main(sys.argv[2:]))
