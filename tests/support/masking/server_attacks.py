"""What a server could try with all that its clients sent, to find a single update."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from backend.crypto.derive import own_key
from backend.crypto.keystream import add_keystream
from backend.crypto.round_context import Terms, base_hash, context_hash, roster_hash
from backend.crypto.sealing import ShareKind, unseal
from backend.crypto.shamir import recover
from backend.numerics.masking.bit_packing import unpack_update
from backend.protocols.secagg.terms import degree
from backend.wire.client_id import client_id
from backend.wire.masked_messages import Keys, Member, Reveal, Shares
from backend.wire.messages import Hello
from tests.support.peer.transcript import Transcript

Words = NDArray[np.uint32]


def received(transcript: Transcript, parameters: int) -> list[Words]:
    """The updates of the first round as they came, in the order of their clients' ids."""
    vectors = transcript.vectors(1)
    sent = [vectors[token] for token in sorted(vectors, key=client_id)]
    if len(sent[0]) == 4 * parameters:
        return [np.frombuffer(data, "<u4") for data in sent]
    return [unpack_update(data, parameters, 1, 32) for data in sent]


def without_own_masks(transcript: Transcript, terms: Terms) -> list[Words]:
    """The same, each without the mask whose seed the survivors revealed: nobody is between them but pairs."""
    keys: dict[str, Keys] = {}
    dealt: dict[str, Shares] = {}
    reveals: dict[str, Reveal] = {}
    for frames in transcript.conversations():
        assert isinstance(frames[0], Hello)
        client = client_id(frames[0].token)
        for frame in frames:
            if isinstance(frame, Keys):
                keys[client] = frame
            elif isinstance(frame, Shares):
                dealt[client] = frame
            elif isinstance(frame, Reveal):
                reveals[client] = frame
    clients = sorted(keys)
    members = [_member(client, keys[client]) for client in clients]
    neighbours, threshold = degree(len(members), "honest")
    base = base_hash(terms)
    context = context_hash(base, roster_hash(base, members), len(members), neighbours, threshold)
    vectors = [one.copy() for one in received(transcript, terms.parameters)]
    for place, client in enumerate(clients):
        shares = {clients.index(holder): said.shares[place] for holder, said in reveals.items()}
        # All are neighbours of all: what was sealed for a holder is at its place among the others.
        shares = {
            holder: key
            if holder == place
            else unseal(
                key,
                context,
                place,
                holder,
                dealt[client].sealed[holder - (holder > place)],
                ShareKind.SEED,
            )
            for holder, key in shares.items()
        }
        seed = recover(dict(list(shares.items())[:threshold]))
        assert hashlib.sha256(seed).digest() == keys[client].seed_hash, "this is what the server learns"
        add_keystream(vectors[place], own_key(seed, context, place), -1)
    return vectors


def likeness(vectors: list[Words], update: NDArray[np.float32]) -> float:
    """How near the best attempt comes to `update`: the largest correlation."""
    return max(
        abs(float(np.corrcoef(reading, update)[0, 1])) if reading.std() else 0.0
        for attempt in _attempts(vectors)
        for reading in _readings(attempt[: len(update)])
    )


def _attempts(vectors: list[Words]) -> Iterator[Words]:
    """Every vector, and every sum and difference of some of them, but for the sum of all."""
    for count in range(1, len(vectors)):
        for chosen in combinations(vectors, count):
            yield np.add.reduce(chosen, dtype=np.uint32)
    for one, other in combinations(vectors, 2):
        yield one - other


def _readings(words: Words) -> Iterator[NDArray[np.float64]]:
    """What somebody might take words for: whole numbers around zero, or floats as in open rounds."""
    yield words.view(np.int32).astype(np.float64)
    with np.errstate(invalid="ignore"):
        floats = words.view(np.float32).astype(np.float64)
    yield np.where(np.abs(floats) < 1e6, floats, 0.0)


def _member(client: str, sent: Keys) -> Member:
    return Member(client, sent.mask_key, sent.share_key, sent.seed_hash, sent.identity, sent.signature)
