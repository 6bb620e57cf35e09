"""Tells other members which keys are banned and why, and takes what they tell, if it checks."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, Protocol

from backend.errors import EvidenceError
from backend.peer.mesh.byzantine.banned import BanStore, StoredBan
from backend.peer.mesh.weight_transfer import PeerLinks
from backend.peer.session.progress import Teller
from backend.protocols.mesh.byzantine.evidence.building import EvidenceBuilder, FindBytes
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.ban_evidence import MOST_TURNS, BanEvidence, TurnSaid, encode_evidence
from backend.wire.byzantine_messages import TellEvidence

# A peer's evidence is ignored once so much of it convicted nobody, or did not come.
MOST_REFUSED = 3
# Seconds for which a member that leaves waits for the evidence of its last rounds.
_WRITING_SECONDS = 5.0


class EvidenceLinks(PeerLinks, Protocol):
    """The part of backend.peer.links that telling of bans needs."""

    def ban(self, identities: Collection[bytes]) -> None: ...


class EvidenceSource(Protocol):
    """Fetches bytes by their SHA-256 from one of some peers."""

    async def fetch(self, sha256: str, size: int, clients: Sequence[str]) -> bytes | None: ...


class BanExchange:
    """Owns what this peer of a `run` of a `task` and its links tell each other about bans.

    Evidence is checked on other threads, one after the other, and passed on only if it convicts.
    """

    def __init__(
        self,
        task: str,
        run: str,
        store: BanStore,
        links: EvidenceLinks,
        source: EvidenceSource,
        reporter: Teller,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._task, self._run = task, run
        self.store = store
        self._links = links
        self._source = source
        self._reporter = reporter
        self._spawn = spawn
        self._lock = asyncio.Lock()
        # One of each peer at a time: what else it tells meanwhile, it tells again when it is linked again.
        self._taking: set[str] = set()
        self._refused: Counter[str] = Counter()
        # What was said in the last rounds.
        self._turns: deque[TurnSaid] = deque(maxlen=MOST_TURNS)
        self._writing: set[asyncio.Task[None]] = set()

    def cut_off(self, identities: Collection[bytes] = ()) -> None:
        """Ends the links to members of these keys, and to those whom stored evidence bans."""
        self._links.ban([*identities, *(ban.conviction.identity for ban in self.store.bans())])

    def up(self, client: str) -> None:
        """Tells a peer that has just been linked which bans this one can show."""
        for ban in self.store.bans():
            self._links.send(client, ban.frame())

    def received(self, client: str, frame: TellEvidence) -> None:
        """Takes evidence of `client`, or asks it for the bytes. That of a known ban is ignored."""
        known = self.store.is_banned(frame.identity)
        if known or client in self._taking or self._refused[client] >= MOST_REFUSED:
            return
        self._taking.add(client)
        self._spawn(self._take(client, frame.identity, frame.digest.hex(), frame.size, bytes(frame.data)))

    async def removed(self, client: str, identity: bytes, why: str, turn: TurnSaid, find: FindBytes) -> None:
        """Tells all of a member that a round removed; `turn` has what convicts it, `find` finds bytes."""
        builder = EvidenceBuilder(self._task, self._run, client, identity)
        match why:
            case "two-words" | "wrong-mean" | "wrong-check":
                await self._tell_built(await asyncio.to_thread(builder.removed, why, turn, find))
            case _:
                pass

    def round_ended(self, before: AgreedState, after: AgreedState, said: TurnSaid) -> None:
        """Takes what was said in a round, and tells all of those whom the court convicted by it."""
        self._turns.append(said)
        for client, identity in before.membership.identities().items():
            if identity in after.membership.banned and identity not in before.membership.banned:
                writing = self._spawn(self._convicted_by_court(client, identity, list(self._turns)))
                self._writing.add(writing)
                writing.add_done_callback(self._writing.discard)

    async def written(self) -> None:
        """Waits until the evidence of rounds that ended is stored: a banned peer has it before it leaves."""
        if self._writing:
            await asyncio.wait(self._writing, timeout=_WRITING_SECONDS)

    async def _convicted_by_court(self, client: str, identity: bytes, turns: Sequence[TurnSaid]) -> None:
        builder = EvidenceBuilder(self._task, self._run, client, identity)
        await self._tell_built(await asyncio.to_thread(builder.convicted_by_court, turns))

    async def _tell_built(self, built: BanEvidence | None) -> None:
        if built is not None:
            await self._add(encode_evidence(built))

    async def _take(self, client: str, identity: bytes, digest: str, size: int, data: bytes) -> None:
        try:
            content = data if len(data) == size else await self._source.fetch(digest, size, [client])
            if content is None:
                # It takes time of other downloads, too.
                self._refused[client] += 1
            elif not self.store.is_banned(identity):
                await self._add(content)
        except EvidenceError as error:
            self._refused[client] += 1
            sentence = f"A peer sent evidence that convicts nobody. {error}"
            self._reporter.tell("unsafe", sentence, client=client)
        finally:
            self._taking.discard(client)

    async def _add(self, content: bytes) -> None:
        """Stores evidence of a new ban and tells all. Raises EvidenceError if it convicts nobody."""
        async with self._lock:
            ban = await asyncio.to_thread(self.store.add, content)
        if ban is not None:
            self._report(ban)
            self.cut_off()
            for client in self._links.linked():
                self._links.send(client, ban.frame(content))

    def _report(self, ban: StoredBan) -> None:
        found = ban.conviction
        path = str(self.store.path(found.identity))
        sentence = f"Evidence against {found.client[:6]} ({found.kind}, round {found.number}): {path}"
        self._reporter.tell("evidence", sentence, client=found.client, kind=found.kind, file=path)
