"""Finds the blended results that another parameter server overwrote, so that their clients can be told.

Servers of an eventually consistent store (Redis) may bring an overwritten result back: a third server that
read it before writes after both. So a result's fate is decided once no result is being blended, or after
SETTLED newer ones.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from backend.protocols.units.scheduler_effects import Assimilate, ClientId, LeaseId
from backend.stores.parameters.contract import REMEMBERED_RESULTS, Receipt

# By then all servers that worked beside a result have written theirs. Receipts name more results than that.
SETTLED = REMEMBERED_RESULTS // 2
# Clients that are away and do not know of their overwritten results yet: a limit, so that strangers cannot
# fill the memory; and the results that each of them hears of.
MAX_CLIENTS, MAX_RESULTS = 4096, 64


def result_id(blend: Assimilate) -> str:
    """Returns the id of a result in the parameter stores."""
    return f"{blend.unit}-{blend.lease}"


class OverwrittenResults:
    """Owns the newest blended results, and the overwritten ones that their clients do not know of.

    `untold` are those of before a restart, as `unknown` gave them.
    """

    def __init__(self, untold: Mapping[ClientId, Sequence[LeaseId]] | None = None) -> None:
        self._newest: OrderedDict[str, Assimilate] = OrderedDict()
        self._base, self._held = -1, frozenset[str]()
        self._untold: OrderedDict[ClientId, list[LeaseId]] = OrderedDict()
        for client, leases in (untold or {}).items():
            self._untold[client] = list(leases)

    def blended(self, blend: Assimilate, receipt: Receipt, settled: bool) -> set[ClientId]:
        """Takes the receipt of a result; `settled`: no other result is being blended.

        Returns the clients that have something to be told.
        """
        if receipt.held is None:
            return set()
        self._newest[result_id(blend)] = blend
        if receipt.base > self._base:
            self._base, self._held = receipt.base, frozenset(receipt.held)
        found: set[ClientId] = set()
        while self._newest and (settled or len(self._newest) > SETTLED):
            name, decided = self._newest.popitem(last=False)
            if name not in self._held:
                self._add(decided)
                found.add(decided.client)
        return found

    def take(self, client: ClientId) -> list[LeaseId]:
        """Returns the leases of a client whose results were overwritten, once each."""
        return self._untold.pop(client, [])

    def unknown(self) -> dict[ClientId, list[LeaseId]]:
        """Returns the overwritten results, if the newest weights are kept, that clients do not know of."""
        found = {client: list(leases) for client, leases in self._untold.items()}
        for name, blend in self._newest.items():
            if name not in self._held:
                found.setdefault(blend.client, []).append(blend.lease)
        return found

    def _add(self, blend: Assimilate) -> None:
        leases = self._untold.setdefault(blend.client, [])
        leases.append(blend.lease)
        del leases[:-MAX_RESULTS]
        if len(self._untold) > MAX_CLIENTS:
            self._untold.popitem(last=False)
