"""Figures are those of dp-accounting, on the settings of textbooks and of ours."""

from __future__ import annotations

import importlib.util
import math
from itertools import pairwise

import dp_accounting
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from backend.errors import TaskFileError
from backend.formats.task_file.privacy import PrivacyTable
from backend.formats.task_file.security import MaskingTable
from backend.server.privacy.accountant import ask_accountant
from backend.server.privacy.epsilon import (
    Curve,
    CurveQuery,
    Epsilons,
    NoiseQuery,
    SampledQuery,
    curve,
    gaussian_epsilon,
    noise_multiplier,
    sampled_epsilons,
    skellam_epsilon,
)
from backend.server.privacy.mechanism import Mechanism, WholeNumbers
from backend.server.privacy.noise_shares import whole_numbers
from tests.support.timeouts import HEAVY

DELTA = 1e-5


@pytest.mark.parametrize(
    ("noise", "sampling", "rounds", "rdp", "pld"),
    [
        (1.0, 0.1, 100, 7.90, 7.05),
        *(
            pytest.param(*settings, marks=pytest.mark.long)
            for settings in (
                (1.0, 1.0, 100, 96.1, 91.8),
                (1.0, 0.01, 1000, 2.10, 1.83),
                (4.0, 1.0, 100, 14.1, 13.2),
            )
        ),
    ],
)
def test_the_settings_of_the_literature_give_its_figures(
    noise: float, sampling: float, rounds: int, rdp: float, pld: float
) -> None:
    found = sampled_epsilons(SampledQuery(noise, rounds, sampling, DELTA))
    assert float(f"{found.rdp:.3g}") == pytest.approx(rdp)
    assert float(f"{found.pld:.3g}") == pytest.approx(pld)


def test_without_sampling_the_curve_is_the_exact_one_of_the_gaussian_mechanism() -> None:
    found = curve(CurveQuery(Mechanism("central", 1.0, 100), DELTA, None, 100))
    event = dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(1.0), 100)
    rdp = RdpAccountant().compose(event).get_epsilon(DELTA)
    pld = PLDAccountant().compose(event).get_epsilon(DELTA)
    taken, epsilon = found.points[-1]
    assert taken == 100
    assert epsilon == pytest.approx(91.817, abs=1e-3)
    assert epsilon == pytest.approx(pld, abs=1e-6)
    assert epsilon < rdp


def test_epsilon_rises_with_every_round_and_falls_with_noise() -> None:
    points = curve(CurveQuery(Mechanism("central", 2.0, 150), DELTA, None, 150)).points
    assert [taken for taken, _ in points] == list(range(1, 151))
    assert all(before < after for (_, before), (_, after) in pairwise(points))
    quiet = dict(curve(CurveQuery(Mechanism("central", 4.0, 150), DELTA, None, 150)).points)
    assert all(quiet[taken] < epsilon for taken, epsilon in points)


@pytest.mark.timeout(HEAVY)
def test_a_budget_allows_exactly_the_rounds_that_stay_within_it() -> None:
    mechanism = Mechanism("central", 4.0, 1000)
    found = curve(CurveQuery(mechanism, DELTA, 8.0, 1000))
    assert found.most is not None
    assert gaussian_epsilon(mechanism.effective(found.most), DELTA) <= 8.0
    assert gaussian_epsilon(mechanism.effective(found.most + 1), DELTA) > 8.0
    assert found.most in dict(found.points)
    assert curve(CurveQuery(mechanism, DELTA, 0.01, 1000)).most == 0
    assert curve(CurveQuery(mechanism, DELTA, 9_999.0, 1000)).most == 1000


def test_local_updates_are_counted_between_any_two_of_them() -> None:
    local, central = Mechanism("local", 4.0, 10), Mechanism("central", 2.0, 10)
    assert local.effective(7) == pytest.approx(central.effective(7))


