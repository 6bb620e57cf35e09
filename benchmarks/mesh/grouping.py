"""How near groups are, and how well weights mix in them: `python -m benchmarks.mesh.grouping --json`.

Peers live in real cities. A link takes light's way there and back in fibre, half as long again as the bee
line, and what both lines at home add; it carries what the slower of the two does. Each peer has a number; a
round replaces the numbers of a group by their mean. Told are the seconds of the slowest link within groups
(median of all rounds) and how much is left of the numbers' variance after 12 rounds. `mixing` compares what
groups and push-sum gossip cost until all agree (benchmarks/mesh/mixing.py).
"""

from __future__ import annotations

import argparse
import json
import math
import random
from itertools import combinations

import numpy as np

from backend.protocols.mesh.grouping import Links, form_groups
from benchmarks.mesh.mixing import mixing_rows

# Latitude and longitude.
CITIES = {
    "Lima": (-12.0, -77.0),
    "Cusco": (-13.5, -72.0),
    "São Paulo": (-23.6, -46.6),
    "New York": (40.7, -74.0),
    "Chicago": (41.9, -87.6),
    "San Francisco": (37.8, -122.4),
    "London": (51.5, -0.1),
    "Paris": (48.9, 2.4),
    "Zurich": (47.4, 8.5),
    "Warsaw": (52.2, 21.0),
    "Lagos": (6.5, 3.4),
    "Nairobi": (-1.3, 36.8),
    "Mumbai": (19.1, 72.9),
    "Singapore": (1.4, 103.8),
    "Tokyo": (35.7, 139.7),
    "Sydney": (-33.9, 151.2),
}
EARTH_KM, FIBRE_KM_S, DETOUR = 6371.0, 200_000.0, 1.5
ROUNDS = 12
MODEL_BYTES = 2_000_000


def links_of(homes: dict[str, str], generator: random.Random) -> Links:
    """Returns all links between peers: round-trip seconds and bytes per second."""
    line_delay = {peer: generator.uniform(0.002, 0.020) for peer in homes}
    rate = {peer: 125_000 * generator.lognormvariate(math.log(40), 0.8) for peer in homes}
    return {
        (first, second): (
            line_delay[first]
            + line_delay[second]
            + 2 * DETOUR * _kilometres(homes[first], homes[second]) / FIBRE_KM_S,
            min(rate[first], rate[second]),
        )
        for first, second in combinations(homes, 2)
    }


def _kilometres(first: str, second: str) -> float:
    (latitude, longitude), (latitude2, longitude2) = (
        map(math.radians, CITIES[name]) for name in (first, second)
    )
    angle = math.sin(latitude) * math.sin(latitude2)
    angle += math.cos(latitude) * math.cos(latitude2) * math.cos(longitude - longitude2)
    return EARTH_KM * math.acos(min(1.0, angle))


def play(kind: str, peers: int, max_members: int, size: int, seed: int) -> tuple[float, float, float]:
    """Returns the slowest link's seconds, the mean link's seconds, and the remaining variance.

    Links are those within groups; the variance is relative to that at the start.
    """
    generator = random.Random(seed)
    homes = {f"{number:016x}": generator.choice(list(CITIES)) for number in range(peers)}
    links = links_of(homes, generator)
    numbers = {peer: generator.gauss(0, 1) for peer in homes}
    before = np.var(list(numbers.values()))
    slowest, all_times = [], []
    for number in range(1, ROUNDS + 1):
        times = []
        for group in form_groups(kind, list(homes), max_members, seed, number, links, size):
            mean = sum(numbers[peer] for peer in group) / len(group)
            numbers.update(dict.fromkeys(group, mean))
            pairs = [tuple(sorted(pair)) for pair in combinations(group, 2)]
            times += [links[first, second][0] + size / links[first, second][1] for first, second in pairs]
        slowest.append(max(times))
        all_times += times
    return (
        float(np.median(slowest)),
        float(np.mean(all_times)),
        float(np.var(list(numbers.values())) / before),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    rows = []
    for peers, size in [(16, 0), (64, 0), (64, MODEL_BYTES), (256, 0)]:
        for kind in ("random", "grid", "near"):
            results = np.array([play(kind, peers, 8, size, seed) for seed in range(arguments.seeds)])
            slowest, mean, _ = np.median(results, axis=0)
            spread_left = float(np.mean(results[:, 2]))
            rows.append(
                {
                    "peers": peers,
                    "bytes": size,
                    "groups": kind,
                    "slowest_link_seconds": round(float(slowest), 3),
                }
                | {"mean_link_seconds": round(float(mean), 3), "spread_left": float(f"{spread_left:.2g}")}
            )
    mixing = mixing_rows(arguments.seeds)
    if arguments.json:
        print(json.dumps({"rounds": ROUNDS, "rows": rows, "mixing": mixing}))
        return
    for row in [*rows, *mixing]:
        print(row)


if __name__ == "__main__":
    main()
