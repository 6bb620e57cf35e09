"""The benchmark of groups finds near ones nearer, and all mixed; push-sum takes more rounds and bytes."""

from __future__ import annotations

from benchmarks.mesh.grouping import play
from benchmarks.mesh.mixing import mix_by_push_sum, mix_in_groups


def test_near_groups_are_nearer_than_random_ones_and_all_kinds_mix() -> None:
    found = {kind: play(kind, 48, 8, 0, 1) for kind in ("random", "grid", "near")}
    assert found["near"][0] < found["random"][0]
    assert found["near"][1] < 0.8 * found["random"][1]
    assert all(left < 1e-3 for *_, left in found.values())


def test_push_sum_agrees_later_than_groups_and_sends_more() -> None:
    for leave in (0.0, 0.02):
        groups, push_sum = mix_in_groups("random", 48, 8, leave, 1), mix_by_push_sum(48, leave, 1)
        assert groups.rounds < push_sum.rounds
        assert groups.vectors < push_sum.vectors
        assert groups.error < 0.1
        assert push_sum.error < 0.1


def test_one_group_of_all_agrees_on_the_mean_in_one_round() -> None:
    whole = mix_in_groups("all", 16, 8, 0.0, 1)
    assert (whole.rounds, whole.vectors, whole.messages) == (1, 2 * 15 / 16, 30)
    assert whole.error < 1e-12
