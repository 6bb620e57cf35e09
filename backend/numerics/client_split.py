"""Splits examples among clients: identically distributed, or skewed by class (Dirichlet)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
ATTEMPTS = 100


def iid(n: int, clients: int, random: np.random.Generator) -> list[Numbers]:
    """Returns shuffled example numbers 0 ... `n` - 1 by client; part sizes differ by at most one."""
    return np.array_split(random.permutation(n), clients)


def dirichlet(
    labels: NDArray[np.int64], clients: int, alpha: float, random: np.random.Generator
) -> list[Numbers]:
    """Returns shuffled example numbers by client; Dir(alpha) draws how each class of `labels` [n] is split.

    A small `alpha` gives each client few classes (Hsu, Qi and Brown 2019, "Measuring the effects of
    non-identical data distribution", in the form of Li et al. 2022, which repeats draws that leave a client
    nearly empty). Raises ValueError if each of ATTEMPTS draws leaves a client with fewer than
    max(1, min(10, n // (2 clients))) examples.
    """
    minimum = max(1, min(10, len(labels) // (2 * clients)))
    classes = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    for _ in range(ATTEMPTS):
        parts: list[list[Numbers]] = [[] for _ in range(clients)]
        for numbers in classes:
            shares = random.dirichlet(np.full(clients, alpha))
            cuts = np.floor(np.cumsum(shares)[:-1] * len(numbers) + 0.5).astype(np.int64)
            for part, rows in zip(parts, np.split(random.permutation(numbers), cuts), strict=True):
                part.append(rows)
        shuffled = [random.permutation(np.concatenate(part)) for part in parts]
        if min(map(len, shuffled)) >= minimum:
            return shuffled
    raise ValueError(
        f"{ATTEMPTS} draws with alpha = {alpha:g} left one of {clients} clients with fewer than {minimum} "
        "examples; raise alpha or take fewer clients."
    )
