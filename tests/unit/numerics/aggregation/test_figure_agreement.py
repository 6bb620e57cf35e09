"""Losses and metric sums that agree within what rounding makes of them, and those that do not."""

from __future__ import annotations

import pytest

from backend.numerics.aggregation.figure_agreement import (
    LEAST_LOSS,
    TURNED,
    Figures,
    are_unusual,
    figure_agreement,
    is_unusual,
    worst,
)
from backend.numerics.aggregation.result_agreement import Agreement, Tolerance

SAME, DOUBTFUL, OTHER = Agreement.SAME, Agreement.DOUBTFUL, Agreement.OTHER
TOLERANCE = Tolerance(0.01, 0.9999, 0.3)
TRUE = Figures(0.5, ((180.0, 200.0), (31.25, 200.0)))


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        (TRUE, SAME),
        (Figures(0.504, TRUE.sums), SAME),
        (Figures(0.4, TRUE.sums), DOUBTFUL),
        (Figures(0.1, TRUE.sums), OTHER),
        (Figures(5.0, TRUE.sums), OTHER),
        # What is left of terms that cancel may have any sign.
        (Figures(-0.5, TRUE.sums), DOUBTFUL),
        # Two answers turned out otherwise, or thirty, or nearly all.
        (Figures(0.5, ((182.0, 200.0), (31.25, 200.0))), SAME),
        (Figures(0.5, ((150.0, 200.0), (31.25, 200.0))), DOUBTFUL),
        (Figures(0.5, ((10.0, 200.0), (31.25, 200.0))), OTHER),
        # A mean of other numbers may be off by as much, relative to its denominator.
        (Figures(0.5, ((180.0, 200.0), (32.5, 200.0))), SAME),
        (Figures(0.5, ((180.0, 200.0), (131.25, 200.0))), DOUBTFUL),
        (Figures(0.5, ((180.0, 200.0), (400.0, 200.0))), OTHER),
        # The same accuracy, of ten times as many examples.
        (Figures(0.5, ((1800.0, 2000.0), (31.25, 200.0))), OTHER),
        (Figures(0.5, ((180.0, 200.0),)), OTHER),
        (Figures(0.5, ()), OTHER),
    ],
)
def test_reports_agree_within_the_tolerance(reported: Figures, expected: Agreement) -> None:
    assert figure_agreement(TRUE, reported, TOLERANCE) is expected
    assert figure_agreement(reported, TRUE, TOLERANCE) is expected


def test_losses_near_zero_and_sums_of_nothing_are_alike() -> None:
    nothing = ((0.0, 0.0),)
    assert figure_agreement(Figures(0.0, nothing), Figures(LEAST_LOSS / 200, nothing), TOLERANCE) is SAME
    assert figure_agreement(Figures(0.0, nothing), Figures(0.0, ((TURNED, TURNED),)), TOLERANCE) is SAME
    assert figure_agreement(Figures(0.0, nothing), Figures(0.0, ((0.0, 9.0),)), TOLERANCE) is OTHER


@pytest.mark.parametrize(("one", "other"), [(2e-4, 9e-4), (4e-4, 0.03), (0.8, -0.7), (-20.0, 31.0)])
def test_nobody_is_blamed_for_a_loss_near_zero_or_one_that_cancels(one: float, other: float) -> None:
    assert figure_agreement(Figures(one), Figures(other), TOLERANCE) is DOUBTFUL
    assert figure_agreement(Figures(other), Figures(one), TOLERANCE) is DOUBTFUL


def test_the_worst_of_several_decides() -> None:
    assert worst((SAME, SAME)) is SAME
    assert worst((DOUBTFUL, SAME)) is DOUBTFUL
    assert worst((DOUBTFUL, OTHER)) is OTHER


def test_figures_are_unusual_where_one_of_them_is() -> None:
    others = [Figures(0.5, ((float(right), 16.0),)) for right in (6, 9, 14)]
    for sums, unusual in (
        ((12.0, 16.0), False),
        ((1e30, 16.0), True),
        ((9.0, 1e30), True),
        ((9.0, 2.0), True),
        # A few examples more or less right are no lie, in small units.
        ((0.0, 16.0), True),
        ((4.0, 14.0), False),
    ):
        assert are_unusual(Figures(0.5, (sums,)), others, 5.0) is unusual
    few = [Figures(0.5, ((right, 8.0),)) for right in (2.0, 3.0)]
    assert not are_unusual(Figures(0.5, ((0.0, 8.0),)), few, 5.0)
    assert are_unusual(Figures(9.0, ((2.0, 8.0),)), few, 5.0)


def test_a_loss_is_unusual_far_beyond_all_others() -> None:
    losses = [0.5, 0.9, 2.0]
    assert [is_unusual(loss, losses, 5.0) for loss in (0.09, 0.11, 2.0, 9.9, 10.1)] == [
        True,
        False,
        False,
        False,
        True,
    ]
    assert not is_unusual(0.0, [1e-6, 0.1], 5.0)
    assert not is_unusual(0.004, [1e-6], 5.0)
    # Some losses are negative.
    assert [is_unusual(loss, [-2.0, 1.0], 5.0) for loss in (-9.0, -11.0)] == [False, True]
