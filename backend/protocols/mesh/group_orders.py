"""The orders of a round's groups: who averages with whom, how, and by when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import cast

from backend.numerics.precision import encoded_size
from backend.protocols.mesh.grouping import Links, choose_exchange, form_groups, part_bounds
from backend.wire.mesh_fields import Exchange, Precision, Reducer
from backend.wire.mesh_messages import Group, Trained


@dataclass(frozen=True)
class Averages:
    """What a task says of averaging; `values` is the length of its vector. Times are seconds.

    `exchange` may be "auto". `quorum` are the least survivors of a group, which are a majority in any case,
    `fewest` the least members that it begins with.
    """

    groups: str
    group_size: int
    exchange: str
    precision: Precision
    reducer: Reducer
    patience: float
    seconds: float
    quorum: int
    fewest: int
    values: int


def group_orders(
    averages: Averages,
    trained: Mapping[str, Trained],
    seed: int,
    number: int,
    first: int,
    links: Links,
) -> list[Group]:
    """Orders for those who trained in round `number`; groups are numbered from `first` on.

    `trained` is what each said. Fewer than two, or than they need, make no group.
    """
    size = encoded_size(averages.values, averages.precision)
    most, fewest = averages.group_size, averages.fewest
    groups = form_groups(averages.groups, sorted(trained), most, seed, number, links, size, fewest)
    return [
        _order(averages, {one: trained[one] for one in members}, number, first + index, links, size)
        for index, members in enumerate(groups)
    ]


def _order(
    averages: Averages, trained: Mapping[str, Trained], number: int, group: int, links: Links, size: int
) -> Group:
    members, count = list(trained), len(trained)
    exchange = cast(Exchange, choose_exchange(averages.exchange, count, size, averages.reducer))
    rates = [rate_of(one, members, links) for one in members]
    return Group(
        round=number,
        group=group,
        members=members,
        bounds=[0, averages.values] if exchange == "full" else part_bounds(averages.values, rates),
        exchange=exchange,
        precision=averages.precision,
        subject="changes" if len({one.base for one in trained.values()}) == 1 else "weights",
        reducer=averages.reducer,
        least=min(count, max(count // 2 + 1, averages.quorum, averages.fewest)),
        # Nobody weighs more than the most that one of them said; where the reducer is robust each weighs 1.
        most_weight=max(float(one.examples) for one in trained.values())
        if averages.reducer == "mean"
        else 1.0,
        patience=averages.patience,
        seconds=averages.seconds,
    )


def rate_of(client: str, members: Sequence[str], links: Links) -> float:
    """Bytes per second that `client` sends to or takes from `members`, in the median; 0 where unknown."""
    pairs = [pair for one in members if one != client for pair in ((client, one), (one, client))]
    rates = [links[pair][1] for pair in pairs if pair in links and links[pair][1] > 0]
    return median(rates) if rates else 0.0