@pytest.mark.parametrize("rounds", [1, 2, 63, 64, 100, 1000])
def test_who_takes_part_once_under_a_tree_is_counted_as_dp_accounting_does(rounds: int) -> None:
    relation = dp_accounting.NeighboringRelation.REPLACE_SPECIAL
    tree = RdpAccountant(neighboring_relation=relation)
    tree.compose(dp_accounting.SingleEpochTreeAggregationDpEvent(4.0, [rounds]))
    ours = RdpAccountant()
    ours.compose(dp_accounting.GaussianDpEvent(Mechanism("central", 4.0, rounds, tree=True).effective(1)))
    assert ours.get_epsilon(DELTA) == pytest.approx(tree.get_epsilon(DELTA))


def test_the_noise_for_an_epsilon_is_the_textbook_s_and_no_more_than_needed() -> None:
    central = Mechanism("central", 0.0, 100)
    assert noise_multiplier(NoiseQuery(central, 100, 0.1, DELTA, 8.0)) == pytest.approx(0.9937, abs=2e-4)
    needed = noise_multiplier(NoiseQuery(central, 50, 1.0, DELTA, 8.0))
    assert gaussian_epsilon(needed / math.sqrt(50), DELTA) == pytest.approx(8.0, abs=1e-6)
    tree = Mechanism("central", 0.0, 100, tree=True)
    assert noise_multiplier(NoiseQuery(tree, 1, 1.0, DELTA, 8.0)) == pytest.approx(
        needed * math.sqrt(7 / 50), rel=1e-6
    )


def test_too_little_noise_is_an_epsilon_that_says_so() -> None:
    assert gaussian_epsilon(1e-6, DELTA) == 10_000.0


def test_the_process_answers_what_the_functions_do() -> None:
    asked = CurveQuery(Mechanism("central", 1.5, 5), DELTA, 4.0, 5)
    assert ask_accountant(asked, Curve) == curve(asked)
    sampled = SampledQuery(1.0, 10, 0.1, DELTA)
    assert ask_accountant(sampled, Epsilons) == sampled_epsilons(sampled)


def test_long_plans_are_counted_at_fewer_places_that_never_say_too_little() -> None:
    points = curve(CurveQuery(Mechanism("central", 50.0, 100_000), DELTA, None, 100_000)).points
    assert points[-1][0] == 100_000
    assert len(points) < 400


def test_skellam_noise_of_fine_steps_is_worth_what_gaussian_noise_is() -> None:
    fine = WholeNumbers(ratio=2.0, variance=1e12, l1=1e7)
    event = dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(2.0), 30)
    assert skellam_epsilon(fine, 30, DELTA) == pytest.approx(
        RdpAccountant().compose(event).get_epsilon(DELTA)
    )
    coarse = WholeNumbers(ratio=2.0, variance=100.0, l1=50.0)
    assert skellam_epsilon(coarse, 30, DELTA) > 1.01 * skellam_epsilon(fine, 30, DELTA)


@pytest.mark.parametrize("parameters", [1_000, 1_000_000])
def test_shares_are_worth_almost_all_that_they_claim_at_any_number_of_members(parameters: int) -> None:
    found = whole_numbers(PrivacyTable("distributed", 3.0, 1.0), MaskingTable(min_clients=3), parameters, 1)
    assert 0.95 < found.ratio < 1.0
    assert found.variance > 1e6


def test_noise_that_does_not_fit_into_the_bits_is_refused() -> None:
    with pytest.raises(TaskFileError, match="take more bits"):
        whole_numbers(PrivacyTable("distributed", 3.0, 5000.0), MaskingTable(bits=16, min_clients=8), 1000, 1)


def test_without_dp_accounting_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(TaskFileError, match=r"pip install 'minga\[privacy\]'"):
        ask_accountant(NoiseQuery(Mechanism("central", 0.0, 1), 1, 1.0, DELTA, 1.0), float)
