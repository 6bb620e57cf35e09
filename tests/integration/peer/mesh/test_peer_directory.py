"""With whom a peer links: both ends must agree, and the mesh must hang together."""

from __future__ import annotations

import numpy as np
import pytest

from backend.peer.mesh.peer_directory import MOST_LINKS, link_targets

IDS = sorted({f"{number:016x}" for number in np.random.default_rng(4).integers(0, 2**62, 200)})


@pytest.mark.parametrize("count", [2, 3, 32, 33, 34, 100, 200])
def test_if_one_of_two_links_with_the_other_so_does_the_other(count: int) -> None:
    peers = IDS[:count]
    links = {one: set(link_targets(one, peers)) for one in peers}
    for one in peers:
        assert one not in links[one]
        assert all(one in links[other] for other in links[one])


def test_in_a_small_mesh_everybody_links_with_everybody() -> None:
    peers = IDS[: MOST_LINKS + 1]
    assert all(set(link_targets(one, peers)) == set(peers) - {one} for one in peers)


def test_in_a_large_one_links_are_bounded_and_everybody_can_be_reached() -> None:
    links = {one: set(link_targets(one, IDS)) for one in IDS}
    assert {len(found) for found in links.values()} == {MOST_LINKS}
    reached, new = {IDS[0]}, {IDS[0]}
    while new:
        new = {other for one in new for other in links[one]} - reached
        reached |= new
    assert reached == set(IDS)


def test_a_peer_that_is_not_told_of_itself_links_all_the_same() -> None:
    assert link_targets(IDS[0], IDS[1:4]) == IDS[1:4]
