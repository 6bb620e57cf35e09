"""The benchmark of groups finds near ones nearer, and all of them mixed."""

from __future__ import annotations

from benchmarks.mesh.grouping import gossip, play


def test_near_groups_are_nearer_than_random_ones_and_all_kinds_mix() -> None:
    found = {kind: play(kind, 48, 8, 0, 1) for kind in ("random", "grid", "near")}
    found["push-sum"] = gossip(48, 0, 1)
    assert found["near"][0] < found["random"][0]
    assert found["near"][1] < 0.8 * found["random"][1]
    assert all(left < 1e-3 for *_, left in found.values())
