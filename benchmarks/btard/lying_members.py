"""Liars whose work is true: lying owners, false accusers, two words, kept coins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from backend.numerics.butterfly.clipped_mean import distance
from backend.protocols.mesh.byzantine.checks import measured_radius, part_radius
from benchmarks.btard.local_mesh import LocalMesh
from benchmarks.btard.mesh_peer import PastRound
from benchmarks.btard.picture_task import PictureTask
from benchmarks.btard.statement_lies import (
    CoinKeeper,
    Equivocator,
    FalseAccuser,
    LyingOwner,
    StatementLies,
)
from benchmarks.btard.trial import Trial

_START = 10
# Radii by which owners move their means: below `far`, and far beyond it.
_HIDDEN, _BEYOND = 3.0, 20.0

LIES: Mapping[str, Callable[[list[str]], StatementLies]] = {
    "owner-lies": lambda liars: LyingOwner(liars, _HIDDEN),
    "owners-lie": lambda liars: LyingOwner(liars, _HIDDEN, owners=len(liars)),
    "owner-lies-far": lambda liars: LyingOwner(liars, _BEYOND),
    "false-accuser": FalseAccuser,
    "equivocation": Equivocator,
    "no-reveal": CoinKeeper,
}


def lies_row(
    task: PictureTask,
    name: str,
    peers: int,
    liars: int,
    rounds: int,
    seed: int,
    radius: float | None = None,
) -> dict[str, Any]:
    """Returns what becomes of `liars` that tell the lies `name` from round 10 on, in so many rounds.

    `farthest_decided` is the largest distance of a mean that was decided from the right one, in radii of the
    round before or, where all lengths grew, of this round;
    `radius_growth` the largest radius since round 10, in multiples of that of round 10.
    """
    trial = Trial(task, rounds, seed, peers=peers, byzantine=liars, radius=radius)
    lies = {client: LIES[name](trial.liars) for client in trial.liars}
    mesh = LocalMesh(trial, lies, lies_from=_START)
    identities = {mesh.peers[client].identity for client in trial.liars}
    farthest, last, lost, banned = 0.0, None, 0, frozenset[bytes]()
    radii, curve = list[float](), list[float]()
    while mesh.state.round + lost < rounds:
        if not mesh.play_round():
            lost += 1
            continue
        farthest = max(farthest, _farthest(trial, mesh.honest[0].past[mesh.state.round]))
        if mesh.state.round >= _START - 1:
            radii.append(mesh.state.radius)
            curve.append(task.accuracy(mesh.honest[0].weights))
        now = frozenset(mesh.state.membership.banned)
        if now > banned:
            banned, last = now, mesh.state.round - _START + 1
    seats = {seat.client for seat in mesh.state.membership.seats}
    return {
        "lies": name,
        "liars": liars,
        "banned": len(banned & identities),
        "banned_honest": len(banned - identities),
        "rounds_to_last_ban": last,
        "seats_of_liars": len(seats.intersection(trial.liars)),
        "seats_of_honest": len(seats.difference(trial.liars)),
        "farthest_decided": round(farthest, 3),
        "radius_growth": round(max(radii) / radii[0], 2),
        "accuracy_lowest": round(min(curve), 4),
        "accuracy": round(curve[-1], 4),
        "different_bits": mesh.different_bits,
        "lost": lost,
        "exchanges": mesh.exchanges,
        "rounds": mesh.state.round,
    }


def _farthest(trial: Trial, past: PastRound) -> float:
    if not past.state.radius:
        return 0.0
    bounds, found = trial.bounds(len(past.workers)), 0.0
    sizes = [end - start for start, end in pairwise(bounds)]
    said = [past.checks[worker] for worker in past.workers]
    widest = trial.radius or max(past.state.radius, measured_radius(said, sizes))
    for part, owner in enumerate(past.workers):
        radius = part_radius(past.state.radius, sizes[part])
        pieces = tuple(past.pieces[worker][part] for worker in past.workers)
        right = past.arithmetic.vector(past.arithmetic.mean(pieces, radius))
        found = max(
            found,
            distance(past.arithmetic.vector(past.means[owner]), right) / part_radius(widest, sizes[part]),
        )
    return found
