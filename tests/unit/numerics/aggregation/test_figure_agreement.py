"""Losses and metric sums that agree within what rounding makes of them, and those that do not."""

from __future__ import annotations

import pytest

from backend.numerics.aggregation.figure_agreement import (
    LEAST_LOSS,
    TURNED,
    Figures,
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
        (Figures(-0.5, TRUE.sums), OTHER),
        # Two answers turned out otherwise, or thirty, or nearly all.
        (Figures(0.5, ((182.0, 200.0), (31.25, 200.0))), SAME),
        (Figures(0.5, ((150.0, 200.0), (31.25, 200.0))), DOUBTFUL),
        (Figures(0.5, ((10.0, 200.0), (31.25, 200.0))), OTHER),
        # A mean of other numbers may be off by as much, relative to its denominator.
        (Figures(0.5, ((180.0, 200.0), (32.5, 200.0))), SAME),
        (Figures(0.5, ((180.0, 200.0), (131.25, 200.0))), OTHER),
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


def test_the_worst_of_several_decides() -> None:
    assert worst((SAME, SAME)) is SAME
    assert worst((DOUBTFUL, SAME)) is DOUBTFUL
    assert worst((DOUBTFUL, OTHER)) is OTHER


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
