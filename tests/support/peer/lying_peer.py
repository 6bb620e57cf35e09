"""Runs the command `minga` as a member of a Byzantine mesh that lies.

Usage: `python -m tests.support.peer.lying_peer LIE peer join URL ...`. LIE is one of LIES.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from copy import copy
from dataclasses import replace

import numpy as np
from msgspec import structs

from backend.__main__ import main
from backend.peer.mesh.averager import TrainedWork
from backend.peer.mesh.byzantine import averager, member
from backend.peer.mesh.byzantine.exchange import ByzantineExchange
from backend.peer.mesh.byzantine.learner import ByzantineLearner
from backend.peer.mesh.byzantine.work_judge import WorkJudge
from backend.peer.training.trainer import TrainingResult
from backend.peer.training.training_jobs import TrainingJob
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.mesh_messages import Entered
from backend.wire.messages import Shard, Train

# The first round in which a late liar lies.
LATE = 20
NOWHERE = Shard(sha256="0" * 64, examples=100)


class SignFlipper(ByzantineLearner):
    """Sends a thousand times the opposite of its work."""

    async def train(self, job: TrainingJob[Train], entered: Entered) -> TrainedWork | None:
        work = await super().train(job, entered)
        ready = self.prepared
        if ready is not None and ready.update is not None:
            self.prepared = replace(ready, update=np.float32(-1000) * ready.update)
        return work


class LateSignFlipper(SignFlipper):
    """Is honest before the round LATE."""

    async def train(self, job: TrainingJob[Train], entered: Entered) -> TrainedWork | None:
        if job.order.round < LATE:
            return await ByzantineLearner.train(self, job, entered)
        return await super().train(job, entered)


class FalseAccuser(ByzantineLearner):
    """Says of everybody's work that it is other work."""

    async def train(self, job: TrainingJob[Train], entered: Entered) -> TrainedWork | None:
        work = await super().train(job, entered)
        if self.prepared is not None:
            judgements = [
                type(one)(target=one.target, round=one.round, found="other")
                for one in self.prepared.judgements
            ]
            self.prepared = replace(self.prepared, judgements=judgements)
        return work


class HalfWorker(ByzantineLearner):
    """Does half of the steps in its own work, and all of them when it checks others."""

    async def _own(self, job: TrainingJob[Train], state: AgreedState) -> TrainingResult | None:
        rules = self._states.rules
        self._states.rules = structs.replace(rules, steps=rules.steps // 2)
        try:
            return await super()._own(job, state)
        finally:
            self._states.rules = rules


class BitFlipper(ByzantineLearner):
    """Sends its work with one bit of one value flipped, the lowest of its mantissa."""

    async def train(self, job: TrainingJob[Train], entered: Entered) -> TrainedWork | None:
        work = await super().train(job, entered)
        ready = self.prepared
        if ready is not None and ready.update is not None:
            update = ready.update.copy()
            update.view(np.uint32)[len(update) // 2] ^= np.uint32(1)
            self.prepared = replace(ready, update=update)
        return work


class WrongOwner(ByzantineExchange):
    """Makes another mean of its part than its pieces give."""

    async def _make_mean(self, job: Callable[[], bytes]) -> None:
        await super()._make_mean(lambda: (np.frombuffer(job(), "<f4") + np.float32(1)).tobytes())


class ShardlessJudge(WorkJudge):
    """Asks the server for examples that it does not have, to do the work of others: no lie, but bad luck."""

    async def trained(
        self, job: TrainingJob[Train], state: AgreedState, client: str, give_up_after: float = math.inf
    ) -> TrainingResult | None:
        states = self._states
        if client != self._links.local.client:
            self._states = copy(states)
            self._states.rules = structs.replace(states.rules, shards=[NOWHERE])
        try:
            return await super().trained(job, state, client, give_up_after)
        finally:
            self._states = states


# By the name of a lie: the module in which the session finds a class, its name there, and the liar's.
LIES = {
    "sign": (member, "ByzantineLearner", SignFlipper),
    "late-sign": (member, "ByzantineLearner", LateSignFlipper),
    "half": (member, "ByzantineLearner", HalfWorker),
    "bit": (member, "ByzantineLearner", BitFlipper),
    "accuse": (member, "ByzantineLearner", FalseAccuser),
    "shardless": (member, "WorkJudge", ShardlessJudge),
    "mean": (averager, "ByzantineExchange", WrongOwner),
}


if __name__ == "__main__":
    setattr(*LIES[sys.argv[1]])
    sys.exit(main(sys.argv[2:]))
