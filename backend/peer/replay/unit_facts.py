"""The facts of a work unit as the server tells them (docs/reference/http.md): the work, and its results."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from backend.errors import UnreachableError

Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Meta(ge=1)]


class Work(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What determines a unit's result, bit for bit: files by their hash, and the plan.

    `steps` are taken from `first_step` on: other clients' results have the steps before.
    """

    bundle: Sha256
    weights: Sha256
    shard: Sha256
    first: Annotated[int, Meta(ge=0)]
    examples: Count
    seed: int
    steps: Count
    batch_size: Count
    learning_rate: float
    past_steps: int
    first_step: Annotated[int, Meta(ge=0)] = 0
    proximal_mu: float

    def plan(self, steps: int) -> dict[str, object]:
        """Returns the plan in the worker's words (webapp/static/src/core/messages/training.ts)."""
        rows = {"first": self.first, "count": self.examples}
        return {
            "seed": self.seed,
            "epochs": 0,
            "steps": steps,
            "batchSize": self.batch_size,
            "learningRate": self.learning_rate,
            "pastSteps": self.past_steps,
            "firstStep": self.first_step,
            "proximalMu": self.proximal_mu,
            "control": None,
            "privacy": None,
            "protection": None,
            "until": None,
            "shards": [self.shard],
            "unit": {"lease": 0, "rows": rows, "start": None, "checkpoints": True},
        }


class UnitResult(Struct, frozen=True):
    """A client's result. `sha256` is that of the update, None until it arrived; `verdict` None until judged.

    `start` is `given` if it began at the unit's weights. It may have fewer `steps` than the unit.
    `checkpoints` are as in `protocols.replay.checkpoints`.
    """

    client: str
    kind: str
    backend: str
    start: str
    steps: int | None
    sha256: Sha256 | None
    verdict: str | None
    checkpoints: list[Sha256]


class UnitFacts(Struct, frozen=True):
    """A unit and its results; `kept`: the server still has the weights that it began with."""

    unit: int
    epoch: int
    work: Work
    kept: bool
    results: list[UnitResult]


def parse_facts(content: bytes, server: str) -> UnitFacts:
    """Decodes the server's answer. Raises UnreachableError if it is none."""
    try:
        return msgspec.json.decode(content, type=UnitFacts)
    except msgspec.DecodeError as error:
        raise UnreachableError(
            f"{server} describes the unit in an unknown form ({error}); install the server's version of "
            "Minga."
        ) from error
