"""Push-sum gossip (Kempe, Dobra, Gehrke 2003, "Gossip-based computation of aggregate information", fig. 1).

Each peer has a sum and a weight. Every turn it keeps half of both and pushes the other half to a peer drawn
by lot; sum / weight comes nearer and nearer to the mean of all, without groups and leaders. The machine
decides and counts weights, its host has the sums. Peers end near each other, not with the same bits: so it
is no exchange of a group (docs/decisions/0031-averaging.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

from backend.numerics import philox


@dataclass(frozen=True)
class Push:
    """Send `to` half of the own sum with `weight`, as the push of `turn`; keep a copy until `DropPush`."""

    to: str
    turn: int
    weight: float


@dataclass(frozen=True)
class PushAgain:
    """Send the copy of the push of `turn` to `to` again: the first may have been lost with the link."""

    to: str
    turn: int
    weight: float


@dataclass(frozen=True)
class DropPush:
    """The push of `turn` arrived; its copy is not needed any more."""

    turn: int


@dataclass(frozen=True)
class TakeBack:
    """Add the copy of the push of `turn` to the own sum: whom it went to is gone for good."""

    turn: int


@dataclass(frozen=True)
class TakeIn:
    """Add what came from `of` in its `turn` to the own sum."""

    of: str
    turn: int


@dataclass(frozen=True)
class Confirm:
    """Tell `to` that its push of `turn` is here."""

    to: str
    turn: int


@dataclass(frozen=True)
class Settle:
    """All turns are done: the estimate is the own sum divided by `weight`, also after what still comes."""

    weight: float


Effect: TypeAlias = Push | PushAgain | DropPush | TakeBack | TakeIn | Confirm | Settle


def turns_for(peers: int, error: float) -> int:
    """Turns after which estimates are most likely within `error` of the mean, as a part of the first spread.

    In expectation a turn leaves half of the variance (Kempe et al., lemma 2.3): log2 n for all to hear of
    all, and two for each bit of the error.
    """
    return math.ceil(math.log2(max(peers, 2)) + 2 * math.log2(1 / error))


@dataclass
class PushSum:
    """The peer `own` at `place` of all. Owned by its host.

    `weight` is what its vector counts for, `every` the seconds between its `turns`, the first of which is
    due at `due`. Weights, and sums with them, are neither lost nor doubled while nobody is gone for good.
    """

    own: str
    place: int
    weight: float
    seed: int
    turns: int
    every: float
    due: float
    _turn: int = 0
    _linked: set[str] = field(default_factory=set)
    _pushed: dict[int, tuple[str, float]] = field(default_factory=dict)
    _taken: set[tuple[str, int]] = field(default_factory=set)

    def timer(self) -> float | None:
        """When `time_passed` is due; None when all turns are done."""
        return self.due if self._turn < self.turns else None

    def linked(self, peer: str) -> list[Effect]:
        """There is a link to `peer`; what it may not have heard is said again."""
        self._linked.add(peer)
        pushed = [(turn, *push) for turn, push in self._pushed.items()]
        return [PushAgain(to, turn, weight) for turn, to, weight in pushed if to == peer]

    def lost(self, peer: str) -> list[Effect]:
        """The link to `peer` is down for now."""
        self._linked.discard(peer)
        return []

    def gone(self, peer: str) -> list[Effect]:
        """`peer` will not come back: what it took in is lost to all, what it may not have is taken back."""
        self._linked.discard(peer)
        turns = [turn for turn, (to, _) in self._pushed.items() if to == peer]
        for turn in turns:
            self.weight += self._pushed.pop(turn)[1]
        return [TakeBack(turn) for turn in turns]

    def confirmed(self, peer: str, turn: int) -> list[Effect]:
        """`peer` has what was pushed to it in `turn`."""
        if self._pushed.get(turn, ("", 0.0))[0] != peer:
            return []
        del self._pushed[turn]
        return [DropPush(turn)]

    def came(self, peer: str, turn: int, weight: float) -> list[Effect]:
        """`peer` pushed `weight` and its share of a sum in its `turn`. A second time it is confirmed only."""
        if not 0.0 < weight < math.inf:
            return []
        if (peer, turn) in self._taken:
            return [Confirm(peer, turn)]
        self._taken.add((peer, turn))
        self.weight += weight
        return [TakeIn(peer, turn), Confirm(peer, turn)]

    def time_passed(self, now: float) -> list[Effect]:
        """A turn is due: pushes half to one of those that are linked."""
        effects: list[Effect] = []
        while self._turn < self.turns and now >= self.due:
            effects += self._push(self._turn)
            self._turn += 1
            self.due += self.every
            if self._turn == self.turns:
                effects.append(Settle(self.weight))
        return effects

    def _push(self, turn: int) -> list[Effect]:
        others = sorted(self._linked)
        if not others:
            return []
        [word] = philox.words(self.seed, turn, self.place, 1).tolist()
        to = others[word % len(others)]
        self.weight /= 2
        self._pushed[turn] = (to, self.weight)
        return [Push(to, turn, self.weight)]
