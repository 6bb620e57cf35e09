"""Rules by name: chains for f, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from backend.errors import SettingsError
from backend.lab.robustness.rule_names import judged_table, robust_table, rule_of
from backend.numerics.aggregators.composition import chain
from backend.numerics.aggregators.coordinate_rules import trimmed_mean
from backend.numerics.aggregators.pre_aggregators import arc, nnm
from backend.numerics.aggregators.table import AGGREGATORS


def test_a_chain_is_made_for_its_false_updates() -> None:
    updates = np.random.default_rng(0).standard_normal((10, 30))
    rule = rule_of("arc+nnm+trimmed-mean", 3, 0)
    assert rule.f == 3
    np.testing.assert_array_equal(rule(updates), chain(arc(3), nnm(3), trimmed_mean(3))(updates))


@pytest.mark.parametrize("name", AGGREGATORS)
def test_every_aggregator_has_its_name_alone_and_in_buckets(name: str) -> None:
    updates = np.random.default_rng(0).standard_normal((12, 30))
    assert rule_of(name, 0, 1)(updates).shape == (30,)
    assert rule_of(f"bucketing+{name}", 0, 1)(updates).shape == (30,)


def test_the_seed_is_the_rounds() -> None:
    updates = np.random.default_rng(0).standard_normal((12, 30))
    first, again, other = (rule_of("bucketing+median", 0, seed)(updates) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("name", ["majority", "nnm", "median+nnm", "static-clip+mean", ""])
def test_other_names_are_refused_with_those_that_exist(name: str) -> None:
    for make in (lambda: rule_of(name, 1, 0), lambda: robust_table(name, 1)):
        with pytest.raises(SettingsError, match=r"There is no rule .*nnm.*trimmed-mean"):
            make()


@pytest.mark.parametrize("name", ["median", "krum", "nnm+trimmed-mean", "bucketing+arc+geometric-median"])
def test_a_rule_of_the_lab_is_the_one_of_a_task_file(name: str) -> None:
    updates = np.random.default_rng(0).standard_normal((14, 30))
    table = robust_table(name, 2)
    np.testing.assert_array_equal(table.aggregator(5)(updates), rule_of(name, 2, 5)(updates))


def test_a_rule_that_bears_so_many_of_no_number_of_updates_is_refused_in_words() -> None:
    with pytest.raises(SettingsError, match=r"The rule nnm\+mean cannot be used: .* bears 0 attackers"):
        robust_table("nnm+mean", 3)


def test_beside_a_reputation_the_mean_has_no_table_and_a_chain_to_it_bears_no_attackers() -> None:
    assert judged_table("mean", 3) is None
    copies, trimmed = judged_table("distinct+mean", 3), judged_table("nnm+trimmed-mean", 3)
    assert copies is not None
    assert (copies.words, copies.attackers) == ("distinct + mean", 0)
    assert trimmed is not None
    assert (trimmed.words, trimmed.attackers) == ("nnm + trimmed-mean", 3)
    with pytest.raises(SettingsError, match="There is no rule majority"):
        judged_table("majority", 3)
