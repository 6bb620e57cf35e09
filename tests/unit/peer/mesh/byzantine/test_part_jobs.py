"""What validators check of a target beside its work: its numbers, and the mean of its part."""

from __future__ import annotations

import dataclasses
from random import Random

import numpy as np
import pytest
from msgspec.structs import replace

from backend.numerics.butterfly.part_values import mean_of_part, part_numbers
from backend.numerics.vectors import Vector
from backend.peer.mesh.byzantine.mesh_states import RoundWork
from backend.peer.mesh.byzantine.part_jobs import (
    cut,
    joined,
    mean_is_right,
    numbers_are_right,
    part_bounds,
    part_sizes,
    sha256,
)
from backend.protocols.mesh.byzantine.checks import part_radius
from backend.protocols.mesh.byzantine.drawn_work import coin_seed
from backend.protocols.mesh.byzantine.membership import MeshMembership
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.byzantine_bodies import CheckBody

WORKERS, SIZE, RADIUS = ("a", "b", "c"), 100, 0.5
COIN = Random(1).randbytes(32)


def vector_of(number: int) -> Vector:
    return np.random.default_rng(number).normal(size=SIZE).astype(np.float32)


class Played:
    """A round of three workers, with all its bytes."""

    def __init__(self) -> None:
        self.contents: dict[bytes, bytes] = {}
        cuts = {worker: cut(vector_of(place), 3) for place, worker in enumerate(WORKERS)}
        pieces = {worker: tuple(map(self.keep, one)) for worker, one in cuts.items()}
        sizes, values = part_sizes(SIZE, 3), {}
        means = []
        for part, size in enumerate(sizes):
            values[part] = [np.frombuffer(cuts[worker][part], np.float32) for worker in WORKERS]
            means.append(mean_of_part(values[part], part_radius(RADIUS, size)))
        checks = {}
        for place, worker in enumerate(WORKERS):
            found = [
                part_numbers(
                    [values[part][place]],
                    means[part],
                    part_radius(RADIUS, sizes[part]),
                    coin_seed(COIN),
                    part,
                )
                for part in range(3)
            ]
            checks[worker] = CheckBody([one[0][0] for one in found], [one[1][0] for one in found])
        base = AgreedState(4, bytes(32), bytes(32), bytes(32), RADIUS, MeshMembership(()))
        digests = tuple(self.keep(mean.tobytes()) for mean in means)
        self.work = RoundWork(base, pieces, WORKERS, digests, checks, COIN)

    def keep(self, content: bytes) -> bytes:
        digest = sha256(content)
        self.contents[digest] = content
        return digest


def test_parts_take_turns_so_that_each_has_values_of_all_layers() -> None:
    vector = np.arange(10, dtype=np.float32)
    pieces = [np.frombuffer(one, np.float32) for one in cut(vector, 4)]
    assert [one.tolist() for one in pieces] == [[0, 4, 8], [1, 5, 9], [2, 6], [3, 7]]
    assert part_bounds(10, 4) == [0, 3, 6, 8, 10]
    assert np.array_equal(joined(pieces), vector)


def test_true_numbers_and_a_true_mean_are_right() -> None:
    played = Played()
    for part, worker in enumerate(WORKERS):
        assert numbers_are_right(played.work, worker, part_sizes(SIZE, 3), played.contents.__getitem__)
        assert mean_is_right(played.work, part, part_sizes(SIZE, 3)[part], played.contents.__getitem__)


def test_one_false_number_or_bit_of_a_mean_is_seen() -> None:
    played = Played()
    said = played.work.checks["b"]
    for lie in (
        replace(said, products=[*said.products[:2], said.products[2] + 1e-9]),
        replace(said, lengths=[said.lengths[0] * 2, *said.lengths[1:]]),
    ):
        lied = dataclasses.replace(played.work, checks={**played.work.checks, "b": lie})
        assert not numbers_are_right(lied, "b", part_sizes(SIZE, 3), played.contents.__getitem__)
    mean = bytearray(played.contents[played.work.means[1]])
    mean[0] ^= 1
    moved = (played.work.means[0], played.keep(bytes(mean)), played.work.means[2])
    assert not mean_is_right(
        dataclasses.replace(played.work, means=moved), 1, part_sizes(SIZE, 3)[1], played.contents.__getitem__
    )


def test_what_cannot_be_had_cannot_be_judged() -> None:
    played = Played()
    del played.contents[played.work.means[0]]
    with pytest.raises(KeyError):
        numbers_are_right(played.work, "a", part_sizes(SIZE, 3), played.contents.__getitem__)


def test_each_piece_is_with_a_second_member() -> None:
    work = Played().work
    assert work.keepers("b") == ["a", "c", "c"]
    assert work.keepers("c") == ["a", "b", "a"]
