"""Suspicion: what a client's evidence adds up to over rounds, and when its updates do not count.

Evidence of a round is a number from 0 to 1. Suspicion is its sum with exponential decay: the negative
feedback of a beta reputation system with a forgetting factor (Josang and Ismail 2002, "The Beta Reputation
System"). Good rounds let it decay, but earn no credit: a client that was honest for long has no more bad
rounds than any other. It decays with the rounds of the client alone, so that waiting restores nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

EvidenceKind: TypeAlias = Literal["refused", "distance", "direction", "repetition", "left-out"]

# Three bad rounds in a row begin a quarantine, whatever half-life of 6 rounds or more: 1 + 0.89 + 0.79.
LIMIT = 2.5
# Suspicion grows no further, so that a quarantine can end.
MOST = 2.0 * LIMIT
# A quarantine ends below this.
LOW = LIMIT / 2.0
# Multiples of the usual distance from which an update is far, and certainly false. Honest clients on skewed
# digits were at 1.4 at most, also with a third of the clients at the centre to make them look far.
FAR, TOO_FAR = 1.8, 2.6
# An update opposes the round if it opposes so many of the others. A third of the clients cannot reach that
# against an honest one, unless half of the other honest ones oppose it, too.
OPPOSED = 2.0 / 3.0
# A rule leaves out honest clients, too, some of them always: alone that comes to a fifth of the limit.
LEFT_OUT_SHARE = 0.2
# The quarantines after which the next one lasts no longer.
MOST_DOUBLINGS = 6


@dataclass(frozen=True)
class SuspicionRules:
    """Suspicion halves in `half_life` rounds, 2 or more; a first quarantine lasts at least `quarantine`.

    All are rounds in which the client sends an update.
    """

    half_life: float
    quarantine: int

    @property
    def decay(self) -> float:
        """The factor of one round."""
        return float(0.5 ** (1.0 / self.half_life))


@dataclass(frozen=True)
class Suspicion:
    """The suspicion of one client; `quarantines` is how many began, `served` the rounds of the current one.

    In its next `probation` good rounds its updates do not count yet.
    """

    score: float = 0.0
    quarantined: bool = False
    quarantines: int = 0
    served: int = 0
    probation: int = 0

    @property
    def counts(self) -> bool:
        """Whether its updates count."""
        return not self.quarantined and not self.probation

    @property
    def weight(self) -> float:
        """The factor, 0 to 1, of its weight in a mean: 1 without suspicion, 0 if its updates do not count."""
        return max(0.0, 1.0 - self.score / LIMIT) if self.counts else 0.0

    def served_at_least(self, rules: SuspicionRules) -> int:
        """Returns how many rounds its quarantine lasts at least: each is twice as long as the one before."""
        doublings = min(max(0, self.quarantines - 1), MOST_DOUBLINGS)
        return rules.quarantine * (1 << doublings)

    @property
    def is_blank(self) -> bool:
        """Whether it says nothing that a client without any would not have."""
        return self.score < 0.01 and self.counts and not self.quarantines


def evidence_of(
    distance: float, opposed: float, repeats: bool, left_out: bool, rules: SuspicionRules
) -> dict[EvidenceKind, float]:
    """Returns the strength of each kind of evidence against an update, 0 to 1, without those of 0.

    `distance` and `opposed` are those of `compare_round`; `repeats` says that it repeats an earlier one of
    its client, `left_out` that the round's rule did not use it.
    """
    found: dict[EvidenceKind, float] = {}
    if (far := min(1.0, (distance - FAR) / (TOO_FAR - FAR))) > 0.0:
        found["distance"] = far
    if opposed >= OPPOSED - 1e-9:
        found["direction"] = 1.0
    if repeats:
        found["repetition"] = 1.0
    if left_out:
        # The sum of a geometric series.
        found["left-out"] = LEFT_OUT_SHARE * LIMIT * (1.0 - rules.decay)
    return found


def newcomer(quarantined: int, rules: SuspicionRules) -> Suspicion:
    """Returns the suspicion of a new client of a household with so many `quarantined` ones.

    It begins below the limit: its first or second bad round is one too many. Its updates count after 1, 2, 4
    and so on good rounds, at most `rules.quarantine`: a neighbour waits once, and one person under ever new
    names works for nothing.
    """
    if not quarantined:
        return Suspicion()
    probation = min(2 ** min(quarantined - 1, MOST_DOUBLINGS), rules.quarantine)
    return Suspicion(LIMIT * (1.0 - 0.5 ** min(quarantined, 2)), probation=probation)


def after_round(
    before: Suspicion, evidence: Mapping[EvidenceKind, float], rules: SuspicionRules
) -> Suspicion:
    """Returns the suspicion after a round in which the client sent an update, or a malformed one."""
    strength = min(1.0, sum(evidence.values()))
    score = min(MOST, rules.decay * before.score + strength)
    is_good = strength < LEFT_OUT_SHARE
    probation = max(0, before.probation - is_good)
    if not before.quarantined:
        if score < LIMIT:
            return replace(before, score=score, probation=probation)
        return Suspicion(score, True, before.quarantines + 1, 0, probation)
    served = before.served + 1
    is_over = served >= before.served_at_least(rules) and score < LOW
    return replace(before, score=score, served=served, probation=probation, quarantined=not is_over)


def lifted(before: Suspicion) -> Suspicion:
    """Returns the suspicion after the owner lifted it. Its quarantines remain counted."""
    return Suspicion(quarantines=before.quarantines)
