"""Challenges to a proof of work: keeps no state of those that it issued, and remembers who solved one."""

from __future__ import annotations

import hmac
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256

from backend.crypto.proof_of_work import is_proof
from backend.errors import BadWorkError, WorkRequiredError

LIFETIME_SECONDS = 600
# Solved challenges and admitted clients that are remembered, the newest ones: each costs somebody a proof.
MAX_REMEMBERED = 20_000


@dataclass(frozen=True)
class Challenge:
    """A challenge of 2 ** `bits` hashes on average, for `seconds`. `text` is its time and its MAC."""

    text: str
    bits: int
    seconds: int


class WorkChallenges:
    """Asks clients that a task does not know for a proof of work, once.

    A challenge is the time and HMAC-SHA256 with `key` of task, client, time and difficulty (FIPS 198-1), so
    that a flood of requests leaves nothing behind. `is_known` tells clients that need none; `trusted` are
    others. `clock` gives Unix seconds. Those that solved one are forgotten with the process, unless they are
    known then.
    """

    def __init__(
        self,
        key: bytes,
        task: str,
        bits: int,
        is_known: Callable[[str], bool],
        clock: Callable[[], float],
        trusted: Collection[str] = (),
    ) -> None:
        self._key, self._task, self._bits = key, task, bits
        self._is_known, self._trusted = is_known, frozenset(trusted)
        self._clock = clock
        # The challenges that were solved, and the clients who did.
        self._used: OrderedDict[str, None] = OrderedDict()
        self._admitted: OrderedDict[str, None] = OrderedDict()

    def check(self, client: str, identity: str) -> None:
        """Returns if the client, let in as `identity` ("" for anybody), may join.

        Raises WorkRequiredError.
        """
        if self.asks(client, identity):
            raise WorkRequiredError(
                f"This task asks newcomers for about {2**self._bits:,} hashes first, and this device has not "
                "proved any. Reload the page, or update the peer, which does so by itself."
            )

    def asks(self, client: str, identity: str) -> bool:
        """Whether the client has to prove work before it may join."""
        if identity or client in self._trusted or self._is_known(client):
            return False
        return client not in self._admitted

    def issue(self, client: str) -> Challenge:
        """Returns a challenge for the client."""
        issued = int(self._clock())
        return Challenge(f"{issued}.{self._mac(client, issued).hex()}", self._bits, LIFETIME_SECONDS)

    def solve(self, client: str, text: str, nonces: Sequence[int]) -> None:
        """Admits the client if `nonces` prove the work of the challenge `text`. Raises BadWorkError."""
        seed = self._seed(client, text)
        if text in self._used:
            raise BadWorkError("This challenge was solved before; ask for another one.")
        if not is_proof(seed, self._bits, nonces):
            raise BadWorkError(
                "These numbers do not prove the work that the challenge asks for. Ask for another challenge, "
                "and search as docs/reference/http.md says."
            )
        _remember(self._used, text)
        _remember(self._admitted, client)

    def _seed(self, client: str, text: str) -> bytes:
        """Returns the MAC in a challenge of this task for this client that is not over."""
        issued, _, mac = text.partition(".")
        if not (issued.isascii() and issued.isdigit() and len(issued) <= 12):
            raise BadWorkError("This is no challenge of this server; ask for one.")
        seed = self._mac(client, int(issued))
        if not hmac.compare_digest(seed.hex().encode(), mac.encode()):
            raise BadWorkError(
                "This challenge is not for this task, this client and the current difficulty; ask for one."
            )
        if not 0 <= self._clock() - int(issued) <= LIFETIME_SECONDS:
            raise BadWorkError(f"A challenge is over after {LIFETIME_SECONDS} seconds; ask for another.")
        return seed

    def _mac(self, client: str, issued: int) -> bytes:
        words = f"work/{self._task}/{client}/{issued}/{self._bits}"
        return hmac.digest(self._key, words.encode(), sha256)


def _remember(kept: OrderedDict[str, None], name: str) -> None:
    kept[name] = None
    if len(kept) > MAX_REMEMBERED:
        kept.popitem(last=False)
