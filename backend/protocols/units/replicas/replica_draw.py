"""Chooses who repeats a unit: a client drawn from another household, or a trusted peer (decision 0059)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from backend.protocols.client.client_kind import is_exact
from backend.protocols.client.household import Household, by_itself
from backend.protocols.units import trust
from backend.protocols.units.client_table import ClientTable
from backend.protocols.units.households import Dice
from backend.protocols.units.records import DRAWN, UnitRecord
from backend.protocols.units.rules import Rules
from backend.protocols.units.scheduler_effects import ClientId
from backend.protocols.units.unit_table import UnitTable

# Clients drawn for one lease, one after the other while none takes it; then any other household may.
MOST_DRAWS = 3
# Units that are drawn for again when one more client is vouched for.
REDRAWN = 8


class ReplicaDraw:
    """Reserves units for the clients that repeat them.

    Such a unit must not go to the first that asks: colluding clients would wait for each other's units.
    """

    def __init__(self, rules: Rules, client_table: ClientTable, unit_table: UnitTable) -> None:
        self._rules, self._client_table, self._unit_table = rules, client_table, unit_table

    def draw(self, unit: UnitRecord) -> None:
        """Reserves the next lease of a unit with a result, if it needs one and is not reserved."""
        if not unit.missing_leases or not unit.pending or unit.reserved:
            return
        if unit.draws >= MOST_DRAWS + len(unit.leases) and not self._rules.trust.guarded:
            return
        dice = Dice(unit.lot, unit.draws)
        kind = self._client_table.clients[unit.leases[0].client].kind
        alike = self._rules.homogeneous and not unit.draws
        unit.draws += 1
        name = self._drawn(unit, dice, kind if alike else None)
        if name and is_exact(kind):
            name = self._of_two(name, self._drawn(unit, dice, None), kind)
        if name is not None or alike:
            self._unit_table.reserve(unit, kind if name is None else DRAWN + name)
            self._unit_table.changed(unit)

    def draw_copy(self, unit: UnitRecord) -> None:
        """Reserves one lease more than its quorum of a unit with a result, if a client can be drawn."""
        unit.wants_copy = True
        self.draw(unit)
        if not unit.reserved:
            unit.wants_copy = False

    def draw_again(self, unit: UnitRecord) -> None:
        """Reserves a unit for another draw, because the client drawn before does not take it."""
        self._unit_table.reserve(unit, "")
        self.draw(unit)
        self._unit_table.changed(unit)

    def redraw(self) -> None:
        """Draws for units that waited until somebody was vouched for."""
        for number in list(islice(self._unit_table.waiting.queue(DRAWN), REDRAWN)):
            unit = self._unit_table.units[number]
            self._unit_table.reserve(unit, "")
            unit.draws -= 1
            self.draw(unit)

    def has_peer(self, unit: UnitRecord) -> bool:
        """Whether a trusted peer is connected that did not have the unit."""
        return any(not unit.was_leased_to(peer, by_itself(peer)) for peer in self._client_table.trusted)

    def may_ask_another(self, unit: UnitRecord) -> bool:
        """Whether somebody is connected that may repeat the unit."""
        may = self._may(unit)
        return self.has_peer(unit) or self._client_table.strangers.draw(Dice(0.0), may) is not None

    def _drawn(self, unit: UnitRecord, dice: Dice, kind: str | None) -> ClientId | None:
        """Returns a client, of one kind if that is not None.

        Where the task has trusted peers, only vouched-for clients are drawn; "" while there are none, and if
        only a trusted peer may repeat the unit.
        """
        table, may = self._client_table, self._may(unit, kind)
        if self._rules.trust.guarded:
            if self._is_for_peers(unit) and self.has_peer(unit):
                return ""
            name = table.vouched.draw(dice, may)
            if name is not None or self.has_peer(unit):
                return name or ""
        return table.strangers.draw(dice, may)

    def _of_two(self, first: ClientId, second: ClientId | None, kind: str) -> ClientId:
        """Returns which of two drawn clients repeats a unit of this kind: one with its program, if one is.

        Those with the same program decide by bits. But a client may claim a program that no other has: if the
        draw were among one program only, accomplices would always be drawn for each other. This way they are
        drawn at most twice as often.
        """
        clients = self._client_table.clients
        alike = second and clients[first].kind != kind and clients[second].kind == kind
        return second if second and alike else first

    def _is_for_peers(self, unit: UnitRecord) -> bool:
        """Whether a suspect began it; or anybody with no proven result, where results count provisionally.

        The units of the latter are others' after some time: a trusted peer may hang.
        """
        first = self._client_table.clients[unit.leases[0].client]
        unproven = bool(self._rules.trust.provisional) and not trust.is_vouched(first.trust)
        in_time = unit.draws <= MOST_DRAWS
        return (unproven and in_time) or self._client_table.is_suspect(first, self._unit_table.now)

    def _is_suspended(self, household: Household) -> bool:
        return self._client_table.households.is_suspended(household, self._unit_table.now)

    def _may(self, unit: UnitRecord, kind: str | None = None) -> Callable[[ClientId], bool]:
        table = self._client_table

        def may(name: ClientId) -> bool:
            client = table.clients[name]
            return not (
                unit.was_leased_to(name, client.household)
                # Who disputes every result gets no more of them before trusted peers have decided.
                or client.disputed
                or (self._rules.trust.guarded and self._is_suspended(client.household))
                or (client.was_late and table.punctual)
                or kind not in (None, client.kind)
            )

        return may


def is_vouched_now(before: trust.TrustLevel, after: trust.TrustLevel) -> bool:
    """Whether a client is vouched for that was not before."""
    return trust.is_vouched(after) and not trust.is_vouched(before)
