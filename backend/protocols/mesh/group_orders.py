"""Makes the orders of a round's groups: members, exchange and deadlines."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import cast

from msgspec.structs import replace

from backend.numerics.precision import encoded_size
from backend.protocols.mesh.grouping import Links, choose_exchange, form_groups, part_bounds, shuffled
from backend.wire.mesh_fields import Exchange, Precision, Reducer
from backend.wire.mesh_messages import Group, Trained


@dataclass(frozen=True)
class Averages:
    """A task's settings for averaging; `values` is the length of its vector. Times are seconds.

    `exchange` may be "auto". `quorum` is the minimum of a group's survivors, who must be a majority in any
    case, `fewest` the minimum of members with which it begins. In a `byzantine` mesh all make one group of at
    most `group_size`, whose members check each other.
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
    byzantine: bool = False


def group_orders(
    averages: Averages,
    trained: Mapping[str, Trained],
    seed: int,
    number: int,
    first: int,
    links: Links,
) -> list[Group]:
    """Returns the orders for peers that trained in round `number`; groups are numbered from `first` on.

    `trained` has the report of each. Fewer than two peers, or than `fewest`, make no group.
    """
    size = encoded_size(averages.values, averages.precision)
    maximum, fewest = averages.group_size, averages.fewest
    groups = form_groups(averages.groups, sorted(trained), maximum, seed, number, links, size, fewest)
    return [
        _order(averages, {client: trained[client] for client in members}, number, first + index, links, size)
        for index, members in enumerate(groups)
    ]


def _order(
    averages: Averages, trained: Mapping[str, Trained], number: int, group: int, links: Links, size: int
) -> Group:
    members, count = list(trained), len(trained)
    exchange = cast(Exchange, choose_exchange(averages.exchange, count, size, averages.reducer))
    rates = [rate_of(client, members, links) for client in members]
    return Group(
        round=number,
        group=group,
        members=members,
        bounds=[0, averages.values] if exchange == "full" else part_bounds(averages.values, rates),
        exchange=exchange,
        precision=averages.precision,
        subject="changes" if len({report.base for report in trained.values()}) == 1 else "weights",
        reducer=averages.reducer,
        least=min(count, max(count // 2 + 1, averages.quorum, averages.fewest)),
        # No member has more weight than the largest report; with a robust reducer each has the weight 1.
        most_weight=max(float(report.examples) for report in trained.values())
        if averages.reducer == "mean"
        else 1.0,
        patience=averages.patience,
        seconds=averages.seconds,
        quorum=min(count, max(2, averages.quorum)),
    )


def byzantine_seconds(members: int, patience: float) -> float:
    """Returns how long the longest usual round of a Byzantine group takes, in seconds.

    It is enough for two turns in which a member is missing (its phase, the calls, and a window for each liar
    that there can be, and one), and for a third that ends well.
    """
    return 3 * (8 + (members + 1) // 2) * patience


def byzantine_order(
    averages: Averages,
    trained: Mapping[str, Trained],
    seed: int,
    number: int,
    group: int,
    preferred: Collection[str],
) -> Group:
    """Returns the order of a group of all, whose members know by themselves what counts.

    Only they know who has a seat. Those of the last result come first, as most seats are theirs; the others
    by lot. Its numbers of survivors and weights bound nothing: members agree on a state, and weigh alike.
    """
    drawn = sorted(shuffled(list(trained), seed, number), key=lambda client: client not in preferred)
    members = sorted(drawn[: averages.group_size])
    size = encoded_size(averages.values, averages.precision)
    order = _order(averages, {client: trained[client] for client in members}, number, group, {}, size)
    seconds = max(averages.seconds, byzantine_seconds(len(members), averages.patience))
    return replace(order, least=2, most_weight=1.0, seconds=seconds)


def rate_of(client: str, members: Sequence[str], links: Links) -> float:
    """Returns the median bytes per second between `client` and `members`, both ways; 0 if unknown."""
    others = [member for member in members if member != client]
    pairs = [pair for other in others for pair in ((client, other), (other, client))]
    rates = [links[pair][1] for pair in pairs if pair in links and links[pair][1] > 0]
    return median(rates) if rates else 0.0
