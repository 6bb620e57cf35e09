"""What is usual among results, and survives a restart."""

from __future__ import annotations

import msgspec

from backend.numerics.aggregation.figure_agreement import Figures
from backend.server.units.checkpoint_codec import CheckpointContent
from backend.server.units.validation.usual_results import MIN_NORMS, WINDOW, UsualResult, UsualResults


def result(norm: float, *rights: float) -> UsualResult:
    return UsualResult(norm, Figures(0.5, tuple((right, 16.0) for right in rights)))


def test_the_last_results_are_usual_and_written_as_they_are() -> None:
    usual = UsualResults()
    for number in range(WINDOW + 5):
        usual.add(result(1.0 + number, 9.0))
    kept = msgspec.msgpack.decode(msgspec.msgpack.encode(usual.recent()), type=list[UsualResult])
    assert kept == UsualResults(kept).recent() == [result(6.0 + number, 9.0) for number in range(WINDOW)]


def test_nothing_is_an_outlier_beside_few_results_or_those_with_other_metrics() -> None:
    usual = UsualResults([result(1.0, 9.0)] * (MIN_NORMS - 1))
    assert not usual.is_outlier(result(100.0, 9.0))
    usual.add(result(1.0, 9.0))
    assert usual.is_outlier(result(100.0, 9.0))
    assert not usual.is_outlier(result(100.0, 9.0, 9.0))


def test_checkpoints_of_servers_that_kept_none_still_open() -> None:
    (field,) = [one for one in msgspec.structs.fields(CheckpointContent) if one.name == "usual"]
    assert not field.required
