"""Members of a group that masks average over real links: the same bits for all, and nobody sees a piece."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from backend.errors import GroupError
from backend.numerics.aggregation.part_mean import shares
from backend.numerics.masking.masked_parts import Words, piece_words
from backend.numerics.vectors import Vector
from backend.peer.mesh.exchange import Exchange, GroupOutcome
from backend.peer.mesh.masked_part_buffers import MaskedPartBuffers
from backend.protocols.mesh.allreduce.group_events import SendPiece
from backend.wire.mesh_fields import Subject
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import Begin, PeerFrame, Piece
from tests.support.peer.averaging_groups import (
    Averager,
    averagers,
    mean_of,
    order_of,
    outcomes,
    vectors_of,
)

VALUES = 300_001
WEIGHTS = [10.0, 20.0, 30.0, 40.0]


@dataclass
class Curious(Averager):
    """Keeps the bytes of all pieces that come, by sender, part and set."""

    seen: dict[tuple[str, int, tuple[int, ...]], bytes] = field(default_factory=lambda: defaultdict(bytes))

    def received(self, client: str, frame: PeerFrame) -> None:
        if isinstance(frame, Piece):
            self.seen[client, frame.part, tuple(frame.contributors)] += bytes(frame.data)
        super().received(client, frame)


def ordered(members: list[Averager], subject: Subject = "changes", values: int = VALUES) -> Group:
    clients = [member.own.client for member in members]
    return replace(order_of(clients, values, precision="masked"), subject=subject)


def agreed(ended: list[GroupOutcome | GroupError]) -> GroupOutcome:
    """The one result that all have."""
    first = ended[0]
    assert isinstance(first, GroupOutcome), first
    for end in ended:
        assert isinstance(end, GroupOutcome), end
        assert end.mean.tobytes() == first.mean.tobytes()
        assert (end.survivors, end.fraction) == (first.survivors, first.fraction)
    return first


@pytest.mark.parametrize("subject", ["changes", "weights"])
async def test_all_end_with_the_mean_and_no_owner_has_seen_a_piece(tmp_path: Path, subject: Subject) -> None:
    vectors = vectors_of(4, VALUES)
    async with averagers(tmp_path, 4, Curious) as members:
        order = ordered(members, subject)
        joined = [
            member.join(order, vector, weight)
            for member, vector, weight in zip(members, vectors, WEIGHTS, strict=True)
        ]
        end = agreed(await outcomes(joined))
        seen = [member.seen for member in members if isinstance(member, Curious)]
    assert end.survivors == [0, 1, 2, 3]
    assert end.fraction == 1.0
    assert end.mean.tobytes() == mean_of(order, vectors, WEIGHTS, [[0, 1, 2, 3]] * 4).tobytes()
    exact = np.average(np.stack(vectors).astype(np.float64), axis=0, weights=WEIGHTS)
    assert np.abs(end.mean - exact).max() < {"changes": 1e-6, "weights": 2e-5}[subject]
    for owner, pieces in enumerate(seen):
        assert len(pieces) == 3
        for (client, part, members_of_set), data in pieces.items():
            assert (part, members_of_set) == (owner, (0, 1, 2, 3))
            assert looks_like_noise(data, plain(order, vectors, order.members.index(client), part))


def plain(order: Group, vectors: list[Vector], place: int, part: int) -> Words:
    """The words of a piece without masks."""
    start, end = list(pairwise(order.bounds))[part]
    return piece_words(vectors[place][start:end], shares(WEIGHTS)[place], order.subject)


def looks_like_noise(data: bytes, words: Words) -> bool:
    """Whether it tells nothing of these words: no correlation, and all 32 bits as often 0 as 1."""
    seen = np.frombuffer(data, "<u4")
    correlation = np.corrcoef(seen.view("<i4").astype(float), words.view("<i4").astype(float))[0, 1]
    ones = np.unpackbits(seen.view(np.uint8)).mean()
    return bool(abs(correlation) < 6 / len(seen) ** 0.5 and abs(ones - 0.5) < 3 / (32 * len(seen)) ** 0.5)


async def test_those_left_mask_anew_when_one_leaves_among_the_pieces(tmp_path: Path) -> None:
    # So many that nobody is done when it leaves.
    values = 20 * VALUES
    vectors = vectors_of(4, values)
    async with averagers(tmp_path, 4) as members:
        order = ordered(members, values=values)
        joined = [
            member.join(order, vector, weight)
            for member, vector, weight in zip(members, vectors, WEIGHTS, strict=True)
        ]
        await asyncio.sleep(0.02)
        joined[2].close()
        await members[2].links.close()
        ended = await outcomes(joined)
    assert isinstance(ended.pop(2), GroupError)
    end = agreed(ended)
    assert end.survivors == [0, 1, 3]
    # Of each part it is the sum over all, or over those left.
    for start, stop in pairwise(order.bounds):
        one_of = [
            mean_of(order, vectors, WEIGHTS, [places] * 4)[start:stop].tobytes()
            for places in ([0, 1, 2, 3], [0, 1, 3])
        ]
        assert end.mean[start:stop].tobytes() in one_of


async def test_who_brings_what_is_no_number_is_gone_on_without(tmp_path: Path) -> None:
    vectors = vectors_of(4, VALUES)
    vectors[1] = np.where(vectors[1] > 0, np.float32(np.nan), vectors[1])
    async with averagers(tmp_path, 4) as members:
        order = ordered(members)
        joined = [member.join(order, vector, 1.0) for member, vector in zip(members, vectors, strict=True)]
        ended = await outcomes(joined)
    failed = ended.pop(1)
    assert isinstance(failed, GroupError)
    assert "NaN" in str(failed)
    end = agreed(ended)
    assert end.survivors == [0, 2, 3]
    assert end.mean.tobytes() == mean_of(order, vectors, [1.0] * 4, [[0, 2, 3]] * 4).tobytes()


class Twofaced(Averager):
    """Says another key to each, so that its pads cancel with nobody's."""

    def _hand_on(self, exchange: Exchange, client: str, frame: PeerFrame) -> None:
        if isinstance(frame, Begin):
            frame = replace(frame, key=frame.key[::-1])
        super()._hand_on(exchange, client, frame)


async def test_masks_that_do_not_fit_leave_nobody_a_result(tmp_path: Path) -> None:
    vectors = vectors_of(3, VALUES)
    async with averagers(tmp_path, 3, Twofaced) as members:
        order = ordered(members)
        joined = [member.join(order, vector, 1.0) for member, vector in zip(members, vectors, strict=True)]
        ended = await outcomes(joined)
    assert all(isinstance(end, GroupError) for end in ended)
    assert any("masks were left" in str(end) for end in ended)


def test_a_pad_hides_one_piece_whatever_weights_are_said_later() -> None:
    order = order_of([f"{place:02x}" * 8 for place in range(4)], VALUES, precision="masked")
    own, *others = (
        MaskedPartBuffers(order, place, vector, "digits", "ab" * 32)
        for place, vector in enumerate(vectors_of(4, VALUES))
    )
    for place, other in enumerate(others, 1):
        own.add_key(place, other.key)

    def sent(part: int, places: list[int], weights: list[float]) -> bytes:
        made = own.piece(SendPiece(part, part, places, weights))
        assert callable(made)
        return made().tobytes()

    first = sent(1, [0, 1, 2, 3], WEIGHTS)
    assert sent(1, [0, 1, 2, 3], [1.0, 20.0, 30.0, 40.0]) == first
    assert sent(1, [0, 1, 2], WEIGHTS[:3]) != first
