from itertools import combinations, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.mesh.latency_groups import POWER, Places, Times, bring_near


def drawn(seed: int, peers: int) -> Times:
    half = np.random.default_rng(seed).random((peers, peers))
    return half + half.T


def cut(sizes: list[int]) -> list[Places]:
    return [np.arange(start, end) for start, end in pairwise(np.cumsum([0, *sizes]).tolist())]


def cost(groups: list[Places], times: Times) -> float:
    return sum(float(times[pair] ** POWER) for group in groups for pair in combinations(group.tolist(), 2))


@given(seed=st.integers(0, 10_000), sizes=st.lists(st.integers(2, 6), min_size=2, max_size=5))
def test_swaps_keep_everybody_and_lower_the_cost_until_none_helps(seed: int, sizes: list[int]) -> None:
    groups, times = cut(sizes), drawn(seed, sum(sizes))
    swapped = bring_near(groups, times, list(combinations(range(len(sizes)), 2)))
    assert [len(group) for group in swapped] == sizes
    assert sorted(np.concatenate(swapped).tolist()) == list(range(sum(sizes)))
    lowest = cost(swapped, times)
    assert lowest <= cost(groups, times)
    assert [group.tolist() for group in groups] == [group.tolist() for group in cut(sizes)]
    for one, other in combinations(swapped, 2):
        for leaves in range(len(one)):
            for comes in range(len(other)):
                one[leaves], other[comes] = other[comes], one[leaves]
                assert cost(swapped, times) >= lowest * (1 - 1e-9)
                one[leaves], other[comes] = other[comes], one[leaves]
