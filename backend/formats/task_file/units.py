"""Defines the table [coordination.units]: work units, whose results are assimilated on arrival.

backend/numerics/aggregation/asynchronous.py implements each assimilation; names and defaults are those of
its papers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from ipaddress import ip_network
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from backend.formats.task_file.types import Number, Positive, Share, TaskTable

Seconds = Annotated[float, Meta(ge=1, le=86_400)]
OfflineSeconds = Annotated[int, Meta(ge=0, le=86_400)]
Count = Annotated[int, Meta(ge=0, le=1_000_000)]
Force = Annotated[float, Meta(gt=0, le=1)]
ClientId = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]
# The clients whose results are compared with others' before they count.
Comparison = Literal["newcomers", "samples", "none"]


class VcAsgd(TaskTable, frozen=True, tag_field="name", tag="vc-asgd"):
    """VC-ASGD: the model keeps the share `alpha` of itself; by default e / (e + 1) in epoch e."""

    alpha: Share | None = None
    warm_start: Count = 0


class Downpour(TaskTable, frozen=True, tag_field="name", tag="downpour"):
    """Downpour SGD: a client pushes its change every `n_push` steps and fetches every `n_fetch` steps.

    With `n_push`, that many steps make up one unit. With `adagrad`, its gamma, each value of the model has a
    rate of its own.
    """

    learning_rate: Positive = 1.0
    adagrad: Positive | None = None
    n_push: Number | None = None
    n_fetch: Number | None = None
    warm_start: Count = 0

    def __post_init__(self) -> None:
        if self.n_fetch is not None and (self.n_push is None or self.n_fetch % self.n_push):
            raise ValueError("n_fetch is a multiple of n_push: clients fetch when they have pushed")
        if self.adagrad is not None and self.learning_rate != 1.0:
            raise ValueError("adagrad takes the place of learning_rate; leave one out")

    @property
    def units(self) -> int:
        """Number of units after which a client fetches the model again."""
        return (self.n_fetch or 1) // (self.n_push or 1) if self.n_fetch else 1


class Easgd(TaskTable, frozen=True, tag_field="name", tag="easgd"):
    """EASGD: model and client each move towards the other by `alpha` times their distance."""

    alpha: Annotated[float, Meta(gt=0, lt=1)] = 0.1
    warm_start: Count = 0


class DcAsgd(TaskTable, frozen=True, tag_field="name", tag="dc-asgd"):
    """DC-ASGD: `strength` compensates staleness; with `decay` it adapts to the gradients' mean square.

    The gradient is minus a result's change over the clients' learning rate. With another optimizer than plain
    descent `client_rate` says what the change is divided by.
    """

    learning_rate: Positive = 1.0
    strength: Positive | None = None
    decay: Share | None = None
    client_rate: Positive | None = None
    warm_start: Count = 0


class FedAsync(TaskTable, frozen=True, tag_field="name", tag="fedasync"):
    """FedAsync: the client's weight is `alpha`, discounted by staleness; `a` and `b` shape the discount."""

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
    """FedBuff: the model moves by the mean of every `buffer` results."""

    buffer: Number = 10
    learning_rate: Positive = 1.0
    warm_start: Count = 0


AssimilationChoice = VcAsgd | Downpour | Easgd | DcAsgd | FedAsync | FedBuff
VC_ASGD = VcAsgd()


