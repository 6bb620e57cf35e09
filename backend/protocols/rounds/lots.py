"""The lots of a task's rounds: a pseudo-random order of clients that only the server can compute."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from hashlib import sha256


@dataclass(frozen=True)
class Lots:
    """Draws lots by HMAC-SHA256 with a secret `key` (FIPS 198-1).

    With the key one could choose names that win; without it no choice of names or time changes the chances.
    """

    key: bytes = field(repr=False)

    def lot(self, purpose: str, client: str) -> bytes:
        """Returns the lot of `client` for `purpose`, which names the draw; the smallest lots win."""
        return hmac.digest(self.key, f"{purpose}/{client}".encode(), sha256)

    def seed(self, purpose: str) -> int:
        """Returns a secret number below 2**64 for `purpose`, the seed of shuffles."""
        return int.from_bytes(hmac.digest(self.key, f"seed/{purpose}".encode(), sha256)[:8], "big")

    def of_task(self, name: str, run: int) -> Lots:
        """Returns the lots of one run of a task, which tell nothing about those of another one."""
        return Lots(hmac.digest(self.key, f"task/{run}/{name}".encode(), sha256))


# Lots that anybody can compute: for simulations and tests, which repeat what they did.
PUBLIC_LOTS = Lots(b"public")
