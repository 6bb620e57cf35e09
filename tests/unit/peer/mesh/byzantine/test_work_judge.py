"""A validator that needs no training to see that a newcomer did not work."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from backend.peer.mesh.byzantine.contents import RoundContents
from backend.peer.mesh.byzantine.mesh_states import NO_STATE, MeshStates, RoundWork
from backend.peer.mesh.byzantine.work_judge import WorkJudge
from backend.peer.mesh.weights import WeightCache
from backend.protocols.mesh.byzantine.state import WorkCase
from tests.support.peer.byzantine_groups import rules_of
from tests.unit.peer.mesh.byzantine.test_part_jobs import Played

NEWCOMER = "f" * 16


async def test_to_commit_to_no_piece_is_no_work(tmp_path: Path) -> None:
    """Else names that do nothing would earn seats: nothing compares as the same as nothing."""
    played, states, weights = Played().work, MeshStates(rules_of(), tmp_path, "ws://host"), WeightCache()
    work = RoundWork(played.base, {NEWCOMER: ()}, played.workers, played.means, played.checks, played.coin)
    states.take(played.base, NO_STATE, b"", work)
    weights.keep(played.base.weights.hex(), b"")
    # Neither trains, nor fetches, nor asks anybody.
    unused = cast(Any, None)
    judge = WorkJudge(unused, states, weights, RoundContents(), unused, unused)
    judged = await judge.judge(unused, WorkCase(NEWCOMER, played.base.round, "a"))
    assert judged is not None
    assert (judged.finding.target, judged.finding.found) == (NEWCOMER, "other")
