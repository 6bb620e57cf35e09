"""Decides which clients of a task of work units count as one household, and admits new ones at a rate."""

from __future__ import annotations

from collections import OrderedDict

from backend.errors import TooFastError
from backend.formats.task_file.units import TrustTable
from backend.protocols.client.household import Household
from backend.protocols.units.scheduler_effects import ClientId
from backend.server.hosting.clients.client_link import ClientLink
from backend.server.hosting.clients.client_network import client_network, is_many_people
from backend.server.units.newcomers import NewcomerLimits

# Clients that were admitted and may not be ready yet; the longest admitted ones are forgotten first.
MAX_ADMITTED = 20_000


class Households:
    """Names the household of a client: clients of one never repeat one another's units (decision 0059)."""

    def __init__(self, trust: TrustTable) -> None:
        self._trust = trust
        self._newcomers = NewcomerLimits(trust.newcomers)
        self._admitted: OrderedDict[ClientId, None] = OrderedDict()

    def of(self, client: ClientId, link: ClientLink) -> Household:
        """Returns the household: the client's network, its account or invitation, and its volunteer.

        In a named or local network each client is known by itself.
        """
        return Household(client_network(link), self._identity(client, link), link.volunteer)

    def admit(self, client: ClientId, link: ClientLink, suspended: bool, now: float) -> None:
        """Counts a client without a record, once. `suspended`: a result of its household was refuted today.

        Raises TooFastError if too many came from its household.
        """
        household = self.of(client, link)
        if household.identity or client in self._trust.trusted or client in self._admitted:
            return
        if not self._newcomers.admit(household.network, suspended, now):
            raise TooFastError(self._too_many(suspended))
        self._admitted[client] = None
        if len(self._admitted) > MAX_ADMITTED:
            self._admitted.popitem(last=False)

    def _too_many(self, suspended: bool) -> str:
        if suspended:
            return (
                "A result from your network was found false today, so only one new device an hour may join "
                "from there. Try again in an hour, or ask for an invitation."
            )
        return (
            f"{self._trust.newcomers} new devices an hour may join this task from one network, and yours "
            f"reached that number. Try again in an hour, or ask for an invitation."
        )

    def _identity(self, client: ClientId, link: ClientLink) -> str:
        """Returns what no other person shares; "" where only the network is known."""
        return link.identity or (client if is_many_people(link, self._trust.networks) else "")
