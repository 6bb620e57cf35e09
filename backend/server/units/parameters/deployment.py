"""Where the parameters of a server's tasks with work units stand, and how many servers they have."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from backend.protocols.units.server_pool import USUAL, PoolRules
from backend.stores.parameters.place import MEMORY, ParameterAddress


@dataclass(frozen=True)
class ParameterDeployment:
    """`address` is one that check_address takes; it may have a password in it."""

    address: str = field(default=MEMORY, repr=False)
    rules: PoolRules = USUAL

    def place(self, task: str) -> ParameterAddress:
        """Of a task that is taken up now."""
        return ParameterAddress(self.address, task, secrets.token_hex(8))


IN_MEMORY = ParameterDeployment()
