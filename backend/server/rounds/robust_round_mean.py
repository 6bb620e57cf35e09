"""The robust rule of [security.robust] in place of the mean: keeps a round's updates, then compares them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from backend.errors import AggregationError, StoreError
from backend.formats.task_file import RobustTable
from backend.numerics.aggregators.robust_mean import RobustMean
from backend.numerics.vectors import VALUE_BYTES, Vector, Vector64
from backend.stores.updates.spool import SpareRows, UpdateSpool

MIB = 1 << 20
# Bytes of the secret from which FLAME and bucketing draw.
SEED_BYTES = 16


class RobustRoundMean:
    """Aggregates the updates of one round by a robust rule (see UpdateMean). Owns the updates until `close`.

    Each update counts once, whatever number of examples its client claims (decision 0090). An update that the
    disk does not take fails the round, not its client. Of the table's attackers, `refused` ones are not among
    the updates. Where updates are masked, these are means of groups.
    """

    def __init__(
        self,
        table: RobustTable,
        size: int,
        most: int,
        folder: Path | None,
        draw: Callable[[int], bytes],
        spare: SpareRows | None = None,
    ) -> None:
        """Takes at most `most` updates of `size` values; those beyond the table's memory go to `folder`.

        The memory comes from `spare`, if given, and goes back there.
        """
        memory = min(table.memory * MIB, most * size * VALUE_BYTES)
        self._table = table
        self._seed = int.from_bytes(draw(SEED_BYTES), "big")
        self._mean = RobustMean(table.aggregator(self._seed), UpdateSpool(size, memory, folder, spare))
        self.refused = 0
        self._failure: StoreError | None = None

    def add(self, update: Vector, weight: int = 1) -> None:
        """Copies `update`, float32 [size]; ignores `weight`. Raises ValueError for another shape."""
        del weight
        if self._failure is not None:
            return
        try:
            self._mean.add(update, 1)
        except StoreError as error:
            self._failure = error

    def mean(self) -> Vector64:
        """Returns the aggregate, float64 [size], and frees the updates. Call it once.

        Raises AggregationError, with the numbers, for too few updates, and StoreError if one was not kept.
        """
        try:
            if self._failure is not None:
                raise self._failure
            self._check_count()
            self._mean.rule = self._table.aggregator(self._seed, self.refused)
            return self._mean.mean()
        except ValueError as error:
            raise AggregationError(f"{self.rule} made no version of this round: {error}") from error
        finally:
            self.close()

    @property
    def rule(self) -> str:
        """The rule with its steps, such as `nnm + krum`."""
        return self._table.words

    @property
    def left_out(self) -> list[int]:
        """After `mean`, the numbers of the updates that did not count at all, in the order of `add`."""
        return self._mean.left_out

    def close(self) -> None:
        """See UpdateMean."""
        self._mean.close()

    def _check_count(self) -> None:
        table, count = self._table, self._mean.count
        least = table.least_for(table.attackers - self.refused)
        if count < least:
            rows = "group means" if table.groups else "updates"
            beside = f" beside {self.refused} refused as false" if self.refused else ""
            raise AggregationError(
                f"{self.rule} needs at least {least} {rows}{beside} to bear attackers = {table.attackers}, "
                f"and {count} were accepted, of which it bears {table.most_attackers(count)}. The next round "
                "may have more; else lower security.robust.attackers."
            )
