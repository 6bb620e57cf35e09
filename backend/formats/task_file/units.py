"""The table [coordination.units]: work units of shards, each blended into the model when it arrives.

backend/numerics/aggregation/asynchronous.py says what each assimilation computes; names and defaults are
those of its papers.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from backend.formats.task_file.types import Number, Positive, Share, TaskTable

Seconds = Annotated[float, Meta(ge=1, le=86_400)]
Count = Annotated[int, Meta(ge=0, le=1_000_000)]
Force = Annotated[float, Meta(gt=0, le=1)]
ClientId = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]
# Whose results are compared with others' before they count.
Comparison = Literal["newcomers", "samples", "none"]


class VcAsgd(TaskTable, frozen=True, tag_field="name", tag="vc-asgd"):
    """The model keeps `alpha` of itself; without it e / (e + 1) in epoch e."""

    alpha: Share | None = None
    warm_start: Count = 0


class Downpour(TaskTable, frozen=True, tag_field="name", tag="downpour"):
    """A client pushes its change every `n_push` steps, which are a unit then, and fetches every `n_fetch`."""

    learning_rate: Positive = 1.0
    n_push: Number | None = None
    n_fetch: Number | None = None
    warm_start: Count = 0

    def __post_init__(self) -> None:
        if self.n_fetch is not None and (self.n_push is None or self.n_fetch % self.n_push):
            raise ValueError("n_fetch is a multiple of n_push: clients fetch when they have pushed")

    @property
    def units(self) -> int:
        """After so many units a client fetches the model anew."""
        return (self.n_fetch or 1) // (self.n_push or 1) if self.n_fetch else 1


class Easgd(TaskTable, frozen=True, tag_field="name", tag="easgd"):
    """Model and client are drawn to each other by `alpha` of their distance."""

    alpha: Force = 0.1
    warm_start: Count = 0


class DcAsgd(TaskTable, frozen=True, tag_field="name", tag="dc-asgd"):
    """`strength` makes up for staleness; with `decay` it adapts to the gradients' mean square."""

    learning_rate: Positive = 1.0
    strength: Positive = 0.04
    decay: Share | None = None
    warm_start: Count = 0


class FedAsync(TaskTable, frozen=True, tag_field="name", tag="fedasync"):
    """The client weighs `alpha`, discounted by staleness; `a` and `b` shape the discount."""

    alpha: Force = 0.6
    discount: Literal["constant", "polynomial", "hinge"] = "polynomial"
    a: Positive | None = None
    b: Positive | None = None
    warm_start: Count = 0

    def __post_init__(self) -> None:
        shaped = {"constant": "", "polynomial": "a", "hinge": "ab"}[self.discount]
        for key in ("a", "b"):
            if getattr(self, key) is not None and key not in shaped:
                raise ValueError(f'discount = "{self.discount}" has no `{key}`; leave it out')


class FedBuff(TaskTable, frozen=True, tag_field="name", tag="fedbuff"):
    """The model moves by the mean of every `buffer` results."""

    buffer: Number = 10
    learning_rate: Positive = 1.0
    warm_start: Count = 0


AssimilationChoice = VcAsgd | Downpour | Easgd | DcAsgd | FedAsync | FedBuff
VC_ASGD = VcAsgd()


class TrustTable(TaskTable, frozen=True):
    """How far strangers are believed.

    A newcomer's unit is done by `replicas` clients until `checked` results in a row held against others',
    then once in as many. Besides, a part of the results, `spot_checks`, is done again by one of the
    `trusted`, peers of the owner by their ids, whose results are taken as true. Results agree up to a
    `tolerance` (of the update's length; measured for each pair of backends where nothing is said); with
    `homogeneous` only clients of one kind and backend are compared. Nobody gets over `quota` units a day.
    """

    replicas: Annotated[int, Meta(ge=1, le=12)] = 2
    checked: Number = 10
    spot_checks: Annotated[float, Meta(ge=0, le=1)] = 0.02
    trusted: Annotated[list[ClientId], Meta(max_length=100)] = []  # noqa: RUF012 - msgspec copies defaults.
    homogeneous: bool = False
    quota: Number = 1000
    tolerance: Annotated[float, Meta(gt=0, le=10)] | None = None

    @property
    def comparison(self) -> Comparison:
        """All of newcomers and some of everybody, only `samples` and what is odd, or none."""
        if self.replicas > 1:
            return "newcomers"
        return "samples" if self.spot_checks > 0.0 else "none"


class Units(TaskTable, frozen=True):
    """How the data are cut into units and dealt out. Times are seconds.

    At most `epochs` passes over all shards. A unit is `rows` examples (0: a shard), fewer for clients that
    would need longer than `seconds`; a stranger's lease holds for `lease`. Nobody may be further than `bound`
    units ahead of the slowest (0: as far as it likes). The model is measured every `evaluate_every` results.
    """

    epochs: Number
    lease: Seconds = 600.0
    rows: Count = 0
    seconds: Seconds = 120.0
    bound: Count = 0
    evaluate_every: Number = 1
    assimilation: AssimilationChoice = VC_ASGD
    trust: TrustTable = TrustTable()

    def __post_init__(self) -> None:
        chosen = self.assimilation
        if self.rows and isinstance(chosen, Downpour) and chosen.n_push:
            raise ValueError("rows does not go with n_push, which says how long a unit is; leave one out")
        if self.keeps_own and self.trust.comparison != "none":
            raise ValueError(
                f'with assimilation "{name_of(chosen)}" clients go on from weights of their own, so that '
                "nobody can do their work again to compare it: set trust.replicas = 1 and "
                "trust.spot_checks = 0, and invite only whom you trust, or take vc-asgd"
            )

    @property
    def keeps_own(self) -> bool:
        """Whether clients go on from weights of their own."""
        chosen = self.assimilation
        return isinstance(chosen, Easgd) or (isinstance(chosen, Downpour) and chosen.units > 1)


# Keys that say how clients take part, not how their results are blended.
_OF_CLIENTS = ("n_push", "n_fetch", "warm_start")


def settings_of(choice: AssimilationChoice) -> dict[str, Any]:
    """What its recipe in ASSIMILATIONS is made with."""
    given: dict[str, Any] = msgspec.structs.asdict(choice)
    return {key: value for key, value in given.items() if key not in _OF_CLIENTS and value is not None}


def name_of(choice: AssimilationChoice) -> str:
    """The name that the task file gives it."""
    return str(choice.__struct_config__.tag)
