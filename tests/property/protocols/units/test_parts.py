"""Epochs in which clients are stopped in the middle of their units: their rests are dealt out."""

from __future__ import annotations

import random
from collections import Counter

import msgspec
import pytest

from backend.protocols.units.rules import PaceRules, Rules, Verdict
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import Assimilate, GrantLease, RefuseResult, WorkUnit
from backend.protocols.units.scheduler_snapshot import Snapshot
from tests.support.protocols.units_world import EXAMPLES, part_of, rows_of

RULES = Rules(replicas=1, pace=PaceRules(usual=60.0, least=5.0, most=600.0))
UNITS, PREEMPTIONS = 40, 30
# Nobody gets a unit twice: if all preemptions were of one unit, there would still be a client for it.
CLIENTS = PREEMPTIONS + 1


def scheduler_of(snapshot: Snapshot | None = None) -> Scheduler:
    """Returns a scheduler with its clients; without a snapshot, at the begin of an epoch."""
    one = Scheduler(RULES) if snapshot is None else Scheduler.restored(RULES, snapshot)
    for client in range(CLIENTS):
        one.client_connected(f"c{client}", slots=1)
    return one


class Epoch:
    """An epoch whose clients are preempted `PREEMPTIONS` times, each after a random step of its unit."""

    def __init__(self, seed: int) -> None:
        self.dice, self.scheduler = random.Random(seed), scheduler_of()
        works = [WorkUnit(n, n, EXAMPLES, self.dice.getrandbits(32)) for n in range(UNITS)]
        self.scheduler.begin_epoch(works)
        self.visits: Counter[tuple[int, int]] = Counter()
        self.preemptions, self.refused, self.leases, self.counted = 0, 0, 0, 0

    def play(self, restart_after: int | None = None) -> None:
        """Plays the epoch; the server restarts with its last result not in the model yet."""
        while self.scheduler.remaining:
            blended = self._lease(f"c{self.dice.randrange(CLIENTS)}")
            if blended is not None and restart_after is not None and self.counted >= restart_after:
                restart_after = None
                self._restart(blended)
            elif blended is not None:
                self._blend(blended)

    def _lease(self, client: str) -> int | None:
        """Lets a client train one unit, or some steps of it; returns the unit that is to be blended."""
        self.leases += 1
        *_, grant = self.scheduler.ask(client, 0, 0.5, float(self.leases))
        if not isinstance(grant, GrantLease):
            return None  # The last units are those that this client was preempted in before.
        part = part_of(grant, self.dice) if self.preemptions < PREEMPTIONS else None
        self.preemptions += part is not None
        effects = self.scheduler.returned(client, grant.lease, float(self.leases), part)
        if any(isinstance(effect, RefuseResult) for effect in effects):
            self.refused += 1
            return None
        effects = self.scheduler.judged(grant.unit, {grant.lease: Verdict.VALID})
        assert sum(isinstance(effect, Assimilate) for effect in effects) == 1
        self.counted += 1
        return grant.unit

    def _blend(self, unit: int) -> None:
        work = self.scheduler.unit(unit).done_work
        rows = rows_of(work)
        assert len(rows) == work.counted_rows == self.scheduler.unit(unit).examples
        self.visits.update((work.shard, row) for row in rows)

    def _restart(self, unblended: int) -> None:
        kept = msgspec.msgpack.encode(self.scheduler.snapshot({unblended}))
        self.scheduler = scheduler_of(msgspec.msgpack.decode(kept, type=Snapshot))


@pytest.mark.parametrize("restart_after", [None, 1, 15])
@pytest.mark.parametrize("seed", range(20))
def test_thirty_preemptions_in_an_epoch_visit_every_row_exactly_once(
    seed: int, restart_after: int | None
) -> None:
    epoch = Epoch(seed)
    epoch.play(restart_after)
    assert epoch.preemptions == PREEMPTIONS
    # Some came in the first half of a unit, which goes out again as a whole, others left a rest.
    assert 0 < epoch.refused < PREEMPTIONS
    assert epoch.visits == {(shard, row): 1 for shard in range(UNITS) for row in range(EXAMPLES)}
