"""The table [data]: where the examples come from."""

from __future__ import annotations

from typing import Literal

from backend.services.taskfile.types import Number, Part, Positive


class Preprocess(Part, frozen=True):
    """What happens to raw shard values before the model sees them."""

    scale: Positive = 1.0


class Data(Part, frozen=True):
    """Where the examples come from."""

    source: Literal["shards"]
    shards: str
    shards_per_client: Number = 1
    preprocess: Preprocess | None = None
