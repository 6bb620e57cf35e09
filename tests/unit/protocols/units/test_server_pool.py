"""Parameter servers come while results wait and more of them help, and go when they have nothing to do."""

from __future__ import annotations

import pytest

from backend.protocols.units.server_pool import Pool, PoolRules, PoolWindow

RULES = PoolRules(least=1, most=4, window=10.0, rest=3)


def _counts(pool: Pool, windows: list[tuple[int, float, int]]) -> list[int]:
    return [pool.update(PoolWindow(*window)) for window in windows]


def test_servers_come_one_by_one_while_results_wait_and_each_brings_more() -> None:
    pool = Pool(RULES)
    assert pool.count == 1
    assert _counts(pool, [(10, 10, 5), (20, 20, 9), (30, 30, 9), (40, 40, 9), (40, 40, 9)]) == [2, 3, 4, 4, 4]


def test_a_server_that_brings_nothing_goes_and_nobody_tries_again_for_a_while() -> None:
    pool = Pool(RULES)
    waiting = (10, 10.0, 5)
    assert _counts(pool, [waiting, (10, 20, 7), waiting, waiting, waiting]) == [2, 1, 1, 1, 2]


def test_a_trial_ends_well_where_the_results_ran_out() -> None:
    """Then it says nothing that no more were done."""
    pool = Pool(RULES)
    assert _counts(pool, [(10, 10, 5), (10, 19, 1), (10, 19, 1)]) == [2, 2, 2]


def test_fewer_results_than_servers_are_no_backlog() -> None:
    assert _counts(Pool(RULES), [(10, 10, 0), (10, 10, 0)]) == [1, 1]
    assert _counts(Pool(PoolRules(least=2, window=10.0)), [(10, 10, 1)]) == [2]


def test_servers_go_one_by_one_where_the_others_have_time_enough() -> None:
    pool = Pool(RULES)
    _counts(pool, [(10, 10, 5), (20, 20, 9), (30, 30, 9)])
    assert _counts(pool, [(5, 20.9, 0), (5, 0, 0), (5, 0, 1), (5, 0, 0), (0, 0, 0)]) == [3, 2, 2, 1, 1]


def test_servers_stay_that_are_needed() -> None:
    pool = Pool(RULES)
    _counts(pool, [(10, 10, 5), (20, 20, 9)])
    assert _counts(pool, [(18, 18, 0), (14, 14, 0), (13, 13.9, 0)]) == [3, 3, 2]


def test_a_fixed_number_stays_whatever_comes() -> None:
    pool = Pool(PoolRules(least=3, most=3))
    assert _counts(pool, [(10, 15, 99), (0, 0, 0), (10, 15, 99)]) == [3, 3, 3]


@pytest.mark.parametrize("wrong", [{"least": 0}, {"least": 5}, {"window": 0.0}, {"gain": 0.5}])
def test_rules_that_mean_nothing_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="least"):
        PoolRules(**wrong)  # type: ignore[arg-type]
