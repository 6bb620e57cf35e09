from __future__ import annotations

from functools import partial
from itertools import product
from typing import get_args

import pytest
from msgspec.structs import replace

from backend.protocols.mesh.allreduce.member import AllReduce
from backend.wire.mesh_fields import Exchange, Plain, Precision
from tests.support.protocols.allreduce.check import check
from tests.support.protocols.allreduce.schedules import calm, order

PLAIN = product(get_args(Exchange), get_args(Plain), range(2, 9))
MASKED = product(["butterfly"], ["masked"], range(3, 9))


@pytest.mark.parametrize(("exchange", "precision", "count"), [*PLAIN, *MASKED])
def test_all_members_end_with_the_same_bits(exchange: Exchange, precision: Precision, count: int) -> None:
    world = calm(count, exchange, precision)
    world.run(60.0)
    results = check(world)
    assert len(results) == count
    assert results[0].survivors == list(range(count))
    assert results[0].fraction == 1.0


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
def test_half_of_a_group_never_goes_on_whatever_its_order_says(count: int) -> None:
    world = calm(count, "butterfly")
    lenient = replace(order(count, "butterfly"), least=1)
    for place, member in enumerate(world.members):
        member.machine = AllReduce(lenient, place, 0.0)
    for place in range(count // 2, count):
        world.at(1.2, partial(world.kill, place, noticed=True))
    world.run(60.0)
    assert check(world) == []
    assert all(world.members[place].failure for place in range(count // 2))


@pytest.mark.parametrize(("count", "parts"), [(3, 2), (3, 4)])
def test_an_order_whose_bounds_do_not_fit_its_members_is_refused(count: int, parts: int) -> None:
    wrong = replace(order(parts, "butterfly"), members=order(count, "butterfly").members)
    with pytest.raises(ValueError, match="bounds do not fit"):
        AllReduce(wrong, 0, 0.0)
