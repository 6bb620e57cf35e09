"""What the survivors of a masked round revealed to its server, and when that suffices to unmask their sum."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from backend.crypto.shamir import valid
from backend.protocols.secagg.neighbours import Graph
from backend.protocols.secagg.server_effects import Place, Recover


@dataclass
class Reveals:
    """Shares of the secrets of all who share masks in `graph`; the sum is of those who are `alive`.

    `holders` says how many revealed theirs, and `recovering` whether the host unmasks the sum now. Owned by
    the machine.
    """

    graph: Graph
    alive: tuple[Place, ...]
    holders: int = 0
    recovering: bool = False
    # By owner and by holder; not in a representation, which may end in a log.
    _shares: dict[Place, dict[Place, bytes]] = field(init=False, repr=False)
    # From so many holders the last try was made.
    _tried: int = 0

    def __post_init__(self) -> None:
        self._shares = {place: {} for place in self.graph.pairs}

    @property
    def enough(self) -> bool:
        """Whether there are as many shares of each secret as recover it, be they right or wrong."""
        return all(len(shares) >= self.graph.degree.threshold for shares in self._shares.values())

    def take(self, holder: Place, shares: Iterable[bytes]) -> None:
        """One member reveals a share of each of whom it holds one, in the order of their places."""
        self.holders += 1
        for owner, share in zip(self.graph.held(holder), shares, strict=True):
            # Of shares that could not be opened a member reveals what is no share.
            if valid(share):
                self._shares[owner][holder] = share

    def may_try(self, over: bool) -> bool:
        """Whether to unmask: as soon as the shares suffice, or with more of them when the stage is `over`."""
        return self.enough and (not self._tried or (over and self.holders > self._tried))

    def recover(self, number: int) -> Recover:
        """Tries to unmask round `number` with all that was revealed."""
        self._tried, self.recovering = self.holders, True
        graph = self.graph
        dead = [place for place in graph.pairs if place not in self.alive]
        return Recover(
            round=number,
            context=graph.context,
            members=graph.members,
            threshold=graph.degree.threshold,
            pairs=tuple(tuple(graph.pairs.get(place, ())) for place in range(len(graph.members))),
            alive=self.alive,
            seeds=self._of(self.alive),
            mask_keys=self._of(dead),
        )

    def _of(self, owners: Collection[Place]) -> dict[Place, Mapping[Place, bytes]]:
        return {owner: dict(self._shares.get(owner, {})) for owner in sorted(owners)}
