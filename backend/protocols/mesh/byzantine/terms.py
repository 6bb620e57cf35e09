"""What the task file says about a Byzantine mesh."""

from __future__ import annotations

from msgspec import Struct


class ByzantineTerms(Struct, frozen=True, forbid_unknown_fields=True):
    """The section `[coordination.byzantine]`, and the times of a round in seconds.

    `radius` is per root of a part's size, None to measure it. A frame takes at most half of `patience`.
    """

    validators: int = 1
    radius: float | None = None
    far: float = 4.0
    probation: int = 100
    audits: int = 5
    seconds: float = 60.0
    patience: float = 5.0
