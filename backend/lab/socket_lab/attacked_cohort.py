"""What the attackers of one training know of its rounds, and what they send in place of their updates."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from backend.lab.attacks.attack import AttackedRound, UpdateAttack, UpdateRows
from backend.numerics.vectors import Vector


@dataclass
class AttackedCohort:
    """Collects the updates of one version, and forges those of the first `attackers` of `clients`.

    Attackers wait for the updates of all: in the lab they see the honest ones, as a server would. Honest
    clients wait for nobody. Used in one event loop.
    """

    clients: int
    attackers: int
    attack: UpdateAttack | None
    _version: int = -1
    _updates: dict[int, Vector] = field(default_factory=dict)
    _complete: asyncio.Event = field(default_factory=asyncio.Event)
    _forged: UpdateRows | None = None
    _earlier: deque[UpdateRows] = field(default_factory=deque)

    async def sent(self, client: int, version: int, update: Vector) -> Vector:
        """Returns what `client` sends in place of its own `update` [size] of `version`.

        An attacker waits for the updates of all others.
        """
        if self.attack is None:
            return update
        self._trained(client, version, update)
        if client >= self.attackers:
            return update
        await self._complete.wait()
        if self._forged is None:
            self._forged = self._forge(self.attack)
        sent: Vector = self._forged[client]
        return sent

    def _trained(self, client: int, version: int, update: Vector) -> None:
        if version != self._version:
            if self._complete.is_set():
                self._remember(self._rows(range(self.attackers)))
            self._version, self._forged = version, None
            self._updates, self._complete = {}, asyncio.Event()
        self._updates[client] = update
        if len(self._updates) == self.clients:
            self._complete.set()

    def _forge(self, attack: UpdateAttack) -> UpdateRows:
        own, honest = self._rows(range(self.attackers)), self._rows(range(self.attackers, self.clients))
        return attack(AttackedRound(self._version, own, honest, tuple(self._earlier)))

    def _remember(self, own: UpdateRows) -> None:
        """Keeps the attackers' updates of so many versions as their attack needs."""
        self._earlier.append(own)
        while self.attack is not None and len(self._earlier) > self.attack.remembers:
            self._earlier.popleft()

    def _rows(self, clients: Sequence[int]) -> UpdateRows:
        return np.stack([self._updates[client] for client in clients])
