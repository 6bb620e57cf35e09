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


class VolunteerData(Part, frozen=True):
    """What volunteers' own data must be like."""

    minimum: Number = 1
    maximum: Annotated[int, Meta(ge=1, le=1 << 21)] = 100_000
    holdout: Share = 0.1

    def __post_init__(self) -> None:
        if self.minimum > self.maximum:
            raise ValueError("minimum is over maximum, so nobody could take part")


class Data(Part, frozen=True):
    """Where the examples come from."""

    source: Literal["shards", "volunteer"]
    shards: str | None = None
    shards_per_client: Number = 1
    holdout: Share = 0.1
    partition: Partition | None = None
    preprocess: Preprocess | None = None
    volunteer: VolunteerData | None = None

    def __post_init__(self) -> None:
        if self.source == "shards":
            if self.shards is None:
                raise ValueError('source = "shards" needs `shards`, the folder of shards.json')
            if self.volunteer is not None:
                raise ValueError('volunteer goes with source = "volunteer"')
            return
        if self.preprocess is None:
            raise ValueError('source = "volunteer" needs `preprocess`, which says what people bring')
        if self.shards is not None or self.partition is not None or self.shards_per_client != 1:
            raise ValueError('shards, shards_per_client and partition go with source = "shards"')

    @property
    def own(self) -> VolunteerData | None:
        """What volunteers' own data must be like; None where shards are dealt out."""
        return (self.volunteer or VolunteerData()) if self.source == "volunteer" else None
