"""Trains with the mean, or clipped means alone: the same work and arithmetic; nobody is checked or banned."""

from __future__ import annotations

import hashlib
from statistics import median

import numpy as np

from backend.numerics.butterfly.clipped_mean import clipped_mean
from backend.numerics.vectors import Vector
from backend.protocols.mesh.byzantine.checks import next_radius, part_radius
from benchmarks.btard.trial import MEASURED, Trial, TrialResult


def train_undefended(trial: Trial, clipped: bool) -> TrialResult:
    """Trains to the end; a round in which no mean can be made leaves the weights."""
    weights, slots, radius = (
        trial.task.first_weights(trial.seed),
        np.zeros(0, np.float32),
        trial.radius or 0.0,
    )
    attack, curve, radii, lost = trial.work_attack(), list[float](), list[float](), 0
    for number in range(1, trial.rounds + 1):
        coin = hashlib.sha256(f"{trial.seed} {number}".encode()).digest()
        true, mislabelled = trial.trained(dict.fromkeys(trial.names, weights), coin)
        sent = true if attack is None else attack.sent(number, true, mislabelled)
        rows = np.stack(list(sent.values()))
        try:
            mean, measured = _clipped(trial, rows, radius) if clipped else (_mean(rows), radius)
        except ValueError:
            lost += 1
        else:
            weights, slots = trial.outer(number, mean, weights, slots)
            radius = trial.radius or next_radius(radius, measured)
        if number % MEASURED == 0:
            curve.append(trial.task.accuracy(weights))
            radii.append(radius)
    return TrialResult(curve, lost=lost, radii=radii)


def _mean(rows: Vector) -> Vector:
    with np.errstate(all="ignore"):
        mean: Vector = rows.mean(axis=0, dtype=np.float32)
    return mean


def _clipped(trial: Trial, rows: Vector, radius: float) -> tuple[Vector, float]:
    """Returns the clipped means of all parts, one part for each member, and the radius measured in them."""
    means, lengths = list[Vector](), list[float]()
    pieces = [trial.cut(row, len(rows)) for row in rows]
    for part in range(len(rows)):
        of_part = np.stack([cut[part] for cut in pieces])
        unit = part_radius(1.0, of_part.shape[1])
        found = clipped_mean(of_part, radius * unit if radius else 1.0)
        means.append(found.mean)
        lengths += [length / unit for length in found.lengths]
    return trial.joined(means), median(lengths)
