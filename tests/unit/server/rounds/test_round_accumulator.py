from __future__ import annotations

import numpy as np
import pytest

from backend.crypto.round_context import Terms
from backend.formats.manifest import MetricSpec
from backend.formats.task_file import RobustTable
from backend.numerics.aggregation.weighted_mean import WeightedMean
from backend.numerics.masking.encoding import Decoded
from backend.numerics.scaffold import ControlChanges
from backend.server.rounds.group_sums import GroupSums
from backend.server.rounds.robust_round_mean import RobustRoundMean
from backend.server.rounds.round_accumulator import RoundAccumulator
from backend.wire.messages import Masking, Offer

PRECISION = MetricSpec("precision")
RMSE = MetricSpec("rmse", "root")
AUC = MetricSpec("auc", "auc", 3)


def accumulator(*offers: Offer) -> RoundAccumulator:
    made = RoundAccumulator(WeightedMean(1))
    made.accepted = {f"{number}": offer for number, offer in enumerate(offers)}
    return made


def offer(*sums: tuple[float, float], examples: int = 1, loss: float = 0.0) -> Offer:
    return Offer(round=1, version=0, examples=examples, steps=1, loss=loss, sums=list(sums), size=4)


def test_the_loss_is_the_mean_over_all_examples() -> None:
    assert accumulator(offer(examples=1, loss=1.0), offer(examples=3, loss=2.0)).loss() == 1.75


def test_metrics_are_those_of_all_examples_together_not_means_of_the_clients_values() -> None:
    first = offer((1.0, 1.0), (9.0, 1.0), (2.0, 1.0), (1.0, 0.0), (0.0, 0.0))
    second = offer((1.0, 9.0), (1.0, 9.0), (3.0, 4.0), (2.0, 1.0), (0.0, 0.0))
    found = accumulator(first, second).metrics([PRECISION, RMSE, AUC])
    hits, alarms = np.array([0, 3, 5]) / 5, np.array([0, 1, 5]) / 5
    assert found == {
        "precision": pytest.approx(2 / 10),
        "rmse": pytest.approx(1.0),
        "auc": pytest.approx(np.trapezoid(hits, alarms)),
    }


@pytest.mark.parametrize("sums", [[(1e30, 5e-324)], [(1e30, 5e-324), (-1e30, 5e-324)]])
def test_a_metric_that_strangers_make_infinite_is_left_out(sums: list[tuple[float, float]]) -> None:
    spec = MetricSpec("strange", "ratio", len(sums))
    assert accumulator(offer(*sums, (1.0, 2.0))).metrics([spec, PRECISION]) == {"precision": 0.5}


def test_a_curve_whose_area_cannot_be_computed_is_left_out() -> None:
    assert accumulator(offer((1e-200, 1e-200), (0.0, 0.0), (0.0, 0.0))).metrics([AUC]) == {}


def test_a_model_without_metrics_has_none() -> None:
    assert accumulator(offer()).metrics([]) == {}


def test_a_masked_sum_says_what_all_have_together() -> None:
    terms = Terms(
        task="digits",
        bundle="b" * 64,
        round=1,
        version=0,
        weights="a" * 64,
        parameters=2,
        rows=1,
        bits=32,
        clip=1.0,
        examples=20,
        noise=0.0,
        share=1.0,
        min_clients=3,
        server="honest",
    )
    masking = Masking(bits=32, clip=1.0, examples=20, noise=0.0, share=1.0, min_clients=3, server="honest")
    made = accumulator(offer(examples=0), offer(examples=0), offer(examples=0))
    made.masked = GroupSums.empty(masking, terms, 1)
    with pytest.raises(ValueError, match="still masked"):
        made.outcome([PRECISION])
    mean = np.array([0.5, -0.5], np.float32)
    made.masked.sums[0].decoded = Decoded(mean, weight=1.5, unclipped=3, loss=0.25, rows=[0.75, 1.5])
    outcome = made.outcome([PRECISION])
    assert (outcome.examples, outcome.loss, outcome.metrics) == (30, 0.25, {"precision": 0.5})
    assert outcome.mean.tolist() == [0.5, -0.5]


def test_a_refusal_after_the_round_was_recorded_is_the_next_rounds() -> None:
    made = accumulator(offer(examples=2))
    made.refuse("x", "not-finite")
    made.refuse("y", "stale-round")
    record = made.record("version", "", 1.0, 2.0, {})
    made.refuse("x", "stale-round")
    assert (record.refused, record.refusals) == (2, {"not-finite": 1, "stale-round": 1})
    following = RoundAccumulator(WeightedMean(1), refused=made.later)
    assert following.record("abandoned", "", 1.0, 2.0, {}).refusals == {"stale-round": 1}
    assert [(one.client, one.refused) for one in following.contributions({}, counted=False)] == [("x", 1)]


def test_control_variates_change_by_the_update_and_its_steps_whatever_the_examples() -> None:
    made = RoundAccumulator(WeightedMean(3), changes=ControlChanges(np.zeros(2, np.float32), 0.5))
    for examples, steps in ((1, 4), (99, 1)):
        one = Offer(round=1, version=0, examples=examples, steps=steps, loss=0.0, sums=[], size=12)
        made.add(np.array([-1.0, 2.0, 5.0], np.float32), one)
    assert made.changes is not None
    assert made.changes.next_server(0, 2).tolist() == [1.25, -2.5]
    assert made.mean.mean().tolist() == [-1.0, 2.0, 5.0]


def test_a_round_remembers_what_kinds_of_clients_its_updates_came_from() -> None:
    made = accumulator(offer(), offer(), offer())
    about = dict(zip(made.accepted, [("browser", "webgpu"), ("peer", "tensorflow-cpu")], strict=False))
    record = made.record("version", "", 1.0, 2.0, about)
    assert record.accepted_by == {"browser webgpu": 1, "peer tensorflow-cpu": 1, "browser": 1}


def test_clients_with_words_of_their_own_do_not_fill_the_records() -> None:
    made = accumulator(*(offer() for _ in range(100)))
    about = {client: ("peer", f"mine-{number}") for number, client in enumerate(made.accepted)}
    record = made.record("version", "", 1.0, 2.0, about)
    assert (len(record.accepted_by), record.accepted_by["other"]) == (17, 84)


def test_of_private_clients_no_loss_metric_or_number_of_examples_is_remembered_and_each_weighs_one() -> None:
    made = accumulator(offer(examples=7, loss=1.0))
    made.private = True
    assert (made.loss(), made.metrics([PRECISION])) == (None, {})
    assert [one.examples for one in made.contributions({}, counted=True)] == [0]
    for value, examples in ((1.0, 100), (3.0, 1)):
        made.add(np.array([value], np.float32), offer(examples=examples))
    assert made.mean.mean() == 2.0


def test_a_record_names_the_robust_rule_and_the_clients_that_it_left_out() -> None:
    mean = RobustRoundMean(RobustTable("multi-krum", 1), 1, 5, None, bytes)
    made = RoundAccumulator(mean)
    for client, value in (("ann", 1.0), ("bob", 1.1), ("eve", -9.0), ("cid", 1.2), ("dan", 1.3)):
        made.add(np.array([value], np.float32), offer())
        made.accepted[client] = offer()
    assert made.outcome([]).mean == pytest.approx([1.15])
    record = made.record("version", "", 1.0, 2.0, {})
    assert (record.rule, record.left_out) == ("multi-krum", ["eve"])
    plain = accumulator(offer()).record("version", "", 1.0, 2.0, {})
    assert (plain.rule, plain.left_out) == ("", [])
