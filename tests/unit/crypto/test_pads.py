"""Two members have a pad in common for each part and each set, and nobody else has it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from backend.crypto.client_keys import agreement_key
from backend.crypto.keystream import add_keystreams, keystream
from backend.crypto.pads import PadContext, common_key, pads
from backend.errors import BadKeyError
from tests.contract.vectors.secagg.make_masked import made
from tests.contract.vectors.secagg.make_masked_parts import CONTEXT

PLACES = [0, 3, 4, 31]
PRIVATE = {place: made(f"private key of place {place}") for place in PLACES}
PUBLIC = {place: agreement_key(private) for place, private in PRIVATE.items()}


def common(own: int, context: PadContext = CONTEXT) -> dict[int, bytes]:
    return {one: common_key(PRIVATE[own], PUBLIC[one], own, one, context) for one in PLACES if one != own}


def test_both_of_a_pair_have_the_same_key_and_every_pair_another() -> None:
    keys = {(own, other): key for own in PLACES for other, key in common(own).items()}
    for one, other in combinations(PLACES, 2):
        assert keys[one, other] == keys[other, one]
    assert len(set(keys.values())) == len(keys) // 2


@pytest.mark.parametrize(
    "other",
    [
        replace(CONTEXT, task="titanic"),
        replace(CONTEXT, bundle="f" * 64),
        replace(CONTEXT, round=8),
        replace(CONTEXT, group=3),
    ],
)
def test_keys_are_of_one_group(other: PadContext) -> None:
    assert not set(common(0).values()) & set(common(0, other).values())


def test_pads_cancel_in_the_sum_over_the_set_and_in_no_other() -> None:
    for members in ([0, 3, 4, 31], [0, 4, 31]):
        total = np.zeros(1000, np.uint32)
        for own in members:
            masked = np.zeros(1000, np.uint32)
            add_keystreams(masked, pads(own, common(own), 2, members))
            assert np.count_nonzero(masked) > 990
            total += masked
            if own != members[-1]:
                assert np.count_nonzero(total) > 990
        assert not total.any()


def test_pads_of_another_part_or_set_are_others() -> None:
    ways = [(2, [0, 3, 4]), (3, [0, 3, 4]), (2, [0, 3, 31]), (2, [0, 3, 4, 31])]
    drawn = [keystream(pads(0, common(0), part, members)[0][0], 4).tobytes() for part, members in ways]
    assert len(set(drawn)) == len(ways)


def test_a_key_that_nothing_can_be_agreed_with_is_refused() -> None:
    with pytest.raises(BadKeyError):
        common_key(PRIVATE[0], bytes(32), 0, 3, CONTEXT)
