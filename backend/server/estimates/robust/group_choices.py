"""Lists the masked groups that a round of the expected participants may have, and what each costs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from backend.numerics.aggregators.group_tolerance import GroupTradeOff, trade_off
from backend.numerics.aggregators.table import SPECS
from backend.translation import gettext

GROUP_RULE = "trimmed-mean"
LEAST_HIDDEN = 3
# Members of a group of which an update is promised to be hidden among: others may leave.
_STAY = 0.7
# Numbers of attackers that are offered, where they fit.
_ATTACKERS = (1, 2, 3, 5, 8, 13, 21)


@dataclass(frozen=True)
class GroupChoice:
    """Masked groups that bear `attackers`; each has `hidden` members at least, or is lost."""

    attackers: int
    hidden: int
    found: GroupTradeOff

    @property
    def needed(self) -> int:
        """How many clients a round needs."""
        return self.found.groups * self.hidden

    @property
    def title(self) -> str:
        """The number of groups and their size."""
        words = {"groups": self.found.groups, "size": self.found.clients // self.found.groups}
        return gettext("%(groups)s groups of about %(size)s") % words

    def text(self, noised: bool) -> str:
        """Returns what it gives and costs; `noised`: clients add shares of noise."""
        found = self.found
        sentence = gettext(
            "An update is hidden among at least %(hidden)s. %(attackers)s of %(clients)s participants may "
            "lie, whatever groups they are in; with %(twice)s that lie, %(chance)s of rounds can be harmed. "
            "Each lie makes the updates of its whole group useless."
        ) % {
            "hidden": self.hidden,
            "attackers": self.attackers,
            "clients": found.clients,
            "twice": 2 * self.attackers,
            "chance": f"{found.chance_of_twice:.0%}",
        }
        if not noised:
            return sentence
        noise = gettext("The noise in the mean is %(noise)s times that of one sum of all.")
        return f"{sentence} {noise % {'noise': f'{found.noise:.2g}'}}"


def group_choices(clients: int) -> Iterator[GroupChoice]:
    """Yields the choices for `clients` in a round: as few groups as each number of attackers needs."""
    spec = SPECS[GROUP_RULE]
    for attackers in _ATTACKERS:
        groups = spec.least(attackers)
        if groups is None or groups * LEAST_HIDDEN > clients:
            return
        found = trade_off(clients, groups, spec.tolerance)
        hidden = max(LEAST_HIDDEN, math.ceil(_STAY * found.smallest))
        yield GroupChoice(attackers, hidden, found)


def least_clients() -> int:
    """Returns the least number of clients that can be split into groups."""
    return (SPECS[GROUP_RULE].least(1) or 1) * LEAST_HIDDEN
