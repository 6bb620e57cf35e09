"""The rules of the wizard cost what the documents say, and bear what the rules themselves say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from backend.server.estimates.robust.measured_rules import MEASURED_MEAN, RULES, MeasuredRule

ROOT = Path(__file__).parents[5]
NAMES = {
    "mean": "mean",
    # Where there are no copies, `distinct` only looks at the distances that NNM computes.
    "distinct + nnm + trimmed-mean": "NNM + trimmed mean",
    "trimmed-mean": "trimmed mean",
    "median": "median",
    "multi-krum": "Multi-Krum",
    "dnc": "divide and conquer",
    "geometric-median": "geometric median",
}


@pytest.mark.parametrize("rule", [MEASURED_MEAN, *RULES], ids=lambda rule: rule.key)
def test_a_cost_is_the_one_that_the_benchmark_measured_on_one_core(rule: MeasuredRule) -> None:
    page = (ROOT / "docs" / "reference" / "benchmarks.md").read_text("utf-8")
    found = re.search(rf"^\| {re.escape(NAMES[rule.key])} \| ([0-9.]+) \|", page, re.MULTILINE)
    assert found is not None
    assert rule.cost(16, 5_000_000) == pytest.approx(float(found[1]))


def test_a_cost_grows_with_the_parameters_and_with_the_updates() -> None:
    for rule in RULES:
        assert rule.cost(16, 10_000_000) == pytest.approx(2 * rule.seconds)
        assert rule.cost(64, 5_000_000) >= 4 * rule.seconds


def test_how_many_updates_a_rule_needs_is_what_the_rule_says() -> None:
    assert {rule.key: rule.least(2) for rule in RULES} == {
        "distinct + nnm + trimmed-mean": 5,
        "trimmed-mean": 5,
        "median": 5,
        "multi-krum": 7,
        "dnc": 5,
        "geometric-median": 5,
    }
