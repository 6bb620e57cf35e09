"""Checks the invariants that must hold after any schedule."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.numerics.masking.masked_parts import mean_into
from backend.numerics.precision import Bytes, decode
from backend.protocols.mesh.allreduce.group_events import FinishGroup
from tests.support.protocols.allreduce.schedules import Played
from tests.support.protocols.allreduce.world import World, digest_of


def check(world: World) -> list[FinishGroup]:
    """Returns the members' results. Raises AssertionError where two differ or one is false."""
    results = []
    for place, member in enumerate(world.members):
        result = member.result
        assert result is None or member.failure is None, f"place {place} finished and failed"
        if result is None:
            continue
        results.append(result)
        for part, (digest, contributors) in enumerate(zip(result.parts, result.contributors, strict=True)):
            known, data = member.means[part, digest]
            assert known == contributors, f"place {place} names others than are in part {part}"
            assert digest == digest_of(contributors, data)
            assert len(set(contributors)) == len(contributors)
        assert len(result.survivors) >= len(world.members) // 2 + 1
        assert 0.0 < result.fraction <= 1.0 + 1e-12
    for place, member in enumerate(world.members):
        for part, sets in member.summed.items():
            assert len(sets) == 1, f"place {place} made sums of part {part} over {sorted(sets)}"
            assert all(len(of) > 2 for of in sets)
    if results:
        first = results[0]
        assert all(one.parts == first.parts for one in results), "bits differ"
        assert all(one.contributors == first.contributors for one in results), "contributors differ"
        assert all(one.weights == first.weights for one in results), "weights differ"
        assert all(one.fraction == first.fraction for one in results), "fractions differ"
        _true_mean(world, first)
    return results


def _true_mean(world: World, result: FinishGroup) -> None:
    """Checks that the agreed mean is near the contributors' mean in float64."""
    if world.order.reducer != "mean" or any(member.lies for member in world.members):
        return
    holder = next(member for member in world.members if member.result is not None)
    for part, digest in enumerate(result.parts):
        start, end = world.order.bounds[part], world.order.bounds[part + 1]
        contributors, data = holder.means[part, digest]
        weights = [world.members[place].weight for place in contributors]
        vectors = [world.members[place].vector[start:end] for place in contributors]
        exact = np.average(vectors, axis=0, weights=weights)
        found = _decoded(world, data, end - start)
        tolerance = {"float32": 1e-5, "float16": 5e-3, "int8": 0.2, "masked": 1e-6}[world.order.precision]
        assert np.allclose(found, exact, atol=tolerance), "not the mean"


def _decoded(world: World, data: Bytes, values: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    if not world.masked:
        return decode(data, values, world.order.precision)
    out = np.empty(values, np.float32)
    mean_into(data, world.order.subject, out)
    return out


def check_end(played: Played) -> None:
    """Checks that an unaffected majority finishes, and that every living member knows the end."""
    world = played.world
    sound = played.sound()
    for place, member in enumerate(world.members):
        if member.alive and world.now >= member.paused_until:
            ended = member.result is not None or member.failure is not None
            assert ended, f"place {place} does not know how it ended"
    majority = max(len(world.members) // 2 + 1, world.order.least)
    if len(sound) >= majority and len(played.sluggish) < 2:
        finished = sum(member.result is not None for member in world.members)
        assert finished >= majority, f"{sorted(sound)} are a majority; {finished} finished"
        # A slow member makes others wait for each other, so it may be unclear which of them is dropped. Where
        # a leader is lost while others do not see each other, a member may follow a leader who sees fewer. Of
        # two members that send nonsense one may lead, and exclude the only member that knows of the leader's
        # own.
        unclear = played.sluggish or (played.touched and played.broken) or len(played.liars) > 1
        for place in sorted(played.whole() if not unclear else ()):
            assert world.members[place].result is not None, f"{place} of {sorted(sound)} has no result"
