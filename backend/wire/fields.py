"""The field types of messages with their limits, and the base of all messages."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

PROTOCOL = "minga.1"
CHUNK_BYTES = 256 * 1024

Token = Annotated[str, Meta(min_length=22, max_length=64, pattern=r"^[A-Za-z0-9_-]+\Z")]
Word = Annotated[str, Meta(max_length=32, pattern=r"^[a-z0-9-]+\Z")]
Text = Annotated[str, Meta(max_length=500)]
Hash = Annotated[str, Meta(min_length=64, max_length=64, pattern=r"^[0-9a-f]+\Z")]
Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Metrics = Annotated[dict[Annotated[str, Meta(max_length=64)], float], Meta(max_length=16)]
# A numerator and a denominator for each metric row of the bundle, added up over examples.
Sums = Annotated[list[tuple[float, float]], Meta(max_length=2048)]
Kind = Literal["browser", "peer"]
Phase = Literal["waiting", "training", "evaluating", "aggregating", "paused", "finished"]
Status = Literal["loading", "ready", "training", "evaluating", "reported", "refused"]
Source = Literal["server", "clients"]


class WireFrame(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", kw_only=True):
    """The base of every message."""
