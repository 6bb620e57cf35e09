"""Bans are stored with their evidence, told over real links, and believed only if the evidence checks."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from backend.errors import EvidenceError
from backend.peer.mesh.byzantine import banned
from backend.peer.mesh.byzantine.ban_exchange import MOST_REFUSED, BanExchange
from backend.peer.mesh.byzantine.banned import BanStore
from backend.peer.mesh.weight_transfer import WeightTransfer
from backend.protocols.mesh.byzantine.state import WorkCase
from backend.wire.ban_evidence import encode_evidence
from backend.wire.byzantine_bodies import MadeBody, WorkFinding
from backend.wire.byzantine_messages import MOST_INLINE, TellEvidence
from backend.wire.peer_messages import Fetch, PeerFrame, Weights
from tests.support.peer.linked_peers import Member, company, until
from tests.support.protocols.byzantine.played_turn import RUN, TASK, PlayedTurn, members, state_of

KEYS = members(5)
TURN = PlayedTurn(KEYS, state_of(KEYS))


def evidence_against(client: str) -> bytes:
    """Two words of a member."""
    said = TURN.said["made", client]
    words = [said, TURN.again(said, MadeBody(bytes([1] * 32)))]
    return encode_evidence(TURN.evidence("two-words", client, words))


LIAR, OTHER, *_ = KEYS
GUILTY = evidence_against(LIAR)


def store_of(folder: Path, run: str = RUN) -> BanStore:
    return BanStore(folder, "wss://example.org/digits", TASK, run)


def test_a_ban_is_kept_between_sessions_with_its_evidence(tmp_path: Path) -> None:
    store = store_of(tmp_path)
    ban = store.add(GUILTY)
    assert ban is not None
    assert (ban.conviction.client, ban.size) == (LIAR, len(GUILTY))
    assert store.add(GUILTY) is None
    again = store_of(tmp_path)
    assert again.bans() == []
    again.read()
    assert again.bans() == [ban]
    assert again.is_banned(TURN.identity(LIAR))
    assert not again.is_banned(TURN.identity(OTHER))
    assert again.find(hashlib.sha256(GUILTY).hexdigest()) == GUILTY
    assert again.find("00" * 32) is None
    others = store_of(tmp_path, "cd" * 32)
    others.read()
    assert others.bans() == []


def test_damaged_files_are_ignored_and_what_convicts_nobody_is_refused(tmp_path: Path) -> None:
    store = store_of(tmp_path)
    for client in (LIAR, OTHER):
        store.add(evidence_against(client))
    first, _ = sorted(tmp_path.rglob("*.evidence"))
    first.write_bytes(first.read_bytes()[:-1])
    again = store_of(tmp_path)
    again.read()
    assert len(again.bans()) == 1
    with pytest.raises(EvidenceError):
        again.add(GUILTY + b"\0")
    with pytest.raises(EvidenceError, match="another task or run"):
        store_of(tmp_path, "cd" * 32).add(GUILTY)


def test_a_full_store_takes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(banned, "MOST_BANS", 1)
    store = store_of(tmp_path)
    assert store.add(GUILTY) is not None
    assert store.add(evidence_against(OTHER)) is None
    monkeypatch.setattr(banned, "MOST_BANS", 2)
    monkeypatch.setattr(banned, "MOST_STORED", len(GUILTY) + 1)
    assert store.add(evidence_against(OTHER)) is None


class Witness:
    """A member of a mesh, as far as bans go."""

    def __init__(self, member: Member, folder: Path) -> None:
        self.member = member
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.store = store_of(folder / member.own.client)
        self.transfer = WeightTransfer(member.links, self.find, asyncio.create_task)
        self.bans = BanExchange(TASK, RUN, self.store, member.links, self, self, self.spawn)
        self.fetched = 0
        self.tasks: list[asyncio.Task[None]] = []
        member.received = self.received  # type: ignore[method-assign]

    async def find(self, sha256: str) -> bytes | None:
        """Returns the evidence of this hash."""
        return self.store.find(sha256)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        self.tasks.append(asyncio.create_task(work))
        return self.tasks[-1]

    async def fetch(self, sha256: str, size: int, clients: Sequence[str]) -> bytes | None:
        """Fetches from peers, and counts it."""
        self.fetched += 1
        return await self.transfer.fetch(sha256, size, clients)

    def tell(self, event: str, sentence: str, **values: Any) -> None:
        self.told.append((event, {"sentence": sentence, **values}))

    def received(self, client: str, frame: PeerFrame) -> None:
        match frame:
            case TellEvidence():
                self.bans.received(client, frame)
            case Fetch():
                self.transfer.requested(client, frame)
            case Weights():
                self.transfer.chunk_received(client, frame)
            case _:
                pass


@asynccontextmanager
async def witnesses(folder: Path) -> AsyncIterator[list[Witness]]:
    """Three members, all linked."""
    async with company(folder, [("websocket",)] * 3, [True] * 3) as peers:
        await until(lambda: all(len(one.links.linked()) == 2 for one in peers))
        yield [Witness(one, folder) for one in peers]


async def test_a_ban_reaches_all_and_who_comes_later(tmp_path: Path) -> None:
    async with witnesses(tmp_path) as (first, second, third):
        identity = TURN.identity(LIAR)
        words = [TURN.said["made", LIAR], TURN.again(TURN.said["made", LIAR], MadeBody(bytes([1] * 32)))]
        turn = TURN.of(words)
        await first.bans.removed(LIAR, identity, "two-words", turn, lambda _: None)
        for other in (second, third):
            await until(lambda other=other: other.store.is_banned(identity))  # type: ignore[misc]
        # Without the bytes in a frame they are fetched.
        newcomer = Witness(second.member, tmp_path / "new")
        third.bans.up(second.member.own.client)
        await until(lambda: newcomer.store.is_banned(identity))
        assert newcomer.store.find(hashlib.sha256(GUILTY).hexdigest()) == GUILTY
        assert [event for event, _ in newcomer.told] == ["evidence"]


async def test_the_link_to_whom_evidence_bans_ends(tmp_path: Path) -> None:
    async with witnesses(tmp_path) as (first, second, third):
        liar = third.member.neighbour
        first.bans.cut_off([liar.identity])
        assert first.member.links.linked() == [second.member.own.client]
        identity = TURN.identity(LIAR)
        # Evidence against somebody else leaves the other links as they are.
        first.store.add(GUILTY)
        first.bans.cut_off()
        assert first.store.is_banned(identity)
        assert first.member.links.linked() == [second.member.own.client]


async def test_whom_the_court_of_a_round_bans_is_told_to_all(tmp_path: Path) -> None:
    judges = [one for one in KEYS if one != LIAR]
    state = replace(TURN.state, court=(WorkCase(LIAR, 5, OTHER),))
    judgements = {one: [WorkFinding(LIAR, 5, "other")] for one in judges}
    turn, identity = PlayedTurn(KEYS, state, judgements=judgements), TURN.identity(LIAR)
    after = replace(state, membership=replace(state.membership, banned=(identity,)))
    async with witnesses(tmp_path) as (first, second, _):
        first.bans.round_ended(state, after, turn.of(turn.all("commit")))
        await until(lambda: second.store.is_banned(identity))
        [ban] = second.store.bans()
        assert (ban.conviction.kind, ban.conviction.accuser) == ("majority", OTHER)


async def test_who_announces_evidence_and_does_not_send_it_is_asked_no_more(tmp_path: Path) -> None:
    async with witnesses(tmp_path) as (liar, honest, _):
        for number in range(MOST_REFUSED + 1):
            frame = TellEvidence(
                identity=TURN.identity(OTHER), digest=bytes([number] * 32), size=9, data=memoryview(b"")
            )
            honest.bans.received(liar.member.own.client, frame)
            await asyncio.gather(*honest.tasks)
        assert honest.fetched == MOST_REFUSED


async def test_forged_evidence_is_told_to_the_person_and_to_nobody_else(tmp_path: Path) -> None:
    one_word = [TURN.said["made", OTHER]]
    forged = encode_evidence(TURN.evidence("two-words", OTHER, one_word))
    async with witnesses(tmp_path) as (liar, honest, third):
        for number in range(MOST_REFUSED + 1):
            frame = TellEvidence(
                identity=TURN.identity(OTHER),
                digest=hashlib.sha256(forged).digest(),
                size=len(forged),
                data=memoryview(forged),
            )
            liar.member.links.send(honest.member.own.client, frame)
            await until(lambda number=number: len(honest.told) >= min(number + 1, MOST_REFUSED))  # type: ignore[misc]
        true = TellEvidence(
            identity=TURN.identity(LIAR),
            digest=hashlib.sha256(GUILTY).digest(),
            size=len(GUILTY),
            data=memoryview(GUILTY),
        )
        liar.member.links.send(honest.member.own.client, true)
        third.member.links.send(honest.member.own.client, true)
        await until(lambda: honest.store.is_banned(TURN.identity(LIAR)))
        assert [event for event, _ in honest.told] == ["unsafe"] * MOST_REFUSED + ["evidence"]
        assert not honest.store.is_banned(TURN.identity(OTHER))
        assert "convicts nobody" in honest.told[0][1]["sentence"]
        assert len(GUILTY) < MOST_INLINE
