"""The table [data]: where the examples come from, and what becomes of them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from backend.numerics.preprocess.declared import Preprocess
from backend.services.taskfile.types import Number, Part, Positive, Share


class Partition(Part, frozen=True):
    """How `minga shard` deals the examples out to clients, for experiments."""

    kind: Literal["iid", "dirichlet"]
    clients: Annotated[int, Meta(ge=1, le=10_000)]
    alpha: Positive | None = None

    def __post_init__(self) -> None:
        if (self.kind == "dirichlet") != (self.alpha is not None):
            raise ValueError('alpha goes with kind = "dirichlet", which needs it')


class Data(Part, frozen=True):
    """Where the examples come from."""

    source: Literal["shards"]
    shards: str
    shards_per_client: Number = 1
    holdout: Share = 0.1
    partition: Partition | None = None
    preprocess: Preprocess | None = None
