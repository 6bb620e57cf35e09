"""The coefficients of assimilations, as their papers write them."""

from __future__ import annotations

import pytest

from backend.numerics.aggregation.mixing import Arrival, Mix, downpour, fedasync, vc_asgd, warm_start


def test_vc_asgd_keeps_alpha_of_the_model() -> None:
    assert vc_asgd(0.75)(Arrival(staleness=9)) == Mix(0.25, 0.25)
    assert vc_asgd()(Arrival(epoch=3)) == Mix(0.25, 0.25)


def test_downpour_ignores_where_the_client_began() -> None:
    assert downpour(0.5)(Arrival(staleness=9, epoch=3)) == Mix(0.0, 0.5)


def test_fedasync_discounts_the_stale() -> None:
    mix = fedasync(0.6, "polynomial", a=1.0)(Arrival(staleness=2))
    assert mix.pull == mix.gain == pytest.approx(0.2)


def test_a_warm_start_replaces_the_model_as_often_as_it_says() -> None:
    warm = warm_start(downpour(0.5), 3)
    mixes = [warm(Arrival(count=count)) for count in range(5)]
    assert mixes == [Mix(1.0, 1.0)] * 3 + [Mix(0.0, 0.5)] * 2


@pytest.mark.parametrize("pull", [-0.1, 1.1, float("nan")])
def test_no_more_than_the_whole_model_is_pulled(pull: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        Mix(pull, 1.0)
