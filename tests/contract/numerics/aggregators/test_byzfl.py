"""Rules that ByzFL has, too, make the same of the same updates: see vectors/robust/record_byzfl.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from backend.numerics.aggregators.centre_rules import centered_clip, geometric_median
from backend.numerics.aggregators.composition import Aggregator, chain
from backend.numerics.aggregators.coordinate_rules import meamed, median, trimmed_mean
from backend.numerics.aggregators.least_diameter import mda
from backend.numerics.aggregators.mean_rules import mean
from backend.numerics.aggregators.pre_aggregators import arc, nnm, static_clip
from backend.numerics.aggregators.selection_rules import krum, multi_krum
from tests.contract.vectors import HERE

RECORDED = json.loads((HERE / "robust/byzfl.json").read_text("utf-8"))
ZERO = np.zeros(len(RECORDED["cases"][0]["result"]))
# ByzFL sums up n - f - 1 neighbours for Krum, begins at zero, and smooths by 0.1 whatever the updates' size.
RULES: dict[str, Callable[[int, int, dict[str, Any]], Aggregator]] = {
    "Average": lambda _count, _f, _arguments: mean(),
    "Median": lambda _count, _f, _arguments: median(),
    "TrMean": lambda _count, f, _arguments: trimmed_mean(f),
    "Meamed": lambda _count, f, _arguments: meamed(f),
    "Krum": lambda count, f, _arguments: krum(f, neighbours=count - f - 1),
    "MultiKrum": lambda count, f, _arguments: multi_krum(f, neighbours=count - f - 1),
    "MDA": lambda _count, f, _arguments: mda(f),
    "GeometricMedian": lambda _count, _f, arguments: geometric_median(
        smoothing=arguments.get("nu", 0.1), iterations=arguments.get("T", 3), scale=1.0, start=ZERO
    ),
    "CenteredClipping": lambda _count, _f, arguments: centered_clip(
        radius=arguments["tau"], iterations=arguments["L"], start=ZERO
    ),
}


def rule_of(case: dict[str, Any], count: int) -> Aggregator:
    before = {"NNM": lambda: nnm(case["f"]), "ARC": lambda: arc(case["f"])} | {
        "Clipping": lambda: static_clip(RECORDED["clip"])
    }
    rule = RULES[case["rule"]](count, case["f"], case["arguments"])
    return chain(*(before[name]() for name in case["before"]), rule)


@pytest.mark.parametrize("updates", RECORDED["updates"])
def test_every_rule_makes_what_byzfl_makes(updates: str) -> None:
    rows = np.array(RECORDED["updates"][updates])
    largest = np.abs(rows).max()
    usual = np.median(np.abs(rows))  # One huge update must not excuse anything.
    cases = [case for case in RECORDED["cases"] if case["updates"] == updates]
    assert {case["rule"] for case in cases} == RULES.keys()
    compared = 0
    for case in cases:
        rule = rule_of(case, len(rows))
        if rule.tolerance(len(rows)) < case["f"] and rule.f:
            continue  # ByzFL also runs Krum where its proof does not hold.
        result = np.array(case["result"])
        bound = 1e-5 * (usual if np.abs(result).max() < 10 * usual else largest)
        np.testing.assert_allclose(rule(rows), result, rtol=0, atol=bound + 1e-300, err_msg=str(case))
        single = rule(rows.astype(np.float32))
        np.testing.assert_allclose(single, result, rtol=0, atol=bound + 1e-300, err_msg=str(case))
        compared += 1
    assert compared >= 14
