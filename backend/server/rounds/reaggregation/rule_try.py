"""The record of one try of a rule on kept updates, from its beginning to its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from backend.server.exports.version_comparison import Distance
from backend.stores.contracts import EvaluationRecord
from backend.stores.updates.kept_rounds import KeptRound

TryState = Literal["none", "waiting", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True)
class TriedRound:
    """A round with what the other rule made of it, and how far that is from the version that was made.

    `evaluation` is None where versions are not measured.
    """

    kept: KeptRound
    left_out: tuple[str, ...]
    distance: Distance
    evaluation: EvaluationRecord | None


@dataclass
class RuleTry:
    """One try of a rule, from its beginning to its end; `rounds` are those that are done."""

    words: str = ""
    attackers: int = 0
    state: TryState = "none"
    reason: str = ""
    planned: int = 0
    rounds: list[TriedRound] = field(default_factory=list)
