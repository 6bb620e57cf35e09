"""Splits the members of a masked cohort into groups by secret lots, so that nobody chooses its group."""

from __future__ import annotations

from collections.abc import Collection

from backend.protocols.rounds.lots import Lots


def draw_groups(
    members: Collection[str], count: int, lots: Lots, purpose: str
) -> tuple[tuple[str, ...], ...]:
    """Returns `count` groups of `members`, whose sizes differ by one at most; each is in alphabetical order.

    The lots of `purpose` put the members in an order, and groups take turns. To who does not know the key,
    every split into groups of these sizes is equally likely, whatever names members chose. Draw only after
    the members are fixed. Raises ValueError for fewer members than groups.
    """
    if not 1 <= count <= len(members):
        raise ValueError(f"{len(members)} members cannot be split into {count} groups.")
    order = sorted(members, key=lambda member: lots.lot(purpose, member))
    return tuple(tuple(sorted(order[first::count])) for first in range(count))
