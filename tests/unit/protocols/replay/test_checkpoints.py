from __future__ import annotations

import pytest

from backend.protocols.replay.checkpoints import Parting, checkpoint_steps, parting
from backend.wire.unit_messages import MOST_CHECKPOINTS

HASHES = [f"{number:064x}" for number in range(MOST_CHECKPOINTS)]
OTHER = "f" * 64


@pytest.mark.parametrize("steps", [1, 5, 16, 17, 100, 512, 999])
def test_checkpoints_are_spread_and_end_with_the_last_step(steps: int) -> None:
    found = checkpoint_steps(steps)
    assert found == sorted(set(found))
    assert len(found) == min(steps, MOST_CHECKPOINTS)
    assert found[-1] == steps
    gaps = {after - before for before, after in zip([0, *found], found, strict=False)}
    assert max(gaps) - min(gaps) <= 1


def test_a_short_unit_names_the_step() -> None:
    assert parting(7, HASHES[:7], [*HASHES[:3], OTHER, *HASHES[4:7]]) == Parting(3, 4)


def test_a_long_unit_names_the_steps_between_two_checkpoints() -> None:
    lie = [*HASHES[:6], *(OTHER for _ in range(10))]
    assert parting(512, HASHES, lie) == Parting(192, 224)
    assert parting(512, [OTHER, *HASHES[1:]], HASHES) == Parting(0, 32)


def test_trainings_that_agree_differ_in_what_was_sent() -> None:
    assert parting(512, HASHES, HASHES) == Parting(512, None)


def test_of_fewer_steps_the_ones_that_both_did_are_compared() -> None:
    assert parting(512, HASHES, HASHES[:4]) == Parting(128, None)


def test_without_checkpoints_nothing_is_known() -> None:
    assert parting(512, HASHES, []) is None