class TrustTable(TaskTable, frozen=True):
    """Configures how results of unknown clients are verified.

    A newcomer's unit is trained by `replicas` clients until `checked` of its results in a row agreed with
    others', then for one unit in `checked`. In addition, the share `spot_checks` of results is repeated by a
    `trusted` client, a peer of the owner named by its id, whose results are accepted as correct. Two results
    agree if their distance relative to the update's norm is at most `tolerance` (by default measured, by the
    number of steps). With `homogeneous`, only clients of the same kind and backend are compared. A client
    gets at most `quota` units a day.

    Clients of one household (/24 of IPv4, /48 of IPv6) do not repeat one another's units, except in
    `networks`, which the owner knows to be many people. At most `newcomers` new clients an hour join from any
    other household.
    """

    replicas: Annotated[int, Meta(ge=1, le=12)] = 2
    checked: Number = 10
    spot_checks: Annotated[float, Meta(ge=0, le=1)] = 0.02
    trusted: Annotated[list[ClientId], Meta(max_length=100)] = []  # noqa: RUF012 - msgspec copies defaults.
    homogeneous: bool = False
    quota: Number = 1000
    networks: Annotated[list[Annotated[str, Meta(max_length=50)]], Meta(max_length=100)] = []  # noqa: RUF012
    newcomers: Number = 20
    tolerance: Annotated[float, Meta(gt=0, lt=1)] | None = None

    def __post_init__(self) -> None:
        for text in self.networks:
            try:
                ip_network(text)
            except ValueError as error:
                raise ValueError(f'networks are written like "192.0.2.0/24"; "{text}" is none') from error

    @property
    def comparison(self) -> Comparison:
        """Whether results of newcomers are compared, only samples and outliers, or none."""
        if self.replicas > 1:
            return "newcomers"
        return "samples" if self.spot_checks > 0.0 else "none"


class Units(TaskTable, frozen=True):
    """Configures how the data are cut into work units and leased. Times are seconds.

    At most `epochs` passes over all shards. A unit has `rows` examples (0: a whole shard), fewer for clients
    that would need longer than `seconds`. The lease of a client of unknown speed lasts `lease`. No client may
    be more than `bound` units ahead of the slowest (None: no limit), for which it waits one lease at most.
    Clients may take work for up to `offline` seconds without a connection. The model is evaluated every
    `evaluate_every` results.
    """

    epochs: Number
    lease: Seconds = 600.0
    rows: Count = 0
    seconds: Seconds = 120.0
    bound: Count | None = None
    offline: OfflineSeconds = 3600
    evaluate_every: Number = 1
    assimilation: AssimilationChoice = VC_ASGD
    trust: TrustTable = TrustTable()

    def __post_init__(self) -> None:
        chosen = self.assimilation
        if self.bound == 0:
            raise ValueError(
                "a bound of 0 would let no client begin a unit: leave `bound` out for no limit, or take 1, "
                "with which clients keep step with the slowest"
            )
        if self.rows and isinstance(chosen, Downpour) and chosen.n_push:
            raise ValueError(
                "rows cannot be combined with n_push, which says how long a unit is; leave one out"
            )
        if self.keeps_own and self.trust.comparison != "none":
            raise ValueError(
                f'with assimilation "{name_of(chosen)}" clients continue from their own weights, so '
                "nobody can repeat their work to compare it: set trust.replicas = 1 and "
                "trust.spot_checks = 0, and invite only people you trust, or use vc-asgd"
            )

    def rows_of_unit(self, shard_rows: int, batch_size: int) -> int:
        """Returns the number of rows of a whole unit of a shard, which may lack as many."""
        if isinstance(self.assimilation, Downpour) and self.assimilation.n_push:
            return self.assimilation.n_push * batch_size
        return self.rows or shard_rows

    def units_of_epoch(self, shards: Iterable[int], batch_size: int) -> int:
        """Returns the number of whole units in one pass over shards with so many rows each."""
        return sum(math.ceil(rows / self.rows_of_unit(rows, batch_size)) for rows in shards)

    @property
    def keeps_own(self) -> bool:
        """Whether clients continue from their own weights instead of fetching the model for each unit."""
        chosen = self.assimilation
        return isinstance(chosen, Easgd) or (isinstance(chosen, Downpour) and chosen.units > 1)


# Keys that concern the clients, not the assimilation of their results.
_OF_CLIENTS = ("n_push", "n_fetch", "warm_start")


def settings_of(choice: AssimilationChoice) -> dict[str, Any]:
    """Returns the arguments of the choice's factory in ASSIMILATIONS."""
    settings: dict[str, Any] = msgspec.structs.asdict(choice)
    return {key: value for key, value in settings.items() if key not in _OF_CLIENTS and value is not None}


def name_of(choice: AssimilationChoice) -> str:
    """Returns the choice's name in the task file."""
    return str(choice.__struct_config__.tag)
