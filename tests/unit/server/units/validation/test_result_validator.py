"""Which results of a work unit hold, whatever strangers send."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from backend.numerics.aggregation.figure_agreement import Figures
from backend.numerics.vectors import Vector
from backend.protocols.units.rules import Verdict
from backend.server.units.validation.result_validator import ComparedResult, ResultValidator
from backend.server.units.validation.tolerances import TELLING, table, tolerance_of
from backend.server.units.validation.usual_results import MIN_NORMS

VALID, INVALID, UNDECIDED = Verdict.VALID, Verdict.INVALID, Verdict.UNDECIDED
SIZE = 2000


def update(seed: int, length: float = 1.0) -> Vector:
    values = np.random.default_rng(seed).normal(0, 1, SIZE)
    return (length * values / np.linalg.norm(values)).astype(np.float32)


def near(seed: int, apart: float, by: int = 99) -> Vector:
    """What another machine makes of the same: `apart` from it, in any direction."""
    return (update(seed) + apart * update(by)).astype(np.float32)


def shown(*updates: Vector, unit: int = 7) -> list[ComparedResult]:
    return [ComparedResult(lease, one, unit) for lease, one in enumerate(updates)]


CHEATS = {
    "random": update(5),
    "scaled": (2.0 * update(1)).astype(np.float32),
    "unfinished": (0.5 * update(1) + 0.2 * update(6)).astype(np.float32),
    "turned": (-update(1)).astype(np.float32),
    "nothing": np.zeros(SIZE, np.float32),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_is_outvoted_and_alone_beside_one_undecided(cheat: str) -> None:
    judging = ResultValidator()
    lie = CHEATS[cheat]
    assert judging.verdicts(shown(update(1), lie)) == {0: UNDECIDED, 1: UNDECIDED}
    assert judging.verdicts(shown(update(1), lie, near(1, 0.001))) == {0: VALID, 1: INVALID, 2: VALID}
    first, second = shown(lie, update(1))
    assert judging.verdicts([first, second], second) == {0: INVALID, 1: VALID}
    assert judging.verdicts([first], second) == {0: INVALID}


def test_honest_results_hold_and_strange_ones_are_blamed_for_nothing() -> None:
    judging = ResultValidator(tolerance=0.01)
    assert judging.verdicts(shown(update(1), near(1, 0.005))) == {0: VALID, 1: VALID}
    # It differs more than it should, and less than one that was not worked for.
    assert judging.verdicts(shown(update(1), near(1, 0.03), update(1))) == {0: VALID, 1: UNDECIDED, 2: VALID}
    assert judging.verdicts(shown(near(1, 0.03)), shown(update(1))[0]) == {0: VALID}


def test_one_alone_holds_unless_it_is_much_longer_or_shorter_than_usual() -> None:
    judging = ResultValidator()
    for number in range(MIN_NORMS):
        assert judging.verdicts(shown(update(number, 1 + number / 10), unit=number)) == {0: VALID}
    assert judging.verdicts(shown(update(50, 30.0), unit=50)) == {0: UNDECIDED}
    assert judging.verdicts(shown(update(51, 0.01), unit=51)) == {0: UNDECIDED}
    assert judging.verdicts(shown(np.full(SIZE, np.nan, np.float32), unit=52)) == {0: UNDECIDED}
    assert judging.verdicts(shown(update(53, 2.0), unit=53)) == {0: VALID}
    # What was in doubt is no measure.
    assert judging.verdicts(shown(update(54, 30.0), unit=54)) == {0: UNDECIDED}


def test_a_copy_of_what_came_for_another_unit_never_counts_alone() -> None:
    judging = ResultValidator()
    assert judging.verdicts(shown(update(1), unit=1)) == {0: VALID}
    assert judging.verdicts(shown(update(1), unit=2)) == {0: UNDECIDED}
    # The same twice, as after a lost answer, and nothing learned twice, are no copies.
    assert judging.verdicts(shown(update(1), unit=1)) == {0: VALID}
    for unit in (3, 4):
        assert judging.verdicts(shown(np.zeros(SIZE, np.float32), unit=unit)) == {0: VALID}


def test_tolerances_grow_with_the_steps_and_the_task_file_may_set_one() -> None:
    rungs = table().rungs
    for before, rung in itertools.pairwise(rungs):
        assert tolerance_of(before.steps + 1) == tolerance_of(rung.steps)
        assert tolerance_of(before.steps).distance <= tolerance_of(rung.steps).distance
    assert tolerance_of(rungs[-1].steps + 1).distance == table().longer.distance
    assert tolerance_of(16, given=0.2).distance == 0.2
    assert tolerance_of(16, given=0.5).blame == 0.5


def of_steps(steps: int, *updates: Vector) -> list[ComparedResult]:
    return [ComparedResult(lease, one, 7, steps) for lease, one in enumerate(updates)]


def test_after_many_steps_honest_results_may_be_farther_apart_and_only_nonsense_is_blamed() -> None:
    few, many = table().steps, table().rungs[-1].steps + 1
    one, far = update(1), near(1, 2 * TELLING)
    assert ResultValidator().verdicts(of_steps(few, one, far)) == {0: UNDECIDED, 1: UNDECIDED}
    assert ResultValidator().verdicts(of_steps(many, one, far)) == {0: VALID, 1: VALID}
    for steps, lie, verdict in (
        (few, 0.5 * update(1), INVALID),
        (many, 0.5 * update(1), UNDECIDED),
        (many, update(5), INVALID),
    ):
        first, second = of_steps(steps, one, lie.astype(np.float32))
        assert ResultValidator().verdicts([second], first) == {1: verdict}


def reported(lease: int, loss: float, right: float = 80.0) -> ComparedResult:
    return ComparedResult(lease, update(lease), lease, 4, Figures(loss, ((right, 100.0),)))


def test_an_update_that_holds_does_not_make_its_loss_and_metrics_true() -> None:
    honest, liar, boaster = (
        replace(reported(0, loss, right), lease=lease, unit=7)
        for lease, loss, right in ((0, 0.5, 80.0), (1, 0.01, 80.0), (2, 0.5, 100.0))
    )
    again = replace(honest, lease=3)
    judging = ResultValidator()
    assert judging.verdicts([honest, liar]) == {0: UNDECIDED, 1: UNDECIDED}
    assert judging.verdicts([honest, liar, again]) == {0: VALID, 1: INVALID, 3: VALID}
    assert judging.verdicts([liar], honest) == {1: INVALID}
    assert judging.verdicts([boaster], honest) == {2: UNDECIDED}


def test_a_figure_that_rounding_may_change_costs_nobody_trust() -> None:
    peer, client = (
        replace(reported(0, loss), lease=lease, unit=7) for lease, loss in enumerate((4e-4, 9e-3))
    )
    assert ResultValidator().verdicts([client], peer) == {1: UNDECIDED}


def test_sums_alone_hold_unless_they_are_far_from_all_before() -> None:
    judging = ResultValidator()
    for lease in range(MIN_NORMS):
        assert judging.verdicts([reported(lease, 0.5, 60.0 + lease)]) == {lease: VALID}
    assert judging.verdicts([reported(20, 0.5, 1e30)]) == {20: UNDECIDED}
    assert judging.verdicts([reported(21, 0.5, 5.0)]) == {21: UNDECIDED}
    assert judging.verdicts([reported(22, 0.5, 95.0)]) == {22: VALID}


def test_a_loss_alone_holds_unless_it_is_far_from_all_before() -> None:
    judging = ResultValidator()
    for lease in range(MIN_NORMS):
        assert judging.verdicts([reported(lease, 0.5 + 0.1 * lease)]) == {lease: VALID}
    assert judging.verdicts([reported(20, 30.0)]) == {20: UNDECIDED}
    assert judging.verdicts([reported(21, 0.0001)]) == {21: UNDECIDED}
    assert judging.verdicts([reported(22, 2.0)]) == {22: VALID}


def exact(lease: int, one: Vector, program: str | None = "p", loss: float = 0.5) -> ComparedResult:
    return ComparedResult(lease, one, 7, 4, Figures(loss), program)


def test_results_of_one_program_are_equal_or_one_is_wrong() -> None:
    one, other = update(1), update(1)
    other[0] = np.nextafter(other[0], np.float32(9.0))
    judging = ResultValidator(tolerance=0.2)
    assert judging.verdicts([exact(0, one), exact(1, one.copy())]) == {0: VALID, 1: VALID}
    assert judging.verdicts([exact(0, one), exact(1, other)]) == {0: UNDECIDED, 1: UNDECIDED}
    assert judging.verdicts([exact(0, one), exact(1, other), exact(2, one)]) == {
        0: VALID,
        1: INVALID,
        2: VALID,
    }
    assert judging.verdicts([exact(1, other)], exact(0, one)) == {1: INVALID}
    assert judging.verdicts([exact(1, one, loss=0.4999999)], exact(0, one)) == {1: INVALID}
    zero, negative = np.zeros(SIZE, np.float32), np.full(SIZE, -0.0, np.float32)
    assert judging.verdicts([exact(1, negative)], exact(0, zero)) == {1: INVALID}


def test_results_of_other_programs_and_of_none_are_compared_within_the_tolerance() -> None:
    judging = ResultValidator(tolerance=0.01)
    for program in ("q", None):
        assert judging.verdicts([exact(0, update(1)), exact(1, near(1, 0.001), program)]) == {
            0: VALID,
            1: VALID,
        }


def test_who_agrees_with_both_within_a_tolerance_does_not_decide_between_two_of_one_program() -> None:
    honest, lie, inexact = update(1), near(1, 0.001), near(1, 0.0005)
    judging = ResultValidator(tolerance=0.01)
    split = [exact(0, honest), exact(1, lie), exact(2, inexact, None)]
    assert judging.verdicts(split) == dict.fromkeys(range(3), UNDECIDED)
    decided = judging.verdicts([*split, exact(3, honest)])
    assert decided == {0: VALID, 1: INVALID, 2: VALID, 3: VALID}


def test_who_tells_a_program_of_its_own_does_not_decide_against_others() -> None:
    judging = ResultValidator(tolerance=0.01)
    lies = [exact(0, update(2), "q"), exact(1, near(2, 0.001), "q")]
    honest = [exact(2, update(1), None), exact(3, near(1, 0.001), None), exact(4, near(1, 0.002), "p")]
    verdicts = judging.verdicts([*lies, *honest])
    assert verdicts == {0: INVALID, 1: INVALID, 2: VALID, 3: VALID, 4: VALID}


def test_whoever_is_near_the_majority_with_other_bits_than_its_program_is_wrong() -> None:
    judging = ResultValidator(tolerance=0.01)
    results = [exact(0, update(1)), exact(1, near(1, 0.1)), exact(2, near(1, 0.001), None)]
    assert judging.verdicts(results) == {0: VALID, 1: INVALID, 2: VALID}
