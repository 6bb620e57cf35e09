"""A finished training whose round had no result, cached for the next round of the same version."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from backend.peer.training.trainer import TrainingResult
from backend.wire.messages import Refused, ServerFrame, Train, Version

# Refused for what it is; any other refusal is about the round it was for.
PERMANENT_REFUSALS = frozenset({"not-finite", "norm-too-large", "wrong-length", "bad-examples"})


@dataclass
class UpdateCache:
    """The last whole training of one session, until a version is made or the update is found bad.

    An abandoned round costs its clients nothing: what they trained holds as long as nobody has a newer
    version. Where updates are masked it was not seen by anybody, and is masked anew.
    """

    name: str = ""
    plan: Train | None = None
    result: TrainingResult | None = None

    def keep(self, name: str, plan: Train, result: TrainingResult) -> None:
        """Remembers what `plan` made if it was done to its end; `name` says whose and what run's it is."""
        if result.steps == result.planned:
            self.name, self.plan, self.result = name, _same_training(plan), result

    def take(self, name: str, plan: Train) -> TrainingResult | None:
        """What `plan` would make, if that was made already."""
        return self.result if (self.name, self.plan) == (name, _same_training(plan)) else None

    def observe(self, frame: ServerFrame) -> None:
        """Forgets what a newer version makes stale, and what the server will never take."""
        if isinstance(frame, Version) or (isinstance(frame, Refused) and frame.code in PERMANENT_REFUSALS):
            self.plan = self.result = None


def _same_training(plan: Train) -> Train:
    """What a plan asks to be trained. Its seed only orders the examples anew."""
    return replace(plan, round=0, seed=0, seconds=0.0, masking=None)
