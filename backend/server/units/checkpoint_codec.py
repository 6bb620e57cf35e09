"""Encodes and decodes the checkpoint of a task of work units: scheduler, epoch and evaluations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import msgspec
from msgspec import Struct

from backend.errors import StoreError
from backend.protocols.units.records import LeaseState
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import UnitId
from backend.protocols.units.scheduler_snapshot import Snapshot
from backend.server.rounds.round_accumulator import Refusals
from backend.server.units.epoch_record import Epoch, Given
from backend.server.units.state import UnitsState
from backend.server.units.work_generator import data_of
from backend.stores.contracts import EvaluationRecord


class KeptEpoch(Struct, frozen=True):
    """An epoch's notes; see Epoch."""

    number: int
    version: int
    seconds: float
    blended: int
    examples: int
    loss: float
    sums: list[tuple[float, float]]
    losses: list[float]
    given: dict[str, Given]
    kinds: dict[str, int]
    refused: dict[str, int]
    codes: dict[str, int]


class CheckpointContent(Struct, frozen=True):
    """`means` are what epochs were measured to be, as the stop rules saw them; `number` is the last
    assimilation's. `data` says which shards the units are of."""

    scheduler: Snapshot
    epoch: KeptEpoch
    number: int
    means: list[EvaluationRecord]
    data: str = ""


@dataclass(frozen=True)
class Resumed:
    """What a host goes on with."""

    scheduler: Snapshot
    epoch: Epoch
    number: int
    means: list[EvaluationRecord]
    data: str = ""


def content_of(state: UnitsState, unblended: Collection[UnitId], now: float) -> bytes:
    """How it stands. Units in `unblended` are done, but not in the model yet: they are to be done again."""
    epoch = state.run.epoch
    kept = KeptEpoch(
        number=epoch.number,
        version=epoch.version,
        seconds=epoch.lasted(now),
        blended=epoch.blended,
        examples=epoch.examples,
        loss=epoch.loss,
        sums=epoch.sums,
        losses=epoch.losses,
        given=given_without(epoch.given, state.scheduler, unblended),
        kinds=dict(epoch.kinds),
        refused=dict(epoch.refused.clients),
        codes=dict(epoch.refused.codes),
    )
    scheduler = state.scheduler.snapshot(unblended)
    data = data_of(state.task)
    return msgspec.msgpack.encode(
        CheckpointContent(scheduler, kept, state.model.number, state.records.means, data)
    )


def given_without(
    given: Mapping[str, Given], machine: Scheduler, units: Collection[UnitId]
) -> dict[str, Given]:
    """What clients gave in an epoch without `units`, which count when they are done again."""
    found = {client: replace(one) for client, one in given.items()}
    for unit in map(machine.unit, units):
        for lease in unit.leases:
            if lease.state is LeaseState.VALID:
                found[lease.client].accepted -= 1
                found[lease.client].examples -= unit.examples
    return found


def resumed(content: bytes) -> Resumed:
    """What was kept. Raises StoreError."""
    try:
        found = msgspec.msgpack.decode(content, type=CheckpointContent)
    except msgspec.DecodeError as error:
        raise StoreError(
            f"The checkpoint of a task of work units is damaged: {error}. Restore the data folder."
        ) from error
    kept = found.epoch
    epoch = Epoch(
        number=kept.number,
        version=kept.version,
        seconds=kept.seconds,
        blended=kept.blended,
        examples=kept.examples,
        loss=kept.loss,
        sums=kept.sums,
        losses=kept.losses,
        given=kept.given,
        kinds=Counter(kept.kinds),
        refused=Refusals(Counter(kept.refused), Counter(kept.codes)),
    )
    return Resumed(found.scheduler, epoch, found.number, found.means, found.data)
