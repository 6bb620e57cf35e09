"""Trains in a local mesh to the end of a trial, and counts bans, and bits that differ."""

from __future__ import annotations

from benchmarks.btard.local_mesh import LocalMesh
from benchmarks.btard.trial import MEASURED, TrialResult


def train_in_mesh(mesh: LocalMesh, until_banned: bool = False) -> TrialResult:
    """Trains all rounds of the trial of `mesh`; `until_banned` ends when every liar is."""
    trial = mesh.trial
    start = 1 if trial.attack is None else trial.attack.start
    liars = {mesh.peers[name].identity for name in trial.liars}
    curve, lost, last, banned = list[float](), 0, None, frozenset[bytes]()
    while mesh.state.round + lost < trial.rounds:
        if not mesh.play_round():
            lost += 1
            continue
        now = frozenset(mesh.state.membership.banned)
        if now > banned:
            banned, last = now, mesh.state.round - start + 1
        if mesh.state.round % MEASURED == 0:
            curve.append(trial.task.accuracy(mesh.honest[0].weights))
        if until_banned and liars <= banned:
            break
    return TrialResult(
        curve, len(banned), len(banned - liars), last, mesh.different_bits, lost, mesh.exchanges
    )
