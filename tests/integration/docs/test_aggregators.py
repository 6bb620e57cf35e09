"""The reference of aggregators shows the table of the code, and its messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from backend.numerics.aggregators.selection_rules import krum
from backend.numerics.aggregators.table import AGGREGATORS, PRE_AGGREGATORS, SPECS

PAGE = (Path(__file__).parents[3] / "docs/reference/aggregators.md").read_text("utf-8")


def row(name: str) -> str:
    spec = SPECS[name]
    takes = ", ".join(f"`{argument}`" for argument in spec.takes) or "-"
    weights = "yes" if spec.weights else "no"
    cells = (f"`{name}`", takes, spec.definition, spec.bound, spec.sees, weights, spec.cost, spec.source)
    return f"| {' | '.join(cells)} |"


def test_every_rule_has_its_row_in_order() -> None:
    rules, before = PAGE.split("## Before a rule")
    for page, table in ((rules, AGGREGATORS), (before, PRE_AGGREGATORS)):
        rows = [line for line in page.splitlines() if line.startswith("| `")]
        assert rows == [row(name) for name in table]


def test_the_refusal_on_the_page_is_the_one_that_is_raised() -> None:
    with pytest.raises(ValueError, match="krum with f = 4") as refused:
        krum(4)(np.zeros((10, 3)))
    assert str(refused.value).split(" Lower")[0] in PAGE
