"""Encodes and decodes the checkpoints of a task of work units: scheduler, epoch and evaluations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
from backend.server.units.validation.usual_results import UsualResult
from backend.server.units.work_generator import data_of, order_of
from backend.stores.contracts import EvaluationRecord


class EpochContent(Struct, frozen=True):
    """The encoded totals of an epoch; see Epoch."""

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
    """The encoded content of a checkpoint.

    `means` are the mean evaluations of epochs that the stop rules received. `number` is that of the last
    assimilation. `data` identifies the shards of the units (see `data_of`), `order` their steps, which say
    where rests begin (see `order_of`; servers before it made no rests). `usual` are recent valid results,
    beside which single ones are checked; servers before them wrote none. Of the results up to `number`,
    `lost` were overwritten by other parameter servers, and `removed` taken out of the model. `traffic` are
    the bytes sent and received so far; servers before them counted none. `overwritten` are leases of which
    their clients do not know yet that another result overwrote theirs.
    """

    scheduler: Snapshot
    epoch: EpochContent
    number: int
    means: list[EvaluationRecord]
    data: str = ""
    usual: list[UsualResult] = []
    lost: float = 0.0
    removed: int = 0
    traffic: tuple[int, int] | None = None
    overwritten: dict[str, list[int]] = {}
    order: str = ""


@dataclass(frozen=True)
class DecodedCheckpoint:
    """The decoded content of a checkpoint, from which a host resumes; see CheckpointContent."""

    scheduler: Snapshot
    epoch: Epoch
    number: int
    means: list[EvaluationRecord]
    data: str = ""
    usual: Sequence[UsualResult] = ()
    lost: float = 0.0
    removed: int = 0
    traffic: tuple[int, int] | None = None
    overwritten: Mapping[str, Sequence[int]] = field(default_factory=dict)
    order: str = ""


def encode_checkpoint(state: UnitsState, unblended: Collection[UnitId], now: float) -> bytes:
    """Encodes the state. Units in `unblended` are done but not in the model: they are trained again."""
    epoch = state.run.epoch
    totals = EpochContent(
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
    content = CheckpointContent(
        scheduler=state.scheduler.snapshot(unblended),
        epoch=totals,
        number=state.model.number,
        means=state.records.means,
        data=data_of(state.task),
        usual=state.usual.recent(),
        lost=state.model.lost,
        removed=state.model.removed,
        traffic=state.traffic,
        overwritten=state.overwritten.unknown(),
        order=order_of(state.task),
    )
    return msgspec.msgpack.encode(content)


def given_without(
    given: Mapping[str, Given], scheduler: Scheduler, units: Collection[UnitId]
) -> dict[str, Given]:
    """Returns the contributions to an epoch without `units`, which count once they are trained again."""
    contributions = {client: replace(contribution) for client, contribution in given.items()}
    for unit in map(scheduler.unit, units):
        for lease in unit.leases:
            if lease.state is LeaseState.VALID:
                contributions[lease.client].accepted -= 1
                contributions[lease.client].examples -= unit.examples
    return contributions


def content_after(encoded: bytes, epoch: int, version: int) -> bytes:
    """Returns the content after an `epoch` without units that made `version`. Raises StoreError."""
    before = _decoded(encoded)
    totals = EpochContent(epoch, version, 0.0, 0, 0, 0.0, [], [], {}, {}, {}, {})
    scheduler = replace(before.scheduler, epoch=epoch, done=0, failed=0, dropped=0, open=())
    return msgspec.msgpack.encode(msgspec.structs.replace(before, scheduler=scheduler, epoch=totals))


def decode_checkpoint(encoded: bytes) -> DecodedCheckpoint:
    """Decodes the content of a checkpoint. Raises StoreError if it is damaged."""
    content = _decoded(encoded)
    totals = content.epoch
    epoch = Epoch(
        number=totals.number,
        version=totals.version,
        seconds=totals.seconds,
        blended=totals.blended,
        examples=totals.examples,
        loss=totals.loss,
        sums=totals.sums,
        losses=totals.losses,
        given=totals.given,
        kinds=Counter(totals.kinds),
        refused=Refusals(Counter(totals.refused), Counter(totals.codes)),
    )
    return DecodedCheckpoint(
        scheduler=content.scheduler,
        epoch=epoch,
        number=content.number,
        means=content.means,
        data=content.data,
        usual=content.usual,
        lost=content.lost,
        removed=content.removed,
        traffic=content.traffic,
        overwritten=content.overwritten,
        order=content.order,
    )


def _decoded(encoded: bytes) -> CheckpointContent:
    try:
        return msgspec.msgpack.decode(encoded, type=CheckpointContent)
    except msgspec.DecodeError as error:
        raise StoreError(
            f"The checkpoint of a task of work units is damaged: {error}. Restore the data folder."
        ) from error
