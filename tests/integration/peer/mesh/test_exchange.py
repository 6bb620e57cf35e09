"""Members of a group average over real links: same bits for all, and nobody harms the others."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from backend.errors import GroupError
from backend.numerics.vectors import Vector
from backend.peer.mesh.exchange import GroupOutcome
from backend.wire.mesh_fields import Exchange, Precision, Reducer
from backend.wire.mesh_messages import Group
from tests.support.peer.averaging_groups import averagers, mean_of, order_of, outcomes, vectors_of

VALUES = 300_001


async def average(
    folder: Path, order: Group, vectors: list[Vector], weights: list[float]
) -> list[GroupOutcome | GroupError]:
    async with averagers(folder, len(vectors)) as members:
        joined = [
            member.join(order, vector, weight)
            for member, vector, weight in zip(members, vectors, weights, strict=True)
        ]
        return await outcomes(joined)


def named(count: int) -> list[str]:
    return [f"{place:02x}" * 8 for place in range(count)]


def agreed(ended: list[GroupOutcome | GroupError]) -> GroupOutcome:
    """The one result that all have."""
    first = ended[0]
    assert isinstance(first, GroupOutcome)
    for end in ended:
        assert isinstance(end, GroupOutcome), end
        assert end.mean.tobytes() == first.mean.tobytes()
        assert (end.survivors, end.fraction) == (first.survivors, first.fraction)
    return first


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
@pytest.mark.parametrize(
    ("exchange", "count"), [("butterfly", 2), ("butterfly", 5), ("full", 3), ("ring", 4)]
)
async def test_all_end_with_the_weighted_mean(
    tmp_path: Path, exchange: Exchange, count: int, precision: Precision
) -> None:
    order = order_of(named(count), VALUES, exchange, precision)
    vectors, weights = vectors_of(count, VALUES), [10.0 * (place + 1) for place in range(count)]
    end = agreed(await average(tmp_path, order, vectors, weights))
    assert end.survivors == list(range(count))
    assert end.fraction == 1.0
    exact = np.average(np.stack(vectors).astype(np.float64), axis=0, weights=weights)
    assert np.abs(end.mean - exact).max() < {"float32": 1e-6, "float16": 1e-3, "int8": 1e-2}[precision]
    if exchange != "ring":
        everybody = [list(range(count))] * (len(order.bounds) - 1)
        assert end.mean.tobytes() == mean_of(order, vectors, weights, everybody).tobytes()


@pytest.mark.parametrize("reducer", ["trimmed_mean", "centered_clip"])
async def test_a_robust_reducer_leaves_a_liar_out(tmp_path: Path, reducer: Reducer) -> None:
    order = order_of(named(5), 5000, reducer=reducer)
    vectors = vectors_of(5, 5000)
    vectors[1] = np.full(5000, 6e4, np.float32)
    end = agreed(await average(tmp_path, order, vectors, [1.0] * 5))
    assert np.abs(end.mean).max() < 1.0
    assert end.mean.tobytes() == mean_of(order, vectors, [1.0] * 5, [list(range(5))] * 5).tobytes()


@dataclass(frozen=True)
class Harm:
    """What the last of four members does."""

    vector: Vector
    weight: float
    reason: str


FINE = vectors_of(1, VALUES)[0]


@pytest.mark.parametrize(
    "harm",
    [
        Harm(np.where(FINE > 0, np.float32(np.nan), FINE), 1.0, "NaN"),
        Harm(FINE, 1e9, "weight"),
        Harm(FINE, 0.0, "weight"),
        Harm(FINE, float("nan"), "weight"),
    ],
    ids=["nan", "heavy", "weightless", "nan weight"],
)
async def test_who_brings_what_cannot_be_averaged_is_gone_on_without(tmp_path: Path, harm: Harm) -> None:
    order = order_of(named(4), VALUES)
    vectors, weights = [*vectors_of(3, VALUES), harm.vector], [1.0, 2.0, 3.0, harm.weight]
    *ended, failed = await average(tmp_path, order, vectors, weights)
    assert isinstance(failed, GroupError)
    assert harm.reason in str(failed)
    end = agreed(ended)
    assert end.survivors == [0, 1, 2]
    assert end.mean.tobytes() == mean_of(order, vectors, weights, [[0, 1, 2]] * 4).tobytes()


async def test_a_member_that_leaves_in_the_middle_is_gone_on_without(tmp_path: Path) -> None:
    # So many that nobody is done when it leaves.
    values = 20 * VALUES
    order = order_of(named(4), values)
    vectors = vectors_of(4, values)
    async with averagers(tmp_path, 4) as members:
        joined = [member.join(order, vector, 1.0) for member, vector in zip(members, vectors, strict=True)]
        await asyncio.sleep(0.02)
        joined[2].close()
        await members[2].links.close()
        ended = await outcomes(joined)
    assert isinstance(ended.pop(2), GroupError)
    end = agreed(ended)
    assert end.survivors == [0, 1, 3]
    assert end.fraction >= 0.75


async def test_an_order_for_another_model_is_refused(tmp_path: Path) -> None:
    async with averagers(tmp_path, 2) as members:
        with pytest.raises(GroupError, match="bounds are not those of 5 values"):
            members[0].join(order_of(named(2), 6), np.zeros(5, np.float32), 1.0)
        with pytest.raises(GroupError, match="cannot be used"):
            members[0].join(order_of(["ab" * 8, "cd" * 8], 6), np.zeros(6, np.float32), 1.0)
