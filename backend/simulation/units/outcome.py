"""Computes the figures of a simulated task of work units."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backend.protocols.units.records import LeaseState
from backend.server.units.state import UnitsState
from backend.simulation.outcome import NEEDED_QUANTILE, per, quantile
from backend.simulation.units.lease_ledger import OUTCOMES, LeaseLedger, Outcome, UnitAttempt
from backend.simulation.units.parameter_servers import ServerUsage


@dataclass(frozen=True)
class OutcomeCount:
    """How many units had an outcome, counted by leases, and the steps done for them."""

    outcome: Outcome
    units: int
    steps: int


@dataclass(frozen=True)
class ValueSpread:
    """Median, value that nine of ten do not exceed, and maximum; None without values."""

    median: float | None
    ninety: float | None
    most: float | None


@dataclass(frozen=True)
class UnitDeviceFigures:
    """Figures of one class of devices. The shares are of the `units` handed out to its clients.

    `counted` results are in the model or confirmed another one. Nine of ten units need at most
    `seconds_needed` from their arrival to the server's answer to the result.
    """

    device: str
    clients: int
    units: int
    counted: float | None
    late: float | None
    not_needed: float | None
    lost: float | None
    seconds_needed: float | None


@dataclass(frozen=True)
class ClientUse:
    """Seconds of one client's device: `busy` training, and `present` in all.

    It had one of its `ids` in each life; those in `preempted` ended.
    """

    ids: tuple[str, ...]
    preempted: tuple[str, ...]
    kind: str
    backend: str
    device: str
    busy: float
    present: float


@dataclass(frozen=True)
class UnitRunFigures:
    """Figures of one run; None if the denominator is 0. Times are virtual seconds since the first client.

    `epoch_ends` are the ends of all epochs; `finished`: there were as many as planned. `visited` is the share
    of their rows that results in the model were trained on; others were given up. `handed_out` counts leases,
    which `outcomes` cover. `preempted` and `dropped_out` are those lost because their client was, or lost its
    connection, with the steps done. `overwritten` results are lost to other parameter servers. Staleness
    counts the results that entered the model while a unit was out. `waits` are the seconds of an
    assimilation, with its wait for a free server; `queues` count the results that waited for one when another
    arrived. Busy shares are of the servers' time, and of the time in
    which clients' programs ran.
    """

    seconds: float
    epoch_ends: tuple[float, ...]
    finished: bool
    visited: float
    handed_out: int
    outcomes: tuple[OutcomeCount, ...]
    preempted: OutcomeCount
    dropped_out: OutcomeCount
    wasted_steps: float | None
    overwritten: float
    staleness: ValueSpread
    waits: ValueSpread
    queues: ValueSpread
    servers_busy: float | None
    servers_mean: float | None
    servers_most: int
    clients_busy: float | None
    preemptions: int
    server_bytes_out: int
    server_bytes_in: int
    devices: tuple[UnitDeviceFigures, ...]

    def units(self, outcome: Outcome) -> int:
        """Returns the number of units with an outcome."""
        return next(row.units for row in self.outcomes if row.outcome == outcome)


def outcomes_of(ledger: LeaseLedger, state: UnitsState) -> dict[int, Outcome]:
    """Returns what became of each lease, as of now."""
    scheduler = state.scheduler
    leased = {
        lease.id for unit in scheduler.units() for lease in unit.leases if lease.state is LeaseState.LEASED
    }
    outcomes = {}
    for lease in ledger.clients:
        work = state.leases.get(lease)
        has_arrived = work is not None and work.result is not None and work.outcome is None
        outcomes[lease] = ledger.outcome(lease, lease in leased, has_arrived)
    return outcomes


def summarize_units(
    ledger: LeaseLedger,
    state: UnitsState,
    clients: Sequence[ClientUse],
    usage: ServerUsage,
    seconds: float,
    moved: tuple[int, int],
    visited: float,
) -> UnitRunFigures:
    """Computes the figures of a run that took `seconds`; `moved` are the server's bytes out and in.

    `visited` is the share of the planned rows that results in the model were trained on.
    """
    outcomes = outcomes_of(ledger, state)
    steps = {lease: attempt.steps for lease, attempt in ledger.attempts.items()}
    rows = tuple(
        _count(outcome, [lease for lease, one in outcomes.items() if one == outcome], steps)
        for outcome in OUTCOMES
    )
    earlier = {name for one in clients for name in one.preempted}
    lost = [lease for lease, outcome in outcomes.items() if outcome == "lost"]
    preempted = [lease for lease in lost if _was_preempted(lease, ledger, earlier)]
    useful = sum(row.steps for row in rows if row.outcome in ("in the model", "compared", "in flight"))
    done = sum(row.steps for row in rows)
    return UnitRunFigures(
        seconds=seconds,
        epoch_ends=tuple(ledger.ends),
        finished=state.run.finished is not None,
        visited=visited,
        handed_out=len(ledger.clients),
        outcomes=rows,
        preempted=_count("lost", preempted, steps),
        dropped_out=_count("lost", [lease for lease in lost if lease not in set(preempted)], steps),
        wasted_steps=per(done - useful, done),
        overwritten=state.model.lost,
        staleness=_spread(ledger.staleness),
        waits=_spread(ledger.waits),
        queues=_spread(usage.queues),
        servers_busy=per(usage.busy, usage.seconds),
        servers_mean=per(usage.seconds, seconds),
        servers_most=usage.most,
        clients_busy=per(sum(one.busy for one in clients), sum(one.present for one in clients)),
        preemptions=sum(len(one.preempted) for one in clients),
        server_bytes_out=moved[0],
        server_bytes_in=moved[1],
        devices=tuple(
            _of_device(device, count, ledger, outcomes)
            for device, count in sorted(Counter(one.device for one in clients).items())
        ),
    )


def _was_preempted(lease: int, ledger: LeaseLedger, earlier: set[str]) -> bool:
    """Whether the client of a lost lease was preempted, perhaps before the unit reached it."""
    attempt = ledger.attempts.get(lease)
    return ledger.clients[lease] in earlier if attempt is None else attempt.fate == "preempted"


def _count(outcome: Outcome, leases: Sequence[int], steps: Mapping[int, int]) -> OutcomeCount:
    return OutcomeCount(outcome, len(leases), sum(steps.get(lease, 0) for lease in leases))


def _spread(values: Sequence[float]) -> ValueSpread:
    median = statistics.median(values) if values else None
    return ValueSpread(median, quantile(values, NEEDED_QUANTILE), max(values, default=None))


def _of_device(
    device: str, clients: int, ledger: LeaseLedger, outcomes: Mapping[int, Outcome]
) -> UnitDeviceFigures:
    attempts: list[UnitAttempt] = [one for one in ledger.attempts.values() if one.device == device]
    found = Counter(outcomes[attempt.lease] for attempt in attempts)
    needed = [attempt.needed for attempt in attempts if attempt.needed is not None]
    return UnitDeviceFigures(
        device=device,
        clients=clients,
        units=len(attempts),
        counted=per(found["in the model"] + found["compared"], len(attempts)),
        late=per(found["late"], len(attempts)),
        not_needed=per(found["not needed"], len(attempts)),
        lost=per(found["lost"], len(attempts)),
        seconds_needed=quantile(needed, NEEDED_QUANTILE),
    )
