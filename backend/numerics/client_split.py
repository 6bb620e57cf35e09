"""How examples are dealt out to clients: alike, or each client with classes of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
ATTEMPTS = 100


def iid(n: int, clients: int, random: np.random.Generator) -> list[Numbers]:
    """Shuffled example numbers 0 ... `n` - 1 in parts of equal size, give or take one."""
    return np.array_split(random.permutation(n), clients)


def dirichlet(
    labels: NDArray[np.int64], clients: int, alpha: float, random: np.random.Generator
) -> list[Numbers]:
    """Shuffled example numbers by client; each class [n] is shared out in proportions drawn from Dir(alpha).

    Small `alpha` gives each client few classes (Hsu, Qi and Brown 2019, "Measuring the effects of
    non-identical data distribution", in the form of Li et al. 2022, where draws that leave a client nearly
    empty are repeated). Raises ValueError when ATTEMPTS draws leave some client with fewer than
    min(10, n // (2 clients)) examples, at least one.
    """
    least = max(1, min(10, len(labels) // (2 * clients)))
    classes = [np.flatnonzero(labels == one) for one in np.unique(labels)]
    for _ in range(ATTEMPTS):
        parts: list[list[Numbers]] = [[] for _ in range(clients)]
        for numbers in classes:
            shares = random.dirichlet(np.full(clients, alpha))
            cuts = np.floor(np.cumsum(shares)[:-1] * len(numbers) + 0.5).astype(np.int64)
            for part, some in zip(parts, np.split(random.permutation(numbers), cuts), strict=True):
                part.append(some)
        whole = [random.permutation(np.concatenate(part)) for part in parts]
        if min(map(len, whole)) >= least:
            return whole
    raise ValueError(
        f"{ATTEMPTS} draws with alpha = {alpha:g} left one of {clients} clients with fewer than {least} "
        "examples; raise alpha or take fewer clients."
    )
