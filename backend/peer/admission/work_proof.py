"""Proves work to a task that asks newcomers for it, before this peer connects."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import httpx
import msgspec

from backend.crypto.proof_of_work import PARTS, search
from backend.peer.session.progress import Teller

# Returns why no connection can be opened now, as the end of a sentence; None if one can.
Prepare = Callable[[], Awaitable[str | None]]
# Hashes between two looks at the event loop: some 50 ms.
_BLOCK = 50_000
# Above this a peer refuses: a server may not take its processor for hours.
MOST_BITS = 23
_SHOWN_PARTS = PARTS // 4


class _Challenge(msgspec.Struct, frozen=True):
    challenge: str | None
    bits: int = 0


async def prepare_nothing() -> str | None:
    """Prepares a connection to a task that asks for nothing."""
    return None


class WorkProof:
    """Asks the server at each connection whether this client has to prove work for the task, and does.

    `url` is the address of the client's challenges.
    """

    def __init__(self, http: httpx.AsyncClient, url: str, reporter: Teller) -> None:
        self._http, self._url, self._reporter = http, url, reporter

    async def __call__(self) -> str | None:
        """Returns why the work was not proved, as the end of a sentence; None if no more is asked."""
        try:
            answer = await self._http.get(self._url)
            if answer.status_code != 200:
                return f"it answers {answer.status_code} to the question whether it asks for a proof of work"
            asked = msgspec.json.decode(answer.content, type=_Challenge)
            if asked.challenge is None:
                return None
            if not PARTS <= 2**asked.bits <= 2**MOST_BITS:
                return f"it asks for 2^{asked.bits} hashes, and this peer gives 2^{MOST_BITS} at most"
            nonces = await self._solve(asked.challenge, asked.bits)
            answer = await self._http.post(self._url, json={"challenge": asked.challenge, "nonces": nonces})
            return None if answer.status_code == 204 else "it did not take the proof of work"
        except httpx.TransportError as error:
            return str(error) or type(error).__name__
        except (msgspec.DecodeError, ValueError):
            return "its challenge is none; install the server's version of Minga"

    async def _solve(self, challenge: str, bits: int) -> list[int]:
        """Returns the nonces. Raises ValueError for a challenge without a seed."""
        seed = bytes.fromhex(challenge.partition(".")[2])
        sentence = f"This task asks newcomers for a proof of work, once: about {2**bits:,} hashes."
        self._reporter.tell("work", sentence, hashes=2**bits)
        began, nonces = time.monotonic(), list[int]()
        for part in range(PARTS):
            if part and part % _SHOWN_PARTS == 0:
                share = part / PARTS
                self._reporter.tell("work", f"Proof of work: {share:.0%} found.", share=share)
            nonces.append(await self._nonce(seed, part, bits))
        seconds = time.monotonic() - began
        self._reporter.tell("work", f"Proof of work found in {seconds:.1f} s.", seconds=round(seconds, 3))
        return nonces

    async def _nonce(self, seed: bytes, part: int, bits: int) -> int:
        first = 0
        while (found := await asyncio.to_thread(search, seed, part, bits, first, _BLOCK)) is None:
            first += _BLOCK
        return found
