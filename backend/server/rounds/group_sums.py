"""The masked sums of a round's groups, and what they say together; most rounds have one group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from backend.crypto.round_context import Terms
from backend.errors import MaskingError
from backend.numerics.aggregation.weighted_mean import UpdateMean
from backend.numerics.masking.encoding import Decoded
from backend.numerics.vectors import Vector64
from backend.protocols.secagg.server_effects import Recover
from backend.server.rounds.masked_sum import MaskedSum, empty_sum
from backend.wire.masked_messages import Masking

# A weight is sent as a whole number, so that the sum of n weights of 1 may exceed n by its rounding.
_ROUNDING = 1e-6


@dataclass
class GroupSums:
    """The sums of one round's groups, with the same terms. Owned by the worker thread of the task's jobs.

    Memory: one vector a group. `used` has the numbers of the groups that are in the aggregate, in the order
    in which they were added to it.
    """

    masking: Masking
    terms: Terms
    sums: list[MaskedSum]
    used: list[int] = field(default_factory=list)

    @classmethod
    def empty(cls, masking: Masking, terms: Terms, groups: int) -> GroupSums:
        """Returns the empty sums of so many groups."""
        return cls(masking, terms, [empty_sum(terms) for _ in range(groups)])

    def add(self, group: int, content: memoryview) -> None:
        """Adds a masked update of the round's length in bytes to the sum of `group`."""
        self.sums[group].add(content)

    def unmask(self, recover: Recover) -> int:
        """Unmasks the sum of one group, and returns how many examples its weights stand for.

        Raises ShareMismatchError, with the sum unchanged, and MaskingError where the sum means nothing.
        """
        found = self.sums[recover.group]
        decoded = found.unmask(recover)
        clients = len(recover.alive)
        if len(self.sums) > 1 and (reason := _impossible(decoded, clients)):
            raise MaskingError(reason)
        found.decoded = decoded
        return round(self.terms.examples * decoded.weight)

    @property
    def decoded(self) -> list[tuple[int, Decoded]]:
        """The numbers and the sums of the groups that are unmasked."""
        return [(number, one.decoded) for number, one in enumerate(self.sums) if one.decoded is not None]

    @property
    def weight(self) -> float:
        """The sum of all clients' weights; 0 before a sum is unmasked."""
        return sum(decoded.weight for _, decoded in self.decoded)

    def mean(self, rule: UpdateMean) -> Vector64:
        """Returns the mean of the only group, or what `rule` makes of the means of several.

        Each group counts once. Raises ValueError if no sum is unmasked, and what the rule raises.
        """
        unmasked = self.decoded
        if not unmasked:
            raise ValueError("The sum is still masked.")
        if len(self.sums) == 1:
            return unmasked[0][1].mean.astype(np.float64)
        for number, decoded in unmasked:
            rule.add(decoded.mean, 1)
            self.used.append(number)
            # The rule has its own copy.
            self.sums[number].decoded = replace(decoded, mean=np.zeros(0, np.float32))
        return rule.mean()

    def loss(self) -> float:
        """Returns the mean training loss, weighted as updates are in their groups."""
        return sum(one.loss * one.weight for _, one in self.decoded) / self.weight

    def rows(self) -> list[tuple[float, float]]:
        """Returns numerator and denominator of each metric row, over all groups."""
        totals = [math.fsum(values) for values in zip(*(one.rows for _, one in self.decoded), strict=True)]
        full = self.terms.examples
        return [(full * above, full * below) for above, below in zip(totals[::2], totals[1::2], strict=True)]


def _impossible(decoded: Decoded, clients: int) -> str | None:
    """Returns why honest clients cannot have sent this sum; None if they can."""
    if decoded.weight > clients * (1.0 + _ROUNDING):
        return f"{clients} clients weigh {decoded.weight:.6g} together, and each weighs 1 at most."
    if not np.isfinite(decoded.mean).all():
        return "Its mean is not finite."
    return None


def clients_of(
    groups: Sequence[Sequence[str]], numbers: Sequence[int], accepted: set[str]
) -> list[list[str]]:
    """Returns the clients of the groups with these numbers whose updates were `accepted`."""
    return [[client for client in groups[number] if client in accepted] for number in numbers]
