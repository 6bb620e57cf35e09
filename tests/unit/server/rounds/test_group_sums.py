"""The sums of a round's groups: what they say together, and sums that honest clients cannot have sent."""

from __future__ import annotations

import numpy as np
import pytest

from backend.crypto.round_context import Terms
from backend.errors import MaskingError
from backend.formats.task_file import RobustTable
from backend.numerics.masking.encoding import Decoded
from backend.protocols.secagg.server_effects import Recover
from backend.server.rounds.group_sums import GroupSums
from backend.server.rounds.masked_sum import MaskedSum
from backend.server.rounds.robust_round_mean import RobustRoundMean
from backend.server.rounds.round_accumulator import RoundAccumulator
from backend.wire.masked_messages import Masking
from backend.wire.messages import Offer

MASKING = Masking(bits=32, clip=1.0, examples=20, noise=0.0, share=1.0, min_clients=3, server="honest")
TERMS = Terms(
    task="digits", bundle="b" * 64, round=1, version=0, weights="a" * 64, parameters=2, rows=1, bits=32,
    clip=1.0, examples=20, noise=0.0, share=1.0, min_clients=3, server="honest",
)  # fmt: skip
GROUPS = (("a", "b", "c"), ("d", "e", "f"), ("g", "h", "i"))


def decoded(value: float, weight: float = 3.0) -> Decoded:
    return Decoded(np.full(2, value, np.float32), weight, 3, 0.5, [weight / 2, weight])


def accumulator(rule: str, *values: float | None) -> RoundAccumulator:
    """A round of three groups of three, whose sums have these means; None is lost."""
    table = RobustTable(rule=rule, attackers=1, groups=5)  # type: ignore[arg-type]  # A rule's name.
    mean = RobustRoundMean(table, 2, len(values), None, lambda count: bytes(count))
    masked = GroupSums.empty(MASKING, TERMS, len(values))
    for one, value in zip(masked.sums, values, strict=True):
        one.decoded = None if value is None else decoded(value)
    names = [client for group in GROUPS for client in group]
    offer = Offer(round=1, version=0, examples=0, steps=0, loss=0.0, sums=[], size=8)
    groups = (*GROUPS, ("j", "k"), ("l", "m"))[: len(values)]
    return RoundAccumulator(mean, accepted=dict.fromkeys(names, offer), masked=masked, groups=groups)


def test_the_rule_takes_each_group_once_whatever_it_weighs() -> None:
    made = accumulator("median", 1.0, 2.0, 50.0)
    assert made.masked is not None
    made.masked.sums[2].decoded = decoded(50.0, weight=0.1)
    outcome = made.outcome([])
    assert outcome.mean.tolist() == [2.0, 2.0]
    assert outcome.examples == 122
    assert outcome.loss == pytest.approx(0.5)
    record = made.record("version", "", 1.0, 2.0, {})
    assert (record.rule, record.groups, record.groups_used) == ("median", 3, 3)
    assert (record.left_out, record.left_out_groups) == ([], [])


def test_the_record_names_the_groups_that_a_rule_left_out_and_no_single_client() -> None:
    made = accumulator("multi-krum", 1.0, 1.1, None, 0.9, 9.0)
    table = RobustTable(rule="multi-krum", attackers=1, groups=5)
    made.mean = RobustRoundMean(table, 2, 5, None, lambda count: bytes(count))
    assert made.masked is not None
    made.masked.sums[2].decoded = decoded(1.05)
    made.masked.sums[0].decoded, made.masked.sums[4].decoded = decoded(9.0), decoded(1.0)
    made.outcome([])
    record = made.record("version", "", 1.0, 2.0, {})
    assert (record.groups, record.groups_used, record.left_out) == (5, 5, [])
    assert record.left_out_groups == [["a", "b", "c"]]


def test_a_lost_group_is_counted_as_not_used() -> None:
    made = accumulator("median", 1.0, None, 3.0, 2.0)
    assert made.outcome([]).mean.tolist() == [2.0, 2.0]
    record = made.record("version", "", 1.0, 2.0, {})
    assert (record.groups, record.groups_used) == (4, 3)


@pytest.mark.parametrize(
    ("one", "sentence"),
    [
        (decoded(1.0, weight=3.1), "3 clients weigh 3.1 together, and each weighs 1 at most"),
        (decoded(float("inf")), "not finite"),
    ],
)
def test_a_sum_that_honest_clients_cannot_have_sent_means_nothing(
    one: Decoded, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = GroupSums.empty(MASKING, TERMS, 2)
    monkeypatch.setattr(MaskedSum, "unmask", lambda *_: one)
    recover = Recover(1, b"", (), 3, (), (0, 1, 2), {}, {}, group=1)
    with pytest.raises(MaskingError, match=sentence):
        sums.unmask(recover)
    assert sums.decoded == []
    monkeypatch.setattr(MaskedSum, "unmask", lambda *_: decoded(1.0))
    assert sums.unmask(recover) == 60
    assert [number for number, _ in sums.decoded] == [1]
