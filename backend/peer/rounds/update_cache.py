"""Caches a finished training whose round was abandoned, for the next round of the same version."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from backend.peer.training.trainer import TrainingResult
from backend.wire.messages import Refused, ServerFrame, Train, Version

# Refusals of the update itself; all others concern only the round.
INVALID_UPDATE_CODES = frozenset({"not-finite", "norm-too-large", "wrong-length", "bad-examples"})


@dataclass
class UpdateCache:
    """The last whole training of a session, until there is a new version or the update is found invalid.

    An abandoned open round costs its clients nothing: their updates stay valid until a newer version exists.
    Updates of masked rounds are not cached: the same update in two sums could be found by subtraction.
    """

    name: str = ""
    plan: Train | None = None
    result: TrainingResult | None = None

    def keep(self, name: str, plan: Train, result: TrainingResult) -> None:
        """Stores the result of an open round's `plan` if all its steps were done.

        `name` identifies client and task run.
        """
        if result.steps == result.planned and plan.masking is None:
            self.name, self.plan, self.result = name, _comparable_plan(plan), result

    def take(self, name: str, plan: Train) -> TrainingResult | None:
        """Returns the result of `plan`, if it is in the cache."""
        if plan.masking is not None:
            return None
        return self.result if (self.name, self.plan) == (name, _comparable_plan(plan)) else None

    def observe(self, frame: ServerFrame) -> None:
        """Drops what a newer version makes stale, and what the server refused as invalid."""
        if isinstance(frame, Version) or (isinstance(frame, Refused) and frame.code in INVALID_UPDATE_CODES):
            self.plan = self.result = None


def _comparable_plan(plan: Train) -> Train:
    """Returns the plan without the fields that do not change its result.

    The seed only changes the order of the examples.
    """
    return replace(plan, round=0, seed=0, seconds=0.0)
